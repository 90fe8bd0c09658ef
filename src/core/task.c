/* task.c: the state of a task, and its links to other tasks: dependencies, parents, groups. */
#include "core/task.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/attempt.h"
#include "core/fair.h"
#include "core/lease.h"
#include "core/ready_queue.h"

void task_timer_moved(void *ctx, uint32_t handle, uint32_t position) {
    history_own(ctx, handle)->timer = position;
}

uint32_t task_find(const struct core *c, task_id id) {
    return number_map_find(&c->task_map, id);
}

uint32_t task_find_added(const struct core *c, task_id id) {
    uint32_t task = task_find(c, id);
    return task && task_at(c, task)->state != TASK_ABSENT ? task : 0;
}

uint32_t task_new_named(struct core *c, task_id id) {
    uint32_t task = slab_alloc(&c->tasks);
    task_at(c, task)->id = id;
    number_map_add(&c->task_map, id, task);
    return task;
}

uint32_t task_named(struct core *c, task_id id) {
    uint32_t task = task_find(c, id);
    return task ? task : task_new_named(c, id);
}

void task_drop_if_unnamed(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    if (t->state != TASK_ABSENT || links_of(c, t)->needed_by || links_of(c, t)->first_child)
        return;
    task_drop_parts(c, task);
    number_map_remove(&c->task_map, t->id);
    slab_free(&c->tasks, task);
}

/* --- parts that most tasks do not have --------------------------------------------------------- */

const struct task_links task_no_links;
const struct task_history task_no_history = { .iteration = 1 };

struct task_links *links_own(struct core *c, uint32_t handle) {
    struct task *t = task_at(c, handle);
    if (!t->links)
        t->links = slab_alloc(&c->links);
    return slab_at(&c->links, t->links);
}

struct task_history *history_own(struct core *c, uint32_t handle) {
    struct task *t = task_at(c, handle);
    if (t->history)
        return slab_at(&c->histories, t->history);
    t->history = slab_alloc(&c->histories);
    struct task_history *history = slab_at(&c->histories, t->history);
    *history = task_no_history;
    return history;
}

void task_drop_parts(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    if (t->links)
        slab_free(&c->links, t->links);
    if (t->history)
        slab_free(&c->histories, t->history);
    t->links = t->history = 0;
}

/* ------------------------------------------------------------------------------------------------ */

struct order *order_push(struct core *c, enum order_kind kind, uint32_t task) {
    if (c->orders_given) {
        c->order_count = 0;
        c->orders_given = false;
    }
    c->orders = xgrow(c->orders, &c->order_capacity, c->order_count + 1, sizeof(*c->orders));
    struct order *o = &c->orders[c->order_count++];
    *o = (struct order){ .kind = kind };
    if (task) {
        const struct task *t = task_at(c, task);
        o->task = t->id;
        o->attempt = t->attempt;
        o->iteration = iteration_of(c, t);
    }
    return o;
}

/* --- groups ---------------------------------------------------------------------------------- */

static void order_group(struct core *c, const struct task *t, enum task_state state) {
    struct order *o = order_push(c, ORDER_GROUP, 0);
    o->group = links_of(c, t)->group;
    o->to = state;
}

void group_join(struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    uint32_t group = links_of(c, t)->group;
    if (!group)
        return;
    size_t before = c->group_count;
    c->groups = xgrow(c->groups, &c->group_capacity, (size_t)group + 1, sizeof(*c->groups));
    if (group >= before) {
        memset(c->groups + before, 0, (group + 1 - before) * sizeof(*c->groups));
        c->group_count = (size_t)group + 1;
    }
    struct group *g = &c->groups[group];
    bool reopens = g->view.total > 0 && g->view.open == 0 && !task_state_is_final(t->state);
    SLAB_LIST_PUSH(links_own, c, g->last, task, group_prev, group_next);
    g->view.total++;
    g->drafts += t->state == TASK_DRAFT;
    g->view.failed += task_state_is_failure(t->state);
    g->view.open += !task_state_is_final(t->state);
    if (reopens && !c->loading)
        order_group(c, t, TASK_WAITING);
}

void group_leave(struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    uint32_t group = links_of(c, t)->group;
    if (!group)
        return;
    struct group *g = &c->groups[group];
    SLAB_LIST_REMOVE(links_own, c, g->last, task, group_prev, group_next);
    g->view.total--;
    g->drafts -= t->state == TASK_DRAFT;
    g->view.failed -= task_state_is_failure(t->state);
    if (task_state_is_final(t->state) || --g->view.open > 0 || g->view.total == 0)
        return;
    order_group(c, t, TASK_DONE);
}

