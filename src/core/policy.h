/* policy.h: every number that decisions depend on.
 *
 * Filled by config/ from the settings table; the core never sees a file or a key. policy_default is
 * the preset `sluice`. Durations are in ms. Values of one project, kind, agent or limiter come with
 * the fact that names it. */
#pragma once

#include "core/model.h"

/* Parts of the order key, always compared in this order; a preset selects which it uses. The task's
 * number is always last. */
enum order_part {
    ORDER_BY_GUARANTEE = 1u << 0, /* projects without a start (or completion) in the window first */
    ORDER_BY_DEFICIT = 1u << 1,   /* the project furthest below its share first */
    ORDER_BY_POSITION = 1u << 2,  /* the project's position in the list */
    ORDER_BY_OVERDUE = 1u << 3,   /* tasks that waited longer than max_wait, oldest first */
    ORDER_BY_PRIORITY = 1u << 4,  /* lower first */
    ORDER_BY_SCORE = 1u << 5,     /* higher first */
    ORDER_BY_ENQUEUED = 1u << 6,  /* ready for longest first: a retry goes to the tail */
    ORDER_BY_CREATED = 1u << 7,   /* older first */
};

enum fair_mode {
    FAIR_OFF,
    FAIR_RESERVE,  /* a run is charged its estimate from the moment it is ordered */
    FAIR_DOCUMENT, /* only what was reported is charged; shares are fixed for a turn */
    FAIR_MODE_MAX,
};

enum guarantee {
    GUARANTEE_OFF,
    GUARANTEE_START,      /* no start in the window */
    GUARANTEE_COMPLETION, /* no completion in the window */
    GUARANTEE_MAX,
};

/* What happens after a failed attempt of one class. */
struct retry_policy {
    amount max;    /* attempts after the first; for launch: the failure that opens the breaker */
    time_ms delay; /* before the first repetition */
    int64_t factor_milli; /* each further delay, in thousandths: 2000 doubles */
    time_ms cap;          /* longest delay, jitter included */
    int64_t jitter_milli; /* ± this part of the delay, in thousandths */
};

struct limiter_policy {
    amount max_running;
    time_ms initial;  /* backoff after the first hit; doubles with each */
    time_ms max;      /* longest backoff, unless the provider named a later time */
    time_ms recovery; /* from one slot to all of them after the backoff; 0: at once */
    bool probe;       /* one run alone until it succeeds */
    bool any_success; /* any success clears, and any hit counts (document 000) */
    amount reserve;   /* percent of each window that is left to the owner of the account */
    amount reserve_of[QUOTA_WINDOW_MAX]; /* the same for one window; -1: as `reserve` */
};

static inline amount limiter_reserve(const struct limiter_policy *policy, enum quota_window w) {
    return policy->reserve_of[w] >= 0 ? policy->reserve_of[w] : policy->reserve;
}

struct policy {
    unsigned order; /* order_part bits */

    enum fair_mode fair;
    time_ms fair_window;
    enum guarantee guarantee;
    int64_t run_tokens; /* estimate of a run if there is no data */
    bool budget_counts_reserved;

    time_ms max_wait; /* TIME_NEVER: nothing is ever overdue */

    struct {
        int64_t age_per_minute, age_max, per_depth, per_retry, retry_max;
        int64_t base; /* of a kind that has none */
    } score;

    amount runs, roots;

    struct retry_policy retry[RETRY_CLASS_MAX];
    bool count_launches; /* retry[UNFINISHED].max counts launches, not restarts (document 001) */
    bool failed_is_unfinished; /* a loop restarts regardless of the exit code (document 001) */
    bool launch_is_failed;     /* a launch failure uses the row of run failed (document 003) */
    bool lost_requeue;         /* else a lost run fails its task */

    struct {
        time_ms reset;     /* TIME_NEVER: the task fails instead */
        time_ms reset_max; /* the reset doubles up to here */
        amount agent_max;  /* launch failures in a row, of any tasks, that close an agent */
    } breaker;

    struct {
        amount batch;        /* starts per tick */
        time_ms spawn_delay; /* between two starts */
        time_ms tick;        /* 0: every turn is a tick */
    } pace; /* in force only while `runs` is finite: without a cap, dispatch is direct */

    struct {
        amount soft, hard;
    } queue;

    struct {
        int64_t disk_min_mb, memory_min_mb, load_max_milli; /* 0: not checked */
    } host;

    time_ms drain;
    bool drain_active_only; /* only live children keep a finished parent (document 001) */
    bool dependency_fails;  /* a failed dependency fails its dependants */
    enum until until;       /* default for kinds without `until` */
    enum parent_gate parent_gate;
    bool serial;                   /* tasks are not parallelizable unless they set it */
    struct limiter_policy limiter; /* default for limiters */
};

void policy_default(struct policy *ret_policy);

/* --- delays ---------------------------------------------------------------------------------- */

/* The delay before repetition number n (from 1). Jitter is derived from the task and the attempt:
 * agents fail together in a provider outage and must not retry together, and a replay must give the
 * same delay. */
time_ms retry_delay(const struct retry_policy *policy, unsigned n, task_id task, uint32_t attempt);

/* min(first · 2^(n−1), longest), without overflow. n from 1. */
time_ms backoff_doubled(time_ms first, unsigned n, time_ms longest);
