/* limiter.h: one provider account and what it last told us. Private to core/. */
#pragma once

#include "core/state.h"

static inline bool limiter_open(const struct core *c, uint32_t limiter) {
    const struct limiter *l = &c->limiters[limiter];
    return !l->spec.closed && c->now >= l->spec.backoff_until;
}

void limiter_hit(struct core *c, uint32_t limiter, time_ms run_started, time_ms retry_after,
                 time_ms reset_at);
void limiter_success(struct core *c, uint32_t limiter, time_ms run_started);
void limiter_close(struct core *c, uint32_t limiter); /* until a person clears it */
void limiter_clear(struct core *c, uint32_t limiter);

/* Hit and not cleared since: one run goes first. */
bool limiter_probing(const struct limiter *l);
/* Puts the cap in force that holds now (probe, ramp, full). */
void limiter_refresh(struct core *c, uint32_t limiter);
/* When that cap rises next; TIME_NEVER when only an event can do it. */
time_ms limiter_rises_at(const struct core *c, uint32_t limiter);
