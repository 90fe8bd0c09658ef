/* claim.c: see claim.h. */
#include "core/claim.h"

#include "core/decide.h"
#include "core/failover_internal.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/limiter.h"
#include "core/queue.h"
#include "core/task.h"

void claim_drop(struct core *c) {
    /* The keys first: whether a place becomes free for others depends on who holds the claim. */
    for (unsigned i = 0; i < c->claim.count; i++)
        key_set_claimed(c, c->claim.keys[i], false);
    c->claim = (struct claim){ 0 };
}

/* Could the end of a run that lives now free a place? */
static bool freed_by_runs(const struct core *c, const struct task *t, const struct key *k) {
    const struct project *p = &c->projects[t->project];
    if (k->cap == 0 || k->kind == LEASE_REVIEW) /* only a person does */
        return false;
    if (k->kind == LEASE_WORKSPACE)
        return k->outside == 0 || k->outside_task == t->id;
    if (k->kind == LEASE_WORKSPACES && p->spec.workspaces_kept)
        return p->live > 0; /* the others wait for a retry or a verdict */
    return k->kind != LEASE_ROOTS || c->live_roots > 0;
}

struct lacking {
    bool hopeless; /* no end of a run can help it */
    bool scarce;   /* it lacks a key other than runs */
};

static struct lacking what_it_lacks(const struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    struct runner with = failover_runner(c, task, t);
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, t, with.agent, with.limiter, needs);
    struct lacking result = { false, false };
    for (size_t i = 0; i < count; i++) {
        if (key_has_place(c, needs[i], task))
            continue;
        const struct key *k = key_at(c, needs[i]);
        result.hopeless |= !freed_by_runs(c, t, k);
        result.scarce |= k->kind != LEASE_RUNS;
    }
    return result;
}

static bool may_claim(const struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    if (t->state != TASK_READY || !queue_overdue(c, t))
        return false;
    struct runner with = failover_runner(c, task, t);
    return gates_before_leases(c, t->project, with.limiter) && gate_agent_open(c, with.agent)
           && !what_it_lacks(c, task).hopeless;
}

static bool claim_is_void(const struct core *c) {
    return c->claim.task && !may_claim(c, c->claim.task);
}

uint32_t claim_startable(struct core *c) {
    uint32_t task = c->claim.task;
    if (!task || task_at(c, task)->state != TASK_READY || !decide_startable(c, task))
        return 0;
    fair_set_deficit(c, &c->projects[task_at(c, task)->project]);
    return task;
}

/* The first overdue task of a list that comes before `best` and that an end of a run could help; else
 * `best`. The list is in order: behind one that comes later nobody comes earlier. */
static uint32_t better_of_list(const struct core *c, const struct order_list *list, uint32_t best) {
    struct order_cursor cursor = { 0 };
    uint32_t task;
    while ((task = order_list_next(list, &cursor))) {
        if (!queue_overdue(c, task_at(c, task)) || (best && !decide_before(c, task, best)))
            break;
        if (!what_it_lacks(c, task).hopeless)
            return task;
    }
    return best;
}

/* The first overdue task in order, among those that an end of a run could help. */
static uint32_t first_overdue(struct core *c) {
    uint32_t best = 0;
    c->overdue_from = TIME_NEVER;
    for (uint32_t h = 1; h < c->classes.next; h++) {
        const struct queue_class *k = class_at(c, h);
        if (!k->domain)
            continue; /* not in use */
        time_ms from = queue_class_overdue_from(c, k);
        c->overdue_from = time_min(c->overdue_from, from);
        if (from > c->now)
            continue;
        struct runner with = { k->agent, k->limiter };
        if (failover_chooser(c, k->agent, k->bound))
            with = failover_pick(c, k->agent, 0);
        if (!gates_before_leases(c, k->project, with.limiter) || !gate_agent_open(c, with.agent))
            continue;
        fair_set_deficit(c, &c->projects[k->project]);
        best = better_of_list(c, &k->by_ready, best);
        best = better_of_list(c, &k->parked_by_ready, best);
    }
    return best;
}

