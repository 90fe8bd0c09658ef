/* run_table.h: the runs of one executor, by number and by key. Private to executor/.
 *
 * The numbers of those who are gone are given again. It knows of a run what every executor asks for, its key and its folder;
 * the run itself is the executor's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id_map.h"
#include "executor/executor.h"

struct run_table_item {
    void *run; /* NULL: the number is free */
    struct run_key key;
    const char *folder;
};

struct run_table {
    struct run_table_item *items; /* by number; [0] is nobody */
    size_t count, capacity;       /* numbers are below count */
    uint32_t *free_numbers;
    size_t free_count, free_capacity;
    struct id_map by_key;
};

void run_table_init(struct run_table *table); /* it stays where it is */
void run_table_finish(struct run_table *table);

/* Its number. `folder` is borrowed until it is removed. Without a task (0) it cannot be found by its key. */
uint32_t run_table_add(struct run_table *table, void *run, struct run_key key, const char *folder);
void run_table_remove(struct run_table *table, uint32_t number);

void *run_table_find(const struct run_table *table, struct run_key key);         /* or NULL */
bool run_table_has_folder(const struct run_table *table, const char *folder);    /* web-17/2 */
bool run_table_has_task(const struct run_table *table, const char *task_folder); /* web-17 */

static inline void *run_table_at(const struct run_table *table, size_t number) {
    return table->items[number].run;
}
