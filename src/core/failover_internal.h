/* failover_internal.h: with which agent and account would it run now? Private to core/. */
#pragma once

#include "core/failover.h"
#include "core/state.h"

/* Indexes, as in struct run. */
struct runner {
    uint32_t agent, limiter;
};

/* Neither its account nor its launches stop it. */
bool failover_agent_open(const struct core *c, uint32_t agent);
/* Does one of its list take over at this moment, if it is closed? Places aside. */
bool failover_is_covered(const struct core *c, uint32_t agent);
/* When it is open again; TIME_NEVER: nobody knows. Not after now: it is open. */
time_ms failover_opens_at(const struct core *c, uint32_t agent);
/* When the first of its list is open again; TIME_NEVER: nobody knows, or there is none. */
time_ms failover_others_open_at(const struct core *c, uint32_t agent);
/* The agent itself unless it is closed; then the first of its list that is open and has a place for this task (0: for
 * any other); else the first that is open; else itself. */
struct runner failover_pick(const struct core *c, uint32_t agent, uint32_t task);

/* The agent whose list counts, or 0. */
static inline uint32_t failover_chooser(const struct core *c, uint32_t agent, bool bound) {
    return !bound && c->agents[agent].spec.failover_count > 0 ? agent : 0;
}
static inline bool failover_is_bound(const struct task *t) {
    return t->flags & (TASK_BOUND | TASK_OWN_LIMITER);
}
/* Of one task; `handle` may be 0: one like it. */
static inline struct runner failover_runner(const struct core *c, uint32_t handle,
                                            const struct task *t) {
    if (!failover_chooser(c, t->agent, failover_is_bound(t)))
        return (struct runner){ t->agent, t->limiter };
    return failover_pick(c, t->agent, handle);
}
