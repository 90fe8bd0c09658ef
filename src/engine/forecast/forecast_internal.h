/* forecast_internal.h: the queue played forward, as other parts know it. Private to engine/. */
#pragma once

#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "rundir/rundir.h"
#include "sim/forecast.h"

/* --- forecast ------------------------------------------------------------------------------------- */

/* A run has ended by itself: how long runs of its project and kind take. */
void forecast_learn(struct engine *e, task_id task, const struct run_end *end, int64_t tokens);

/* --- projects.c ------------------------------------------------------------------------------ */

/* FACT_PROJECT as this configuration would have it, for this core. */
void project_fact(const struct config *config, struct core *core, const struct project *project,
                  struct fact *ret);

/* --- configure.c ----------------------------------------------------------------------------- */

/* Tells a copy of the engine's core everything that is another with this configuration. */
int configure_copy(const struct engine *e, const struct config *config, struct core *copy,
                   struct error *err);
