/* daemon.c: finds the daemon, or starts it and waits until it answers.
 *
 * A started daemon reports one line through a pipe, "ready" or an error; end of file without a line
 * means that it died. So there is no guess how long a start takes. It is polled only if it reports
 * that another daemon, which is starting or stopping, has the home. Only a daemon takes the home's
 * lock: a brief lock here could make a starting daemon believe that another one is running. */
#include "cli/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cmd.h"
#include "cli/service.h"
#include "config/config.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/home.h"
#include "os/outside.h"

#define START_DEADLINE SECONDS(60) /* a store of a million tasks is checked first */
#define ANSWER_TIMEOUT SECONDS(10)
#define RETRY_MS       20 /* ms */
#define READY_FD       3
#define EXIT_BUSY      4 /* of sluiced: another daemon has this home */
#define TOKEN_MAX      4096

/* --- programs -------------------------------------------------------------------------------- */

static bool is_program(const struct strbuf *path) {
    struct stat st;
    return stat(strbuf_text(path), &st) == 0 && S_ISREG(st.st_mode)
           && access(strbuf_text(path), X_OK) == 0;
}

static void set_path(struct strbuf *out, const char *folder, size_t length, const char *name) {
    strbuf_clear(out);
    strbuf_add(out, folder, length);
    strbuf_printf(out, "%s%s", length > 0 ? "/" : "./", name);
}

int daemon_find_in_path(const char *name, struct strbuf *out) {
    strbuf_clear(out);
    strbuf_puts(out, name);
    if (strchr(name, '/'))
        return *name == '/' && is_program(out) ? 0 : -ENOENT;
    for (const char *at = getenv("PATH"); at && *at; at += *at == ':') {
        size_t length = strcspn(at, ":");
        set_path(out, at, length, name);
        if (is_program(out))
            return 0;
        at += length;
    }
    return -ENOENT;
}

int daemon_find_program(const char *name, struct strbuf *out, struct error *err) {
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(own, '/');
    if (slash) {
        set_path(out, own, (size_t)(slash - own), name);
        if (is_program(out))
            return 0;
    }
    if (daemon_find_in_path(name, out) == 0)
        return 0;
    strbuf_clear(out);
    return error_set(err, -ENOENT, "there is no program '%s' beside '%s' or in PATH; install it",
                     name, *own ? own : "sluice");
}

int daemon_run_program(const char *const *argv, enum program_take take, struct strbuf *out,
                       int *ret_status, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    int r = daemon_find_program(argv[0], &path, err);
    return r < 0 ? r : program_run(strbuf_text(&path), argv, take, out, ret_status, err);
}

/* --- finding a daemon ------------------------------------------------------------------------ */

/* 1, with its pid; 0: none answers, or it is shutting down. */
static int read_health(const struct home *home, struct daemon_found *ret_found, struct error *err) {
    const struct client_options options = { .timeout = ANSWER_TIMEOUT };
    _cleanup_(client_closep) struct client *client = NULL;
    int r = client_open(home->socket, &options, &client, err);
    if (r < 0)
        return client_is_absent(r) ? 0 : r;
    json_auto_t *answer = NULL;
    int status = client_call(client, "GET", "/healthz", NULL, &answer, err);
    if (client_is_absent(status) || status == -ECONNRESET || err->code == -ESHUTDOWN)
        return 0;
    if (status != 200)
        return status < 0 ? status : -EIO;
    const char *role = json_string_value(json_object_get(answer, "role"));
    ret_found->pid = (pid_t)json_integer_value(json_object_get(answer, "pid"));
    ret_found->standby = role && strcmp(role, "standby") == 0;
    return 1;
}

/* --- starting -------------------------------------------------------------------------------- */

struct start {
    const struct home *home;
    time_ms deadline; /* steady clock */
    pid_t child;
    int ready_fd;  /* our end of the pipe; -1: none */
    char *service; /* the unit that was asked to start it; or NULL */
    bool no_service;
};

