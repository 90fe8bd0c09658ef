/* attempt.h: shared declarations of the escape attempts.
 *
 * An attempt tries one way to escape from a run. It returns REACHED if the escape succeeded and HELD if it was prevented, and
 * prints one line with what it did or what stopped it. An attempt that reads prints what it read; an attempt that writes
 * leaves the text of ESCAPE_MARK. The test verifies both itself and does not rely on the returned value.
 *
 * The targets are in the environment:
 *   ESCAPE_HOME      home directory of the owner        ESCAPE_SLUICE   home of Sluice
 *   ESCAPE_SOCKET    the owner's socket                 ESCAPE_REPO     repository of the project
 *   ESCAPE_TMP       a directory in the host's /tmp     ESCAPE_VICTIM   pid of a process of the owner (victim.c)
 *   ESCAPE_DAEMON    pid of the daemon                  ESCAPE_SHIM     pid of the shim of another run
 *   ESCAPE_OTHER     folder of that run                 ESCAPE_MARK     text to write */
#pragma once

enum { REACHED = 0, HELD = 1, BROKEN = 2, ABSENT = 3 /* the kernel does not have it */ };

#define SECRET "escape-secret-" /* prefix of every secret */

typedef int (*attempt_function)(void);

struct attempt {
    const char *name;
    attempt_function run;
};

extern const struct attempt file_attempts[], process_attempts[], channel_attempts[];

/* The variable ESCAPE_NAME; exits with BROKEN if it is not set. */
const char *target(const char *name);
int target_number(const char *name);
/* DIRECTORY/NAME; one of eight buffers in turn. */
const char *path_of(const char *directory, const char *name);

/* Each prints its result to stdout. */
int held(const char *what); /* prints errno too */
int reached(const char *what);
/* Appends the mark to a file; creates the file if necessary. */
int write_mark(const char *path);
int write_mark_to(int fd, const char *path);
/* Prints secrets that it finds in a file. */
int read_secret(const char *path);
int read_secret_from(int fd, const char *path);

/* Calls `visit` for target processes until one call returns REACHED: for the victim if it is visible, else for every other
 * process. If the victim is visible, so are processes that do not belong to the test, and those must not be attacked. */
int each_process(int (*visit)(int pid));
/* Calls `visit` for every other process. Only for harmless attempts. */
int each_visible_process(int (*visit)(int pid));
