/* cmd_take.c: takes a task over, at this terminal.
 *
 * The daemon starts the agent as a run of the task, on a terminal of the run's own; this program
 * relays between that and the terminal of the person (os/terminal_wire.h). It listens before it asks
 * the daemon, so a run that starts after this program has gone finds no terminal, and its task stays
 * held. The daemon is not needed while the person works. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/request.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/terminal_wire.h"

#define ASK_EVERY     500         /* ms between two questions about the task */
#define END_PATIENCE  SECONDS(60) /* for a daemon that must first read the end */
#define MERGE_TIMEOUT HOURS(24)
#define END_OF_FILE   4 /* ^D */

enum then { THEN_ASK, THEN_DONE, THEN_CONTINUE, THEN_HOLD };
static const char *const then_words[] = { "", "done", "continue", "hold", NULL };

struct taking {
    const struct cmd_call *call;
    const char *id;
    struct request req;
    char *path; /* of our socket; removed at the end */
    int listener;
    int connection;    /* to the shim of the run; -1: none */
    struct strbuf why; /* printed last */
};

static volatile sig_atomic_t has_resized, is_interrupted;

static void on_resize(int number) {
    (void)number;
    has_resized = 1;
}

static void on_interrupt(int number) {
    is_interrupted = number;
}

static void catch_signal(int number, void (*handler)(int)) {
    struct sigaction action = { .sa_handler = handler };
    sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL); /* without SA_RESTART: poll returns */
}

/* --- the socket ------------------------------------------------------------------------------- */

/* Beside that of the daemon, so that its runs can reach it. */
static int listen_for_shim(struct taking *t) {
    static const char unix_prefix[] = "unix:";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *daemon = client_address_text(t->req.client);
    const char *path = daemon + strlen(unix_prefix), *slash = strrchr(daemon, '/');
    if (strncmp(daemon, unix_prefix, strlen(unix_prefix)) != 0 || !slash) {
        cmd_warn("a task is taken over on the host of its daemon, which is at '%s': use ssh",
                 daemon);
        return CMD_REFUSED;
    }
    t->path = xasprintf("%.*s/take-%d", (int)(slash - path), path, (int)getpid());
    if (strlen(t->path) >= sizeof(address.sun_path)) {
        cmd_warn("'%s' is too long for a socket: move the home of the daemon", t->path);
        return CMD_FAILED;
    }
    memcpy(address.sun_path, t->path, strlen(t->path) + 1);
    (void)unlink(t->path); /* of a process that had the same number */
    mode_t before = umask(077);
    t->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r = t->listener < 0
                    || bind(t->listener, (const struct sockaddr *)&address, sizeof(address)) < 0
                    || listen(t->listener, 1) < 0
                ? -errno
                : 0;
    (void)umask(before);
    if (r == 0)
        return CMD_OK;
    cmd_warn("cannot make the socket '%s': %s", t->path, strerror(-r));
    return CMD_FAILED;
}

static void close_socket(struct taking *t) {
    fd_closep(&t->listener);
    if (t->path)
        (void)unlink(t->path);
}

static void taking_finish(struct taking *t) {
    close_socket(t);
    fd_closep(&t->connection);
    free(t->path);
    strbuf_finish(&t->why);
    request_finish(&t->req);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static const char *state_of(const struct taking *t) {
    return get_text(t->req.answer, "state", "");
}

static bool is_one_of(const char *word, const char *const *list) {
    while (*list && strcmp(word, *list) != 0)
        list++;
    return *list != NULL;
}

static bool is_underway(const struct taking *t) {
    static const char *const states[] = { "waiting", "ready", "starting", "running", NULL };
    return is_one_of(state_of(t), states) && json_object_get(t->req.answer, "taken");
}

/* A daemon that does not answer is asked again: it may be a new one soon. */
static bool look(struct taking *t) {
    return request_try_task(&t->req, t->id) == 0;
}

static void print_why(struct taking *t) {
    const char *why = get_text(t->req.answer, "why", NULL), *state = state_of(t);
    if (!why && json_object_get(t->req.answer, "run"))
        why = "its run is being stopped";
    if (!why || strcmp(state, "starting") == 0 || strcmp(strbuf_text(&t->why), why) == 0)
        return;
    strbuf_clear(&t->why);
    strbuf_puts(&t->why, why);
    fprintf(stderr, "%s: %s\n", t->id, why);
}

/* True: the shim of the run is connected. */
static bool accept_shim(struct taking *t, int timeout) {
    struct pollfd ready = { .fd = t->listener, .events = POLLIN };
    struct ucred who = { 0 };
    socklen_t size = sizeof(who);
    if (poll(&ready, 1, timeout) <= 0)
        return false;
    /* cppcheck-suppress nullPointer ; the address is not needed */
    int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0
        && who.uid == geteuid()) {
        t->connection = fd;
        return true;
    }
    fd_closep(&fd);
    return false;
}

