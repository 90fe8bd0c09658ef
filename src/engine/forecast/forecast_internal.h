/* forecast_internal.h: forecasts, for other parts. Private to engine/. */
#pragma once

#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "rundir/rundir.h"
#include "sim/forecast.h"

/* --- forecast --------------------------------------------------------------------------------- */

/* Learns the duration of a run that ended by itself, for its project and kind. */
void forecast_learn(struct engine *e, task_id task, const struct run_end *end, int64_t tokens);
