/* failover.h: which agents can take the runs of a task, its own first.
 *
 * An agent may name others, in order (struct agent_spec: failover). While it is closed itself, because its
 * account is in backoff or closed or because its launches failed, the first of them that is open and has a
 * place takes its tasks: not those with a limiter of their own, nor those that are bound to their agent. An agent
 * that is open is never passed over, however full it is. docs/rules.md §2. */
#pragma once

#include "core/core.h"

/* One agent as it stands. */
struct agent_state {
    sym agent, limiter;
    bool open;        /* it may be given a run, if it has a place */
    bool closed;      /* its account, until somebody clears it */
    bool limited;     /* its account is in backoff */
    bool broken;      /* its launches failed several times in a row */
    time_ms opens_at; /* with !open; TIME_NEVER: nobody knows */
};

/* The agent of the task and those it may fail over to, in order; 0: it names none, or the task is not known. */
size_t core_task_agents(const struct core *core, task_id task,
                        struct agent_state ret[FAILOVER_MAX + 1]);
