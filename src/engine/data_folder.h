/* data_folder.h: the directory that all daemons of one store share: `data.folder`, else the home.
 *
 * It contains runs/, done/ (markers), tasks/ (iterations, artifacts), bus/ and worktrees/. The
 * socket, lock, log, configuration and store file are in the home, which each daemon has for
 * itself. It is determined when the engine is created; a changed setting takes effect at the next
 * start. */
#pragma once

#include "engine/engine.h"

/* Absolute. */
const char *engine_data(const struct engine *engine);
const char *engine_runs_folder(const struct engine *engine); /* its `runs` */

/* A configured directory must be exclusively ours, contain nothing else, and support locks. Creates
 * the last component of its path if missing; if more is missing, its file system is probably not
 * mounted. Call before creating anything in it. Symlinks in its path, and symlinks at the
 * subdirectories named above, are resolved now; further down none is followed (os/outside.h). */
int data_folder_check(const struct config *config, const char *home, struct error *err);
