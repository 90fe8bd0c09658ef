/* sandbox.c: the cost of a sandbox per run. The same queue of /bin/true, with and without bubblewrap, alternating;
 * compared
 * with bare bubblewrap with namespaces and a read-only system. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon_bench.h"

#define BWRAP     "/usr/bin/bwrap"
#define BARE_RUNS 150
#define TASKS     400
#define AT_ONCE   4

extern char **environ;

/* Runs per second. */
static double bare_runs(const char *const *argv) {
    pid_t pid;
    int live = 0;
    double began = bench_now();
    for (int i = 0; i < BARE_RUNS; i++) {
        if (live == AT_ONCE) {
            wait(NULL);
            live--;
        }
        if (posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
            exit(1);
        live++;
    }
    while (live-- > 0)
        wait(NULL);
    return BARE_RUNS / (bench_now() - began);
}

static double drain(const char *sandbox) {
    struct rig rig;
    char config[128], folder[4096];
    snprintf(config, sizeof(config), "limits: {runs: %d}\ntasks: {sandbox: %s}\n", AT_ONCE,
             sandbox);
    bench_open(&rig, config);
    snprintf(folder, sizeof(folder), "%s/work", rig.home);
    if (mkdir(folder, 0700) < 0)
        exit(1);
    (void)bench_bulk_in(&rig, TASKS, folder);
    double began = bench_now();
    bench_pause(&rig, false);
    bench_wait_drained(&rig);
    double rate = TASKS / (bench_now() - began);
    (void)rmdir(folder);
    rig_close(&rig);
    return rate;
}

void bench_sandbox(void) {
    static const char *const alone[] = {
        BWRAP,
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--die-with-parent",
        "--",
        "/bin/true",
        NULL,
    };
    double cost[BENCH_ROUNDS], part[BENCH_ROUNDS];
    printf("runs of /bin/true per second, in a sandbox\n");
    if (access(BWRAP, X_OK) < 0) {
        bench_goal(false, BWRAP " is not there; run: scripts/setup --test");
        return;
    }
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double bare = bare_runs(alone), without = drain("none"), with = drain("bubblewrap");
        bench_say(
            "bubblewrap alone %.0f   through the daemon, %d at once: without %.0f, with %.0f: "
            "%.1f ms more for a run",
            bare, AT_ONCE, without, with, (1 / with - 1 / without) * AT_ONCE * 1000);
        cost[i] = without / with;
        part[i] = with / bare;
    }
    double share = bench_median(part, BENCH_ROUNDS);
    bench_say("with a sandbox: 1 / %.1f of the rate without", bench_median(cost, BENCH_ROUNDS));
    bench_goal(share >= 0.25, "%.0f %% of bubblewrap alone (at least 25 %%)", share * 100);
}
