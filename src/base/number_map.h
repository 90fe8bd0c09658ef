/* number_map.h: maps 64-bit numbers, most of them consecutive, to 32-bit handles.
 *
 * Eight neighbors share a block, and an id_map finds the blocks: about 7 bytes per number instead
 * of the 8 to 21 of an id_map, and walking over consecutive numbers stays in the cache. A number
 * without neighbors costs about 57 bytes. Handle 0 means "none". A zeroed map is empty, but must be
 * initialized before a number is added. The map must not move in memory. */
#pragma once

#include "base/id_map.h"
#include "base/slab.h"

struct number_map {
    struct id_map map; /* from number / 8 to the block */
    struct slab blocks;
};

void number_map_init(struct number_map *map);
void number_map_finish(struct number_map *map);
uint32_t number_map_find(const struct number_map *map, uint64_t number);
void number_map_add(struct number_map *map, uint64_t number, uint32_t handle); /* not present yet */
void number_map_remove(struct number_map *map, uint64_t number);
size_t number_map_bytes(const struct number_map *map);
void number_map_copy(const struct number_map *map, struct number_map *ret);
