/* lend.c: who lends which places to whom, and when they go back. See lend.h, docs/rules.md §3.
 *
 * `borrowed` of a run says exactly which of its places are its lender's. It is told with the row, so
 * that a restart finds the same places with the same runs, whatever the names in the configuration
 * mean by then. */
#include "core/lend.h"

#include <assert.h>

#include "core/changes.h"
#include "core/failover_internal.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/task.h"
#include "core/tree.h"

task_id lend_task(const struct core *c, uint32_t run) {
    return run ? task_at(c, run_at(c, run)->task)->id : 0;
}

/* Which LEND bit a key has, or 0. */
static uint8_t lend_bit(const struct key *k) {
    static const uint8_t bits[LEASE_KIND_MAX] = {
        [LEASE_RUNS] = LEND_RUNS,   [LEASE_PROJECT] = LEND_PROJECT, [LEASE_KIND] = LEND_KIND,
        [LEASE_AGENT] = LEND_AGENT, [LEASE_LIMITER] = LEND_LIMITER,
    };
    return bits[k->kind];
}

/* Where in its list a run has this key, or -1. */
static int place_of(const struct run *r, uint32_t key) {
    for (unsigned i = 0; i < r->key_count; i++) {
        if (r->keys[i] == key)
            return (int)i;
    }
    return -1;
}

/* Could this run lend its place on the key? Where nothing may start at all there is none to lend. */
static bool can_lend(const struct core *c, const struct run *lender, uint32_t key) {
    const struct key *k = key_at(c, key);
    return lend_bit(k) && k->cap > 0 && place_of(lender, key) >= 0;
}

void lend_link(struct core *c, uint32_t lender, uint32_t borrower) {
    assert(!run_at(c, lender)->borrower && !run_at(c, borrower)->lender);
    run_at(c, lender)->borrower = borrower;
    run_at(c, borrower)->lender = lender;
}

static void lend_unlink(struct core *c, uint32_t borrower) {
    struct run *r = run_at(c, borrower);
    run_at(c, r->lender)->borrower = 0;
    r->lender = 0;
    r->borrowed = 0;
    change_task(c, r->task);
}

bool lend_pass(struct core *c, uint32_t run, uint32_t key) {
    struct run *r = run_at(c, run), *lender = run_at(c, r->lender);
    if (!can_lend(c, lender, key))
        return false;
    lease_remove_key(lender, (unsigned)place_of(lender, key));
    r->borrowed |= lend_bit(key_at(c, key));
    return true;
}

/* The place goes to the first lender up the chain that still needs it: who validates calls no model,
 * whose it was is none of its borrower's business. */
static void give_up_chain(struct core *c, uint32_t run, uint32_t key) {
    uint8_t bit = lend_bit(key_at(c, key));
    struct run *r = run_at(c, run);
    for (; r->borrowed & bit; r = run_at(c, r->lender)) {
        struct run *lender = run_at(c, r->lender);
        r->borrowed &= (uint8_t)~bit;
        change_task(c, r->task);
        if (bit == LEND_LIMITER && lender->no_api)
            continue;
        lease_add_key(c, lender, key);
        return;
    }
    key_give(c, key);
}

/* Those of its places that are its lender's and have one of the bits. */
static void give_back(struct core *c, uint32_t run, unsigned bits) {
    struct run *r = run_at(c, run);
    for (unsigned i = r->key_count; i-- > 0;) {
        uint32_t key = r->keys[i];
        if (!(r->borrowed & bits & lend_bit(key_at(c, key))))
            continue;
        lease_remove_key(r, i);
        give_up_chain(c, run, key);
    }
}

void lend_finish(struct core *c, uint32_t run) {
    struct run *r = run_at(c, run);
    uint32_t lender = r->lender, borrower = r->borrower;
    if (lender)
        give_back(c, run, LEND_ALL);
    uint8_t passed_on = r->borrowed; /* what is left of it is in the hands of its borrower */
    if (lender)
        lend_unlink(c, run);
    if (!borrower)
        return;
    passed_on &= run_at(c, borrower)->borrowed;
    lend_unlink(c, borrower); /* what was its own stays there: nobody is left to take it back */
    if (!lender || !passed_on)
        return;
    lend_link(c, lender, borrower);
    run_at(c, borrower)->borrowed = passed_on;
}

void lend_finish_limiter(struct core *c, uint32_t run) {
    if (run_at(c, run)->lender)
        give_back(c, run, LEND_LIMITER);
}

/* --- rows ------------------------------------------------------------------------------------ */

static bool is_below(const struct core *c, uint32_t task, uint32_t above) {
    do
        task = task_at(c, task)->parent;
    while (task && task != above);
    return task != 0;
}

static bool needs_key(const struct core *c, const struct run *r, uint32_t key) {
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, task_at(c, r->task), r->agent, r->limiter, needs);
    for (size_t i = 0; i < count; i++) {
        if (needs[i] == key)
            return true;
    }
    return false;
}

