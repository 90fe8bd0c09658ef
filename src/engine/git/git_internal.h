/* git_internal.h: workspaces, worktrees, and the git jobs around a run. Private to engine/. */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "engine/engine_internal.h"
#include "engine/worktrees.h"
#include "executor/helper_process.h"
#include "workspace/delivery.h"
#include "workspace/git.h"
#include "workspace/private_git.h"
#include "workspace/worktree.h"

/* --- workspace -------------------------------------------------------------------------------- */

/* Where a run works, and what becomes of its work. By the project's configuration:
 *
 *   pool       a list of paths; a run has one of them to itself until its end
 *   worktree   a git worktree per task, HOME/worktrees/ID on branch sluice/ID, which stays with it
 *   none       the folder of the task or of its project
 *
 *   workspace.c       who works where, pools and other homes; the hooks of launch and finish
 *   job.c             a series of helper processes: what they share, and how they run git
 *   worktree_make.c   a worktree before its run
 *   worktree_import.c git in the sandbox of a run, and the import of its commits
 *   worktree_end.c    after the run: work is saved, committed, delivered
 *   merge.c           merge: direct, and merges on request
 *   conflict.c        conflicts that the next iteration repairs
 *   deliveries.c      the record of what became of the work
 *   diff.c            what a task changed: recorded at the end of a run, or compared on request
 *   worktree_clean.c  worktrees that are no longer needed
 *
 * Decisions are on disk before they are carried out (worktree.h), and every job checks the current
 * state before it acts: after a crash the end or the loss of the run is processed again, and the
 * same job starts over. */

/* --- before the launch ------------------------------------------------------------------------ */

/* 0: it may be launched. 1: later, the launch is ordered again. <0: error. `title`: for commits. */
int workspace_prepare(struct engine *e, struct live_run *run, const json_t *spec, const char *title,
                      struct error *err);
/* The folder of the run; `cwd`: of its task, or NULL. False: not in a workspace. */
bool workspace_folder(const struct engine *e, const struct live_run *run, const char *cwd,
                      struct strbuf *out);

/* --- after the end ---------------------------------------------------------------------------- */

/* Whether the run worked in a worktree; the caller owns the record. */
bool workspace_has_work(const struct engine *e, const struct live_run *run,
                        struct worktree_record *ret_record);
/* Saves, commits and delivers that work; END_DELIVERY of runs/run_end.c follows, perhaps before
 * this returns. Takes the record. `so_far`: end and outcome without the delivery. True: the work is a
 * success to deliver. */
struct end_delivery;
bool workspace_finish(struct engine *e, const struct live_run *run,
                      const struct worktree_record *record, const struct end_delivery *so_far);
/* The pool path that the run used and its task shall request; 0: none, or it already does. */
sym pool_path_to_request(const struct engine *e, const struct live_run *run);
/* Its end was applied: the path is free. */
void workspace_release(struct engine *e, task_id task);
/* Stops the task: the work on its workspace is aborted, if possible. */
void workspace_stop(struct engine *e, task_id task);

/* --- after a commit --------------------------------------------------------------------------- */

/* The disk is low: removes what can be removed of finished tasks without a loss. Rate-limited. */
void workspaces_make_room(struct engine *e);
/* Removes finished work after retention.merged_days and retention.worktree_days. Rate-limited. */
void workspaces_expire(struct engine *e);
void workspace_task_final(struct engine *e, task_id task);
void workspace_forget(struct engine *e, const char *id); /* the task was deleted */

struct job;

/* Where a live run works. */
struct workspace_place {
    task_id task;
    uint32_t attempt;
    char *path;          /* SLUICE_WORKSPACE */
    char *prefix;        /* worktree: the project's folder in it; NULL: not a worktree */
    char *branch, *base; /* worktree: SLUICE_BRANCH and SLUICE_BASE; else NULL */
    bool is_new;         /* worktree: not prepared yet */
    bool has_lock;       /* pool, without a request: the core knows that it is locked */
    int claim;           /* pool: lock against other homes; -1: none */
};

/* The last user of a pool path: its next attempt wants it back. */
struct pool_user {
    char *path;
    task_id task;
};

/* A worktree whose task was deleted, and why it is kept. */
struct leftover {
    char *path, *why;
};

struct workspaces {
    struct job *jobs; /* in order of arrival */
    LIST(struct workspace_place) places;
    LIST(struct pool_user) pool_users;
    LIST(struct leftover) leftovers;
    time_ms expire_at; /* when to check finished work against its retention */
    time_ms room_at;   /* when to check all worktrees for space to free */
};

PART_STATE(workspaces, struct workspaces, workspaces_of)

