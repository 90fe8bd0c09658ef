/* apply.c: applies facts to the core. */
#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "core/attempt.h"
#include "core/decide.h"
#include "core/escalate.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/ready_first.h"
#include "core/ready_queue.h"
#include "core/task.h"

/* --- the world ------------------------------------------------------------------------------- */

static int apply_clock(struct core *c, const struct fact *fact, struct error *err) {
    (void)err;
    if (c->clock_set && fact->now <= c->now)
        return fact->now < c->now;
    time_ms before = c->now;
    if (c->clock_set)
        queue_clocks_update(c);
    else
        queue_clocks_start(c, fact->now);
    c->clock_set = true;
    c->now = fact->now;
    fair_expire(c);
    for (uint32_t l = 1; l < c->limiter_count; l++) {
        time_ms at = limiter_opens_at(&c->limiters[l]);
        c->epoch += at > before && at <= c->now;
        limiter_refresh(c, l);
    }
    for (uint32_t a = 1; a < c->agent_count; a++) {
        time_ms at = agent_opens_at(&c->agents[a]);
        c->epoch += at > before && at <= c->now;
    }
    return 0;
}

static int apply_policy(struct core *c, const struct fact *fact, struct error *err) {
    (void)err;
    time_ms old_window = c->policy.fair_window;
    queue_empty(c);
    waiting_clear(c);
    c->policy = *fact->policy;
    /* The score rises with age, so it is the only order of a class. */
    if (c->policy.order & ORDER_BY_SCORE)
        c->policy.order = (c->policy.order | ORDER_BY_CREATED) & ~(unsigned)ORDER_BY_ENQUEUED;
    if (c->policy.fair == FAIR_OFF)
        c->policy.order &= ~(unsigned)ORDER_BY_DEFICIT;
    fair_rewindow(c, old_window);
    fair_recharge(c);
    key_set_cap(c, c->key_runs, c->policy.runs);
    key_set_cap(c, c->key_roots, c->policy.roots);
    c->overdue_from = TIME_NEVER;
    c->pace_changed = true; /* the pace may apply from now on */
    queue_fill(c);
    for (uint32_t h = 1; h < c->tasks.next; h++)
        task_recheck(c, h); /* relists tasks that still wait */
    return 0;
}

static int apply_project(struct core *c, const struct fact *fact, struct error *err) {
    const struct project_spec *spec = &fact->project;
    if (!spec->id)
        return error_set(err, -EINVAL, "a project needs a name");
    if (spec->max_running < 0 || spec->workspaces < 0 || spec->review < 0 || spec->budget < 0
        || spec->money.micro < 0 || spec->weight_milli < 0)
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
        ready_add_project(c, index);
        return 0;
    }
    struct project *p = &c->projects[index];
    bool has_tasks = false;
    for (int state = TASK_ABSENT + 1; state < TASK_STATE_MAX; state++)
        has_tasks |= p->by_state[state] > 0;
    if (p->spec.workspaces_kept != spec->workspaces_kept && has_tasks)
        return error_set(
            err, -EBUSY,
            "project '%s' has tasks: how it gives them workspaces (workspace_mode) can "
            "be changed when it has none, or while the daemon is down",
            symbol_name(&c->symbols, spec->id));
    time_ms hours_until = c->loading ? spec->hours_until : p->spec.hours_until;
    p->spec = *spec;
    p->spec.hours_until = hours_until;
    key_set_cap(c, p->key, spec->max_running);
    key_set_cap(c, p->key_workspaces, spec->workspaces);
    key_set_cap(c, p->key_review, spec->review);
    fair_count_project(c, index);
    ready_reopen_project(c, index);
    return 0;
}

static int apply_kind(struct core *c, const struct fact *fact, struct error *err) {
    const struct kind_spec *spec = &fact->kind_spec;
    if (!spec->id || spec->max_running < 0)
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
    ready_touch_all(c); /* the base is part of the score */
    return 0;
}

/* Moves the agent's tasks to the limiter and wait clock of its next spec; those with a limiter of
 * their own keep that. */
static void agent_move_tasks(struct core *c, uint32_t agent, uint32_t limiter,
                             const struct agent_spec *next) {
    queue_empty(c);
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        struct task *t = task_at(c, h);
        if (t->state == TASK_ABSENT || t->agent != agent)
            continue;
        uint32_t to_limiter = t->flags & TASK_OWN_LIMITER ? t->limiter : limiter;
        if (task_state_is_live(t->state)) { /* its order may be refused: keep its wait */
            bool has_clock = queue_agent_has_clock(next, failover_is_bound(t));
            struct wait_key to = { t->project, to_limiter, has_clock ? agent : 0 };
            queue_clock_create(c, to);
            t->ready_clock += queue_clock(c, to) - queue_clock(c, queue_wait_key(c, t));
        }
        t->limiter = to_limiter;
        if (t->state == TASK_READY || task_state_is_live(t->state))
            task_changed(c, h); /* its clock changes; its run keeps the old limiter */
    }
    c->agents[agent].limiter = limiter;
}

static int check_agent(struct core *c, const struct agent_spec *spec, uint32_t limiter,
                       struct error *err) {
    const char *name = symbol_name(&c->symbols, spec->id);
    if (!spec->id || spec->slots < 0)
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
            return error_set(err, -EINVAL,
                             "agent '%s' cannot fail over to itself, and needs another agent",
                             name);
    if (spec->escalate_count > ESCALATE_MAX)
        return error_set(err, -E2BIG, "agent '%s' has more than %d steps to escalate", name,
                         ESCALATE_MAX);
    return 0;
}

static int apply_agent(struct core *c, const struct fact *fact, struct error *err) {
    const struct agent_spec *spec = &fact->agent;
    uint32_t limiter = by_symbol_get(&c->limiter_of, spec->limiter);
    int r = check_agent(c, spec, limiter, err);
    if (r < 0)
        return r;
    uint32_t index = by_symbol_get(&c->agent_of, spec->id);
    struct agent_spec next = *spec;
    if (!index) {
        index = (uint32_t)c->agent_count++;
        c->agents = xgrow(c->agents, &c->agent_capacity, c->agent_count, sizeof(*c->agents));
        c->agents[index] = (struct agent){ .limiter = limiter, .changed = !c->loading };
        c->agents[index].key = key_new(c, LEASE_AGENT, spec->id, spec->slots);
        by_symbol_set(&c->agent_of, spec->id, index);
    } else if (!c->loading) { /* while loading, the stored row follows the configuration */
        const struct agent_spec *last = &c->agents[index].spec;
        next.launch_failures = last->launch_failures;
        next.openings = last->openings;
        next.closed_until = last->closed_until;
        next.hours_until = last->hours_until;
    }
    struct agent *a = &c->agents[index];
    bool had_list = a->spec.failover_count > 0, has_list = spec->failover_count > 0;
    bool moves = a->limiter != limiter || had_list != has_list || a->spec.hours != spec->hours;
    if (moves)
        agent_move_tasks(c, index, limiter, spec);
    c->roster_count += (uint32_t)spec->roster - (uint32_t)a->spec.roster;
    c->list_count += (uint32_t)has_list - (uint32_t)had_list;
    if (spec->roster)
        claim_drop(c);
    a->spec = next;
    if (moves)
        queue_fill(c);
    c->epoch += c->list_count > 0; /* other agents may fail over to it */
    key_set_cap(c, a->key, spec->roster && spec->slots > 0 ? 1 : spec->slots);
    key_set_external(c, a->key, spec->roster && !spec->idle ? 1 : 0);
    return 0;
}

