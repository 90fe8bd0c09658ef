/* apply_task.c: what people and programs ask for. The table in docs/rules.md §4. */
#include <errno.h>
#include <inttypes.h>

#include "core/apply.h"
#include "core/changes.h"
#include "core/claim.h"
#include "core/depend.h"
#include "core/group.h"
#include "core/lease.h"
#include "core/position.h"
#include "core/queue.h"
#include "core/run.h"
#include "core/task.h"
#include "core/tree.h"

#define FROM(state) (1u << TASK_##state)

static int unknown(const struct fact *fact, struct error *err) {
    return error_set(err, -ENOENT, "task %" PRIu64 " is not known", fact->task);
}

/* Finds the task and refuses what its state does not allow. */
static int find_in(const struct core *c, const struct fact *fact, unsigned states,
                   uint32_t *ret_task, struct error *err) {
    uint32_t task = task_find_added(c, fact->task);
    if (!task)
        return unknown(fact, err);
    enum task_state state = task_at(c, task)->state;
    if (!((states >> state) & 1u))
        return error_set(err, -EBUSY, "task %" PRIu64 " is %s: %s is not possible", fact->task,
                         task_state_name(state), fact_kind_name(fact->kind));
    *ret_task = task;
    return 0;
}

static struct change to(enum task_state state, enum reason reason) {
    return (struct change){ .to = state, .reason = reason };
}

/* A draft has no place in the queue yet, so nothing else knows its agent or limiter. */
static void take_wishes(struct core *c, uint32_t task, uint32_t agent, uint32_t limiter) {
    struct task *t = task_at(c, task);
    t->agent = agent;
    t->limiter = limiter ? limiter : c->agents[agent].limiter;
    t->flags = (uint16_t)((t->flags & ~TASK_OWN_LIMITER) | (limiter ? TASK_OWN_LIMITER : 0));
}

static void move_to_group(struct core *c, uint32_t task, uint32_t group) {
    group_leave(c, task);
    task_at(c, task)->group = group;
    group_join(c, task);
}

int apply_sling(struct core *c, const struct fact *fact, struct error *err) {
    const struct sling_spec *sling = &fact->sling;
    uint32_t task = task_find_added(c, fact->task);
    uint32_t agent = by_symbol_get(&c->agent_of, sling->agent);
    uint32_t limiter = by_symbol_get(&c->limiter_of, sling->limiter);
    if (!task)
        return unknown(fact, err);
    if (task_at(c, task)->state != TASK_DRAFT)
        return 1;
    if ((sling->agent && !agent) || (sling->limiter && !limiter))
        return error_set(err, -ENOENT, "task %" PRIu64 ": agent or limiter '%s' is not known",
                         fact->task,
                         symbol_name(&c->symbols, agent ? sling->limiter : sling->agent));
    if (sling->group > GROUP_MAX)
        return error_set(err, -ERANGE, "task %" PRIu64 ": group numbers end at %u", fact->task,
                         GROUP_MAX);
    if (sling->renames)
        take_wishes(c, task, agent, limiter);
    if (sling->group && sling->group != task_at(c, task)->group)
        move_to_group(c, task, sling->group);
    task_become(c, task, to(TASK_WAITING, REASON_SLUNG));
    return 0;
}

int apply_hold(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_in(c, fact, FROM(WAITING) | FROM(READY) | FROM(HELD), &task, err);
    if (r < 0)
        return r;
    struct change change = to(TASK_HELD, REASON_HELD);
    change.hold = fact->marker ? HOLD_MARKER : HOLD_PERSON;
    change.until = fact->until;
    task_become(c, task, change);
    return 0;
}

static bool waits_for_a_verdict(const struct task *t) {
    return t->state == TASK_HELD && (t->hold == HOLD_REVIEW || t->hold == HOLD_EXTERNAL);
}

int apply_release(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_in(c, fact, FROM(HELD), &task, err);
    if (r < 0)
        return r;
    if (waits_for_a_verdict(task_at(c, task)))
        return error_set(err, -EBUSY, "task %" PRIu64 " waits for a verdict: approve or reject it",
                         fact->task);
    task_become(c, task, to(TASK_WAITING, REASON_RELEASED));
    return 0;
}

