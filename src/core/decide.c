/* decide.c: repeatedly starts the first task in order that no gate stops. How it is found without
 * visiting every project and class: ready_first.h. */
#include "core/decide.h"

#include "core/attempt.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/ready_first.h"
#include "core/ready_queue.h"
#include "core/task.h"
#include "core/task_rank.h"

/* Do all gates before the leases let it start? */
static bool passes_gates(const struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    struct runner with = failover_runner(c, task, t);
    return gates_before_leases(c, t->project, with.limiter) && gate_agent_open(c, with.agent);
}

/* --- the claim of an overdue task ------------------------------------------------------------ */

void claim_drop(struct core *c) {
    /* The keys first: whether a slot becomes free for others depends on the claim. */
    for (unsigned i = 0; i < c->claim.count; i++)
        key_set_claimed(c, c->claim.keys[i], false);
    c->claim = (struct claim){ 0 };
}

/* Could the end of a live run free a slot? */
static bool freed_by_runs(const struct core *c, const struct task *t, const struct key *k) {
    const struct project *p = &c->projects[t->project];
    if (k->cap == 0 || k->kind == LEASE_REVIEW) /* only a verdict frees these */
        return false;
    if (k->kind == LEASE_WORKSPACE)
        return k->external == 0 || k->locked_by == t->id;
    if (k->kind == LEASE_WORKSPACES && p->spec.workspaces_kept)
        return p->live > 0; /* other tasks keep theirs until a retry or a verdict */
    return k->kind != LEASE_ROOTS || c->live_roots > 0;
}

struct lacking {
    bool any;
    bool hopeless; /* the end of a run cannot help */
    bool scarce;   /* it lacks a slot on a key other than runs */
};

static struct lacking lacking_slots(const struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    struct runner with = failover_runner(c, task, t);
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, t, with.agent, with.limiter, needs);
    struct lacking result = { 0 };
    for (size_t i = 0; i < count; i++) {
        if (key_has_slot(c, needs[i], task))
            continue;
        const struct key *k = key_at(c, needs[i]);
        result.any = true;
        result.hopeless |= !freed_by_runs(c, t, k);
        result.scarce |= k->kind != LEASE_RUNS;
    }
    return result;
}

static bool may_claim(const struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    return t->state == TASK_READY && queue_overdue(c, t) && passes_gates(c, task)
           && !lacking_slots(c, task).hopeless;
}

/* The claim's task if nothing stops it now, else 0. */
static uint32_t claim_startable(struct core *c) {
    uint32_t task = c->claim.task;
    if (!task || task_at(c, task)->state != TASK_READY || !passes_gates(c, task)
        || lacking_slots(c, task).any)
        return 0;
    return task;
}

/* The first overdue task of a list that comes before `best` and that the end of a run could help;
 * else `best`. */
static uint32_t better_of_list(const struct core *c, const struct order_list *list, uint32_t best) {
    struct order_cursor cursor = { 0 };
    uint32_t task;
    while ((task = order_list_next(list, &cursor))) {
        if (!queue_overdue(c, task_at(c, task)) || (best && !task_before(c, task, best)))
            break;
        if (!lacking_slots(c, task).hopeless)
            return task;
    }
    return best;
}

/* The first task of this class that may claim and comes before `best`; else `best`. */
static uint32_t better_of_class(struct core *c, const struct lane_key *lane,
                                const struct queue_class *k, uint32_t best) {
    time_ms from = queue_class_overdue_from(c, k);
    c->overdue_from = time_min(c->overdue_from, from);
    if (from > c->now)
        return best;
    struct runner with = { lane->agent, lane->limiter };
    if (failover_chooser(c, lane->agent, lane->bound))
        with = failover_pick(c, lane->agent, 0);
    if (!gates_before_leases(c, lane->project, with.limiter) || !gate_agent_open(c, with.agent))
        return best;
    best = better_of_list(c, &k->by_ready, best);
    return better_of_list(c, &k->parked_by_ready, best);
}

static uint32_t better_of_project(struct core *c, uint32_t project, uint32_t best) {
    const struct winner_tree *lanes = &c->projects[project].lane_tree;
    for (uint32_t l = 0; l < lanes->count; l++) {
        const struct lane *lane = lane_at(c, winner_tree_item(lanes, l));
        for (uint32_t i = 0; i < lane->class_tree.count; i++)
            best = better_of_class(c, &lane->key,
                                   class_at(c, winner_tree_item(&lane->class_tree, i)), best);
    }
    return best;
}

