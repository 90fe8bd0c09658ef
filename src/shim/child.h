/* child.h: between the shim and the process that becomes the command. Private to shim/. */
#pragma once

#include "shim/shim.h"

enum child_step {
    STEP_NONE,
    STEP_FORK,
    STEP_CWD,
    STEP_STDIN,
    STEP_EXEC,
    STEP_NICE,
    STEP_ENDED,
    STEP_ENTERED, /* in a sandbox; `error` has flags */
    STEP_SANDBOX, /* the sandbox ended before anything was inside it */
};

/* What the child sends: at most one of each step. */
struct child_news {
    int step, error;
};

/* Flags of STEP_ENTERED. */
#define ENTERED_SCOPED 1 /* Landlock keeps it from abstract sockets and processes outside */

/* Descriptors of the shim that runs inside a sandbox. */
enum {
    FD_INSIDE_REPORT = 3, /* a socket to the shim outside */
    FD_INSIDE_SELF,       /* this program, which need not be visible there */
    FD_INSIDE_WORDS,      /* a file in memory: what to run */
    FD_INSIDE_END,
};
#define INSIDE_COUNT (FD_INSIDE_END - FD_INSIDE_REPORT)

struct child {
    const struct shim *shim;
    const char *const *argv, *const *env; /* of the program that it becomes */
    const struct command_files *files;
    int report; /* closed by exec */
    bool join_cgroup;
    bool enters;              /* a sandbox: it opens the standard input inside */
    int passed[INSIDE_COUNT]; /* descriptors for FD_INSIDE_…, in that order; when it enters */
};
_Noreturn void child_run(const struct child *child);
_Noreturn void child_give_up(int report, enum child_step step); /* tells the errno */
void child_close_others(int first); /* closed by exec: everything from this one on */
/* Looks for the program in PATH of `env`. Returns only when it failed: the errno. */
int child_exec(const char *const *argv, const char *const *env);

/* wrap.c: the part of the shim outside. Both return 0, or -1 with errno. */
/* What the child runs instead of `child->argv`, and the pipe or socket that reports about it. */
int wrap_open(struct shim *s, struct child *child, int *ret_report);
void wrap_close_passed(struct child *child);
/* The next message from inside: its size; 0: there will be none; -1. */
ssize_t wrap_hear(struct shim *s, int report, struct child_news *ret);
void wrap_forget(struct shim *s); /* the one inside before */
/* The last line that the sandbox program has written behind this offset of a file. */
void wrap_read_words(struct shim *s, int fd, off_t from);
