/* fact.h: every input of the core.
 *
 * A fact is plain data, applied by core_apply (core.h). The daemon stores the facts it applies,
 * tests write histories of them, and `plan` and `sim` build them from a snapshot. Pointers in a
 * fact are read only during the call.
 *
 * Adding a fact
 *   1. a value of enum fact_kind and its part of the union, here
 *   2. its function in apply.c, and its row in the table at the end of that file
 *   3. its effect in the slow model: tests/model/
 * tests/unit/test_core.c fails when a fact has no name or no function. */
#pragma once

#include <stddef.h>

#include "core/model.h"
#include "core/policy.h"

/* --- projects, kinds, agents, accounts, usage ---------------------------------------------------
 *
 * "From the store" marks state; the other members come from the configuration. */

/* Who paused starts, and when; for display only. */
enum pause_cause {
    PAUSE_CONFIGURED,      /* by a setting */
    PAUSE_REQUESTED,       /* by a user, who may resume it */
    PAUSE_SECTION_REMOVED, /* its section, with its caps, was removed */
    PAUSE_DELETED,         /* the project was deleted; its finished tasks still exist */
};

struct pause {
    enum pause_cause cause;
    sym by;     /* 0: unknown */
    time_ms at; /* 0: unknown */
};

/* Members that every decision reads come last, beside those of struct project. */
struct project_spec {
    sym id;
    struct pause pause;   /* with paused */
    amount review;        /* slots for finished work that awaits review */
    int64_t weight_milli; /* share, in thousandths */
    struct money_budget money;
    amount budget; /* tokens */
    amount max_running;
    amount workspaces;    /* number of slots; UNLIMITED: no such gate */
    time_ms hours_until;  /* FACT_HOURS */
    bool workspaces_kept; /* a slot stays with the task (worktree), not the run (pool) */
    bool active, paused;
};

struct kind_spec {
    sym id;
    int64_t base; /* score */
    amount max_running;
};

#define FAILOVER_MAX   8
#define ESCALATE_MAX   8
#define ESCALATE_NEVER UINT16_MAX /* as a number of failures */

struct agent_spec {
    sym id;
    amount slots; /* of a roster agent: 0, or any other number for its one run */
    sym limiter;
    bool roster; /* one worker that is idle or not (document 004); such agents get tasks in the
                    order in which they were added */
    bool idle;   /* with roster */
    /* Agents that take its tasks while it is closed, in order; may be added later. */
    sym failover[FAILOVER_MAX];
    uint8_t failover_count;
    /* Agents that its tasks continue with after this many verified failures; a task may have a list
     * of its own. 0: the agent of the step before, with another model. */
    sym escalate[ESCALATE_MAX];
    uint8_t escalate_count;
    uint32_t escalate_after; /* 0: never */
    bool hours;              /* it has opening hours */
    time_ms hours_until;     /* FACT_HOURS */
    /* From the store: */
    uint32_t launch_failures; /* in a row, of any tasks */
    uint32_t openings;        /* how often they closed it */
    time_ms closed_until;     /* 0: open */
};

/* How much of a window is used. */
struct quota {
    int32_t used_milli; /* in thousandths; may exceed 1000. 0: nothing is known */
    time_ms resets_at;  /* with used_milli: the window ends, and nothing is used */
};

struct limiter_spec {
    sym id;
    struct limiter_policy policy;
    time_ms backoff_until; /* 0: open */
    uint32_t hits;
    bool closed;         /* until FACT_LIMITER_CLEAR */
    time_ms hours_until; /* FACT_HOURS */
    /* From the store: */
    time_ms backoff_since; /* beginning of the current backoff */
    time_ms last_hit;
    bool in_backoff;      /* hit, and not yet cleared by a success: a probe goes first */
    time_ms ramp_since;   /* the success that cleared it; 0: not ramping */
    time_ms last_success; /* of any of its runs; 0: none yet. For display */
    struct quota quota[QUOTA_WINDOW_MAX];
};

