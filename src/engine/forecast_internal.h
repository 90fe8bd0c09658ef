/* forecast_internal.h: the forecast's place in the engine. Private to engine/. */
#pragma once

#include "engine/engine.h"
#include "rundir/rundir.h"
#include "sim/forecast.h"

/* A run has ended by itself: how long runs of its project and kind take. */
void forecast_learn(struct engine *e, task_id task, const struct run_end *end, int64_t tokens);
