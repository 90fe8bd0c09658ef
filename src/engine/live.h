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

/* The last thing that its run has printed, as one line for people; false: nothing yet. Reads the end of a
 * file, a few kilobytes, whatever its size. */
bool engine_last_line(const struct engine *engine, task_id task, struct strbuf *out);
