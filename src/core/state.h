/* state.h: the records of the core and access to them. Private to core/.
 *
 * Tasks, runs, keys, parks, lanes, classes, crowds, domains and edges are in slabs, the others in
 * arrays.
 * Handle 0 is "none"; index 0 of an array is a neutral entry: "no kind", and for projects the sum
 * of all of them.
 *
 * A waiting task costs its record, about 10 bytes in the lists of its class and 7 in the map from ids
 * to handles; more only with links to other tasks or a history. Its name, title and prompt
 * are not in the core. */
#pragma once

#include "base/id_map.h"
#include "base/number_map.h"
#include "base/order_list.h"
#include "base/slab.h"
#include "base/timer_heap.h"
#include "base/winner_tree.h"
#include "core/core.h"

#define NEEDS_MAX (9 + RESOURCES_MAX)

#define TASK_KEEPS_SHIFT 4 /* from enum keep */

enum task_flag {
    TASK_PARALLELIZABLE = 1u << 0,
    TASK_REVIEW = 1u << 1,
    TASK_ARTIFACT_MISSING = 1u << 2,
    TASK_HAS_PARENT = 1u << 3,
    /* task:ID, from the first start until final or draft */
    TASK_KEEPS_LEASE = KEEP_TASK << TASK_KEEPS_SHIFT,
    TASK_KEEPS_ROOTS = KEEP_ROOTS << TASK_KEEPS_SHIFT,
    TASK_KEEPS_REVIEW = KEEP_REVIEW << TASK_KEEPS_SHIFT,
    TASK_KEEPS_WORKSPACE = KEEP_WORKSPACE << TASK_KEEPS_SHIFT,
    TASK_PARKED = 1u << 8,        /* not in its class's queue: `park` says where */
    TASK_OWN_LIMITER = 1u << 9,   /* its own, not its agent's */
    TASK_LOADED_READY = 1u << 10, /* while loading: it was ready, its ready_clock is set */
    TASK_LISTED = 1u << 11,       /* in core.waiting */
    TASK_CHANGED = 1u << 12,      /* in core.changes */
    TASK_REWIRED = 1u << 13,      /* with CHANGED: its dependencies changed too */
    TASK_BOUND = 1u << 14,        /* no other agent takes it over */
    TASK_PROBE_CLOSED = 1u << 15, /* its probe has not succeeded */
};

#define TASK_KEEPS (KEEP_ALL << TASK_KEEPS_SHIFT)

#define RETRY_MAX_DEFAULT UINT16_MAX

struct task {
    task_id id;
    time_ms created_at;
    time_ms enqueued_at; /* of a ready or starting task when it became ready; else created_at */
    time_ms ready_clock; /* its domain's clock when it became ready */
    uint32_t tag;        /* owned by the caller: see core_set_tag */
    uint32_t project;    /* index */
    uint32_t cls;        /* while ready */
    uint32_t park;       /* parked here, or woken from here */
    uint32_t run;        /* while live */
    uint32_t links;      /* struct task_links; 0: it has none */
    uint32_t history;    /* struct task_history; 0: it has none */
    uint32_t serial_key, workspace_key;
    uint32_t resources;            /* handle in the slab of resource lists */
    uint32_t kind, agent, limiter; /* indexes; limiter: own or its agent's */
    uint32_t attempt;
    int32_t priority;
    uint16_t retry_max; /* RETRY_MAX_DEFAULT: as in the policy */
    uint16_t depth;
    uint16_t flags;
    uint8_t state, hold, reason;
    uint8_t until : 3, parent_gate : 2;
    uint8_t lack : 3; /* enum lack, while listed */
};
_Static_assert(sizeof(struct task) == 104, "a waiting task costs memory a million times");

/* Of a task that other tasks, or a group, are linked with. Read by links_of, written by
 * links_own. */
struct task_links {
    uint32_t parent, first_child, last_child, next_sibling, prev_sibling;
    uint32_t parent_iteration;
    uint32_t needs, needed_by;              /* edges: its dependencies, its dependants */
    uint32_t unmet;                         /* dependencies that are not done */
    uint32_t group, group_next, group_prev; /* list of members, in joining order */
};

/* Of a task that had a timer, a failure or a second iteration. Read by history_of, written by
 * history_own. */
