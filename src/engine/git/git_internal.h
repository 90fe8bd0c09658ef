/* git_internal.h: workspaces, worktrees, and the git jobs around a run. Private to engine/. */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "engine/diff.h"
#include "engine/engine_internal.h"
#include "executor/aside.h"
#include "workspace/delivery.h"
#include "workspace/git.h"
#include "workspace/private_git.h"
#include "workspace/worktree.h"

/* --- workspace ------------------------------------------------------------------------------------ */

/* Where a run works, and what becomes of its work.
 *
 * Three ways, as the project's configuration says:
 *   pool       a list of paths; a run has one of them to itself until its end
 *   worktree   a git worktree for each task, HOME/worktrees/ID on the branch sluice/ID; it stays with the task
 *   none       the folder of the task or of its project
 *
 *   workspace.c       who is where, pools and other homes; the hooks of launch and finish
 *   job.c             a series of helper processes: what they have in common, and how they run git
 *   worktree_make.c   a worktree before its run
 *   worktree_end.c    after the run: work is saved, committed, handed over
 *   merge.c           merge: direct, and merges that a person asks for
 *   worktree_clean.c  worktrees that are not needed any more
 *
 * What was decided is on disk before it is begun (worktree.h), and every job looks at what is there
 * before it does anything: after a crash the end of the run, or its loss, is told again, and the same job
 * begins again. */

/* --- before the launch ------------------------------------------------------------------------ */

/* 0: it may be launched. 1: later, the launch is ordered again. <0: it cannot. `title`: for commits. */
int workspace_prepare(struct engine *e, struct live_run *run, const json_t *spec, const char *title,
                      struct error *err);
/* The folder of the run; `cwd`: what its task says, or NULL. False: not in a workspace. */
bool workspace_folder(const struct engine *e, const struct live_run *run, const char *cwd,
                      struct strbuf *out);
/* Its path for SLUICE_WORKSPACE, or NULL; and of a worktree its branches for SLUICE_BRANCH and
 * SLUICE_BASE. */
const char *workspace_path(const struct engine *e, task_id task, const char **ret_branch,
                           const char **ret_base);

/* --- after the end ---------------------------------------------------------------------------- */

/* True: the end is withheld; finish_note_outcome follows. */
bool workspace_finish(struct engine *e, struct run_key run, const struct run_end *end);
/* The path of a pool that the run has worked in, and that its task shall wish for; 0: in none, or it does. */
sym pool_left_in(const struct engine *e, const struct live_run *run);
/* Its end was told: the path is free. */
void workspace_release(struct engine *e, task_id task);
/* It shall stop: what is done with its work is given up, if it can be. */
void workspace_stop(struct engine *e, task_id task);

/* --- after a commit --------------------------------------------------------------------------- */

/* The disk is short: of finished tasks, what can go without a loss goes. Not at every call. */
void workspaces_make_room(struct engine *e);
/* Of finished tasks, what goes after retention.merged_days and retention.worktree_days. Not at every call. */
void workspaces_expire(struct engine *e);
void workspace_task_final(struct engine *e, task_id task);
void workspace_forget(struct engine *e, const char *id); /* the task is no more */

struct job;

/* Where a live run works. */
struct workspace_place {
    task_id task;
    uint32_t attempt;
    char *path;
    char *prefix; /* of a worktree: where in it the project's folder is; NULL: no worktree */
    char *branch, *base;
    bool is_new;  /* of a worktree: nothing has prepared it */
    bool is_told; /* of a pool, and not wished for: the core was told that it is locked */
    int claim;    /* of a pool: what keeps other homes away; -1: nothing */
};

/* Who was the last in a path of a pool: its next attempt would like it back. */
struct habit {
    char *path;
    task_id task;
};

/* A worktree whose task is no more, and why it is kept. */
struct leftover {
    char *path, *why;
};

struct workspaces {
    struct job *jobs; /* in the order in which they came */
    LIST(struct workspace_place) places;
    LIST(struct habit) habits;
    LIST(struct leftover) leftovers;
    time_ms expire_at; /* not before: finished work is looked at whose days are over */
    time_ms room_at;   /* not before: all worktrees are looked at, for room on the disk */
};

static inline struct workspaces *workspaces_of(const struct engine *e) {
    return e->part[PART_workspaces];
}

struct workspace_place *workspace_find(const struct engine *e,
                                       task_id task); /* NULL: it works in none */
struct workspace_place *workspace_take(struct engine *e, struct run_key key, const char *path);
void workspace_tell_lock(struct engine *e, const char *path, task_id task); /* 0: it is free */
const struct project *workspace_project(const struct engine *e, task_id task);
bool workspace_makes_worktrees(const struct engine *e, const struct project *project);
char *workspace_of_run(const struct engine *e, const char *id, uint32_t attempt); /* or NULL */
/* Has an attempt before this one worked below that path? */
bool workspace_has_run_in(const struct engine *e, const char *id, uint32_t before,
                          const char *path);
