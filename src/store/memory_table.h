/* memory_table.h: rows in the order of their keys, with a way back. Private to store/.
 *
 * A table owns its rows, each one allocation. What is changed is remembered until it is either
 * settled (the old rows go) or undone (the new rows go). Taking from the front and adding at the
 * end are cheap; in the middle the entries behind are moved. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct memory_key {
    uint64_t high, low;
};

struct memory_entry {
    struct memory_key key;
    void *row;
};

struct memory_table {
    struct memory_entry *entries; /* entries[first .. first + count), rising */
    size_t first, count, capacity;
};

struct memory_change {
    struct memory_table *table;
    struct memory_key key;
    void *old; /* NULL: there was none */
};

struct memory_journal {
    struct memory_change *changes;
    size_t count, capacity;
};

void memory_table_finish(struct memory_table *table);
void *memory_table_find(const struct memory_table *table, struct memory_key key); /* or NULL */
/* The position of the first entry that is not below `key`; may be `count`. */
size_t memory_table_position(const struct memory_table *table, struct memory_key key);
static inline const struct memory_entry *memory_table_at(const struct memory_table *table,
                                                         size_t position) {
    return &table->entries[table->first + position];
}

/* Puts `row` (taken) in the place of what is there; NULL: removes it. */
void memory_set(struct memory_journal *journal, struct memory_table *table, struct memory_key key,
                void *row);
void memory_settle(struct memory_journal *journal);
void memory_undo(struct memory_journal *journal);
void memory_journal_finish(struct memory_journal *journal);
