/* records.h: what the core keeps of each thing it knows. Private to core/.
 *
 * Everything is reached by 32-bit handles: tasks, runs, classes, keys, parks and edges live in slabs,
 * the few others in arrays. Handle 0 is "none"; index 0 of the arrays is a neutral entry ("no kind").
 *
 * A waiting task costs its record here, about 10 bytes in the lists of its class and 17 in the map
 * from numbers to handles. Its id, title and prompt are nowhere in the core. */
#pragma once

#include "core/fact.h"
#include "core/records_queue.h"

#define RESOURCES_MAX 16
#define NEEDS_MAX     (9 + RESOURCES_MAX)

#define TASK_KEEPS_SHIFT 4 /* from enum keep */

enum task_flag {
    TASK_PARALLELIZABLE = 1u << 0,
    TASK_REVIEW = 1u << 1,
    TASK_ARTIFACT_MISSING = 1u << 2,
    TASK_HAS_PARENT = 1u << 3,
    TASK_KEEPS_LEASE =
        KEEP_TASK << TASK_KEEPS_SHIFT, /* task:ID, from the first start until final or draft */
    TASK_KEEPS_ROOTS = KEEP_ROOTS << TASK_KEEPS_SHIFT,
    TASK_KEEPS_REVIEW = KEEP_REVIEW << TASK_KEEPS_SHIFT,
    TASK_KEEPS_PLACE = KEEP_PLACE << TASK_KEEPS_SHIFT, /* a workspace of its project */
    TASK_PARKED = 1u << 8,      /* not in its class's queue: `park` says where */
    TASK_OWN_LIMITER = 1u << 9, /* not its agent's */
    TASK_TOLD_READY = 1u << 10, /* while loading: ready_clock is what was told */
    TASK_LISTED = 1u << 11,     /* in the list of those that lack a prerequisite */
    TASK_REWIRED = 1u << 13,    /* with CHANGED: so are its dependencies */
    TASK_CHANGED = 1u << 12,    /* noted for core_take_changes */
    TASK_BOUND = 1u << 14,      /* no other agent takes it over */
};

#define TASK_KEEPS (KEEP_ALL << TASK_KEEPS_SHIFT)

struct task {
    task_id id;
    time_ms created_at;
    time_ms enqueued_at; /* of a ready or starting task when it became ready; else created_at */
    time_ms ready_clock; /* its domain's clock when it became ready */
    time_ms not_before;  /* when it leaves `held` or `draining`; 0 = not by itself */
    uint64_t look;       /* the caller's: see core_set_look */
    uint32_t project;    /* index */
    uint32_t cls;        /* while ready */
    uint32_t park;       /* parked here, or woken from here */
    uint32_t run;        /* while live */
    uint32_t parent, first_child, last_child, next_sibling, prev_sibling;
    uint32_t needs, needed_by; /* edges: what it depends on, what depends on it */
    uint32_t unmet;            /* dependencies that are not done */
    uint32_t serial_key, workspace_key;
    uint32_t resources;                     /* handle in the slab of resource lists */
    uint32_t timer;                         /* position in the heap */
    uint32_t group, group_next, group_prev; /* its members: a list, by when they joined */
    uint32_t kind, agent, limiter;          /* indexes; limiter: own or its agent's */
    uint32_t iteration, attempt, parent_iteration;
    int32_t priority;
    int32_t retry_max;
    uint16_t depth;
    uint16_t failures, launch_failures, losses, restarts, breaker_openings;
    uint16_t flags;
    uint8_t state, hold, reason, until, parent_gate;
    uint8_t lack; /* enum lack, while listed */
};

/* What a waiting task lacks first. */
enum lack {
    LACK_NOTHING,
    LACK_DEPENDENCY,
    LACK_DEPENDENCY_HOPELESS, /* hopeless: waits for a task that ended otherwise than done */
    LACK_PARENT,
    LACK_PARENT_HOPELESS,
    LACK_ARTIFACT,
    LACK_MAX,
};

struct run {
    uint32_t task;
    uint32_t next, prev;     /* in its project's list of runs that are charged */
    uint32_t agent, limiter; /* indexes; a roster agent may bring its own limiter */
    uint8_t phase, wish, key_count;
    bool adopted;  /* it was live when its task was added: how long it had waited nobody knows */
    bool unasked;  /* draining, added so: its children may not be there yet */
    uint32_t tick; /* the tick its start was counted in; 0: none */
    uint16_t kept_new;         /* TASK_KEEPS bits that this start has set */
    uint32_t lender, borrower; /* the run whose places it uses, the one that uses its own; or 0 */
    uint8_t borrowed;          /* LEND bits: places of its lender, who has them again afterwards */
    bool no_api;         /* it validates, or did when it was told to stop: it needs no limiter */
    task_id told_lender; /* while loading: whom the row names */
    time_ms started_at;
    int64_t reported;         /* tokens so far; -1: none yet */
    int64_t money;            /* the same, millionths of a dollar */
    uint32_t keys[NEEDS_MAX]; /* places it holds until its end */
};

