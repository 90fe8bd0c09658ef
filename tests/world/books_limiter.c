/* books_limiter.c: docs/internals/rules.md §5, "a hit" and "a success", and §2, "limiter cap". */
#include <string.h>

#include "books_internal.h"

void limiter_applied(struct books *b, const struct limiter_spec *spec) {
    unsigned l = index_of(SYM_LIMITER, spec->id);
    struct limiter_book *limiter = &b->limiter[l];
    limiter->policy = spec->policy;
    if (b->applied[KEY_LIMITER + l])
        return; /* the state of a known one stays */
    b->applied[KEY_LIMITER + l] = true;
    limiter->until = spec->backoff_until;
    limiter->hits = spec->hits;
    limiter->closed = spec->closed;
    limiter->hit = spec->hits > 0 || spec->in_backoff;
    limiter->since = limiter->last_hit = b->now;
}

void limiter_cleared(struct books *b, unsigned l) {
    struct limiter_book *limiter = &b->limiter[l];
    limiter->closed = limiter->hit = limiter->ramping = false;
    limiter->hits = 0;
    limiter->until = 0;
    memset(limiter->quota, 0, sizeof(limiter->quota));
}

void limiter_was_used(struct books *b, const struct fact *fact) {
    struct quota *quota =
        &b->limiter[index_of(SYM_LIMITER, fact->used.limiter)].quota[fact->used.window];
    if (fact->used.quota.resets_at > quota->resets_at + MINUTES(5))
        *quota = fact->used.quota; /* a new window */
    else if (fact->used.quota.used_milli > quota->used_milli)
        quota->used_milli = fact->used.quota.used_milli;
    if (fact->used.quota.resets_at < quota->resets_at - MINUTES(5))
        quota->resets_at = fact->used.quota.resets_at; /* taken only if it corrects a guess */
}

void agent_cleared(struct books *b, unsigned a) {
    b->agent[a].launch_failures = b->agent[a].openings = 0;
    b->agent[a].closed_until = 0;
}

/* min(first · 2^(n−1), longest) */
static time_ms doubled(time_ms first, uint32_t n, time_ms longest) {
    __int128 delay = first;
    for (uint32_t i = 1; i < n && delay < longest; i++)
        delay *= 2;
    return delay < longest ? (time_ms)delay : longest;
}

void limiter_was_hit(struct books *b, unsigned l, time_ms run_started, time_ms retry_after,
                     time_ms reset_at) {
    struct limiter_book *limiter = &b->limiter[l];
    if (limiter->policy.any_success || !limiter->hit || run_started > limiter->since) {
        limiter->hits++;
        limiter->since = b->now;
    }
    limiter->hit = true;
    time_ms delay =
        time_max(retry_after, doubled(limiter->policy.initial, limiter->hits, limiter->policy.max));
    time_ms until = time_max(reset_at, time_add(b->now, delay));
    limiter->until = time_max(limiter->until, until);
    limiter->last_hit = b->now;
}

void limiter_succeeded(struct books *b, unsigned l, time_ms run_started) {
    struct limiter_book *limiter = &b->limiter[l];
    limiter->last_success = b->now;
    if (!limiter->hit || (!limiter->policy.any_success && run_started <= limiter->last_hit))
        return;
    limiter->ramping = b->now >= limiter->until; /* before: the full cap at once */
    limiter->ramp_since = limiter->policy.probe ? b->now : limiter->until;
    limiter->hit = false;
    limiter->hits = 0;
    limiter->until = 0;
}

bool limiter_is_open(const struct books *b, unsigned l) {
    const struct limiter_book *limiter = &b->limiter[l];
    for (unsigned window = 0; window < QUOTA_WINDOW_MAX; window++) {
        amount own = limiter->policy.reserve_of[window];
        amount reserve = own < 0 ? limiter->policy.reserve : own;
        if (reserve > 0 && b->now < limiter->quota[window].resets_at
            && limiter->quota[window].used_milli + 10 * reserve >= 1000)
            return false;
    }
    return !limiter->closed && b->now >= limiter->until;
}

amount limiter_cap(const struct books *b, unsigned l) {
    const struct limiter_book *limiter = &b->limiter[l];
    amount full = limiter->policy.max_running;
    if (limiter->hit && limiter->policy.probe)
        return full < 1 ? full : 1;
    time_ms elapsed = b->now - (limiter->hit ? limiter->until : limiter->ramp_since);
    if ((!limiter->hit && !limiter->ramping) || full == UNLIMITED
        || elapsed >= limiter->policy.recovery)
        return full;
    amount cap = elapsed <= 0 ? 0 : (amount)((__int128)full * elapsed / limiter->policy.recovery);
    if (cap < 1)
        cap = 1;
    return cap < full ? cap : full;
}
