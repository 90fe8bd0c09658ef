/* forecast.h: when will it start? Private to ops/. */
#pragma once

#include "base/json_write.h"
#include "engine/engine.h"

/* {"starts_at","ahead","text"}, or null for a task that does not wait. */
void forecast_print(struct json_writer *w, const struct engine *engine, task_id task,
                    amount position);
