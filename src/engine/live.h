/* live.h: what is known of a live run beside engine_run. */
#pragma once

#include "engine/engine.h"

struct engine_live {
    const char *agent; /* NULL: none */
    uint32_t iteration;
    int64_t tokens_cached, cost_micro_usd; /* -1: not reported */
};
/* False: the task has no live run. */
bool engine_live(const struct engine *engine, task_id task, struct engine_live *ret);

/* The last thing that its run has printed, as one line for people; false: nothing yet. Of an agent whose events are
 * read anyway (agents/listen.c), the last line of its transcript; of anything else the end of a file is read, a few
 * kilobytes, whatever its size. */
bool engine_last_line(const struct engine *engine, task_id task, struct strbuf *out);

/* Whose command the run was, by the name of the adapter (agent/agent.h): it says how its standard output is shown to
 * people. NULL: a plain command, or it is not known any more. */
const char *engine_run_adapter(const struct engine *engine, task_id task, uint32_t attempt);