static void limiter_take_state(const struct core *c, struct limiter *l,
                               const struct limiter_spec *spec) {
    l->spec = *spec;
    l->spec.in_backoff = spec->in_backoff || spec->hits > 0;
    if (!spec->in_backoff)
        l->spec.backoff_since = l->spec.last_hit = c->now;
    l->ramping = spec->ramp_since > 0;
}

static int apply_limiter(struct core *c, const struct fact *fact, struct error *err) {
    const struct limiter_spec *spec = &fact->limiter;
    if (!spec->id || spec->policy.max_running < 0)
        return error_set(err, -EINVAL, "limiter '%s' needs a name and a cap that is not negative",
                         symbol_name(&c->symbols, spec->id));
    uint32_t index = by_symbol_get(&c->limiter_of, spec->id);
    if (index) {
        c->limiters[index].spec.policy = spec->policy;
        if (c->loading) /* the configuration was applied before the stored row */
            limiter_take_state(c, &c->limiters[index], spec);
        limiter_refresh(c, index);
        limiter_refresh_reserve(c, index);
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
    limiter_refresh_reserve(c, index);
    return 0;
}

static int apply_limiter_used(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t index = by_symbol_get(&c->limiter_of, fact->used.limiter);
    if (!index)
        return error_set(err, -ENOENT, "limiter '%s' is not known",
                         symbol_name(&c->symbols, fact->used.limiter));
    return !limiter_set_quota(c, index, fact->used.window, fact->used.quota, fact->used.corrects);
}

static int apply_hours(struct core *c, const struct fact *fact, struct error *err) {
    enum lease_kind scope = fact->hours.scope;
    const struct by_symbol *map = scope == LEASE_PROJECT ? &c->project_of
                                  : scope == LEASE_AGENT ? &c->agent_of
                                                         : &c->limiter_of;
    uint32_t index = by_symbol_get(map, fact->hours.id);
    if (!index)
        return error_set(err, -ENOENT, "%s '%s' is not known", lease_kind_name(scope),
                         symbol_name(&c->symbols, fact->hours.id));
    time_ms *until = scope == LEASE_PROJECT ? &c->projects[index].spec.hours_until
                     : scope == LEASE_AGENT ? &c->agents[index].spec.hours_until
                                            : &c->limiters[index].spec.hours_until;
    *until = fact->hours.until;
    c->epoch++;
    return 0;
}

/* Of a limiter or an agent. */
static int apply_reopened(struct core *c, const struct fact *fact, struct error *err) {
    bool is_agent = fact->kind == FACT_AGENT_CLEAR;
    sym name = is_agent ? fact->agent_clear : fact->limiter_clear;
    uint32_t index = by_symbol_get(is_agent ? &c->agent_of : &c->limiter_of, name);
    if (!index)
        return error_set(err, -ENOENT, "%s '%s' is not known", is_agent ? "agent" : "limiter",
                         symbol_name(&c->symbols, name));
    (is_agent ? agent_open : limiter_clear)(c, index);
    return 0;
}

static int apply_resource(struct core *c, const struct fact *fact, struct error *err) {
    if (!fact->resource.id || fact->resource.cap < 0)
        return error_set(err, -EINVAL, "resource '%s' needs a name and a cap that is not negative",
                         symbol_name(&c->symbols, fact->resource.id));
    uint32_t key = key_resource(c, fact->resource.id);
    key_at(c, key)->configured = true;
    key_set_cap(c, key, fact->resource.cap);
    return 0;
}

static int apply_workspace(struct core *c, const struct fact *fact, struct error *err) {
    if (!fact->workspace.id)
        return error_set(err, -EINVAL, "a workspace needs a name");
    uint32_t key = key_workspace(c, fact->workspace.id);
    key_at(c, key)->locked_by = fact->workspace.locked_by;
    bool locked = fact->workspace.locked || fact->workspace.locked_by;
    key_set_external(c, key, locked ? 1 : 0);
    if (!locked)
        key_drop_if_unused(c, key);
    if (fact->workspace.locked_by)
        queue_recheck_parked(c, task_find(c, fact->workspace.locked_by), key);
    return 0;
}

static int apply_host(struct core *c, const struct fact *fact, struct error *err) {
    (void)err;
    c->host = fact->host;
    return 0;
}

static int apply_budget(struct core *c, const struct fact *fact, struct error *err) {
    if (fact->budget < 0 || fact->money_budget.micro < 0)
        return error_set(err, -ERANGE, "a budget is not negative");
    c->projects[0].spec.budget = fact->budget;
    c->projects[0].spec.money = fact->money_budget;
    return 0;
}

/* A correction may subtract at most what the project's bucket holds. */
static bool usage_is_valid(const struct core *c, const struct usage_spec *u, uint32_t project) {
    bool counts = u->reports >= 0 && u->priced >= 0 && u->unpriced >= 0;
    if (u->starts < 0 || u->completions < 0)
        return false;
    if (!project)
        return counts;
    return (counts && u->tokens >= 0 && u->unreported >= 0 && u->money >= 0)
           || fair_has(c, project, time_min(u->at, c->now), u);
}

static int apply_usage(struct core *c, const struct fact *fact, struct error *err) {
    const struct usage_spec *u = &fact->usage;
    uint32_t project = by_symbol_get(&c->project_of, u->project);
    if (u->project && !project)
        return error_set(err, -ENOENT, "project '%s' is not known",
                         symbol_name(&c->symbols, u->project));
    if (!usage_is_valid(c, u, project))
        return error_set(err, -ERANGE, "project '%s': what was used is not negative",
                         symbol_name(&c->symbols, u->project));
    struct usage_spec usage = *u;
    if (u->reports == 0 && !c->loading)
        usage.reports = u->tokens ? u->completions : 0;
    fair_record(c, project, time_min(u->at, c->now), &usage);
    return 0;
}

static int apply_external(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t limiter = by_symbol_get(&c->limiter_of, fact->external.limiter);
    uint32_t project = by_symbol_get(&c->project_of, fact->external.project);
    if (!limiter && !project && (fact->external.limiter || fact->external.project))
        return error_set(err, -ENOENT, "external runs are of a project or a limiter that is known");
    if (limiter)
        key_set_external(c, c->limiters[limiter].key, fact->external.running);
    if (limiter && !project)
        return 0;
    struct project *p = &c->projects[project]; /* entry 0: runs without a project */
    amount others = key_at(c, c->key_runs)->external - p->external;
    amount other_roots = key_at(c, c->key_roots)->external - p->external_roots;
    key_set_external(c, c->key_runs, others + fact->external.running);
    key_set_external(c, c->key_roots, other_roots + fact->external.roots);
    p->external_roots = fact->external.roots;
    if (!project) {
        p->external = fact->external.running;
        return 0;
    }
    key_set_external(c, p->key, fact->external.running);
    fair_set_external(c, project, fact->external.running);
    return 0;
}

static int apply_pause(struct core *c, const struct fact *fact, struct error *err) {
    (void)err;
    c->paused = fact->kind == FACT_PAUSE;
    if (c->paused)
        c->pause = fact->pause;
    return 0;
}

static int apply_tick(struct core *c, const struct fact *fact, struct error *err) {
    (void)fact, (void)err;
    c->tick_requested = true;
    return 0;
}

/* --- a new task ------------------------------------------------------------------------------ */

struct names { /* indexes */
    uint32_t project, kind, agent, limiter;
};

static int refuse_name(struct core *c, task_id id, const char *what, sym name, struct error *err) {
    return error_set(err, -ENOENT, "task %" PRIu64 ": %s '%s' is not known", id, what,
                     symbol_name(&c->symbols, name));
}

static int find_names(struct core *c, const struct task_spec *spec, struct names *ret,
                      struct error *err) {
    *ret = (struct names){
        .project = by_symbol_get(&c->project_of, spec->project),
        .kind = by_symbol_get(&c->kind_of, spec->kind),
        .agent = by_symbol_get(&c->agent_of, spec->agent),
        .limiter = by_symbol_get(&c->limiter_of, spec->limiter),
    };
    if (!ret->project)
        return refuse_name(c, spec->id, "project", spec->project, err);
    if (spec->kind && !ret->kind)
        return refuse_name(c, spec->id, "kind", spec->kind, err);
    if (spec->agent && !ret->agent)
        return refuse_name(c, spec->id, "agent", spec->agent, err);
    const struct escalation_spec *steps = &spec->escalation;
    if (steps->step > 0 && steps->own_agent && !by_symbol_get(&c->agent_of, steps->own_agent))
        return refuse_name(c, spec->id, "agent", steps->own_agent, err);
    if (spec->limiter && !ret->limiter)
        return refuse_name(c, spec->id, "limiter", spec->limiter, err);
    return 0;
}

static int check_depends_on(task_id id, const task_id *on, size_t count, struct error *err) {
    for (size_t i = 0; i < count; i++) {
        if (on[i] == id)
            return error_set(err, -ELOOP, "task %" PRIu64 " depends on itself", id);
        if (on[i] == 0)
            return error_set(err, -EINVAL, "task %" PRIu64 ": 0 is not a task", id);
    }
    return 0;
}

static int refuse_cycle(task_id id, struct error *err) {
    return error_set(err, -ELOOP,
                     "task %" PRIu64 " would wait for itself through its dependencies and parents",
                     id);
}

/* `known`: the task's record if other tasks already refer to it, else 0. */
static int check_spec(struct core *c, const struct task_spec *spec, uint32_t known,
                      struct error *err) {
    if (spec->id == 0 || spec->iteration == 0)
        return error_set(err, -EINVAL, "task numbers and iterations begin at 1");
    if (known && task_at(c, known)->state != TASK_ABSENT)
        return error_set(err, -EEXIST, "task %" PRIu64 " already exists", spec->id);
    if ((unsigned)spec->state >= TASK_STATE_MAX || spec->state == TASK_ABSENT
        || (unsigned)spec->phase >= PHASE_MAX || (unsigned)spec->until >= UNTIL_MAX
        || (unsigned)spec->parent_gate >= PARENT_GATE_MAX || (unsigned)spec->hold >= HOLD_MAX
        || (unsigned)spec->stop >= STOP_REQUEST_MAX || (unsigned)spec->reason >= REASON_MAX
        || spec->keeps > KEEP_ALL || spec->borrowed > LEND_ALL)
        return error_set(err, -EINVAL, "task %" PRIu64 ": a state it cannot have", spec->id);
    if (spec->resource_count > RESOURCES_MAX)
        return error_set(err, -E2BIG, "task %" PRIu64 ": more than %d resources", spec->id,
                         RESOURCES_MAX);
    if (spec->escalation.count > ESCALATE_MAX || spec->escalation.step > ESCALATE_MAX)
        return error_set(err, -E2BIG, "task %" PRIu64 ": more than %d steps to escalate", spec->id,
                         ESCALATE_MAX);
    if (spec->group > GROUP_MAX)
        return error_set(err, -ERANGE, "task %" PRIu64 ": group numbers end at %u", spec->id,
                         GROUP_MAX);
    if (spec->parent == spec->id || (spec->parent && tree_would_cycle(c, known, spec->parent)))
        return error_set(err, -ELOOP, "task %" PRIu64 " would be its own ancestor", spec->id);
    int r = check_depends_on(spec->id, spec->depends_on, spec->depends_on_count, err);
    task_id parent = spec->parent_gate == PARENT_DONE ? spec->parent : 0;
    if (r == 0 && depend_would_cycle(c, known, spec->depends_on, spec->depends_on_count, parent))
        r = refuse_cycle(spec->id, err);
    return r;
}

static void fill_history(struct core *c, uint32_t task, const struct task_spec *spec) {
    if (spec->iteration == 1
        && !(spec->failures | spec->launch_failures | spec->losses | spec->restarts
             | spec->breaker_openings))
        return;
    struct task_history *history = history_own(c, task);
    history->iteration = spec->iteration;
    history->failures = spec->failures;
    history->launch_failures = spec->launch_failures;
    history->losses = spec->losses;
    history->restarts = spec->restarts;
    history->breaker_openings = spec->breaker_openings;
}

static void fill_task(struct core *c, uint32_t task, const struct task_spec *spec,
                      const struct names *names) {
    struct task *t = task_at(c, task);
    fill_history(c, task, spec);
    if (spec->group)
        links_own(c, task)->group = spec->group;
    t->project = names->project;
    t->kind = names->kind;
    t->agent = names->agent;
    t->limiter = names->limiter ? names->limiter : c->agents[names->agent].limiter;
    t->priority = spec->priority;
    t->created_at = t->enqueued_at = spec->created_at;
    t->attempt = spec->attempt;
    t->until = (uint8_t)spec->until;
    t->parent_gate = (uint8_t)spec->parent_gate;
    /* Its counters have 16 bits, too. */
    t->retry_max = (uint16_t)(spec->retry_max < 0                    ? RETRY_MAX_DEFAULT
                              : spec->retry_max >= RETRY_MAX_DEFAULT ? RETRY_MAX_DEFAULT - 1
                                                                     : spec->retry_max);
    t->tag = spec->tag;
    t->reason = (uint8_t)spec->reason;
    t->flags = (uint16_t)((spec->parallelizable ? TASK_PARALLELIZABLE : 0)
                          | (spec->review ? TASK_REVIEW : 0)
                          | (spec->artifact_missing ? TASK_ARTIFACT_MISSING : 0)
                          | (spec->probe_closed ? TASK_PROBE_CLOSED : 0)
                          | (spec->parent ? TASK_HAS_PARENT : 0) | (spec->bound ? TASK_BOUND : 0)
                          | (names->limiter ? TASK_OWN_LIMITER : 0));
    if (!spec->parallelizable)
        t->serial_key = key_serial(c, t->project, spec->serial, t->kind);
    if (spec->workspace)
        t->workspace_key = key_workspace(c, spec->workspace);
    key_use(c, t->serial_key);
    key_use(c, t->workspace_key);
    if (spec->resource_count == 0)
        return;
    t->resources = slab_alloc(&c->resource_lists);
    struct resource_list *list = slab_at(&c->resource_lists, t->resources);
    for (size_t i = 0; i < spec->resource_count; i++) {
        list->keys[list->count] = key_resource(c, spec->resources[i]);
        key_use(c, list->keys[list->count++]);
    }
}

static void set_enqueued(const struct core *c, struct task *t, const struct task_spec *spec) {
    t->enqueued_at = time_min(spec->enqueued_at ? spec->enqueued_at : spec->ready_since, c->now);
}

/* Resumes the wait from the restored clock or, without one, from wall-clock time. */
static void set_ready_clock(struct core *c, struct task *t, const struct task_spec *spec) {
    struct wait_key key = queue_wait_key(c, t);
    queue_clock_create(c, key);
    t->ready_clock = queue_clock(c, key) - (c->now - time_min(spec->ready_since, c->now));
    if (queue_wait_is_restored(c, key))
        t->ready_clock = spec->ready_clock;
    set_enqueued(c, t, spec);
}

/* While loading, the state comes from the row. */
static void begin_loaded(struct core *c, uint32_t task, const struct task_spec *spec) {
    struct task *t = task_at(c, task);
    if (spec->state == TASK_READY) { /* apply_loaded queues it when all tasks are known */
        t->state = TASK_WAITING;
        t->flags |= TASK_LOADED_READY;
    }
    if (spec->state == TASK_READY || (spec->state == TASK_STARTING && spec->ready_since))
        set_ready_clock(c, t, spec);
    c->kinds[t->kind].queued += t->state == TASK_WAITING;
    task_count(c, t, t->state, 1);
}

static void begin_now(struct core *c, uint32_t task, const struct task_spec *spec) {
    struct task *t = task_at(c, task);
    bool queued = spec->state == TASK_WAITING || spec->state == TASK_READY;
    if (queued) {
        t->state = task_may_be_ready(c, t) ? TASK_READY : TASK_WAITING;
        c->kinds[t->kind].queued++;
    }
    if (queued || spec->state == TASK_HELD)
        task_recheck(c, task); /* it may have to fail immediately */
    task_count(c, t, t->state, 1);
    if (t->state != TASK_READY)
        return;
    set_enqueued(c, t, spec);
    queue_enter(c, task, c->now - time_min(spec->ready_since, c->now));
}

static void begin_task(struct core *c, uint32_t task, const struct task_spec *spec) {
    struct task *t = task_at(c, task);
    bool live = task_state_is_live(spec->state);
    t->state = (uint8_t)spec->state;
    t->hold = (uint8_t)(spec->state == TASK_HELD ? spec->hold : HOLD_NONE);
    if (spec->state == TASK_HELD && t->hold == HOLD_NONE)
        t->hold = HOLD_PERSON;
    bool queued = spec->state == TASK_WAITING || spec->state == TASK_READY;
    if (spec->hold == HOLD_TAKEN && (queued || live))
        task_mark_taken(c, task);
    if (!live && !task_state_is_final(spec->state) && spec->state != TASK_DRAFT)
        lease_keep(c, task, spec->keeps);
    if (spec->state == TASK_HELD)
        task_set_timer(c, task, spec->not_before);
    if (c->loading)
        begin_loaded(c, task, spec);
    else
        begin_now(c, task, spec);
    if (live)
        run_adopt(c, task, spec);
}

/* Other tasks may have referred to it before it was added. */
static void notify_referrers(struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    depend_changed(c, task, TASK_ABSENT, t->state);
    for (uint32_t h = links_of(c, t)->first_child; h; h = links_at(c, h)->next_sibling) {
        if (links_at(c, h)->parent_iteration == 0) {
            links_own(c, h)->parent_iteration = iteration_of(c, t);
            task_changed(c, h);
        }
        task_recheck(c, h);
    }
    if (!c->loading)
        tree_invalidate_older(c, task);
}

static int apply_task_added(struct core *c, const struct fact *fact, struct error *err) {
    const struct task_spec *spec = fact->spec;
    struct names names = { 0 };
    uint32_t task = task_find(c, spec->id);
    int r = check_spec(c, spec, task, err);
    if (r == 0)
        r = find_names(c, spec, &names, err);
    if (r < 0)
        return r;
    if (!task)
        task = task_new_named(c, spec->id);
    fill_task(c, task, spec, &names);
    if (escalation_is_set(&spec->escalation))
        escalate_add(c, task, &spec->escalation);
    if (spec->parent) {
        uint32_t parent = task_named(c, spec->parent);
        tree_add_child(c, parent, task);
        links_own(c, task)->parent_iteration =
            spec->parent_iteration ? spec->parent_iteration : iteration_of(c, task_at(c, parent));
    }
    const struct task *t = task_at(c, task);
    if (t->links || t->depth) /* most have neither */
        tree_set_depth(c, task);
    if (t->links || spec->depends_on_count > 0)
        depend_set(c, task, spec->depends_on, spec->depends_on_count);
    begin_task(c, task, spec);
    group_join(c, task);
    const struct task_links *links = links_of(c, t);
    if (links->needed_by || links->first_child)
        notify_referrers(c, task);
    task_depends_changed(c, task);
    bool stale = links->parent && t->parent_gate == PARENT_DONE
                 && links->parent_iteration < iteration_of(c, task_at(c, links->parent));
    if (stale && !c->loading) /* an older iteration of its parent created it */
        tree_invalidate(c, task);
    if (links->parent && t->parent_gate == PARENT_NONE)
        task_recheck(c, links->parent);
    return 0;
}

static int apply_dependencies(struct core *c, uint32_t task, const struct fact *fact,
                              struct error *err) {
    enum task_state state = task_at(c, task)->state;
    if (task_state_is_final(state) || task_state_is_live(state))
        return error_set(err, -EBUSY, "task %" PRIu64 " is %s: its dependencies no longer matter",
                         fact->task, task_state_name(state));
    const task_id *on = fact->dependencies.items;
    size_t count = fact->dependencies.count;
    int r = check_depends_on(fact->task, on, count, err);
    if (r == 0 && depend_would_cycle(c, task, on, count, 0))
        r = refuse_cycle(fact->task, err);
    if (r < 0)
        return r;
    depend_set(c, task, on, count);
    task_depends_changed(c, task);
    task_recheck(c, task);
    return 0;
}

/* --- requests: the table in docs/internals/rules.md §4 ---------------------------------------- */

static int apply_sling(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    const struct sling_spec *sling = &fact->sling;
    struct task *t = task_at(c, task);
    uint32_t agent = by_symbol_get(&c->agent_of, sling->agent);
    uint32_t limiter = by_symbol_get(&c->limiter_of, sling->limiter);
    if (t->state != TASK_DRAFT)
        return 1;
    if ((sling->agent && !agent) || (sling->limiter && !limiter))
        return error_set(err, -ENOENT, "task %" PRIu64 ": agent or limiter '%s' is not known",
                         fact->task,
                         symbol_name(&c->symbols, agent ? sling->limiter : sling->agent));
    if (sling->group > GROUP_MAX)
        return error_set(err, -ERANGE, "task %" PRIu64 ": group numbers end at %u", fact->task,
                         GROUP_MAX);
    if (sling->renames) { /* a draft is not queued, so nothing else depends on agent and limiter */
        escalate_reset(c, task);
        t->agent = agent;
        t->limiter = limiter ? limiter : c->agents[agent].limiter;
        t->flags = (uint16_t)((t->flags & ~TASK_OWN_LIMITER) | (limiter ? TASK_OWN_LIMITER : 0));
    }
    if (sling->group && sling->group != links_of(c, t)->group) {
        group_leave(c, task);
        links_own(c, task)->group = sling->group;
        group_join(c, task);
    }
    return 0;
}

static int apply_hold(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    (void)err;
    struct change change = change_to(TASK_HELD, REASON_HELD);
    change.hold = task_at(c, task)->hold == HOLD_TAKEN ? HOLD_TAKEN
                  : fact->marker                       ? HOLD_MARKER
                                                       : HOLD_PERSON;
    change.until = fact->until;
    task_become(c, task, change);
    return 0;
}

static bool awaits_verdict(const struct task *t) {
    return t->state == TASK_HELD && (t->hold == HOLD_REVIEW || t->hold == HOLD_EXTERNAL);
}

static int check_release(struct core *c, uint32_t task, const struct fact *fact,
                         struct error *err) {
    return awaits_verdict(task_at(c, task))
               ? error_set(err, -EBUSY,
                           "task %" PRIu64 " waits for a verdict: approve or reject it", fact->task)
               : 0;
}

/* A task that waits for a person or for a check keeps its state; its usage is checked again
 * later. */
static int check_spent(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    (void)fact, (void)err;
    const struct task *t = task_at(c, task);
    bool known =
        t->state == TASK_HELD && t->hold == HOLD_BUDGET && history_of(c, t)->not_before == 0;
    return known || awaits_verdict(t)
           || (t->state == TASK_HELD
               && (t->hold == HOLD_PERSON || t->hold == HOLD_QUESTION || t->hold == HOLD_CHECK
                   || t->hold == HOLD_CANDIDATES || t->hold == HOLD_TAKEN));
}

static int apply_clear(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    (void)err;
    task_reset_counters(c, task);
    task_become(c, task, change_to(TASK_DRAFT, REASON_CLEARED));
    if (fact->own_agent) /* now that it has left the queue of its agent */
        escalate_reset(c, task);
    return 0;
}

static int apply_cancel(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    (void)fact, (void)err;
    enum task_state state = task_at(c, task)->state;
    if (task_state_is_final(state))
        return 1;
    if (!task_state_is_live(state))
        task_become(c, task, change_to(TASK_CANCELED, REASON_CANCELED));
    else if (!run_order_stop(c, task, STOP_CANCEL, REASON_CANCELED))
        task_become(c, task, change_to(TASK_DONE, REASON_SUCCEEDED)); /* it had already succeeded */
    return 0;
}

static int apply_retry(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    (void)err;
    struct task *t = task_at(c, task);
    task_reset_counters(c, task);
    if (fact->own_agent)
        escalate_reset(c, task);
    if (depend_drop_absent(c, task)) /* a deleted task will never be done */
        task_depends_changed(c, task);
    uint32_t parent = links_of(c, t)->parent;
    if (parent && task_at(c, parent)->state == TASK_ABSENT)
        t->parent_gate = PARENT_NONE;
    return 0;
}

static int apply_again(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    (void)err;
    if (fact->own_agent)
        escalate_reset(c, task);
    return 0;
}

static int refuse_verdict(task_id id, struct error *err) {
    return error_set(err, -EBUSY, "task %" PRIu64 " does not wait for a verdict", id);
}

/* The person who has taken a task over may call it done. */
static int apply_approve(struct core *c, uint32_t task, const struct fact *fact,
                         struct error *err) {
    const struct task *t = task_at(c, task);
    if (!awaits_verdict(t) && t->hold != HOLD_TAKEN)
        return refuse_verdict(fact->task, err);
    task_become(c, task,
                change_to(TASK_DONE, t->hold == HOLD_TAKEN ? REASON_TAKEN : REASON_APPROVED));
    return 0;
}

static int refuse_take(const struct task *t, const char *why, struct error *err) {
    return error_set(err, -EBUSY, "task %" PRIu64 " %s", t->id, why);
}

/* A live run is stopped, and its end queues the task. */
static int take_live(struct core *c, uint32_t task, struct error *err) {
    const struct task *t = task_at(c, task);
    const struct run *r = run_at(c, t->run);
    if (r->phase == PHASE_DRAINING)
        return refuse_take(t, "has finished its run, and waits for its children", err);
    if (r->stop != STOP_NONE)
        return refuse_take(t, "is being stopped already", err);
    (void)run_order_stop(c, task, STOP_TAKE, REASON_TAKEN);
    return 0;
}

static int apply_take(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    static const struct change change = { TASK_WAITING, REASON_TAKEN, HOLD_TAKEN };
    const struct task *t = task_at(c, task);
    enum task_state state = t->state;
    if (task_is_taken(t) && state != TASK_HELD)
        return refuse_take(t, "is taken over already", err);
    if (state == TASK_HELD && t->hold == HOLD_CANDIDATES)
        return refuse_take(t, "runs nothing itself: its candidates do", err);
    if (task_state_is_live(state))
        return take_live(c, task, err);
    if (state == TASK_WAITING || state == TASK_READY) {
        task_mark_taken(c, task);
        return 0;
    }
    if (state == TASK_FAILED || state == TASK_CANCELED)
        (void)apply_retry(c, task, fact, err);
    if (state == TASK_DONE)
        task_iterate(c, task, change);
    else
        task_become(c, task, change);
    return 0;
}

static int apply_reject(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    if (!awaits_verdict(task_at(c, task)))
        return refuse_verdict(fact->task, err);
    lease_release_kept(c, task, TASK_KEEPS_REVIEW);
    escalate_count_failure(c, task, REASON_REJECTED);
    return 0;
}

static int check_marked(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    (void)fact, (void)err;
    const struct task *t = task_at(c, task);
    bool waits = t->state == TASK_WAITING || t->state == TASK_READY || t->state == TASK_HELD;
    return !waits || t->until != UNTIL_DONE || task_is_taken(t);
}

static int apply_priority(struct core *c, uint32_t task, const struct fact *fact,
                          struct error *err) {
    struct task *t = task_at(c, task);
    if (task_state_is_final(t->state))
        return error_set(err, -EBUSY, "task %" PRIu64 " is %s: its priority no longer matters",
                         fact->task, task_state_name(t->state));
    bool ready = t->state == TASK_READY;
    time_ms waited = ready ? queue_leave(c, task) : 0; /* the priority is part of the class */
    t->priority = fact->priority;
    task_changed(c, task);
    if (ready)
        queue_enter(c, task, waited);
    return 0;
}

static void set_lacking(struct core *c, uint32_t task, enum task_flag flag, bool lacks) {
    struct task *t = task_at(c, task);
    t->flags = (uint16_t)(lacks ? t->flags | flag : t->flags & ~flag);
    task_changed(c, task);
    task_recheck(c, task);
}

static int apply_artifact(struct core *c, uint32_t task, const struct fact *fact,
                          struct error *err) {
    (void)err;
    set_lacking(c, task, TASK_ARTIFACT_MISSING, !fact->artifact_present);
    return 0;
}

static int apply_probe(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    (void)err;
    set_lacking(c, task, TASK_PROBE_CLOSED, !fact->probe_open);
    return 0;
}

static int apply_unanswered(struct core *c, uint32_t task, const struct fact *fact,
                            struct error *err) {
    const struct task *t = task_at(c, task);
    bool has_asked = t->state == TASK_HELD && t->hold == HOLD_QUESTION;
    bool is_probed = t->state == TASK_WAITING && t->flags & TASK_PROBE_CLOSED;
    if (!has_asked && !is_probed)
        return error_set(err, -EINVAL, "task %" PRIu64 " has asked nothing", fact->task);
    task_become(
        c, task,
        (struct change){ TASK_FAILED, has_asked ? REASON_UNANSWERED : REASON_GATE_TIMEOUT });
    return 0;
}

/* Only a task that waits for its candidates learns how they ended; one that is queued may be held
 * for them, or for the person who chooses. */
static int apply_candidates(struct core *c, uint32_t task, const struct fact *fact,
                            struct error *err) {
    static const struct change changes[CANDIDATES_MAX] = {
        [CANDIDATES_WORK] = { TASK_HELD, REASON_CANDIDATES, HOLD_CANDIDATES },
        [CANDIDATES_REVIEW] = { TASK_HELD, REASON_REVIEW, HOLD_REVIEW },
        [CANDIDATES_NONE] = { TASK_FAILED, REASON_CANDIDATES },
    };
    const struct task *t = task_at(c, task);
    bool holds = t->state == TASK_HELD && t->hold == HOLD_CANDIDATES;
    bool queued = t->state != TASK_HELD;
    bool fits = fact->candidates == CANDIDATES_WORK     ? queued
                : fact->candidates == CANDIDATES_REVIEW ? queued || holds
                                                        : holds;
    if (!fits)
        return error_set(err, -EBUSY, "task %" PRIu64 " does not wait for candidates", fact->task);
    task_become(c, task, changes[fact->candidates]);
    return 0;
}

static void leave_keys(struct core *c, const struct task *t) {
    key_unuse(c, t->serial_key);
    key_unuse(c, t->workspace_key);
    if (!t->resources)
        return;
    const struct resource_list *list = slab_at(&c->resource_lists, t->resources);
    for (unsigned i = 0; i < list->count; i++)
        key_unuse(c, list->keys[i]);
    slab_free(&c->resource_lists, t->resources);
}

/* Removes the record. If other tasks still refer to it, its id and their links stay. */
static void remove_task(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    task_changed(c, task);
    if (c->claim.task == task)
        claim_drop(c);
    if (t->state == TASK_READY)
        (void)queue_leave(c, task);
    waiting_remove(c, task);
    if (t->state == TASK_WAITING || t->state == TASK_READY)
        c->kinds[t->kind].queued--;
    timer_heap_remove(&c->timers, history_of(c, t)->timer);
    lease_release_kept(c, task, TASK_KEEPS);
    group_leave(c, task);
    depend_forget(c, task);
    depend_set(c, task, NULL, 0);
    uint32_t parent = links_of(c, t)->parent;
    tree_remove_child(c, task);
    if (parent) {
        task_recheck(c, parent); /* it may be draining, with this as its last child */
        task_drop_if_unnamed(c, parent);
    }
    leave_keys(c, t);
    escalate_drop(c, t->id);
    task_count(c, t, t->state, -1);
    struct task_links kept = { .first_child = links_of(c, t)->first_child,
                               .last_child = links_of(c, t)->last_child,
                               .needed_by = links_of(c, t)->needed_by };
    task_drop_parts(c, task);
    *t = (struct task){ .id = t->id };
    if (kept.first_child || kept.needed_by)
        *links_own(c, task) = kept;
    tree_set_depth(c, task); /* its children now have an absent parent */
    task_drop_if_unnamed(c, task);
}

/* Fails the dependants that are neither live nor final. */
static void fail_dependants(struct core *c, uint32_t task) {
    for (uint32_t e = links_at(c, task)->needed_by; e; e = edge_at(c, e)->next_user) {
        uint32_t user = edge_at(c, e)->task;
        enum task_state state = task_at(c, user)->state;
        bool held = state == TASK_HELD && !awaits_verdict(task_at(c, user));
        if (state == TASK_WAITING || state == TASK_READY || held)
            task_become(c, user, change_to(TASK_FAILED, REASON_DEPENDENCY));
    }
}

static int apply_delete(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    const struct task *t = task_at(c, task);
    if (task_state_is_live(t->state))
        return error_set(err, -EBUSY, "task %" PRIu64 " is %s: cancel it first", fact->task,
                         task_state_name(t->state));
    tree_orphan_descendants(c, task);
    if (t->state != TASK_DONE)
        fail_dependants(c, task);
    remove_task(c, task);
    return 0;
}

static bool is_needed(const struct core *c, uint32_t task) {
    uint32_t group = links_at(c, task)->group;
    return depend_needed_by_unfinished(c, task) || tree_has_unfinished_child(c, task)
           || (group && c->groups[group].view.open > 0);
}

bool core_is_needed(const struct core *c, task_id id) {
    uint32_t task = task_find_added(c, id);
    return task && is_needed(c, task);
}

static int apply_forget(struct core *c, uint32_t task, const struct fact *fact, struct error *err) {
    if (is_needed(c, task))
        return error_set(err, -EBUSY,
                         "task %" PRIu64 " is still needed by a task that is not final",
                         fact->task);
    if (task_at(c, task)->state == TASK_DONE) {
        /* Its children no longer wait for it. */
        for (uint32_t h = links_at(c, task)->first_child; h; h = links_at(c, h)->next_sibling) {
            task_at(c, h)->parent_gate = PARENT_NONE;
            task_changed(c, h);
        }
    }
    remove_task(c, task);
    return 0;
}

/* --- runs ------------------------------------------------------------------------------------ */

static int apply_order_refused(struct core *c, uint32_t task, const struct fact *fact,
                               struct error *err) {
    (void)fact, (void)err;
    const struct run *run = run_at(c, task_at(c, task)->run);
    if (run->tick == c->tick_number && run->tick) {
        c->tick_starts--;
        c->pace_changed = true;
    }
    run_undo(c, task);
    return 0;
}

/* A run may alternate between working and waiting, and move from either to validating. A stopped
 * run keeps its slots until it ends. */
static int apply_run_phase(struct core *c, uint32_t task, const struct fact *fact,
                           struct error *err) {
    (void)err;
    uint32_t run = task_at(c, task)->run;
    enum run_phase is = run_at(c, run)->phase, next = fact->phase;
    if ((is != PHASE_WORKING && is != PHASE_WAITING) || next == is
        || (next != PHASE_WORKING && next != PHASE_WAITING && next != PHASE_VALIDATING))
        return 1;
    run_set_phase(c, run, next);
    task_changed(c, task);
    if (next == PHASE_VALIDATING)
        lease_release_limiter(c, run);
    return 0;
}

static int apply_run_tokens(struct core *c, uint32_t task, const struct fact *fact,
                            struct error *err) {
    (void)err;
    fair_report(c, task_at(c, task)->run, fact->tokens, fact->money, fact->expected);
    return 0;
}

static int apply_run_limited(struct core *c, uint32_t task, const struct fact *fact,
                             struct error *err) {
    (void)err;
    const struct run *run = run_at(c, task_at(c, task)->run);
    if (!run->limiter)
        return 1;
    limiter_hit(c, run->limiter, run->started_at, fact->limited.retry_after,
                fact->limited.reset_at);
    return 0;
}

static int apply_run_ended(struct core *c, uint32_t task, const struct fact *fact,
                           struct error *err) {
    if ((unsigned)fact->ended.outcome >= OUTCOME_MAX)
        return error_set(err, -EINVAL, "outcome %u is not known", (unsigned)fact->ended.outcome);
    run_end(c, task, fact);
    return 0;
}

/* --- loading -----------------------------------------------------------------------------------
 *
 * A stored row is consistent: the core that computed it knew all tasks. Loading therefore derives
 * nothing from a row while others are missing; at the end every task is rechecked as after a policy
 * change. Under an unchanged policy, nothing changes. */

static int apply_loading(struct core *c, const struct fact *fact, struct error *err) {
    (void)fact;
    if (c->tasks.used > 0)
        return error_set(err, -EBUSY, "tasks are known already: only a new core is told rows");
    c->loading = true;
    return 0;
}

static int apply_wait(struct core *c, const struct fact *fact, struct error *err) {
    const struct wait_spec *wait = &fact->wait;
    uint32_t project = by_symbol_get(&c->project_of, wait->project);
    uint32_t limiter = by_symbol_get(&c->limiter_of, wait->limiter);
    uint32_t agent = by_symbol_get(&c->agent_of, wait->agent);
    if (!c->loading)
        return error_set(err, -EBUSY, "what did not count as waiting is told while loading");
    if (!project || (wait->limiter && !limiter) || (wait->agent && !agent))
        return 1; /* removed from the configuration, so no task waits there */
    queue_set_wait(c, (struct wait_key){ project, limiter, agent }, wait);
    return 0;
}

static int apply_pace(struct core *c, const struct fact *fact, struct error *err) {
    const struct pace_spec *pace = &fact->pace;
    if (!c->loading)
        return error_set(err, -EBUSY, "how far the pace is, is told while loading");
    if (!pace_in_force(c))
        return 0; /* the row was stored while the pace was in force */
    c->tick_running = pace->ticking;
    c->tick_number = pace->ticking; /* so that later starts in this tick can be undone */
    c->tick_began = pace->tick_began;
    c->tick_starts = pace->tick_starts;
    c->ticked = pace->started;
    c->last_start = pace->last_start;
    return 0;
}

static int apply_claim(struct core *c, const struct fact *fact, struct error *err) {
    if (!c->loading)
        return error_set(err, -EBUSY, "what is reserved for an overdue task is told while loading");
    c->loaded_claim = fact->claim;
    return 0;
}

static void restore_queued(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    bool was_ready = t->flags & TASK_LOADED_READY;
    t->flags &= (uint16_t)~TASK_LOADED_READY;
    if (!was_ready || !task_has_prerequisites(c, t))
        t->enqueued_at = t->created_at;
    if (was_ready ? !task_has_prerequisites(c, t) : !task_may_be_ready(c, t))
        return;
    if (!was_ready)
        t->enqueued_at = c->now;
    task_count(c, t, TASK_WAITING, -1);
    task_count(c, t, TASK_READY, 1);
    t->state = TASK_READY;
    time_ms waited = was_ready ? queue_clock(c, queue_wait_key(c, t)) - t->ready_clock : 0;
    queue_enter(c, task, waited);
}

static int apply_loaded(struct core *c, const struct fact *fact, struct error *err) {
    (void)fact;
    if (!c->loading)
        return error_set(err, -EINVAL, "no rows were being told");
    c->loading = false;
    lend_loaded(c); /* first: tasks that enter the queue need to see which slots are free */
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        if (task_at(c, h)->state == TASK_WAITING)
            restore_queued(c, h);
    }
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        if (!task_state_is_final(task_at(c, h)->state))
            task_recheck(c, h);
    }
    claim_loaded(c);
    return 0;
}

