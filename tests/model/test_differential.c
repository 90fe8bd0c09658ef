/* test_differential.c: does the core do what the rules say?
 *
 * Random small worlds and histories, applied to the core and to the slow model. Each number that is
 * drawn comes from the seed, so a seed repeats its failure:
 *
 *   test_differential [--seeds N] [--first S] [--failures N]    many seeds, until N differ
 *   test_differential --seed S                                  one seed, every fact and order as text */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compare.h"

#define SEEDS       20000
#define FAILURES    5 /* shown before it gives up */
#define REPEAT_EACH 4 /* every n-th seed is also applied to a second core */

struct totals {
    uint64_t steps, decisions, starts, failures;
};

static enum difference play_seed(uint64_t seed, struct history *h, struct pair *p,
                                 struct totals *totals) {
    struct generator g;
    generate_world(&g, seed, h);
    size_t applied = 0;
    bool same = true;
    do {
        for (; same && applied < h->count; applied++) {
            same = pair_step(p, &h->steps[applied]);
            totals->steps++;
            totals->decisions += h->steps[applied].kind == STEP_DECIDE;
        }
    } while (same && generate_next(&g, p->model));
    totals->starts += p->starts;
    if (same && p->keeps)
        (void)pair_repeats(p, h);
    return p->difference;
}

static void show_shrunk(const struct history *h, const struct pair *found) {
    bool *left_out = history_shrink(h, found);
    struct pair p;
    pair_init(&p, stdout);
    pair_play(&p, h, left_out);
    printf("=> %s\n", strbuf_text(&p.text));
    pair_finish(&p);
    free(left_out);
}

static bool run_seed(uint64_t seed, FILE *trace, struct totals *totals) {
    struct history h;
    struct pair p;
    history_init(&h);
    pair_init(&p, trace);
    p.keeps = trace || seed % REPEAT_EACH == 0;
    enum difference kind = play_seed(seed, &h, &p, totals);
    if (kind != DIFFERENCE_NONE) {
        printf("seed %" PRIu64 ": %s: %s; reproduce: build/tests/model/test_differential "
               "--seed %" PRIu64 "\n",
               seed, difference_name(kind), strbuf_text(&p.text), seed);
        if (kind != DIFFERENCE_REPEAT) {
            printf("shortest history found:\n");
            show_shrunk(&h, &p);
        }
        (void)fflush(stdout);
    }
    pair_finish(&p);
    history_finish(&h);
    return kind == DIFFERENCE_NONE;
}

static int usage(void) {
    fprintf(stderr, "usage: test_differential [--seeds N] [--first S] [--failures N] | --seed S\n");
    return 2;
}

int main(int argc, char **argv) {
    const char *env = getenv("SLUICE_SEEDS");
    uint64_t failures = FAILURES;
    uint64_t seeds = env ? strtoull(env, NULL, 10) : SEEDS, first = 1;
    FILE *trace = NULL;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 >= argc)
            return usage();
        uint64_t value = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seeds") == 0)
            seeds = value;
        else if (strcmp(argv[i], "--first") == 0)
            first = value;
        else if (strcmp(argv[i], "--failures") == 0)
            failures = value;
        else if (strcmp(argv[i], "--seed") == 0) {
            first = value;
            seeds = 1;
            trace = stdout;
        } else
            return usage();
    }

    /* Small worlds come and go: their memory stays here for the next one. */
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 16 << 20);
    struct totals totals = { 0 };
    uint64_t done = 0;
    for (; done < seeds && totals.failures < failures; done++)
        totals.failures += !run_seed(first + done, trace, &totals);
    printf("%" PRIu64 " histories, %" PRIu64 " steps, %" PRIu64 " decisions, %" PRIu64
           " starts: %" PRIu64 " differ\n",
           done, totals.steps, totals.decisions, totals.starts, totals.failures);
    return totals.failures > 0;
}