struct workspace_place *workspace_find(const struct engine *e, task_id task); /* or NULL */
bool workspace_makes_worktrees(const struct engine *e, const struct engine_project *project);
/* Whether an earlier attempt worked below that path. */
bool workspace_has_run_in(const struct engine *e, const char *id, uint32_t before,
                          const char *path);
void job_free(struct job *job);

/* --- job -------------------------------------------------------------------------------------- */

/* Git commands in sequence, for one worktree.
 *
 * Life:   job_new → job_begin → steps → job_end, which calls `done` and frees it
 * Step:   job_git and its variants start a command and return. `then` is called from the loop when
 *         the command has ended, with `result` set. It starts the next command or ends the job.
 *         Every command has a guard (launch_internal.h): what a repository configures, or a run
 *         has written, is executed below a shim or not at all.
 * Lanes:  of the jobs with the same lane one runs at a time, in the order of job_begin. A paused
 *         job yields its lane. */

/* A run has replaced it; `%s` is the folder. */
#define WORKTREE_REPLACED "'%s/.git' is not the one that was made for it"

enum job_kind { JOB_MAKE, JOB_FINISH, JOB_CLEAN, JOB_DIFF, JOB_MERGE };

typedef void (*job_step)(struct job *job);

struct job {
    struct engine *e;
    struct job *next;
    job_step begin;
    job_step done;     /* on failure `err` has a code */
    char *lane;        /* NULL: concurrent with all others */
    const char *doing; /* shown to users */
    struct helper_process *helper;
    job_step then;            /* after the running command */
    struct helper_end result; /* of the last command; valid during the step that follows it */
    struct loop_timer *timer;
    struct error err;
    struct arena arena; /* texts of this job */

    char id[ENGINE_ID_MAX];
    struct run_key key;
    enum job_kind kind;
    enum outcome outcome;             /* JOB_FINISH */
    char *path, *branch, *branch_ref; /* of the worktree */
    struct worktree_record record;
    struct run_spec_read
        *shim_spec; /* the spec that its run's shim got; NULL: not read, or deleted */

    /* JOB_FINISH */
    struct run_end end;
    char note[256];                  /* what became of a successful result */
    struct delivery_changes changes; /* of the task */
    const char *message;             /* of a commit */
    job_step after_commit, after_abandon, after_discard, after_conflict, after_repair;
    time_ms lock_until;
    unsigned tries;      /* how often the base moved during this attempt */
    unsigned lists;      /* how often git could not list the worktrees */
    unsigned deliveries; /* failed deliveries */
    int lock;            /* of the merge; -1: none */
    char *base_ref;
    char head[GIT_HASH_MAX], base_hash[GIT_HASH_MAX];
    size_t check;
    struct strbuf output; /* shown to users */

    /* A conflict with the base (conflict.c). */
    const char *conflict_files, *their_commits; /* lines of git */
    const char *conflict_text;                  /* for the next run */
    const char *merge_error; /* of a rebase or merge that failed without a conflict */

    /* Commits of the run in its sandbox, during their import (worktree_import.c). */
    struct private_git_tips tips;
    job_step after_import;
    /* A command in its sandbox whose commits are imported before the job continues. */
    struct helper_end as_run_result;
    job_step after_as_run;

    struct merging *merging; /* JOB_MERGE, and the JOB_MAKE before it: a merge on request */
    struct diff_work *diff;  /* JOB_DIFF, and the record of JOB_FINISH; or NULL */

    /* JOB_CLEAN */
    struct strbuf kept;  /* why it is kept; "": removed */
    const char *count;   /* of commits that the base does not have */
    bool keeps_record;   /* the branch still belongs to its task */
    bool is_handed_over; /* its branch was the result, and stays */
    bool lacks_files;    /* a killed daemon had begun to remove it */

    bool running, paused;
    bool has_record, branch_is_there;
    bool anonymous;    /* git has no committer identity */
    bool is_forced;    /* `outcome` counts instead of what the end means */
    bool can_stop;     /* nothing is merged yet */
    bool is_stopped;   /* end the job when its command has ended */
    bool is_rebased;   /* it has a new base: its checks must pass again */
    bool is_merged;    /* the base has it */
    bool has_conflict; /* that a run can repair: `conflict_text` */
    bool was_merged;   /* the base had it before */
    bool skips_checks; /* even after a rebase */
    bool is_delivery;  /* with `merging`: as the task is configured, which may not merge it */
    bool needs_branch; /* JOB_MAKE: fail if its branch was deleted */
    bool is_counted;   /* `changes` has the commits */
    bool is_orphan;    /* its task was deleted */
};

struct job *job_new(struct engine *e, enum job_kind kind, const char *id, job_step begin,
                    job_step done);
