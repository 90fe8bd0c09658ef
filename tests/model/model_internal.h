/* model_internal.h: what the model remembers, and what its files ask of each other.
 *
 * Everything is an array in the order in which it was applied. Pointers into the arrays are valid
 * until something is added to or removed from that array. */
#pragma once

#include "model.h"

struct model_dependency {
    task_id task;
    bool met_for_good; /* it was done when it was deleted or forgotten */
};

/* The run that a live task has. */
struct model_run {
    sym agent, limiter;
    time_ms started_at;
    int64_t reported, money; /* so far; money -1: unknown */
    int64_t expected;        /* money; 0: unknown */
    bool has_reported;
    enum stop_request stop;     /* the higher one wins */
    bool had_roots, had_review; /* before the order, for its refusal */
    bool adopted;               /* it was live when its task was added */
    task_id lender;             /* whose places it uses, or 0 */
    unsigned borrowed;          /* enum lend: which of them */
};

struct model_task {
    struct task_spec s; /* as it is now; its two lists are below */
    struct model_dependency *dependencies;
    sym *resources;
    uint32_t openings;               /* of its breaker, in a row */
    bool parent_was_done;            /* when the parent was forgotten */
    time_ms ready_mark, enqueued_at; /* its clock when it became ready, and the time then */
    time_ms drain_until, pause;      /* pause: that the last end of a run asked for */
    bool drain_unasked;              /* added as draining: its children may not be there yet */
    bool keeps_roots, keeps_review, keeps_workspaces;
    struct model_run run; /* while live */
};

struct model_project {
    struct project_spec spec;
    uint32_t external, external_roots; /* runs the core did not order */
};

/* The launches of an agent, known or not. */
struct model_breaker {
    sym agent;
    amount launch_failures; /* in a row */
    uint32_t closings;      /* in a row */
    time_ms closed_until;
};

struct model_limiter {
    sym id;
    struct limiter_policy policy;
    bool hit; /* and no success since that cleared it */
    uint32_t hits;
    time_ms began, until, last_hit;
    bool ramped;
    time_ms ramp_from;
    bool closed;
    uint32_t external;
    struct quota quota[QUOTA_WINDOW_MAX];
    time_ms hours_until;
};

struct model_resource {
    sym id;
    amount cap;
};

struct model_workspace {
    sym id;
    task_id locked_by;
    bool locked;
};

/* How long tasks of a project with this limiter (and this agent) have waited in all. */
struct model_clock {
    sym project, limiter, agent; /* agent: whose list of others or hours count, or 0 */
    time_ms reading;
};

/* Something that counts in the window. */
struct model_event {
    time_ms at;
    sym project;
    int64_t share, reported;   /* tokens: for the shares, for the budgets */
    uint32_t reports;          /* runs that reported */
    int64_t money;             /* millionths of a dollar */
    uint32_t priced, unpriced; /* runs that reported their cost, and that did not */
    uint32_t starts, completions, attempt;
    task_id task; /* a start: which, so that a refusal can take it back */
};

/* A start, for the pace. */
struct model_start {
    task_id task;
    uint32_t attempt;
    time_ms at;
    uint64_t tick; /* 0: it was refused */
};

/* A limited key. */
struct model_key {
    enum lease_kind kind;
    sym name;
    sym project, task_kind; /* with LEASE_SERIAL */
};

#define MODEL_KEYS_MAX 32

struct model_claim {
    task_id task; /* 0: no task has it */
    struct model_key reserved[MODEL_KEYS_MAX];
    size_t count;
};

/* Sums over the projects that are compared. */
struct model_totals {
    int64_t weight, tokens;
    bool equal; /* all weights are 0 */
};

#define MODEL_LIST(type, name)                                                                     \
    type *name;                                                                                    \
    size_t name##_count, name##_capacity

struct model {
    struct policy policy;
    time_ms now;
    bool paused;
    amount budget;
    struct money_budget money_budget;
    int64_t disk_free_mb, memory_free_mb, load_milli;
    uint32_t external, external_roots; /* of no project that is known */
    MODEL_LIST(struct model_task, tasks);
    MODEL_LIST(struct model_project, projects);
    MODEL_LIST(struct kind_spec, kinds);
    MODEL_LIST(struct agent_spec, agents);
    MODEL_LIST(struct model_breaker, breakers);
    MODEL_LIST(struct model_limiter, limiters);
    MODEL_LIST(struct model_resource, resources);
    MODEL_LIST(struct model_workspace, workspaces);
    MODEL_LIST(struct model_clock, clocks);
    MODEL_LIST(struct model_event, events);
    MODEL_LIST(struct model_start, starts);
    MODEL_LIST(struct order, orders);
    bool orders_read; /* the list was handed out: the next order begins a new one */
    bool tick_wanted, ticked;
    uint64_t tick;
    time_ms tick_began;
    struct model_claim claim;
    struct model_totals frozen; /* document mode: as at the beginning of the decision */
};