struct task_history {
    time_ms not_before; /* when it leaves `held` or `draining`; 0: not by itself */
    uint32_t timer;     /* position in the heap */
    uint32_t iteration; /* from 1 */
    uint16_t failures, launch_failures, losses, restarts, breaker_openings;
};

/* The first prerequisite that a waiting task lacks. */
enum lack {
    LACK_NOTHING,
    LACK_DEPENDENCY,
    LACK_DEPENDENCY_HOPELESS, /* it ended without being done */
    LACK_PARENT,
    LACK_PARENT_HOPELESS,
    LACK_ARTIFACT,
    LACK_PROBE,
    LACK_MAX,
};

struct run {
    uint32_t task;
    uint32_t next, prev;     /* in its project's list of charged runs */
    uint32_t agent, limiter; /* indexes; a roster agent may bring its own limiter */
    uint8_t phase, stop, key_count;
    bool adopted;          /* it was live when its task was added: its earlier wait is unknown */
    bool children_unknown; /* draining when its task was added: its children may come later */
    uint32_t tick;         /* the tick its start was counted in; 0: none */
    uint16_t kept_new;     /* TASK_KEEPS bits that this start has set */
    uint32_t lender, borrower; /* the run whose slots it uses, the run that uses its slots; or 0 */
    uint8_t borrowed;          /* LEND bits: slots that go back to its lender */
    bool no_api;               /* it validates, or did when stopped: it needs no limiter */
    task_id loaded_lender;     /* while loading */
    time_ms started_at;
    int64_t reported;         /* tokens so far; -1: none yet */
    int64_t money;            /* the same, millionths of a dollar */
    int64_t expected;         /* money; 0: the mean of its project */
    uint32_t keys[NEEDS_MAX]; /* it holds a slot on each until its end */
};

/* A limited key: `cap` slots, of which `held + external` are taken. */
struct key {
    uint8_t kind; /* enum lease_kind */
    sym name, project, kind_name;
    amount cap;
    amount held;
    amount external;               /* taken by runs that the core did not order, or by a lock */
    task_id locked_by;             /* workspace: locked by this task, and free for it */
    uint32_t parks;                /* first of its parks */
    bool claimed;                  /* one slot is reserved for the task of the claim */
    uint32_t owner;                /* project index of per-project keys */
    uint32_t users;                /* rare keys: tasks that name it */
    bool configured;               /* rare keys: a FACT_RESOURCE has set the cap */
    uint32_t crowds;               /* workspace: first of those that name it */
    uint32_t next_full, prev_full; /* workspace without a free slot: in core.full_workspaces */
};

/* One wait clock (struct wait_key); see struct wait_spec. */
struct domain {
    uint32_t limiter, agent;
    uint32_t next; /* in the project's list */
    bool closed, restored, changed;
    time_ms lost, closed_since;
};

/* Usage of one project. `at` of a bucket is its beginning; `project` is not set. */
struct window {
    struct usage_spec sum;
    struct usage_spec *buckets; /* oldest first */
    size_t first, count, capacity;
};

/* Comparing two projects reads the members from `counted_weight` to the beginning of `window`: one
 * or two cache lines of each. In entry 0, `spec` holds the global budgets and `window` the usage
 * without a project. */
struct project {
    struct project_spec spec;
    uint32_t key, key_workspaces, key_review;
    uint32_t best; /* its first task in order, while it takes part in core.project_tree */
    bool counted;  /* in the sums W and T */
    int64_t counted_weight, counted_tokens;
    struct window window;

    int64_t reserved; /* charges of its live and external runs */
    struct winner_tree lane_tree;
    uint32_t domains;
    uint32_t ready, live, external, external_roots;
    uint32_t lacking[LACK_MAX]; /* its tasks in core.waiting */
    uint32_t active_position;   /* in core.active, while it has a ready task */
    uint32_t runs;              /* first of its charged runs */
    int64_t estimate;           /* of each of them */
    bool guesses;               /* is in core.guessing */
    uint32_t next_guessing, prev_guessing;
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
    bool changed; /* since core_take_changes */
};

