/* core.h: facts in, orders and reasons out.
 *
 * Life:       core_new → core_apply (any number of facts) → core_decide → carry out its orders
 *             → core_apply (what happened) → … → core_free
 * A turn:     apply FACT_CLOCK once, then everything that happened, then call core_decide once.
 * Pure:       no clock, no I/O, no randomness, no logging. The same facts give the same orders.
 * Cost:       applying a fact is proportional to what it touches (a task's dependants, children); a
 *             decision to the projects and classes that changed since the last one, times the
 *             logarithm of how many there are. Nothing walks the waiting tasks.
 * Orders:     when a START is returned, it already holds its leases, attempt and reservation. It is
 *             then confirmed (FACT_RUN_STARTED), refused (FACT_ORDER_REFUSED: all three are
 *             released), or failed (FACT_RUN_ENDED with OUTCOME_LAUNCH).
 * Restart:    FACT_LOADING; the clock and the world; usage, waits, pace; FACT_TASK_ADDED for each
 *             stored task in id order, FACT_RUN_TOKENS for what a live run has reported;
 *             FACT_LOADED. "State to store" has the values. The new core decides like the old. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "core/fact.h"
#include "core/order.h"

struct core;

struct core *core_new(void);
void core_free(struct core *core);

/* Names of projects, kinds, agents, limiters, resources, workspaces and phases. */
struct symbol_table *core_symbols(struct core *core);

/* 0: applied. 1: late or duplicate, ignored. <0: refused with a message, nothing changed. */
int core_apply(struct core *core, const struct fact *fact, struct error *err);

/* Decides at the current clock. Returns all orders since the last call: first the changes caused by
 * facts, then what starts now. The list is valid until the next core_apply or core_decide. */
const struct order *core_decide(struct core *core, size_t *ret_count);

/* The earliest time at which a decision could differ without a new fact; TIME_NEVER: none. */
time_ms core_next_wakeup(const struct core *core);

/* --- why ------------------------------------------------------------------------------------- */

/* The state of one gate for one task. */
struct verdict {
    enum gate gate;
    bool open;
    bool ramping;  /* with LEASE_LIMITER: the cap is temporarily reduced */
    bool inactive; /* with GATE_PROJECT: the project is inactive */
    bool closed;   /* with GATE_LIMITER: until it is cleared */
    bool reserved; /* with GATE_LIMITER: the rest of `window` is; used and cap in percent */
    enum quota_window window;
    bool money; /* with the budgets: a money budget; used and cap in millionths of a dollar */
    enum lease_kind lease; /* with GATE_LEASE; with GATE_HOURS whose: project, agent, limiter */
    sym key;               /* name of the lease, limiter, agent or project */
    sym key_project;       /* with LEASE_SERIAL: project/phase/kind */
    sym key_kind;
    enum task_state about_state;
    enum hold hold;
    /* Unmet dependencies. With GATE_LIMITER and an agent's GATE_BREAKER: the failover agents, all
     * of which are closed. */
    uint32_t count;
    uint32_t floors; /* with GATE_HOST: violated floors; 1 << enum host_floor */
    task_id about;   /* the dependency, the parent, the task with the reservation; or 0 */
    /* With leases and budgets. With GATE_HOST: values of the first violated floor, in MB or, for
     * the load, in thousandths. */
    amount used, cap;
    struct pause pause; /* with GATE_PAUSED and GATE_PROJECT */
    time_ms span;       /* with the budgets: length of their window */
    time_ms opens_at;   /* TIME_NEVER: unknown */
};

#define VERDICT_MAX 40

/* All gates of a task, in order. Fills at most VERDICT_MAX; returns the number, 0 if the task is
 * unknown. */
size_t core_explain(const struct core *core, task_id task, struct verdict ret[VERDICT_MAX]);

/* The first closed gate. False: none (the task runs, is final, or will start in this turn). */
bool core_blocked(const struct core *core, task_id task, struct verdict *ret);

