/* worktree.h: what Sluice remembers of a worktree, beside it: HOME/worktrees/ID.json.
 *
 * The file is written before git makes anything and goes after everything else, so whatever a crash
 * leaves is known:
 *   made false   git was asked for it, and whether it did nobody knows: nothing has ever run there
 *   prepared     its first run has said that the project's `prepare` succeeded: it is not repeated
 *   rebasing     a rebase in it is ours, and its checks have not passed since: after a crash the rebase is
 *                given up and begun again, or the checks are run again
 *   removing     everything in it is elsewhere, and git was asked to remove it: after a crash files may be missing
 * A worktree without its file was not made by this home, and is left alone.
 *
 * It notes which git folders belong to the worktree. Git is never left to find them: a run can replace the file `.git`
 * and what that leads to. Records of earlier versions have no such note; then the shared git folder must be that of the
 * repository. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"

struct worktree_record {
    char *repository; /* the project's folder when it was made */
    char *base;       /* the branch it came from */
    char *prefix;     /* where in it the project's folder is: "" or "sub/dir/" */
    char *merge;      /* what is done with good work: "none" "local" "direct" "mr" */
    char *title;      /* of the task, for commits */
    char *git_dir;    /* of the worktree alone; "": not noted */
    char *common_dir; /* that all worktrees of the repository share; "": not noted */
    bool implied;     /* `merge` is the default: a delivery that fails does not fail the task */
    bool made;
    bool rebasing;
    bool prepared; /* a run has done what prepares it */
    bool removing;
};

void worktree_record_finish(struct worktree_record *record);

/* HOME/worktrees/ID and the file beside it. */
void worktree_path(const char *home, const char *task, struct strbuf *out);
void worktree_record_path(const char *home, const char *task, struct strbuf *out);

/* 0; -ENOENT: there is none. */
int worktree_record_read(const char *home, const char *task, struct worktree_record *ret,
                         struct error *err);
/* Makes HOME/worktrees too. */
int worktree_record_write(const char *home, const char *task, const struct worktree_record *record,
                          struct error *err);
void worktree_record_remove(const char *home, const char *task);

/* Is there a folder, and does it belong to a repository? Its own git folder, absolute, is what its file
 * `.git` says. 0; -ENOENT: no folder; -EUCLEAN: a folder that git has not finished; -EXDEV: a copy, whose
 * git folder belongs to the worktree it was copied from. */
int worktree_git_dir(const char *path, struct strbuf *out);
/* The same for the worktree of a record. -EPERM: its `.git`, or what that shares, is not what was made. After 0 the
 * record has both git folders. */
int worktree_find(const char *path, struct worktree_record *record);
/* Somebody is in the middle of something there: "rebase", "merge" … or NULL. */
const char *worktree_in_progress(const char *git_dir);
/* Whoever held these is dead: the run has ended, and nobody else works in there or moves its branch. A worktree that git
 * has not finished has no git folder yet. */
void worktree_break_locks(const struct worktree_record *record, const char *branch);
/* Is it locked (git worktree lock)? */
bool worktree_is_locked(const struct worktree_record *record);

/* Where a task's own folder is in its workspace: below `from` (the project's folder) it is the same place
 * below `to`; elsewhere it is `to`. */
void worktree_map_folder(const char *cwd, const char *from, const char *to, struct strbuf *out);

/* Calls `each` for every task that has a folder or a file here. */
void worktree_for_each(const char *home, void (*each)(void *ctx, const char *task), void *ctx);
