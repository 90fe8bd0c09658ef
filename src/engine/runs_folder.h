/* runs_folder.h: where the folders of the runs are: `runs.folder`, else `runs` in the home.
 *
 * It is found once, when the engine is made: a changed setting counts from the next start on. */
#pragma once

#include "engine/engine.h"

/* Absolute. */
const char *engine_runs_folder(const struct engine *engine);

/* What `runs.folder` means in this home; the caller's. */
char *runs_folder_find(const struct config *config, const char *home);
/* A folder that somebody has named must be ours alone, hold nothing else, and know locks. Makes the
 * last part of its path if that is missing: with more missing, its file system is probably not there. */
int runs_folder_check(const struct config *config, const char *home, struct error *err);
