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

void group_join(struct core *c, const struct task *t) {
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
    g->total++;
    g->failed += has_failed(t->state);
    g->open += !task_state_is_final(t->state);
    if (reopens && !c->loading)
        order(c, t, TASK_WAITING);
}

void group_leave(struct core *c, const struct task *t) {
    if (!t->group)
        return;
    struct group *g = &c->groups[t->group];
    g->total--;
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
    if (was_open == is_open)
        return;
    g->open += is_open ? 1 : UINT32_MAX;
    if (g->open == (is_open ? 1u : 0u))
        order(c, t, is_open ? TASK_WAITING : TASK_DONE);
}
