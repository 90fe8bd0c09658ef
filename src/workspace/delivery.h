/* delivery.h: what became of a task's work, in a file beside the task: HOME/tasks/<id>/delivery.json.
 *
 * Written when a run in a worktree has ended well and when its branch is merged, and again when its worktree is
 * removed. It remains when the worktree and the branch have gone, so that it is known where the commits are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/time_ms.h"
#include "workspace/git.h"

/* Against where the branch left its base. */
struct delivery_changes {
    bool known;
    int64_t commits, files, insertions, deletions;
};

struct delivery {
    char *strategy; /* "none" "local" "direct" "mr" */
    char *result;   /* "ok", or the outcome that says why it was not delivered */
    char *message;
    char *repository, *branch, *base;
    char *removed;             /* "", "worktree", "worktree and branch" */
    char commit[GIT_HASH_MAX]; /* the tip of the branch when it was delivered; "": not known */
    bool merged;               /* the base branch has it */
    time_ms at;
    struct delivery_changes changes;
};

void delivery_finish(struct delivery *delivery);
/* <0: there is none that can be read. Object names in it are nothing but object names. */
int delivery_read(const char *path, struct delivery *ret);
/* Texts that are NULL are written as "". */
int delivery_write(const char *path, const struct delivery *delivery, struct error *err);

/* The line of `git diff --shortstat`; an empty one is no change. False: it is something else. */
bool delivery_take_stat(const char *output, struct delivery_changes *ret);
/* The task changed no file. */
bool delivery_is_empty(const struct delivery_changes *changes);
