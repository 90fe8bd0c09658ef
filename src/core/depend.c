/* depend.c: edges between tasks, and a count of the unmet ones on each. */
#include "core/depend.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/changes.h"
#include "core/core.h"
#include "core/position.h"
#include "core/task.h"

static void edge_add(struct core *c, uint32_t task, uint32_t on) {
    uint32_t handle = slab_alloc(&c->edges);
    struct edge *e = edge_at(c, handle);
    struct task *t = task_at(c, task), *o = task_at(c, on);
    e->task = task;
    e->on = on;
    e->next_need = t->needs;
    t->needs = handle;
    e->next_user = o->needed_by;
    if (e->next_user)
        edge_at(c, e->next_user)->prev_user = handle;
    o->needed_by = handle;
    if (o->state != TASK_DONE)
        t->unmet++;
}

/* Takes it out of the list of `on`; the list of `task` is the caller's business. */
static void edge_unlink_user(struct core *c, uint32_t handle) {
    struct edge *e = edge_at(c, handle);
    if (e->prev_user)
        edge_at(c, e->prev_user)->next_user = e->next_user;
    else
        task_at(c, e->on)->needed_by = e->next_user;
    if (e->next_user)
        edge_at(c, e->next_user)->prev_user = e->prev_user;
}

void depend_set(struct core *c, uint32_t task, const task_id *on, size_t count) {
    struct task *t = task_at(c, task);
    for (uint32_t e = t->needs; e;) {
        uint32_t next = edge_at(c, e)->next_need, target = edge_at(c, e)->on;
        edge_unlink_user(c, e);
        slab_free(&c->edges, e);
        task_drop_if_unnamed(c, target);
        e = next;
    }
    t->needs = 0;
    t->unmet = 0;
    for (size_t i = count; i > 0; i--) /* from the last: each goes to the front of the list */
        edge_add(c, task, task_named(c, on[i - 1]));
}

bool depend_drop_absent(struct core *c, uint32_t task) {
    bool any = false;
    for (uint32_t *link = &task_at(c, task)->needs; *link;) {
        uint32_t e = *link, target = edge_at(c, e)->on;
        if (task_at(c, target)->state != TASK_ABSENT) {
            link = &edge_at(c, e)->next_need;
            continue;
        }
        *link = edge_at(c, e)->next_need;
        edge_unlink_user(c, e);
        slab_free(&c->edges, e);
        task_at(c, task)->unmet--;
        task_drop_if_unnamed(c, target);
        any = true;
    }
    return any;
}

void depend_forget(struct core *c, uint32_t task) {
    if (task_at(c, task)->state != TASK_DONE)
        return; /* whoever needs it waits for a task that is not there */
    for (uint32_t e = task_at(c, task)->needed_by; e;) {
        uint32_t next = edge_at(c, e)->next_user;
        struct task *user = task_at(c, edge_at(c, e)->task);
        change_depends(c, edge_at(c, e)->task);
        uint32_t *link = &user->needs;
        while (*link != e)
            link = &edge_at(c, *link)->next_need;
        *link = edge_at(c, e)->next_need;
        slab_free(&c->edges, e);
        e = next;
    }
    task_at(c, task)->needed_by = 0;
}

void depend_changed(struct core *c, uint32_t task, enum task_state from, enum task_state to) {
    if (from == to)
        return;
    bool ended_badly = task_state_is_failure(to) && c->policy.dependency_fails;
    bool flips = (from == TASK_DONE) != (to == TASK_DONE);
    bool recount = task_state_is_failure(from) != task_state_is_failure(to);
    if (!flips && !ended_badly && !recount)
        return;
    for (uint32_t e = task_at(c, task)->needed_by; e; e = edge_at(c, e)->next_user) {
        struct task *user = task_at(c, edge_at(c, e)->task);
        if (flips)
            user->unmet += to == TASK_DONE ? UINT32_MAX : 1;
        if (recount && !(task_state_is_failure(to) && user->lack == LACK_DEPENDENCY_HOPELESS))
            position_recount(c, edge_at(c, e)->task);
        if (ended_badly || (flips && user->unmet == (to == TASK_DONE ? 0u : 1u)))
            task_look_again(c, edge_at(c, e)->task);
    }
}

/* A walk marks whom it has seen with its number, so that nothing is cleared between two walks. */
static void begin_walk(struct core *c) {
    size_t before = c->seen_capacity;
    c->seen = xgrow(c->seen, &c->seen_capacity, c->tasks.next, sizeof(*c->seen));
    memset(c->seen + before, 0, (c->seen_capacity - before) * sizeof(*c->seen));
    if (++c->walk == 0) { /* after four thousand million walks */
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

/* Depth-first over what a task waits for, with an own stack. `parent`: the one it must wait for. */
bool depend_would_cycle(struct core *c, uint32_t task, const task_id *on, size_t count,
                        task_id parent) {
    if (!task || (!task_at(c, task)->needed_by && !task_at(c, task)->first_child))
        return false; /* nobody leads back to it */
    struct walk walk = { 0 };
    begin_walk(c);
    for (size_t i = 0; i < count; i++)
        visit(c, &walk, task_find(c, on[i]));
    if (parent)
        visit(c, &walk, task_find(c, parent));
    while (walk.depth > 0 && c->seen[task] != c->walk) {
        const struct task *t = task_at(c, walk.stack[--walk.depth]);
        if (t->parent_gate == PARENT_DONE)
            visit(c, &walk, t->parent);
        for (uint32_t e = t->needs; e; e = edge_at(c, e)->next_need)
            visit(c, &walk, edge_at(c, e)->on);
    }
    free(walk.stack);
    return c->seen[task] == c->walk;
}

bool depend_has_failed(const struct core *c, uint32_t task) {
    for (uint32_t e = task_at(c, task)->needs; e; e = edge_at(c, e)->next_need) {
        if (task_state_is_failure(task_at(c, edge_at(c, e)->on)->state))
            return true;
    }
    return false;
}

uint32_t depend_first_unmet(const struct core *c, uint32_t task) {
    for (uint32_t e = task_at(c, task)->needs; e; e = edge_at(c, e)->next_need) {
        if (task_at(c, edge_at(c, e)->on)->state != TASK_DONE)
            return edge_at(c, e)->on;
    }
    return 0;
}

bool depend_needed_by_unfinished(const struct core *c, uint32_t task) {
    for (uint32_t e = task_at(c, task)->needed_by; e; e = edge_at(c, e)->next_user) {
        if (!task_state_is_final(task_at(c, edge_at(c, e)->task)->state))
            return true;
    }
    return false;
}

void core_each_dependant(const struct core *c, task_id id, void (*each)(void *ctx, task_id task),
                         void *ctx) {
    uint32_t task = task_find_added(c, id);
    for (uint32_t e = task ? task_at(c, task)->needed_by : 0; e; e = edge_at(c, e)->next_user)
        each(ctx, task_at(c, edge_at(c, e)->task)->id);
}