/* Maps task ids to display names. */
struct task_names {
    const char *(*name)(const void *ctx, task_id task);
    const void *ctx;
};

/* Machine-readable, e.g. "lease:kind:plan"; compared by tests. */
void verdict_code(const struct verdict *v, const struct symbol_table *symbols, struct strbuf *out);
/* Human-readable: names the key and what clears it. */
void verdict_message(const struct verdict *v, const struct symbol_table *symbols,
                     const struct task_names *names, struct strbuf *out);
/* The same for GATE_LIMITER, without what clears it. */
void verdict_account(const struct verdict *v, const struct symbol_table *symbols,
                     struct strbuf *out);

/* --- state to store -------------------------------------------------------------------------- */

/* The FACT_TASK_ADDED that restores the task in a new core, without its two lists. What a live run
 * has reported is in core_task. False: no such task. */
bool core_task_spec(const struct core *core, task_id task, struct task_spec *ret);
/* An opaque number of the caller, returned in the task's spec. */
void core_set_tag(struct core *core, task_id task, uint32_t tag);
/* Fills at most `max`; returns the total. Excludes dependencies that were done when they were
 * forgotten or deleted. */
size_t core_task_depends(const struct core *core, task_id task, task_id *ret, size_t max);
/* Tasks that depend on it, in any state. */
size_t core_task_dependants(const struct core *core, task_id task, task_id *ret, size_t max);
size_t core_task_resources(const struct core *core, task_id task, sym *ret, size_t max);
/* Fills at most `max` children, oldest first; returns the number filled. */
size_t core_task_children(const struct core *core, task_id task, task_id *ret, size_t max);
/* Fills at most `max` non-final tasks that wait for it to be done: its dependants, then its
 * children with gate `done`. Returns the number filled. Considers the first thousand of each. */
size_t core_task_waiters(const struct core *core, task_id task, task_id *ret, size_t max);
/* For a task that is neither live nor final: its parent and dependencies that ended without being
 * done. */
void core_each_failed_prerequisite(const struct core *core, task_id task,
                                   void (*each)(void *ctx, task_id), void *ctx);
/* All its dependants, final or not; O(dependants). */
void core_each_dependant(const struct core *core, task_id task, void (*each)(void *ctx, task_id),
                         void *ctx);

bool core_agent_spec(const struct core *core, sym agent, struct agent_spec *ret);
bool core_limiter_spec(const struct core *core, sym limiter, struct limiter_spec *ret);

/* The buckets in the window, oldest first. project 0: usage without a project. */
typedef void (*core_usage_visitor)(void *ctx, const struct usage_spec *bucket);
void core_usage(const struct core *core, sym project, core_usage_visitor each, void *ctx);
typedef void (*core_wait_visitor)(void *ctx, const struct wait_spec *wait);
void core_waits(const struct core *core, core_wait_visitor each, void *ctx);
struct pace_spec core_pace(const struct core *core);

/* Reports each change since the last call that must be stored in this turn, once. Functions may be
 * NULL. */
struct core_changes {
    void (*task)(void *ctx, task_id task);    /* new, changed, or removed */
    void (*depends)(void *ctx, task_id task); /* just before `task`: its dependencies changed too */
    void (*agent)(void *ctx, sym agent);
    void (*limiter)(void *ctx, sym limiter);
    core_usage_visitor usage; /* the change to a bucket; may be negative */
    core_wait_visitor wait;
    void (*pace)(void *ctx, const struct pace_spec *pace); /* only while it is in force */
    void *ctx;
};
void core_watch(struct core *core); /* records changes from now on */
void core_take_changes(struct core *core, const struct core_changes *changes);

/* --- other cores ----------------------------------------------------------------------------- */

/* The copy decides as the original would, shares nothing with it, and records no changes until
 * core_watch. Costs a copy of its memory. */
struct core *core_copy(const struct core *core);

/* --- views ----------------------------------------------------------------------------------- */

