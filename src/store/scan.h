/* scan.h: everything in a store, row by row, in a stable order.
 *
 * For moving and comparing complete stores. The store was opened without a loop, so it answers
 * synchronously, and must not be written meanwhile. Rows are valid during the callback. */
#pragma once

#include "store/store.h"

/* In this order: X(TABLE, name, KIND of its rows). */
#define STORE_TABLES_OF(X)                                                                         \
    X(PROJECTS, "projects", PROJECT)                                                               \
    X(LIMITERS, "limiters", LIMITER)                                                               \
    X(AGENTS, "agents", AGENT)                                                                     \
    X(GROUPS, "groups", GROUP)                                                                     \
    X(USAGE, "usage", USAGE)                                                                       \
    X(WAITS, "waits", WAIT)                                                                        \
    X(NOTES, "notes", NOTE) /* except that of an unfinished copy */                                \
    X(TASKS, "tasks", TASK)                                                                        \
    X(TOTALS, "totals", KIND_MAX) /* one: struct store_totals */                                   \
    X(SPECS, "specs", SPEC)       /* with their contexts */                                        \
    X(RUNS, "runs", RUN)                                                                           \
    X(EVENTS, "events", EVENT)                                                                     \
    X(KEYS, "keys", KEY)                                                                           \
    X(HOURS, "spent_hours", SPENT)                                                                 \
    X(DAYS, "spent_days", SPENT)
#define STORE_TABLE(TABLE, name, KIND) STORE_##TABLE,
enum store_table { STORE_TABLES_OF(STORE_TABLE) STORE_TABLE_MAX };
#undef STORE_TABLE
const char *store_table_name(enum store_table table); /* "projects" */

/* <0: stop. */
typedef int (*store_scanned)(void *ctx, enum store_table table, const void *row, struct error *err);
int store_scan(struct store *store, store_scanned each, void *ctx, struct error *err);

/* Summary for comparing stores: number of rows per table, and a hash of their values. Independent
 * of the row order in tables without one. */
struct store_digest {
    uint64_t rows[STORE_TABLE_MAX], sums[STORE_TABLE_MAX];
};
void store_digest_add(struct store_digest *digest, enum store_table table, const void *row);
