/* world_spec.h: projects, kinds, agents, accounts and what was used, as the core is told of them.
 *
 * Part of fact.h, which includes it. "When it comes from a store": how it was left; what it is comes from the
 * configuration. */
#pragma once

#include "core/model.h"
#include "core/policy.h"

/* Who stopped starts, and when. It is only told on: nothing follows from it. */
enum pause_cause {
    PAUSE_CONFIGURED,      /* a setting says it */
    PAUSE_ASKED,           /* a user asked for it, and may resume */
    PAUSE_SECTION_REMOVED, /* the project lost its section of the configuration, and its caps with it */
    PAUSE_DELETED,         /* the project was deleted; its finished tasks are still there */
};

struct pause {
    enum pause_cause cause;
    sym by;     /* 0: unknown */
    time_ms at; /* 0: unknown */
};

struct project_spec {
    sym id;
    int64_t weight_milli; /* share, in thousandths */
    amount max_running;
    amount budget; /* tokens */
    struct money_budget money;
    bool active, paused;
    struct pause pause;   /* with paused */
    amount workspaces;    /* number of places; UNLIMITED = no such gate */
    bool workspaces_kept; /* a place stays with the task (worktree), not with the run (pool) */
    amount review;        /* places for work that waits for people */
};

struct kind_spec {
    sym id;
    int64_t base; /* score */
    amount max_running;
};

#define FAILOVER_MAX 8

struct agent_spec {
    sym id;
    amount slots; /* of a roster agent: 0, or any other number for its one run */
    sym limiter;
    bool roster; /* one worker that is idle or not (document 004); such agents are given tasks in
                    the order in which they were told */
    bool idle;   /* with roster */
    /* Who takes its tasks while it is closed, in order (failover.h); may be told later than it. */
    sym failover[FAILOVER_MAX];
    uint8_t failover_count;
    /* When it comes from a store: */
    uint32_t launch_failures; /* in a row, of any tasks */
    uint32_t openings;        /* how often it was closed for them */
    time_ms closed_until;     /* 0: open */
};

struct limiter_spec {
    sym id;
    struct limiter_policy policy;
    time_ms backoff_until; /* 0: open */
    uint32_t hits;
    bool closed; /* until FACT_LIMITER_CLEAR */
    /* When it comes from a store: */
    time_ms backoff_since; /* beginning of the current backoff */
    time_ms last_hit;
    bool in_backoff;      /* hit, and no success cleared it since: a probe goes first */
    time_ms ramp_since;   /* the success that cleared it; 0: not ramping */
    time_ms last_success; /* of any of its runs; 0: none yet. Only told on */
};

/* What was used in one bucket of the window. */
struct usage_spec {
    sym project;    /* 0: of no project (counts only in the global budget) */
    int64_t tokens; /* negative: a correction, of a project as far as its bucket has that */
    int32_t starts, completions;
    int32_t reports;    /* runs that reported `tokens`; 0: as many as completions, unless loading */
    int64_t unreported; /* charged in the shares to runs that reported none */
    int64_t money;      /* millionths of a dollar; may be negative in the same way */
    int32_t priced, unpriced; /* ended runs that told their cost, and that did not */
    time_ms at;               /* from a store: the beginning of the bucket */
};

/* Time that does not count for max_wait, of the tasks of one project with one limiter (and, where others take
 * over from their agent, one agent). Their clock
 * shows `now − lost` while their gates are open, and `closed_since − lost` while one is closed. */
struct wait_spec {
    sym project, limiter; /* limiter 0: none */
    sym agent;            /* that has a failover list; 0: any other */
    time_ms lost;
    time_ms closed_since; /* 0: open */
};

#define CLAIM_RESOURCES_MAX 16

/* The slots reserved for the one overdue task that has the claim (claim.h). */
struct claim_spec {
    task_id task;    /* 0: no task has it */
    unsigned leases; /* 1 << enum lease_kind, of those it needs once */
    sym resources[CLAIM_RESOURCES_MAX];
    uint8_t resource_count;
};

/* Of the pace (policy.h): what was counted when the rows were written. */
struct pace_spec {
    bool ticking; /* a tick has begun, at `tick_began`, and so many have started in it */
    bool started; /* somebody has, at `last_start` */
    time_ms tick_began, last_start;
    amount tick_starts;
};
