/* decide.c: picks the first task in order that nothing stops, again and again.
 *
 * A decision looks once at each project that has something in its queue, and at the heads of the
 * classes of those projects whose first task is not known any more. A project's first task is
 * remembered until something of it changes, a shared key gets a free place (the epoch), or a score
 * or an overdue moment passes. What makes a remembered task impossible is not tracked: it is asked
 * when the task is about to be taken. */
#include "core/decide.h"

#include "core/claim.h"
#include "core/failover_internal.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/lend.h"
#include "core/limiter.h"
#include "core/queue.h"
#include "core/run.h"
#include "core/score.h"
#include "core/task.h"
#include "core/tree.h"

/* What a roster agent may take; agent 0 means there is no roster. */
struct taker {
    uint32_t agent;
};

void decide_timers(struct core *c) {
    uint32_t task;
    tree_ask_adopted(c);
    while ((task = timer_heap_pop(&c->timers, c->now))) {
        if (task_at(c, task)->state == TASK_HELD)
            task_become(c, task, (struct change){ .to = TASK_WAITING, .reason = REASON_RELEASED });
        else
            run_end_drain(c, task, TASK_DONE, REASON_DRAIN_TIMEOUT);
        task_settle(c);
    }
}

/* The first key without a place for it, or 0. */
static uint32_t lacking_key(const struct core *c, uint32_t task, struct runner with) {
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, task_at(c, task), with.agent, with.limiter, needs);
    for (size_t i = 0; i < count; i++) {
        if (!key_has_place(c, needs[i], task))
            return needs[i];
    }
    return 0;
}

bool decide_startable(const struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    struct runner with = failover_runner(c, task, t);
    return gates_before_leases(c, t->project, with.limiter) && gate_agent_open(c, with.agent)
           && !lacking_key(c, task, with);
}

/* Places that every task of a class needs, as far as the project does not need them all the same. */
static bool class_open(const struct core *c, const struct queue_class *k, struct taker taker) {
    if (taker.agent && k->agent && k->agent != taker.agent)
        return false;
    uint32_t agent = k->agent ? k->agent : taker.agent;
    uint32_t limiter = k->limiter ? k->limiter : c->agents[agent].limiter;
    if (failover_chooser(c, agent, k->bound)) {
        struct runner with = failover_pick(c, agent, 0);
        agent = with.agent;
        limiter = with.limiter;
    }
    if (limiter && (!limiter_open(c, limiter) || !key_has_place(c, c->limiters[limiter].key, 0)))
        return false;
    if (agent && (!gate_agent_open(c, agent) || !key_has_place(c, c->agents[agent].key, 0)))
        return false;
    if (k->kind && !key_has_place(c, c->kinds[k->kind].key, 0))
        return false;
    const struct project *p = &c->projects[k->project];
    if ((k->needs_kept & TASK_KEEPS_ROOTS) && !key_has_place(c, c->key_roots, 0))
        return false;
    if ((k->needs_kept & TASK_KEEPS_REVIEW) && !key_has_place(c, p->key_review, 0))
        return false;
    return !(k->needs_kept & TASK_KEEPS_PLACE) || key_has_place(c, p->key_workspaces, 0);
}

static bool project_has_places(const struct core *c, uint32_t project) {
    const struct project *p = &c->projects[project];
    const struct project_spec *spec = &p->spec;
    /* Most projects limit none of it: then no key is looked at. */
    return gate_project_open(p) && (spec->max_running == UNLIMITED || key_has_place(c, p->key, 0))
           && (spec->workspaces == UNLIMITED || spec->workspaces_kept
               || key_has_place(c, p->key_workspaces, 0))
           && ((spec->budget == UNLIMITED && !spec->money.is_set) || gate_budget_open(c, project));
}

/* When the comparison of this head with others could turn out differently. */
static time_ms head_changes_at(const struct core *c, const struct queue_class *k, uint32_t head) {
    time_ms at = TIME_NEVER;
    if (c->policy.order & ORDER_BY_SCORE)
        at = score_changes_at(c, task_at(c, head));
    if (!(c->policy.order & ORDER_BY_OVERDUE) || c->policy.max_wait == TIME_NEVER)
        return at;
    time_ms waited = queue_waited(c, task_at(c, order_list_first(&k->by_ready)));
    if (waited < c->policy.max_wait)
        at = time_min(at, time_add(c->now, c->policy.max_wait - waited));
    return at;
}

