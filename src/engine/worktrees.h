/* worktrees.h: the work of a task: its worktree, what it changed, what became of it, and merges on
 * request. */
#pragma once

#include "engine/engine.h"
#include "workspace/delivery.h"
#include "workspace/diff_record.h"

/* --- settings and counts ---------------------------------------------------------------------- */

/* What happens to successful results in that project unless the task sets it: `projects.P.merge`;
 * by default "local" with worktrees, so that nothing is left uncommitted, and "none" without. */
const char *engine_project_merge(const struct config *config, const char *project);
/* Worktrees of finished tasks, kept because their work is nowhere else, or for retention.…_days. */
size_t engine_kept_worktrees(const struct engine *engine);
/* -EINVAL: it has worktree settings (`prepare`, `copy`) without effect, because it makes none. */
int engine_check_worktrees(const struct engine *engine, const char *project, struct error *err);

/* --- what became of the work ------------------------------------------------------------------ */

/* False: nothing recorded. Release the result with delivery_finish. */
bool engine_delivery(const struct engine *engine, task_id task, struct delivery *ret);
/* The same for lists: only the changes. */
bool engine_changes(const struct engine *engine, task_id task, struct delivery_changes *ret);

/* --- changes ---------------------------------------------------------------------------------- */

/* What a task changed in its worktree. A git helper process computes it beside the loop,
 * with a deadline. It runs nothing that the repository configures (hooks, filters, diff programs)
 * and changes no index, branch or file. */

#define DIFF_PATCH_MAX (1u << 20) /* bytes */
#define DIFF_FILES_MAX 1000u

struct diff {
    const char *base;   /* start: a commit or a tree */
    const char *head;   /* end; NULL: the files of the worktree as they are now */
    const char *branch; /* the branch it came from */
    const struct diff_file *files;
    size_t file_count;
    const char *patch; /* raw bytes of the files; NULL: not requested */
    size_t patch_size;
    bool truncated; /* more files or more patch than fits */
};

/* `diff` is valid during the call; NULL: `err` has the reason. */
typedef void (*diff_ready)(void *ctx, const struct diff *diff, const struct error *err);

struct diff_question {
    task_id task;
    uint32_t iteration; /* 0: the complete task */
    bool stat;          /* no patch */
    uint32_t context;   /* unchanged lines around each change */
    /* Only this file; `old_path`: what it was called before. NULL: all files. */
    const char *path, *old_path;
};
#define DIFF_CONTEXT     3u
#define DIFF_CONTEXT_MAX 1000000u
/* Whether there is a worktree or its remains. A query may still find nothing. */
bool engine_has_diff(const struct engine *engine, task_id task);
/* `ready` is called once, from the loop or when the engine is freed; not after an error. -ENOENT:
 * nothing to compare, or not recorded. -EAGAIN: too many concurrent queries. */
int engine_diff(struct engine *engine, const struct diff_question *question, diff_ready ready,
                void *ctx, struct error *err);

/* --- merges on request ------------------------------------------------------------------------ */

/* Merges a finished task's branch on request.
 *
 * The same steps as `merge: direct` after a run: the worktree's pending changes are committed, the
 * branch is rebased onto the base branch, the task's checks run again if that changed anything, and
 * the base is fast-forwarded. A removed worktree is created again from the branch. On failure,
 * branch and base are unchanged. */

struct merge_question {
    task_id task;
    const char *into;  /* NULL: the branch that it came from */
    bool dry_run;      /* only report what would happen */
    bool skips_checks; /* do not run the task's checks again */
    bool is_delivery;  /* deliver it as the task is configured, which may not merge it */
};

enum merge_result {
    MERGE_DONE,
    MERGE_ALREADY,  /* the base branch already has it */
    MERGE_POSSIBLE, /* dry_run: no conflict */
    MERGE_EMPTY,    /* the task changed nothing */
    MERGE_CONFLICT, /* `message` names the files */
    MERGE_FAILED,   /* a check fails on the new base, or git fails: `message` */
};
const char *merge_result_name(enum merge_result result);

struct merge_answer {
    enum merge_result result;
    const char *branch, *into, *message;
    const char *commit; /* where `into` is now; NULL: not moved, or unknown */
};
/* `answer` is valid during the call; NULL: the daemon is ending. */
typedef void (*merge_ready)(void *ctx, const struct merge_answer *answer);

/* `ready` is called once, from the loop or when the engine is freed; not after an error. -EBUSY: it
 * runs, waits for its turn, or is being merged; -ENOENT: no branch. */
int engine_merge(struct engine *engine, const struct merge_question *question, merge_ready ready,
                 void *ctx, struct error *err);
/* Delivered when a person approves it: it has `merge: direct`, and a review or `until: external`; or
 * it is taken over, and its work goes somewhere. */
bool engine_merges_on_approval(const struct engine *engine, task_id task);
