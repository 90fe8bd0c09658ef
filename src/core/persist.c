/* persist.c: the state that must be stored so that a new core decides like this one.
 *
 * The counterpart of apply.c: everything applied there is exported here. If a value that affects
 * decisions is missing in one of them, a restart changes behavior; tests/world restarts at
 * arbitrary points and compares. */
#include <stdlib.h>

#include "base/alloc.h"
#include "core/core.h"
#include "core/decide.h"
#include "core/escalate.h"
#include "core/fair.h"
#include "core/gates.h"
#include "core/lease.h"
#include "core/ready_queue.h"
#include "core/task.h"

/* --- specs ----------------------------------------------------------------------------------- */

#define WAITERS_VISITED 1000u

/* The members of the live run. */
static void fill_run(const struct core *c, const struct task *t, struct task_spec *ret) {
    const struct run *r = run_at(c, t->run);
    ret->phase = r->phase;
    ret->started_at = r->started_at;
    ret->stop = r->stop;
    ret->lender = lend_task(c, r->lender);
    ret->borrowed = r->borrowed;
    if (r->phase == PHASE_STOPPING && r->limiter && r->no_api)
        ret->phase = PHASE_VALIDATING;
    ret->keeps = (t->flags & TASK_KEEPS & (unsigned)~r->kept_new) >> TASK_KEEPS_SHIFT;
    ret->run_agent = c->agents[r->agent].spec.id;
    ret->run_limiter = c->limiters[r->limiter].spec.id;
    ret->run_unlimited = !r->limiter;
    if (t->state == TASK_STARTING && !r->adopted) { /* its order may be refused */
        ret->ready_clock = t->ready_clock;
        ret->enqueued_at = t->enqueued_at;
        ret->ready_since = c->now - (queue_clock(c, queue_wait_key(c, t)) - t->ready_clock);
    }
}

bool core_task_spec(const struct core *c, task_id id, struct task_spec *ret) {
    uint32_t handle = task_find_added(c, id);
    if (!handle)
        return false;
    const struct task *t = task_at(c, handle);
    const struct task_links *links = links_of(c, t);
    const struct task_history *history = history_of(c, t);
    *ret = (struct task_spec){
        .id = t->id,
        .project = c->projects[t->project].spec.id,
        .kind = c->kinds[t->kind].spec.id,
        .agent = c->agents[t->agent].spec.id,
        .limiter = t->flags & TASK_OWN_LIMITER ? c->limiters[t->limiter].spec.id : 0,
        .workspace = t->workspace_key ? key_at(c, t->workspace_key)->name : 0,
        .serial = t->serial_key ? key_at(c, t->serial_key)->name : 0,
        .priority = t->priority,
        .parent = links->parent ? task_at(c, links->parent)->id : 0,
        .parent_iteration = links->parent_iteration,
        .created_at = t->created_at,
        .not_before = history->not_before,
        .iteration = iteration_of(c, t),
        .attempt = t->attempt,
        .state = t->state,
        .hold = t->hold,
        .until = t->until,
        .parent_gate = t->parent_gate,
        .parallelizable = t->flags & TASK_PARALLELIZABLE,
        .review = t->flags & TASK_REVIEW,
        .artifact_missing = t->flags & TASK_ARTIFACT_MISSING,
        .probe_closed = t->flags & TASK_PROBE_CLOSED,
        .bound = t->flags & TASK_BOUND,
        .keeps = (t->flags & (unsigned)TASK_KEEPS) >> TASK_KEEPS_SHIFT,
        .retry_max = t->retry_max == RETRY_MAX_DEFAULT ? -1 : t->retry_max,
        .group = links->group,
        .failures = history->failures,
        .launch_failures = history->launch_failures,
        .losses = history->losses,
        .restarts = history->restarts,
        .breaker_openings = history->breaker_openings,
        .reason = t->reason,
        .tag = t->tag,
    };
    if (t->state == TASK_READY) {
        ret->ready_clock = t->ready_clock;
        ret->enqueued_at = t->enqueued_at;
        ret->ready_since = c->now - queue_waited(c, t);
    }
    if (t->run)
        fill_run(c, t, ret);
    escalate_spec(c, id, &ret->escalation);
    return true;
}

