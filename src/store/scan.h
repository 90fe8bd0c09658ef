/* scan.h: everything that a store holds, row by row, in an order that stays the same.
 *
 * For whoever moves or compares whole stores. The store answers at once (it was opened without a loop) and
 * nobody writes meanwhile. Rows live as long as the call that brings them. */
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
    STORE_NOTES,    /* struct note_row, but for that of an unfinished copy */
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

/* <0: that is enough. */
typedef int (*store_scanned)(void *ctx, enum store_table table, const void *row, struct error *err);
int store_scan(struct store *store, store_scanned each, void *ctx, struct error *err);

/* What a store holds, so that two can be compared: rows of each table, and a sum over all that they say. The
 * order does not count, in which tables without one are brought. */
struct store_digest {
    uint64_t rows[STORE_TABLE_MAX], sums[STORE_TABLE_MAX];
};
void store_digest_add(struct store_digest *digest, enum store_table table, const void *row);