/* Usage in one bucket of the window. The tokens come first: every decision reads them. */
struct usage_spec {
    int64_t tokens;     /* negative: a correction, at most what the bucket holds */
    int64_t unreported; /* charged in the shares for runs without a report */
    int64_t money;      /* millionths of a dollar; may be negative in the same way */
    int32_t starts, completions;
    int32_t reports; /* runs that reported `tokens`; 0: same as completions, unless loading */
    int32_t priced, unpriced; /* ended runs that reported their cost, and that did not */
    sym project;              /* 0: none (counts only in the global budget) */
    time_ms at;               /* from the store: beginning of the bucket */
};

/* Time that does not count for max_wait, for tasks of one project with one limiter (and, with a
 * failover list, one agent). Their clock shows `now − lost` while their gates are open, and
 * `closed_since − lost` while one is closed. */
struct wait_spec {
    sym project, limiter; /* limiter 0: none */
    sym agent;            /* an agent with a failover list; 0: any other */
    time_ms lost;
    time_ms closed_since; /* 0: open */
};

/* Free disk and memory of this machine, and its load; -1: unknown. */
struct host_spec {
    int64_t disk_free_mb, memory_free_mb, load_milli;
};

#define RESOURCES_MAX       16 /* of one task */
#define CLAIM_RESOURCES_MAX RESOURCES_MAX

/* Slots reserved for the overdue task that has the claim (decide.h). */
struct claim_spec {
    task_id task;    /* 0: none */
    unsigned leases; /* 1 << enum lease_kind, for kinds it needs once */
    sym resources[CLAIM_RESOURCES_MAX];
    uint8_t resource_count;
};

/* Pace counters (policy.h). */
struct pace_spec {
    bool ticking; /* a tick has begun, at `tick_began`, with `tick_starts` starts */
    bool started; /* a run has started, at `last_start` */
    time_ms tick_began, last_start;
    amount tick_starts;
};

/* --- facts ----------------------------------------------------------------------------------- */

enum fact_kind {
    /* the world */
    FACT_CLOCK,   /* monotonic; an older time is ignored */
    FACT_POLICY,  /* the configuration changed */
    FACT_PROJECT, /* a project was added or changed */
    FACT_KIND,
    FACT_AGENT,
    FACT_LIMITER,
    FACT_RESOURCE,
    FACT_WORKSPACE, /* a path exists, or is locked externally */
    FACT_HOST,
    FACT_BUDGET,   /* the global budget: tokens, money */
    FACT_USAGE,    /* earlier tokens, starts and completions of a project */
    FACT_WAIT,     /* state of a wait clock */
    FACT_PACE,     /* state of the pace */
    FACT_CLAIM,    /* slots reserved for an overdue task */
    FACT_EXTERNAL, /* number of runs of a project or limiter that the core did not order */
    FACT_HOURS,    /* opening hours: a project, agent or limiter is closed until a time */
    FACT_PAUSE,
    FACT_RESUME,
    FACT_AGENT_CLEAR,  /* reopens an agent that was closed after launch failures */
    FACT_LIMITER_USED, /* how much of a window of an account is used */
    FACT_TICK,         /* decide now, despite the pace */
    FACT_LOADING,      /* rows follow (core.h: Restart) and are taken as they are */
    FACT_LOADED,       /* no more rows */
    /* requests */
    FACT_TASK_ADDED,
    FACT_SLING,
    FACT_HOLD,
    FACT_RELEASE,
    FACT_SPENT, /* the task has used up its own budget */
    FACT_CLEAR,
    FACT_CANCEL,
    FACT_RETRY,
    FACT_AGAIN,
    FACT_APPROVE, /* also: close, for a task that is finished externally */
    FACT_REJECT,
    FACT_DELETE,
    FACT_FORGET, /* a final task the core no longer needs; does not affect others */
    FACT_PRIORITY,
    FACT_DEPENDENCIES,
    FACT_LIMITER_CLEAR,
    FACT_UNANSWERED, /* its question, or its probe, was not answered in time: the task fails */
    FACT_TAKE,       /* a person takes the task over */
    FACT_CANDIDATES, /* what the candidates of a task have come to */
    /* events */
    FACT_ARTIFACT,      /* the artifact of a task exists, or no longer exists */
    FACT_PROBE,         /* the probe of a task says yes, or not yet */
    FACT_MARKED,        /* the DONE marker of a task that is not live appeared */
    FACT_ORDER_REFUSED, /* a start order could not be committed: reverts it */
    FACT_RUN_STARTED,   /* the command was seen to start */
    FACT_RUN_PHASE,     /* working ↔ waiting; working or waiting → validating */
    FACT_RUN_TOKENS,    /* tokens and money reported so far */
    FACT_RUN_LIMITED,   /* the provider limits a live run */
    FACT_RUN_ENDED,
    FACT_KIND_MAX,
};

