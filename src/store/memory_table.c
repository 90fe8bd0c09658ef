/* memory_table.c: how can a batch of changes be taken back as a whole?
 *
 * Rows are never changed in place: a new row takes the place of the old one, which is kept until
 * the batch is settled. So taking back is putting the old pointers in again, backwards.
 */
#include "store/memory_table.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool is_below(struct memory_key a, struct memory_key b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
}

void memory_table_finish(struct memory_table *table) {
    for (size_t i = 0; i < table->count; i++)
        free(table->entries[table->first + i].row);
    free(table->entries);
    *table = (struct memory_table){ 0 };
}

size_t memory_table_position(const struct memory_table *table, struct memory_key key) {
    size_t low = 0, high = table->count;
    if (high > 0 && is_below(memory_table_at(table, high - 1)->key, key))
        return high; /* most rows are added at the end */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_below(memory_table_at(table, middle)->key, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct memory_table *table, size_t position, struct memory_key key) {
    if (position == table->count)
        return false;
    const struct memory_entry *entry = memory_table_at(table, position);
    return entry->key.high == key.high && entry->key.low == key.low;
}

void *memory_table_find(const struct memory_table *table, struct memory_key key) {
    size_t position = memory_table_position(table, key);
    return is_at(table, position, key) ? memory_table_at(table, position)->row : NULL;
}

static void insert(struct memory_table *table, size_t position, struct memory_key key, void *row) {
    if (table->first > 0 && table->first + table->count == table->capacity) {
        memmove(table->entries, table->entries + table->first,
                table->count * sizeof(*table->entries));
        table->first = 0;
    }
    table->entries = xgrow(table->entries, &table->capacity, table->first + table->count + 1,
                           sizeof(*table->entries));
    struct memory_entry *at = table->entries + table->first + position;
    memmove(at + 1, at, (table->count - position) * sizeof(*at));
    *at = (struct memory_entry){ .key = key, .row = row };
    table->count++;
}

static void removed(struct memory_table *table, size_t position) {
    struct memory_entry *at = table->entries + table->first + position;
    table->count--;
    if (position == 0)
        table->first++;
    else
        memmove(at, at + 1, (table->count - position) * sizeof(*at));
}

/* Returns what was there. */
static void *exchange(struct memory_table *table, struct memory_key key, void *row) {
    size_t position = memory_table_position(table, key);
    if (!is_at(table, position, key)) {
        if (row)
            insert(table, position, key, row);
        return NULL;
    }
    struct memory_entry *entry = table->entries + table->first + position;
    void *old = entry->row;
    entry->row = row;
    if (!row)
        removed(table, position);
    return old;
}

void memory_set(struct memory_journal *journal, struct memory_table *table, struct memory_key key,
                void *row) {
    journal->changes =
        xgrow(journal->changes, &journal->capacity, journal->count + 1, sizeof(*journal->changes));
    void *old = exchange(table, key, row);
    journal->changes[journal->count++] =
        (struct memory_change){ .table = table, .key = key, .old = old };
}

void memory_settle(struct memory_journal *journal) {
    for (size_t i = 0; i < journal->count; i++)
        free(journal->changes[i].old);
    journal->count = 0;
}

void memory_undo(struct memory_journal *journal) {
    while (journal->count > 0) {
        struct memory_change *change = &journal->changes[--journal->count];
        free(exchange(change->table, change->key, change->old));
    }
}

void memory_journal_finish(struct memory_journal *journal) {
    assert(journal->count == 0);
    free(journal->changes);
    *journal = (struct memory_journal){ 0 };
}
