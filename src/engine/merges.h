/* merges.h: a finished task's branch is merged because a person says so. Part of engine.h, for ops/.
 *
 * The same steps as `merge: direct` after a run: what is left in the worktree is committed, the branch is rebased onto the
 * base branch, the checks of the task run again if that changed anything, and the base moves forwards. A worktree that
 * has gone is made again from the branch. If anything is in the way, branch and base are as they were. */
#pragma once

#include "engine/engine.h"

struct merge_question {
    task_id task;
    const char *into;  /* NULL: the branch that it came from */
    bool dry_run;      /* only says what would happen */
    bool skips_checks; /* the checks of the task do not run again */
};

enum merge_result {
    MERGE_DONE,
    MERGE_ALREADY,  /* the base branch has it */
    MERGE_POSSIBLE, /* dry_run: there is no conflict */
    MERGE_EMPTY,    /* there is nothing to merge: the task has changed nothing */
    MERGE_CONFLICT, /* `message` names the files */
    MERGE_FAILED,   /* a check fails on the new base, or git does: `message` */
};
const char *merge_result_name(enum merge_result result);

struct merge_answer {
    enum merge_result result;
    const char *branch, *into, *message;
    const char *commit; /* where `into` is now; NULL: not moved, or not known */
};
/* `answer` lives as long as the call; NULL: the daemon is ending. */
typedef void (*merge_ready)(void *ctx, const struct merge_answer *answer);

/* `ready` is called once, from the loop or when the engine is freed; not after an error. -EBUSY: it runs, waits for its
 * turn, or is being merged; -ENOENT: it has no branch. */
int engine_merge(struct engine *engine, const struct merge_question *question, merge_ready ready,
                 void *ctx, struct error *err);
/* Its work is merged when a person approves it: it has `merge: direct`, and a review or `until: external`. */
bool engine_merges_on_approval(const struct engine *engine, task_id task);