void core_set_tag(struct core *c, task_id id, uint32_t tag) {
    uint32_t handle = task_find_added(c, id);
    if (handle)
        task_at(c, handle)->tag = tag;
}

/* Dependants, or else dependencies. */
static size_t list_edges(const struct core *c, task_id id, bool dependants, task_id *ret,
                         size_t max) {
    uint32_t handle = task_find_added(c, id);
    uint32_t e = !handle      ? 0
                 : dependants ? links_at(c, handle)->needed_by
                              : links_at(c, handle)->needs;
    size_t count = 0;
    for (; e; e = dependants ? edge_at(c, e)->next_user : edge_at(c, e)->next_need, count++)
        if (count < max)
            ret[count] = task_at(c, dependants ? edge_at(c, e)->task : edge_at(c, e)->on)->id;
    return count;
}

size_t core_task_depends(const struct core *c, task_id id, task_id *ret, size_t max) {
    return list_edges(c, id, false, ret, max);
}

size_t core_task_dependants(const struct core *c, task_id id, task_id *ret, size_t max) {
    return list_edges(c, id, true, ret, max);
}

size_t core_task_children(const struct core *c, task_id id, task_id *ret, size_t max) {
    uint32_t handle = task_find_added(c, id);
    size_t count = 0;
    for (uint32_t h = handle ? links_at(c, handle)->first_child : 0; h && count < max;
         h = links_at(c, h)->next_sibling)
        ret[count++] = task_at(c, h)->id;
    return count;
}

static bool contains(const task_id *list, size_t count, task_id id) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == id)
            return true;
    return false;
}

size_t core_task_waiters(const struct core *c, task_id id, task_id *ret, size_t max) {
    uint32_t handle = task_find_added(c, id);
    size_t count = 0, visited = 0;
    for (uint32_t e = handle ? links_at(c, handle)->needed_by : 0;
         e && count < max && visited < WAITERS_VISITED; e = edge_at(c, e)->next_user, visited++) {
        const struct task *t = task_at(c, edge_at(c, e)->task);
        if (!task_state_is_final(t->state))
            ret[count++] = t->id;
    }
    visited = 0;
    for (uint32_t h = handle ? links_at(c, handle)->first_child : 0;
         h && count < max && visited < WAITERS_VISITED;
         h = links_at(c, h)->next_sibling, visited++) {
        const struct task *t = task_at(c, h);
        if (t->parent_gate == PARENT_DONE && !task_state_is_final(t->state)
            && !contains(ret, count, t->id))
            ret[count++] = t->id;
    }
    return count;
}

void core_each_failed_prerequisite(const struct core *c, task_id id,
                                   void (*each)(void *ctx, task_id task), void *ctx) {
    uint32_t handle = task_find_added(c, id);
    const struct task *t = task_at(c, handle);
    if (!handle || task_state_is_final(t->state) || task_state_is_live(t->state))
        return;
    const struct task_links *links = links_of(c, t);
    if (task_parent_failed(c, t))
        each(ctx, task_at(c, links->parent)->id);
    for (uint32_t e = links->unmet > 0 ? links->needs : 0; e; e = edge_at(c, e)->next_need) {
        const struct task *on = task_at(c, edge_at(c, e)->on);
        if (task_state_is_failure(on->state))
            each(ctx, on->id);
    }
}

size_t core_task_resources(const struct core *c, task_id id, sym *ret, size_t max) {
    uint32_t handle = task_find_added(c, id);
    if (!handle || !task_at(c, handle)->resources)
        return 0;
    const struct resource_list *list = slab_at(&c->resource_lists, task_at(c, handle)->resources);
    for (size_t i = 0; i < list->count && i < max; i++)
        ret[i] = key_at(c, list->keys[i])->name;
    return list->count;
}

bool core_agent_spec(const struct core *c, sym agent, struct agent_spec *ret) {
    uint32_t index = by_symbol_get(&c->agent_of, agent);
    if (!index)
        return false;
    *ret = c->agents[index].spec;
    return true;
}

