/* live.h: details of a live run beyond engine_run. */
#pragma once

#include "engine/engine.h"

struct engine_live {
    const char *agent; /* NULL: none */
    uint32_t iteration;
    int64_t tokens_cached, cost_micro_usd; /* -1: not reported */
};
/* False: the task has no live run. */
bool engine_live(const struct engine *engine, task_id task, struct engine_live *ret);

/* The last line that its run printed; false: none yet. Of an agent whose events are read anyway
 * (agents/listen.c) that of its transcript, otherwise from the last few kilobytes of the file. */
bool engine_last_line(const struct engine *engine, task_id task, struct strbuf *out);

/* The adapter (agent/agent.h) of the run's command: it determines how standard output is shown.
 * NULL: a plain command, or no longer known. */
const char *engine_run_adapter(const struct engine *engine, task_id task, uint32_t attempt);
