/* test_start_stop.c: the daemon starts, reloads its configuration and stops; if it cannot start, it reports why.
 *
 * `sluice up` prints the line from the ready descriptor, so every refusal must be a one-line message
 * there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/patience.h"
#include "harness/small_disk.h"
#include "rig.h"

#define CALM "host: {disk_free_gb: 0}\nstore: {min_free_mb: 1}\n"

#define CLIENTS 4
#define SUBMITS 50

extern char **environ;

/* Checks that the daemon refuses to start, with this exit code and `part` in its message. */
static void expect_refusal(struct rig *rig, int code, const char *part) {
    if (rig_try_start(rig)) {
        rig_expect(false, "it started; it should say '%s'", part);
        rig_kill(rig);
        return;
    }
    size_t length = strlen(rig->ready_text);
    rig_expect(rig->code == code, "exit code %d, not %d (%s)", rig->code, code, rig->ready_text);
    rig_expect(strstr(rig->ready_text, part) != NULL, "'%s' is not in: %s", part, rig->ready_text);
    rig_expect(length > 1 && strchr(rig->ready_text, '\n') == rig->ready_text + length - 1,
               "not one line: %s", rig->ready_text);
}

static bool answers(struct rig *rig) {
    struct error err = { 0 };
    struct client *client = rig_client(rig);
    int status = client_get(client, NULL, &err, "/healthz");
    client_close(client);
    return status == 200;
}

/* --- starting -------------------------------------------------------------------------------- */

static void a_home_has_one_daemon(void) {
    struct rig rig;
    char pid[32];
    rig_open(&rig, CALM);
    if (!rig_start(&rig))
        exit(1);
    snprintf(pid, sizeof(pid), "pid %d", (int)rig.daemon);
    expect_refusal(&rig, 4, "is in use by another process");
    expect_refusal(&rig, 4, pid);
    /* Two daemons cannot share a home, even with different stores: they would compete for the socket and the runs. */
    rig_write_config(&rig, "store: {url: \"memory:\"}\n");
    expect_refusal(&rig, 4, "is in use by another process");
    rig_expect(answers(&rig), "the first one does not answer any more");
    rig_expect(rig_stop(&rig) == 0, "it did not stop cleanly");
    rig_close(&rig);
}

static void a_configuration_error_names_its_line(void) {
    struct rig rig;
    rig_open(&rig, "limits:\n  runs: 4\n  rums: 5\n");
    expect_refusal(&rig, 1, "sluice.yaml:3");
    rig_write_config(&rig, "projects: {one: {prefix: x}, two: {prefix: x}}\n");
    expect_refusal(&rig, 1, "same prefix 'x'");
    rig_close(&rig);
}

static void a_home_that_cannot_be_used_is_named(void) {
    struct rig rig, elsewhere;
    rig_open(&rig, CALM);
    elsewhere = rig;
    snprintf(elsewhere.home, sizeof(elsewhere.home), "%.40s/sluice.yaml/home",
             rig.home); /* below a file */
    expect_refusal(&elsewhere, 1, elsewhere.home);
    snprintf(elsewhere.home, sizeof(elsewhere.home), "/proc/nowhere");
    expect_refusal(&elsewhere, 1, "/proc/nowhere");
    if (small_disk_mount(rig.home, 8)
        && mount(NULL, rig.home, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0) {
        snprintf(rig.log, sizeof(rig.log), "/dev/null");
        expect_refusal(&rig, 1, "Read-only file system");
        small_disk_unmount(rig.home);
    }
    rig_close(&rig);
}

/* --- pipes without a reader ------------------------------------------------------------------- */

static void start_with(struct rig *rig, int ready_fd, int log_fd) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, log_fd, 2);
    posix_spawn_file_actions_adddup2(&actions, ready_fd, 3);
    char *argv[] = { (char *)rig->sluiced, (char *)"--ready-fd", (char *)"3", NULL };
    if (posix_spawn(&rig->daemon, rig->sluiced, &actions, NULL, argv, environ) != 0)
        rig->daemon = 0;
    posix_spawn_file_actions_destroy(&actions);
}

static bool wait_for_socket(const struct rig *rig) {
    struct stat st;
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    while (stat(rig->socket, &st) < 0) { /* poll: the ready descriptor is closed in this test */
        if (rig_now_us() > deadline)
            return false;
        rig_pause(20);
    }
    return true;
}

static void closed_pipes_do_not_stop_the_daemon(void) {
    struct rig rig;
    int ready[2], log[2];
    rig_open(&rig, CALM);
    if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0)
        exit(1);
    close(ready[0]); /* the parent has exited, and so has the reader of the log */
    close(log[0]);
    start_with(&rig, ready[1], log[1]);
    rig_expect(wait_for_socket(&rig) && answers(&rig), "it exited because of a closed pipe");
    rig_expect(waitpid(rig.daemon, NULL, WNOHANG) == 0, "it is dead");
    rig_expect(rig_stop(&rig) == 0, "it did not stop cleanly");
    close(ready[1]);
    close(log[1]);
    rig_close(&rig);
}

