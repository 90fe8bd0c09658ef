/* depth.c: memory, restart time and query time with a long queue.
 *
 * A daemon with few tasks and one with many are queried in turn, so that other load on the
 * machine affects both. Meanwhile all processes are pinned to one processor: a wake-up on
 * another processor takes up to half as long as an answer, at random. */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon_bench.h"

#define LOOKS 400
#define ROUND 20 /* queries of one daemon in a row, so that both are awake and warm */

struct depth {
    struct rig rig;
    struct client *client;
    size_t tasks;
    double full_mb, restart; /* before the kill; after it */
};

static double time_query(const struct depth *d, const char *path) {
    struct error err = { 0 };
    double began = bench_now();
    if (client_call(d->client, "GET", path, NULL, NULL, &err) != 200) {
        fprintf(stderr, "bench: %s: %s\n", path, err.text);
        exit(1);
    }
    return bench_now() - began;
}

static double depth_mb(const struct depth *d) {
    return (double)bench_resident_kb(d->rig.daemon) / 1024;
}

/* Fills the queue, kills the daemon, starts it again. */
static void depth_open(struct depth *d, size_t tasks) {
    *d = (struct depth){ .tasks = tasks };
    bench_open(&d->rig, "queue: {soft: unlimited, hard: unlimited}\n");
    (void)bench_bulk(&d->rig, tasks);
    d->full_mb = depth_mb(d);
    rig_kill(&d->rig);
    double began = bench_now();
    if (!rig_start(&d->rig))
        exit(1);
    d->client = rig_client(&d->rig);
    (void)time_query(d, "/healthz");
    d->restart = bench_now() - began;
}

static void depth_close(struct depth *d) {
    client_close(d->client);
    rig_close(&d->rig);
}

/* --- queries --------------------------------------------------------------------------------- */

/* Pins all threads of a process to these processors. */
static void process_pin(pid_t pid, const cpu_set_t *set) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    const struct dirent *entry;
    while (threads && (entry = readdir(threads))) {
        pid_t thread = (pid_t)atoi(entry->d_name);
        if (thread > 0)
            (void)sched_setaffinity(thread, sizeof(*set), set);
    }
    if (threads)
        (void)closedir(threads);
}

/* Queries both daemons in turn; prints the medians. */
static void compare(const struct depth *few, const struct depth *many, const char *what,
                    const char *few_path, const char *many_path) {
    double few_times[LOOKS], many_times[LOOKS];
    for (int i = 0; i < LOOKS; i += ROUND) {
        for (int k = i; k < i + ROUND; k++)
            few_times[k] = time_query(few, few_path);
        for (int k = i; k < i + ROUND; k++)
            many_times[k] = time_query(many, many_path);
    }
    double a = bench_median(few_times, LOOKS), b = bench_median(many_times, LOOKS);
    bench_goal(b <= 2 * a, "%s: %.0f us with %zu, %.0f us with %zu: %.1f times (at most 2)", what,
               a * 1e6, few->tasks, b * 1e6, many->tasks, b / a);
}

static void measure(const struct depth *few, size_t tasks, double most_mb, double most_seconds) {
    struct depth many;
    depth_open(&many, tasks);
    bench_goal(many.restart <= most_seconds,
               "%zu queued: serving %.2f s after a kill (at most %.0f)", tasks, many.restart,
               most_seconds);
    cpu_set_t before, one;
    (void)sched_getaffinity(0, sizeof(before), &before);
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    process_pin(few->rig.daemon, &one);
    process_pin(many.rig.daemon, &one);
    process_pin(getpid(), &one);
    char few_why[64], many_why[64]; /* in the middle its position is found on the longest path */
    snprintf(few_why, sizeof(few_why), "/v1/tasks/%zu/why", few->tasks / 2);
    snprintf(many_why, sizeof(many_why), "/v1/tasks/%zu/why", tasks / 2);
    compare(few, &many, "status", "/v1/status", "/v1/status");
    compare(few, &many, "list", "/v1/tasks?limit=50", "/v1/tasks?limit=50");
    compare(few, &many, "why", few_why, many_why);
    process_pin(getpid(), &before); /* the next daemon would inherit the pinning */
    double mb = depth_mb(&many) > many.full_mb ? depth_mb(&many) : many.full_mb;
    bench_goal(mb <= most_mb, "%zu queued in %.0f MB (at most %.0f)", tasks, mb, most_mb);
    depth_close(&many);
}

void bench_depth(void) {
    struct depth few;
    printf("depth\n");
    depth_open(&few, 100);
    measure(&few, 100000, 50, 1);
    measure(&few, 1000000, 150, 1);
    depth_close(&few);
}
