/* scratch.h: a temporary folder for the files of one test.
 *
 * It is in $TMPDIR, or in /tmp if $TMPDIR is unset or so long that a socket path would not fit. Folders that a
 * failed test did not remove are removed when the program exits, unless KEEP_HOME is set. */
#pragma once

#include <stddef.h>

/* Maximum length of the path, with its NUL. Sockets need the rest of their 108 bytes. */
#define SCRATCH_PATH 64

/* Creates the empty folder PREFIX-XXXXXX, which only this user can read, and writes its real path to `ret`.
 * Exits on failure. */
void scratch_make(char ret[static SCRATCH_PATH], const char *prefix);
/* The same on a tmpfs, where fsync costs nothing, if the machine has enough memory there. */
void scratch_make_fast(char ret[static SCRATCH_PATH], const char *prefix);

/* Removes the folder and its contents, also folders without read permission. */
void scratch_remove(const char *path);
