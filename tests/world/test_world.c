/* test_world.c: seeded worlds against the invariants of docs/internals/invariants.md.
 *
 *   test_world [--seeds N] [--first S]   many seeds, one line for each that fails
 *   test_world --seed S [--verbose]      one seed; with every fact and order as text
 *   test_world --bench                   steps per second, nothing checked
 *
 * A step is one fact applied or one order given. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "world.h"

#define SEEDS       1000
#define STEPS       1500
#define OPEN_MAX    40
#define FAILURES    5 /* shown before it gives up */
#define BENCH_SEEDS 64
#define BENCH_STEPS 20000
#define SMALL_EACH  5 /* every n-th seed also plays the small worlds */

struct arguments {
    uint64_t seeds, first, steps, failures;
    bool one, bare, verbose, bench; /* bare: without checks */
};

struct totals {
    uint64_t steps;
    double seconds;
    unsigned failures;
};

static double seconds_now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(const struct options *options, const struct breach *breach) {
    printf("seed %" PRIu64 ": invariant %s: %s; reproduce: build/tests/world/test_world --seed"
           " %" PRIu64,
           options->seed, breach->invariant, breach->text, options->seed);
    if (options->steps != STEPS)
        printf(" --steps %" PRIu64, options->steps);
    printf("\n");
    (void)fflush(stdout);
}

static bool play_seed(const struct options *options, bool small, uint64_t *steps) {
    struct breach breach = { 0 };
    bool held = world_play(options, &breach, steps);
    if (held && small)
        held = fairness_play(options, &breach, steps) && crowd_play(options, &breach, steps);
    if (!held)
        report(options, &breach);
    return held;
}

static struct totals play(const struct arguments *a, bool checks) {
    struct totals totals = { 0 };
    double began = seconds_now();
    for (uint64_t i = 0; i < a->seeds && totals.failures < a->failures; i++) {
        struct options options = {
            .seed = a->first + i,
            .steps = a->steps,
            .open_max = OPEN_MAX,
            .checks = checks,
            .trace = a->verbose ? stdout : NULL,
        };
        bool small = checks && (a->one || options.seed % SMALL_EACH == 0);
        if (!play_seed(&options, small, &totals.steps))
            totals.failures++;
    }
    totals.seconds = seconds_now() - began;
    return totals;
}

static double per_second(const struct totals *totals) {
    return totals->seconds > 0 ? (double)totals->steps / totals->seconds : 0;
}

static int bench(struct arguments a) {
    a.seeds = BENCH_SEEDS;
    a.steps = BENCH_STEPS;
    struct totals totals = play(&a, false);
    printf("simulation: %.0f steps per second\n", per_second(&totals));
    return totals.failures > 0;
}

static bool read_number(const char *text, uint64_t *ret) {
    char *end = NULL;
    if (!text || *text < '0' || *text > '9')
        return false;
    *ret = strtoull(text, &end, 10);
    return *end == '\0';
}

static int usage(void) {
    (void)fputs("usage: test_world [--seeds N] [--first S] [--seed S] [--steps N] [--failures N]"
                " [--no-checks] [--verbose] [--bench]\n",
                stderr);
    return 2;
}

static bool read_argument(struct arguments *a, const char *name, const char *next,
                          bool *ret_takes_number) {
    const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = { { "--seeds", &a->seeds },
                    { "--first", &a->first },
                    { "--seed", &a->first },
                    { "--steps", &a->steps },
                    { "--failures", &a->failures } };
    const struct {
        const char *name;
        bool *value;
    } flags[] = { { "--no-checks", &a->bare },
                  { "--verbose", &a->verbose },
                  { "--bench", &a->bench } };
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].value = true;
            *ret_takes_number = false;
            return true;
        }
    }
    *ret_takes_number = true;
    a->one |= strcmp(name, "--seed") == 0;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (strcmp(name, numbers[i].name) == 0)
            return read_number(next, numbers[i].value);
    }
    return false;
}

static bool read_arguments(int argc, char **argv, struct arguments *a) {
    for (int i = 1; i < argc; i++) {
        bool takes_number;
        if (!read_argument(a, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &takes_number))
            return false;
        i += takes_number;
    }
    if (a->one)
        a->seeds = 1;
    return true;
}

int main(int argc, char **argv) {
    struct arguments a = { .seeds = SEEDS, .first = 1, .steps = STEPS, .failures = FAILURES };
    if (!read_arguments(argc, argv, &a))
        return usage();
    if (a.bench)
        return bench(a);
    struct totals checked = play(&a, !a.bare);
    printf("%" PRIu64 " seeds, %" PRIu64 " steps, %u failed; %.0f steps per second%s", a.seeds,
           checked.steps, checked.failures, per_second(&checked), a.bare ? "" : " with checks");
    if (!a.bare && checked.failures == 0 && !a.one) {
        struct arguments few = a;
        few.seeds = a.seeds < BENCH_SEEDS ? a.seeds : BENCH_SEEDS;
        struct totals bare = play(&few, false);
        printf(", %.0f without", per_second(&bare));
    }
    printf("\n");
    return checked.failures > 0;
}
