/* memory.h: the store that is the reference. Private to store/. */
#pragma once

#include "base/symbol_table.h"
#include "store/memory_table.h"
#include "store/store_internal.h"

enum memory_table_id {
    TABLE_TASKS,    /* number */
    TABLE_SPECS,    /* number */
    TABLE_EXTERNAL, /* project, external id → number */
    TABLE_RUNS,     /* task, attempt */
    TABLE_EVENTS,   /* seq */
    TABLE_PROJECTS, /* in the order of their making */
    TABLE_GROUPS,   /* id */
    TABLE_LIMITERS, /* name */
    TABLE_AGENTS,   /* name */
    TABLE_USAGE,    /* bucket, project */
    TABLE_WAITS,    /* project, limiter */
    TABLE_KEYS,     /* key */
    TABLE_NOTES,    /* name */
    TABLE_HOURS,    /* span, project and agent */
    TABLE_DAYS,     /* the same */
    MEMORY_TABLES,
};

/* What survives a close when it has a name. */
struct memory_data {
    struct memory_data *next;
    char *name;
    bool is_open;
    uint64_t epoch;
    struct symbol_table symbols;
    struct memory_table tables[MEMORY_TABLES];
    task_id last_task;
    uint64_t last_event;
    bool paused;
    sym paused_by;
    time_ms paused_at;
};

struct memory_store {
    struct store base;
    struct memory_data *data;
    struct memory_journal journal;
};

/* Names as numbers; 0 is "no name". */
sym memory_symbol(struct memory_data *data, const char *name);
/* Buckets may lie before the epoch. */
static inline uint64_t memory_time_key(time_ms time) {
    return (uint64_t)time ^ ((uint64_t)1 << 63);
}

/* Adds what `more` counts; its names and its time do not matter. */
void memory_sum_spent(struct spent_row *row, const struct spent_row *more);
/* 0, or <0 with a sentence and a journal that is to be undone. */
int memory_write(struct memory_store *store, const struct store_write *write, struct error *err);
void memory_ask(struct store *base, const struct store_question *question, store_answered done,
                void *ctx);
