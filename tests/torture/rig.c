/* rig.c: starts, kills and queries a real daemon. */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/patience.h"
#include "harness/scratch.h"

extern char **environ;

static int failures;

void rig_expect(bool ok, const char *format, ...) {
    if (ok)
        return;
    va_list args;
    va_start(args, format);
    if (failures++ < 20) {
        fputs("  wrong: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
    }
    va_end(args);
}

int rig_failures(void) {
    return failures;
}

static void die(const char *what) {
    fprintf(stderr, "torture: %s: %s\n", what, strerror(errno));
    exit(1);
}

long long rig_now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void rig_pause(int milliseconds) {
    (void)poll(NULL, 0, milliseconds);
}

static const char *program(const char *variable) {
    const char *path = getenv(variable);
    if (!path || access(path, X_OK) < 0) {
        fprintf(stderr, "torture: %s must name a program (run it by `make test`)\n", variable);
        exit(1);
    }
    return path;
}

/* All homes of this program are in one folder, which is removed at the end. An ext4 without
 * journal examines every recently deleted inode nearby before it creates a file, which would distort the next
 * measurement. For the same reason each home is created in its own block group (FS_TOPDIR_FL), away from files that other
 * programs have just deleted. */
static char base[SCRATCH_PATH];

static void make_base(void) {
    if (*base)
        return;
    scratch_make(base, "rig");
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC), flags = 0;
    if (fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_TOPDIR_FL;
        (void)ioctl(fd, FS_IOC_SETFLAGS, &flags); /* fails on other file systems */
    }
    close(fd);
}

void rig_make_home(struct rig *rig) {
    *rig = (struct rig){ .sluiced = program("SLUICED"), .side_agent = program("SIDE_AGENT") };
    make_base();
    snprintf(rig->home, sizeof(rig->home), "%s/XXXXXX", base);
    if (!mkdtemp(rig->home))
        die("mkdtemp");
    snprintf(rig->socket, sizeof(rig->socket), "%s/sluice.sock", rig->home);
    snprintf(rig->diary, sizeof(rig->diary), "%s/diary", rig->home);
    snprintf(rig->log, sizeof(rig->log), "%s/daemon.log", rig->home);
    setenv("SLUICE_HOME", rig->home, 1);
}

/* If SLUICE_TEST_STORE names a PostgreSQL server, each home has its own schema there. */
static void put_store(const struct rig *rig, const char *config, FILE *file) {
    const char *server = getenv("SLUICE_TEST_STORE"), *begin = strstr(config, "store: {");
    const char *name = strrchr(rig->home, '/') + 1;
    if (!server || !*server || strstr(config, "url:")) {
        (void)fputs(config, file);
        return;
    }
    size_t before = begin ? (size_t)(begin - config) : strlen(config);
    fprintf(file, "%.*sstore: {url: \"%s?schema=rig_%d_", (int)before, config, server,
            (int)getpid());
    for (; *name; name++) /* names that differ only in case would be the same schema */
        fprintf(file, "%02x", (unsigned char)*name);
    fprintf(file, "\"%s%s", begin ? ", " : "}\n", begin ? begin + strlen("store: {") : "");
}

void rig_write_config(const struct rig *rig, const char *config) {
    char path[128];
    snprintf(path, sizeof(path), "%s/sluice.yaml", rig->home);
    FILE *file = fopen(path, "we");
    if (!file)
        die(path);
    put_store(rig, config, file);
    const char *executor = getenv("SLUICE_TEST_EXECUTOR");
    if (executor && *executor && !strstr(config, "executor"))
        fprintf(file, "tasks.executor: %s\nslurm.poll_s: 0.3\n", executor);
    if (fclose(file) != 0)
        die(path);
}

void rig_open(struct rig *rig, const char *config) {
    rig_make_home(rig);
    rig_write_config(rig, config);
}

void rig_close(struct rig *rig) {
    if (rig->daemon)
        (void)rig_stop(rig);
}

