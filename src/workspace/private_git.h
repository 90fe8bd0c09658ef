/* private_git.h: a private copy of the shared git directory, for a run in a sandbox.
 *
 * A run commits in its worktree. Git then writes objects, branches and logs that all worktrees of
 * the repository share. So the sandbox shows another directory instead: with the same branches and
 * settings, the objects of the repository read-only, and space for new ones. After the run its
 * commits are imported (engine/git/worktree_import.c), and the directory is deleted, with all that
 * the run changed in it.
 *
 *   DATA/worktrees/.private/ID/
 *     common/   what the run sees as the shared git directory. Untrusted once the run has begun
 *     shared/   where the run sees the objects of the repository; empty outside the sandbox
 *     begin     where its branch was
 *
 * Nothing here runs git. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "workspace/git.h"

char *private_git_path(const char *data, const char *task, struct arena *arena);
bool private_git_is_there(const char *folder);

/* `common_dir`: of the repository. After a failure the next attempt completes it. */
int private_git_make(const char *folder, const char *common_dir, const char *branch,
                     struct error *err);

/* Names in the shared directory that are shown unchanged; NULL-terminated. */
extern const char *const private_git_shown[];
/* Calls `each` for every object directory, absolute, that the repository itself borrows from. */
void private_git_each_alternate(const char *common_dir, void (*each)(void *ctx, const char *path),
                                void *ctx);

/* What a run has left. */
struct private_git_tips {
    char begin[GIT_HASH_MAX];  /* where its branch was; "": did not exist */
    char branch[GIT_HASH_MAX]; /* where it is; "": deleted by the run */
    char head[GIT_HASH_MAX];   /* what is checked out; "": nothing */
    bool is_on_branch;         /* head is the branch */
    bool has_objects;          /* new ones */
};
/* `git_dir`: of the worktree. */
int private_git_read(const char *folder, const char *git_dir, const char *branch,
                     struct private_git_tips *ret, struct error *err);
