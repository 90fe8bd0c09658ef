/* fact.h: everything the core is ever told.
 *
 * A fact is plain data and one call applies it (core.h: core_apply). The daemon stores what it
 * tells the core, a test writes histories of them, `plan` and `sim` make them from a snapshot.
 * Pointers inside a fact are read during the call and not kept.
 *
 * Adding a fact
 *   1. a value of enum fact_kind and its part of the union, here
 *   2. its function in apply.c, and its row in the table at the end of that file
 *   3. its effect in the slow model: tests/model/
 * tests/unit/test_core.c fails when a fact has no name or no function. */
#pragma once

#include <stddef.h>

#include "core/world_spec.h"

enum fact_kind {
    /* the world */
    FACT_CLOCK,   /* time went on (never backwards; an older time is ignored) */
    FACT_POLICY,  /* the configuration changed */
    FACT_PROJECT, /* a project is new or changed */
    FACT_KIND,
    FACT_AGENT,
    FACT_LIMITER,
    FACT_RESOURCE,
    FACT_WORKSPACE, /* a path exists, or is locked by something outside */
    FACT_HOST,
    FACT_BUDGET,   /* the global budget: tokens, money */
    FACT_USAGE,    /* tokens, starts and completions of a project from before */
    FACT_WAIT,     /* how much of the time did not count as waiting, from before */
    FACT_PACE,     /* how far the tick and the spawn delay are, from before */
    FACT_CLAIM,    /* which slots were reserved for an overdue task, from before */
    FACT_EXTERNAL, /* the number of runs of a project or a limiter that the core did not order */
    FACT_PAUSE,
    FACT_RESUME,
    FACT_AGENT_CLEAR, /* an agent that was closed after launch failures is open again */
    FACT_TICK,        /* decide now, whatever the pace says */
    FACT_LOADING, /* rows follow (core.h: Restart): they are believed, and nothing follows from them */
    FACT_LOADED, /* that were all */
    /* what people and other programs ask for */
    FACT_TASK_ADDED,
    FACT_SLING,
    FACT_HOLD,
    FACT_RELEASE,
    FACT_SPENT, /* the task has used up its own budget */
    FACT_CLEAR,
    FACT_CANCEL,
    FACT_RETRY,
    FACT_AGAIN,
    FACT_APPROVE, /* also: close, for a task that is finished from outside */
    FACT_REJECT,
    FACT_DELETE,
    FACT_FORGET, /* a final task the core need not know any more; no consequence for others */
    FACT_PRIORITY,
    FACT_DEPENDENCIES,
    FACT_LIMITER_CLEAR,
    /* what happened */
    FACT_ARTIFACT,      /* the artifact of a task is there, or is gone */
    FACT_MARKED,        /* the DONE marker of a task that is not live appeared */
    FACT_ORDER_REFUSED, /* a start order could not be committed: as if never given */
    FACT_RUN_STARTED,   /* the command was seen to start */
    FACT_RUN_PHASE,     /* working ↔ waiting; working or waiting → validating */
    FACT_RUN_TOKENS,    /* tokens and money reported so far */
    FACT_RUN_LIMITED,   /* a live run was told to wait by its provider */
    FACT_RUN_ENDED,
    FACT_KIND_MAX,
};

/* Places that stay with a task between its runs. */
enum keep {
    KEEP_TASK = 1, /* it has started, and was neither final nor draft since */
    KEEP_ROOTS = 2,
    KEEP_REVIEW = 4,
    KEEP_PLACE = 8, /* a workspace of its project */
    KEEP_ALL = 15,
};

/* Places that a run which waits for its descendants lends to one of them. */
enum lend {
    LEND_RUNS = 1,
    LEND_PROJECT = 2,
    LEND_KIND = 4,
    LEND_AGENT = 8,
    LEND_LIMITER = 16,
    LEND_ALL = 31,
};