bool core_limiter_spec(const struct core *c, sym limiter, struct limiter_spec *ret) {
    uint32_t index = by_symbol_get(&c->limiter_of, limiter);
    if (!index)
        return false;
    *ret = c->limiters[index].spec;
    if (!c->limiters[index].ramping)
        ret->ramp_since = 0;
    return true;
}

struct pace_spec core_pace(const struct core *c) {
    return (struct pace_spec){ .ticking = c->tick_running,
                               .started = c->ticked,
                               .tick_began = c->tick_began,
                               .last_start = c->last_start,
                               .tick_starts = c->tick_starts };
}

void core_usage(const struct core *c, sym project, core_usage_visitor each, void *ctx) {
    uint32_t index = by_symbol_get(&c->project_of, project);
    if (project && !index)
        return;
    const struct window *w = &c->projects[index].window;
    for (size_t i = 0; i < w->count; i++) {
        struct usage_spec usage = w->buckets[w->first + i];
        usage.project = project;
        if (usage.tokens || usage.unreported || usage.starts || usage.completions || usage.reports
            || usage.money || usage.priced || usage.unpriced)
            each(ctx, &usage);
    }
}

void core_waits(const struct core *c, core_wait_visitor each, void *ctx) {
    for (uint32_t p = 1; p < c->project_count; p++) {
        for (uint32_t h = c->projects[p].domains; h; h = domain_at(c, h)->next) {
            struct wait_spec wait = queue_wait_spec(c, p, domain_at(c, h));
            each(ctx, &wait);
        }
    }
}

/* --- export ------------------------------------------------------------------------------------
 *
 * Each array and slab of struct core is either exported here or derived from what is exported: the
 * facts rebuild classes, parks, crowds, edges, timers, domains, sums and caches. */

struct export {
    const struct core *core;
    core_fact_visitor each;
    void *ctx;
    int r;
};

static void emit(struct export *t, const struct fact *fact) {
    if (t->r >= 0)
        t->r = t->each(t->ctx, fact);
}

static void export_definitions(struct export *t) {
    const struct core *c = t->core;
    emit(t, &(struct fact){ .kind = FACT_CLOCK, .now = c->now });
    emit(t, &(struct fact){ .kind = FACT_POLICY, .policy = &c->policy });
    for (size_t i = 1; i < c->project_count; i++)
        emit(t, &(struct fact){ .kind = FACT_PROJECT, .project = c->projects[i].spec });
    for (size_t i = 1; i < c->kind_count; i++)
        emit(t, &(struct fact){ .kind = FACT_KIND, .kind_spec = c->kinds[i].spec });
    for (size_t i = 1; i < c->limiter_count; i++) {
        struct fact limiter = { .kind = FACT_LIMITER };
        (void)core_limiter_spec(c, c->limiters[i].spec.id, &limiter.limiter);
        emit(t, &limiter);
    }
    for (size_t i = 1; i < c->agent_count; i++)
        emit(t, &(struct fact){ .kind = FACT_AGENT, .agent = c->agents[i].spec });
}

static void export_keys(struct export *t) {
    const struct core *c = t->core;
    for (sym name = 1; name <= c->symbols.count; name++) {
        uint32_t resource = by_symbol_get(&c->resource_of, name);
        if (resource && key_at(c, resource)->configured) {
            struct fact fact = { .kind = FACT_RESOURCE };
            fact.resource.id = name;
            fact.resource.cap = key_at(c, resource)->cap;
            emit(t, &fact);
        }
        uint32_t workspace = by_symbol_get(&c->workspace_of, name);
        if (workspace && key_at(c, workspace)->external > 0) {
            struct fact fact = { .kind = FACT_WORKSPACE };
            fact.workspace.id = name;
            fact.workspace.locked_by = key_at(c, workspace)->locked_by;
            fact.workspace.locked = fact.workspace.locked_by == 0;
            emit(t, &fact);
        }
    }
}

