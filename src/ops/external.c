/* external.c: see external.h. */
#include "ops/external.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "base/slab.h"

struct external {
    const struct engine *engine;
    const char *project, *id;
    char *owned[2]; /* the two texts, of one that is settled */
    task_id task;
    uint32_t next; /* of the same call, or of those that are settled */
};

/* Of all engines in this process; empty while nobody asks. */
static struct slab entries;
static struct id_map map;
static uint32_t askers;
static struct externals settled;

static bool same_external(const void *ctx, uint32_t handle, const void *key) {
    (void)ctx;
    const struct external *a = slab_at(&entries, handle), *b = key;
    return a->engine == b->engine && strcmp(a->id, b->id) == 0
           && strcmp(a->project, b->project) == 0;
}

static uint64_t hash_of(const struct external *e) {
    return hash_mix(hash_bytes(e->id, strlen(e->id)), hash_bytes(e->project, strlen(e->project)));
}

void externals_begin(struct externals *of) {
    askers += !of->asks;
    of->asks = true;
}

void external_add(struct externals *of, const struct engine *engine, const char *project,
                  const char *id, task_id task) {
    if (entries.used == 0) {
        slab_init(&entries, sizeof(struct external));
        id_map_init(&map, same_external, NULL);
    }
    uint32_t handle = slab_alloc(&entries);
    struct external *e = slab_at(&entries, handle);
    *e = (struct external){
        .engine = engine, .project = project, .id = id, .task = task, .next = of->first
    };
    of->first = handle;
    id_map_add(&map, hash_of(e), handle);
}

task_id external_find(const struct engine *engine, const char *project, const char *id) {
    if (entries.used == 0)
        return 0;
    struct external key = { .engine = engine, .project = project, .id = id };
    uint32_t handle = id_map_find(&map, hash_of(&key), &key);
    return handle ? ((const struct external *)slab_at(&entries, handle))->task : 0;
}

static void remove_all(uint32_t *first) {
    if (!*first)
        return;
    while (*first) {
        uint32_t handle = *first;
        struct external *e = slab_at(&entries, handle);
        *first = e->next;
        id_map_remove(&map, hash_of(e), e);
        free(e->owned[0]);
        free(e->owned[1]);
        slab_free(&entries, handle);
    }
    if (entries.used == 0) {
        slab_finish(&entries);
        id_map_finish(&map);
    }
}

static void stop_asking(struct externals *of) {
    askers -= of->asks;
    of->asks = false;
    if (askers == 0)
        remove_all(&settled.first);
}

void externals_settle(struct externals *of) {
    if (askers == of->asks) { /* nobody else has asked */
        externals_drop(of);
        return;
    }
    while (of->first) {
        uint32_t handle = of->first;
        struct external *e = slab_at(&entries, handle);
        of->first = e->next;
        e->project = e->owned[0] = xstrdup(e->project);
        e->id = e->owned[1] = xstrdup(e->id);
        e->next = settled.first;
        settled.first = handle;
    }
    stop_asking(of);
}

void externals_drop(struct externals *of) {
    remove_all(&of->first);
    stop_asking(of);
}