/* What the candidates of a task have come to. */
enum candidates {
    CANDIDATES_WORK,   /* at least one may still succeed: the task waits for them */
    CANDIDATES_REVIEW, /* a person chooses, or has chosen */
    CANDIDATES_NONE,   /* none has succeeded: the task fails */
    CANDIDATES_MAX,
};

/* Slots that stay with a task between its runs. */
enum keep {
    KEEP_TASK = 1, /* it has started, and was neither final nor draft since */
    KEEP_ROOTS = 2,
    KEEP_REVIEW = 4,
    KEEP_WORKSPACE = 8, /* a workspace of its project */
    KEEP_ALL = 15,
};

/* Slots that a run which waits for its descendants lends to one of them. */
enum lend {
    LEND_RUNS = 1,
    LEND_PROJECT = 2,
    LEND_KIND = 4,
    LEND_AGENT = 8,
    LEND_LIMITER = 16,
    LEND_ALL = 31,
};

/* Steps of a task to stronger agents (docs/internals/rules.md §5). Models are not in the core: a
 * step to another model of the same agent changes `step` only. */
struct escalation_spec {
    sym agents[ESCALATE_MAX]; /* 0: the agent of the step before */
    uint16_t count;           /* 0: the list of its agent applies */
    uint16_t after;           /* verified failures per step; 0: as its agent says */
    /* From the store: */
    uint16_t step;   /* 0: with its own agent */
    uint16_t failed; /* verified failures since the last step */
    sym own_agent;   /* with step */
};

/* Excludes title, prompt and command, which the core does not need. */
struct task_spec {
    task_id id;
    sym project, kind; /* both known from an earlier FACT_PROJECT / FACT_KIND; kind 0 = none */
    sym agent, limiter, workspace, serial;
    int32_t priority;
    uint32_t parent_iteration; /* the parent's iteration that created it; 0 = the current one */
    task_id parent;            /* 0: none; may be added later */
    const task_id *depends_on; /* no duplicates, not itself */
    size_t depends_on_count;
    const sym *resources; /* one slot on each; no duplicates */
    size_t resource_count;
    time_ms created_at;
    time_ms ready_since; /* start of the wait that counts for max_wait */
    time_ms enqueued_at; /* when it last became ready; 0: at ready_since */
    /* With TASK_HELD: when it is released automatically; 0 = never. With PHASE_DRAINING: when that
     * ends; 0 = after the policy's time, from now. */
    time_ms not_before;
    time_ms started_at; /* with STARTING and RUNNING; 0 = now */
    uint32_t iteration; /* from 1 */
    uint32_t attempt;   /* attempts so far */
    /* not ABSENT; WAITING and READY are equivalent: the core computes which */
    enum task_state state;
    enum hold hold;       /* with TASK_HELD; HOLD_TAKEN also while it is queued or live */
    enum run_phase phase; /* with STARTING and RUNNING */
    enum until until;
    enum parent_gate parent_gate;
    /* enum keep: slots it keeps between runs. For a live task: those it had before this run. */
    unsigned keeps;
    int32_t retry_max; /* overrides the row "run failed"; -1 = as in the policy */
    uint32_t group;    /* 0 = none */
    uint32_t tag;      /* owned by the caller: see core_set_tag */
    bool parallelizable, review, artifact_missing;
    bool probe_closed;  /* it has a probe, which has not succeeded */
    bool bound;         /* to its agent: no other agent takes it over */
    bool run_unlimited; /* of a live run: it has no limiter */
    /* From the store: */
    uint16_t failures, launch_failures, losses, restarts;
    uint16_t breaker_openings; /* how often its breaker has opened */
    enum reason reason;        /* of its last change */
    /* For a live run: the requested stop. With PHASE_VALIDATING, it was validating when it was
     * stopped. PHASE_STOPPING without a request is STOP_CANCEL. */
    enum stop_request stop;
    sym run_agent, run_limiter;        /* of a live run; 0 or unknown: those of its task */
    unsigned borrowed;                 /* enum lend: slots of `lender` that a live run uses */
    task_id lender;                    /* the task whose slots those are; or 0 */
    time_ms ready_clock;               /* ready_since, on the clock of FACT_WAIT */
    struct escalation_spec escalation; /* `agent` is the agent of its step */
};
_Static_assert(sizeof(struct task_spec) <= 264,
               "each task is copied when it is added, stored or loaded");

