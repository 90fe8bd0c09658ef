/* draft.h: the records of a snapshot file, before anything is applied to a core. Private to
 * snapshot/.
 *
 * Records are small and flat, because there may be a million: names are symbols of the core, task
 * ids are entries of `struct id_table`, lists are in shared pools. ABSENT marks what was not
 * given. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/symbol_table.h"
#include "core/fact.h"
#include "snapshot/id_table.h"
#include "snapshot/json_stream.h"

#define ABSENT      (-1)      /* of caps, switches and words */
#define ABSENT_TIME INT64_MIN /* of times, which may lie before the epoch */

/* How `sim` runs a task; ABSENT where nothing was given. */
struct hint {
    int64_t duration[2]; /* ms */
    int64_t tokens[2];   /* ABSENT_TIME: not given; -1: none reported */
    int64_t failure_milli, limited_milli;
    int64_t usd; /* millionths of a dollar; ABSENT: the run reports no cost */
};

struct task_record {
    uint32_t id, parent; /* entries; parent 0 = none */
    sym project, kind, agent, limiter, workspace, serial;
    uint32_t depends_on, depends_on_count; /* in draft.depends_on */
    uint32_t resources, resource_count;    /* in draft.resources */
    uint32_t hint;                         /* in draft.hints, + 1 */
    int32_t priority;
    uint32_t iteration;
    uint32_t attempt_given; /* + 1; 0 = not given */
    time_ms created_at, ready_since, not_before, started_at;
    int64_t tokens, usd; /* millionths of a dollar */
    int8_t state, phase, until, parent_gate, parallelizable, artifact_present, review;
    /* of a live snapshot (struct task_spec says what they are): */
    int8_t hold, stop, bound;
    uint32_t lender; /* entry; 0 = none */
    uint32_t parent_iteration, keeps, borrowed;
    uint32_t failures, launch_failures, losses, restarts, breaker_openings;
    int32_t retry_max;
    sym run_agent, run_limiter;
    time_ms enqueued_at, ready_clock;
};

struct project_record {
    sym id;
    uint32_t completed, running, running_roots;
    int64_t weight_milli, max_running, budget, free_workspaces, tokens_used;
    int64_t budget_usd, usd_used; /* millionths of a dollar */
    int8_t active, paused;
};

struct agent_record {
    sym id, limiter;
    int8_t idle;
    uint32_t launch_failures, openings;
    time_ms closed_until;
};

struct limiter_record {
    sym id;
    uint32_t hits, running;
    time_ms backoff_until, backoff_since, last_hit, ramp_since;
    int8_t closed, in_backoff;
};

/* What is reserved for an overdue task. */
struct claim_record {
    uint32_t task; /* entry; 0 = no task has a claim */
    uint32_t leases;
    uint32_t resources, resource_count; /* in draft.resources */
};

struct lock_record {
    sym workspace;
    uint32_t holder; /* entry; 0 = none */
    bool locked;     /* by something outside; then there is no holder */
};

struct config_record {
    const char *key, *value;
    struct json_position position;
};

struct kind_hint {
    sym kind;
    struct hint hint;
};

/* The scalars of the top level. */
struct top_record {
    time_ms now;
    int64_t tokens_used, budget, disk_free_milli_gb, memory_free_mb, load_milli;
    int64_t budget_usd, usd_used; /* millionths of a dollar */
    int64_t seed;
    uint32_t running, running_roots; /* runs of no project */
    int8_t paused;
    int8_t live;           /* the state is restored as after a restart; else the core computes it */
    struct pace_spec pace; /* last_start: or ABSENT_TIME */
    struct claim_record claim;
};

/* A growing array of records. */
#define POOL(type)                                                                                 \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }
#define POOL_ADD(pool)                                                                             \
    ((pool)->items =                                                                               \
         xgrow((pool)->items, &(pool)->capacity, (pool)->count + 1, sizeof(*(pool)->items)),       \
     &(pool)->items[(pool)->count++])

struct draft {
    struct symbol_table *symbols; /* the core's */
    struct id_table ids;
    struct arena texts;
    struct top_record top;
    bool projects_given, agents_given;
    POOL(struct config_record) config;
    POOL(struct project_record) projects;
    POOL(struct agent_record) agents;
    POOL(struct limiter_record) limiters;
    POOL(struct lock_record) locks;
    POOL(struct usage_spec) usage;
    POOL(struct wait_spec) waits;
    POOL(struct task_record) tasks;
    POOL(uint32_t) depends_on; /* entries; task numbers after draft_resolve */
    POOL(sym) resources;
    POOL(struct hint) hints;
    POOL(struct kind_hint) kind_hints;
};

extern const struct hint hint_absent;
extern const struct project_record project_absent;
