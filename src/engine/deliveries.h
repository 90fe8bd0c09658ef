/* deliveries.h: what became of a task's work. Part of engine.h, for ops/. */
#pragma once

#include "engine/engine.h"
#include "workspace/delivery.h"

/* False: nothing recorded. Release the result with delivery_finish. */
bool engine_delivery(const struct engine *engine, task_id task, struct delivery *ret);
/* The same for lists: only the changes. */
bool engine_changes(const struct engine *engine, task_id task, struct delivery_changes *ret);
