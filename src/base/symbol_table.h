/* symbol_table.h: interns names as small numbers.
 *
 * The same name always gives the same number in one table; 0 is "no name". Names are valid as long
 * as the table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/id_map.h"

typedef uint32_t sym;

struct symbol_table {
    const char **names; /* names[1 .. count] */
    size_t capacity;
    uint32_t count;
    struct id_map map;
    struct arena arena;
};

void symbol_table_init(struct symbol_table *table);
void symbol_table_finish(struct symbol_table *table);
sym symbol_intern(struct symbol_table *table, const char *name, size_t size);
sym symbol_find(const struct symbol_table *table, const char *name, size_t size); /* 0: unknown */
const char *symbol_name(const struct symbol_table *table, sym symbol);            /* "" for 0 */
void symbol_table_copy(const struct symbol_table *table,
                       struct symbol_table *ret); /* same numbers */