/* --- all facts ------------------------------------------------------------------------------- */

#define IN(state) (1u << TASK_##state)
#define QUEUED    (IN(WAITING) | IN(READY) | IN(HELD))
#define FINAL     (IN(DONE) | IN(FAILED) | IN(CANCELED) | IN(INVALIDATED))
#define LIVE      (IN(STARTING) | IN(RUNNING))
#define ANY       (~0u)

struct fact_rule {
    const char *name;
    bool while_loading;
    int (*world)(struct core *c, const struct fact *fact, struct error *err);
    /* For facts about one task or one of its runs: */
    unsigned states; /* in which the fact is accepted */
    bool run;        /* ignored unless this attempt is live in one of the states */
    /* Checks and prepares; returns as core_apply. NULL: nothing to do. */
    int (*task)(struct core *c, uint32_t task, const struct fact *fact, struct error *err);
    struct change change; /* what the task then becomes; TASK_ABSENT: `task` does it all */
    bool iterates;        /* as a new iteration */
};

/* clang-format off */
#define ON_TASK(states_, function)     .states = (states_), .task = (function)
#define ON_RUN(states_, function)      .run = true, ON_TASK(states_, function)
#define BECOMES(state, reason_, ...)   .change = { TASK_##state, REASON_##reason_, __VA_ARGS__ }
#define ITERATES(state, reason_)       BECOMES(state, reason_), .iterates = true

