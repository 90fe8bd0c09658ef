/* symbol_table.c: interned names.
 *
 * Numbers are assigned in the order of first use, so the same input gives the same numbers. A name
 * ends at its first NUL byte: symbol_name could not return the rest, and the same name must always
 * give the same number. */
#include "base/symbol_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

struct name_key {
    const char *name;
    size_t size;
};

static bool same_name(const void *ctx, uint32_t handle, const void *key) {
    const struct symbol_table *table = ctx;
    const struct name_key *wanted = key;
    const char *name = table->names[handle];
    return strncmp(name, wanted->name, wanted->size) == 0 && name[wanted->size] == '\0';
}

void symbol_table_init(struct symbol_table *table) {
    *table = (struct symbol_table){ .arena = ARENA_INIT };
    id_map_init(&table->map, same_name, table);
}

void symbol_table_finish(struct symbol_table *table) {
    id_map_finish(&table->map);
    arena_finish(&table->arena);
    free(table->names);
    table->names = NULL;
    table->capacity = 0;
    table->count = 0;
}

sym symbol_intern(struct symbol_table *table, const char *name, size_t size) {
    struct name_key key = { .name = name, .size = strnlen(name, size) };
    if (key.size == 0)
        return 0;
    uint64_t hash = hash_bytes(key.name, key.size);
    sym symbol = id_map_find(&table->map, hash, &key);
    if (symbol != 0)
        return symbol;
    table->names =
        xgrow(table->names, &table->capacity, (size_t)table->count + 2, sizeof(*table->names));
    symbol = ++table->count;
    table->names[symbol] = arena_strndup(&table->arena, key.name, key.size);
    id_map_add(&table->map, hash, symbol);
    return symbol;
}

sym symbol_find(const struct symbol_table *table, const char *name, size_t size) {
    struct name_key key = { .name = name, .size = strnlen(name, size) };
    return id_map_find(&table->map, hash_bytes(key.name, key.size), &key);
}

const char *symbol_name(const struct symbol_table *table, sym symbol) {
    assert(symbol <= table->count);
    return symbol == 0 ? "" : table->names[symbol];
}

void symbol_table_copy(const struct symbol_table *table, struct symbol_table *ret) {
    *ret = (struct symbol_table){ .arena = ARENA_INIT, .count = table->count };
    ret->names = xgrow(NULL, &ret->capacity, (size_t)table->count + 2, sizeof(*ret->names));
    for (uint32_t i = 1; i <= table->count; i++)
        ret->names[i] = arena_strdup(&ret->arena, table->names[i]);
    id_map_copy(&table->map, ret, &ret->map);
}