static void export_external(struct export *t) {
    const struct core *c = t->core;
    for (size_t i = 0; i < c->project_count; i++) { /* entry 0: runs without a project */
        struct fact fact = { .kind = FACT_EXTERNAL };
        fact.external.project = i ? c->projects[i].spec.id : 0;
        fact.external.running = c->projects[i].external;
        fact.external.roots = c->projects[i].external_roots;
        if (fact.external.running || fact.external.roots)
            emit(t, &fact);
    }
    for (size_t i = 1; i < c->limiter_count; i++) {
        struct fact fact = { .kind = FACT_EXTERNAL };
        fact.external.limiter = c->limiters[i].spec.id;
        fact.external.running = (uint32_t)key_at(c, c->limiters[i].key)->external;
        if (fact.external.running)
            emit(t, &fact);
    }
}

static void export_bucket(void *ctx, const struct usage_spec *bucket) {
    emit(ctx, &(struct fact){ .kind = FACT_USAGE, .usage = *bucket });
}

static void export_wait(void *ctx, const struct wait_spec *wait) {
    emit(ctx, &(struct fact){ .kind = FACT_WAIT, .wait = *wait });
}

static void export_amounts(struct export *t) {
    const struct core *c = t->core;
    struct fact budget = { .kind = FACT_BUDGET };
    budget.budget = c->projects[0].spec.budget;
    budget.money_budget = c->projects[0].spec.money;
    emit(t, &(struct fact){ .kind = c->paused ? FACT_PAUSE : FACT_RESUME });
    emit(t, &budget);
    emit(t, &(struct fact){ .kind = FACT_HOST, .host = c->host });
    core_usage(c, 0, export_bucket, t);
    for (size_t i = 1; i < c->project_count; i++)
        core_usage(c, c->projects[i].spec.id, export_bucket, t);
    export_external(t);
    core_waits(c, export_wait, t);
    if (pace_in_force(c))
        emit(t, &(struct fact){ .kind = FACT_PACE, .pace = core_pace(c) });
    if (c->claim.task)
        emit(t, &(struct fact){ .kind = FACT_CLAIM, .claim = claim_spec(c) });
}

struct needs {
    task_id *items;
    size_t capacity;
};

static void export_task(struct export *t, task_id task, struct needs *needs) {
    const struct core *c = t->core;
    struct task_spec spec;
    struct task_view view;
    sym resources[RESOURCES_MAX];
    if (!core_task_spec(c, task, &spec) || !core_task(c, task, &view))
        return;
    spec.depends_on_count = core_task_depends(c, task, needs->items, needs->capacity);
    if (spec.depends_on_count > needs->capacity) {
        needs->items =
            xgrow(needs->items, &needs->capacity, spec.depends_on_count, sizeof(*needs->items));
        (void)core_task_depends(c, task, needs->items, needs->capacity);
    }
    spec.depends_on = needs->items;
    spec.resource_count = core_task_resources(c, task, resources, RESOURCES_MAX);
    spec.resources = resources;
    spec.group = 0;
    emit(t, &(struct fact){ .kind = FACT_TASK_ADDED, .task = task, .spec = &spec });
    struct fact tokens = { .kind = FACT_RUN_TOKENS, .task = task, .attempt = spec.attempt };
    tokens.tokens = view.tokens;
    tokens.money = view.money;
    tokens.expected = view.expected;
    if (view.tokens >= 0 || view.money >= 0 || view.expected > 0)
        emit(t, &tokens);
}

static void export_tasks(struct export *t) {
    const struct core *c = t->core;
    task_id *tasks = xcalloc((size_t)c->tasks.next + 1, sizeof(*tasks));
    struct needs needs = { 0 };
    size_t count = 0;
    for (uint32_t h = 1; h < c->tasks.next; h++)
        if (task_at(c, h)->state != TASK_ABSENT)
            tasks[count++] = task_at(c, h)->id;
    qsort(tasks, count, sizeof(*tasks), task_id_compare);
    for (size_t i = 0; i < count && t->r >= 0; i++)
        export_task(t, tasks[i], &needs);
    free(tasks);
    free(needs.items);
}

int core_export(const struct core *core, core_fact_visitor each, void *ctx) {
    struct export t = { .core = core, .each = each, .ctx = ctx };
    export_definitions(&t);
    export_keys(&t);
    export_amounts(&t);
    export_tasks(&t);
    return t.r;
}

