/* best_of.h: several candidates try the same task, and one result is taken.
 *
 * The task that was submitted is the parent. It runs nothing and is held (HOLD_CANDIDATES) while its
 * candidates, which are ordinary children in worktrees of their own, work. When all have ended, the
 * only one that is done is picked, or an agent or a person picks one. The choosing agent is that of
 * another child, the chooser, which is held until then and picks with the token of its run; if it
 * ends without a pick, a person picks (HOLD_REVIEW). The pick is merged if the task says so, and
 * then the parent is done. A pick that cannot be merged is withdrawn.
 *
 * The state is one note per parent, written in the commit of each change. A pick is on disk before
 * its merge begins; after a crash the merge begins again, and finds what is merged already. */
#pragma once

#include "engine/engine.h"

#define BEST_OF_MIN       2
#define BEST_OF_MAX       16
#define BEST_OF_PERSON    "person" /* a chooser that is not an agent */
#define BEST_OF_BY_CHECKS "checks" /* `by` of the only candidate that is done */

struct engine_best_of {
    task_id task;
    task_id candidates[BEST_OF_MAX];
    size_t count;
    task_id chooser; /* whose agent picks; 0: a person */
    bool review;     /* a person picks, also if only one is done */
    char *merge;     /* as submitted; or NULL */
    /* The pick; picked 0: none. */
    task_id picked;
    char *by, *why; /* may be NULL */
    time_ms picked_at;
    bool by_person; /* not by an agent, and not because only one is done */
    bool is_over;   /* merged, or not to be merged: the parent was done */
    char *refused;  /* why the last pick could not be merged; or NULL */
};

/* NULL: it has no candidates. */
const struct engine_best_of *engine_best_of(const struct engine *engine, task_id task);
/* The parent that this task is a candidate or the chooser of; 0: none. */
task_id engine_candidate_of(const struct engine *engine, task_id task);
/* The task whose branch has the result: the pick of a parent, else the task itself. */
task_id engine_result_of(const struct engine *engine, task_id task);
/* Appends what the parent waits for, or why it has failed. False: neither. */
bool engine_explain_candidates(const struct engine *engine, task_id task, struct strbuf *out);

/* --- inside a turn ---------------------------------------------------------------------------- */

/* Copies `task`, `candidates`, `count`, `chooser`, `review` and `merge`. They were just added; each
 * candidate gets an equal share of the budget of the task. */
void engine_add_best_of(struct engine *engine, const struct engine_best_of *added);

struct engine_pick {
    task_id task, candidate;
    const char *by, *why; /* or NULL */
    bool by_person;
};
/* 1: it is picked already. -EINVAL: not a candidate. -EBUSY: another is picked, the candidate is not
 * done, or the task does not wait for a pick. Candidates that have not ended are canceled. */
int engine_pick(struct engine *engine, const struct engine_pick *pick, struct error *err);
/* `over` is called once when the pick is merged or withdrawn, or waits for its next iteration, or
 * when another call waits; from the loop, or from inside. `is_ending`: the daemon ends. */
typedef void (*engine_pick_over)(void *ctx, bool is_ending);
void engine_pick_wait(struct engine *engine, task_id task, engine_pick_over over, void *ctx);

/* Holds the candidates that wait, or releases those that a person has held. The number changed. */
size_t engine_hold_candidates(struct engine *engine, task_id task, time_ms until);
size_t engine_release_candidates(struct engine *engine, task_id task);
