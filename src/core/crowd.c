/* crowd.c: see crowd.h. */
#include "core/crowd.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

/* What the members of a crowd have in common. */
struct common {
    uint32_t cls, serial, workspace;
    const struct resource_list *resources; /* or NULL */
};

static const struct resource_list *list_at(const struct core *c, uint32_t resources) {
    return resources ? slab_at(&c->resource_lists, resources) : NULL;
}

static struct common common_of(const struct core *c, const struct crowd *crowd) {
    return (struct common){ crowd->cls, crowd->serial, crowd->workspace,
                            list_at(c, crowd->resources) };
}

static uint64_t hash_of(const struct common *k) {
    uint64_t hash = hash_mix(((uint64_t)k->cls << 32) | k->serial, k->workspace);
    for (unsigned i = 0; k->resources && i < k->resources->count; i++)
        hash = hash_mix(hash, k->resources->keys[i]);
    return hash;
}

static bool same_resources(const struct resource_list *a, const struct resource_list *b) {
    if (!a || !b)
        return a == b;
    return a->count == b->count && memcmp(a->keys, b->keys, a->count * sizeof(*a->keys)) == 0;
}

bool crowd_same(const void *ctx, uint32_t handle, const void *wanted) {
    const struct common k = common_of(ctx, crowd_at(ctx, handle)), *w = wanted;
    return k.cls == w->cls && k.serial == w->serial && k.workspace == w->workspace
           && same_resources(k.resources, w->resources);
}

/* The first of the list it belongs to. */
static uint32_t *first_of_list(struct core *c, const struct crowd *crowd) {
    return crowd->workspace ? &key_at(c, crowd->workspace)->crowds
                            : &class_at(c, crowd->cls)->crowds;
}

static uint32_t crowd_new(struct core *c, const struct common *k, uint64_t hash) {
    uint32_t handle = slab_alloc(&c->crowds), resources = 0;
    if (k->resources) {
        resources = slab_alloc(&c->resource_lists);
        *(struct resource_list *)slab_at(&c->resource_lists, resources) = *k->resources;
    }
    struct crowd *crowd = crowd_at(c, handle);
    *crowd = (struct crowd){
        .cls = k->cls, .serial = k->serial, .workspace = k->workspace, .resources = resources
    };
    uint32_t *first = first_of_list(c, crowd);
    crowd->next = *first;
    if (crowd->next)
        crowd_at(c, crowd->next)->prev = handle;
    *first = handle;
    id_map_add(&c->crowd_map, hash, handle);
    return handle;
}

static void crowd_drop(struct core *c, uint32_t handle, const struct common *k, uint64_t hash) {
    struct crowd *crowd = crowd_at(c, handle);
    id_map_remove(&c->crowd_map, hash, k);
    if (crowd->prev)
        crowd_at(c, crowd->prev)->next = crowd->next;
    else
        *first_of_list(c, crowd) = crowd->next;
    if (crowd->next)
        crowd_at(c, crowd->next)->prev = crowd->prev;
    if (crowd->resources)
        slab_free(&c->resource_lists, crowd->resources);
    slab_free(&c->crowds, handle);
}

static void join(struct core *c, const struct common *k) {
    uint64_t hash = hash_of(k);
    uint32_t handle = id_map_find(&c->crowd_map, hash, k);
    if (!handle)
        handle = crowd_new(c, k, hash);
    crowd_at(c, handle)->count++;
}

static void part(struct core *c, const struct common *k) {
    uint64_t hash = hash_of(k);
    uint32_t handle = id_map_find(&c->crowd_map, hash, k);
    assert(handle);
    if (--crowd_at(c, handle)->count == 0)
        crowd_drop(c, handle, k, hash);
}

/* The one or two crowds of a task. */
static void each_crowd(struct core *c, uint32_t task,
                       void (*each)(struct core *c, const struct common *k)) {
    const struct task *t = task_at(c, task);
    struct common k = { t->cls, t->serial_key, 0, list_at(c, t->resources) };
    if (t->serial_key || t->resources)
        each(c, &k);
    k.workspace = t->workspace_key;
    if (t->workspace_key)
        each(c, &k);
}

void crowd_enter(struct core *c, uint32_t task) {
    each_crowd(c, task, join);
}

void crowd_leave(struct core *c, uint32_t task) {
    each_crowd(c, task, part);
}
