/* data_folder.h: where is what all daemons of one store must see: `data.folder`, else the home.
 *
 * In it are runs/, done/ (markers), tasks/ (iterations, artifacts), bus/ and worktrees/. The socket, the lock, the log, the
 * configuration and the file of the store are in the home, which each daemon has for itself. It is found once, when
 * the engine is made: a changed setting counts from the next start on. */
#pragma once

#include "engine/engine.h"

/* Absolute. */
const char *engine_data(const struct engine *engine);
const char *engine_runs_folder(const struct engine *engine); /* `runs` in it */

/* A folder that somebody has named must be ours alone, hold nothing else, and know locks. Makes the
 * last part of its path if that is missing: with more missing, its file system is probably not there.
 * Before anything is made in it. Links in its path, and those in the place of the folders named above, count as they are now;
 * from then on none below them does (os/outside.h). */
int data_folder_check(const struct config *config, const char *home, struct error *err);

/* With the rows, before anything is swept: -EEXIST if the folder is another store's. */
int data_folder_start(struct engine *engine, struct error *err);
