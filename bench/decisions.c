/* decisions.c: the cost of one decision, and of one waiting task. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "bench.h"

/* The lower bound to compare with: pop the minimum of n numbers and push another. */
static double bare_heap(uint32_t n) {
    uint64_t *heap = malloc((n + 1) * sizeof(*heap));
    struct rng rng = { 1 };
    for (uint32_t i = 1; i <= n; i++)
        heap[i] = i; /* sorted: already a heap */
    uint32_t rounds = 200000;
    double begin = bench_seconds();
    for (uint32_t r = 0; r < rounds; r++) {
        uint64_t item = heap[1] + rng_below(&rng, 2 * (uint64_t)n);
        uint32_t at = 1;
        for (uint32_t child; (child = 2 * at) <= n; at = child) {
            if (child < n && heap[child + 1] < heap[child])
                child++;
            if (heap[child] >= item)
                break;
            heap[at] = heap[child];
        }
        heap[at] = item;
    }
    double seconds = bench_seconds() - begin;
    free(heap);
    return seconds / rounds * 1e6;
}

struct measured {
    double decision_us, fact_us, bytes;
};

static struct measured measure_queue(struct bench_queue *q, uint32_t tasks) {
    struct bench_round warm = { 0 }, best = { 0 };
    double best_us = 1e9;
    bench_queue_add(q, tasks);
    struct core_counts counts;
    core_count(q->core, &counts);
    for (int i = 0; i < 20; i++)
        bench_queue_round(q, &warm);
    for (int pass = 0; pass < 5; pass++) { /* the fastest of five: the machine has other load */
        struct bench_round sum = { 0 };
        for (int i = 0; i < 60; i++)
            bench_queue_round(q, &sum);
        if (sum.seconds / (double)sum.starts * 1e6 < best_us) {
            best_us = sum.seconds / (double)sum.starts * 1e6;
            best = sum;
        }
    }
    bench_queue_finish(q);
    return (struct measured){ .decision_us = best_us,
                              .fact_us = best.fact_seconds / (double)best.facts * 1e6,
                              .bytes = (double)counts.bytes / tasks };
}

static struct measured measure(uint32_t tasks, uint32_t projects, uint32_t classes,
                               uint32_t wishes) {
    struct bench_queue q;
    bench_queue_init(&q, projects, classes, wishes);
    return measure_queue(&q, tasks);
}

/* All tasks are overdue and a kind is full: each turn searches for the task that may reserve. */
static struct measured measure_overdue(uint32_t tasks, uint32_t projects, uint32_t classes) {
    struct bench_queue q;
    bench_queue_init(&q, projects, classes, 0);
    q.ready_since = HOURS(2);
    bench_queue_fill_kind(&q);
    return measure_queue(&q, tasks);
}

static void print_row(uint32_t tasks, uint32_t projects, uint32_t classes, struct measured m) {
    printf("%9u %9u %8u   %8.3f us   %7.2f M/s   %6.0f\n", tasks, projects, classes, m.decision_us,
           1 / m.fact_us, m.bytes);
}

void bench_decisions(void) {
    static const uint32_t sizes[] = { 1000, 10000, 100000, 1000000 };
    static const uint32_t projects[] = { 1, 100, 1000 };
    static const double most_us[] = { 0, 1, 2 };
    double fact_us = 0; /* with one project */
    printf("\nDecisions (default preset: fair share, overdue, priority, score)\n");
    printf("%9s %9s %8s   %11s   %11s   %s\n", "ready", "projects", "classes", "decision", "facts",
           "bytes/task");
    for (unsigned p = 0; p < 3; p++) {
        uint32_t classes = projects[p] == 1000 ? 1000 : projects[p] * 4;
        struct measured small = { 0 }, m = { 0 };
        for (unsigned s = 0; s < 4; s++) {
            m = measure(sizes[s], projects[p], classes, 0);
            print_row(sizes[s], projects[p], classes, m);
            if (s == 0)
                small = m;
        }
        fact_us = p == 0 ? small.fact_us : fact_us;
        if (projects[p] > 1)
            bench_goal(small.fact_us <= 3 * fact_us,
                       "%u projects, 1 k tasks: a fact costs %.2f x what it costs with one project "
                       "(at most 3)",
                       projects[p], small.fact_us / fact_us);
        bench_goal(m.decision_us <= 2 * small.decision_us,
                   "%u projects: 1 M tasks cost %.2f x what 1 k cost (at most 2)", projects[p],
                   m.decision_us / small.decision_us);
        if (projects[p] > 1)
            bench_goal(m.decision_us <= most_us[p],
                       "%u projects, 1 M tasks: %.2f us a decision (at most %g)", projects[p],
                       m.decision_us, most_us[p]);
        bench_goal(m.bytes <= 200, "a waiting task costs %.0f bytes (at most 200)", m.bytes);
    }
    struct measured wide = measure(1000000, 100, 10000, 100000);
    print_row(1000000, 100, 10000, wide);
    printf("          (10,000 classes, 100,000 workspaces wished by one task in ten)\n");
    bench_goal(wide.decision_us <= 3, "10,000 classes, 1 M tasks: %.2f us a decision (at most 3)",
               wide.decision_us);
    print_row(1000000, 100, 400, measure_overdue(1000000, 100, 400));
    printf("          (everything overdue, one kind at its limit)\n");
    printf("\nA bare heap of 64-bit numbers, take the least and put one in: 1 k %.3f us, 1 M %.3f "
           "us\n",
           bare_heap(1000), bare_heap(1000000));
}