/* Both have taken all they need: what is lent was taken twice. */
static void link_told(struct core *c, uint32_t lender, uint32_t borrower, unsigned bits) {
    struct run *l = run_at(c, lender), *b = run_at(c, borrower);
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, task_at(c, b->task), b->agent, b->limiter, needs);
    lend_link(c, lender, borrower);
    for (size_t i = 0; i < count; i++) {
        uint8_t bit = lend_bit(key_at(c, needs[i]));
        if (!(bits & bit) || !needs_key(c, l, needs[i]))
            continue;
        b->borrowed |= bit;
        int place = place_of(l, needs[i]);
        if (place < 0)
            continue; /* it validates */
        lease_remove_key(l, (unsigned)place);
        key_give(c, needs[i]);
    }
}

void lend_told(struct core *c, uint32_t run, const struct task_spec *spec) {
    struct run *r = run_at(c, run);
    if (!c->loading || !spec->borrowed)
        return;
    r->told_lender = spec->lender;
    r->borrowed = (uint8_t)spec->borrowed;
}

static void believe(struct core *c, uint32_t borrower) {
    struct run *b = run_at(c, borrower);
    uint32_t task = task_find(c, b->told_lender);
    uint32_t lender = task ? task_at(c, task)->run : 0;
    uint8_t bits = b->borrowed;
    b->borrowed = 0;
    b->told_lender = 0;
    if (lender && run_at(c, lender)->phase != PHASE_DRAINING && !run_at(c, lender)->borrower
        && is_below(c, b->task, task))
        link_told(c, lender, borrower, bits);
}

void lend_loaded(struct core *c) {
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        uint32_t run = task_at(c, h)->run;
        if (run && run_at(c, run)->told_lender)
            believe(c, run);
    }
}

/* --- decisions ------------------------------------------------------------------------------- */

/* Who would run it: the one it names, or who takes over for that one; with a roster, if it names none, the one
 * that waits. */
static struct runner runner_for(const struct core *c, uint32_t task, const struct run *lender) {
    const struct task *t = task_at(c, task);
    if (c->roster_count == 0)
        return failover_runner(c, task, t);
    uint32_t agent = t->agent ? t->agent : lender->agent;
    return (struct runner){ agent, t->limiter ? t->limiter : c->agents[agent].limiter };
}

/* Is there nothing but places of this run between the task and its start? What is reserved for an overdue
 * task is no obstacle: that one may be waiting for the end of the lender. */
static bool only_lacks(const struct core *c, const struct run *lender, uint32_t task) {
    const struct task *t = task_at(c, task);
    struct runner with = runner_for(c, task, lender);
    if (c->roster_count > 0 && !c->agents[with.agent].spec.roster)
        return false;
    if (!gates_before_leases(c, t->project, with.limiter) || !gate_agent_open(c, with.agent))
        return false;
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, t, with.agent, with.limiter, needs);
    for (size_t i = 0; i < count; i++) {
        if (!can_lend(c, lender, needs[i]) && !key_is_free(c, needs[i], task))
            return false;
    }
    return true;
}

static uint32_t first_below(struct core *c, const struct run *lender,
                            bool (*before)(const struct core *c, uint32_t a, uint32_t b)) {
    uint32_t best = 0, top = lender->task;
    for (uint32_t h = tree_next_below(c, top, top); h; h = tree_next_below(c, top, h)) {
        if (task_at(c, h)->state != TASK_READY || !only_lacks(c, lender, h))
            continue;
        fair_set_deficit(c, &c->projects[task_at(c, h)->project]);
        if (!best || before(c, h, best))
            best = h;
    }
    return best;
}

static bool older(const struct core *c, const struct run *a, const struct run *b) {
    if (a->started_at != b->started_at)
        return a->started_at < b->started_at;
    return task_at(c, a->task)->id < task_at(c, b->task)->id;
}

/* The oldest run that could lend and comes after `last` (0: the first). */
static uint32_t next_lender(const struct core *c, uint32_t last) {
    uint32_t next = 0;
    for (uint32_t p = 1; p < c->project_count; p++) {
        for (uint32_t h = c->projects[p].runs; h; h = run_at(c, h)->next) {
            const struct run *r = run_at(c, h);
            if (r->phase != PHASE_WAITING || r->borrower || (last && !older(c, run_at(c, last), r)))
                continue;
            if (!next || older(c, r, run_at(c, next)))
                next = h;
        }
    }
    return next;
}

uint32_t lend_find(struct core *c, bool (*before)(const struct core *c, uint32_t a, uint32_t b),
                   uint32_t *ret_lender, uint32_t *ret_agent) {
    for (uint32_t h = next_lender(c, 0); h; h = next_lender(c, h)) {
        const struct run *lender = run_at(c, h);
        uint32_t task = first_below(c, lender, before);
        if (!task)
            continue;
        *ret_lender = h;
        *ret_agent = runner_for(c, task, lender).agent;
        return task;
    }
    return 0;
}
