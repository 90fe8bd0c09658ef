/* apply_world.c: facts about everything but tasks and runs. */
#include <errno.h>

#include "base/alloc.h"
#include "core/apply.h"
#include "core/changes.h"
#include "core/claim.h"
#include "core/failover_internal.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/limiter.h"
#include "core/position.h"
#include "core/queue.h"
#include "core/run.h"
#include "core/task.h"

static bool cap_is_valid(amount cap) {
    return cap >= 0;
}

int apply_clock(struct core *c, const struct fact *fact, struct error *err) {
    (void)err;
    if (c->clock_told && fact->now <= c->now)
        return fact->now < c->now;
    time_ms before = c->now;
    if (c->clock_told)
        queue_clocks_look(c);
    else
        queue_clocks_begin(c, fact->now);
    c->clock_told = true;
    c->now = fact->now;
    fair_expire(c);
    for (uint32_t l = 1; l < c->limiter_count; l++) {
        time_ms until = c->limiters[l].spec.backoff_until;
        if (until > before && until <= c->now)
            c->epoch++;
        limiter_refresh(c, l);
    }
    for (uint32_t a = 1; a < c->agent_count; a++) {
        time_ms until = c->agents[a].closed_until;
        if (until > before && until <= c->now)
            c->epoch++;
    }
    return 0;
}

int apply_policy(struct core *c, const struct fact *fact, struct error *err) {
    (void)err;
    time_ms old_window = c->policy.fair_window;
    queue_empty(c);
    position_unlist_all(c);
    c->policy = *fact->policy;
    if (c->policy.order & ORDER_BY_SCORE) /* rises with age: a class has only this order */
        c->policy.order = (c->policy.order | ORDER_BY_CREATED) & ~(unsigned)ORDER_BY_ENQUEUED;
    if (c->policy.fair == FAIR_OFF)
        c->policy.order &= ~(unsigned)ORDER_BY_DEFICIT;
    fair_rewindow(c, old_window);
    fair_recharge(c);
    key_set_cap(c, c->key_runs, c->policy.runs);
    key_set_cap(c, c->key_roots, c->policy.roots);
    c->overdue_from = TIME_NEVER;
    c->pace_changed = true; /* it may be in force only now */
    queue_fill(c);
    for (uint32_t h = 1; h < c->tasks.next; h++)
        task_look_again(c, h); /* who still waits is listed again */
    return 0;
}

/* Asked only when somebody wants to change what its tasks hold. */
static bool project_has_tasks(const struct core *c, uint32_t project) {
    for (uint32_t h = 1; h < c->tasks.next; h++)
        if (task_at(c, h)->state != TASK_ABSENT && task_at(c, h)->project == project)
            return true;
    return false;
}

int apply_project(struct core *c, const struct fact *fact, struct error *err) {
    const struct project_spec *spec = &fact->project;
    if (!spec->id)
        return error_set(err, -EINVAL, "a project needs a name");
    if (!cap_is_valid(spec->max_running) || !cap_is_valid(spec->workspaces)
        || !cap_is_valid(spec->review) || spec->budget < 0 || spec->money.micro < 0
        || spec->weight_milli < 0)
        return error_set(err, -ERANGE, "project '%s': weights, caps and budgets are not negative",
                         symbol_name(&c->symbols, spec->id));
    uint32_t index = by_symbol_get(&c->project_of, spec->id);
    if (!index) {
        index = (uint32_t)c->project_count++;
        c->projects =
            xgrow(c->projects, &c->project_capacity, c->project_count, sizeof(*c->projects));
        struct project *p = &c->projects[index];
        *p = (struct project){ .spec = *spec };
        p->key = key_new(c, LEASE_PROJECT, spec->id, spec->max_running);
        p->key_workspaces = key_new(c, LEASE_WORKSPACES, spec->id, spec->workspaces);
        p->key_review = key_new(c, LEASE_REVIEW, spec->id, spec->review);
        key_at(c, p->key)->owner = key_at(c, p->key_workspaces)->owner = index;
        key_at(c, p->key_review)->owner = index;
        by_symbol_set(&c->project_of, spec->id, index);
        return 0;
    }
    struct project *p = &c->projects[index];
    if (p->spec.workspaces_kept != spec->workspaces_kept && project_has_tasks(c, index))
        return error_set(
            err, -EBUSY,
            "project '%s' has tasks: how it gives them workspaces (workspace_mode) can "
            "be changed when it has none, or while the daemon is down",
            symbol_name(&c->symbols, spec->id));
    p->spec = *spec;
    key_set_cap(c, p->key, spec->max_running);
    key_set_cap(c, p->key_workspaces, spec->workspaces);
    key_set_cap(c, p->key_review, spec->review);
    p->best_epoch = 0;
    fair_count_project(c, index);
    return 0;
}

