/* id_table.c: a hash from text to entry. The text of an id is stored once, packed in an arena. */
#include "snapshot/id_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

struct text_key {
    const char *text;
    size_t length;
    uint32_t hash;
};

static struct text_key key_of(const char *text, size_t length) {
    return (struct text_key){ text, length, (uint32_t)hash_bytes(text, length) };
}

/* The hash is compared first: a text is somewhere else in memory. */
static bool same_text(const void *ctx, uint32_t handle, const void *key) {
    const struct id_table *table = ctx;
    const struct text_key *wanted = key;
    const struct id_entry *entry = &table->entries[handle];
    return entry->hash == wanted->hash && strncmp(entry->text, wanted->text, wanted->length) == 0
           && entry->text[wanted->length] == '\0';
}

void id_table_init(struct id_table *table) {
    *table = (struct id_table){ .arena = ARENA_INIT };
    id_map_init(&table->map, same_text, table);
}

void id_table_finish(struct id_table *table) {
    id_map_finish(&table->map);
    arena_finish(&table->arena);
    free(table->entries);
    free(table->by_number);
    *table = (struct id_table){ .arena = ARENA_INIT };
}

uint32_t id_table_find(const struct id_table *table, const char *text, size_t length) {
    struct text_key key = key_of(text, length);
    return id_map_find(&table->map, hash_u64(key.hash), &key);
}

uint32_t id_table_intern(struct id_table *table, const char *text, size_t length) {
    struct text_key key = key_of(text, length);
    uint32_t entry = id_map_find(&table->map, hash_u64(key.hash), &key);
    if (entry != 0)
        return entry;
    table->entries =
        xgrow(table->entries, &table->capacity, (size_t)table->count + 2, sizeof(*table->entries));
    entry = ++table->count;
    table->entries[entry] = (struct id_entry){
        .text = arena_strndup(&table->arena, text, length),
        .hash = key.hash,
    };
    id_map_add(&table->map, hash_u64(key.hash), entry);
    return entry;
}

void id_table_number(struct id_table *table, uint32_t listed) {
    table->by_number = xcalloc((size_t)table->count + 1, sizeof(*table->by_number));
    uint32_t next = listed;
    for (uint32_t entry = 1; entry <= table->count; entry++) {
        if (table->entries[entry].number == 0)
            table->entries[entry].number = ++next;
        table->by_number[table->entries[entry].number] = entry;
    }
}
