/* simulation.c: steps of the simulation per second, and the slow model compared with the engine. */
#include <stdio.h>
#include <stdlib.h>

#include "../tests/model/model.h"
#include "bench.h"
#include "sim/player.h"

#define TASKS 200000

static const char *no_name(const void *ctx, task_id task) {
    static char text[24];
    (void)ctx;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)task);
    return text;
}

static void hint(const void *ctx, task_id task, struct sim_hint *ret) {
    (void)ctx, (void)task;
    *ret = (struct sim_hint){ .duration_min = MINUTES(1),
                              .duration_max = MINUTES(20),
                              .tokens_min = 1000,
                              .tokens_max = 90000,
                              .failure_milli = 50 };
}

static void play(void) {
    struct bench_queue q;
    struct sim_play result;
    struct error err;
    bench_queue_init(&q, 10, 40, 0);
    bench_queue_add(&q, TASKS);
    struct sim_world world = { .core = q.core,
                               .task_count = TASKS,
                               .now = q.now,
                               .runs_cap = 64,
                               .name = no_name,
                               .hint = hint };
    struct sim_options options = { .seed = 1, .horizon = DAYS(3650), .approve_after = TIME_NEVER };
    double begin = bench_seconds();
    if (sim_play_run(&world, &options, &result, &err) < 0) {
        fprintf(stderr, "bench: %s\n", err.text);
        exit(1);
    }
    double seconds = bench_seconds() - begin;
    double rate = (double)result.steps / seconds;
    printf("\nSimulation: %d tasks, 10 projects, %llu steps in %.2f s\n", TASKS,
           (unsigned long long)result.steps, seconds);
    bench_goal(rate >= 1e6, "%.2f million simulated steps per second (at least 1)", rate / 1e6);
    sim_play_finish(&result);
    bench_queue_finish(&q);
}

/* One decision on the same queue in the slow model. */
static double model_pick(uint32_t tasks) {
    struct symbol_table names;
    symbol_table_init(&names);
    struct model *m = model_new();
    struct policy policy;
    policy_default(&policy);
    policy.runs = 1;
    struct fact facts[] = {
        { .kind = FACT_POLICY, .policy = &policy },
        { .kind = FACT_CLOCK, .now = DAYS(20000) },
        { .kind = FACT_PROJECT,
          .project = { .id = symbol_intern(&names, "p", 1),
                       .weight_milli = 1000,
                       .max_running = UNLIMITED,
                       .budget = UNLIMITED,
                       .active = true,
                       .workspaces = UNLIMITED,
                       .review = UNLIMITED } },
    };
    for (unsigned i = 0; i < 3; i++)
        model_apply(m, &facts[i], NULL);
    for (task_id id = 1; id <= tasks; id++) {
        struct task_spec spec = { .id = id,
                                  .project = facts[2].project.id,
                                  .iteration = 1,
                                  .created_at = DAYS(20000) - (time_ms)id,
                                  .retry_max = -1,
                                  .ready_since = DAYS(20000),
                                  .state = TASK_READY,
                                  .parallelizable = true };
        model_apply(m, &(struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec }, NULL);
    }
    size_t count;
    double begin = bench_seconds();
    model_decide(m, &count);
    double seconds = bench_seconds() - begin;
    model_free(m);
    symbol_table_finish(&names);
    return seconds * 1e6;
}

void bench_simulation(void) {
    play();
    printf("\nThe slow model of the tests (sort everything, scan everything), one pick: 500 tasks "
           "%.0f us, 1 k %.0f us, 2 k %.0f us\n",
           model_pick(500), model_pick(1000), model_pick(2000));
}
