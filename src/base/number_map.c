/* number_map.c: blocks of eight handles, found by hash. An empty block is freed. */
#include "base/number_map.h"

#include <assert.h>

#include "base/hash.h"

#define BLOCK_BITS 3u
#define BLOCK_SIZE (1u << BLOCK_BITS)

struct block {
    uint64_t key; /* number / 8 */
    uint32_t handles[BLOCK_SIZE];
};

static struct block *block_at(const struct number_map *map, uint32_t block) {
    return slab_at(&map->blocks, block);
}

static bool same_block(const void *ctx, uint32_t block, const void *key) {
    return block_at(ctx, block)->key == *(const uint64_t *)key;
}

void number_map_init(struct number_map *map) {
    id_map_init(&map->map, same_block, map);
    slab_init(&map->blocks, sizeof(struct block));
}

void number_map_finish(struct number_map *map) {
    id_map_finish(&map->map);
    slab_finish(&map->blocks);
}

static uint32_t find_block(const struct number_map *map, uint64_t number) {
    uint64_t key = number >> BLOCK_BITS;
    return id_map_find(&map->map, hash_u64(key), &key);
}

static uint32_t *handle_of(const struct number_map *map, uint32_t block, uint64_t number) {
    return &block_at(map, block)->handles[number & (BLOCK_SIZE - 1)];
}

uint32_t number_map_find(const struct number_map *map, uint64_t number) {
    uint32_t block = find_block(map, number);
    return block ? *handle_of(map, block, number) : 0;
}

void number_map_add(struct number_map *map, uint64_t number, uint32_t handle) {
    uint32_t block = find_block(map, number);
    assert(handle != 0);
    if (!block) {
        block = slab_alloc(&map->blocks);
        block_at(map, block)->key = number >> BLOCK_BITS;
        id_map_add(&map->map, hash_u64(number >> BLOCK_BITS), block);
    }
    *handle_of(map, block, number) = handle;
}

void number_map_remove(struct number_map *map, uint64_t number) {
    uint32_t block = find_block(map, number);
    if (!block)
        return;
    *handle_of(map, block, number) = 0;
    for (unsigned i = 0; i < BLOCK_SIZE; i++)
        if (block_at(map, block)->handles[i])
            return;
    uint64_t key = number >> BLOCK_BITS;
    id_map_remove(&map->map, hash_u64(key), &key);
    slab_free(&map->blocks, block);
}

size_t number_map_bytes(const struct number_map *map) {
    return id_map_bytes(&map->map) + slab_bytes(&map->blocks);
}

void number_map_copy(const struct number_map *map, struct number_map *ret) {
    id_map_copy(&map->map, ret, &ret->map);
    slab_copy(&map->blocks, &ret->blocks);
}