struct limiter {
    struct limiter_spec spec;
    uint32_t key;
    uint32_t ready;
    bool ramping;           /* since spec.ramp_since */
    time_ms reserved_until; /* the rest of a window is reserved for its owner; 0: none is */
    bool changed;           /* since core_take_changes */
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

/* Of a task with a list of its own, or with verified failures. */
struct escalation {
    task_id task;
    struct escalation_spec spec;
};

struct group {
    struct group_view view;
    uint32_t drafts;
    uint32_t last; /* the member that joined last */
};

struct by_symbol {
    uint32_t *index;
    size_t capacity;
};

/* Changes since core_take_changes. */
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

/* Tasks of one class that wait for the same rare key, best first. */
struct park {
    uint32_t key, cls;
    uint32_t next, prev; /* in the key's list */
    uint32_t awake;      /* number that are back in their class and have not left it since */
    uint32_t awake_created, awake_ready; /* the first of them in each order, or 0 */
#define PARK_LISTS(X) X(by_created) X(by_ready)
    struct order_list by_created, by_ready;
};

/* Classes that are stopped by the same gates and shared keys: all of them, or none. A project has
 * few lanes, and keeps them when they are empty. */
struct lane {
    struct lane_key {
        uint32_t project, kind, agent, limiter;
        uint16_t needs_kept; /* TASK_KEEPS bits its tasks must still acquire */
        bool bound;          /* to its agent: by its command, or by a limiter of its own */
    } key;
    bool shut;     /* in core.shut_lanes: a gate or key was found to stop it */
    uint32_t best; /* its first class in order, while it takes part in its project's tree */
    uint32_t slot; /* in its project's tree */
    uint32_t next_shut;
    struct winner_tree class_tree;
};

/* Ready tasks of one lane that compare equal except for age. */
struct queue_class {
    uint32_t lane;
    int32_t priority;
    uint32_t depth;
    uint32_t head; /* its first task in order, while it takes part in its lane's tree */
    int64_t penalty;
    uint32_t domain; /* the same for all of its lane; 0: the record is free */
    uint32_t slot;   /* in its lane's tree */
    uint32_t parks;  /* number of parks that name it */
    uint32_t crowds; /* first of those without a workspace */
#define CLASS_LISTS(X) X(by_created) X(by_ready) X(parked_by_created) X(parked_by_ready)
    struct order_list by_created, by_ready, parked_by_created, parked_by_ready;
};

/* The tasks of one class that name the same rare keys. */
struct crowd {
    uint32_t cls, serial, workspace;
    uint32_t resources; /* a list of its own, or 0 */
    uint32_t count;
    uint32_t next, prev; /* of its workspace, else of its class */
};

struct core {
    struct symbol_table symbols;
    struct policy policy;
    time_ms now;
    bool paused, clock_set;
    bool loading;       /* stored rows are being applied: nothing is derived from them yet */
    struct pause pause; /* with paused */
    struct host_spec host;

    struct slab tasks, links, histories, runs, keys, parks, lanes, classes, crowds, domains, edges,
        resource_lists, escalations;
    struct number_map task_map;
    struct id_map lane_map, class_map, crowd_map, serial_map, escalation_map;
    struct by_symbol project_of, kind_of, agent_of, limiter_of, resource_of, workspace_of;
    struct project *projects;
    struct kind *kinds;
    struct agent *agents;
    struct limiter *limiters;
    struct group *groups;
    size_t project_count, project_capacity, kind_count, kind_capacity, agent_count, agent_capacity,
        limiter_count, limiter_capacity, group_count, group_capacity;
    uint32_t *active; /* projects with a ready task, unordered */
    size_t active_count, active_capacity;
    uint32_t roster_count; /* agents that are workers of a roster */
    uint32_t list_count;   /* agents that name others to fail over to */

    uint32_t key_runs, key_roots;
    uint32_t live_roots;      /* live tasks without a parent */
    uint32_t waiting_runs;    /* runs in PHASE_WAITING: those that may lend */
    uint32_t full_keys;       /* keys without a free slot, except key_runs */
    uint32_t full_workspaces; /* first of the workspaces without a free slot */
    struct timer_heap timers;
    uint32_t by_state[TASK_STATE_MAX];
    uint32_t ready;
    int64_t reserved;                   /* charges of all live runs */
    struct usage_spec window_sum;       /* of all projects */
    time_ms window_end;                 /* beginning of the newest bucket */
    int64_t share_weight, share_tokens; /* W and T */
    uint32_t share_count;
    uint32_t guessing; /* first of the projects with live runs that have no mean of their own */
    uint32_t walk;     /* number of the last walk: see `seen` */
    int64_t document_weight, document_tokens, document_count; /* W and T of this decision */

