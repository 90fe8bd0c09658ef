/* private_git.h: a shared git folder of its own, for a run in a sandbox.
 *
 * A run commits in its worktree. What git writes then belongs to all worktrees of the repository: objects, branches,
 * logs. So the sandbox shows another folder in the place of the shared one: with the same branches and settings, with
 * the objects of the repository to read, and with room for new ones. After the run its commits are taken over
 * (engine/worktree_import.c), and the folder goes. Whatever else the run has changed in it goes with it.
 *
 *   DATA/worktrees/.private/ID/
 *     common/   what the run sees as the shared git folder. Untrusted as soon as the run has begun
 *     shared/   where the run sees the objects of the repository; empty outside the sandbox
 *     begin     where its branch was
 *
 * Nothing here runs git. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "workspace/git.h"

void private_git_path(const char *data, const char *task, struct strbuf *out);
bool private_git_is_there(const char *folder);

/* `common_dir`: of the repository. What a failure leaves is completed by the next attempt. */
int private_git_make(const char *folder, const char *common_dir, const char *branch,
                     struct error *err);

/* Of the shared folder, what is shown as it is; ends with NULL. */
const char *const *private_git_shown(void);
/* Folders with more objects, absolute, one after another: those that the repository itself borrows from. */
void private_git_each_alternate(const char *common_dir, void (*each)(void *ctx, const char *path),
                                void *ctx);

/* What a run has left. */
struct private_git_tips {
    char begin[GIT_HASH_MAX];  /* where its branch was; "": it was not there */
    char branch[GIT_HASH_MAX]; /* where it is; "": the run has removed it */
    char head[GIT_HASH_MAX];   /* what is checked out; "": nothing */
    bool is_on_branch;         /* that is the branch */
    bool has_objects;          /* new ones */
};
/* `git_dir`: of the worktree. */
int private_git_read(const char *folder, const char *git_dir, const char *branch,
                     struct private_git_tips *ret, struct error *err);
