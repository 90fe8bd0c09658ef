/* scratch.h: a folder for the files of one test.
 *
 * It is below $TMPDIR, or below /tmp where $TMPDIR is unset or so long that no socket fits below it. What a
 * test does not remove itself, because an assertion has failed, goes when the program exits, unless KEEP_HOME is set. */
#pragma once

#include <stddef.h>

/* The longest path, with its end. Sockets need the rest of their 108 bytes. */
#define SCRATCH_PATH 64

/* Makes the empty folder PREFIX-XXXXXX, which only this user can read, and writes its path without symbolic
 * links to `ret`. A failure ends the program. */
void scratch_make(char ret[static SCRATCH_PATH], const char *prefix);
/* The same in memory, where fsync costs nothing, if the machine has room there. */
void scratch_make_fast(char ret[static SCRATCH_PATH], const char *prefix);

/* Removes the folder with everything in it, also folders that cannot be read. */
void scratch_remove(const char *path);
