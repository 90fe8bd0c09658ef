/* diff_internal.h: what the files that compare trees share. Private to engine/.
 *
 *   diff.c        what did it change? (engine/diff.h)
 *   diff_keep.c   the end of a run: what its iteration has changed is noted
 *   diff_steps.c  how git is asked, so that nothing of the repository is run
 *
 * The state at the end of an iteration is a tree in the repository, held by refs/worktree/sluice/N, which
 * only this worktree has and which goes with it. Without the ref git keeps the tree until it collects
 * garbage, as a rule two weeks. */
#pragma once

#include "engine/diff.h"
#include "engine/job.h"

struct diff_work {
    const char *cwd;
    char *index;                    /* ours, a copy: the worktree's own is not touched */
    const char *const *filters;     /* NULL-ended pairs of the environment that turn filters off */
    job_step then;                  /* behind diff_copy_index */
    void (*after)(struct job *job); /* JOB_FINISH: behind everything */

    struct diff_question question;
    uint32_t iteration; /* whose run has ended */
    struct diff_record all, one;
    bool is_live; /* compared with the files as they are now */
    bool cut;
    struct strbuf numstat, patch;
    diff_ready ready; /* NULL: it was called */
    void *ctx;
};

void diff_work_finish(struct job *job); /* who waits for it is told that it will not come */

/* What was noted; false: nothing. */
bool diff_find_record(const struct job *job, uint32_t iteration, struct diff_record *ret);

/* The same for what is shown: standard output alone, at most so much of it. */
void diff_read(struct job *job, const char *const *argv, size_t most, job_step then);

/* --- the end of a run -------------------------------------------------------------------------- */

/* Notes what it has changed, then `after`, whether that could be done or not. */
void diff_keep(struct job *job, void (*after)(struct job *job));
/* job->base_hash is about to move to job->head. */
void diff_keep_merge(struct job *job);
/* The next iteration begins on a new base, at job->head. */
void diff_keep_rebase(struct job *job);
