/* probes.h: commands that ask the outside world: gates of waiting tasks, and checks without a
 * result. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "core/model.h"

struct engine;

/* What the gate or the pending check of a task has answered, as a clause. False: it has none. */
bool engine_explain_probe(const struct engine *engine, task_id task, struct strbuf *out);

struct engine_probe_counts {
    size_t tasks;    /* with a closed gate or a pending check */
    size_t commands; /* different ones */
    size_t running;
};
void engine_count_probes(const struct engine *engine, struct engine_probe_counts *ret);
