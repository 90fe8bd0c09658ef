/* projects_internal.h: what a project has in the configuration, and what pauses it. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* `project` NULL: of everything; `reason` NULL: none beside who asked. */
void pause_write_event(struct engine *e, const char *kind, const char *project, const char *by,
                       const char *reason);

/* --- project_standing.c ---------------------------------------------------------------------- */

/* The cause that keeps all tasks of a project from starting under this configuration. False: none. */
bool project_is_stopped(const struct config *config, const struct engine_project *view,
                        struct pause *ret);
void project_set_standing(struct engine *e, struct project *project,
                          enum project_standing standing);
/* A note of the store, after the projects; notes of other owners are ignored. */
void project_standing_load(struct engine *e, const struct note_row *row);
/* After a start or a new configuration: which projects have lost their section, which have one again? */
int projects_settle(struct engine *e, struct error *err);
