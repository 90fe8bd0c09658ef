/* spare.h: run folders that are made before anybody needs them. Private to executor/.
 *
 * A start waits for nothing that the disk does slowly: making a folder and five files costs up to
 * some milliseconds on ext4 when many files were deleted lately, renaming one folder costs nothing. A
 * thread makes them ahead, a few at a time, in `.spare` below the root; it sleeps while there are
 * enough. The TMPDIR of an ended run is used again for the same reason: a folder that is deleted for
 * each run would make every later one slower.
 *
 * All calls are for the thread of the loop. */
#pragma once

#include <stdbool.h>

struct spare;

/* `root` is the folder of the run folders and stays the caller's. */
struct spare *spare_new(int root);
struct spare *spare_free(struct spare *spare); /* waits for its thread; accepts NULL */

/* Puts a prepared folder at `folder` ("web-17/2"), where nothing may be. false: none is ready, or it
 * cannot be put there; make one. */
bool spare_take(struct spare *spare, const char *folder);

/* Takes the emptied tmp/ out of the folder of an ended run: it is gone from there afterwards. */
void spare_keep_tmp(struct spare *spare, int dir);