static void group_count(struct core *c, const struct task *t, enum task_state from) {
    bool was_open = !task_state_is_final(from), is_open = !task_state_is_final(t->state);
    uint32_t group = links_of(c, t)->group;
    if (!group)
        return;
    struct group *g = &c->groups[group];
    g->view.failed += task_state_is_failure(t->state);
    g->view.failed -= task_state_is_failure(from);
    g->drafts += t->state == TASK_DRAFT;
    g->drafts -= from == TASK_DRAFT;
    if (was_open == is_open)
        return;
    g->view.open += is_open ? 1 : UINT32_MAX;
    if (g->view.open == (is_open ? 1u : 0u))
        order_group(c, t, is_open ? TASK_WAITING : TASK_DONE);
}

size_t core_group_members(const struct core *c, uint32_t group, bool drafts, task_id *ret,
                          size_t max) {
    if (group >= c->group_count)
        return 0;
    const struct group *g = &c->groups[group];
    size_t all = drafts ? g->drafts : g->view.total, count = 0;
    for (uint32_t h = g->last; count < max && count < all; h = links_at(c, h)->group_prev)
        if (!drafts || task_at(c, h)->state == TASK_DRAFT)
            ret[count++] = task_at(c, h)->id;
    return all;
}

/* --- state ----------------------------------------------------------------------------------- */

void task_set_timer(struct core *c, uint32_t task, time_ms at) {
    struct task_history *history = history_own(c, task);
    timer_heap_remove(&c->timers, history->timer);
    history->not_before = at;
    if (at > 0)
        timer_heap_add(&c->timers, at, task_at(c, task)->id, task);
}

void task_recheck(struct core *c, uint32_t task) {
    c->pending = xgrow(c->pending, &c->pending_capacity, c->pending_count + 1, sizeof(*c->pending));
    c->pending[c->pending_count++] = task;
}

/* Rechecks the tasks that a change of this one may affect. */
static void notify_neighbours(struct core *c, uint32_t task, enum task_state from,
                              enum task_state to) {
    const struct task *t = task_at(c, task);
    const struct task_links *links = links_of(c, t);
    depend_changed(c, task, from, to);
    if ((from == TASK_DONE) != (to == TASK_DONE)) {
        for (uint32_t child = links->first_child; child; child = links_at(c, child)->next_sibling)
            task_recheck(c, child);
    }
    if (task_state_is_failure(from) != task_state_is_failure(to)) {
        for (uint32_t child = links->first_child; child; child = links_at(c, child)->next_sibling)
            waiting_recount(c, child);
    }
    if (links->parent && t->parent_gate == PARENT_NONE)
        task_recheck(c, links->parent); /* it may be draining */
}

void task_count(struct core *c, const struct task *t, enum task_state state, int more) {
    c->by_state[state] += (uint32_t)more;
    c->projects[t->project].by_state[state] += (uint32_t)more;
}

void task_mark_taken(struct core *c, uint32_t task) {
    task_at(c, task)->hold = HOLD_TAKEN;
    task_changed(c, task);
    for (size_t i = 0; i < c->taken_count; i++)
        if (c->taken[i] == task)
            return;
    c->taken = xgrow(c->taken, &c->taken_capacity, c->taken_count + 1, sizeof(*c->taken));
    c->taken[c->taken_count++] = task;
}

/* A task that is taken over stays so from the queue to the end of its run. */
static enum hold hold_after(const struct task *t, const struct change *change) {
    bool may_stay =
        change->to == TASK_WAITING || change->to == TASK_READY || task_state_is_live(change->to);
    bool stays = t->hold == HOLD_TAKEN && t->state != TASK_HELD && may_stay;
    return change->to == TASK_HELD || change->hold == HOLD_TAKEN ? change->hold
           : stays                                               ? HOLD_TAKEN
                                                                 : HOLD_NONE;
}

static void stop_timer(struct core *c, uint32_t task) {
    if (!task_at(c, task)->history)
        return;
    struct task_history *history = history_own(c, task);
    if (history->timer)
        timer_heap_remove(&c->timers, history->timer);
    history->not_before = 0;
}