/* What the core needs of a task. What it does not compare (title, prompt, command) stays outside. */
struct task_spec {
    task_id id;
    sym project, kind; /* both must be known by a FACT_PROJECT / FACT_KIND before; kind 0 = none */
    sym agent, limiter, workspace, serial;
    int32_t priority;
    task_id parent;            /* 0: none; may be a task that is not there yet */
    uint32_t parent_iteration; /* the parent's iteration this one came from; 0 = the current one */
    const task_id *depends_on; /* no duplicates, not itself */
    size_t depends_on_count;
    const sym *resources; /* one place on each; no duplicates */
    size_t resource_count;
    time_ms created_at;
    time_ms ready_since;   /* the wait that counts for max_wait began here */
    time_ms enqueued_at;   /* when it last became ready; 0: at ready_since */
    time_ms not_before;    /* with TASK_HELD: when it leaves by itself; 0 = never. With
                              PHASE_DRAINING: when that ends; 0 = as the policy says, from now on */
    uint32_t iteration;    /* from 1 */
    uint32_t attempt;      /* attempts so far */
    enum task_state state; /* not ABSENT; WAITING and READY are the same: the core finds out */
    enum hold hold;        /* with TASK_HELD */
    enum run_phase phase;  /* with STARTING and RUNNING */
    time_ms started_at;    /* with STARTING and RUNNING; 0 = now */
    enum until until;
    enum parent_gate parent_gate;
    bool parallelizable, review, artifact_missing;
    bool bound; /* to its agent: others do not take it over (failover.h) */
    /* enum keep: what is its own between two runs. Of a live task: what it had before this run; it
     * holds all it needs anyway. */
    unsigned keeps;
    int32_t retry_max; /* overrides the row "run failed"; -1 = as the policy says */
    uint32_t group;    /* 0 = none */
    /* When it comes from a store: */
    uint16_t failures, launch_failures, losses, restarts;
    uint16_t breaker_openings; /* how often its breaker has opened */
    enum reason reason;        /* of its last change */
    /* Of a live run: what it becomes at its end. With PHASE_VALIDATING it was validating when it was
     * told to stop. PHASE_STOPPING without a wish is STOP_CANCEL. */
    enum stop_wish stop;
    sym run_agent, run_limiter; /* of a live run; 0, or not known any more: those of its task */
    bool run_unlimited;         /* of a live run: it has no limiter */
    task_id lender;             /* of a live run: whose places it uses; 0: it has its own */
    unsigned borrowed;          /* enum lend: which of them */
    time_ms ready_clock;        /* ready_since, on the clock that FACT_WAIT tells of */
    uint64_t look; /* whatever was told last, or by core_set_look: it decides nothing */
};

struct sling_spec {
    bool renames; /* agent and limiter are these now; 0: none */
    sym agent, limiter;
    uint32_t group; /* 0: as it was */
};

struct fact {
    enum fact_kind kind;
    task_id task;     /* facts about one task */
    uint32_t attempt; /* facts about one run: which; a late one is ignored */
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
            bool locked;       /* by something the core does not know (then locked_by is 0) */
        } workspace;
        struct {
            int64_t disk_free_mb, memory_free_mb, load_milli; /* -1: unknown */
        } host;
        struct pause pause; /* PAUSE */
        struct {            /* BUDGET */
            amount budget;
            struct money_budget money_budget;
        };
        struct usage_spec usage;
        struct wait_spec wait;   /* while loading */
        struct pace_spec pace;   /* while loading */
        struct claim_spec claim; /* while loading */
        struct {
            sym project, limiter; /* one of them; none: runs of a project nobody knows */
            uint32_t running;
            uint32_t roots; /* of them: tasks without a parent */
        } external;
        const struct task_spec *spec; /* TASK_ADDED */
        struct sling_spec sling;      /* SLING */
        struct {                      /* HOLD */
            time_ms until;            /* 0 = until released */
            bool marker; /* by its DONE marker, which is not a file; else by a person */
        };
        int32_t priority;
        struct {
            const task_id *items;
            size_t count;
        } dependencies;
        sym limiter_clear, agent_clear;
        bool artifact_present;
        enum run_phase phase; /* RUN_PHASE */
        struct {              /* RUN_TOKENS: all so far; -1: none was told yet */
            int64_t tokens;
            int64_t money; /* millionths of a dollar */
        };
        struct {
            time_ms retry_after; /* span; 0: unknown */
            time_ms reset_at;    /* point; 0: unknown */
        } limited;
        struct {
            enum outcome outcome;
            int64_t tokens;                /* in all; -1: the run reported none */
            int64_t money;                 /* in all, millionths of a dollar; -1: unknown */
            time_ms retry_after, reset_at; /* with LIMITED; reset_at also with BUDGET */
            bool limit_told; /* with LIMITED: the account knows it, by FACT_RUN_LIMITED */
            bool output;     /* the run printed something or lived for 2 s: closes a breaker */
            bool
                before_agent; /* with LAUNCH: its agent had no part in it; that of its task counts */
            sym workspace;    /* where it worked: its task wants that from now on; 0: as before */
            time_ms pause;    /* span: the next attempt comes no sooner than that; 0: no floor */
        } ended;
    };
};

const char *fact_kind_name(enum fact_kind kind);
