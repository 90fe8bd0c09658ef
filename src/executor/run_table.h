/* run_table.h: the runs of one executor, by index and by key, and the directories of past runs.
 * Private to executor/.
 *
 * It stores the key and the directory of a run; the executor owns the run. Indexes are reused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id_map.h"
#include "executor/executor.h"

struct loop;
struct trash;

struct run_table_item {
    void *run; /* NULL: the index is free */
    struct run_key key;
    const char *folder;
};

struct run_table {
    struct run_table_item *items; /* by index; [0] is unused */
    size_t count, capacity;       /* indexes are less than count */
    uint32_t *free_numbers;
    size_t free_count, free_capacity;
    struct id_map by_key;
};

void run_table_init(struct run_table *table); /* must not be moved */
void run_table_finish(struct run_table *table);

/* Returns its index. `folder` is borrowed until it is removed. Without a task (0) it cannot be
 * found by its key. */
uint32_t run_table_add(struct run_table *table, void *run, struct run_key key, const char *folder);
void run_table_remove(struct run_table *table, uint32_t number);

void *run_table_find(const struct run_table *table, struct run_key key);         /* or NULL */
bool run_table_has_folder(const struct run_table *table, const char *folder);    /* web-17/2 */
bool run_table_has_task(const struct run_table *table, const char *task_folder); /* web-17 */

static inline void *run_table_at(const struct run_table *table, size_t number) {
    return table->items[number].run;
}

/* --- deleting in the background -------------------------------------------------------------- */

/* `live`: the number of live runs; deletion is slow while it is not 0. */
struct trash *trash_new(struct loop *loop, int root, const uint32_t *live);
/* What is not deleted yet is deleted by the next one. */
struct trash *trash_free(struct trash *trash);
/* Renames it at once, so that the name is free; deletes it later. */
int trash_throw(struct trash *trash, const char *name);