void task_become(struct core *c, uint32_t task, struct change change) {
    struct task *t = task_at(c, task);
    enum task_state from = t->state, to = change.to;
    assert(task_may_become(from, to));
    task_changed(c, task);
    if (from == TASK_READY)
        (void)queue_leave(c, task);
    if (from == TASK_WAITING)
        waiting_remove(c, task);
    stop_timer(c, task);
    t->hold = (uint8_t)hold_after(t, &change);
    t->state = (uint8_t)to;
    if (t->hold == HOLD_TAKEN && to != TASK_HELD)
        task_mark_taken(c, task);
    t->reason = (uint8_t)change.reason;
    task_count(c, t, from, -1);
    task_count(c, t, to, 1);
    c->kinds[t->kind].queued += (uint32_t)(to == TASK_WAITING || to == TASK_READY)
                                - (uint32_t)(from == TASK_WAITING || from == TASK_READY);
    if (to == TASK_HELD)
        task_set_timer(c, task, change.until);
    if (task_state_is_final(to) || to == TASK_DRAFT)
        lease_release_kept(c, task, TASK_KEEPS);
    if (to != TASK_STARTING)
        t->enqueued_at = to == TASK_READY ? c->now : t->created_at;
    if (to == TASK_READY)
        queue_enter(c, task, 0);
    if (to != TASK_STARTING) {
        struct order *o = order_push(c, ORDER_CHANGE, task);
        o->from = from;
        o->to = to;
        o->hold = t->hold;
        o->reason = change.reason;
        o->until = to == TASK_HELD ? change.until : 0;
    }
    if (to == TASK_DONE)
        fair_record(c, t->project, c->now, &(struct usage_spec){ .completions = 1 });
    group_count(c, t, from);
    if (to == TASK_WAITING || to == TASK_HELD)
        task_recheck(c, task); /* before its neighbors, which depend on the result */
    notify_neighbours(c, task, from, to);
}

void task_iterate(struct core *c, uint32_t task, struct change change) {
    struct task_history *history = history_own(c, task);
    if (history->iteration < UINT32_MAX)
        history->iteration++;
    task_become(c, task, change);
    tree_invalidate_older(c, task);
}

void task_reset_counters(struct core *c, uint32_t task) {
    if (!task_at(c, task)->history)
        return;
    struct task_history *h = history_own(c, task);
    h->failures = h->launch_failures = h->losses = h->restarts = h->breaker_openings = 0;
}

bool task_parent_passed(const struct core *c, const struct task *t) {
    if (!(t->flags & TASK_HAS_PARENT) || t->parent_gate == PARENT_NONE)
        return true;
    return task_at(c, links_of(c, t)->parent)->state == TASK_DONE;
}

bool task_parent_failed(const struct core *c, const struct task *t) {
    uint32_t parent = links_of(c, t)->parent;
    return parent && t->parent_gate == PARENT_DONE
           && task_state_is_failure(task_at(c, parent)->state);
}

bool task_has_prerequisites(const struct core *c, const struct task *t) {
    return links_of(c, t)->unmet == 0 && !(t->flags & (TASK_ARTIFACT_MISSING | TASK_PROBE_CLOSED))
           && task_parent_passed(c, t);
}

static bool launches_spent(const struct core *c, const struct task *t) {
    return c->policy.count_launches && (t->until == UNTIL_DONE || t->until == UNTIL_VALIDATE)
           && history_of(c, t)->restarts >= c->policy.retry[RETRY_UNFINISHED].max;
}

bool task_may_be_ready(const struct core *c, const struct task *t) {
    return task_has_prerequisites(c, t) && !launches_spent(c, t);
}

static void recheck(struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    enum task_state state = t->state;
    if (state == TASK_RUNNING) {
        const struct run *r = run_at(c, t->run);
        if (r->phase == PHASE_DRAINING && !r->children_unknown && !tree_keeps_draining(c, task))
            run_end_drain(c, task, TASK_DONE, REASON_SUCCEEDED);
        return;
    }
    if (state != TASK_WAITING && state != TASK_READY && state != TASK_HELD)
        return;
    if (t->hold == HOLD_REVIEW || t->hold == HOLD_EXTERNAL)
        return; /* finished; only awaits a verdict */
    if (c->policy.dependency_fails && links_of(c, t)->unmet > 0 && depend_has_failed(c, task)) {
        task_become(c, task, change_to(TASK_FAILED, REASON_DEPENDENCY));
        return;
    }
    if (state == TASK_HELD)
        return;
    bool ready = task_has_prerequisites(c, t);
    if (!ready && state == TASK_WAITING)
        waiting_add(c, task);
    if (ready == (state == TASK_READY))
        return;
    if (ready && launches_spent(c, t))
        task_become(c, task, change_to(TASK_FAILED, REASON_RESTARTS));
    else
        task_become(c, task, change_to(ready ? TASK_READY : TASK_WAITING, REASON_PREREQUISITES));
}