static void a_full_log_pipe_does_not_block_the_daemon(void) {
    struct rig rig;
    int ready[2], log[2];
    char filler[4096] = "";
    rig_open(&rig, CALM);
    if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0)
        exit(1);
    /* Fill the pipe, so that writers block. */
    fcntl(log[1], F_SETFL, O_NONBLOCK);
    while (write(log[1], filler, sizeof(filler)) > 0)
        continue;
    fcntl(log[1], F_SETFL, 0);
    start_with(&rig, ready[1], log[1]);
    rig_expect(wait_for_socket(&rig), "it waits for the reader of its log");
    kill(rig.daemon, SIGHUP); /* one more line in the log */
    rig_expect(answers(&rig), "it waits for the reader of its log");
    rig_expect(rig_stop(&rig) == 0, "it did not stop cleanly");
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(log[i]);
    }
    rig_close(&rig);
}

/* --- reloading -------------------------------------------------------------------------------- */

struct expected {
    const char *text;
    const char *path;
};

/* True if the text is in the answer to a GET, or in the log of the daemon. */
static bool contains_text(struct client *client, void *ctx) {
    const struct expected *expected = ctx;
    struct error err = { 0 };
    if (expected->path[0] == '/' && strncmp(expected->path, "/v1", 3) == 0)
        return client_call(client, "GET", expected->path, NULL, NULL, &err) == 200
               && strstr(client_text(client), expected->text);
    char text[65536] = "";
    int fd = open(expected->path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0)
        close(fd);
    return n > 0 && strstr(text, expected->text);
}

static void wait_for_text(struct rig *rig, struct expected expected) {
    struct client *client = rig_client(rig);
    bool found = false;
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    while (!(found = contains_text(client, &expected)) && rig_now_us() < deadline)
        rig_pause(20); /* a refused configuration emits no event */
    rig_expect(found, "'%s' is not in %s", expected.text, expected.path);
    client_close(client);
}

static void a_hangup_reads_the_configuration_again(void) {
    struct rig rig;
    rig_open(&rig, "limits: {runs: 3}\n" CALM);
    if (!rig_start(&rig))
        exit(1);
    rig_write_config(&rig, "limits: {runs: 3,\n  rums: 4}\n" CALM);
    kill(rig.daemon, SIGHUP);
    wait_for_text(&rig, (struct expected){ "the configuration was not changed", rig.log });
    wait_for_text(&rig, (struct expected){ "sluice.yaml:2", rig.log });
    wait_for_text(&rig, (struct expected){ "\"value\":3", "/v1/config/limits.runs" });
    rig_write_config(&rig, "limits: {runs: 9}\nprojects: {late: {}}\n" CALM);
    kill(rig.daemon, SIGHUP);
    wait_for_text(&rig, (struct expected){ "\"value\":9", "/v1/config/limits.runs" });
    wait_for_text(&rig, (struct expected){ "\"late\"", "/v1/projects" });
    rig_expect(rig_stop(&rig) == 0, "it did not stop cleanly");
    rig_close(&rig);
}

/* --- stopping -------------------------------------------------------------------------------- */

/* Writes the id of each acknowledged task to the pipe. While the daemon is down, the client retries
 * with the same key. */
static void submit_many(struct rig *rig, int out) {
    struct client *client = NULL;
    struct error err = { 0 };
    char id[40];
    if (client_open(rig->socket, NULL, &client, &err) < 0)
        _exit(1);
    for (int i = 0; i < SUBMITS; i++)
        if (rig_submit(client, rig_task(rig, 0, 0), id, &err) == 200
            && write(out, id, sizeof(id)) != (ssize_t)sizeof(id))
            _exit(1);
    _exit(0);
}

static void what_was_answered_before_a_stop_is_there_after_it(void) {
    struct rig rig;
    int out[2];
    char id[40];
    size_t acked = 0, missing = 0;
    pid_t clients[CLIENTS];
    struct error err = { 0 };
    rig_open(&rig, CALM);
    if (!rig_start(&rig) || pipe2(out, O_CLOEXEC) < 0)
        exit(1);
    for (int i = 0; i < CLIENTS; i++)
        if ((clients[i] = fork()) == 0)
            submit_many(&rig, out[1]);
    close(out[1]);
    struct client *client = NULL;
    for (; read(out[0], id, sizeof(id)) == (ssize_t)sizeof(id); acked++) {
        if (acked == SUBMITS) { /* in the middle of the submits */
            rig_expect(rig_stop(&rig) == 0, "it did not stop cleanly");
            rig_expect(rig_start(&rig), "it does not start again");
            client = rig_client(&rig);
        }
        if (client)
            missing += client_get(client, NULL, &err, "/v1/tasks/%s", id) != 200;
    }
    rig_expect(acked > SUBMITS && missing == 0, "%zu of %zu answered tasks are gone", missing,
               acked);
    for (int i = 0; i < CLIENTS; i++)
        (void)waitpid(clients[i], NULL, 0);
    close(out[0]);
    client_close(client);
    rig_expect(rig_wait_drained(&rig), "not everything ended");
    rig_expect(rig_stop(&rig) == 0, "it did not stop cleanly");
    rig_close(&rig);
}

int main(void) {
    signal(SIGPIPE, SIG_DFL); /* as in a shell */
    a_home_has_one_daemon();
    a_configuration_error_names_its_line();
    closed_pipes_do_not_stop_the_daemon();
    a_full_log_pipe_does_not_block_the_daemon();
    a_hangup_reads_the_configuration_again();
    what_was_answered_before_a_stop_is_there_after_it();
    a_home_that_cannot_be_used_is_named(); /* last: it moves this process to its own namespace */
    return rig_failures() > 0;
}