void job_free(struct job *job);

/* --- claims ----------------------------------------------------------------------------------- */

struct workspace_claim {
    const char *path;
    const char *root, *folder; /* the run, as rundir.h names it */
};
/* 0 and a descriptor to keep (-1: the path is not ours to write in). -EBUSY: a run of another home is
 * there, or the same folder has another name here. */
int workspace_claim(const struct workspace_claim *claim, int *ret_fd, struct error *err);

/* --- job ------------------------------------------------------------------------------------------ */

/* Git commands one after another, for one worktree.
 *
 * Life:   job_new → job_begin → steps → job_end, which calls `done` and frees it
 * A step: job_git and its kin start a command and return; `then` is called with its end, from the loop, and starts
 *         the next one or ends the job. Every command has a guard (launch_internal.h): what a repository configures, or a
 *         run has written, is executed below a shim or not at all.
 * Lanes:  of the jobs with the same lane one is at work at a time, in the order of job_begin. One that
 *         pauses leaves its lane to the others meanwhile. */

/* A run has replaced it; `%s` is the folder. */
#define WORKTREE_FOREIGN "'%s/.git' is not the one that was made for it"

enum job_kind { JOB_MAKE, JOB_FINISH, JOB_CLEAN, JOB_DIFF, JOB_MERGE };

struct job;
typedef void (*job_step)(struct job *job, const struct helper_end *end);

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
    enum outcome outcome;             /* JOB_FINISH */
    char *path, *branch, *branch_ref; /* of the worktree */
    struct worktree_record record;
    struct run_spec_read *told; /* what the shim of its run was told; NULL: not read, or gone */

    /* JOB_FINISH */
    struct run_end end;
    char note[256];                  /* what became of good work */
    struct delivery_changes changes; /* of the task */
    const char *message;             /* of a commit */
    job_step after_commit, after_abandon;
    time_ms lock_until;
    unsigned tries;      /* of this look: the base moved so often */
    unsigned deliveries; /* how often the work could not be handed over */
    int lock;            /* of the merge; -1: none */
    char *base_ref;
    char head[GIT_HASH_MAX], base_hash[GIT_HASH_MAX];
    size_t check;
    struct strbuf output; /* what a person should see of it */

    /* What the run has committed in its sandbox, while it is taken over (worktree_import.c). */
    struct private_git_tips tips;
    void (*after_import)(struct job *job, bool worked);
    /* A command in its sandbox whose results are taken over before the job goes on. */
    struct helper_end as_run_end;
    job_step after_as_run;

    struct merging *merging; /* JOB_MERGE, and the JOB_MAKE before it: a person has asked for it */
    struct diff_work *diff;  /* JOB_DIFF, and what JOB_FINISH notes; or NULL */

    /* JOB_CLEAN */
    struct strbuf kept;  /* why it stays; "": it has gone */
    const char *count;   /* of commits that the base does not have */
    bool keeps_record;   /* the branch is still its task's */
    bool is_handed_over; /* its branch was the aim, and stays */
    bool lacks_files;    /* its removal was begun by a daemon that was killed */

    bool running, paused;
    bool has_record, branch_is_there;
    bool anonymous;    /* nobody has told git who commits */
    bool is_forced;    /* `outcome` counts, not what the end says */
    bool can_stop;     /* nothing is merged yet */
    bool is_stopped;   /* it shall end when its command has */
    bool is_rebased;   /* it has a new base: its checks must pass again */
    bool is_merged;    /* the base has it */
    bool was_merged;   /* and had it before */
    bool skips_checks; /* after a rebase, too */
    bool needs_branch; /* JOB_MAKE: an error when its branch has gone */
    bool is_counted;   /* `changes` has the commits */
    bool is_orphan;    /* its task is no more */
};

struct job *job_new(struct engine *e, enum job_kind kind, const char *id);
void job_set_lane(struct job *job, const char *what, const char *repository);
void job_begin(struct job *job);
void job_end(struct job *job); /* with job->err */
struct job *job_find(const struct engine *e, enum job_kind kind, task_id task);

char *job_text(struct job *job, const char *format, ...) _printf_(2, 3);

/* --- commands of jobs     ---------------------------------------------------------------------- */

/* A git command on refs and objects of the repository. */
void job_git(struct job *job, const struct git_line *line, job_step then);
/* The same; `then` gets standard output alone. */
void job_git_ask(struct job *job, const struct git_line *line, job_step then);
/* For what moves refs that others use too: the next daemon lets it come to its end. Killed half way it would leave
 * a lock that nobody removes. */
void job_git_for_others(struct job *job, const struct git_line *line, job_step then);
/* In the worktree, with the limits of the run, outside its sandbox: for what reads the index and the files, and runs no
 * filters. What does: worktree_as_run. */