int apply_kind(struct core *c, const struct fact *fact, struct error *err) {
    const struct kind_spec *spec = &fact->kind_spec;
    if (!spec->id || !cap_is_valid(spec->max_running))
        return error_set(err, -EINVAL, "kind '%s' needs a name and a cap that is not negative",
                         symbol_name(&c->symbols, spec->id));
    uint32_t index = by_symbol_get(&c->kind_of, spec->id);
    if (!index) {
        index = (uint32_t)c->kind_count++;
        c->kinds = xgrow(c->kinds, &c->kind_capacity, c->kind_count, sizeof(*c->kinds));
        c->kinds[index] = (struct kind){ 0 };
        c->kinds[index].key = key_new(c, LEASE_KIND, spec->id, spec->max_running);
        by_symbol_set(&c->kind_of, spec->id, index);
    }
    c->kinds[index].spec = *spec;
    key_set_cap(c, c->kinds[index].key, spec->max_running);
    c->epoch++; /* the base is part of the score */
    return 0;
}

/* Tasks that name the agent and no limiter of their own follow it to another one, or to another clock: whether it
 * names others (`lists`) decides which of the two. */
static void agent_move_tasks(struct core *c, uint32_t agent, uint32_t limiter, bool lists) {
    queue_empty(c);
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        struct task *t = task_at(c, h);
        if (t->state == TASK_ABSENT || t->agent != agent || (t->flags & TASK_OWN_LIMITER))
            continue;
        if (task_state_is_live(t->state)) { /* its order may be refused: it has waited as long */
            bool chooses = lists && !failover_is_bound(t);
            struct wait_key to = { t->project, limiter, chooses ? agent : 0 };
            queue_clock_begin(c, to);
            t->ready_clock += queue_clock(c, to) - queue_clock(c, queue_wait_key(c, t));
        }
        t->limiter = limiter;
        if (t->state == TASK_READY || task_state_is_live(t->state))
            change_task(c, h); /* its clock is another; its run stays with the old one */
    }
    c->agents[agent].limiter = limiter;
}

static int check_agent(struct core *c, const struct agent_spec *spec, uint32_t limiter,
                       struct error *err) {
    const char *name = symbol_name(&c->symbols, spec->id);
    if (!spec->id || !cap_is_valid(spec->slots))
        return error_set(err, -EINVAL, "agent '%s' needs a name and a cap that is not negative",
                         name);
    if (spec->limiter && !limiter)
        return error_set(err, -ENOENT, "agent '%s': limiter '%s' is not known", name,
                         symbol_name(&c->symbols, spec->limiter));
    if (spec->failover_count > FAILOVER_MAX)
        return error_set(err, -E2BIG, "agent '%s' names more than %d others to fail over to", name,
                         FAILOVER_MAX);
    for (unsigned i = 0; i < spec->failover_count; i++)
        if (!spec->failover[i] || spec->failover[i] == spec->id)
            return error_set(err, -EINVAL, "agent '%s' cannot fail over to itself or to nobody",
                             name);
    return 0;
}