void task_settle(struct core *c) {
    for (size_t i = 0; i < c->pending_count && !c->loading; i++)
        recheck(c, c->pending[i]);
    c->pending_count = 0;
}

/* --- dependencies ---------------------------------------------------------------------------- */

static void edge_add(struct core *c, uint32_t task, uint32_t on) {
    uint32_t handle = slab_alloc(&c->edges);
    struct edge *e = edge_at(c, handle);
    struct task_links *links = links_own(c, task), *others = links_own(c, on);
    e->task = task;
    e->on = on;
    e->next_need = links->needs;
    links->needs = handle;
    SLAB_LIST_PUSH(edge_at, c, others->needed_by, handle, next_user, prev_user);
    if (task_at(c, on)->state != TASK_DONE)
        links->unmet++;
}

/* Frees the edge, and its target if nothing else refers to it. The caller has unlinked it from the
 * list of `task`. */
static void edge_drop(struct core *c, uint32_t handle) {
    uint32_t target = edge_at(c, handle)->on;
    SLAB_LIST_REMOVE(edge_at, c, links_own(c, target)->needed_by, handle, next_user, prev_user);
    slab_free(&c->edges, handle);
    task_drop_if_unnamed(c, target);
}

void depend_set(struct core *c, uint32_t task, const task_id *on, size_t count) {
    if (count == 0 && !links_at(c, task)->needs)
        return;
    struct task_links *links = links_own(c, task);
    for (uint32_t e = links->needs; e;) {
        uint32_t next = edge_at(c, e)->next_need;
        edge_drop(c, e);
        e = next;
    }
    links->needs = 0;
    links->unmet = 0;
    for (size_t i = count; i > 0; i--) /* from the last: each goes to the front of the list */
        edge_add(c, task, task_named(c, on[i - 1]));
}

bool depend_drop_absent(struct core *c, uint32_t task) {
    bool any = false;
    if (!links_at(c, task)->needs)
        return false;
    struct task_links *links = links_own(c, task);
    for (uint32_t *link = &links->needs; *link;) {
        uint32_t e = *link;
        if (task_at(c, edge_at(c, e)->on)->state != TASK_ABSENT) {
            link = &edge_at(c, e)->next_need;
            continue;
        }
        *link = edge_at(c, e)->next_need;
        links->unmet--;
        edge_drop(c, e);
        any = true;
    }
    return any;
}

void depend_forget(struct core *c, uint32_t task) {
    if (task_at(c, task)->state != TASK_DONE)
        return; /* its dependants keep waiting for its id */
    if (!links_at(c, task)->needed_by)
        return;
    for (uint32_t e = links_at(c, task)->needed_by; e;) {
        uint32_t next = edge_at(c, e)->next_user;
        task_depends_changed(c, edge_at(c, e)->task);
        uint32_t *link = &links_own(c, edge_at(c, e)->task)->needs;
        while (*link != e)
            link = &edge_at(c, *link)->next_need;
        *link = edge_at(c, e)->next_need;
        slab_free(&c->edges, e);
        e = next;
    }
    links_own(c, task)->needed_by = 0;
}

void depend_changed(struct core *c, uint32_t task, enum task_state from, enum task_state to) {
    if (from == to)
        return;
    bool ended_badly = task_state_is_failure(to) && c->policy.dependency_fails;
    bool flips = (from == TASK_DONE) != (to == TASK_DONE);
    bool recount = task_state_is_failure(from) != task_state_is_failure(to);
    if (!flips && !ended_badly && !recount)
        return;
    for (uint32_t e = links_at(c, task)->needed_by; e; e = edge_at(c, e)->next_user) {
        struct task *user = task_at(c, edge_at(c, e)->task);
        struct task_links *links = links_own(c, edge_at(c, e)->task);
        if (flips)
            links->unmet += to == TASK_DONE ? UINT32_MAX : 1;
        if (recount && !(task_state_is_failure(to) && user->lack == LACK_DEPENDENCY_HOPELESS))
            waiting_recount(c, edge_at(c, e)->task);
        if (ended_badly || (flips && links->unmet == (to == TASK_DONE ? 0u : 1u)))
            task_recheck(c, edge_at(c, e)->task);
    }
}