struct sling_spec {
    bool renames; /* replaces agent and limiter; 0: none */
    sym agent, limiter;
    uint32_t group; /* 0: unchanged */
};

struct fact {
    enum fact_kind kind;
    task_id task;     /* facts about one task */
    uint32_t attempt; /* for facts about one run; a late one is ignored */
    union {
        time_ms now;                 /* CLOCK */
        const struct policy *policy; /* POLICY */
        struct project_spec project;
        struct kind_spec kind_spec;
        struct agent_spec agent;
        struct limiter_spec limiter;
        struct {
            sym id;
            amount cap;
        } resource;
        struct {
            sym id;
            task_id locked_by; /* 0: free */
            bool locked;       /* externally (then locked_by is 0) */
        } workspace;
        struct host_spec host;
        struct pause pause; /* PAUSE */
        struct {            /* BUDGET */
            amount budget;
            struct money_budget money_budget;
        };
        struct usage_spec usage;
        struct wait_spec wait;   /* only while loading */
        struct pace_spec pace;   /* only while loading */
        struct claim_spec claim; /* only while loading */
        struct {
            sym project, limiter; /* one of them; neither: runs of an unknown project */
            uint32_t running;
            uint32_t roots; /* of which tasks without a parent */
        } external;
        const struct task_spec *spec; /* TASK_ADDED */
        struct sling_spec sling;      /* SLING */
        struct {                      /* HOLD */
            time_ms until;            /* 0 = until released */
            bool marker; /* by its DONE marker, which is not a file; else by a person */
        };
        bool own_agent; /* RETRY, AGAIN, CLEAR: an escalated task has its own agent again */
        int32_t priority;
        struct {
            const task_id *items;
            size_t count;
        } dependencies;
        sym limiter_clear, agent_clear;
        struct {                   /* HOURS */
            enum lease_kind scope; /* LEASE_PROJECT, LEASE_AGENT or LEASE_LIMITER */
            sym id;
            time_ms until; /* 0, or not after now: open */
        } hours;
        struct { /* LIMITER_USED */
            sym limiter;
            enum quota_window window;
            struct quota quota;
            bool corrects; /* the end that is known was a guess: an earlier one counts, too */
        } used;
        bool artifact_present;
        bool probe_open;
        enum candidates candidates;
        enum run_phase phase; /* RUN_PHASE */
        struct {              /* RUN_TOKENS: totals so far; -1: none reported yet */
            int64_t tokens;
            int64_t money;    /* millionths of a dollar */
            int64_t expected; /* money it will cost; 0: as the runs of its project do */
        };
        struct {
            time_ms retry_after; /* duration; 0: unknown */
            time_ms reset_at;    /* time; 0: unknown */
        } limited;
        struct {
            enum outcome outcome;
            int64_t tokens;                /* total; -1: the run reported none */
            int64_t money;                 /* total, millionths of a dollar; -1: unknown */
            time_ms retry_after, reset_at; /* with LIMITED; reset_at also with BUDGET */
            bool limit_reported;           /* with LIMITED: FACT_RUN_LIMITED has reported it */
            bool output; /* the run printed something or ran for 2 s: closes a breaker */
            /* with LAUNCH: failed before the agent was involved; counts on its task */
            bool before_agent;
            bool iterates; /* with CONFLICT: the next iteration repairs it */
            sym workspace; /* where it ran; becomes the task's workspace. 0: unchanged */
            time_ms pause; /* duration: minimum delay before the next attempt */
        } ended;
    };
};

const char *fact_kind_name(enum fact_kind kind);
