/* id_map.h: maps a 64-bit number, or a block of bytes, to a 32-bit handle.
 *
 * A hash table that stores the handle and 32 bits of the hash. The key stays in the record; the
 * caller's `same` compares, and is rarely called for another record. The hash must be good
 * (base/hash.h). There is no iteration, so its order cannot leak into a decision. A zeroed map is
 * empty. Handle 0 means "none". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the record behind `handle` carry this key? `key` is what was passed to the lookup. */
typedef bool (*id_map_same)(const void *ctx, uint32_t handle, const void *key);

struct id_map_slot {
    uint32_t handle; /* 0: free */
    uint32_t hash;
};

struct id_map {
    struct id_map_slot *slots; /* open addressing, linear probing; at most 3/4 full */
    uint32_t capacity;
    uint32_t count;
    id_map_same same;
    const void *ctx;
};

void id_map_init(struct id_map *map, id_map_same same, const void *ctx);
void id_map_finish(struct id_map *map);
uint32_t id_map_find(const struct id_map *map, uint64_t hash, const void *key);
void id_map_add(struct id_map *map, uint64_t hash, uint32_t handle);    /* not yet present */
void id_map_remove(struct id_map *map, uint64_t hash, const void *key); /* backward shift */
size_t id_map_bytes(const struct id_map *map);
void id_map_copy(const struct id_map *map, const void *ctx, struct id_map *ret);