static const struct fact_rule rules[] = {
    [FACT_CLOCK]         = { "clock", true, apply_clock },
    [FACT_POLICY]        = { "policy", true, apply_policy },
    [FACT_PROJECT]       = { "project", true, apply_project },
    [FACT_KIND]          = { "kind", true, apply_kind },
    [FACT_AGENT]         = { "agent", true, apply_agent },
    [FACT_LIMITER]       = { "limiter", true, apply_limiter },
    [FACT_RESOURCE]      = { "resource", true, apply_resource },
    [FACT_WORKSPACE]     = { "workspace", true, apply_workspace },
    [FACT_HOST]          = { "host", true, apply_host },
    [FACT_BUDGET]        = { "budget", true, apply_budget },
    [FACT_USAGE]         = { "usage", true, apply_usage },
    [FACT_WAIT]          = { "wait", true, apply_wait },
    [FACT_PACE]          = { "pace", true, apply_pace },
    [FACT_CLAIM]         = { "claim", true, apply_claim },
    [FACT_EXTERNAL]      = { "external", true, apply_external },
    [FACT_HOURS]         = { "hours", true, apply_hours },
    [FACT_PAUSE]         = { "pause", true, apply_pause },
    [FACT_RESUME]        = { "resume", true, apply_pause },
    [FACT_AGENT_CLEAR]   = { "agent-clear", false, apply_reopened },
    [FACT_TICK]          = { "tick", true, apply_tick },
    [FACT_LOADING]       = { "loading", false, apply_loading },
    [FACT_LOADED]        = { "loaded", true, apply_loaded },
    [FACT_TASK_ADDED]    = { "task-added", true, apply_task_added },
    [FACT_LIMITER_CLEAR] = { "limiter-clear", false, apply_reopened },
    [FACT_LIMITER_USED]  = { "limiter-used", true, apply_limiter_used },
    [FACT_UNANSWERED]    = { "unanswered", ON_TASK(IN(HELD) | IN(WAITING), apply_unanswered) },
    [FACT_TAKE]          = { "take", ON_TASK(QUEUED | LIVE | IN(DONE) | IN(FAILED) | IN(CANCELED), apply_take) },
    [FACT_CANDIDATES]    = { "candidates", ON_TASK(QUEUED, apply_candidates) },
    [FACT_SLING]         = { "sling", ON_TASK(ANY, apply_sling), BECOMES(WAITING, SLUNG) },
    [FACT_HOLD]          = { "hold", ON_TASK(QUEUED, apply_hold) },
    [FACT_RELEASE]       = { "release", ON_TASK(IN(HELD), check_release), BECOMES(WAITING, RELEASED) },
    [FACT_SPENT]         = { "spent", ON_TASK(QUEUED, check_spent), BECOMES(HELD, SPENT, HOLD_BUDGET) },
    [FACT_CLEAR]         = { "clear", ON_TASK(QUEUED, apply_clear) },
    [FACT_CANCEL]        = { "cancel", ON_TASK(ANY, apply_cancel) },
    [FACT_RETRY]         = { "retry", ON_TASK(IN(FAILED) | IN(CANCELED), apply_retry), BECOMES(WAITING, RETRIED) },
    [FACT_AGAIN]         = { "again", ON_TASK(IN(DONE), apply_again), ITERATES(WAITING, AGAIN) },
    [FACT_APPROVE]       = { "approve", ON_TASK(IN(HELD), apply_approve) },
    [FACT_REJECT]        = { "reject", ON_TASK(IN(HELD), apply_reject), ITERATES(WAITING, REJECTED) },
    [FACT_DELETE]        = { "delete", ON_TASK(ANY, apply_delete) },
    [FACT_FORGET]        = { "forget", ON_TASK(FINAL, apply_forget) },
    [FACT_PRIORITY]      = { "priority", ON_TASK(ANY, apply_priority) },
    [FACT_DEPENDENCIES]  = { "dependencies", ON_TASK(ANY, apply_dependencies) },
    [FACT_ARTIFACT]      = { "artifact", ON_TASK(ANY, apply_artifact) },
    [FACT_PROBE]         = { "probe", ON_TASK(ANY, apply_probe) },
    [FACT_MARKED]        = { "marked", ON_TASK(ANY, check_marked), BECOMES(DONE, MARKED) },
    [FACT_ORDER_REFUSED] = { "order-refused", ON_RUN(IN(STARTING), apply_order_refused) },
    [FACT_RUN_STARTED]   = { "run-started", ON_RUN(IN(STARTING), NULL), BECOMES(RUNNING, EXECUTED) },
    [FACT_RUN_PHASE]     = { "run-phase", ON_RUN(LIVE, apply_run_phase) },
    [FACT_RUN_TOKENS]    = { "run-tokens", true, ON_RUN(LIVE, apply_run_tokens) },
    [FACT_RUN_LIMITED]   = { "run-limited", ON_RUN(LIVE, apply_run_limited) },
    [FACT_RUN_ENDED]     = { "run-ended", ON_RUN(LIVE, apply_run_ended) },
};
/* clang-format on */
_Static_assert(ARRAY_SIZE(rules) == FACT_KIND_MAX, "a fact has no rule");

