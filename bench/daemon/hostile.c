/* hostile.c: does the daemon answer its owner while twenty runs attack it?
 *
 * Each run makes every attempt of tests/escape/, one after the other, again and again. Beside the daemon a process that
 * answers at once, on a socket of the same kind, shows what the load of the machine alone costs. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon_bench.h"

#define RUNS      20
#define QUESTIONS 400
#define MOST_MS   100.0

static const char question[] =
    "GET /v1/status HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n\r\n";

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.107s", path);
    return address;
}

/* A new connection each, as a command makes one; milliseconds until the answer is complete. */
static double ask(const char *path) {
    static char answer[1 << 20];
    struct sockaddr_un address = address_of(path);
    double began = bench_now();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0
        || write(fd, question, strlen(question)) < 0) {
        fprintf(stderr, "bench: %s does not answer\n", path);
        exit(1);
    }
    size_t size = 0;
    for (ssize_t got;
         size < sizeof(answer) && (got = read(fd, answer + size, sizeof(answer) - size)) > 0;)
        size += (size_t)got;
    close(fd);
    if (size < 12 || strncmp(answer, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "bench: %s: %.60s\n", path, answer);
        exit(1);
    }
    return (bench_now() - began) * 1e3;
}

static pid_t start_peer(const char *path) {
    struct sockaddr_un address = address_of(path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0
        || listen(listener, 64) < 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_NAME, "victim"); /* the attempts are after it, and no other process */
        for (char line[256];;) {
            int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
            (void)!read(fd, line, sizeof(line));
            (void)!write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
            close(fd);
        }
    }
    close(listener);
    return pid;
}

static void add_env(json_t *env, const char *name, const char *value) {
    json_object_set_new(env, name, json_string(value));
}

/* Where the attempts find what they are after; what they damage is below the home of this measurement. */
static json_t *targets(const struct rig *rig, pid_t victim) {
    json_t *env = json_object();
    char pid[16], folder[128];
    (void)snprintf(folder, sizeof(folder), "%s/owner", rig->home);
    add_env(env, "ESCAPE_HOME", folder);
    add_env(env, "ESCAPE_SLUICE", folder);
    add_env(env, "ESCAPE_REPO", folder);
    add_env(env, "ESCAPE_TMP", folder);
    add_env(env, "ESCAPE_OTHER", folder);
    add_env(env, "ESCAPE_CGROUP", folder);
    add_env(env, "ESCAPE_SOCKET", rig->socket);
    add_env(env, "ESCAPE_ABSTRACT", "@sluice-bench");
    add_env(env, "ESCAPE_SHARED", "sluice-bench");
    add_env(env, "ESCAPE_MARK", "# mark");
    add_env(env, "ESCAPE_HANDLE", "1 0");
    add_env(env, "ESCAPE_ADDRESS", "1000");
    add_env(env, "ESCAPE_PORT", "9");
    add_env(env, "ESCAPE_SHM", "0");
    (void)snprintf(pid, sizeof(pid), "%d", (int)rig->daemon);
    add_env(env, "ESCAPE_DAEMON", pid);
    add_env(env, "ESCAPE_SHIM", pid);
    (void)snprintf(pid, sizeof(pid), "%d", (int)victim);
    add_env(env, "ESCAPE_VICTIM", pid);
    return env;
}

/* Their ids. */
static json_t *add_runs(struct rig *rig, const char *attempt, pid_t victim) {
    struct client *client = rig_client(rig);
    json_t *ids = json_array();
    char script[512], id[40], folder[128];
    struct error err = { 0 };
    (void)snprintf(folder, sizeof(folder), "%s/owner", rig->home);
    (void)mkdir(folder, 0700);
    (void)snprintf(script, sizeof(script),
                   "cd \"$TMPDIR\"; while :; do for name in $('%s' --list); do '%s' $name; done; "
                   "done >/dev/null 2>&1",
                   attempt, attempt);
    for (int i = 0; i < RUNS; i++) {
        json_t *task = json_pack("{s:[s,s,s],s:s,s:o}", "argv", "sh", "-c", script, "cwd",
                                 rig->home, "env", targets(rig, victim));
        if (rig_submit(client, task, id, &err) != 200) {
            fprintf(stderr, "bench: %s\n", err.text);
            exit(1);
        }
        json_array_append_new(ids, json_string(id));
    }
    client_close(client);
    return ids;
}

static bool all_run(struct client *client, void *ctx) {
    json_t *status = NULL;
    struct error err = { 0 };
    (void)ctx;
    bool done = client_call(client, "GET", "/v1/status", NULL, &status, &err) == 200
                && json_integer_value(json_object_get(json_object_get(status, "counts"), "running"))
                       == RUNS;
    json_decref(status);
    return done;
}

static void stop(struct rig *rig, json_t *ids) {
    struct client *client = rig_client(rig);
    struct error err = { 0 };
    if (client_call(client, "POST", "/v1/tasks/cancel",
                    json_pack("{s:o,s:b}", "tasks", ids, "now", 1), NULL, &err)
        != 200)
        fprintf(stderr, "bench: %s\n", err.text);
    client_close(client);
    rig_wait_drained(rig);
}

void bench_hostile(const char *attempt) {
    static double ours[QUESTIONS], peers[QUESTIONS];
    struct rig rig;
    char path[112];
    printf("the owner asks for the status while %d runs attack\n", RUNS);
    if (!attempt) {
        bench_goal(false, "ATTEMPT is not set: run it by `make bench`");
        return;
    }
    (void)signal(SIGUSR2, SIG_IGN); /* one of the attempts sends it; the peer ignores it, too */
    bench_open(&rig, "limits: {runs: 20}\n");
    (void)snprintf(path, sizeof(path), "%s/peer", rig.home);
    pid_t peer = start_peer(path);
    json_t *ids = add_runs(&rig, attempt, peer);
    bench_pause(&rig, false);
    if (!rig_wait(&rig, all_run, NULL))
        bench_goal(false, "not all of them run");
    for (int i = 0; i < QUESTIONS; i++) {
        ours[i] = ask(rig.socket);
        peers[i] = ask(path);
    }
    bench_say("daemon p50 %.2f ms  p99 %.2f ms  most %.2f ms",
              bench_percentile(ours, QUESTIONS, 0.5), bench_percentile(ours, QUESTIONS, 0.99),
              bench_percentile(ours, QUESTIONS, 1));
    bench_say("a process that answers at once: p50 %.2f ms  p99 %.2f ms  most %.2f ms",
              bench_percentile(peers, QUESTIONS, 0.5), bench_percentile(peers, QUESTIONS, 0.99),
              bench_percentile(peers, QUESTIONS, 1));
    bench_goal(bench_percentile(ours, QUESTIONS, 1) <= MOST_MS,
               "the slowest answer took %.1f ms (at most %.0f)",
               bench_percentile(ours, QUESTIONS, 1), MOST_MS);
    (void)kill(peer, SIGKILL);
    (void)waitpid(peer, NULL, 0);
    stop(&rig, ids);
    rig_close(&rig);
}
