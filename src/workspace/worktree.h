/* worktree.h: the record of a worktree, stored beside it: HOME/worktrees/ID.json.
 *
 * The record is written before git creates anything and deleted last, so that it covers every
 * crash:
 *   made false   git was asked to create it, with unknown result: nothing has ever run there
 *   prepared     its first run reported that the project's `prepare` succeeded: it is not repeated
 *   rebasing     a rebase in it is ours, and its checks have not passed since: after a crash the
 *                rebase is aborted and restarted, or the checks are run again
 *   conflict     the commit of the base that its work conflicts with: the next run repairs that
 *   repairing    that commit was merged into the worktree, and the conflicts are left to the run
 *   removing     its contents are saved elsewhere, and git was asked to remove it: after a crash
 *                files may be missing
 * A worktree without a record was not created by this home, and is left alone.
 *
 * The record has the git directories of the worktree. Git must not discover them: a run can replace
 * the file `.git` and its target. Records of earlier versions lack them; then the shared git
 * directory must be that of the repository. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"

struct worktree_record {
    char *repository; /* the project's directory when it was created */
    char *base;       /* the branch it started from */
    char *prefix;     /* path of the project's directory in it: "" or "sub/dir/" */
    char *merge;      /* delivery of a successful result: "none" "local" "direct" "mr" */
    char *title;      /* of the task, for commits */
    char *git_dir;    /* of this worktree only; "": not recorded */
    char *common_dir; /* shared by all worktrees of the repository; "": not recorded */
    char *conflict;   /* "": none */
    bool implied;     /* `merge` is the default: a failed delivery does not fail the task */
    bool made;
    bool rebasing;
    bool prepared; /* `prepare` has succeeded */
    bool removing;
    bool repairing;
    bool iterates; /* on_conflict: a conflict begins the next iteration */
};

void worktree_record_finish(struct worktree_record *record);

/* HOME/worktrees/ID and the file beside it; the caller frees them. */
char *worktree_path(const char *home, const char *task);
char *worktree_record_path(const char *home, const char *task);

/* 0; -ENOENT: none. */
int worktree_record_read(const char *home, const char *task, struct worktree_record *ret,
                         struct error *err);
/* Creates HOME/worktrees if needed. */
int worktree_record_write(const char *home, const char *task, const struct worktree_record *record,
                          struct error *err);
void worktree_record_remove(const char *home, const char *task);

/* The absolute git directory of a worktree, from its file `.git`. 0; -ENOENT: no directory;
 * -EUCLEAN: incomplete; -EXDEV: a copy, whose git directory belongs to the original worktree. */
int worktree_git_dir(const char *path, struct strbuf *out);
/* Same for the worktree of a record. -EPERM: its `.git` or shared directory is not the recorded
 * one. After 0 the record has both git directories. */
int worktree_find(const char *path, struct worktree_record *record);
/* An unfinished operation there: "rebase", "merge" … or NULL. */
const char *worktree_in_progress(const char *git_dir);
/* The holders of these locks are dead: the run has ended, and nothing else works there or moves its
 * branch. An incomplete worktree has no git directory yet. */
void worktree_break_locks(const struct worktree_record *record, const char *branch);
bool worktree_is_locked(const struct worktree_record *record);

/* Maps a task's directory into its workspace: a path below `from` (the project's directory) is
 * mapped below `to`; any other becomes `to`. */
void worktree_map_folder(const char *cwd, const char *from, const char *to, struct strbuf *out);

/* Calls `each` for every task that has a directory or a record here. */
void worktree_for_each(const char *home, void (*each)(void *ctx, const char *task), void *ctx);
