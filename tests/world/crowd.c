/* crowd.c: starvation, as a number (I17).
 *
 * Small tasks that need one scarce key each and come again as soon as they are done, and a few big ones
 * with a worse priority that need all of the keys at once. Without reservations the big ones would
 * wait for ever: whenever one key is free another is taken.
 *
 * The bound: when a task becomes overdue, A others are before it, and no task can come before it any
 * more. The first of them has the claim, or lacks only a run. A key that it has reserved is free after
 * one longest run D. While it waits for a key, one before it in the row that was free and not
 * reserved may be lost: then that one is reserved for good, and the rest begins again. So K keys take
 * at most S(K) = 2·S(K−1) + 1 = 2^K − 1 times D, and a task waits at most
 *     max_wait + (A + 1)·(2^K − 1)·D,
 * and while it is overdue at most runs·(that / shortest run + 1) others start. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stage.h"
#include "world.h"

#define STARTS      1500
#define KEYS_NEEDED 5                        /* workspace, two resources, kind, runs */
#define LONGEST     ((1 << KEYS_NEEDED) - 1) /* times the longest run */
#define BIG_EACH    60

struct guest {
    time_ms came, started; /* started 0: not yet */
    uint64_t starts_when_overdue;
    bool counted;
};

struct crowd {
    struct stage stage;
    struct guest *guests; /* by task number */
    size_t capacity;
    time_ms max_wait;
    amount runs;
    uint64_t starts;
};

static void add_guest(struct crowd *c, struct task_spec spec) {
    task_id id = c->stage.next_task;
    c->guests = xgrow(c->guests, &c->capacity, id + 1, sizeof(*c->guests));
    c->guests[id] = (struct guest){ .came = c->stage.now };
    spec.project = sym_of(SYM_PROJECT, 1);
    stage_add(&c->stage, spec);
}

/* One of the scarce keys. */
static void add_small(struct crowd *c) {
    sym resource = sym_of(SYM_RESOURCE, 1 + (unsigned)rng_below(&c->stage.rng, 2));
    struct task_spec spec = { .priority = 1, .parallelizable = true };
    switch (rng_below(&c->stage.rng, 4)) {
    case 0:
        spec.kind = sym_of(SYM_KIND, 1);
        break;
    case 1:
        spec.workspace = sym_of(SYM_WORKSPACE, 1);
        break;
    default:
        spec.resources = &resource;
        spec.resource_count = 1;
        break;
    }
    add_guest(c, spec);
}

/* All of them. */
static void add_big(struct crowd *c) {
    sym resources[] = { sym_of(SYM_RESOURCE, 1), sym_of(SYM_RESOURCE, 2) };
    add_guest(c, (struct task_spec){ .priority = 200,
                                     .parallelizable = true,
                                     .kind = sym_of(SYM_KIND, 1),
                                     .workspace = sym_of(SYM_WORKSPACE, 1),
                                     .resources = resources,
                                     .resource_count = 2 });
}

/* How many were before it when it became overdue. */
static unsigned ahead_of(const struct crowd *c, task_id id) {
    const struct guest *guest = &c->guests[id];
    unsigned ahead = 0;
    for (task_id other = 1; other < id; other++) {
        const struct guest *o = &c->guests[other];
        ahead += o->started == 0 || o->started > guest->came + c->max_wait;
    }
    return ahead;
}

static void check_wait(struct crowd *c, task_id id) {
    const struct guest *guest = &c->guests[id];
    time_ms waited = (guest->started ? guest->started : c->stage.now) - guest->came;
    if (waited <= c->max_wait)
        return;
    time_ms longest = (time_ms)(ahead_of(c, id) + 1) * LONGEST * c->stage.longest;
    uint64_t passed = guest->counted ? c->starts - guest->starts_when_overdue : 0;
    uint64_t most = (uint64_t)c->runs * (uint64_t)(longest / c->stage.shortest + 1);
    if (waited > c->max_wait + longest || passed > most)
        breach_set(c->stage.breach, "I17",
                   "task %" PRIu64 " waited %" PRId64 " ms (at most %" PRId64 ") and saw %" PRIu64
                   " others start (at most %" PRIu64 ")",
                   id, waited, c->max_wait + longest, passed, most);
}

static void on_start(void *ctx, const struct order *order) {
    struct crowd *c = ctx;
    c->guests[order->task].started = c->stage.now;
    c->starts++;
    check_wait(c, order->task);
}

static void apply_world(struct crowd *c) {
    struct stage *s = &c->stage;
    struct policy policy;
    policy_default(&policy);
    policy.runs = c->runs;
    policy.max_wait = c->max_wait;
    stage_apply(s, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
    stage_apply(s, (struct fact){ .kind = FACT_PROJECT,
                                  .project = { .id = sym_of(SYM_PROJECT, 1),
                                               .weight_milli = 1000,
                                               .max_running = UNLIMITED,
                                               .budget = UNLIMITED,
                                               .active = true,
                                               .workspaces = UNLIMITED,
                                               .review = UNLIMITED } });
    stage_apply(s, (struct fact){ .kind = FACT_KIND,
                                  .kind_spec = { .id = sym_of(SYM_KIND, 1),
                                                 .base = 100,
                                                 .max_running = rng_between(&s->rng, 1, 2) } });
    for (unsigned r = 1; r <= 2; r++)
        stage_apply(s, (struct fact){ .kind = FACT_RESOURCE,
                                      .resource = { .id = sym_of(SYM_RESOURCE, r),
                                                    .cap = rng_between(&s->rng, 1, 2) } });
}

/* Keeps as many small ones in the house as before, and now and then sends a big one. */
static void refill(struct crowd *c, uint64_t before) {
    for (uint64_t i = before; i < c->starts; i++) {
        add_small(c);
        if (c->starts % BIG_EACH == 0)
            add_big(c);
    }
}

bool crowd_play(const struct options *options, struct breach *ret, uint64_t *ret_steps) {
    struct crowd c = { 0 };
    struct stage *s = &c.stage;
    stage_init(s, hash_mix(options->seed, 2), ret);
    s->started = on_start;
    s->ctx = &c;
    s->shortest = SECONDS(20);
    s->longest = s->shortest + (time_ms)rng_below(&s->rng, MINUTES(1));
    s->least = s->most = 1000;
    c.runs = rng_between(&s->rng, 2, 6);
    c.max_wait = MINUTES(20);
    apply_world(&c);
    unsigned small = 4 + (unsigned)rng_below(&s->rng, 12);
    for (unsigned i = 0; i < small; i++)
        add_small(&c);
    add_big(&c);
    do {
        uint64_t before = c.starts;
        stage_decide(s);
        refill(&c, before);
        for (task_id id = 1; id < s->next_task; id++) {
            struct guest *g = &c.guests[id];
            if (g->started == 0 && !g->counted && s->now - g->came > c.max_wait) {
                g->counted = true;
                g->starts_when_overdue = c.starts;
            }
            if (g->started == 0)
                check_wait(&c, id);
        }
    } while (c.starts < STARTS && stage_next(s));
    *ret_steps += s->steps;
    stage_finish(s);
    free(c.guests);
    return !ret->found;
}
