/* retry.c: the arithmetic of waiting before the next try. */
#include "core/retry.h"

#include "base/hash.h"

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
