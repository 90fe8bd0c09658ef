/* explain.c: why does this task not run?
 *
 * Asks the same functions as the decision, gate by gate, in the order in which they are shown. It
 * looks at one task only; nothing here is kept. Most callers want only the first closed gate: then
 * the gates behind it are not asked. */
#include <string.h>

#include "core/core.h"
#include "core/depend.h"
#include "core/explain.h"
#include "core/failover_internal.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/limiter.h"
#include "core/state.h"
#include "core/task.h"

struct explaining {
    const struct core *c;
    uint32_t handle;
    const struct task *t;
    struct runner with; /* what it would run with */
    struct verdict *list;
    size_t count;
};

static struct verdict *add(struct explaining *x, enum gate gate, bool open) {
    struct verdict *v = &x->list[x->count++];
    *v = (struct verdict){ .gate = gate, .open = open, .opens_at = TIME_NEVER };
    return v;
}

static void explain_state(struct explaining *x) {
    const struct core *c = x->c;
    const struct task *t = x->t;
    const struct project *p = &c->projects[t->project];
    struct verdict *v = add(x, GATE_PAUSED, !c->paused);
    if (c->paused)
        v->pause = c->pause;
    v = add(x, GATE_PROJECT, gate_project_open(p));
    v->key = p->spec.id;
    v->inactive = !p->spec.active;
    if (p->spec.paused)
        v->pause = p->spec.pause;
    bool held = t->state == TASK_HELD && t->hold != HOLD_BREAKER;
    v = add(x, GATE_HELD, !held);
    v->hold = t->hold;
    if (held && t->not_before > 0)
        v->opens_at = t->not_before;
}

static void explain_prerequisites(struct explaining *x) {
    const struct core *c = x->c;
    const struct task *t = x->t;
    struct verdict *v = add(x, GATE_DEPENDENCY, t->unmet == 0);
    uint32_t unmet = t->unmet > 0 ? depend_first_unmet(c, x->handle) : 0;
    v->count = t->unmet;
    if (unmet) {
        v->about = task_at(c, unmet)->id;
        v->about_state = task_at(c, unmet)->state;
    }
    v = add(x, GATE_PARENT, task_parent_passed(c, t));
    if (t->parent) {
        v->about = task_at(c, t->parent)->id;
        v->about_state = task_at(c, t->parent)->state;
    }
    v = add(x, GATE_ARTIFACT, !(t->flags & TASK_ARTIFACT_MISSING));
    v->about = t->parent ? task_at(c, t->parent)->id : 0;
}

static void explain_breaker_and_limiter(struct explaining *x) {
    const struct core *c = x->c;
    const struct task *t = x->t;
    bool own = t->state == TASK_HELD && t->hold == HOLD_BREAKER;
    bool agent = !gate_agent_open(c, x->with.agent);
    uint32_t chooser = failover_chooser(c, t->agent, failover_is_bound(t));
    /* Whoever of the list opens first takes it: if one was open, it would run with that one. */
    time_ms others_at = chooser ? failover_others_open_at(c, chooser) : TIME_NEVER;
    uint32_t others = chooser && c->roster_count == 0 ? c->agents[chooser].spec.failover_count : 0;
    struct verdict *v = add(x, GATE_BREAKER, !own && !agent);
    if (own)
        v->opens_at = t->not_before > 0 ? t->not_before : TIME_NEVER;
    if (agent) {
        time_ms opens_at = time_min(c->agents[t->agent].closed_until, others_at);
        v->key = own ? 0 : c->agents[t->agent].spec.id;
        v->opens_at = own ? time_max(v->opens_at, opens_at) : opens_at;
        v->count = others;
    }
    const struct limiter_spec *l = &c->limiters[x->with.limiter].spec;
    v = add(x, GATE_LIMITER, limiter_open(c, x->with.limiter));
    v->key = l->id;
    v->closed = l->closed;
    if (v->open)
        return;
    v->count = others;
    v->opens_at = time_min(l->closed ? TIME_NEVER : l->backoff_until, others_at);
}

static void explain_host(struct explaining *x) {
    struct verdict *v = add(x, GATE_HOST, true);
    for (unsigned floor = 0; floor < HOST_FLOOR_MAX; floor++) {
        amount is, wanted;
        if (gate_floor_open(x->c, floor, &is, &wanted))
            continue;
        if (v->open) {
            v->used = is;
            v->cap = wanted;
        }
        v->open = false;
        v->floors |= 1u << floor;
    }
}

static void explain_budget(struct explaining *x, enum gate gate, uint32_t project) {
    const struct core *c = x->c;
    struct verdict *v = add(x, gate, gate_budget_open(c, project));
    v->money = !v->open && gate_tokens_open(c, project);
    v->used = v->money ? fair_money_used(c, project) : fair_budget_used(c, project);
    v->cap = project ? c->projects[project].spec.budget : c->budget;
    if (v->money)
        v->cap = (project ? c->projects[project].spec.money : c->money_budget).micro;
    v->span = c->policy.fair_window;
    v->key = c->projects[project].spec.id;
    if (!v->open)
        v->opens_at = fair_budget_opens(c, project);
}

