/* depth.c: does a long queue cost memory, time to start again, or time to look at? */
#include <stdio.h>
#include <stdlib.h>

#include "daemon_bench.h"

#define LOOKS 60

struct looks {
    double status, list, why;
};

static double look(struct client *client, const char *path) {
    double times[LOOKS];
    struct error err = { 0 };
    for (int i = 0; i < LOOKS; i++) {
        double began = bench_now();
        if (client_call(client, "GET", path, NULL, NULL, &err) != 200) {
            fprintf(stderr, "bench: %s: %s\n", path, err.text);
            exit(1);
        }
        times[i] = bench_now() - began;
    }
    return bench_median(times, LOOKS) * 1e6;
}

static struct looks measure(size_t tasks, double most_mb, double most_seconds) {
    struct rig rig;
    bench_open(&rig, "queue: {soft: unlimited, hard: unlimited}\n");
    (void)bench_bulk(&rig, tasks);
    double full_mb = (double)bench_resident_kb(rig.daemon) / 1024;
    rig_kill(&rig);
    double began = bench_now();
    if (!rig_start(&rig))
        exit(1);
    struct client *client = rig_client(&rig);
    (void)look(client, "/healthz");
    double restart = bench_now() - began;
    struct looks looks = {
        .status = look(client, "/v1/status"),
        .list = look(client, "/v1/tasks?limit=50"),
        .why = look(client, "/v1/tasks/50/why"),
    };
    double mb = (double)bench_resident_kb(rig.daemon) / 1024;
    mb = mb > full_mb ? mb : full_mb;
    client_close(client);
    rig_close(&rig);
    bench_say("%zu queued: %.0f MB, serving %.2f s after a kill; status %.0f us, list %.0f us, why "
              "%.0f us",
              tasks, mb, restart, looks.status, looks.list, looks.why);
    if (most_mb > 0) {
        bench_goal(mb <= most_mb, "%zu queued in %.0f MB (at most %.0f)", tasks, mb, most_mb);
        bench_goal(restart <= most_seconds, "%zu queued: serving after %.2f s (at most %.0f)",
                   tasks, restart, most_seconds);
    }
    return looks;
}

void bench_depth(void) {
    printf("depth\n");
    struct looks few = measure(100, 0, 0);
    (void)measure(100000, 80, 1);
    struct looks many = measure(1000000, 300, 3);
    bench_goal(many.status <= 2 * few.status, "status: %.1f times as long as with 100 (at most 2)",
               many.status / few.status);
    bench_goal(many.list <= 2 * few.list, "list: %.1f times as long as with 100 (at most 2)",
               many.list / few.list);
    bench_goal(many.why <= 2 * few.why, "why: %.1f times as long as with 100 (at most 2)",
               many.why / few.why);
}
