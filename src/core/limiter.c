/* limiter.c: back off together, come back carefully.
 *
 * Many runs meet the same limit in the same second. Counting each of them would double the backoff
 * a dozen times for one event, so only a run that was started after the current backoff began
 * counts; older ones only prolong it. After the backoff one run goes first (the probe): if the
 * account is still limited, one run is lost, not ten. */
#include "core/limiter.h"

#include "core/lease.h"
#include "core/retry.h"

void limiter_hit(struct core *c, uint32_t limiter, time_ms run_started, time_ms retry_after,
                 time_ms reset_at) {
    struct limiter *l = &c->limiters[limiter];
    const struct limiter_policy *p = &l->spec.policy;
    if (p->any_success || !l->in_backoff || run_started > l->backoff_since) {
        if (l->spec.hits < UINT32_MAX)
            l->spec.hits++;
        l->backoff_since = c->now;
        l->in_backoff = true;
    }
    time_ms delay = time_max(retry_after, backoff_doubled(p->initial, l->spec.hits, p->max));
    time_ms until = time_max(reset_at, time_add(c->now, delay));
    l->spec.backoff_until = time_max(l->spec.backoff_until, until);
    c->epoch += c->list_count > 0; /* other agents may take the tasks of this one now */
    l->last_hit = c->now;
    l->changed = true;
    limiter_refresh(c, limiter);
}

void limiter_success(struct core *c, uint32_t limiter, time_ms run_started) {
    struct limiter *l = &c->limiters[limiter];
    l->spec.last_success = c->now;
    l->changed = true;
    if (!l->in_backoff || (!l->spec.policy.any_success && run_started <= l->last_hit))
        return;
    l->ramping = c->now >= l->spec.backoff_until;
    l->ramp_since = l->spec.policy.probe ? c->now : l->spec.backoff_until;
    l->in_backoff = false;
    l->spec.hits = 0;
    l->spec.backoff_until = 0;
    limiter_refresh(c, limiter);
    c->epoch++;
}

void limiter_close(struct core *c, uint32_t limiter) {
    c->limiters[limiter].spec.closed = true;
    c->epoch += c->list_count > 0;
    c->limiters[limiter].changed = true;
}

void limiter_clear(struct core *c, uint32_t limiter) {
    struct limiter *l = &c->limiters[limiter];
    l->spec.closed = false;
    l->spec.hits = 0;
    l->spec.backoff_until = 0;
    l->in_backoff = l->ramping = false;
    l->changed = true;
    limiter_refresh(c, limiter);
    c->epoch++;
}

/* The ramp at `elapsed` ms; at least one place. */
static amount ramp_cap(const struct limiter_policy *p, time_ms elapsed) {
    if (elapsed >= p->recovery || p->max_running == UNLIMITED)
        return p->max_running;
    amount cap = elapsed <= 0 ? 0 : (amount)((__int128)p->max_running * elapsed / p->recovery);
    if (cap < 1)
        cap = 1;
    return cap < p->max_running ? cap : p->max_running;
}

bool limiter_probing(const struct limiter *l) {
    return l->in_backoff && l->spec.policy.probe;
}

/* Where the ramp begins; TIME_NEVER: there is none. */
static time_ms ramp_begin(const struct limiter *l) {
    if (l->in_backoff)
        return l->spec.policy.probe ? TIME_NEVER : l->spec.backoff_until;
    return l->ramping ? l->ramp_since : TIME_NEVER;
}

void limiter_refresh(struct core *c, uint32_t limiter) {
    const struct limiter *l = &c->limiters[limiter];
    const struct limiter_policy *p = &l->spec.policy;
    amount cap = p->max_running;
    if (limiter_probing(l))
        cap = cap < 1 ? cap : 1;
    else if (ramp_begin(l) != TIME_NEVER)
        cap = ramp_cap(p, c->now - ramp_begin(l));
    if (cap != key_at(c, l->key)->cap)
        key_set_cap(c, l->key, cap);
}

time_ms limiter_rises_at(const struct core *c, uint32_t limiter) {
    const struct limiter *l = &c->limiters[limiter];
    const struct limiter_policy *p = &l->spec.policy;
    amount cap = key_at(c, l->key)->cap;
    if (ramp_begin(l) == TIME_NEVER || p->max_running == UNLIMITED || cap >= p->max_running)
        return TIME_NEVER;
    __int128 step = ((__int128)(cap + 1) * p->recovery + p->max_running - 1) / p->max_running;
    return time_add(ramp_begin(l), (time_ms)step);
}
