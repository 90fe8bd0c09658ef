/* fairness.c: shares under the default preset, as two numbers.
 *
 * Some projects with weights, each always with work to do, and nothing but `runs` to limit them.
 *   - Runs that cost the same: after every start, no project is more than one run above its share. A
 *     project starts only when its deficit is the smallest, so not above 0, and one start adds one
 *     run. So none is more than (projects − 1) runs below; of two projects: not more than one.
 *   - Runs that cost from 1 to c: no project is more than (2·runs + 1)·c tokens above its share. Since
 *     its last start, its own live runs may turn out dearer than estimated (runs·c), and those of
 *     others cheaper (runs·c). */
#include <inttypes.h>

#include "stage.h"
#include "world.h"

#define STARTS 400

struct contest {
    struct stage stage;
    unsigned projects;
    amount runs;
    int64_t weight[PROJECTS + 1], weights;
    uint64_t started[PROJECTS + 1], starts;
};

static void add_work(struct contest *c, unsigned project) {
    stage_add(&c->stage, (struct task_spec){ .project = sym_of(SYM_PROJECT, project),
                                             .priority = 100,
                                             .parallelizable = true });
}

/* In runs, times the sum of the weights. */
static void check_runs(struct contest *c) {
    for (unsigned p = 1; p <= c->projects; p++) {
        int64_t above = (int64_t)c->started[p] * c->weights - (int64_t)c->starts * c->weight[p];
        if (above > c->weights || -above > c->weights * (int64_t)(c->projects - 1))
            breach_set(c->stage.breach, "I16",
                       "project %u has %" PRIu64 " of %" PRIu64 " starts, its weight is %" PRId64
                       " of %" PRId64,
                       p, c->started[p], c->starts, c->weight[p], c->weights);
    }
}

static void on_start(void *ctx, const struct order *order) {
    struct contest *c = ctx;
    unsigned project = index_of(SYM_PROJECT, order->project);
    c->started[project]++;
    c->starts++;
    if (c->stage.least == c->stage.most)
        check_runs(c);
}

static void check_tokens(struct contest *c) {
    __int128 tokens[PROJECTS + 1], sum = 0;
    for (unsigned p = 1; p <= c->projects; p++) {
        struct share_view share;
        (void)core_share(c->stage.core, sym_of(SYM_PROJECT, p), &share);
        tokens[p] = (__int128)share.tokens + share.reserved;
        sum += tokens[p];
    }
    for (unsigned p = 1; p <= c->projects; p++) {
        __int128 above = tokens[p] * c->weights - sum * c->weight[p];
        if (above > (__int128)(2 * c->runs + 1) * c->stage.most * c->weights)
            breach_set(c->stage.breach, "I16", "project %u is %" PRId64 " tokens above its share",
                       p, (int64_t)(above / c->weights));
    }
}

static void set_up(struct contest *c, uint64_t seed, struct breach *breach) {
    struct stage *s = &c->stage;
    stage_init(s, hash_mix(seed, 1), breach);
    s->started = on_start;
    s->ctx = c;
    s->shortest = SECONDS(1);
    s->longest = SECONDS(1) + (time_ms)rng_below(&s->rng, MINUTES(2));
    s->most = rng_between(&s->rng, 1, 50000);
    s->least = rng_below(&s->rng, 2) ? s->most : 1;
    c->projects = 2 + (unsigned)rng_below(&s->rng, PROJECTS - 1);
    c->runs = rng_between(&s->rng, 1, 8);
    struct policy policy;
    policy_default(&policy);
    policy.runs = c->runs;
    policy.run_tokens = s->most;
    stage_apply(s, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
    for (unsigned p = 1; p <= c->projects; p++) {
        c->weight[p] = rng_between(&s->rng, 1, 6) * 500;
        c->weights += c->weight[p];
        stage_apply(s, (struct fact){ .kind = FACT_PROJECT,
                                      .project = { .id = sym_of(SYM_PROJECT, p),
                                                   .weight_milli = c->weight[p],
                                                   .max_running = UNLIMITED,
                                                   .budget = UNLIMITED,
                                                   .active = true,
                                                   .workspaces = UNLIMITED,
                                                   .review = UNLIMITED } });
        for (amount i = 0; i <= c->runs; i++)
            add_work(c, p);
    }
}

bool fairness_play(const struct options *options, struct breach *ret, uint64_t *ret_steps) {
    struct contest c = { 0 };
    uint64_t added[PROJECTS + 1] = { 0 };
    set_up(&c, options->seed, ret);
    do {
        stage_decide(&c.stage);
        for (unsigned p = 1; p <= c.projects; p++) { /* what has left the queue is replaced */
            for (; added[p] < c.started[p]; added[p]++)
                add_work(&c, p);
        }
        check_tokens(&c);
    } while (c.starts < STARTS && stage_next(&c.stage));
    *ret_steps += c.stage.steps;
    stage_finish(&c.stage);
    return !ret->found;
}