const char *fact_kind_name(enum fact_kind kind) {
    return rules[kind].name;
}

/* A message about an attempt other than the current one is late and ignored. */
static int apply_to_task(struct core *c, const struct fact_rule *rule, const struct fact *fact,
                         struct error *err) {
    uint32_t task = task_find_added(c, fact->task);
    if (!task)
        return error_set(err, -ENOENT, "task %" PRIu64 " is not known", fact->task);
    const struct task *t = task_at(c, task);
    bool possible = (rule->states >> t->state) & 1u;
    if (rule->run
        && (!possible || t->attempt != fact->attempt || run_at(c, t->run)->phase == PHASE_DRAINING))
        return 1;
    if (!possible)
        return error_set(err, -EBUSY, "task %" PRIu64 " is %s: %s is not possible", fact->task,
                         task_state_name(t->state), rule->name);
    int r = rule->task ? rule->task(c, task, fact, err) : 0;
    if (r == 0 && rule->iterates)
        task_iterate(c, task, rule->change);
    else if (r == 0 && rule->change.to != TASK_ABSENT)
        task_become(c, task, rule->change);
    return r;
}

int core_apply(struct core *c, const struct fact *fact, struct error *err) {
    if ((unsigned)fact->kind >= FACT_KIND_MAX)
        return error_set(err, -EINVAL, "fact %u is not known", (unsigned)fact->kind);
    const struct fact_rule *rule = &rules[fact->kind];
    if (c->loading && !rule->while_loading)
        return error_set(err, -EBUSY, "%s must wait: rows are still being told", rule->name);
    int r = rule->world ? rule->world(c, fact, err) : apply_to_task(c, rule, fact, err);
    task_settle(c);
    return r;
}
