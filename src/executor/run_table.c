/* run_table.c: see run_table.h. Whoever is looked for often is found by its key; the folders are looked through only when one
 * is to be deleted. */
#include "executor/run_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

static uint64_t key_hash(const struct run_key *key) {
    return hash_mix(hash_u64(key->task), key->attempt);
}

static bool key_same(const void *ctx, uint32_t handle, const void *key) {
    const struct run_table *table = ctx;
    const struct run_key *wanted = key, *has = &table->items[handle].key;
    return wanted->task == has->task && wanted->attempt == has->attempt;
}

void run_table_init(struct run_table *table) {
    *table = (struct run_table){ 0 };
    id_map_init(&table->by_key, key_same, table);
}

void run_table_finish(struct run_table *table) {
    id_map_finish(&table->by_key);
    free(table->items);
    free(table->free_numbers);
}

static uint32_t take_number(struct run_table *table) {
    if (table->free_count > 0)
        return table->free_numbers[--table->free_count];
    uint32_t number = (uint32_t)(table->count ? table->count : 1);
    table->count = number + 1;
    table->items = xgrow(table->items, &table->capacity, table->count, sizeof(*table->items));
    table->items[0] = (struct run_table_item){ 0 };
    return number;
}

uint32_t run_table_add(struct run_table *table, void *run, struct run_key key, const char *folder) {
    uint32_t number = take_number(table);
    table->items[number] = (struct run_table_item){ .run = run, .key = key, .folder = folder };
    if (key.task != 0)
        id_map_add(&table->by_key, key_hash(&key), number);
    return number;
}

void run_table_remove(struct run_table *table, uint32_t number) {
    struct run_table_item *item = &table->items[number];
    if (item->key.task != 0)
        id_map_remove(&table->by_key, key_hash(&item->key), &item->key);
    *item = (struct run_table_item){ 0 };
    table->free_numbers = xgrow(table->free_numbers, &table->free_capacity, table->free_count + 1,
                                sizeof(*table->free_numbers));
    table->free_numbers[table->free_count++] = number;
}

void *run_table_find(const struct run_table *table, struct run_key key) {
    uint32_t number = id_map_find(&table->by_key, key_hash(&key), &key);
    return number ? table->items[number].run : NULL;
}

bool run_table_has_folder(const struct run_table *table, const char *folder) {
    for (size_t i = 1; i < table->count; i++)
        if (table->items[i].run && strcmp(table->items[i].folder, folder) == 0)
            return true;
    return false;
}

bool run_table_has_task(const struct run_table *table, const char *task_folder) {
    size_t length = strlen(task_folder);
    for (size_t i = 1; i < table->count; i++)
        if (table->items[i].run && strncmp(table->items[i].folder, task_folder, length) == 0
            && table->items[i].folder[length] == '/')
            return true;
    return false;
}
