/* bench_daemon [NAME…]: measures the complete daemon; see daemon_bench.h. Exit code 1: a goal was missed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon_bench.h"

static bool wanted(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc == 1;
}

int main(int argc, char **argv) {
    struct bench_programs programs = {
        .sluice = getenv("SLUICE"),
        .stamp = getenv("STAMP"),
        .tsp = access("/usr/bin/tsp", X_OK) == 0 ? "/usr/bin/tsp" : NULL,
    };
    signal(SIGPIPE, SIG_IGN);
    if (!programs.sluice || !programs.stamp) {
        fprintf(stderr, "bench: run it by `make bench`\n");
        return 2;
    }
    if (wanted(argc, argv, "submit"))
        bench_submit();
    if (wanted(argc, argv, "drain"))
        bench_drain();
    if (wanted(argc, argv, "sandbox"))
        bench_sandbox();
    if (wanted(argc, argv, "followers"))
        bench_followers();
    if (wanted(argc, argv, "latency"))
        bench_latency(&programs);
    if (wanted(argc, argv, "idle"))
        bench_idle();
    if (wanted(argc, argv, "hostile"))
        bench_hostile(getenv("ATTEMPT"));
    if (wanted(argc, argv, "depth"))
        bench_depth();
    if (argc > 1 && wanted(argc, argv, "postgres"))
        bench_postgres();
    if (argc > 1 && wanted(argc, argv, "slurm"))
        bench_slurm();
    return bench_missed() > 0;
}
