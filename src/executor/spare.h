/* spare.h: run directories that are created in advance. Private to executor/.
 *
 * A start must not wait for slow disk operations: creating a directory and five files takes up to
 * some milliseconds on ext4 when many files were deleted recently; a rename is cheap. A thread
 * creates them in `.spare` below the root, a few at a time, and sleeps while there are enough. The
 * TMPDIR of an ended run is reused for the same reason: deleting it for each run would slow down
 * every later one.
 *
 * Call only from the loop thread. */
#pragma once

#include <stdbool.h>

struct spare;

/* `root` is the parent of the run directories; the caller keeps it. */
struct spare *spare_new(int root);
struct spare *spare_free(struct spare *spare); /* joins its thread; accepts NULL */

/* Moves a prepared directory to `folder` ("web-17/2"), which must not exist. false: none is ready,
 * or the rename failed; create one. */
bool spare_take(struct spare *spare, const char *folder);

/* Moves the emptied tmp/ out of the directory of an ended run. */
void spare_keep_tmp(struct spare *spare, int dir);
