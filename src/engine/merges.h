/* merges.h: merges a finished task's branch on request. Part of engine.h, for ops/.
 *
 * The same steps as `merge: direct` after a run: the worktree's pending changes are committed, the
 * branch is rebased onto the base branch, the task's checks run again if that changed anything, and
 * the base is fast-forwarded. A removed worktree is created again from the branch. On failure,
 * branch and base are unchanged. */
#pragma once

#include "engine/engine.h"

struct merge_question {
    task_id task;
    const char *into;  /* NULL: the branch that it came from */
    bool dry_run;      /* only report what would happen */
    bool skips_checks; /* do not run the task's checks again */
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
/* Merged when a person approves it: it has `merge: direct`, and a review or `until: external`. */
bool engine_merges_on_approval(const struct engine *engine, task_id task);
