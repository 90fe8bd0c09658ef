/* policy.c: the preset `sluice` as values, and the delays of a policy. A test in config/ compares
 * the preset's text with policy_default. */
#include "core/policy.h"

#include "base/hash.h"

_Static_assert(QUOTA_WINDOW_MAX == 2, "a window without a default in reserve_of");

void policy_default(struct policy *ret) {
    *ret = (struct policy){
        .order = ORDER_BY_GUARANTEE | ORDER_BY_DEFICIT | ORDER_BY_OVERDUE | ORDER_BY_PRIORITY
                 | ORDER_BY_SCORE | ORDER_BY_CREATED,
        .fair = FAIR_RESERVE,
        .fair_window = HOURS(24),
        .guarantee = GUARANTEE_START,
        .run_tokens = 10000,
        .budget_counts_reserved = true,
        .max_wait = HOURS(1),
        .score = { .age_per_minute = 1,
                   .age_max = 50,
                   .per_depth = 10,
                   .per_retry = 5,
                   .retry_max = 30,
                   .base = 100 },
        .runs = 8,
        .roots = UNLIMITED,
        .retry = {
            [RETRY_UNFINISHED] = { .max = 100, .delay = SECONDS(1), .factor_milli = 1000,
                                   .cap = SECONDS(1), .jitter_milli = 0 },
            [RETRY_FAILED] = { .max = 5, .delay = SECONDS(30), .factor_milli = 2000,
                               .cap = MINUTES(5), .jitter_milli = 100 },
            [RETRY_LAUNCH] = { .max = 3, .delay = 0, .factor_milli = 1000, .cap = 0,
                               .jitter_milli = 0 },
            [RETRY_LOST] = { .max = 3, .delay = 0, .factor_milli = 1000, .cap = 0,
                             .jitter_milli = 0 },
        },
        .lost_requeue = true,
        .breaker = { .reset = MINUTES(30), .reset_max = HOURS(24), .agent_max = 5 },
        .pace = { .batch = UNLIMITED, .spawn_delay = 0, .tick = 0 },
        .queue = { .soft = 100000, .hard = 2000000 },
        .host = { .disk_min_mb = 5000 },
        .drain = SECONDS(300),
        .until = UNTIL_EXIT,
        .parent_gate = PARENT_DONE,
        .limiter = { .max_running = 10,
                     .initial = SECONDS(5),
                     .max = SECONDS(120),
                     .recovery = SECONDS(30),
                     .probe = true,
                     .reserve_of = { -1, -1 } },
    };
}

time_ms backoff_doubled(time_ms first, unsigned n, time_ms longest) {
    time_ms delay = first;
    for (unsigned i = 1; i < n && delay < longest; i++)
        delay = delay > longest / 2 ? longest : delay * 2;
    return time_min(delay, longest);
}

time_ms retry_delay(const struct retry_policy *policy, unsigned n, task_id task, uint32_t attempt) {
    __int128 delay = policy->delay;
    for (unsigned i = 1; i < n && delay < policy->cap && policy->factor_milli != 1000; i++)
        delay = delay * policy->factor_milli / 1000;
    if (delay > policy->cap)
        delay = policy->cap;
    int64_t spread = (int64_t)(delay * policy->jitter_milli / 1000);
    if (spread > 0) {
        struct rng rng = { .state = hash_mix(task, attempt) };
        delay += rng_between(&rng, -spread, spread);
    }
    return time_min((time_ms)delay, policy->cap);
}