struct task_view {
    task_id id;
    enum task_state state;
    enum hold hold;
    enum reason reason; /* of the last change */
    enum run_phase phase;
    enum until until;
    sym project, kind, agent, limiter, workspace;
    int32_t priority;
    int32_t score; /* now */
    uint32_t depth, iteration, attempt;
    uint16_t failures, launch_failures, losses, restarts;
    task_id parent;
    time_ms created_at, not_before;
    time_ms waited; /* time that counts for max_wait */
    bool overdue;
    time_ms started_at; /* of the live run */
    int64_t tokens;     /* reported by the live run so far; -1: none, or no live run */
    int64_t money;      /* the same, millionths of a dollar */
    int64_t expected;   /* money that the live run will cost; 0: as its project's runs do */
    task_id lender;     /* the task whose slots its run uses; or 0 */
    task_id borrower;   /* the task that uses the slots of its run; or 0 */
};

bool core_task(const struct core *core, task_id task, struct task_view *ret);

/* Runs that have or are getting a process; unordered. */
void core_each_run(const struct core *core, void (*each)(void *ctx, task_id task), void *ctx);

struct core_counts {
    uint32_t by_state[TASK_STATE_MAX];
    uint32_t hopeless; /* waiting for a dependency or parent that ended without being done */
    uint32_t classes, projects, keys;
    amount runs_used, runs_cap;
    size_t bytes; /* memory of the core */
};

void core_count(const struct core *core, struct core_counts *ret);

/* Slots of a limited key. False: no such key. */
bool core_lease(const struct core *core, enum lease_kind kind, sym name, amount *ret_used,
                amount *ret_cap);

/* A project's tokens and starts in the window, including charged runs. */
struct share_view {
    int64_t tokens;   /* ended runs in the window */
    int64_t reserved; /* charged to live runs */
    uint32_t starts, completions;
    uint32_t ready, live;
    uint32_t by_state[TASK_STATE_MAX];
    int64_t weight_milli;
    bool open; /* active and not paused */
};
bool core_share(const struct core *core, sym project, struct share_view *ret);

struct limiter_view {
    time_ms backoff_until; /* 0: open */
    uint32_t hits;
    amount used, cap, full_cap;
    bool closed, probing;
    time_ms last_success; /* of any run that used it; 0: none yet */
    struct {
        struct quota quota; /* used_milli 0: unknown, or the window has ended */
        amount reserve;     /* percent */
        bool reserved;      /* no more than that is left */
    } windows[QUOTA_WINDOW_MAX];
    time_ms reserved_until, hours_until; /* 0: open */
};
bool core_limiter(const struct core *core, sym limiter, struct limiter_view *ret);

/* The known tasks of a group. */
struct group_view {
    uint32_t total;
    uint32_t open;   /* not final */
    uint32_t failed; /* final, and not done */
};
struct group_view core_group(const struct core *core, uint32_t group);
/* Fills at most `max` of its tasks or, with drafts, of its drafts, latest to join first; returns
 * the total. O(members). */
size_t core_group_members(const struct core *core, uint32_t group, bool drafts, task_id *ret,
                          size_t max);

bool core_host_is_open(const struct core *core); /* no floor of the policy is violated */

/* --- the queue ------------------------------------------------------------------------------- */

/* Number of waiting and ready tasks of one kind (0: of all kinds). */
amount core_queue_depth(const struct core *core, sym kind);

/* Its position among the waiting and ready tasks, from 1; 0: it is neither. Ignores shares; exact
 * where the order is by id or age (docs/internals/rules.md §3). O(classes), not O(tasks). */
amount core_queue_position(const struct core *core, task_id task);

/* A non-final task depends on it, is its child, or is in its group: FACT_FORGET is refused. */
bool core_is_needed(const struct core *core, task_id task);

/* --- budgets --------------------------------------------------------------------------------- */

