/* group.c: see group.h. */
#include "core/group.h"

#include <string.h>

#include "base/alloc.h"
#include "core/task.h"

static void order(struct core *c, const struct task *t, enum task_state state) {
    struct order *o = order_push(c, ORDER_GROUP, 0);
    o->group = t->group;
    o->to = state;
}

static bool has_failed(enum task_state state) {
    return task_state_is_final(state) && state != TASK_DONE;
}

static void link_last(struct core *c, struct group *g, uint32_t task) {
    struct task *t = task_at(c, task);
    t->group_prev = g->last;
    t->group_next = 0;
    if (g->last)
        task_at(c, g->last)->group_next = task;
    g->last = task;
}

static void unlink_member(struct core *c, struct group *g, struct task *t) {
    if (t->group_next)
        task_at(c, t->group_next)->group_prev = t->group_prev;
    else
        g->last = t->group_prev;
    if (t->group_prev)
        task_at(c, t->group_prev)->group_next = t->group_next;
    t->group_next = t->group_prev = 0;
}

void group_join(struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    if (!t->group)
        return;
    size_t before = c->group_count;
    c->groups = xgrow(c->groups, &c->group_capacity, (size_t)t->group + 1, sizeof(*c->groups));
    if (t->group >= before) {
        memset(c->groups + before, 0, (t->group + 1 - before) * sizeof(*c->groups));
        c->group_count = (size_t)t->group + 1;
    }
    struct group *g = &c->groups[t->group];
    bool reopens = g->total > 0 && g->open == 0 && !task_state_is_final(t->state);
    link_last(c, g, task);
    g->total++;
    g->drafts += t->state == TASK_DRAFT;
    g->failed += has_failed(t->state);
    g->open += !task_state_is_final(t->state);
    if (reopens && !c->loading)
        order(c, t, TASK_WAITING);
}

void group_leave(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    if (!t->group)
        return;
    struct group *g = &c->groups[t->group];
    unlink_member(c, g, t);
    g->total--;
    g->drafts -= t->state == TASK_DRAFT;
    g->failed -= has_failed(t->state);
    if (task_state_is_final(t->state) || --g->open > 0 || g->total == 0)
        return;
    order(c, t, TASK_DONE);
}

void group_count(struct core *c, const struct task *t, enum task_state from) {
    bool was_open = !task_state_is_final(from), is_open = !task_state_is_final(t->state);
    if (!t->group)
        return;
    struct group *g = &c->groups[t->group];
    g->failed += has_failed(t->state);
    g->failed -= has_failed(from);
    g->drafts += t->state == TASK_DRAFT;
    g->drafts -= from == TASK_DRAFT;
    if (was_open == is_open)
        return;
    g->open += is_open ? 1 : UINT32_MAX;
    if (g->open == (is_open ? 1u : 0u))
        order(c, t, is_open ? TASK_WAITING : TASK_DONE);
}

size_t core_group_members(const struct core *c, uint32_t group, bool drafts, task_id *ret,
                          size_t max) {
    if (group >= c->group_count)
        return 0;
    const struct group *g = &c->groups[group];
    size_t all = drafts ? g->drafts : g->total, count = 0;
    for (uint32_t h = g->last; count < max && count < all; h = task_at(c, h)->group_prev)
        if (!drafts || task_at(c, h)->state == TASK_DRAFT)
            ret[count++] = task_at(c, h)->id;
    return all;
}