/* The person has gone before it was opened: it is held, if it can be. */
static int give_up(struct taking *t) {
    close_socket(t);
    int r = request_try_post(&t->req, json_pack("{s:[s]}", "tasks", t->id), "/v1/tasks/hold");
    fprintf(stderr, r == 0 ? "%s is held\n" : "%s will be held as soon as its run has ended\n",
            t->id);
    return CMD_NEEDS_PERSON;
}

static int explain_closed(const struct taking *t) {
    const json_t *last = json_array_get(json_object_get(t->req.answer, "runs"), 0);
    if (json_object_get(t->req.answer, "taken"))
        cmd_warn("%s could not be opened: %s; it is held", t->id,
                 get_text(last, "message", "its agent ended at once"));
    else {
        const char *why = get_text(t->req.answer, "why", NULL);
        cmd_warn("%s is no longer taken over: it is %s%s%s", t->id, state_of(t), why ? ", " : "",
                 why ? why : "; its run ended first, or it has been changed");
    }
    return CMD_FAILED;
}

static int wait_for_shim(struct taking *t) {
    while (!accept_shim(t, ASK_EVERY)) {
        if (is_interrupted)
            return give_up(t);
        if (!look(t))
            continue;
        if (is_underway(t)) {
            print_why(t);
            continue;
        }
        if (accept_shim(t, 0)) /* it was short */
            break;
        return explain_closed(t);
    }
    close_socket(t);
    return CMD_OK;
}

/* --- relaying --------------------------------------------------------------------------------- */

static bool write_all(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t done = write(fd, at, size);
        if (done < 0 && (errno == EINTR || errno == EAGAIN)) {
            struct pollfd ready = { .fd = fd, .events = POLLOUT };
            (void)poll(&ready, 1, -1);
            continue;
        }
        if (done <= 0)
            return false;
        at += done;
        size -= (size_t)done;
    }
    return true;
}

static bool send_frame(int fd, char kind, const void *bytes, size_t size) {
    unsigned char frame[TERMINAL_HEAD + TERMINAL_FRAME_MAX] = { (unsigned char)kind };
    terminal_put_number(frame + 1, (unsigned)size);
    memcpy(frame + TERMINAL_HEAD, bytes, size);
    return write_all(fd, frame, TERMINAL_HEAD + size);
}

static bool send_size(int fd) {
    struct winsize size = { .ws_row = 24, .ws_col = 80 };
    unsigned char numbers[4];
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
    terminal_put_number(numbers, size.ws_row);
    terminal_put_number(numbers + 2, size.ws_col);
    return send_frame(fd, TERMINAL_SIZE, numbers, sizeof(numbers));
}

/* False: this side has nothing more to send. A file that ends is an end of file for the command. */
static bool send_typed(int fd) {
    static const char end = END_OF_FILE;
    char bytes[TERMINAL_FRAME_MAX];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (got <= 0) {
        (void)send_frame(fd, TERMINAL_DATA, &end, 1);
        return false;
    }
    return send_frame(fd, TERMINAL_DATA, bytes, (size_t)got);
}

/* Returns when the run has ended; false: this terminal was closed. */
static bool relay(int fd) {
    bool typing = true;
    char bytes[8192];
    if (!send_size(fd))
        return true;
    for (;;) {
        struct pollfd ready[] = { { .fd = fd, .events = POLLIN },
                                  { .fd = typing ? STDIN_FILENO : -1, .events = POLLIN } };
        int count = poll(ready, 2, -1);
        if (is_interrupted)
            return false;
        if (has_resized) {
            has_resized = 0;
            (void)send_size(fd);
        }
        if (count <= 0)
            continue;
        if (ready[0].revents) {
            ssize_t got = read(fd, bytes, sizeof(bytes));
            if (got <= 0)
                return true;
            if (!write_all(STDOUT_FILENO, bytes, (size_t)got))
                return false;
        }
        if (ready[1].revents)
            typing = send_typed(fd);
    }
}