/* -1: the daemon starts without a log. A path that cannot be opened must not prevent the start. */
static int open_log(const char *path) {
    struct error err = { 0 };
    int fd =
        outside_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | OUTSIDE_LINKS, NULL, &err);
    if (fd < 0) {
        cmd_warn("the daemon keeps no log: %s", err.text);
        return -1;
    }
    (void)fcntl(fd, F_SETFL, O_APPEND); /* its children inherit it */
    return fd;
}

static int start_begin(struct start *s, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT;
    int r = daemon_find_program("sluiced", &program, err);
    if (r >= 0)
        r = home_make(s->home, err);
    if (r < 0)
        return r;
    if (cmd_env("SLUICE_HOME")) /* it has another working directory */
        (void)setenv("SLUICE_HOME", s->home->data, 1);
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    /* The child's end must not have the number that dup2 replaces. */
    int child_end = fcntl(pipes[1], F_DUPFD_CLOEXEC, READY_FD + 1);
    close(pipes[1]);
    r = child_end < 0 ? -errno : 0;
    _cleanup_(fd_closep) int log = r < 0 ? -1 : open_log(s->home->log);
    int out = log < 0 ? PROGRAM_NULL : log;
    const char *const argv[] = { "sluiced", "--ready-fd", "3", NULL };
    const struct program_streams streams = { { PROGRAM_NULL, out, out, child_end },
                                             .own_session = true,
                                             .is_daemon = true };
    if (r == 0)
        r = -program_spawn(program.text, argv, &streams, &s->child);
    fd_closep(&child_end);
    if (r < 0) {
        close(pipes[0]);
        return error_set(err, r, "cannot start '%s': %s", program.text, strerror(-r));
    }
    s->ready_fd = pipes[0];
    return 0;
}