/* Looks into those projects only whose tasks could come before the best one so far. */
static uint32_t first_overdue(struct core *c) {
    uint32_t best = 0;
    struct winner_bounds unused = { 0 };
    c->overdue_from = TIME_NEVER;
    for (size_t i = 0; i < c->active_count; i++) {
        uint32_t project = c->active[i];
        const struct project *p = &c->projects[project];
        if (best
            && (!p->counted || project_compare(c, task_at(c, best)->project, project, &unused) < 0))
            continue;
        best = better_of_project(c, project, best);
    }
    return best;
}

/* Keys that take longest to become free come first, so that the others are not idle meanwhile. */
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

/* The keys it needs, in reservation order. */
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

/* Keeps the reservations on keys before the first that it lacks, and reserves that one. Since the
 * order is fixed, it never reserves what other tasks need in order to free the key it waits for.
 * True: a reservation was dropped. */
static bool reserve_in_order(struct core *c) {
    uint32_t needs[NEEDS_MAX];
    size_t count = needs_by_rank(c, c->claim.task, needs), first = 0;
    while (first < count && key_has_slot(c, needs[first], c->claim.task))
        first++;
    struct claim kept = { .task = c->claim.task };
    bool released = false, reserved = false;
    for (unsigned i = 0; i < c->claim.count; i++) {
        uint32_t key = c->claim.keys[i];
        bool keep = false; /* no longer needed after its agent changed its account */
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

/* Its task may not hold it any more. */
static bool claim_expire(struct core *c) {
    bool expired = c->claim.task && !may_claim(c, c->claim.task);
    if (expired)
        claim_drop(c);
    return expired;
}

/* True: a reserved slot was released to others. */
static bool claim_update(struct core *c) {
    bool released = claim_expire(c);
    if (!c->claim.task) {
        if (c->now < c->overdue_from || c->full_keys == 0)
            return released; /* no task to claim, or nothing to reserve */
        uint32_t task = first_overdue(c);
        if (!task || !lacking_slots(c, task).scarce)
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

static bool claim_names(const struct claim_spec *spec, const struct key *k) {
    for (unsigned i = 0; k->kind == LEASE_RESOURCE && i < spec->resource_count; i++)
        if (spec->resources[i] == k->name)
            return true;
    return k->kind != LEASE_RESOURCE && (spec->leases >> k->kind & 1u);
}

void claim_loaded(struct core *c) {
    struct claim_spec spec = c->loaded_claim;
    c->loaded_claim = (struct claim_spec){ 0 };
    uint32_t task = spec.task ? task_find(c, spec.task) : 0;
    if (!task || task_at(c, task)->state != TASK_READY)
        return;
    uint32_t needs[NEEDS_MAX];
    size_t count = needs_by_rank(c, task, needs);
    c->claim = (struct claim){ .task = task };
    for (size_t i = 0; i < count; i++) {
        if (!claim_names(&spec, key_at(c, needs[i])))
            continue;
        c->claim.keys[c->claim.count++] = needs[i];
        key_set_claimed(c, needs[i], true);
    }
}

/* --- starts ---------------------------------------------------------------------------------- */

void decide_timers(struct core *c) {
    uint32_t task;
    tree_check_adopted(c);
    while ((task = timer_heap_pop(&c->timers, c->now))) {
        if (task_at(c, task)->state == TASK_HELD)
            task_become(c, task, change_to(TASK_WAITING, REASON_RELEASED));
        else
            run_end_drain(c, task, TASK_DONE, REASON_DRAIN_TIMEOUT);
        task_settle(c);
    }
}

static void start(struct core *c, uint32_t task, uint32_t agent, uint32_t lender) {
    const struct task *t = task_at(c, task);
    int32_t score = score_of(c, t);
    run_start(c, task, agent, lender);
    pace_count_start(c);
    struct run *r = run_at(c, t->run);
    r->tick = c->tick_number;
    struct order *o = order_push(c, ORDER_START, task);
    o->from = TASK_READY;
    o->to = TASK_STARTING;
    o->reason = REASON_FIRST_IN_ORDER;
    o->project = c->projects[t->project].spec.id;
    o->agent = c->agents[r->agent].spec.id;
    o->limiter = c->limiters[r->limiter].spec.id;
    o->workspace = t->workspace_key ? key_at(c, t->workspace_key)->name : 0;
    o->score = score;
    if (t->agent && r->agent != t->agent) {
        o->instead_of = c->agents[t->agent].spec.id;
        o->instead_until = failover_opens_at(c, t->agent);
    }
    o->lender = lend_task(c, lender);
    task_settle(c);
}

/* Gates that no start can close. */
static bool world_open(const struct core *c) {
    return !c->paused && gate_host_open(c);
}

static bool one_more_may_start(const struct core *c) {
    return c->ready > 0 && gate_budget_open(c, 0) && pace_open(c);
}

static bool anything_may_start(const struct core *c) {
    return world_open(c) && one_more_may_start(c);
}

/* --- tasks that are taken over --------------------------------------------------------------- */

/* Forgets those that are not taken over any more, except held ones, which are not in the list. */
static void taken_clean(struct core *c) {
    size_t kept = 0;
    for (size_t i = 0; i < c->taken_count; i++) {
        const struct task *t = task_at(c, c->taken[i]);
        if (task_is_taken(t) && t->state != TASK_HELD)
            c->taken[kept++] = c->taken[i];
    }
    c->taken_count = kept;
}

static bool may_start_with(const struct core *c, uint32_t task, struct runner with) {
    const struct task *t = task_at(c, task);
    uint32_t needs[NEEDS_MAX];
    if (!gates_before_leases(c, t->project, with.limiter) || !gate_agent_open(c, with.agent))
        return false;
    size_t count = lease_needs(c, t, with.agent, with.limiter, needs);
    for (size_t i = 0; i < count; i++)
        if (!key_has_slot(c, needs[i], task))
            return false;
    return true;
}

/* The agent that would run it: its own, or the first of a roster that is idle. False: none may. */
static bool taken_runner(const struct core *c, uint32_t task, struct runner *ret) {
    const struct task *t = task_at(c, task);
    if (c->roster_count == 0) {
        *ret = failover_runner(c, task, t);
        return may_start_with(c, task, *ret);
    }
    for (uint32_t worker = 1; worker < c->agent_count; worker++) {
        if (!c->agents[worker].spec.roster || (t->agent && t->agent != worker))
            continue;
        *ret = (struct runner){ worker, t->limiter ? t->limiter : c->agents[worker].limiter };
        if (may_start_with(c, task, *ret))
            return true;
    }
    return false;
}

/* A person waits for each of them: they start before all others, by number. */
static void start_taken(struct core *c) {
    taken_clean(c);
    for (task_id after = 0; c->taken_count > 0 && anything_may_start(c);) {
        uint32_t first = 0;
        for (size_t i = 0; i < c->taken_count; i++) {
            const struct task *t = task_at(c, c->taken[i]);
            if (t->state == TASK_READY && t->id > after
                && (!first || t->id < task_at(c, first)->id))
                first = c->taken[i];
        }
        struct runner with;
        if (!first)
            break;
        after = task_at(c, first)->id;
        if (!taken_runner(c, first, &with))
            continue;
        if (first == c->claim.task)
            claim_drop(c);
        start(c, first, with.agent, 0);
    }
}

static void starts_by_roster(struct core *c) {
    for (uint32_t worker = 1; worker < c->agent_count; worker++) {
        if (!c->agents[worker].spec.roster)
            continue;
        if (!anything_may_start(c) || !key_has_slot(c, c->key_runs, 0))
            return;
        if (!key_has_slot(c, c->agents[worker].key, 0) || !gate_agent_open(c, worker))
            continue;
        uint32_t task = ready_first_for(c, worker);
        if (task)
            start(c, task, worker, 0);
    }
}

static void start_all_in_order(struct core *c) {
    for (bool open = world_open(c); open && one_more_may_start(c);) {
        uint32_t task = key_has_slot(c, c->key_runs, 0) ? ready_first(c) : 0;
        uint32_t claimer = claim_startable(c);
        if (claimer && (!task || task_before(c, claimer, task)))
            task = claimer;
        if (!task)
            break;
        if (task == claimer)
            claim_drop(c);
        start(c, task, failover_runner(c, task, task_at(c, task)).agent, 0);
    }
}

/* If nothing else starts, a run that waits for its descendants lends its slots to one of them. */
static bool start_lent(struct core *c) {
    uint32_t lender = 0, agent = 0;
    uint32_t task = c->waiting_runs > 0 && anything_may_start(c)
                        ? lend_find(c, task_before, &lender, &agent)
                        : 0;
    if (!task)
        return false;
    if (task == c->claim.task)
        claim_drop(c);
    start(c, task, agent, lender);
    return true;
}

void decide_starts(struct core *c) {
    fair_begin_decision(c);
    pace_begin_decision(c);
    (void)claim_expire(c); /* with a roster, there is no claim */
    start_taken(c);
    if (c->roster_count > 0)
        starts_by_roster(c);
    do {
        if (c->roster_count > 0)
            continue;
        (void)claim_update(c);
        do
            start_all_in_order(c);
        while (claim_update(c)); /* dropped reservations are now free for others */
    } while (start_lent(c));
    pace_end_decision(c);
}
