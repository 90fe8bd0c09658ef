/* drain.c: runs of /bin/true per second, each with a shim and two durable records, compared with bare
 * posix_spawn and wait. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "daemon_bench.h"

#define BARE_RUNS 1500
#define TASKS     2000

extern char **environ;

static double bare_runs(int at_once) {
    char *argv[] = { (char *)"/bin/true", NULL };
    pid_t pid;
    int live = 0;
    double began = bench_now();
    for (int i = 0; i < BARE_RUNS; i++) {
        if (live == at_once) {
            wait(NULL);
            live--;
        }
        if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0)
            exit(1);
        live++;
    }
    while (live-- > 0)
        wait(NULL);
    return BARE_RUNS / (bench_now() - began);
}

static double best_bare(void) {
    static const int at_once[] = { 1, 2, 4, 8, 16, 50 };
    double best = 0;
    for (size_t i = 0; i < sizeof(at_once) / sizeof(*at_once); i++) {
        double rate = bare_runs(at_once[i]);
        best = rate > best ? rate : best;
    }
    return best;
}

static double drain(int at_once) {
    struct rig rig;
    char config[64];
    snprintf(config, sizeof(config), "limits: {runs: %d}\n", at_once);
    bench_open(&rig, config);
    (void)bench_bulk(&rig, TASKS);
    double began = bench_now();
    bench_pause(&rig, false);
    bench_wait_drained(&rig); /* a stream of all events would add load */
    double rate = TASKS / (bench_now() - began);
    rig_close(&rig);
    return rate;
}

void bench_drain(void) {
    double part[BENCH_ROUNDS];
    printf("runs of /bin/true per second, end to end\n");
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double bare = best_bare();
        static const int at_once[] = { 8, 32 };
        double best = 0;
        for (size_t n = 0; n < sizeof(at_once) / sizeof(*at_once); n++) {
            double rate = drain(at_once[n]);
            bench_say("bare posix_spawn %.0f   through the daemon, %d at once: %.0f", bare,
                      at_once[n], rate);
            best = rate > best ? rate : best;
        }
        part[i] = best / bare;
    }
    double share = bench_median(part, BENCH_ROUNDS);
    bench_goal(share >= 0.35, "%.0f %% of bare posix_spawn and wait (at least 35 %%)", share * 100);
}
