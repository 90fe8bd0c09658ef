/* query.h: queries to a store, also during commits. Included by store.h. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "store/rows.h"

#define STORE_ANSWER_MAX 1000u

struct store;

enum store_query_kind {
    QUERY_SPECS,   /* spec rows of `tasks`, in their order; missing ones are omitted */
    QUERY_CHANGED, /* the same with only `id` and `changed_at`: faster */
    QUERY_TITLES,  /* the same with only `id`, `title` and `changed_at`: faster */
    QUERY_RUNS, /* of `task`, attempts below `before` (0: all), newest first; task 0: of all tasks,
                        those after `place` by task and attempt, whatever its time */
    QUERY_EVENTS,      /* after `after`, oldest first; of `task` if not 0 */
    QUERY_EVENTS_BACK, /* the newest before `before` (0: all), newest first; of `task` if not 0 */
    QUERY_KEY,         /* `key`: one row or none */
    QUERY_KEYS,        /* keys after `key` (NULL: all), in byte order */
    QUERY_EXTERNAL,    /* `key` in `project`: the spec row that has this external id, or none */
    QUERY_EXPIRED, /* final tasks that changed before `before_time`, oldest first, without the first
                    `after` of them: task ids only */
    QUERY_ENDED,   /* runs that ended at `since` or later, latest end first; those after `place` */
    QUERY_SPENT, /* sums of spans that began from `since` to before `before_time`, oldest first, by
                    name (in no order that means anything), without the first `after` of them */
    QUERY_KIND_MAX,
};

/* A position among ended runs: by time, then task, then attempt. */
struct store_cursor {
    time_ms ended_at;
    task_id task;
    uint32_t attempt;
};

struct store_query {
    enum store_query_kind kind;
    const task_id *tasks;
    size_t task_count;
    task_id task;
    uint64_t after, before;
    time_ms since, before_time;
    struct store_cursor place; /* ended_at TIME_NEVER: from the beginning */
    bool days, by_agent;       /* with QUERY_SPENT; else hours, by project */
    bool apart;                /* with QUERY_SPENT: by project and agent, not summed */
    const char *key, *project;
    size_t limit; /* 0: STORE_ANSWER_MAX */
};

struct store_answer {
    size_t count;
    union { /* NULL if there are none */
        const void *rows;
        const struct spec_row *specs;
        const struct run_row *runs;
        const struct event_row *events;
        const struct key_row *key;
        const task_id *tasks;
        const struct spent_row *spent;
    };
};

/* `err` not NULL: the read failed, and the answer is empty. */
typedef void (*store_answered)(void *ctx, const struct store_answer *answer,
                               const struct error *err);
void store_query(struct store *store, const struct store_query *question, store_answered done,
                 void *ctx);
