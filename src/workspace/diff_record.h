/* diff_record.h: between which two states of a repository a change lies, in a file beside the task.
 *
 *   HOME/tasks/<id>/diff.json                     all of the task, when a run of it last ended
 *   HOME/tasks/<id>/iterations/<NNN>/diff.json    one iteration
 *
 * States are names of commits or trees, never of branches: those move. Written when a run in a worktree has
 * ended, so that it is known when the worktree has gone; they go with the task. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "workspace/git.h"

struct diff_record {
    char *repository;                          /* "" in those of iterations */
    char *base;                                /* the branch; the same */
    char from[GIT_HASH_MAX], to[GIT_HASH_MAX]; /* "": not known */
};

void diff_record_finish(struct diff_record *record);
/* <0: there is none that can be read; nothing else is in it then than object names. */
int diff_record_read(const char *path, struct diff_record *ret);
int diff_record_write(const char *path, const struct diff_record *record, struct error *err);

/* --- what git says of a diff ------------------------------------------------------------------- */

struct diff_file {
    const char *path, *old_path; /* borrowed; old_path NULL: it was not renamed */
    size_t added, removed;       /* lines; 0 of a binary file */
    bool binary;
};
/* The next file of `git diff --numstat -z`: moves *at; false: there is no other whole one before `end`. */
bool diff_next_file(const char **at, const char *end, struct diff_file *ret);