/* The start failed. -EBUSY: another daemon has the home. */
static int give_up(struct start *s, const char *why, struct error *err) {
    int status = 0;
    while (waitpid(s->child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_BUSY)
        return error_set(err, -EBUSY, "the daemon did not start: %s", why);
    if (*why)
        return error_set(err, -EIO, "the daemon did not start: %s", why);
    if (WIFSIGNALED(status))
        return error_set(err, -EIO,
                         "the daemon was killed by signal %d as it started; its log is '%s'",
                         WTERMSIG(status), s->home->log);
    return error_set(err, -EIO, "the daemon ended as it started (exit code %d); its log is '%s'",
                     WEXITSTATUS(status), s->home->log);
}

/* Reads the one line. 0: ready. */
static int start_wait(struct start *s, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf reported = STRBUF_INIT;
    while (!strchr(strbuf_text(&reported), '\n')) {
        time_ms left = s->deadline - clock_read_steady();
        struct pollfd pipe_end = { .fd = s->ready_fd, .events = POLLIN };
        int r = poll(&pipe_end, 1, (int)(left > 0 ? left : 0));
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return error_set(err, -ETIMEDOUT,
                             "the daemon was not ready after %d s; its log is '%s'",
                             (int)(START_DEADLINE / 1000), s->home->log);
        char chunk[512];
        ssize_t got = read(s->ready_fd, chunk, sizeof(chunk));
        if (got > 0)
            strbuf_add(&reported, chunk, (size_t)got);
        else if (got == 0 || errno != EINTR)
            break;
    }
    char line[ERROR_TEXT_MAX];
    (void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(strbuf_text(&reported), "\n"),
                   strbuf_text(&reported));
    return strcmp(line, "ready") == 0 ? 0 : give_up(s, line, err);
}

/* --- through a service ----------------------------------------------------------------------- */

/* An installed service starts the daemon, so that its manager supervises it. 1: requested. 0: no
 * service, or no manager (a chroot, cron before the first login): start it directly. */
static int start_by_service(struct start *s, struct error *err) {
    _cleanup_(service_unit_finish) struct service_unit unit = { 0 };
    if (s->no_service || service_unit_find(s->home, &unit, NULL) < 0 || access(unit.file, F_OK) < 0)
        return 0;
    const char *const words[] = { "start", unit.name, NULL };
    int version, r = service_manager_find(&version, err);
    if (r < 0) {
        cmd_warn("the service '%s' is not used: %s", unit.name, err->text);
        s->no_service = true;
        return 0;
    }
    r = service_manager_call(words, err);
    if (r < 0)
        return r;
    s->service = TAKE_PTR(unit.name);
    return 1;
}

/* The manager restarts it repeatedly, so a permanent error is reported at once. Another daemon that
 * has the home will exit soon. */
static int check_service(const struct start *s, struct error *err) {
    struct service_state state;
    if (service_manager_read_state(s->service, &state, err) < 0)
        return err->code;
    bool waits = strcmp(state.sub, "auto-restart") == 0 && state.exit_code != EXIT_BUSY;
    if (waits || strcmp(state.active, "failed") == 0)
        return error_set(err, -EIO,
                         "the service '%s' could not start the daemon (exit code %d); "
                         "see 'journalctl --user -u %s'",
                         s->service, state.exit_code, s->service);
    /* The manager had not noticed the previous exit when it was asked to start. */
    const char *const words[] = { "start", s->service, NULL };
    return strcmp(state.active, "inactive") == 0 ? service_manager_call(words, err) : 0;
}

/* 1: a daemon answers. 0: no, try again. */
static int find_or_start(struct start *s, struct daemon_found *ret_found, struct error *err) {
    int r = read_health(s->home, ret_found, err);
    if (r != 0)
        return r;
    if (s->service)
        return check_service(s, err);
    r = start_by_service(s, err);
    if (r != 0) {
        ret_found->already = false;
        return r < 0 ? r : 0;
    }
    r = start_begin(s, err);
    if (r >= 0)
        r = start_wait(s, err);
    fd_closep(&s->ready_fd);
    s->ready_fd = -1;
    if (r < 0)
        return r == -EBUSY ? 0 : r; /* another one was faster, or has not exited yet */
    ret_found->already = false;
    r = read_health(s->home, ret_found, err);
    return r != 0 ? r
                  : error_set(err, -EIO, "the daemon was ready but has stopped; its log is '%s'",
                              s->home->log);
}

static int start_in(const struct home *home, struct daemon_found *ret_found, struct error *err) {
    struct start s = {
        .home = home,
        .deadline = clock_read_steady() + START_DEADLINE,
        .ready_fd = -1,
    };
    struct daemon_found found = { .already = true };
    int r;
    for (int pause = RETRY_MS;; pause += RETRY_MS) {
        r = find_or_start(&s, &found, err);
        if (r != 0)
            break;
        if (clock_read_steady() > s.deadline) {
            r = error_set(err, -ETIMEDOUT,
                          "another daemon uses '%s' and does not answer; its log is '%s'",
                          home->data, home->log);
            break;
        }
        (void)poll(NULL, 0, pause);
    }
    free(s.service);
    if (r >= 0)
        *ret_found = found;
    return r < 0 ? r : 0;
}

int daemon_start(struct daemon_found *ret_found, struct error *err) {
    _cleanup_(home_finish) struct home home = { 0 };
    int r = home_find(&home, err);
    return r < 0 ? r : start_in(&home, ret_found, err);
}

int daemon_exec(struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT;
    int r = daemon_find_program("sluiced", &program, err);
    if (r < 0)
        return r;
    (void)execl(program.text, "sluiced", "--foreground", (char *)NULL);
    return error_set_errno(err, "start", program.text);
}

/* --- connecting ------------------------------------------------------------------------------ */

static int start_with_message(void *ctx, struct error *err) {
    struct daemon_found found = { 0 };
    int r = start_in(ctx, &found, err);
    if (r >= 0 && !found.already)
        cmd_warn("started the daemon (pid %d)%s", (int)found.pid,
                 found.standby ? ", as a standby" : "");
    return r;
}

/* Resolved now: the client may start a daemon much later, and the location must not change. */
static int find_home(struct home **ret_home, struct error *err) {
    static struct home home;
    if (!home.data) {
        int r = home_find(&home, err);
        if (r < 0)
            return r;
    }
    *ret_home = &home;
    return 0;
}

/* --- peers ----------------------------------------------------------------------------------- */

/* The first word of a file that only we can read; NULL with a warning. The caller frees it. */
static char *read_token(const char *path) {
    struct error err = { 0 };
    struct stat st;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (stat(path, &st) == 0 && (st.st_mode & 077)) {
        cmd_warn("daemon.token_file: others can read '%s': chmod 600 it", path);
        return NULL;
    }
    if (file_read(path, TOKEN_MAX, &text, &err) < 0) {
        cmd_warn("daemon.token_file: %s", err.text);
        return NULL;
    }
    size_t length = strcspn(strbuf_text(&text), " \t\r\n");
    return length > 0 ? xstrndup(strbuf_text(&text), length) : NULL;
}

/* An unreadable configuration has no peers; commands that need it report the error. */
static void find_peers(void *ctx, struct client_peers *ret) {
    static struct config *config; /* the result borrows from it */
    static char *token;
    const struct home *home = ctx;
    if (!config) {
        config = config_new();
        (void)config_read_file(config, home->config_file, NULL);
        const char *own = cmd_env("SLUICE_API_TOKEN");
        const char *file = config_text(config, "daemon.token_file", NULL);
        token = own ? xstrdup(own) : *file ? read_token(file) : NULL;
    }
    const char *ca = config_text(config, "daemon.tls_ca", NULL);
    ret->count = config_words(config, "daemon.addresses", NULL, &ret->addresses);
    ret->token = token;
    ret->ca = *ca ? ca : NULL;
}

bool daemon_has_peers(void) {
    struct home *home;
    struct client_peers peers = { 0 };
    struct error err = { 0 };
    if (find_home(&home, &err) == 0)
        find_peers(home, &peers);
    return peers.count > 0;
}

/* Inside a run, use the daemon that started it: a run does not see SLUICE_HOME, and commands that
 * add tasks must not find, or start, another home's daemon. */
static const char *socket_of_run(void) {
    return getenv("SLUICE_HOME") ? NULL : cmd_env("SLUICE_SOCKET");
}

int daemon_connect(bool may_start, struct client **ret_client, struct error *err) {
    const char *of_run = socket_of_run();
    if (of_run) {
        int code = client_open(of_run, NULL, ret_client, err);
        return client_is_absent(code)
                   ? error_set(err, code, "the daemon of this run does not answer at '%s'", of_run)
                   : code;
    }
    struct home *home;
    int r = find_home(&home, err);
    if (r < 0)
        return r;
    const struct client_options options = { .start = may_start ? start_with_message : NULL,
                                            .peers = find_peers,
                                            .ctx = home };
    r = client_open(home->socket, &options, ret_client, err);
    if (client_is_absent(r) && !may_start && !daemon_has_peers())
        return error_set(err, r, "no daemon is running; 'sluice up' starts it");
    return r;
}

int daemon_connect_home(struct client **ret_client, struct error *err) {
    struct home *home;
    if (socket_of_run())
        return daemon_connect(false, ret_client, err);
    int r = find_home(&home, err);
    return r < 0 ? r : client_open(home->socket, NULL, ret_client, err);
}

time_ms daemon_lost_retry(struct daemon_lost *lost, const char *continues) {
    time_ms now = clock_read_steady();
    if (lost->since == 0)
        lost->since = now;
    if (!lost->reported && now - lost->since >= SECONDS(1)) {
        cmd_warn("the daemon has stopped; waiting for it ('sluice up' starts it%s%s)",
                 continues ? ", " : "", continues ? continues : "");
        lost->reported = true;
    }
    return now;
}
