/* model_lend.c: who waits for its descendants lends them its places (rules, 3 "lending"). */
#include <stdlib.h>

#include "model_failover.h"
#include "model_lend.h"

unsigned model_lend_bit(enum lease_kind kind) {
    static const unsigned bits[LEASE_KIND_MAX] = {
        [LEASE_RUNS] = LEND_RUNS,   [LEASE_PROJECT] = LEND_PROJECT, [LEASE_KIND] = LEND_KIND,
        [LEASE_AGENT] = LEND_AGENT, [LEASE_LIMITER] = LEND_LIMITER,
    };
    return bits[kind];
}

/* Who has borrowed from it, or NULL. */
static struct model_task *borrower_of(const struct model *m, const struct model_task *t) {
    for (size_t i = 0; i < m->tasks_count; i++)
        if (model_has_run(&m->tasks[i]) && m->tasks[i].run.lender == t->s.id)
            return &m->tasks[i];
    return NULL;
}

/* Does a borrower down the chain use this slot of the task? A validating run uses no limiter. */
bool model_has_lent(const struct model *m, const struct model_task *t, unsigned bit) {
    const struct model_task *b = borrower_of(m, t);
    if (!b || !(b->run.borrowed & bit))
        return false;
    bool uses = bit != LEND_LIMITER || b->s.phase != PHASE_VALIDATING;
    return uses || model_has_lent(m, b, bit);
}

static bool can_lend(const struct model *m, const struct model_task *lender,
                     const struct model_key *key) {
    if (!model_lend_bit(key->kind))
        return false;
    amount cap = model_key_cap(m, key);
    if (key->kind == LEASE_AGENT && model_agent(m, key->name)->roster)
        cap = model_agent(m, key->name)->slots > 0; /* it is busy: with the lender */
    return cap > 0 && model_holds(m, lender, key);
}

unsigned model_lend_bits(const struct model *m, const struct model_task *lender,
                         const struct model_task *t, sym agent) {
    struct model_key keys[MODEL_KEYS_MAX];
    size_t count = model_keys(m, t, agent, keys);
    unsigned bits = 0;
    for (size_t i = 0; i < count; i++)
        if (can_lend(m, lender, &keys[i]))
            bits |= model_lend_bit(keys[i].kind);
    return bits;
}

static bool is_descendant(const struct model *m, const struct model_task *t, task_id ancestor) {
    while (t && t->s.parent != ancestor)
        t = model_find(m, t->s.parent);
    return t != NULL;
}

/* Nothing stops it but places that this one could lend; what is reserved for others does not matter. */
static bool only_lacks(const struct model *m, const struct model_task *lender,
                       const struct model_task *t, sym agent) {
    struct model_block block;
    if (model_has_roster(m) && (!agent || !model_agent(m, agent)->roster))
        return false;
    if (model_stopped_before_leases(m, t, agent, &block))
        return false;
    struct model_key keys[MODEL_KEYS_MAX];
    size_t count = model_keys(m, t, agent, keys);
    for (size_t i = 0; i < count; i++)
        if (!can_lend(m, lender, &keys[i])
            && model_key_used(m, &keys[i], t) >= model_key_cap(m, &keys[i]))
            return false;
    return true;
}

static bool may_lend(const struct model *m, const struct model_task *t) {
    return model_has_run(t) && t->s.phase == PHASE_WAITING && t->run.stop == STOP_NONE
           && !borrower_of(m, t);
}

static bool is_older(const struct model_task *a, const struct model_task *b) {
    if (a->run.started_at != b->run.started_at)
        return a->run.started_at < b->run.started_at;
    return a->s.id < b->s.id;
}

/* The oldest that may lend and is younger than `last`. */
static struct model_task *next_lender(const struct model *m, const struct model_task *last) {
    struct model_task *next = NULL;
    for (size_t i = 0; i < m->tasks_count; i++) {
        struct model_task *t = &m->tasks[i];
        if (may_lend(m, t) && (!last || is_older(last, t)) && (!next || is_older(t, next)))
            next = t;
    }
    return next;
}

struct model_task *model_lend_find(const struct model *m, struct model_task **ret_lender,
                                   sym *ret_agent) {
    struct model_task *lender = NULL, *found = NULL;
    size_t count;
    if (!model_pace_open(m))
        return NULL;
    size_t *sorted = model_sorted(m, &count);
    while (!found && (lender = next_lender(m, lender))) {
        for (size_t i = 0; i < count && !found; i++) {
            struct model_task *t = &m->tasks[sorted[i]];
            *ret_agent = !model_has_roster(m) ? model_runner(m, t)
                         : t->s.agent         ? t->s.agent
                                              : lender->run.agent;
            if (is_descendant(m, t, lender->s.id) && only_lacks(m, lender, t, *ret_agent))
                found = t;
        }
    }
    free(sorted);
    *ret_lender = lender;
    return found;
}

void model_lend_end(struct model *m, struct model_task *t) {
    struct model_task *b = borrower_of(m, t);
    unsigned borrowed = t->run.borrowed;
    task_id lender = t->run.lender;
    t->run.lender = 0;
    t->run.borrowed = 0;
    if (b) {
        b->run.borrowed &= borrowed; /* what was passed on is the first lender's */
        b->run.lender = b->run.borrowed ? lender : 0;
    }
    model_lend_settle(m);
}

/* A slot of a limiter that no run uses any more is not lent. */
void model_lend_settle(struct model *m) {
    for (size_t i = 0; i < m->tasks_count; i++) {
        struct model_task *t = &m->tasks[i];
        if (model_has_run(t) && t->run.lender && t->s.phase == PHASE_VALIDATING
            && !model_has_lent(m, t, LEND_LIMITER))
            t->run.borrowed &= ~(unsigned)LEND_LIMITER;
    }
}