int apply_agent(struct core *c, const struct fact *fact, struct error *err) {
    const struct agent_spec *spec = &fact->agent;
    uint32_t limiter = by_symbol_get(&c->limiter_of, spec->limiter);
    int r = check_agent(c, spec, limiter, err);
    if (r < 0)
        return r;
    uint32_t index = by_symbol_get(&c->agent_of, spec->id);
    if (!index) {
        index = (uint32_t)c->agent_count++;
        c->agents = xgrow(c->agents, &c->agent_capacity, c->agent_count, sizeof(*c->agents));
        c->agents[index] = (struct agent){ .limiter = limiter,
                                           .launch_failures = spec->launch_failures,
                                           .openings = spec->openings,
                                           .closed_until = spec->closed_until,
                                           .changed = !c->loading };
        c->agents[index].key = key_new(c, LEASE_AGENT, spec->id, spec->slots);
        by_symbol_set(&c->agent_of, spec->id, index);
    }
    struct agent *a = &c->agents[index];
    if (c->loading) { /* the configuration was told before its row */
        a->launch_failures = spec->launch_failures;
        a->openings = spec->openings;
        a->closed_until = spec->closed_until;
    }
    bool had_list = a->spec.failover_count > 0, has_list = spec->failover_count > 0;
    bool moves = a->limiter != limiter || had_list != has_list;
    if (moves)
        agent_move_tasks(c, index, limiter, has_list);
    c->roster_count += (uint32_t)spec->roster - (uint32_t)a->spec.roster;
    c->list_count += (uint32_t)has_list - (uint32_t)had_list;
    if (spec->roster)
        claim_drop(c);
    a->spec = *spec;
    if (moves)
        queue_fill(c);
    c->epoch += c->list_count > 0; /* it may be one that others fail over to */
    key_set_cap(c, a->key, spec->roster && spec->slots > 0 ? 1 : spec->slots);
    key_set_outside(c, a->key, spec->roster && !spec->idle ? 1 : 0);
    return 0;
}

static void limiter_take_state(const struct core *c, struct limiter *l,
                               const struct limiter_spec *spec) {
    l->spec = *spec;
    l->in_backoff = spec->in_backoff || spec->hits > 0;
    l->backoff_since = spec->in_backoff ? spec->backoff_since : c->now;
    l->last_hit = spec->in_backoff ? spec->last_hit : c->now;
    l->ramping = spec->ramp_since > 0;
    l->ramp_since = spec->ramp_since;
}

int apply_limiter(struct core *c, const struct fact *fact, struct error *err) {
    const struct limiter_spec *spec = &fact->limiter;
    if (!spec->id || !cap_is_valid(spec->policy.max_running))
        return error_set(err, -EINVAL, "limiter '%s' needs a name and a cap that is not negative",
                         symbol_name(&c->symbols, spec->id));
    uint32_t index = by_symbol_get(&c->limiter_of, spec->id);
    if (index) {
        c->limiters[index].spec.policy = spec->policy;
        if (c->loading) /* the configuration was told before its row */
            limiter_take_state(c, &c->limiters[index], spec);
        limiter_refresh(c, index);
        return 0;
    }
    index = (uint32_t)c->limiter_count++;
    c->limiters = xgrow(c->limiters, &c->limiter_capacity, c->limiter_count, sizeof(*c->limiters));
    struct limiter *l = &c->limiters[index];
    *l = (struct limiter){ 0 };
    l->key = key_new(c, LEASE_LIMITER, spec->id, spec->policy.max_running);
    limiter_take_state(c, l, spec);
    l->changed = !c->loading;
    by_symbol_set(&c->limiter_of, spec->id, index);
    limiter_refresh(c, index);
    return 0;
}

int apply_limiter_clear(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t index = by_symbol_get(&c->limiter_of, fact->limiter_clear);
    if (!index)
        return error_set(err, -ENOENT, "limiter '%s' is not known",
                         symbol_name(&c->symbols, fact->limiter_clear));
    limiter_clear(c, index);
    return 0;
}

int apply_agent_clear(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t index = by_symbol_get(&c->agent_of, fact->agent_clear);
    if (!index)
        return error_set(err, -ENOENT, "agent '%s' is not known",
                         symbol_name(&c->symbols, fact->agent_clear));
    agent_open(c, index);
    return 0;
}

int apply_resource(struct core *c, const struct fact *fact, struct error *err) {
    if (!fact->resource.id || !cap_is_valid(fact->resource.cap))
        return error_set(err, -EINVAL, "resource '%s' needs a name and a cap that is not negative",
                         symbol_name(&c->symbols, fact->resource.id));
    uint32_t key = key_resource(c, fact->resource.id);
    key_at(c, key)->told = true;
    key_set_cap(c, key, fact->resource.cap);
    return 0;
}

