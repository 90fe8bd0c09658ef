/* position.c: which place in the queue has a task?
 *
 * Inside a class the order is by age, so how many of a class come before a task is one binary search;
 * the answer adds up the classes and those that are not ready. Shares are left out: which project is
 * served next changes with every start, and a place that jumps tells people nothing. */
#include "core/position.h"

#include "core/core.h"
#include "core/depend.h"
#include "core/queue.h"
#include "core/task.h"

static enum lack lack_of(const struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    bool hopeless = task_parent_failed(c, t) || (t->unmet > 0 && depend_has_failed(c, task));
    if (t->unmet > 0)
        return hopeless ? LACK_DEPENDENCY_HOPELESS : LACK_DEPENDENCY;
    if (!task_parent_passed(c, t))
        return hopeless ? LACK_PARENT_HOPELESS : LACK_PARENT;
    return t->flags & TASK_ARTIFACT_MISSING ? LACK_ARTIFACT : LACK_NOTHING;
}

static void set_lack(struct core *c, struct task *t, enum lack lack) {
    struct project *p = &c->projects[t->project];
    if (t->lack)
        p->lacking[t->lack]--;
    if (lack)
        p->lacking[lack]++;
    t->lack = (uint8_t)lack;
}

void position_recount(struct core *c, uint32_t task) {
    if (task_at(c, task)->flags & TASK_LISTED)
        set_lack(c, task_at(c, task), lack_of(c, task));
}

void position_list(struct core *c, uint32_t task) {
    if (!(task_at(c, task)->flags & TASK_LISTED)) {
        task_at(c, task)->flags |= TASK_LISTED;
        order_list_insert(&c->waiting, task, queue_created_before, c);
    }
    position_recount(c, task);
}

void position_unlist(struct core *c, uint32_t task) {
    if (!(task_at(c, task)->flags & TASK_LISTED))
        return;
    task_at(c, task)->flags &= (uint16_t)~TASK_LISTED;
    set_lack(c, task_at(c, task), LACK_NOTHING);
    order_list_remove(&c->waiting, task, queue_created_before, c);
}

void position_unlist_all(struct core *c) {
    struct order_cursor cursor = { 0 };
    uint32_t task;
    while ((task = order_list_next(&c->waiting, &cursor))) {
        task_at(c, task)->flags &= (uint16_t)~TASK_LISTED;
        set_lack(c, task_at(c, task), LACK_NOTHING);
    }
    order_list_finish(&c->waiting);
}

/* The task whose place is asked for. */
struct asked {
    const struct core *c;
    uint32_t task;
};

static bool before_by_wait(const void *ctx, uint32_t item) {
    const struct asked *a = ctx;
    return queue_before(a->c, item, a->task);
}

static bool is_overdue(const void *ctx, uint32_t item) {
    const struct asked *a = ctx;
    return queue_overdue(a->c, task_at(a->c, item));
}

static bool before_by_rank(const void *ctx, uint32_t item) {
    const struct asked *a = ctx;
    return queue_before_by_rank(a->c, item, a->task);
}

static bool before_by_age(const void *ctx, uint32_t item) {
    const struct asked *a = ctx;
    return queue_created_before(a->c, item, a->task);
}

static amount before_in_class(const struct asked *a, const struct queue_class *k) {
    const struct task *t = task_at(a->c, a->task);
    if ((a->c->policy.order & ORDER_BY_POSITION) && k->project != t->project)
        return k->project < t->project ? (amount)k->by_created.count + k->parked_by_created.count
                                       : 0;
    if (t->state == TASK_READY && queue_overdue(a->c, t))
        return (amount)order_list_rank(&k->by_ready, before_by_wait, a)
               + order_list_rank(&k->parked_by_ready, before_by_wait, a);
    amount by_rank = (amount)order_list_rank(&k->by_created, before_by_rank, a)
                     + order_list_rank(&k->parked_by_created, before_by_rank, a);
    amount overdue = (amount)order_list_rank(&k->by_ready, is_overdue, a)
                     + order_list_rank(&k->parked_by_ready, is_overdue, a);
    return by_rank > overdue ? by_rank : overdue; /* mostly the same tasks: the oldest */
}

amount core_queue_position(const struct core *c, task_id id) {
    uint32_t task = task_find_added(c, id);
    if (!task)
        return 0;
    enum task_state state = task_at(c, task)->state;
    if (state != TASK_WAITING && state != TASK_READY)
        return 0;
    struct asked a = { c, task };
    amount before = order_list_rank(&c->waiting, before_by_age, &a);
    for (uint32_t h = 1; h < c->classes.next; h++) {
        if (class_at(c, h)->domain)
            before += before_in_class(&a, class_at(c, h));
    }
    return before + 1;
}
