/* failover.h: which agents can take the runs of a task, its own first.
 *
 * An agent may name others, in order (struct agent_spec: failover). While it is closed itself, because
 * its account is in backoff or closed or because its launches failed, the first of them that is open
 * and has a slot takes its tasks: except those with a limiter of their own and those that are bound to
 * their agent. An open agent is never passed over, however full it is. docs/rules.md §2. */
#pragma once

#include "core/core.h"

/* One agent as it stands. */
struct agent_state {
    sym agent, limiter;
    bool open;        /* it may get a run, if it has a slot */
    bool closed;      /* its account, until it is cleared */
    bool limited;     /* its account is in backoff */
    bool broken;      /* its launches failed several times in a row */
    time_ms opens_at; /* with !open; TIME_NEVER: unknown */
};

/* The agent of the task and those it may fail over to, in order; 0: it names none, or it is unknown. */
size_t core_task_agents(const struct core *core, task_id task,
                        struct agent_state ret[FAILOVER_MAX + 1]);