/* Who is held by a person, or waits for a verdict, stays so: what it has used is asked again after that. */
int apply_spent(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_in(c, fact, FROM(WAITING) | FROM(READY) | FROM(HELD), &task, err);
    if (r < 0)
        return r;
    const struct task *t = task_at(c, task);
    bool known = t->state == TASK_HELD && t->hold == HOLD_BUDGET && t->not_before == 0;
    if (known || waits_for_a_verdict(t) || (t->state == TASK_HELD && t->hold == HOLD_PERSON))
        return 1;
    struct change change = to(TASK_HELD, REASON_SPENT);
    change.hold = HOLD_BUDGET;
    task_become(c, task, change);
    return 0;
}

int apply_clear(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_in(c, fact, FROM(WAITING) | FROM(READY) | FROM(HELD), &task, err);
    if (r < 0)
        return r;
    task_reset_counters(task_at(c, task));
    task_become(c, task, to(TASK_DRAFT, REASON_CLEARED));
    return 0;
}

int apply_cancel(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = task_find_added(c, fact->task);
    if (!task)
        return unknown(fact, err);
    enum task_state state = task_at(c, task)->state;
    if (task_state_is_final(state))
        return 1;
    if (!task_state_is_live(state))
        task_become(c, task, to(TASK_CANCELED, REASON_CANCELED));
    else if (!run_order_stop(c, task, STOP_CANCEL, REASON_CANCELED))
        task_become(c, task, to(TASK_DONE, REASON_SUCCEEDED)); /* its success was first */
    return 0;
}

/* Else it would wait for ever for a task that was deleted. */
static void drop_deleted_prerequisites(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    if (depend_drop_absent(c, task))
        change_depends(c, task);
    if (t->parent && task_at(c, t->parent)->state == TASK_ABSENT)
        t->parent_gate = PARENT_NONE;
}

int apply_retry(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_in(c, fact, FROM(FAILED) | FROM(CANCELED), &task, err);
    if (r < 0)
        return r;
    task_reset_counters(task_at(c, task));
    drop_deleted_prerequisites(c, task);
    task_become(c, task, to(TASK_WAITING, REASON_RETRIED));
    return 0;
}

int apply_again(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_in(c, fact, FROM(DONE), &task, err);
    if (r < 0)
        return r;
    task_iterate(c, task, to(TASK_WAITING, REASON_AGAIN));
    return 0;
}

static int find_waiting_for_verdict(const struct core *c, const struct fact *fact,
                                    uint32_t *ret_task, struct error *err) {
    int r = find_in(c, fact, FROM(HELD), ret_task, err);
    if (r < 0)
        return r;
    if (!waits_for_a_verdict(task_at(c, *ret_task)))
        return error_set(err, -EBUSY, "task %" PRIu64 " does not wait for a verdict", fact->task);
    return 0;
}

int apply_approve(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_waiting_for_verdict(c, fact, &task, err);
    if (r < 0)
        return r;
    task_become(c, task, to(TASK_DONE, REASON_APPROVED));
    return 0;
}

int apply_reject(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_waiting_for_verdict(c, fact, &task, err);
    if (r < 0)
        return r;
    lease_give_kept(c, task, TASK_KEEPS_REVIEW);
    task_iterate(c, task, to(TASK_WAITING, REASON_REJECTED));
    return 0;
}

int apply_marked(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = task_find_added(c, fact->task);
    if (!task)
        return unknown(fact, err);
    const struct task *t = task_at(c, task);
    bool waits = t->state == TASK_WAITING || t->state == TASK_READY || t->state == TASK_HELD;
    if (!waits || t->until != UNTIL_DONE)
        return 1;
    task_become(c, task, to(TASK_DONE, REASON_MARKED));
    return 0;
}

int apply_priority(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = task_find_added(c, fact->task);
    if (!task)
        return unknown(fact, err);
    struct task *t = task_at(c, task);
    if (task_state_is_final(t->state))
        return error_set(err, -EBUSY, "task %" PRIu64 " is %s: its priority no longer matters",
                         fact->task, task_state_name(t->state));
    bool ready = t->state == TASK_READY;
    time_ms waited = ready ? queue_leave(c, task) : 0; /* its class has its priority in it */
    t->priority = fact->priority;
    change_task(c, task);
    if (ready)
        queue_enter(c, task, waited);
    return 0;
}