/* A walk marks visited tasks with its number, so nothing needs clearing between walks. */
static void begin_walk(struct core *c) {
    size_t before = c->seen_capacity;
    c->seen = xgrow(c->seen, &c->seen_capacity, c->tasks.next, sizeof(*c->seen));
    memset(c->seen + before, 0, (c->seen_capacity - before) * sizeof(*c->seen));
    if (++c->walk == 0) { /* wrapped around */
        memset(c->seen, 0, c->seen_capacity * sizeof(*c->seen));
        c->walk = 1;
    }
}

struct walk {
    uint32_t *stack;
    size_t depth, capacity;
};

static void visit(struct core *c, struct walk *walk, uint32_t task) {
    if (!task || c->seen[task] == c->walk)
        return;
    c->seen[task] = c->walk;
    walk->stack = xgrow(walk->stack, &walk->capacity, walk->depth + 1, sizeof(*walk->stack));
    walk->stack[walk->depth++] = task;
}

/* Depth-first over what a task waits for. `parent`: the one it must wait for. */
bool depend_would_cycle(struct core *c, uint32_t task, const task_id *on, size_t count,
                        task_id parent) {
    if (!task || (!links_at(c, task)->needed_by && !links_at(c, task)->first_child))
        return false; /* nothing leads back to it */
    struct walk walk = { 0 };
    begin_walk(c);
    for (size_t i = 0; i < count; i++)
        visit(c, &walk, task_find(c, on[i]));
    if (parent)
        visit(c, &walk, task_find(c, parent));
    while (walk.depth > 0 && c->seen[task] != c->walk) {
        const struct task *t = task_at(c, walk.stack[--walk.depth]);
        if (t->parent_gate == PARENT_DONE)
            visit(c, &walk, links_of(c, t)->parent);
        for (uint32_t e = links_of(c, t)->needs; e; e = edge_at(c, e)->next_need)
            visit(c, &walk, edge_at(c, e)->on);
    }
    free(walk.stack);
    return c->seen[task] == c->walk;
}

bool depend_has_failed(const struct core *c, uint32_t task) {
    for (uint32_t e = links_at(c, task)->needs; e; e = edge_at(c, e)->next_need) {
        if (task_state_is_failure(task_at(c, edge_at(c, e)->on)->state))
            return true;
    }
    return false;
}

uint32_t depend_first_unmet(const struct core *c, uint32_t task) {
    for (uint32_t e = links_at(c, task)->needs; e; e = edge_at(c, e)->next_need) {
        if (task_at(c, edge_at(c, e)->on)->state != TASK_DONE)
            return edge_at(c, e)->on;
    }
    return 0;
}

bool depend_needed_by_unfinished(const struct core *c, uint32_t task) {
    for (uint32_t e = links_at(c, task)->needed_by; e; e = edge_at(c, e)->next_user) {
        if (!task_state_is_final(task_at(c, edge_at(c, e)->task)->state))
            return true;
    }
    return false;
}

void core_each_dependant(const struct core *c, task_id id, void (*each)(void *ctx, task_id task),
                         void *ctx) {
    uint32_t task = task_find_added(c, id);
    for (uint32_t e = task ? links_at(c, task)->needed_by : 0; e; e = edge_at(c, e)->next_user)
        each(ctx, task_at(c, edge_at(c, e)->task)->id);
}

/* --- parents and children -------------------------------------------------------------------- */

void tree_add_child(struct core *c, uint32_t parent, uint32_t child) {
    struct task_links *p = links_own(c, parent), *t = links_own(c, child);
    t->parent = parent;
    t->prev_sibling = p->last_child;
    if (p->last_child)
        links_own(c, p->last_child)->next_sibling = child;
    else
        p->first_child = child;
    p->last_child = child;
}

void tree_remove_child(struct core *c, uint32_t child) {
    if (!links_at(c, child)->parent)
        return;
    struct task_links *t = links_own(c, child), *p = links_own(c, t->parent);
    if (t->prev_sibling)
        links_own(c, t->prev_sibling)->next_sibling = t->next_sibling;
    else
        p->first_child = t->next_sibling;
    if (t->next_sibling)
        links_own(c, t->next_sibling)->prev_sibling = t->prev_sibling;
    else
        p->last_child = t->prev_sibling;
    t->parent = t->prev_sibling = t->next_sibling = 0;
}