/* --- changes -----------------------------------------------------------------------------------
 *
 * Orders do not identify all stale rows: a stronger stop request gives no order, and forgetting a
 * dependency does not change the state of its dependants. */

#define LOOK_BACK 64 /* entries searched for the same bucket; an older one is repeated */

void changes_add_task(struct core *c, uint32_t task) {
    struct changes *ch = &c->changes;
    struct task *t = task_at(c, task);
    ch->tasks = xgrow(ch->tasks, &ch->task_capacity, ch->task_count + 1, sizeof(*ch->tasks));
    ch->tasks[ch->task_count++] = t->id;
    t->flags |= TASK_CHANGED;
}

void usage_changed(struct core *c, uint32_t project, time_ms at, const struct usage_spec *what,
                   int sign) {
    struct changes *ch = &c->changes;
    if (!ch->on || c->loading)
        return;
    sym name = c->projects[project].spec.id;
    size_t i = ch->usage_count, last = i > LOOK_BACK ? i - LOOK_BACK : 0;
    while (i > last && (ch->usage[i - 1].project != name || ch->usage[i - 1].at != at))
        i--;
    if (i == last) {
        ch->usage = xgrow(ch->usage, &ch->usage_capacity, ch->usage_count + 1, sizeof(*ch->usage));
        ch->usage[ch->usage_count++] = (struct usage_spec){ .project = name, .at = at };
        i = ch->usage_count;
    }
    bucket_add(&ch->usage[i - 1], what, sign);
}

void core_watch(struct core *c) {
    for (uint32_t h = 1; h < c->tasks.next; h++)
        task_at(c, h)->flags &= (uint16_t) ~(TASK_CHANGED | TASK_REWIRED);
    c->changes.on = true;
}

static void take_tasks(struct core *c, const struct core_changes *calls) {
    for (size_t i = 0; i < c->changes.task_count; i++) {
        uint32_t task = task_find(c, c->changes.tasks[i]);
        bool rewired = task && (task_at(c, task)->flags & TASK_REWIRED);
        if (task)
            task_at(c, task)->flags &= (uint16_t) ~(TASK_CHANGED | TASK_REWIRED);
        if (rewired && calls->depends)
            calls->depends(calls->ctx, c->changes.tasks[i]);
        if (calls->task)
            calls->task(calls->ctx, c->changes.tasks[i]);
    }
    c->changes.task_count = 0;
}

static void take_agents_and_limiters(struct core *c, const struct core_changes *calls) {
    for (uint32_t a = 1; a < c->agent_count; a++) {
        if (c->agents[a].changed && calls->agent)
            calls->agent(calls->ctx, c->agents[a].spec.id);
        c->agents[a].changed = false;
    }
    for (uint32_t l = 1; l < c->limiter_count; l++) {
        if (c->limiters[l].changed && calls->limiter)
            calls->limiter(calls->ctx, c->limiters[l].spec.id);
        c->limiters[l].changed = false;
    }
}

static void take_waits(struct core *c, const struct core_changes *calls) {
    for (uint32_t p = 1; p < c->project_count; p++) {
        for (uint32_t h = c->projects[p].domains; h; h = domain_at(c, h)->next) {
            struct domain *d = domain_at(c, h);
            struct wait_spec wait = queue_wait_spec(c, p, d);
            if (d->changed && calls->wait)
                calls->wait(calls->ctx, &wait);
            d->changed = false;
        }
    }
}

void core_take_changes(struct core *c, const struct core_changes *calls) {
    take_tasks(c, calls);
    take_agents_and_limiters(c, calls);
    for (size_t i = 0; i < c->changes.usage_count && calls->usage; i++)
        calls->usage(calls->ctx, &c->changes.usage[i]);
    c->changes.usage_count = 0;
    queue_clocks_update(c);
    take_waits(c, calls);
    if (!c->pace_changed || !pace_in_force(c))
        return; /* a pace that is not in force is not stored */
    struct pace_spec pace = core_pace(c);
    if (calls->pace)
        calls->pace(calls->ctx, &pace);
    c->pace_changed = false;
}
