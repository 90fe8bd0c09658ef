/* spec.c: what a new core must be told to be as this one is.
 *
 * The counterpart of apply_added.c and load.c: what is told there is answered here. A value that
 * decides anything and is missing in one of them makes a restart visible; tests/world restarts in
 * the middle of everything and compares. */
#include <string.h>

#include "core/core.h"
#include "core/fair.h"
#include "core/lend.h"
#include "core/queue.h"
#include "core/state.h"
#include "core/task.h"

#define WAITERS_LOOKED 1000u

/* What of the spec belongs to the live run. */
static void fill_run(const struct core *c, const struct task *t, struct task_spec *ret) {
    const struct run *r = run_at(c, t->run);
    ret->phase = r->phase;
    ret->started_at = r->started_at;
    ret->stop = r->wish;
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
    *ret = (struct task_spec){
        .id = t->id,
        .project = c->projects[t->project].spec.id,
        .kind = c->kinds[t->kind].spec.id,
        .agent = c->agents[t->agent].spec.id,
        .limiter = t->flags & TASK_OWN_LIMITER ? c->limiters[t->limiter].spec.id : 0,
        .workspace = t->workspace_key ? key_at(c, t->workspace_key)->name : 0,
        .serial = t->serial_key ? key_at(c, t->serial_key)->name : 0,
        .priority = t->priority,
        .parent = t->parent ? task_at(c, t->parent)->id : 0,
        .parent_iteration = t->parent_iteration,
        .created_at = t->created_at,
        .not_before = t->not_before,
        .iteration = t->iteration,
        .attempt = t->attempt,
        .state = t->state,
        .hold = t->hold,
        .until = t->until,
        .parent_gate = t->parent_gate,
        .parallelizable = t->flags & TASK_PARALLELIZABLE,
        .review = t->flags & TASK_REVIEW,
        .artifact_missing = t->flags & TASK_ARTIFACT_MISSING,
        .bound = t->flags & TASK_BOUND,
        .keeps = (t->flags & (unsigned)TASK_KEEPS) >> TASK_KEEPS_SHIFT,
        .retry_max = t->retry_max,
        .group = t->group,
        .failures = t->failures,
        .launch_failures = t->launch_failures,
        .losses = t->losses,
        .restarts = t->restarts,
        .breaker_openings = t->breaker_openings,
        .reason = t->reason,
        .look = t->look,
    };
    if (t->state == TASK_READY) {
        ret->ready_clock = t->ready_clock;
        ret->enqueued_at = t->enqueued_at;
        ret->ready_since = c->now - queue_waited(c, t);
    }
    if (t->run)
        fill_run(c, t, ret);
    return true;
}

void core_set_look(struct core *c, task_id id, uint64_t look) {
    uint32_t handle = task_find_added(c, id);
    if (handle)
        task_at(c, handle)->look = look;
}

size_t core_task_depends(const struct core *c, task_id id, task_id *ret, size_t max) {
    uint32_t handle = task_find_added(c, id);
    size_t count = 0;
    for (uint32_t e = handle ? task_at(c, handle)->needs : 0; e; e = edge_at(c, e)->next_need) {
        if (count < max)
            ret[count] = task_at(c, edge_at(c, e)->on)->id;
        count++;
    }
    return count;
}

size_t core_task_dependants(const struct core *c, task_id id, task_id *ret, size_t max) {
    uint32_t handle = task_find_added(c, id);
    size_t count = 0;
    for (uint32_t e = handle ? task_at(c, handle)->needed_by : 0; e; e = edge_at(c, e)->next_user) {
        if (count < max)
            ret[count] = task_at(c, edge_at(c, e)->task)->id;
        count++;
    }
    return count;
}

size_t core_task_children(const struct core *c, task_id id, task_id *ret, size_t max) {
    uint32_t handle = task_find_added(c, id);
    size_t count = 0;
    for (uint32_t h = handle ? task_at(c, handle)->first_child : 0; h && count < max;
         h = task_at(c, h)->next_sibling)
        ret[count++] = task_at(c, h)->id;
    return count;
}

static bool is_listed(const task_id *list, size_t count, task_id id) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == id)
            return true;
    return false;
}

size_t core_task_waiters(const struct core *c, task_id id, task_id *ret, size_t max) {
    uint32_t handle = task_find_added(c, id);
    size_t count = 0, looked = 0;
    for (uint32_t e = handle ? task_at(c, handle)->needed_by : 0;
         e && count < max && looked < WAITERS_LOOKED; e = edge_at(c, e)->next_user, looked++) {
        const struct task *t = task_at(c, edge_at(c, e)->task);
        if (!task_state_is_final(t->state))
            ret[count++] = t->id;
    }
    looked = 0;
    for (uint32_t h = handle ? task_at(c, handle)->first_child : 0;
         h && count < max && looked < WAITERS_LOOKED; h = task_at(c, h)->next_sibling, looked++) {
        const struct task *t = task_at(c, h);
        if (t->parent_gate == PARENT_DONE && !task_state_is_final(t->state)
            && !is_listed(ret, count, t->id))
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
    if (task_parent_failed(c, t))
        each(ctx, task_at(c, t->parent)->id);
    for (uint32_t e = t->unmet > 0 ? t->needs : 0; e; e = edge_at(c, e)->next_need) {
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
    const struct agent *a = &c->agents[index];
    *ret = a->spec;
    ret->launch_failures = a->launch_failures;
    ret->openings = a->openings;
    ret->closed_until = a->closed_until;
    return true;
}

bool core_limiter_spec(const struct core *c, sym limiter, struct limiter_spec *ret) {
    uint32_t index = by_symbol_get(&c->limiter_of, limiter);
    if (!index)
        return false;
    const struct limiter *l = &c->limiters[index];
    *ret = l->spec;
    ret->backoff_since = l->backoff_since;
    ret->last_hit = l->last_hit;
    ret->in_backoff = l->in_backoff;
    ret->ramp_since = l->ramping ? l->ramp_since : 0;
    return true;
}

struct pace_spec core_pace(const struct core *c) {
    return (struct pace_spec){ .ticking = c->tick_running,
                               .started = c->ticked,
                               .tick_began = c->tick_began,
                               .last_start = c->last_start,
                               .tick_starts = c->tick_starts };
}

void core_usage(const struct core *c, sym project, core_usage_each each, void *ctx) {
    uint32_t index = by_symbol_get(&c->project_of, project);
    if (project && !index)
        return;
    const struct window *w = index ? &c->projects[index].window : &c->unowned;
    for (size_t i = 0; i < w->count; i++) {
        const struct bucket *b = &w->buckets[w->first + i];
        struct usage_spec usage = {
            .project = project,
            .tokens = b->reported,
            .unreported = b->share - b->reported,
            .starts = (int32_t)b->starts,
            .completions = (int32_t)b->completions,
            .reports = (int32_t)b->reports,
            .money = b->money,
            .priced = (int32_t)b->priced,
            .unpriced = (int32_t)b->unpriced,
            .at = fair_bucket_begin(c, b->number),
        };
        if (usage.tokens || usage.unreported || usage.starts || usage.completions || usage.reports
            || usage.money || usage.priced || usage.unpriced)
            each(ctx, &usage);
    }
}

void core_waits(const struct core *c, core_wait_each each, void *ctx) {
    for (uint32_t p = 1; p < c->project_count; p++) {
        for (uint32_t h = c->projects[p].domains; h; h = domain_at(c, h)->next) {
            struct wait_spec wait = queue_wait_spec(c, p, domain_at(c, h));
            each(ctx, &wait);
        }
    }
}