uint32_t tree_next_descendant(const struct core *c, uint32_t top, uint32_t task) {
    if (links_at(c, task)->first_child)
        return links_at(c, task)->first_child;
    while (task != top && !links_at(c, task)->next_sibling)
        task = links_at(c, task)->parent;
    return task == top ? 0 : links_at(c, task)->next_sibling;
}

static uint32_t deepest_first(const struct core *c, uint32_t task) {
    while (links_at(c, task)->first_child)
        task = links_at(c, task)->first_child;
    return task;
}

static void set_depth(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    uint32_t parent = links_of(c, t)->parent;
    uint16_t above = parent ? task_at(c, parent)->depth : 0;
    uint16_t depth = !(t->flags & TASK_HAS_PARENT) ? 0
                     : above == UINT16_MAX         ? UINT16_MAX
                                                   : (uint16_t)(above + 1);
    if (depth == t->depth)
        return;
    bool ready = t->state == TASK_READY;
    time_ms waited = ready ? queue_leave(c, task) : 0; /* the depth is part of its class */
    t->depth = depth;
    if (ready)
        queue_enter(c, task, waited);
}

void tree_set_depth(struct core *c, uint32_t task) {
    for (uint32_t t = task; t; t = tree_next_descendant(c, task, t))
        set_depth(c, t);
}

bool tree_would_cycle(const struct core *c, uint32_t task, task_id parent) {
    uint32_t above = task ? task_find(c, parent) : 0;
    for (; above; above = links_at(c, above)->parent) {
        if (above == task)
            return true;
    }
    return false;
}

static void invalidate_one(struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    if (t->state == TASK_ABSENT || task_state_is_failure(t->state))
        return;
    if (task_state_is_live(t->state)
        && run_order_stop(c, task, STOP_INVALIDATE, REASON_INVALIDATED))
        return;
    task_become(c, task, change_to(TASK_INVALIDATED, REASON_INVALIDATED));
}

void tree_invalidate(struct core *c, uint32_t top) {
    uint32_t task = deepest_first(c, top);
    while (task != top) {
        invalidate_one(c, task);
        const struct task_links *t = links_at(c, task);
        task = t->next_sibling ? deepest_first(c, t->next_sibling) : t->parent;
    }
    invalidate_one(c, top);
}

void tree_invalidate_older(struct core *c, uint32_t parent) {
    uint32_t iteration = iteration_of(c, task_at(c, parent));
    for (uint32_t child = links_at(c, parent)->first_child; child;
         child = links_at(c, child)->next_sibling) {
        if (task_at(c, child)->parent_gate == PARENT_DONE
            && links_at(c, child)->parent_iteration < iteration)
            tree_invalidate(c, child);
    }
}

void tree_orphan_descendants(struct core *c, uint32_t parent) {
    for (uint32_t task = links_at(c, parent)->first_child; task;
         task = tree_next_descendant(c, parent, task)) {
        enum task_state state = task_at(c, task)->state;
        bool is_open = state != TASK_ABSENT && !task_state_is_final(state);
        if (is_open
            && !(task_state_is_live(state)
                 && run_order_stop(c, task, STOP_ORPHAN, REASON_ORPHANED)))
            task_become(c, task, change_to(TASK_FAILED, REASON_ORPHANED));
    }
}

bool tree_has_unfinished_child(const struct core *c, uint32_t task) {
    for (uint32_t h = links_at(c, task)->first_child; h; h = links_at(c, h)->next_sibling) {
        if (!task_state_is_final(task_at(c, h)->state))
            return true;
    }
    return false;
}

bool tree_keeps_draining(const struct core *c, uint32_t task) {
    for (uint32_t h = links_at(c, task)->first_child; h; h = links_at(c, h)->next_sibling) {
        const struct task *child = task_at(c, h);
        if (child->parent_gate != PARENT_NONE)
            continue;
        if (c->policy.drain_active_only ? task_state_is_live(child->state)
                                        : !task_state_is_final(child->state))
            return true;
    }
    return false;
}

void tree_check_adopted(struct core *c) {
    for (size_t i = 0; i < c->adopted_count; i++) {
        const struct task *t = task_at(c, c->adopted[i]);
        if (!t->run)
            continue;
        run_at(c, t->run)->children_unknown = false;
        task_recheck(c, c->adopted[i]);
    }
    c->adopted_count = 0;
    task_settle(c);
}
