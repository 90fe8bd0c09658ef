/* bench.c: runs the measurements, and prints costs and whether the goals are met. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int missed;

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double bench_seconds(void) {
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_wall_seconds(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

void bench_goal(bool met, const char *format, ...) {
    va_list args;
    printf("  %s  ", met ? "ok    " : "MISSED");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    missed += !met;
}

/* Is the part selected? An empty list selects all. */
static bool is_asked(char **parts, const char *part) {
    if (!parts[0])
        return true;
    for (; *parts; parts++)
        if (strcmp(*parts, part) == 0)
            return true;
    return false;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2) {
        fprintf(stderr, "usage: bench PATH-OF-SLUICE [core] [adapter] [json]\n");
        return 2;
    }
    if (is_asked(argv + 2, "core")) {
        bench_decisions();
        bench_simulation();
        bench_snapshot(argv[1]);
    }
    if (is_asked(argv + 2, "adapter"))
        bench_adapter();
    if (is_asked(argv + 2, "json"))
        bench_json();
    printf("\n%s\n", missed ? "some goals were missed" : "all goals met");
    return missed ? 1 : 0;
}