int apply_artifact(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = task_find_added(c, fact->task);
    if (!task)
        return unknown(fact, err);
    struct task *t = task_at(c, task);
    if (fact->artifact_present)
        t->flags &= (uint16_t)~TASK_ARTIFACT_MISSING;
    else
        t->flags |= TASK_ARTIFACT_MISSING;
    change_task(c, task);
    task_look_again(c, task);
    return 0;
}

/* Its children wait for it no more: it was done, and is about to be forgotten. */
static void let_children_pass(struct core *c, uint32_t task) {
    for (uint32_t h = task_at(c, task)->first_child; h; h = task_at(c, h)->next_sibling) {
        task_at(c, h)->parent_gate = PARENT_NONE;
        change_task(c, h);
    }
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

/* The record goes; others may still name it. */
static void remove_task(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    change_task(c, task);
    if (c->claim.task == task)
        claim_drop(c);
    if (t->state == TASK_READY)
        (void)queue_leave(c, task);
    position_unlist(c, task);
    if (t->state == TASK_WAITING || t->state == TASK_READY)
        c->kinds[t->kind].queued--;
    timer_heap_remove(&c->timers, t->timer);
    lease_give_kept(c, task, TASK_KEEPS);
    group_leave(c, task);
    depend_forget(c, task);
    depend_set(c, task, NULL, 0);
    uint32_t parent = t->parent;
    tree_remove_child(c, task);
    if (parent) {
        task_look_again(c,
                        parent); /* it may have been the child that a draining parent waits for */
        task_drop_if_unnamed(c, parent);
    }
    leave_keys(c, t);
    task_count(c, t, t->state, -1);
    struct task name = { .id = t->id,
                         .first_child = t->first_child,
                         .last_child = t->last_child,
                         .needed_by = t->needed_by };
    *t = name;
    tree_set_depth(c, task); /* of its children, who have a parent that is not there now */
    task_drop_if_unnamed(c, task);
}

/* Those that depended on it and are not live or final fail. */
static void fail_dependants(struct core *c, uint32_t task) {
    for (uint32_t e = task_at(c, task)->needed_by; e; e = edge_at(c, e)->next_user) {
        uint32_t user = edge_at(c, e)->task;
        enum task_state state = task_at(c, user)->state;
        bool held = state == TASK_HELD && !waits_for_a_verdict(task_at(c, user));
        if (state == TASK_WAITING || state == TASK_READY || held)
            task_become(c, user, to(TASK_FAILED, REASON_DEPENDENCY));
    }
}

int apply_delete(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = task_find_added(c, fact->task);
    if (!task)
        return unknown(fact, err);
    const struct task *t = task_at(c, task);
    if (task_state_is_live(t->state))
        return error_set(err, -EBUSY, "task %" PRIu64 " is %s: cancel it first", fact->task,
                         task_state_name(t->state));
    tree_orphan_below(c, task);
    if (t->state != TASK_DONE)
        fail_dependants(c, task);
    remove_task(c, task);
    return 0;
}

static bool is_needed(const struct core *c, uint32_t task) {
    uint32_t group = task_at(c, task)->group;
    return depend_needed_by_unfinished(c, task) || tree_has_unfinished_child(c, task)
           || (group && c->groups[group].open > 0);
}

bool core_is_needed(const struct core *c, task_id id) {
    uint32_t task = task_find_added(c, id);
    return task && is_needed(c, task);
}

int apply_forget(struct core *c, const struct fact *fact, struct error *err) {
    unsigned final = FROM(DONE) | FROM(FAILED) | FROM(CANCELED) | FROM(INVALIDATED);
    uint32_t task = 0;
    int r = find_in(c, fact, final, &task, err);
    if (r < 0)
        return r;
    if (is_needed(c, task))
        return error_set(err, -EBUSY,
                         "task %" PRIu64 " is still needed by a task that is not final",
                         fact->task);
    if (task_at(c, task)->state == TASK_DONE)
        let_children_pass(c, task);
    remove_task(c, task);
    return 0;
}