void job_set_lane(struct job *job, const char *what, const char *repository);
void job_begin(struct job *job);
void job_end(struct job *job); /* with job->err */
struct job *job_find(const struct engine *e, enum job_kind kind, task_id task);

/* A formatted text in the arena of the job. */
#define job_text(job_, ...) arena_printf(&(job_)->arena, __VA_ARGS__)

/* --- commands of jobs ------------------------------------------------------------------------- */

/* The words of a git command, which are copied. */
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A git command on refs and objects of the repository. */
void job_git(struct job *job, const char *const *words, job_step then);
/* The same; only its standard output is kept. */
void job_git_read(struct job *job, const char *const *words, job_step then);
/* For commands that move shared refs: the next daemon lets them finish. Killed halfway, they leave
 * a stale lock. */
void job_git_for_others(struct job *job, const char *const *words, job_step then);
/* In the worktree, with the limits of the run, outside its sandbox: for commands that read the
 * index and the files but run no filters. For the others: worktree_as_run. */
void job_git_in_worktree(struct job *job, const char *const *words, job_step then);

struct job_call {
    const char *const *argv; /* of another program; with `git`: before that, at most 7 words */
    const char *const *git;  /* words of a git command; or NULL */
    const char *cwd;         /* NULL: the worktree */
    const char *git_dir;     /* NULL: git searches from `cwd`. Else the record has its common_dir */
    const char *work_tree;   /* with git_dir */
    const char *const *env;  /* NULL: the defaults for git */
    const char *const *more; /* additional environment; or NULL */
    time_ms timeout;         /* 0: git.timeout_s */
    size_t output_max;       /* as in struct helper_spec; 0: default */
    bool as_run;             /* with the limits of the run */
    bool in_sandbox;         /* with as_run: in its sandbox, too */
    bool needs_sandbox;      /* with in_sandbox: fail without one */
    bool is_offline;         /* do not fetch objects that a partial clone lacks */
    bool outlives, reads;    /* as in struct helper_spec */
};
void job_call(struct job *job, const struct job_call *call, job_step then);
/* Calls `then` as after a command that could not be started. */
void job_not_started(struct job *job, const struct error *err, job_step then);
/* The command has ended or will, and the job continues with worktree_end_finish or ends. */
void job_stop(struct job *job);
/* The spec of the last run in the worktree; NULL: none has started there. Error: unknown. */
int job_run_spec(struct job *job, const struct run_spec **ret, struct error *err);
/* Reads `shim_spec` of this attempt, unless it is set. */
int job_read_spec(struct job *job, uint32_t attempt, struct error *err);

/* --- pauses and ends -------------------------------------------------------------------------- */

/* Calls `begin` again after `span`, once its lane is free. */
void job_pause(struct job *job, time_ms span);
/* Calls `due` after `span`. */
void job_wait(struct job *job, time_ms span, loop_due due);

/* Whether the last command exited with 0. If not, sets `err` to what git printed about `what`, and
 * calls `fail`, unless that is NULL. */
bool job_worked(struct job *job, const char *what, job_step fail);
/* Writes the record of the worktree. On failure `fail` is called with `err` set. NULL: the failure
 * is ignored, and `err` stays as it is. */
bool job_write_record(struct job *job, job_step fail);

/* --- steps in other files --------------------------------------------------------------------- */

void worktree_make_begin(struct job *job);
void worktree_end_begin(struct job *job);
/* A successful result is committed, and merged or delivered. Ends with worktree_end_finish. */
void worktree_deliver(struct job *job);
void worktree_clean_begin(struct job *job);
/* Aborts a rebase of ours in any state and checks out its branch as it was. Everything was
 * committed before the rebase, so any file in the way comes from it. `then`: after the checkout. */
void worktree_abandon_rebase(struct job *job, job_step then);
/* Removes a worktree that git has created or removed only in part. `then` finds out what is wrong
 * if that failed. */
void worktree_discard(struct job *job, job_step then);
/* A git command that may execute what the run wrote (filters, merge drivers): in the sandbox of the
 * run, if it had one. Its objects and commits are imported before `then`, unless `more` such
 * commands follow at once. */
void worktree_as_run(struct job *job, const char *const *words, bool more, job_step then);
/* Creates what git needs in that sandbox; <0: `err` of the job. */
int worktree_make_private_git(struct job *job);
/* Imports the commits of a run in a sandbox, then deletes the originals. `then`: with `err` set on
 * failure; nothing has changed then. Without such a run: called at once. */
