/* scan.h: everything in a store, row by row, in a stable order.
 *
 * For moving and comparing complete stores. The store was opened without a loop, so it answers
 * synchronously, and must not be written meanwhile. Rows are valid during the callback. */
#pragma once

#include "store/store.h"

/* In this order. */
enum store_table {
    STORE_PROJECTS, /* struct project_row */
    STORE_LIMITERS, /* struct limiter_row */
    STORE_AGENTS,   /* struct agent_row */
    STORE_GROUPS,   /* struct group_row */
    STORE_USAGE,    /* struct usage_row */
    STORE_WAITS,    /* struct wait_row */
    STORE_NOTES,    /* struct note_row, except that of an unfinished copy */
    STORE_TASKS,    /* struct task_row */
    STORE_TOTALS,   /* struct store_totals: one */
    STORE_SPECS,    /* struct spec_row, with its context */
    STORE_RUNS,     /* struct run_row */
    STORE_EVENTS,   /* struct event_row */
    STORE_KEYS,     /* struct key_row */
    STORE_HOURS,    /* struct spent_row */
    STORE_DAYS,     /* struct spent_row */
    STORE_TABLE_MAX,
};
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
