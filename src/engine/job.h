/* job.h: git commands one after another, for one worktree. Private to engine/.
 *
 * Life:   job_new → job_begin → steps → job_end, which calls `done` and frees it
 * A step: job_run starts a command and returns; `then` is called with its end, from the loop, and starts
 *         the next one or ends the job.
 * Lanes:  of the jobs with the same lane one is at work at a time, in the order of job_begin. One that
 *         pauses leaves its lane to the others meanwhile. */
#pragma once

#include "base/arena.h"
#include "engine/workspace.h"
#include "executor/aside.h"
#include "workspace/git.h"
#include "workspace/worktree.h"

enum job_kind { JOB_MAKE, JOB_FINISH, JOB_CLEAN, JOB_DIFF };

struct job;
typedef void (*job_step)(struct job *job, const struct aside_end *end);

struct job {
    struct engine *e;
    struct job *next;
    void (*begin)(struct job *job);
    void (*done)(struct job *job); /* `err` has a code when it failed */
    char *lane;                    /* NULL: beside all others */
    const char *doing;             /* for people */
    struct aside *aside;
    job_step then;
    struct loop_timer *timer;
    struct error err;
    struct arena arena; /* texts of this job */

    char id[ENGINE_ID_MAX];
    struct run_key key;
    enum job_kind kind;
    enum outcome outcome;                       /* JOB_FINISH */
    char *path, *branch, *branch_ref, *git_dir; /* of the worktree */
    struct worktree_record record;

    /* JOB_FINISH */
    struct run_end end;
    const char *message; /* of a commit */
    job_step after_commit, after_abandon;
    time_ms lock_until;
    unsigned tries;      /* of this look: the base moved so often */
    unsigned deliveries; /* how often the work could not be handed over */
    int lock;            /* of the merge; -1: none */
    char *base_ref;
    char head[GIT_HASH_MAX], base_hash[GIT_HASH_MAX];
    size_t check;
    struct run_spec_read *told; /* what the shim was told; for its checks */
    struct strbuf output;       /* what a person should see of it */

    struct diff_work *diff; /* JOB_DIFF, and what JOB_FINISH notes; or NULL */

    /* JOB_CLEAN */
    struct strbuf kept; /* why it stays; "": it has gone */
    const char *count;  /* of commits that the base does not have */
    bool keeps_record;  /* the branch is still its task's */

    bool running, paused;
    bool has_record, branch_is_there;
    bool anonymous;  /* nobody has told git who commits */
    bool is_forced;  /* `outcome` counts, not what the end says */
    bool can_stop;   /* nothing is merged yet */
    bool is_rebased; /* it has a new base: its checks must pass again */
    bool is_orphan;  /* its task is no more */
};

struct job *job_new(struct engine *e, enum job_kind kind, const char *id);
void job_set_lane(struct job *job, const char *what, const char *repository);
void job_begin(struct job *job);
void job_end(struct job *job); /* with job->err */
struct job *job_find(const struct engine *e, enum job_kind kind, task_id task);

char *job_text(struct job *job, const char *format, ...) _printf_(2, 3);
/* In the job's worktree when `cwd` is NULL. */
void job_run(struct job *job, const char *cwd, const char *const *argv, job_step then);
/* What git is given: no questions, no pager, and our mark. */
const char *const *job_env(struct job *job);
/* The same with more to say about it. */
void job_run_with(struct job *job, const struct aside_spec *spec, job_step then);
/* For what changes more than the worktree, a work tree or refs that others use too: the next daemon lets it
 * come to its end. Killed half way it would leave them with half of the files, or a lock that nobody
 * removes. */
void job_run_for_others(struct job *job, const char *cwd, const char *const *argv, job_step then);
/* `begin` is called again after so long, when its lane is free then. */
void job_pause(struct job *job, time_ms span);
/* Calls `due` after so long. */
void job_wait(struct job *job, time_ms span, loop_due due);

/* Did it end with 0? If not, `err` says what git said about `what`. */
bool job_worked(struct job *job, const struct aside_end *end, const char *what);
/* Writes the record; false: the job has ended with that error. */
bool job_write_record(struct job *job);

/* --- the steps of others ----------------------------------------------------------------------- */

void worktree_make_begin(struct job *job);
void worktree_end_begin(struct job *job);
void worktree_clean_begin(struct job *job);
/* A rebase of ours is given up, whatever state it was left in: its branch is checked out as it was.
 * Everything was committed before it began, so what is in the way comes from it. `then` gets the end. */
void worktree_abandon_rebase(struct job *job, job_step then);
/* What is not committed is: `after` follows when the worktree is clean. */
void worktree_commit(struct job *job, const char *message, job_step after);
/* The last step: unlocked, and told. */
void worktree_end_finish(struct job *job);
/* It cannot be finished as it should: `outcome`. */
void worktree_end_fail(struct job *job, enum outcome outcome, const char *format, ...)
    _printf_(3, 4);
/* The work is good, and what failed is git, the disk, somebody's lock or a command: all of it is tried
 * again after a pause, git.retries times; then OUTCOME_UNMERGED. The agent has nothing to do with it. */
void worktree_end_again(struct job *job, const char *format, ...) _printf_(2, 3);
void worktree_end_note(struct job *job, const char *format, ...) _printf_(2, 3);
void merge_begin(struct job *job);