static void explain_budgets(struct explaining *x) {
    explain_budget(x, GATE_BUDGET, 0);
    explain_budget(x, GATE_PROJECT_BUDGET, x->t->project);
}

static void explain_key(struct explaining *x, uint32_t key) {
    const struct core *c = x->c;
    const struct key *k = key_at(c, key);
    struct verdict *v = add(x, GATE_LEASE, key_has_place(c, key, x->handle));
    v->lease = k->kind;
    v->key = k->name;
    v->key_project = k->project;
    v->key_kind = k->kind_name;
    v->used = k->held + k->outside;
    v->cap = k->cap;
    if (k->claimed && c->claim.task != x->handle)
        v->about = task_at(c, c->claim.task)->id;
    if (k->outside_task && k->outside_task != x->t->id)
        v->about = k->outside_task;
    if (k->kind != LEASE_LIMITER)
        return;
    v->ramping = k->cap < c->limiters[x->with.limiter].spec.policy.max_running;
    if (!v->open && v->used <= v->cap)
        v->opens_at = limiter_rises_at(c, x->with.limiter);
}

/* With a roster, somebody must be idle: the one it names, or anyone. */
static bool roster_has_idle(const struct core *c, const struct task *t) {
    for (uint32_t agent = 1; agent < c->agent_count; agent++) {
        if (!c->agents[agent].spec.roster)
            continue;
        uint32_t limiter =
            t->limiter ? 0 : c->agents[agent].limiter; /* its own has its own gates */
        if (key_has_place(c, c->agents[agent].key, 0) && gate_agent_open(c, agent)
            && limiter_open(c, limiter)
            && (!limiter || key_has_place(c, c->limiters[limiter].key, 0)))
            return true;
    }
    return false;
}

static void explain_roster(struct explaining *x) {
    const struct core *c = x->c;
    if (x->t->agent && !c->agents[x->t->agent].spec.roster) {
        struct verdict *v = add(x, GATE_LEASE, false);
        v->lease = LEASE_AGENT;
        v->key = c->agents[x->t->agent].spec.id;
    } else if (!x->t->agent) {
        add(x, GATE_LEASE, roster_has_idle(c, x->t))->lease = LEASE_AGENTS;
    }
}

static void explain_leases(struct explaining *x) {
    const struct core *c = x->c;
    uint32_t needs[NEEDS_MAX];
    size_t count = lease_needs(c, x->t, x->with.agent, x->with.limiter, needs);
    add(x, GATE_LEASE, true)->lease = LEASE_TASK;
    bool roster_done = c->roster_count == 0;
    for (size_t i = 0; i < count; i++) {
        if (!roster_done && key_at(c, needs[i])->kind > LEASE_KIND) {
            explain_roster(x);
            roster_done = true;
        }
        explain_key(x, needs[i]);
    }
}

static void explain_pace(struct explaining *x) {
    struct verdict *v = add(x, GATE_PACE, pace_open(x->c));
    if (!v->open)
        v->opens_at = pace_opens_at(x->c);
}

static void (*const explainers[])(struct explaining *x) = {
    explain_state, explain_prerequisites, explain_breaker_and_limiter,
    explain_host,  explain_budgets,       explain_leases,
    explain_pace,
};

static size_t explain_all(const struct core *c, uint32_t handle, const struct task *t,
                          struct verdict ret[VERDICT_MAX]) {
    struct explaining x = {
        .c = c, .handle = handle, .t = t, .with = failover_runner(c, handle, t), .list = ret
    };
    for (size_t i = 0; i < ARRAY_SIZE(explainers); i++)
        explainers[i](&x);
    return x.count;
}

bool explain_first(const struct core *c, uint32_t task, const struct task *t, struct verdict *ret) {
    struct verdict list[VERDICT_MAX];
    struct explaining x = {
        .c = c, .handle = task, .t = t, .with = failover_runner(c, task, t), .list = list
    };
    for (size_t i = 0; i < ARRAY_SIZE(explainers); i++) {
        size_t asked = x.count;
        explainers[i](&x);
        for (; asked < x.count; asked++) {
            if (x.list[asked].open)
                continue;
            *ret = x.list[asked];
            return true;
        }
    }
    return false;
}

size_t core_explain(const struct core *c, task_id id, struct verdict ret[VERDICT_MAX]) {
    uint32_t handle = task_find_added(c, id);
    return handle ? explain_all(c, handle, task_at(c, handle), ret) : 0;
}

bool core_blocked(const struct core *c, task_id id, struct verdict *ret) {
    uint32_t handle = task_find_added(c, id);
    if (!handle)
        return false;
    enum task_state state = task_at(c, handle)->state;
    if (state != TASK_WAITING && state != TASK_READY && state != TASK_HELD)
        return false;
    return explain_first(c, handle, task_at(c, handle), ret);
}