static pid_t spawn_daemon(const struct rig *rig, int ready_fd) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, rig->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, ready_fd, 3);
    char *argv[] = { (char *)rig->sluiced, (char *)"--home", (char *)rig->home,
                     (char *)"--ready-fd", (char *)"3",      NULL };
    pid_t pid = 0;
    int r = posix_spawn(&pid, rig->sluiced, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return r == 0 ? pid : -1;
}

static int code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool rig_try_start(struct rig *rig) {
    int fds[2], status = 0;
    if (pipe2(fds, O_CLOEXEC) < 0)
        die("pipe");
    /* Not 3 itself: dup2 of a descriptor onto itself keeps CLOEXEC. */
    int ready = fcntl(fds[1], F_DUPFD_CLOEXEC, 10);
    pid_t pid = spawn_daemon(rig, ready);
    close(fds[1]);
    close(ready);
    size_t length = 0;
    ssize_t n;
    while (length < sizeof(rig->ready_text) - 1
           && (n = read(fds[0], rig->ready_text + length, sizeof(rig->ready_text) - 1 - length))
                  > 0)
        length += (size_t)n;
    rig->ready_text[length] = '\0';
    close(fds[0]);
    if (pid > 0 && strcmp(rig->ready_text, "ready\n") == 0) {
        rig->daemon = pid;
        rig->starts++;
        return true;
    }
    if (pid > 0)
        (void)waitpid(pid, &status, 0);
    rig->code = code_of(status);
    return false;
}

static void print_start_error(const struct rig *rig) {
    fprintf(stderr, "torture: the daemon did not start: %s (%s)\n", rig->ready_text, rig->log);
}

bool rig_start(struct rig *rig) {
    bool started = rig_try_start(rig);
    if (!started)
        print_start_error(rig);
    return started;
}

void rig_kill(struct rig *rig) {
    if (rig->daemon <= 0)
        return;
    kill(rig->daemon, SIGKILL);
    (void)waitpid(rig->daemon, NULL, 0);
    rig->daemon = 0;
}

int rig_stop(struct rig *rig) {
    int status = 0;
    kill(rig->daemon, SIGTERM);
    (void)waitpid(rig->daemon, &status, 0);
    rig->daemon = 0;
    return code_of(status);
}

/* The socket refuses connections: a daemon that still exists is about to exit. */
static void await_end(struct rig *rig) {
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    int status = 0;
    while (rig->daemon > 0 && rig_now_us() < deadline) {
        if (waitpid(rig->daemon, &status, WNOHANG) == rig->daemon) {
            rig->daemon = 0;
            rig->code = code_of(status);
        } else {
            rig_pause(2);
        }
    }
}

/* Retries while the database server is unreachable. */
static bool start_patiently(struct rig *rig) {
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    bool started = rig_try_start(rig);
    while (!started && getenv("SLUICE_TEST_STORE") && rig_now_us() < deadline) {
        rig_pause(20);
        started = rig_try_start(rig);
    }
    if (!started)
        print_start_error(rig);
    return started;
}

static int start_again(void *ctx, struct error *err) {
    struct rig *rig = ctx;
    await_end(rig);
    if (rig->daemon > 0)
        return error_set(err, -ECONNREFUSED, "the daemon listens no more, and does not end");
    return start_patiently(rig) ? 0 : error_set(err, -ECONNREFUSED, "no daemon");
}

struct client *rig_client(struct rig *rig) {
    struct client_options options = { .start = start_again, .ctx = rig };
    struct client *client = NULL;
    struct error err = { 0 };
    if (client_open(rig->socket, &options, &client, &err) < 0) {
        fprintf(stderr, "torture: %s\n", err.text);
        exit(1);
    }
    return client;
}

json_t *rig_task(const struct rig *rig, int milliseconds, int code) {
    char ms[16], exit_code[16];
    snprintf(ms, sizeof(ms), "%d", milliseconds);
    snprintf(exit_code, sizeof(exit_code), "%d", code);
    return json_pack("{s:[s,s,s,s], s:s}", "argv", rig->side_agent, rig->diary, ms, exit_code,
                     "cwd", "/");
}

