/* id_table.h: task ids as they are written, each once, and their numbers.
 *
 * Entries are given in the order of first mention; entry 0 is "none". Listed tasks get the numbers
 * 1 .. n in the order of the file, ids that are only referred to the numbers behind. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/id_map.h"
#include "core/model.h"

struct id_entry {
    const char *text;
    uint32_t number; /* 0 until numbered */
    uint32_t hash;
};

struct id_table {
    struct id_entry *entries; /* entries[1 .. count] */
    size_t capacity;
    uint32_t count;
    uint32_t *by_number; /* entry of each number */
    struct id_map map;
    struct arena arena;
};

void id_table_init(struct id_table *table);
void id_table_finish(struct id_table *table);
uint32_t id_table_intern(struct id_table *table, const char *text, size_t length);
uint32_t id_table_find(const struct id_table *table, const char *text, size_t length); /* 0: no */
/* Numbers what has none yet, behind the `listed` ones, and fills by_number. */
void id_table_number(struct id_table *table, uint32_t listed);

static inline const char *id_table_text(const struct id_table *table, uint32_t entry) {
    return table->entries[entry].text;
}