    struct winner_tree project_tree; /* slot: index − 1 */
    uint64_t epoch;       /* rises when lanes may open or compare differently: see ready_first.h */
    uint64_t known_epoch; /* the trees are up to date with it */
    uint32_t shut_lanes;  /* first of them */
    bool lanes_may_open;  /* a shared key has got a free slot: the shut lanes are checked again */
    bool weights_equal;   /* W was 0 when projects were compared last */
    struct claim_spec loaded_claim; /* while loading */
    struct claim claim;
    time_ms overdue_from; /* no ready task is overdue before this time */
    time_ms tick_began, last_start;
    amount tick_starts;
    uint32_t tick_number;
    bool tick_running, tick_requested, ticked; /* ticked: last_start is set */
    struct {
        bool is_extra; /* this tick began only because of FACT_TICK; previous values: */
        bool was_running;
        time_ms began;
        amount starts;
    } tick_before;
    bool pace_changed; /* since core_take_changes */

    struct order_list waiting; /* tasks that lack a prerequisite, by age */
    struct changes changes;

    struct order *orders;
    size_t order_count, order_capacity;
    bool orders_given; /* the list was returned; the next order begins a new list */
    uint32_t *adopted; /* draining tasks that were added: rechecked when their children are known */
    size_t adopted_count, adopted_capacity;
    uint32_t *seen; /* per task: the last walk that visited it */
    size_t seen_capacity;
    uint32_t *pending; /* tasks to recheck before core_apply returns */
    size_t pending_count, pending_capacity;
    uint32_t *taken; /* tasks that are taken over and queued or live; may have others, too */
    size_t taken_count, taken_capacity;
};

static inline struct task *task_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->tasks, handle);
}
extern const struct task_links task_no_links;
extern const struct task_history task_no_history;
static inline const struct task_links *links_of(const struct core *c, const struct task *t) {
    return t->links ? slab_at(&c->links, t->links) : &task_no_links;
}
static inline const struct task_links *links_at(const struct core *c, uint32_t handle) {
    return links_of(c, task_at(c, handle));
}
static inline const struct task_history *history_of(const struct core *c, const struct task *t) {
    return t->history ? slab_at(&c->histories, t->history) : &task_no_history;
}
/* 0: it is absent. */
static inline uint32_t iteration_of(const struct core *c, const struct task *t) {
    return t->state == TASK_ABSENT ? 0 : history_of(c, t)->iteration;
}
/* To write: the record is created if needed, and lives as long as the task. */
struct task_links *links_own(struct core *c, uint32_t handle);
struct task_history *history_own(struct core *c, uint32_t handle);
static inline struct run *run_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->runs, handle);
}
static inline struct key *key_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->keys, handle);
}
static inline struct lane *lane_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->lanes, handle);
}
static inline struct queue_class *class_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->classes, handle);
}
static inline struct crowd *crowd_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->crowds, handle);
}
static inline struct park *park_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->parks, handle);
}
static inline struct domain *domain_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->domains, handle);
}
static inline struct edge *edge_at(const struct core *c, uint32_t handle) {
    return slab_at(&c->edges, handle);
}

uint32_t by_symbol_get(const struct by_symbol *map, sym name); /* 0: not there */
void by_symbol_set(struct by_symbol *map, sym name, uint32_t index);

/* --- changes for the store ---------------------------------------------------------------------
 *
 * Code that changes anything a new core has to load reports it here; core_take_changes returns it.
 * Off until core_watch: a simulation stores nothing. */

void changes_add_task(struct core *c, uint32_t task);

static inline void task_changed(struct core *c, uint32_t task) {
    if (c->changes.on && !c->loading && !(task_at(c, task)->flags & TASK_CHANGED))
        changes_add_task(c, task);
}

static inline void task_depends_changed(struct core *c, uint32_t task) {
    task_changed(c, task);
    if (c->changes.on && !c->loading)
        task_at(c, task)->flags |= TASK_REWIRED;
}

/* `what` was added to the bucket that begins at `at`; sign -1: subtracted. */
void usage_changed(struct core *c, uint32_t project, time_ms at, const struct usage_spec *what,
                   int sign);
