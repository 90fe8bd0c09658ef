/* projects_internal.h: what a project has in the configuration, and what pauses it. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* --- project_standing.c ---------------------------------------------------------------------- */

/* After a start or a new configuration: which projects have lost their section, which have one again? */
int projects_settle(struct engine *e, struct error *err);