/* A limited key: so many places, so many held. */
struct key {
    uint8_t kind; /* enum lease_kind */
    sym name, project, kind_name;
    amount cap;
    amount held;
    amount outside;                /* taken by what the core did not order */
    task_id outside_task;          /* workspace: locked by this task, and free for it */
    uint32_t parks;                /* first of its parks */
    bool claimed;                  /* one place is reserved for the task of the claim */
    uint32_t owner;                /* project index for per-project keys */
    uint32_t users;                /* rare keys: tasks that name it */
    bool told;                     /* rare keys: by a fact of its own */
    uint32_t crowds;               /* workspace: first of those that name it */
    uint32_t next_full, prev_full; /* workspace without a place: in the list of those */
};

/* One wait clock (struct wait_key, queue.h): struct wait_spec says how it goes. */
struct domain {
    uint32_t limiter, agent;
    uint32_t next; /* in the project's list */
    bool closed, told, changed;
    time_ms lost, closed_since;
};

struct bucket {
    int64_t number;
    int64_t share, reported; /* tokens: for the shares, for the budgets */
    int64_t money;           /* millionths of a dollar */
    uint32_t reports, starts, completions;
    uint32_t priced, unpriced; /* ended runs that told their cost, and that did not */
};

struct window {
    struct bucket sum;
    struct bucket *buckets; /* oldest first */
    size_t first, count, capacity;
};

/* What every decision looks at comes first. */
struct project {
    struct project_spec spec;
    uint32_t best; /* cached first task in order, or 0 */
    uint32_t key;
    uint64_t best_epoch;
    time_ms best_until;
    int64_t reserved; /* charges of its live and external runs */
    __int128 deficit; /* scratch of one decision */
    struct window window;

    uint32_t key_workspaces, key_review;
    uint32_t *classes; /* those with tasks in their queue */
    size_t class_count, class_capacity;
    uint32_t domains;
    uint32_t ready, live, external, external_roots;
    uint32_t lacking[LACK_MAX]; /* those that are listed as waiting */
    uint32_t active_position;   /* in the list of projects with a class in the queue, + 1 */
    uint32_t runs;              /* first of those that are charged */
    int64_t estimate;           /* of each of them */
    bool counted;               /* in the sums W and T */
    int64_t counted_weight, counted_tokens;
    uint32_t by_state[TASK_STATE_MAX];
};

struct kind {
    struct kind_spec spec;
    uint32_t key;
    uint32_t queued; /* waiting and ready */
};

struct agent {
    struct agent_spec spec;
    uint32_t key;
    uint32_t limiter;
    uint32_t launch_failures;
    uint32_t openings;
    time_ms closed_until; /* 0: open */
    bool changed;         /* noted for core_take_changes */
};

struct limiter {
    struct limiter_spec spec;
    uint32_t key;
    uint32_t ready;
    time_ms backoff_since; /* beginning of the current backoff */
    bool in_backoff;       /* hit, and no success cleared it since */
    time_ms last_hit;
    bool ramping; /* since the success that cleared it */
    time_ms ramp_since;
    bool changed; /* noted for core_take_changes */
};

struct edge {
    uint32_t task, on;             /* task depends on `on` */
    uint32_t next_need;            /* list of `task` */
    uint32_t next_user, prev_user; /* list of `on` */
};

struct resource_list {
    uint8_t count;
    uint32_t keys[RESOURCES_MAX];
};

struct group {
    uint32_t open, total;
    uint32_t failed; /* final, and not done */
    uint32_t drafts;
    uint32_t last; /* who joined last */
};

/* From a symbol to an index. */
struct by_symbol {
    uint32_t *index;
    size_t capacity;
};

/* What must be written down since it was last taken. */
struct changes {
    bool on;
    task_id *tasks;
    size_t task_count, task_capacity;
    struct usage_spec *usage;
    size_t usage_count, usage_capacity;
};

struct claim {
    uint32_t task;
    uint32_t keys[NEEDS_MAX];
    uint8_t count;
};
