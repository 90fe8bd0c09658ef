/* copy.c: another core that goes on from here.
 *
 * Handles stay what they are, so a copy is memory and no rebuilding: what points into the core is
 * listed below, everything else is copied with the struct. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/core.h"
#include "core/state.h"

/* `count` items of the array, in memory of their own. */
static void *items_copy(const void *items, size_t count, size_t size, size_t *ret_capacity) {
    *ret_capacity = count;
    if (count == 0)
        return NULL;
    void *copy = xmalloc(count * size);
    memcpy(copy, items, count * size);
    return copy;
}

#define COPY_ITEMS(to, from, items, count, capacity)                                               \
    ((to)->items =                                                                                 \
         items_copy((from)->items, (from)->count, sizeof(*(from)->items), &(to)->capacity))

static void copy_by_symbol(struct by_symbol *to, const struct by_symbol *from) {
    to->index = items_copy(from->index, from->capacity, sizeof(*from->index), &to->capacity);
}

static void copy_window(struct window *to, const struct window *from) {
    to->buckets =
        items_copy(from->buckets + from->first, from->count, sizeof(*from->buckets), &to->capacity);
    to->first = 0;
}

static void copy_projects(struct core *to, const struct core *from) {
    COPY_ITEMS(to, from, projects, project_count, project_capacity);
    for (size_t i = 0; i < from->project_count; i++) {
        struct project *p = &to->projects[i];
        COPY_ITEMS(p, &from->projects[i], classes, class_count, class_capacity);
        copy_window(&p->window, &from->projects[i].window);
    }
    copy_window(&to->unowned, &from->unowned);
}

static void copy_lists(struct core *to, const struct core *from) {
    for (uint32_t h = 1; h < from->classes.next; h++) {
        const struct queue_class *k = class_at(from, h);
        if (!k->domain)
            continue;
        struct queue_class *copy = class_at(to, h);
        order_list_copy(&k->by_created, &copy->by_created);
        order_list_copy(&k->by_ready, &copy->by_ready);
        order_list_copy(&k->parked_by_created, &copy->parked_by_created);
        order_list_copy(&k->parked_by_ready, &copy->parked_by_ready);
    }
    for (uint32_t h = 1; h < from->parks.next; h++) {
        const struct park *p = park_at(from, h);
        if (!p->cls)
            continue;
        order_list_copy(&p->by_created, &park_at(to, h)->by_created);
        order_list_copy(&p->by_ready, &park_at(to, h)->by_ready);
    }
    order_list_copy(&from->waiting, &to->waiting);
}

static void copy_names(struct core *to, const struct core *from) {
    symbol_table_copy(&from->symbols, &to->symbols);
    copy_by_symbol(&to->project_of, &from->project_of);
    copy_by_symbol(&to->kind_of, &from->kind_of);
    copy_by_symbol(&to->agent_of, &from->agent_of);
    copy_by_symbol(&to->limiter_of, &from->limiter_of);
    copy_by_symbol(&to->resource_of, &from->resource_of);
    copy_by_symbol(&to->workspace_of, &from->workspace_of);
}

struct core *core_copy(const struct core *from) {
    struct core *to = xmalloc(sizeof(*to));
    *to = *from;
    slab_copy(&from->tasks, &to->tasks);
    slab_copy(&from->runs, &to->runs);
    slab_copy(&from->keys, &to->keys);
    slab_copy(&from->parks, &to->parks);
    slab_copy(&from->classes, &to->classes);
    slab_copy(&from->crowds, &to->crowds);
    slab_copy(&from->domains, &to->domains);
    slab_copy(&from->edges, &to->edges);
    slab_copy(&from->resource_lists, &to->resource_lists);
    id_map_copy(&from->task_map, to, &to->task_map);
    id_map_copy(&from->class_map, to, &to->class_map);
    id_map_copy(&from->crowd_map, to, &to->crowd_map);
    id_map_copy(&from->serial_map, to, &to->serial_map);
    timer_heap_copy(&from->timers, to, &to->timers);
    copy_names(to, from);
    copy_projects(to, from);
    copy_lists(to, from);
    COPY_ITEMS(to, from, kinds, kind_count, kind_capacity);
    COPY_ITEMS(to, from, agents, agent_count, agent_capacity);
    COPY_ITEMS(to, from, limiters, limiter_count, limiter_capacity);
    COPY_ITEMS(to, from, groups, group_count, group_capacity);
    COPY_ITEMS(to, from, active, active_count, active_capacity);
    COPY_ITEMS(to, from, orders, order_count, order_capacity);
    COPY_ITEMS(to, from, adopted, adopted_count, adopted_capacity);
    COPY_ITEMS(to, from, pending, pending_count, pending_capacity);
    to->changes = (struct changes){ 0 }; /* who watches the one does not watch the other */
    to->seen = NULL;                     /* marks of walks that are over */
    to->seen_capacity = 0;
    to->walk = 0;
    return to;
}

void core_would_start(const struct core *c, void (*each)(void *ctx, const struct order *order),
                      void *ctx) {
    struct core *copy = core_copy(c);
    size_t count = 0;
    const struct order *orders = core_decide(copy, &count);
    for (size_t i = 0; i < count; i++) {
        if (orders[i].kind == ORDER_START)
            each(ctx, &orders[i]);
    }
    core_free(copy);
}