void worktree_import(struct job *job, job_step then);
/* Deletes commits of a run in its sandbox that were not imported. */
void worktree_import_discard(struct job *job, job_step then);
/* Commits pending changes; `after` is called when the worktree is clean. */
void worktree_commit(struct job *job, const char *message, job_step after);
/* The last step: unlocks the worktree and reports the end. */
void worktree_end_finish(struct job *job);
/* It cannot be finished as intended: `outcome`. */
void worktree_end_fail(struct job *job, enum outcome outcome, const char *format, ...)
    _printf_(3, 4);
/* The result is good, but git, the disk, a foreign lock or a command failed: the delivery is
 * retried after a pause, git.retries times; then OUTCOME_UNMERGED. The agent is not at fault. */
void worktree_end_again(struct job *job, const char *format, ...) _printf_(2, 3);
/* What became of a successful result. */
#define WORKTREE_END_NOTE(job_, ...)                                                               \
    ((void)snprintf((job_)->note, sizeof((job_)->note), __VA_ARGS__))
/* Why the run counts as failed. */
#define WORKTREE_END_EXPLAIN(job_, ...)                                                            \
    ((void)snprintf((job_)->end.message, sizeof((job_)->end.message), __VA_ARGS__))

/* --- conflict.c ------------------------------------------------------------------------------- */

/* The work conflicts, and no run has repaired it yet. */
bool conflict_is_known(const struct worktree_record *record);
/* The merge that a run should conclude is unfinished. */
bool conflict_is_open(const struct worktree_record *record);
/* A rebase onto job->base_hash has conflicts, and was abandoned. Ends the job with OUTCOME_CONFLICT,
 * and the description for the next run; `merged`: a merge had none, and the branch is rebased. */
void conflict_describe(struct job *job, job_step merged);
/* JOB_MAKE: leaves the conflicts in the worktree, if there are any, then calls `then`. */
void conflict_place(struct job *job, job_step then);
/* Ends the job with OUTCOME_CONFLICT if files have markers of the merge that was left there. */
void conflict_check_markers(struct job *job, job_step then);
/* The branch is checked out: commits the repaired files, on top of the base. */
void conflict_conclude(struct job *job, job_step then);

/* --- deliveries.c: what became of the work ---------------------------------------------------- */

/* Counts changed files and lines of the task, from the records of diff_keep. */
void delivery_count_changes(struct job *job, job_step then);
void delivery_count_commits(struct job *job, job_step then);
/* Writes the record, and the event `run.merge`. */
void delivery_keep(struct job *job);
/* The same for a successful merge on request: the changes of its task are known. */
void delivery_keep_merge(struct job *job);
/* Whether its work is older than that setting (`retention.…_days`). */
bool delivery_is_old(const struct engine *e, task_id task, const char *key);
/* Records what was removed: "worktree", "worktree and branch". */
void delivery_keep_removed(struct job *job, const char *removed);

void merge_begin(struct job *job);
void merging_finish(struct job *job); /* a pending callback learns that no answer comes */
/* Whether it is merged only when a person approves it. */
bool merge_waits_for_person(const struct engine *e, task_id task, const char *merge);

/* --- diff ------------------------------------------------------------------------------------- */

/* Shared by the files that compare trees. The state at the end of an iteration is a tree in the
 * repository, held by refs/worktree/sluice/N, which belongs to this worktree and is deleted with
 * it. Without the ref git keeps the tree until garbage collection, usually two weeks. */

struct diff_work {
    const char *cwd;
    char *index;                /* our copy: the worktree's own is not touched */
    const char *const *filters; /* NULL-terminated environment pairs that disable filters */
    job_step then;              /* after diff_copy_index */
    job_step after;             /* JOB_FINISH: after everything */

    struct diff_question question;
    uint32_t iteration; /* whose run has ended */
    struct diff_record all, one;
    bool is_live; /* compare with the current files */
    bool cut;
    struct strbuf numstat, patch;
    diff_ready ready; /* NULL: already called */
    void *ctx;
};

void diff_work_finish(struct job *job); /* a pending callback learns that no answer comes */

/* False: nothing recorded. */
bool diff_find_record(const struct job *job, uint32_t iteration, struct diff_record *ret);

/* Runs git with our index and without filters. `most`: only that many bytes of standard output are
 * kept; 0: the end of both outputs, as for messages. */
void diff_git(struct job *job, const char *const *words, size_t most, job_step then);

/* --- the end of a run ------------------------------------------------------------------------- */

/* Records what it changed, then calls `after`, even on failure. */
void diff_keep(struct job *job, job_step after);
/* job->base_hash is about to move to job->head. */
void diff_keep_merge(struct job *job);
/* The next iteration begins on a new base: at this commit. */
void diff_keep_rebase(struct job *job, const char *commit);