int apply_workspace(struct core *c, const struct fact *fact, struct error *err) {
    if (!fact->workspace.id)
        return error_set(err, -EINVAL, "a workspace needs a name");
    uint32_t key = key_workspace(c, fact->workspace.id);
    key_at(c, key)->outside_task = fact->workspace.locked_by;
    bool locked = fact->workspace.locked || fact->workspace.locked_by;
    key_set_outside(c, key, locked ? 1 : 0);
    if (!locked)
        key_drop_if_unused(c, key);
    if (fact->workspace.locked_by)
        queue_recheck_parked(c, task_find(c, fact->workspace.locked_by), key);
    return 0;
}

int apply_host(struct core *c, const struct fact *fact, struct error *err) {
    (void)err;
    c->host_disk = fact->host.disk_free_mb;
    c->host_memory = fact->host.memory_free_mb;
    c->host_load = fact->host.load_milli;
    return 0;
}

int apply_budget(struct core *c, const struct fact *fact, struct error *err) {
    if (fact->budget < 0 || fact->money_budget.micro < 0)
        return error_set(err, -ERANGE, "a budget is not negative");
    c->budget = fact->budget;
    c->money_budget = fact->money_budget;
    return 0;
}

/* What a project has booked can be corrected: as much as there is in the bucket can be taken from it. */
static bool usage_is_valid(const struct core *c, const struct usage_spec *u, uint32_t project) {
    bool counts = u->reports >= 0 && u->priced >= 0 && u->unpriced >= 0;
    if (u->starts < 0 || u->completions < 0)
        return false;
    if (!project)
        return counts;
    return (counts && u->tokens >= 0 && u->unreported >= 0 && u->money >= 0)
           || fair_has(c, project, time_min(u->at, c->now), u);
}

int apply_usage(struct core *c, const struct fact *fact, struct error *err) {
    const struct usage_spec *u = &fact->usage;
    uint32_t project = by_symbol_get(&c->project_of, u->project);
    if (u->project && !project)
        return error_set(err, -ENOENT, "project '%s' is not known",
                         symbol_name(&c->symbols, u->project));
    if (!usage_is_valid(c, u, project))
        return error_set(err, -ERANGE, "project '%s': what was used is not negative",
                         symbol_name(&c->symbols, u->project));
    int32_t reports = u->reports;
    if (reports == 0 && !c->loading)
        reports = u->tokens ? u->completions : 0;
    struct bucket what = {
        .share = u->tokens + u->unreported,
        .reported = u->tokens,
        .reports = (uint32_t)reports,
        .starts = (uint32_t)u->starts,
        .completions = (uint32_t)u->completions,
        .money = u->money,
        .priced = (uint32_t)u->priced,
        .unpriced = (uint32_t)u->unpriced,
    };
    fair_record(c, project, time_min(u->at, c->now), &what);
    return 0;
}

int apply_external(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t limiter = by_symbol_get(&c->limiter_of, fact->external.limiter);
    uint32_t project = by_symbol_get(&c->project_of, fact->external.project);
    if (!limiter && !project && (fact->external.limiter || fact->external.project))
        return error_set(err, -ENOENT, "external runs are of a project or a limiter that is known");
    if (limiter)
        key_set_outside(c, c->limiters[limiter].key, fact->external.running);
    if (limiter && !project)
        return 0;
    struct project *p = &c->projects[project]; /* the first stands for none */
    amount others = key_at(c, c->key_runs)->outside - p->external;
    amount other_roots = key_at(c, c->key_roots)->outside - p->external_roots;
    key_set_outside(c, c->key_runs, others + fact->external.running);
    key_set_outside(c, c->key_roots, other_roots + fact->external.roots);
    p->external_roots = fact->external.roots;
    if (!project) {
        p->external = fact->external.running;
        return 0;
    }
    key_set_outside(c, p->key, fact->external.running);
    fair_set_external(c, project, fact->external.running);
    return 0;
}

int apply_pause(struct core *c, const struct fact *fact, struct error *err) {
    (void)err;
    c->paused = true;
    c->pause = fact->pause;
    return 0;
}

int apply_resume(struct core *c, const struct fact *fact, struct error *err) {
    (void)fact, (void)err;
    c->paused = false;
    return 0;
}

int apply_tick(struct core *c, const struct fact *fact, struct error *err) {
    (void)fact, (void)err;
    c->tick_asked = true;
    return 0;
}