/* The first of all open classes of a project; heads that a rare key refuses are parked on the way. */
static uint32_t look_through_classes(struct core *c, uint32_t project, struct taker taker) {
    struct project *p = &c->projects[project];
    for (;;) {
        uint32_t best = 0;
        p->best_until = TIME_NEVER;
        for (size_t i = 0; i < p->class_count; i++) {
            const struct queue_class *k = class_at(c, p->classes[i]);
            if (!class_open(c, k, taker))
                continue;
            uint32_t head = queue_head(c, k);
            p->best_until = time_min(p->best_until, head_changes_at(c, k, head));
            if (!best || queue_before(c, head, best))
                best = head;
        }
        uint32_t key = best ? queue_refusing_key(c, best) : 0;
        if (!key)
            return best;
        queue_park(c, best, key);
    }
}

static uint32_t first_of_project(struct core *c, uint32_t project, struct taker taker) {
    struct project *p = &c->projects[project];
    if (taker.agent)
        return look_through_classes(c, project, taker);
    if (p->best_epoch != c->epoch || c->now >= p->best_until) {
        p->best = look_through_classes(c, project, taker);
        p->best_epoch = c->epoch;
    }
    return p->best;
}

bool decide_before(const struct core *c, uint32_t a, uint32_t b) {
    bool equal;
    bool before = fair_project_before(c, task_at(c, a)->project, task_at(c, b)->project, &equal);
    return equal ? queue_before(c, a, b) : before;
}

/* A remembered task may have become impossible since: then its project is looked at again. */
static bool still_possible(struct core *c, uint32_t task, struct taker taker) {
    const struct task *t = task_at(c, task);
    if (class_open(c, class_at(c, t->cls), taker) && !queue_refusing_key(c, task))
        return true;
    c->projects[t->project].best_epoch = 0;
    return false;
}

static uint32_t first_in_order(struct core *c, struct taker taker) {
    bool by_deficit = c->policy.order & ORDER_BY_DEFICIT;
    for (;;) {
        uint32_t best = 0;
        for (size_t i = 0; i < c->active_count;) {
            uint32_t project = c->active[i];
            uint32_t task =
                project_has_places(c, project) ? first_of_project(c, project, taker) : 0;
            if (i < c->active_count && c->active[i] != project)
                continue; /* its last head was parked: another project took its place in the list */
            i++;
            if (!task)
                continue;
            if (by_deficit)
                fair_set_deficit(c, &c->projects[project]);
            if (!best || decide_before(c, task, best))
                best = task;
        }
        if (!best || taker.agent || still_possible(c, best, taker))
            return best;
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

static bool anything_may_start(const struct core *c) {
    return !c->paused && c->ready > 0 && gate_host_open(c) && gate_budget_open(c, 0)
           && pace_open(c);
}

static void starts_by_roster(struct core *c) {
    for (uint32_t agent = 1; agent < c->agent_count; agent++) {
        struct taker taker = { agent };
        if (!c->agents[agent].spec.roster)
            continue;
        if (!anything_may_start(c) || !key_has_place(c, c->key_runs, 0))
            return;
        if (!key_has_place(c, c->agents[taker.agent].key, 0) || !gate_agent_open(c, taker.agent))
            continue;
        uint32_t task = first_in_order(c, taker);
        if (task)
            start(c, task, taker.agent, 0);
    }
}

static void start_all_in_order(struct core *c) {
    while (anything_may_start(c)) {
        uint32_t task =
            key_has_place(c, c->key_runs, 0) ? first_in_order(c, (struct taker){ 0 }) : 0;
        uint32_t claimer = claim_startable(c);
        if (claimer && (!task || decide_before(c, claimer, task)))
            task = claimer;
        if (!task)
            break;
        if (task == claimer)
            claim_drop(c); /* its places are its own now, and nobody else's are reserved */
        start(c, task, failover_runner(c, task, task_at(c, task)).agent, 0);
    }
}

static void starts_in_order(struct core *c) {
    (void)claim_update(c);
    do
        start_all_in_order(c);
    while (claim_update(c)); /* what it gave up is free for others now */
}

/* Who waits for its descendants lends its places to one of them, when nothing else starts. */
static bool start_lent(struct core *c) {
    uint32_t lender = 0, agent = 0;
    uint32_t task = c->waiting_runs > 0 && anything_may_start(c)
                        ? lend_find(c, decide_before, &lender, &agent)
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
    if (c->roster_count > 0)
        starts_by_roster(c); /* each agent is asked once */
    do {
        if (c->roster_count == 0)
            starts_in_order(c);
    } while (start_lent(c));
    pace_end_decision(c);
}
