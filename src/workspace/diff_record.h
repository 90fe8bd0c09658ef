/* diff_record.h: the two states of a repository that a change lies between, in a file of the task.
 *
 *   HOME/tasks/<id>/diff.json                     the complete task, when a run of it last ended
 *   HOME/tasks/<id>/iterations/<NNN>/diff.json    one iteration
 *
 * States are commits or trees, never branches, which move. Written when a run in a worktree has
 * ended, so that they outlive the worktree; deleted with the task. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "workspace/git.h"

struct diff_record {
    char *repository;                          /* "" for iterations */
    char *base;                                /* the branch; "" for iterations */
    char from[GIT_HASH_MAX], to[GIT_HASH_MAX]; /* "": unknown */
};

void diff_record_finish(struct diff_record *record);
/* <0: missing or unreadable. Object names are validated. */
int diff_record_read(const char *path, struct diff_record *ret);
int diff_record_write(const char *path, const struct diff_record *record, struct error *err);

/* --- output of git diff ----------------------------------------------------------------------- */

struct diff_file {
    const char *path, *old_path; /* borrowed; old_path NULL: not renamed */
    size_t added, removed;       /* lines; 0 for a binary file */
    bool binary;
};
/* The next file of `git diff --numstat -z`; advances *at. false: no complete one before `end`. */
bool diff_next_file(const char **at, const char *end, struct diff_file *ret);