int rig_submit(struct client *client, json_t *task, char ret_id[40], struct error *err) {
    json_t *answer = NULL;
    int status =
        client_call(client, "POST", "/v1/tasks", json_pack("{s:[o]}", "tasks", task), &answer, err);
    const char *id = json_string_value(
        json_object_get(json_array_get(json_object_get(answer, "tasks"), 0), "id"));
    if (status == 200 && id)
        snprintf(ret_id, 40, "%s", id);
    json_decref(answer);
    return status;
}

long long rig_open_tasks(struct client *client) {
    json_t *answer = NULL;
    struct error err = { 0 };
    long long open = -1;
    if (client_get(client, &answer, &err, "/v1/status") == 200) {
        static const char *const states[] = { "waiting", "ready", "starting", "running", "held" };
        const json_t *counts = json_object_get(answer, "counts");
        open = 0;
        for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
            open += json_integer_value(json_object_get(counts, states[i]));
    }
    json_decref(answer);
    return open;
}

/* --- waiting --------------------------------------------------------------------------------- */

/* State of the event stream. */
struct stream_state {
    bool happened;
    long long due; /* number of tasks that must end before the condition is evaluated again */
};

static bool is_final(const char *data) {
    return strstr(data, "\"to\":\"done\"") || strstr(data, "\"to\":\"failed\"")
           || strstr(data, "\"to\":\"canceled\"") || strstr(data, "\"to\":\"invalidated\"");
}

static int note_event(void *ctx, const struct client_event *event) {
    struct stream_state *state = ctx;
    state->happened = true;
    state->due -= is_final(event->data);
    if (strcmp(event->kind, "reset") == 0 || strcmp(event->kind, "overflow") == 0)
        state->due = 0; /* events were dropped */
    return 0;
}

/* Waits until the condition should be evaluated again; false: end of stream, or the deadline has passed. */
static bool wait_events(struct client *stream, struct stream_state *state, long long deadline_us) {
    struct pollfd fd = { .fd = client_fd(stream), .events = POLLIN };
    struct error err = { 0 };
    state->happened = false;
    while (!state->happened || state->due > 0) {
        long long left = (deadline_us - rig_now_us()) / 1000;
        if (left <= 0 || (poll(&fd, 1, (int)left) < 0 && errno != EINTR)
            || client_pump(stream, &err) <= 0)
            return false;
    }
    while (poll(&fd, 1, 0) > 0) /* read all pending events, then evaluate once */
        if (client_pump(stream, &err) <= 0)
            return false;
    return true;
}

static bool wait_for(struct rig *rig, bool (*until)(struct client *client, void *ctx), void *ctx,
                     struct stream_state *state) {
    struct client *client = rig_client(rig);
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    bool holds = false;
    while (!holds && rig_now_us() < deadline) {
        struct client *stream = rig_client(rig);
        struct error err = { 0 };
        int status =
            client_begin_events(stream, "/v1/events", CLIENT_EVENTS_NEW, note_event, state, &err);
        do /* the stream is open before the first evaluation, so no event is missed */
            holds = until(client, ctx);
        while (!holds && status == 200 && wait_events(stream, state, deadline));
        client_end(stream);
        client_close(stream);
    }
    client_close(client);
    return holds;
}

bool rig_wait(struct rig *rig, bool (*until)(struct client *client, void *ctx), void *ctx) {
    struct stream_state state = { 0 };
    return wait_for(rig, until, ctx, &state);
}

static bool is_drained(struct client *client, void *ctx) {
    struct stream_state *state = ctx;
    state->due = rig_open_tasks(client);
    return state->due == 0;
}

bool rig_wait_drained(struct rig *rig) {
    struct stream_state state = { 0 };
    bool drained = wait_for(rig, is_drained, &state, &state);
    if (!drained)
        fprintf(stderr, "torture: %lld tasks are still open after %d s\n", state.due, patience_s());
    return drained;
}
