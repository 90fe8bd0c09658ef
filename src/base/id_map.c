/* id_map.c: open addressing without tombstones.
 *
 * A scheduler adds and removes forever. Tombstones would make every table slow over time and need a
 * rebuild at an unpredictable moment. So removal closes the gap at once (backward shift), and the
 * cost of a lookup depends only on the current contents. */
#include "base/id_map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define CAPACITY_FIRST 16u

static uint32_t folded(uint64_t hash) {
    return (uint32_t)(hash ^ (hash >> 32));
}

static uint32_t slot_after(const struct id_map *map, uint32_t slot) {
    return (slot + 1) & (map->capacity - 1);
}

void id_map_init(struct id_map *map, id_map_same same, const void *ctx) {
    *map = (struct id_map){ .same = same, .ctx = ctx };
}

void id_map_finish(struct id_map *map) {
    free(map->slots);
    map->slots = NULL;
    map->capacity = 0;
    map->count = 0;
}

/* The slot that holds the key, or the free one where the search ended. Never on an empty table. */
static uint32_t slot_find(const struct id_map *map, uint32_t hash, const void *key) {
    uint32_t at = hash & (map->capacity - 1);
    for (; map->slots[at].handle != 0; at = slot_after(map, at)) {
        const struct id_map_slot *slot = &map->slots[at];
        if (slot->hash == hash && map->same(map->ctx, slot->handle, key))
            break;
    }
    return at;
}

uint32_t id_map_find(const struct id_map *map, uint64_t hash, const void *key) {
    return map->count == 0 ? 0 : map->slots[slot_find(map, folded(hash), key)].handle;
}

static void slot_put(struct id_map *map, struct id_map_slot slot) {
    uint32_t at = slot.hash & (map->capacity - 1);
    while (map->slots[at].handle != 0)
        at = slot_after(map, at);
    map->slots[at] = slot;
}

static void id_map_double(struct id_map *map) {
    struct id_map_slot *old = map->slots;
    uint32_t old_capacity = map->capacity;
    assert(old_capacity <= UINT32_MAX / 2);
    map->capacity = old_capacity ? old_capacity * 2 : CAPACITY_FIRST;
    map->slots = xcalloc(map->capacity, sizeof(*map->slots));
    for (uint32_t i = 0; i < old_capacity; i++)
        if (old[i].handle != 0)
            slot_put(map, old[i]);
    free(old);
}

void id_map_add(struct id_map *map, uint64_t hash, uint32_t handle) {
    assert(handle != 0);
    if (map->count >= map->capacity / 4 * 3)
        id_map_double(map);
    slot_put(map, (struct id_map_slot){ .handle = handle, .hash = folded(hash) });
    map->count++;
}

void id_map_remove(struct id_map *map, uint64_t hash, const void *key) {
    if (map->count == 0)
        return;
    uint32_t gap = slot_find(map, folded(hash), key);
    if (map->slots[gap].handle == 0)
        return;
    uint32_t mask = map->capacity - 1;
    for (uint32_t at = slot_after(map, gap); map->slots[at].handle != 0; at = slot_after(map, at)) {
        uint32_t home = map->slots[at].hash & mask;
        /* It may move into the gap only if its own search would pass the gap. */
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
    }
    map->slots[gap].handle = 0;
    map->count--;
}

void id_map_copy(const struct id_map *map, const void *ctx, struct id_map *ret) {
    *ret = *map;
    ret->ctx = ctx;
    ret->slots = NULL;
    if (map->capacity == 0)
        return;
    ret->slots = xmalloc(map->capacity * sizeof(*ret->slots));
    memcpy(ret->slots, map->slots, map->capacity * sizeof(*ret->slots));
}

size_t id_map_bytes(const struct id_map *map) {
    return map->capacity * sizeof(*map->slots);
}
