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

/* Rows are read, a note each, and then all of them: the store may have a name that must be written. */
struct note_row;
void runs_folder_load(struct engine *engine, const struct note_row *row);
void runs_folder_loaded(struct engine *engine);
/* With the rows, before anything is swept: -EEXIST if the folder is another store's. */
int runs_folder_start(struct engine *engine, struct error *err);
/* A commit is on disk: the folder gets its mark, if it has none. */
void runs_folder_stored(struct engine *engine);
