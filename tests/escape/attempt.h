/* attempt.h: what the attempts of this folder share.
 *
 * An attempt tries one way out of a run. It ends with REACHED when it has done what it should not be able to do, and with HELD
 * when it could not; it says in one line what it did or what stopped it. An attempt that reads something prints what it
 * read, and one that writes leaves the text of ESCAPE_MARK there: the test looks for both, and does not take the
 * attempt's word for it.
 *
 * Where the targets are comes from the environment:
 *   ESCAPE_HOME      home directory of the owner        ESCAPE_SLUICE   home of Sluice
 *   ESCAPE_SOCKET    the owner's socket                 ESCAPE_REPO     repository of the project
 *   ESCAPE_TMP       a directory in the host's /tmp     ESCAPE_VICTIM   pid of a process of the owner (victim.c)
 *   ESCAPE_DAEMON    pid of the daemon                  ESCAPE_SHIM     pid of the shim of another run
 *   ESCAPE_OTHER     folder of that run                 ESCAPE_MARK     what to write */
#pragma once

enum { REACHED = 0, HELD = 1, BROKEN = 2, ABSENT = 3 /* the kernel does not have it */ };

#define SECRET "escape-secret-" /* every secret begins with it */

typedef int (*attempt_function)(void);

struct attempt {
    const char *name;
    attempt_function run;
};

extern const struct attempt file_attempts[], process_attempts[], channel_attempts[];

/* The variable ESCAPE_NAME; the program ends with BROKEN if it is not set. */
const char *target(const char *name);
int target_number(const char *name);
/* DIRECTORY/NAME; one of eight buffers in turn. */
const char *path_of(const char *directory, const char *name);

/* Each says on stdout what happened. */
int held(const char *what); /* with errno */
int reached(const char *what);
/* Adds the mark to a file that is there, or makes it. */
int write_mark(const char *path);
int write_mark_to(int fd, const char *path);
/* Prints what it finds of a secret in a file. */
int read_secret(const char *path);
int read_secret_from(int fd, const char *path);

/* Calls `visit` for the processes it may use, until one returns REACHED: the victim where it can be seen, else
 * every process but itself. In the PID namespace of the test that would be the processes of other people, too. */
int each_process(int (*visit)(int pid));
/* For every process but itself. Only for what does no harm. */
int each_visible_process(int (*visit)(int pid));
