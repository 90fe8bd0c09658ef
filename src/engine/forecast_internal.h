/* forecast_internal.h: the forecast's place in the engine. Private to engine/. */
#pragma once

#include "engine/engine.h"
#include "rundir/rundir.h"
#include "sim/forecast.h"

/* What runs are expected to be like; `means` of it are a copy, to be freed. */
void forecast_expect(const struct engine *e, struct forecast_options *ret);
/* A run has ended by itself: how long runs of its project and kind take. */
void forecast_learn(struct engine *e, task_id task, const struct run_end *end, int64_t tokens);