/* What is waited for longest comes first, so that nothing else stands idle meanwhile. */
static int claim_rank(const struct core *c, const struct task *t, const struct key *k) {
    static const int ranks[LEASE_KIND_MAX] = {
        [LEASE_ROOTS] = 1,      [LEASE_SERIAL] = 3,  [LEASE_WORKSPACE] = 4, [LEASE_RESOURCE] = 5,
        [LEASE_WORKSPACES] = 6, [LEASE_PROJECT] = 7, [LEASE_KIND] = 8,      [LEASE_AGENT] = 9,
        [LEASE_LIMITER] = 10,   [LEASE_RUNS] = 11,
    };
    if (k->kind == LEASE_WORKSPACES && c->projects[t->project].spec.workspaces_kept)
        return 2;
    return ranks[k->kind];
}

/* The keys it needs, in the order in which they are reserved. */
static size_t needs_by_rank(const struct core *c, uint32_t task, uint32_t ret[NEEDS_MAX]) {
    const struct task *t = task_at(c, task);
    struct runner with = failover_runner(c, task, t);
    size_t count = lease_needs(c, t, with.agent, with.limiter, ret);
    for (size_t i = 1; i < count; i++) {
        uint32_t key = ret[i];
        size_t at = i;
        for (;
             at > 0 && claim_rank(c, t, key_at(c, ret[at - 1])) > claim_rank(c, t, key_at(c, key));
             at--)
            ret[at] = ret[at - 1];
        ret[at] = key;
    }
    return count;
}

/* Keeps what is reserved of the keys before the first that it lacks, and reserves that one. Always
 * taking them in one order, it never keeps from others what they need to free what it waits for.
 * True: a reservation was given up. */
static bool reserve_in_order(struct core *c) {
    uint32_t needs[NEEDS_MAX];
    size_t count = needs_by_rank(c, c->claim.task, needs), first = 0;
    while (first < count && key_has_place(c, needs[first], c->claim.task))
        first++;
    struct claim kept = { .task = c->claim.task };
    bool released = false, reserved = false;
    for (unsigned i = 0; i < c->claim.count; i++) {
        uint32_t key = c->claim.keys[i];
        bool keep = false; /* nor if it needs it no more: its agent uses another account now */
        for (size_t n = 0; n <= first && n < count; n++)
            keep |= key == needs[n];
        reserved |= first < count && key == needs[first];
        released |= !keep;
        if (keep)
            kept.keys[kept.count++] = key;
        else
            key_set_claimed(c, key, false);
    }
    c->claim = kept;
    if (first < count && !reserved) {
        c->claim.keys[c->claim.count++] = needs[first];
        key_set_claimed(c, needs[first], true);
    }
    return released;
}

bool claim_update(struct core *c) {
    bool released = claim_is_void(c);
    if (released)
        claim_drop(c);
    if (!c->claim.task) {
        if (c->now < c->overdue_from || c->full_keys == 0)
            return released; /* nobody to claim, or nothing to be claimed */
        uint32_t task = first_overdue(c);
        if (!task || !what_it_lacks(c, task).scarce)
            return released;
        c->claim = (struct claim){ .task = task };
    }
    return reserve_in_order(c) || released;
}

struct claim_spec claim_spec(const struct core *c) {
    struct claim_spec spec = { 0 };
    if (!c->claim.task)
        return spec;
    spec.task = task_at(c, c->claim.task)->id;
    for (unsigned i = 0; i < c->claim.count; i++) {
        const struct key *k = key_at(c, c->claim.keys[i]);
        if (k->kind != LEASE_RESOURCE)
            spec.leases |= 1u << k->kind;
        else if (spec.resource_count < CLAIM_RESOURCES_MAX)
            spec.resources[spec.resource_count++] = k->name;
    }
    return spec;
}

static bool claim_is_told(const struct claim_spec *spec, const struct key *k) {
    for (unsigned i = 0; k->kind == LEASE_RESOURCE && i < spec->resource_count; i++)
        if (spec->resources[i] == k->name)
            return true;
    return k->kind != LEASE_RESOURCE && (spec->leases >> k->kind & 1u);
}

void claim_loaded(struct core *c) {
    struct claim_spec spec = c->told_claim;
    c->told_claim = (struct claim_spec){ 0 };
    uint32_t task = spec.task ? task_find(c, spec.task) : 0;
    if (!task || task_at(c, task)->state != TASK_READY)
        return;
    uint32_t needs[NEEDS_MAX];
    size_t count = needs_by_rank(c, task, needs);
    c->claim = (struct claim){ .task = task };
    for (size_t i = 0; i < count; i++) {
        if (!claim_is_told(&spec, key_at(c, needs[i])))
            continue;
        c->claim.keys[c->claim.count++] = needs[i];
        key_set_claimed(c, needs[i], true);
    }
}
