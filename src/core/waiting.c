/* waiting.c: some of those that wait, the ones that come next among them.
 *
 * For lists and counts: a bounded part of the queue without a walk over all tasks. Inside a class the
 * order is by age, so the first of every class are a superset of those that start next. */
#include "core/waiting.h"

#include "core/state.h"

struct sample {
    const struct core *c;
    task_id *tasks;
    size_t count, max;
};

/* From number `skip` of the list on, as long as there is room. */
static void take(struct sample *s, const struct order_list *list, size_t skip, size_t most) {
    struct order_cursor cursor = { 0 };
    uint32_t task;
    for (size_t n = 0; n < most && s->count < s->max && (task = order_list_next(list, &cursor));
         n++)
        if (n >= skip)
            s->tasks[s->count++] = task_at(s->c, task)->id;
}

static void take_all(struct sample *s, size_t skip, size_t most) {
    const struct core *c = s->c;
    for (uint32_t h = 1; h < c->classes.next; h++) {
        if (!class_at(c, h)->domain)
            continue;
        take(s, &class_at(c, h)->by_created, skip, most);
        take(s, &class_at(c, h)->parked_by_created, skip, most);
    }
    take(s, &c->waiting, skip, most);
}

size_t core_waiting(const struct core *c, task_id *ret, size_t max) {
    struct sample s = { .c = c, .max = max };
    s.tasks = ret;
    size_t lists = 2 * (size_t)c->classes.used + 1;
    size_t share = max / lists > 0 ? max / lists : 1;
    take_all(&s, 0, share);
    take_all(&s, share, max);
    return s.count;
}
