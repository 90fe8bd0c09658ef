/* delivery.h: how a task's work was delivered: HOME/tasks/<id>/delivery.json.
 *
 * Written when a run in a worktree succeeds, when its branch is merged, and when its worktree is
 * removed. It outlives the worktree and the branch, so that the commits can still be found. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time_ms.h"
#include "workspace/git.h"

/* Relative to the merge base of the branch. */
struct delivery_changes {
    bool known;
    int64_t commits, files, insertions, deletions;
};

struct delivery {
    char *strategy; /* "none" "local" "direct" "mr" */
    char *result;   /* "ok", or why it was not delivered */
    char *message;
    char *repository, *branch, *base;
    char *removed;             /* "", "worktree", "worktree and branch" */
    char commit[GIT_HASH_MAX]; /* the tip of the branch at delivery; "": unknown */
    bool merged;               /* it is in the base branch */
    bool iterates;             /* on_conflict of the task, for a merge on request */
    time_ms at;
    struct delivery_changes changes;
};

void delivery_finish(struct delivery *delivery);
/* <0: missing or unreadable. Members that must be object names are validated. */
int delivery_read(const char *path, struct delivery *ret);
/* NULL strings are written as "". */
int delivery_write(const char *path, const struct delivery *delivery, struct error *err);

/* Parses the line of `git diff --shortstat`; an empty one means no change. False: malformed. */
bool delivery_take_stat(const char *output, struct delivery_changes *ret);
bool delivery_is_empty(const struct delivery_changes *changes);
