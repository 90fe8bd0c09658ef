/* hostile.c: does the daemon answer its owner while twenty runs attack it?
 *
 * Each run makes every attempt of tests/escape/, one after the other. Then it replaces its files that the daemon
 * reads
 * with FIFOs and huge files, floods its log, holds connections open, and ends, so that the daemon reads what is left;
 * the
 * next run takes its slot. A process that answers at once on a socket of the same kind shows how much latency the
 * load
 * of the machine alone causes. */
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
#define TASKS     (4 * RUNS)
#define QUESTIONS 100000 /* maximum; as many as fit while they run */
#define PAUSE_MS  2
#define MOST_MS   100.0

/* ATTEMPT and the names of the targets are in its environment. */
static const char attack[] =
    "cd \"$TMPDIR\" || exit 1\n"
    "for _ in 1 2 3 4; do curl -sN --max-time 60 --unix-socket \"$ESCAPE_SOCKET\" "
    "http://sluice/v1/events & done >/dev/null 2>&1\n"
    "for name in $(\"$ATTEMPT\" --list); do \"$ATTEMPT\" $name; done >/dev/null 2>&1\n"
    "own=${TMPDIR%/tmp} iteration=${SLUICE_ARTIFACTS%/artifacts}\n"
    "for file in \"$iteration/prompt.md\" \"$iteration/feedback.md\" \"$iteration/diff.json\" "
    "\"$SLUICE_ARTIFACTS/spawn.json\" \"$SLUICE_DONE\" \"$own/prompt\" \"$own/check.log\" "
    "\"$own/end.json\"; do rm -f \"$file\"; mkfifo \"$file\"; done\n"
    "truncate -s 1T \"$SLUICE_ARTIFACTS/huge\" \"$own/usage.json\"\n"
    "head -c 4000000 /dev/zero | tr '\\0' x\n"
    "echo >>\"$ESCAPE_HOME/rounds\"\n";

static const char question[] =
    "GET /v1/status HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n\r\n";

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.107s", path);
    return address;
}

/* A new connection for each, as a command opens one; milliseconds until the answer is complete. */
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
        (void)prctl(PR_SET_NAME,
                    "victim"); /* the target of the attempts, and of no other process */
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

/* The targets of the attempts; whatever they damage is in the home of this measurement. */
static json_t *targets(const struct rig *rig, const char *attempt, pid_t victim) {
    json_t *env = json_object();
    char pid[16], folder[128];
    (void)snprintf(folder, sizeof(folder), "%s/owner", rig->home);
    add_env(env, "ATTEMPT", attempt);
    add_env(env, "ESCAPE_HOME", folder);
    add_env(env, "ESCAPE_SLUICE", rig->home);
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

static void add_runs(struct rig *rig, const char *attempt, pid_t victim) {
    struct client *client = rig_client(rig);
    char id[40], folder[128];
    struct error err = { 0 };
    (void)snprintf(folder, sizeof(folder), "%s/owner", rig->home);
    (void)mkdir(folder, 0700);
    for (int i = 0; i < TASKS; i++) {
        json_t *task =
            json_pack("{s:[s,s,s],s:s,s:s,s:o}", "argv", "sh", "-c", attack, "cwd", rig->home,
                      "spawn", "spawn.json", "env", targets(rig, attempt, victim));
        if (rig_submit(client, task, id, &err) != 200) {
            fprintf(stderr, "bench: %s\n", err.text);
            exit(1);
        }
    }
    client_close(client);
}

/* Number of runs that have made all attempts. */
static int rounds(const struct rig *rig) {
    char path[128];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%s/owner/rounds", rig->home);
    return stat(path, &st) == 0 ? (int)st.st_size : 0;
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

void bench_hostile(const char *attempt) {
    static double ours[QUESTIONS], peers[QUESTIONS];
    struct rig rig;
    char path[112];
    size_t count = 0;
    printf("the owner asks for the status while %d runs attack\n", RUNS);
    if (!attempt) {
        bench_goal(false, "ATTEMPT is not set: run it by `make bench`");
        return;
    }
    (void)signal(SIGUSR2, SIG_IGN); /* one of the attempts sends it; the peer ignores it, too */
    bench_open(&rig, "limits: {runs: 20}\nretry: {failed: {max: 0}, launch: {as: failed}}\n");
    (void)snprintf(path, sizeof(path), "%s/peer", rig.home);
    pid_t peer = start_peer(path);
    add_runs(&rig, attempt, peer);
    bench_pause(&rig, false);
    if (!rig_wait(&rig, all_run, NULL))
        bench_goal(false, "not all of them run");
    double began = bench_now();
    while (count < QUESTIONS && rounds(&rig) < TASKS) {
        ours[count] = ask(rig.socket);
        peers[count++] = ask(path);
        rig_pause(PAUSE_MS);
    }
    double slowest = bench_percentile(ours, count, 1);
    bench_say("%d runs have made all attempts, %.0f s, %zu questions", rounds(&rig),
              bench_now() - began, count);
    bench_say("daemon p50 %.2f ms  p99 %.2f ms  most %.2f ms", bench_percentile(ours, count, 0.5),
              bench_percentile(ours, count, 0.99), slowest);
    bench_say("a process that answers at once: p50 %.2f ms  p99 %.2f ms  most %.2f ms",
              bench_percentile(peers, count, 0.5), bench_percentile(peers, count, 0.99),
              bench_percentile(peers, count, 1));
    bench_goal(slowest <= MOST_MS, "the slowest answer took %.1f ms (at most %.0f)", slowest,
               MOST_MS);
    (void)kill(peer, SIGKILL);
    (void)waitpid(peer, NULL, 0);
    rig_wait_drained(&rig);
    rig_close(&rig);
}
