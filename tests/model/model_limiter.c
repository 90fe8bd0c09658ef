/* model_limiter.c: rules, 2 "limiter cap" and 5 "a hit", "a success". */
#include <string.h>

#include "model_internal.h"

/* base·2^times, at most `most`. */
time_ms model_doubled(time_ms base, uint64_t times, time_ms most) {
    time_ms d = base;
    for (uint64_t i = 0; i < times && d > 0 && d < most; i++)
        d = d > TIME_NEVER / 2 ? TIME_NEVER : d * 2;
    return time_min(d, most);
}

bool model_limiter_open(const struct model *m, sym limiter) {
    const struct model_limiter *l = model_limiter(m, limiter);
    for (int w = 0; w < QUOTA_WINDOW_MAX; w++) {
        amount reserve = l->policy.reserve_of[w];
        if (reserve < 0)
            reserve = l->policy.reserve;
        if (reserve > 0 && m->now < l->quota[w].resets_at
            && l->quota[w].used_milli >= 1000 - 10 * reserve)
            return false;
    }
    return !l->closed && m->now >= l->until;
}

bool model_limiter_in_hours(const struct model *m, sym limiter) {
    return m->now >= model_limiter(m, limiter)->hours_until;
}

/* "max(1, full·t/recovery)", for `recovery` ms from `from` on. */
static amount ramp(const struct model *m, const struct limiter_policy *policy, time_ms from) {
    amount full = policy->max_running;
    time_ms t = m->now - from;
    if (t >= policy->recovery || full == UNLIMITED)
        return full;
    amount cap = (amount)((__int128)full * t / policy->recovery);
    return cap < 1 ? 1 : cap;
}

amount model_limiter_cap(const struct model *m, sym limiter) {
    const struct model_limiter *l = model_limiter(m, limiter);
    const struct limiter_policy *policy = &l->policy;
    if (policy->max_running == 0)
        return 0; /* the probe and the ramp take places away, they never add one */
    if (m->now < l->until)
        return policy->max_running;
    if (l->hit)
        return policy->probe ? 1 : ramp(m, policy, l->until);
    return l->ramped ? ramp(m, policy, l->ramp_from) : policy->max_running;
}

void model_limiter_hit(struct model *m, sym limiter, time_ms run_started, time_ms retry_after,
                       time_ms reset_at) {
    struct model_limiter *l = model_limiter(m, limiter);
    const struct limiter_policy *policy = &l->policy;
    if (policy->any_success || !l->hit || run_started > l->began) {
        l->hits++;
        l->began = m->now;
    }
    l->hit = true;
    l->last_hit = m->now;
    time_ms delay = model_doubled(policy->initial, l->hits > 0 ? l->hits - 1 : 0, policy->max);
    delay = time_max(retry_after, delay);
    time_ms until = time_max(reset_at, time_add(m->now, delay));
    l->until = time_max(l->until, until);
}

void model_limiter_success(struct model *m, sym limiter, time_ms run_started) {
    struct model_limiter *l = model_limiter(m, limiter);
    if (!l->hit)
        return;
    const struct limiter_policy *policy = &l->policy;
    if (!policy->any_success && run_started <= l->last_hit)
        return;
    l->ramped = m->now >= l->until;
    l->ramp_from = policy->probe ? m->now : l->until;
    l->hit = false;
    l->hits = 0;
    l->until = 0;
}

void model_limiter_clear(struct model_limiter *l) {
    l->hit = l->closed = l->ramped = false;
    l->hits = 0;
    l->until = 0;
    memset(l->quota, 0, sizeof(l->quota));
}