void job_git_in_worktree(struct job *job, const struct git_line *line, job_step then);

/* More to say about it. */
struct job_call {
    const char *const *argv;
    const char *cwd; /* NULL: the worktree */
    const char
        *git_dir; /* NULL: git looks for it from `cwd` on. Else the record has its common_dir */
    const char *work_tree;   /* with git_dir */
    const char *const *env;  /* NULL: what git needs */
    const char *const *more; /* of the environment, behind that; or NULL */
    time_ms timeout;         /* 0: git.timeout_s */
    size_t output_max;       /* as in struct helper_spec; 0: as usual */
    bool as_run;             /* limits of the run */
    bool in_sandbox;         /* with as_run: and its sandbox */
    bool needs_sandbox;      /* with in_sandbox: without one it is not run */
    bool is_offline;         /* objects that a partial clone lacks are not fetched */
    bool outlives, reads;    /* as in struct helper_spec */
};
void job_call(struct job *job, const struct job_call *call, job_step then);
/* The command has ended or will, and the job goes on with worktree_end_finish or ends. */
void job_stop(struct job *job);
/* What the last run in the worktree was told; NULL: none has begun there. An error: it is not known any more. */
int job_run_spec(struct job *job, const struct run_spec **ret, struct error *err);
/* Reads `told` of this attempt, unless it is there. */
int job_read_spec(struct job *job, uint32_t attempt, struct error *err);

/* --- pauses, ends ------------------------------------------------------------------------------- */

/* `begin` is called again after so long, when its lane is free then. */
void job_pause(struct job *job, time_ms span);
/* Calls `due` after so long. */
void job_wait(struct job *job, time_ms span, loop_due due);

/* Did it end with 0? If not, `err` says what git said about `what`. */
bool job_worked(struct job *job, const struct helper_end *end, const char *what);
/* Writes the record; false: the job has ended with that error. */
bool job_write_record(struct job *job);

/* --- the steps of others ----------------------------------------------------------------------- */

void worktree_make_begin(struct job *job);
void worktree_end_begin(struct job *job);
/* The work is good: committed, and merged or handed over. Ends with worktree_end_finish. */
void worktree_deliver(struct job *job);
void worktree_clean_begin(struct job *job);
/* A rebase of ours is given up, whatever state it was left in: its branch is checked out as it was.
 * Everything was committed before it began, so what is in the way comes from it. `then` gets the end. */
void worktree_abandon_rebase(struct job *job, job_step then);
/* Deletes the folder. */
void worktree_delete(struct job *job, job_step then);
/* A git command that may execute what the run wrote (filters, merge drivers): in the sandbox of the run, if it had one.
 * Its objects and commits are taken over before `then`, unless `more` of such commands follow at once. */
void worktree_as_run(struct job *job, const struct git_line *line, bool more, job_step then);
/* Makes room in that sandbox for git; <0: `err` of the job. */
int worktree_lend(struct job *job);
/* Takes over what a run in a sandbox has committed, and deletes where it was. `then`: with `err` if that failed; then
 * everything is where it was. Without such a run: at once. */
void worktree_import(struct job *job, void (*then)(struct job *job, bool worked));
/* Deletes what a run has committed in its sandbox and was not taken over. */
void worktree_import_discard(struct job *job, job_step then);
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
/* What became of good work. */
void worktree_end_note(struct job *job, const char *format, ...) _printf_(2, 3);
/* Why the run counts as failed. */
void worktree_end_explain(struct job *job, const char *format, ...) _printf_(2, 3);

/* --- deliveries.c: what became of the work ------------------------------------------------------ */

/* How many files and lines the task has changed, by what diff_keep has noted; then `after`. */
void delivery_measure(struct job *job, void (*after)(struct job *job));
/* How many commits it has; `then` gets nothing. */
void delivery_count(struct job *job, job_step then);
/* Writes it down, and the event `run.merge`. */
void delivery_keep(struct job *job);
/* The same of a merge that a person has asked for, if it worked: what its task has changed is known. */
void delivery_keep_merge(struct job *job);
/* Has its work been there for as long as that setting (`retention.…_days`) says? */
bool delivery_is_old(const struct engine *e, task_id task, const char *key);
/* What was removed is written down: "worktree", "worktree and branch". */
void delivery_keep_removed(struct job *job, const char *removed);

void merge_begin(struct job *job);
void merging_finish(struct job *job); /* who waits for it is told that it will not come */
/* Is it merged when a person approves it, and not before? */
bool merge_waits_for_person(const struct engine *e, task_id task, const char *merge);

/* --- diff ----------------------------------------------------------------------------------------- */

/* What the files that compare trees share.
 *
 * The state at the end of an iteration is a tree in the repository, held by refs/worktree/sluice/N, which
 * only this worktree has and which goes with it. Without the ref git keeps the tree until it collects
 * garbage, as a rule two weeks. */

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
