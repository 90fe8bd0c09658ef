/* child_spans.h: how long may a task take that a run has written? Private to ops/.
 *
 * Not longer than its agent may (agents.A.timeout_s), nor longer than the run itself where its owner has given it less
 * than the configuration: a run must not get around its own deadline by handing its work to a child. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "engine/engine.h"

struct child_spans {
    time_ms timeout, idle; /* of the parent; 0: nothing that counts for its children */
};

/* Of a live run. */
struct child_spans child_spans_of(const struct engine *engine, task_id parent);

/* A child that asks for more is refused (-EACCES); one that says nothing gets what its parent has, if that is less than
 * what it would have. */
int child_spans_bound(const struct engine *engine, const struct child_spans *parent, json_t *task,
                      struct error *err);