/* Usage that counts against a budget in the window: tokens, and millionths of a dollar. */
struct budget_view {
    int64_t used;     /* by ended runs that reported */
    int64_t live;     /* reported by live runs so far */
    int64_t reserved; /* charged to live and external runs, including their reports */
    amount budget;    /* UNLIMITED: none */
};
struct budgets_view {
    struct budget_view tokens, money;
    uint32_t priced, unpriced; /* ended runs that reported their cost, and that did not */
    bool counts_reserved;      /* the gate compares used + reserved, else used */
    bool open;
    time_ms span;     /* length of the window */
    time_ms opens_at; /* when closed; TIME_NEVER: unknown */
};
/* project 0: all projects. False: no such project. */
bool core_budgets(const struct core *core, sym project, struct budgets_view *ret);
/* Have reports of ended and live runs, without estimates, reached a budget? Free if there is no
 * budget. project 0: the global budget. */
bool core_budget_is_reached(const struct core *core, sym project);

/* --- waiting tasks --------------------------------------------------------------------------- */

/* Waiting and ready tasks: the oldest of each class, then the oldest that lack a prerequisite, then
 * the others. Fills at most `max`; returns the number filled. */
size_t core_waiting(const struct core *core, task_id *ret, size_t max);

/* Ready tasks: enough of each class to include the first `each` of the queue; a task may appear
 * twice. Fills at most `max`; if that is too few for all classes, behaves as core_waiting. Returns
 * the number filled. O(classes), not O(tasks). */
size_t core_waiting_first(const struct core *core, size_t each, task_id *ret, size_t max);

/* Visits tasks for every gate at which tasks wait: the `each` oldest of each class and of the tasks
 * refused by one rare key, and the `lacking` oldest that lack a prerequisite, except those that
 * need a failed task (considers at most twenty times as many). O(classes), not O(tasks). */
void core_each_queue_head(const struct core *core, size_t each, size_t lacking,
                          void (*head)(void *ctx, task_id task), void *ctx);

/* `more` tasks (waiting and ready) wait at the gate with the verdict_code of `first`, whose other
 * members are from one of them. Negative: a correction of an earlier call. */
typedef void (*core_waiting_visitor)(void *ctx, const struct verdict *first, int64_t more);

/* Counts waiting tasks by gate, in several calls per gate; omits tasks that no gate stops. Costs
 * the projects, classes and sets of rare keys, not the tasks, and explains at most `max` of them.
 * False: there are more, so the counts are incomplete, or the core is loading. */
bool core_waiting_by_gate(const struct core *core, size_t max, core_waiting_visitor each,
                          void *ctx);

/* --- failover -------------------------------------------------------------------------------- */

/* An agent may name failover agents, in order (struct agent_spec: failover). While it is closed
 * (its account is in backoff or closed, or its launches failed), the first of them that is open and
 * has a slot takes its tasks, except tasks with their own limiter and tasks bound to their agent.
 * An open agent is never skipped, however full it is. docs/internals/rules.md §2. */

struct agent_state {
    sym agent, limiter;
    bool open;        /* may get a run, if it has a slot */
    bool closed;      /* its account is closed until cleared */
    bool limited;     /* its account is in backoff */
    bool reserved;    /* the rest of its account's window is reserved for the owner */
    bool off_hours;   /* it or its account is outside its opening hours */
    bool broken;      /* its launches failed several times in a row */
    time_ms opens_at; /* with !open; TIME_NEVER: unknown */
};

/* The task's agent and its failover agents, in order. 0: it names none, or the task is unknown. */
size_t core_task_agents(const struct core *core, task_id task,
                        struct agent_state ret[FAILOVER_MAX + 1]);

/* --- export ---------------------------------------------------------------------------------- */

/* The facts belong between FACT_LOADING and FACT_LOADED, which are not included, in the order of
 * "Restart" above. Omitted, because no decision depends on them: who paused the queue and when, the
 * group of a task, and a requested tick that has not begun. */

/* Pointers in a fact are valid until `each` returns. A negative result of `each` stops the export
 * and is returned. Walks all tasks and needs 8 bytes for each. */
typedef int (*core_fact_visitor)(void *ctx, const struct fact *fact);
int core_export(const struct core *core, core_fact_visitor each, void *ctx);
