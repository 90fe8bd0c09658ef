/* outlook_internal.h: what it takes to tell another core another configuration. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* --- projects.c ------------------------------------------------------------------------------ */

/* FACT_PROJECT as this configuration would have it, for this core. */
void project_fact(const struct config *config, struct core *core, const struct project *project,
                  struct fact *ret);

/* --- configure.c ----------------------------------------------------------------------------- */

/* Tells a copy of the engine's core everything that is another with this configuration. */
int configure_copy(const struct engine *e, const struct config *config, struct core *copy,
                   struct error *err);
