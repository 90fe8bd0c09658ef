/* queue.c: a queue whose length stays constant while tasks start. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#define RUNS 64

static void apply_fact(struct core *core, const struct fact *fact) {
    struct error err;
    if (core_apply(core, fact, &err) < 0) {
        fprintf(stderr, "bench: %s: %s\n", fact_kind_name(fact->kind), err.text);
        exit(1);
    }
}

static sym name(struct core *core, const char *prefix, uint32_t n) {
    char text[32];
    int size = snprintf(text, sizeof(text), "%s%u", prefix, n);
    return symbol_intern(core_symbols(core), text, (size_t)size);
}

void bench_queue_init(struct bench_queue *q, uint32_t projects, uint32_t classes, uint32_t wishes) {
    *q = (struct bench_queue){ .core = core_new(),
                               .projects = projects,
                               .classes = classes,
                               .wishes = wishes,
                               .next = 1,
                               .now = DAYS(20000) };
    struct policy policy;
    policy_default(&policy);
    policy.runs = RUNS;
    apply_fact(q->core, &(struct fact){ .kind = FACT_POLICY, .policy = &policy });
    apply_fact(q->core, &(struct fact){ .kind = FACT_CLOCK, .now = q->now });
    q->project_names = calloc(projects, sizeof(sym));
    q->workspace_names = calloc(wishes + 1, sizeof(sym));
    for (uint32_t w = 0; w < wishes; w++)
        q->workspace_names[w] = name(q->core, "w", w);
    for (uint32_t p = 0; p < projects; p++) {
        q->project_names[p] = name(q->core, "p", p);
        apply_fact(q->core, &(struct fact){ .kind = FACT_PROJECT,
                                            .project = { .id = q->project_names[p],
                                                         .weight_milli = 1000 + 10 * (p % 7),
                                                         .max_running = UNLIMITED,
                                                         .budget = UNLIMITED,
                                                         .active = true,
                                                         .workspaces = UNLIMITED,
                                                         .review = UNLIMITED } });
    }
    for (uint32_t k = 0; k < 4; k++) {
        q->kind_names[k] = name(q->core, "k", k);
        apply_fact(q->core, &(struct fact){ .kind = FACT_KIND,
                                            .kind_spec = { .id = q->kind_names[k],
                                                           .base = 40 + 20 * k,
                                                           .max_running = UNLIMITED } });
    }
}

void bench_queue_fill_kind(struct bench_queue *q) {
    struct fact full = { .kind = FACT_KIND,
                         .kind_spec = { .id = q->kind_names[0], .base = 40, .max_running = 1 } };
    apply_fact(q->core, &full);
    struct task_spec spec = { .id = q->next++,
                              .project = q->project_names[0],
                              .kind = q->kind_names[0],
                              .iteration = 1,
                              .attempt = 1,
                              .state = TASK_RUNNING,
                              .parallelizable = true,
                              .retry_max = -1 };
    apply_fact(q->core, &(struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
}

void bench_queue_finish(struct bench_queue *q) {
    free(q->project_names);
    free(q->workspace_names);
    core_free(q->core);
}

void bench_queue_add(struct bench_queue *q, uint32_t tasks) {
    for (uint32_t i = 0; i < tasks; i++) {
        task_id id = q->next++;
        uint32_t cls = (uint32_t)(id % q->classes); /* project, then kind, then priority */
        struct task_spec spec = {
            .id = id,
            .project = q->project_names[cls % q->projects],
            .kind = q->kind_names[cls / q->projects % 4],
            .priority = 100 + (int32_t)(cls / q->projects / 4),
            .created_at = q->now - (time_ms)(1000000 - id % 1000000),
            .ready_since = q->now - q->ready_since,
            .iteration = 1,
            .state = TASK_WAITING,
            .parallelizable = true,
            .retry_max = -1,
            .workspace = q->wishes && id % 10 == 0 ? q->workspace_names[id / 10 % q->wishes] : 0,
        };
        apply_fact(q->core, &(struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
    }
}

void bench_queue_round(struct bench_queue *q, struct bench_round *sum) {
    task_id started[RUNS];
    size_t count, starts = 0;
    q->now += 7;
    apply_fact(q->core, &(struct fact){ .kind = FACT_CLOCK, .now = q->now });
    double begin = bench_seconds();
    const struct order *orders = core_decide(q->core, &count);
    sum->seconds += bench_seconds() - begin;
    for (size_t i = 0; i < count; i++) {
        if (orders[i].kind == ORDER_START)
            started[starts++] = orders[i].task;
    }
    begin = bench_seconds();
    for (size_t i = 0; i < starts; i++) {
        struct fact end = { .kind = FACT_RUN_ENDED, .task = started[i], .attempt = 1 };
        end.ended.outcome = OUTCOME_OK;
        end.ended.tokens = 5000 + (int64_t)(started[i] % 1000);
        apply_fact(q->core,
                   &(struct fact){ .kind = FACT_RUN_STARTED, .task = started[i], .attempt = 1 });
        apply_fact(q->core, &end);
        apply_fact(q->core, &(struct fact){ .kind = FACT_FORGET, .task = started[i] });
    }
    bench_queue_add(q, (uint32_t)starts);
    sum->fact_seconds += bench_seconds() - begin;
    sum->starts += starts;
    sum->facts += 4 * starts;
}