static bool work(const struct taking *t) {
    struct termios before, raw;
    bool has_terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    catch_signal(SIGWINCH, on_resize);
    catch_signal(SIGTERM, on_interrupt);
    if (has_terminal) { /* Ctrl-C is typed into the terminal of the run */
        raw = before;
        cfmakeraw(&raw);
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    bool is_over = relay(t->connection);
    if (has_terminal)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    return is_over;
}

/* --- afterwards ------------------------------------------------------------------------------- */

/* The end is on disk; the daemon reads it, or the next daemon will. */
static int wait_for_end(struct taking *t) {
    time_ms until = clock_read_steady() + END_PATIENCE;
    while (clock_read_steady() < until && !is_interrupted) {
        if (look(t) && !is_underway(t))
            return CMD_OK;
        (void)poll(NULL, 0, ASK_EVERY / 5);
    }
    cmd_warn("the daemon has not read the end of the run yet; then %s is held: give it back with "
             "'sluice release %s', or mark it done with 'sluice approve %s'",
             t->id, t->id, t->id);
    return CMD_NEEDS_PERSON;
}

static enum then ask_then(const struct taking *t) {
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return THEN_HOLD;
    for (;;) {
        char line[80];
        printf("\n%s: done, continue unattended, or keep it held? [d/c/H] ", t->id);
        (void)fflush(stdout);
        if (!fgets(line, sizeof(line), stdin) || line[0] == '\n' || line[0] == 'h'
            || line[0] == 'H')
            return THEN_HOLD;
        if (line[0] == 'd' || line[0] == 'D')
            return THEN_DONE;
        if (line[0] == 'c' || line[0] == 'C')
            return THEN_CONTINUE;
    }
}

static int finish_with(struct taking *t, enum then then) {
    const char *message = cmd_value(t->call, "message");
    json_t *body = json_pack("{s:[s]}", "tasks", t->id);
    if (then == THEN_CONTINUE && message)
        json_object_set_new(body, "message", json_string(message));
    client_set_timeout(t->req.client, MERGE_TIMEOUT);
    if (then == THEN_HOLD) {
        json_decref(body);
    } else {
        int code = request_post(&t->req, body,
                                then == THEN_DONE ? "/v1/tasks/approve" : "/v1/tasks/release");
        if (code != CMD_OK)
            return code;
    }
    if (t->call->json) {
        int code = request_try_task(&t->req, t->id) == 0 ? CMD_OK : CMD_FAILED;
        return code == CMD_OK ? request_print(&t->req) : request_failed(&t->req);
    }
    static const char *const texts[] = {
        [THEN_DONE] = "is done", [THEN_CONTINUE] = "continues unattended", [THEN_HOLD] = "is held"
    };
    printf("%s %s\n", t->id, texts[then]);
    return CMD_OK;
}

static int take(struct taking *t, enum then then) {
    const char *shell = getenv("SHELL"), *term = getenv("TERM");
    json_t *body =
        json_pack("{s:s, s:s*, s:s*}", "terminal", t->path, "term", term && *term ? term : NULL,
                  "shell", shell && *shell == '/' ? shell : NULL);
    int code = request_named(&t->req, t->call, body, "/v1/tasks/", "/take");
    if (code != CMD_OK)
        return code;
    catch_signal(SIGINT, on_interrupt);
    catch_signal(SIGTERM, on_interrupt);
    code = wait_for_shim(t);
    if (code != CMD_OK)
        return code;
    catch_signal(SIGINT, SIG_DFL);
    if (!work(t)) { /* the shim ends the run */
        fd_closep(&t->connection);
        cmd_warn("this terminal was closed; %s is held", t->id);
        return CMD_NEEDS_PERSON;
    }
    code = wait_for_end(t);
    if (code != CMD_OK)
        return code;
    if (strcmp(state_of(t), "held") != 0 || !json_object_get(t->req.answer, "taken")) {
        cmd_warn("%s is %s: another client has decided first", t->id, state_of(t));
        return CMD_REFUSED;
    }
    return finish_with(t, then == THEN_ASK ? ask_then(t) : then);
}

static int cmd_take_run(const struct cmd_call *call) {
    int then = cmd_choice(call, "then", then_words + 1);
    if (then < 0)
        return CMD_USAGE;
    if (cmd_has(call, "then"))
        then++;
    if (cmd_has(call, "message") && then != THEN_CONTINUE)
        return cmd_usage_error(call->cmd, "'--message' needs '--then continue'");
    int code = request_check_name(call, call->args[0]);
    if (code != CMD_OK)
        return code;
    _cleanup_(taking_finish) struct taking t = {
        .call = call, .id = call->args[0], .listener = -1, .connection = -1, .why = STRBUF_INIT
    };
    if (client_is_in_run()) {
        cmd_warn("a run cannot take a task over");
        return CMD_REFUSED;
    }
    code = request_open(&t.req, REQUEST_RUNNING);
    if (code == CMD_OK)
        code = listen_for_shim(&t);
    return code == CMD_OK ? take(&t, (enum then)then) : code;
}

const struct cmd cmd_take = {
    "take", cmd_take_run, .min_args = 1, .max_args = 1,
    .options = CMD_OPTIONS(
        { "then", 0, "WHAT", "what to do afterwards: done, continue or hold; default: ask" },
        { "message", 'm', "TEXT", "with --then continue: a message to the agent" })
};
