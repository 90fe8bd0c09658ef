/* id_table.c: records of one size, each found by a 64-bit number. See id_table.h. */
#include "base/id_table.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

static bool same_id(const void *ctx, uint32_t handle, const void *key) {
    return memcmp(slab_at(ctx, handle), key, sizeof(uint64_t)) == 0;
}

void id_table_init(struct id_table *table, size_t record_size, id_table_clear clear) {
    assert(record_size >= sizeof(uint64_t));
    slab_init(&table->slab, record_size);
    id_map_init(&table->map, same_id, &table->slab);
    table->clear = clear;
}

void id_table_finish(struct id_table *table) {
    /* The map has the records that are in use; the slab also has those that were dropped. */
    for (uint32_t i = 0; table->clear && i < table->map.capacity; i++)
        if (table->map.slots[i].handle)
            table->clear(slab_at(&table->slab, table->map.slots[i].handle));
    id_map_finish(&table->map);
    slab_finish(&table->slab);
}

static uint32_t find_handle(const struct id_table *table, uint64_t id) {
    return id_map_find(&table->map, hash_u64(id), &id);
}

void *id_table_find(const struct id_table *table, uint64_t id) {
    uint32_t handle = find_handle(table, id);
    return handle ? slab_at(&table->slab, handle) : NULL;
}

void *id_table_find_or_make(struct id_table *table, uint64_t id) {
    void *record = id_table_find(table, id);
    if (record)
        return record;
    uint32_t handle = slab_alloc(&table->slab);
    record = slab_at(&table->slab, handle);
    memcpy(record, &id, sizeof(id));
    id_map_add(&table->map, hash_u64(id), handle);
    return record;
}

bool id_table_drop(struct id_table *table, uint64_t id) {
    uint32_t handle = find_handle(table, id);
    if (!handle)
        return false;
    if (table->clear)
        table->clear(slab_at(&table->slab, handle));
    id_map_remove(&table->map, hash_u64(id), &id);
    slab_free(&table->slab, handle);
    return true;
}
