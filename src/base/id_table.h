/* id_table.h: records of one size, each found by a 64-bit number.
 *
 * A slab and the id_map that finds its records. The number is the first member of a record, a
 * uint64_t that is set when the record is made and never changed. A pointer stays valid until its
 * record is dropped. A zeroed table can be finished, but must be initialized before a record is
 * made. The table must not move in memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/id_map.h"
#include "base/slab.h"

/* Frees what the record owns, not the record. */
typedef void (*id_table_clear)(void *record);

struct id_table {
    struct slab slab; /* slab.used: how many records there are */
    struct id_map map;
    id_table_clear clear; /* or NULL */
};

void id_table_init(struct id_table *table, size_t record_size, id_table_clear clear);
void id_table_finish(struct id_table *table);                     /* clears all records */
void *id_table_find(const struct id_table *table, uint64_t id);   /* or NULL */
void *id_table_find_or_make(struct id_table *table, uint64_t id); /* a new record is zeroed */
bool id_table_drop(struct id_table *table, uint64_t id);          /* false: it has none */