/* Appends a zeroed item and returns it. */
#define MODEL_ADD(m, name)                                                                         \
    ({                                                                                             \
        (m)->name =                                                                                \
            xgrow((m)->name, &(m)->name##_capacity, (m)->name##_count + 1, sizeof((m)->name[0]));  \
        memset(&(m)->name[(m)->name##_count], 0, sizeof((m)->name[0]));                            \
        &(m)->name[(m)->name##_count++];                                                           \
    })

/* model.c */
struct model_task *model_find(const struct model *m, task_id id);
struct model_project *model_project(const struct model *m, sym id);
const struct kind_spec *model_kind(const struct model *m, sym id);
const struct agent_spec *model_agent(const struct model *m, sym id);
struct model_breaker *model_breaker(struct model *m, sym agent);
struct model_limiter *model_limiter(const struct model *m, sym id);

/* model_world.c */
int model_apply_world(struct model *m, const struct fact *fact, struct error *err);
time_ms model_clock(const struct model *m, const struct model_task *t); /* by which it waits */
void model_clock_begin(struct model *m, const struct model_task *t);

/* model_task.c: states, and what follows from one */
bool model_is_draining(const struct model_task *t);
bool model_has_run(const struct model_task *t); /* live and not draining */
void model_push(struct model *m, const struct order *order);
void model_change(struct model *m, struct model_task *t, enum task_state to, enum reason reason);
bool model_is_taken(const struct model_task *t);
void model_take(struct model *m, struct model_task *t); /* queues it for the person who takes it */
void model_hold(struct model *m, struct model_task *t, enum hold hold, time_ms until,
                enum reason reason);
bool model_is_held_for_people(const struct model_task *t); /* for review, or to be closed */
bool model_may_fail_by_dependency(const struct model_task *t);
bool model_dependency_met(const struct model *m, const struct model_dependency *d);
bool model_parent_met(const struct model *m, const struct model_task *t);
bool model_is_kept_by_children(const struct model *m, const struct model_task *t);
/* A task that was just added: ready or waiting, which is no change. */
void model_find_out_state(struct model *m, struct model_task *t, time_ms ready_since);
void model_settle(struct model *m);
void model_raise_iteration(struct model *m, struct model_task *t);
void model_invalidate(struct model *m, task_id id); /* with all its descendants, they first */
void model_orphan(struct model *m, task_id id);     /* the descendants only */
void model_drop_counters(struct model_task *t);
void model_order_stop(struct model *m, struct model_task *t, enum stop_request stop);

/* model_asked.c, model_add.c */
int model_apply_asked(struct model *m, const struct fact *fact, struct error *err);
int model_apply_added(struct model *m, const struct task_spec *spec, struct error *err);
bool model_dependencies_close_a_circle(const struct model *m, task_id id, const task_id *items,
                                       size_t count);

/* model_run.c */
int model_apply_run(struct model *m, const struct fact *fact, struct error *err);

/* model_escalate.c */
void model_not_accepted(struct model *m, struct model_task *t, enum reason reason);
void model_own_agent_again(struct model_task *t);

/* model_limiter.c */
bool model_limiter_open(const struct model *m, sym limiter); /* regardless of its hours */
bool model_limiter_in_hours(const struct model *m, sym limiter);
bool model_agent_in_hours(const struct model *m, sym agent);
sym model_clock_agent(const struct model *m, const struct model_task *t);
amount model_limiter_cap(const struct model *m, sym limiter);
void model_limiter_hit(struct model *m, sym limiter, time_ms run_started, time_ms retry_after,
                       time_ms reset_at);
void model_limiter_success(struct model *m, sym limiter, time_ms run_started);
void model_limiter_clear(struct model_limiter *l);
time_ms model_doubled(time_ms base, uint64_t times, time_ms most);

/* model_gate.c */
bool model_has_roster(const struct model *m);
bool model_is_idle(const struct model *m, const struct agent_spec *agent);
bool model_agent_open(const struct model *m, sym agent);
sym model_limiter_of(const struct model *m, const struct model_task *t, sym agent);
size_t model_keys(const struct model *m, const struct model_task *t, sym agent,
                  struct model_key ret[MODEL_KEYS_MAX]);
amount model_key_cap(const struct model *m, const struct model_key *key);
bool model_has_place(const struct model *m, const struct model_key *k, const struct model_task *t);
bool model_lacks(const struct model *m, const struct model_key *key,
                 const struct model_task *asking);
bool model_locked_outside(const struct model *m, sym name, const struct model_task *asking);
bool model_key_same(const struct model_key *a, const struct model_key *b);
bool model_world_open(const struct model *m, const struct model_clock *clock);
bool model_stopped_before_leases(const struct model *m, const struct model_task *t, sym agent,
                                 struct model_block *ret);
bool model_stopped(const struct model *m, const struct model_task *t, sym agent,
                   struct model_block *ret);

/* model_share.c */
int64_t model_charge(const struct model *m, const struct model_task *t);
struct model_event model_window(const struct model *m, sym project);
bool model_can_correct(const struct model *m, const struct usage_spec *u);
int64_t model_tokens(const struct model *m, sym project);
bool model_budget_open(const struct model *m);
bool model_project_budget_open(const struct model *m, const struct model_project *p);
struct model_totals model_totals(const struct model *m);

/* model_order.c */
uint32_t model_depth(const struct model *m, const struct model_task *t);
int32_t model_score(const struct model *m, const struct model_task *t);
time_ms model_waited(const struct model *m, const struct model_task *t);
bool model_overdue(const struct model *m, const struct model_task *t);
/* The ready tasks in order: indices, which the caller frees. */
size_t *model_sorted(const struct model *m, size_t *ret_count);
