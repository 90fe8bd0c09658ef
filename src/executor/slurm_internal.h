/* slurm_internal.h: runs as jobs of Slurm. Private to executor/.
 *
 *   slurm.c         makes the executor, keeps its runs, starts
 *   slurm_words.c   PURE: what sbatch is told; what its answers and the lists of jobs mean
 *   slurm_call.c    runs Slurm's programs beside the loop
 *   slurm_submit.c  sbatch, a few at once; what its end proves
 *   slurm_ask.c     squeue and sacct, one call for all runs; when to ask again
 *   slurm_follow.c  from what was heard and what is in the folder to how a run ended
 *   slurm_folder.c  the folder of a run: its files, and hearing of changes in it
 *   slurm_stop.c    stops, and cancels jobs that nobody needs
 *   slurm_features.c  which of its programs are there
 *   slurm_adopt.c   finds runs again after a restart; sweeps */
#pragma once

#include "base/id_map.h"
#include "executor/aside.h"
#include "executor/executor_internal.h"
#include "executor/run_table.h"
#include "executor/slurm.h"
#include "executor/slurm_words.h"
#include "os/loop.h"

#define SLURM_CANCELS 200 /* jobs of one scancel */

struct trash;
struct slurm;
struct slurm_run;

enum slurm_state {
    SLURM_QUEUED,     /* to be submitted */
    SLURM_SUBMITTING, /* sbatch is at work */
    SLURM_DOUBTFUL,   /* perhaps it was submitted: looked for by its token */
    SLURM_FOLLOWED,   /* it has a job, or had one */
    SLURM_OVER,       /* `end` is known, to be told in the next round */
};

/* One sbatch at work. The run may be gone before its answer. */
struct slurm_submit {
    struct slurm *ex;
    struct slurm_run *run; /* or NULL */
    bool unwanted;         /* the run is gone without having begun: cancel what comes */
    struct aside *aside;
    struct slurm_submit *next; /* in ex->submits */
};

struct slurm_run {
    struct slurm *ex;
    uint32_t index; /* in ex->runs */
    enum slurm_state state;
    struct run_key key;
    char *folder;
    /* Runs that only the sweep has found: told by name. NULL: one of ours. */
    char *external_task;
    uint32_t external_attempt;

    struct slurm_order order; /* what sbatch is told */
    struct slurm_submit *submit;
    struct slurm_run *next; /* in ex->queue */

    uint64_t job;         /* 0: not known */
    struct slurm_job has; /* as it was last listed; state JOB_UNKNOWN: never */
    uint64_t seen;        /* number of the question whose answer listed it last */
    uint64_t heard_after; /* answers to earlier questions prove nothing about it */
    unsigned missed;      /* good answers in a row without it */
    time_ms missed_since; /* steady clock */
    time_ms over_since;   /* its job was seen ended, its end was not; steady clock; 0: no */
    bool gone;            /* Slurm knows it no more: what can be known is known */
    bool begun, told_started, told_validating;
    char node[SLURM_NODE_MAX]; /* that it began on */

    bool stop_asked;
    enum stop_how stop_how;
    unsigned stop_step; /* how far it has gone; slurm_stop.c */
    time_ms stop_at;    /* the next step; steady clock */

    bool has_end; /* recorded by its shim */
    struct run_end end;
    int watch, lock_watch; /* inotify on its folder and its lock file; -1: none */
};

struct slurm {
    struct executor base; /* first */
    struct loop *loop;
    int root;
    int inotify; /* on folders; -1: not opened yet */
    char *root_path, *shim_path;
    char *programs[SLURM_PROGRAM_MAX];
    char **env;
    char *cluster;
    time_ms poll_idle, poll_busy, patience, retry;
    time_ms record_delay; /* an end may be on its way to us for so long */
    uint32_t submits_at_once;
    bool use_sacct;
    bool configured; /* kill_wait is its own */
    bool away;       /* its last answer was none */
    bool busy;       /* something changed since the last question */

    struct run_table runs; /* struct slurm_run */
    struct id_map by_token, by_watch;
    struct loop_timer *over_timer;
    uint32_t over_count;
    uint32_t submitting; /* calls of sbatch */

    /* what is known of Slurm itself */
    struct aside *config_call;
    time_ms kill_wait;
    time_ms away_until; /* nothing is submitted before; steady clock */
    time_ms away_delay; /* rises while it is away */
    char away_why[160]; /* in Slurm's words, or "" */

    struct slurm_run *queue, **queue_end;
    struct slurm_submit *submits;
    struct loop_timer *submit_timer;

    struct aside *ask_call, *sacct_call;
    uint64_t asks; /* questions so far */
    time_ms asked_at, ask_delay;
    time_ms ask_next;              /* what the timer is set to; TIME_NEVER: not */
    time_ms ask_rest;              /* not before: asking costs */
    struct loop_timer *look_timer; /* for those whose folder was not looked into yet */
    size_t look_at; /* index of the next run whose folder is looked at without a reason */
    struct loop_timer *ask_timer;
    char *sacct_ids; /* what sacct is being asked for: " 17 18 " */

    struct aside *cancel_call;
    uint64_t cancel_jobs[SLURM_CANCELS]; /* of the call at work */
    size_t cancel_count;
    unsigned cancel_step;
    unsigned unwanted_tries;
    struct loop_timer *stop_timer;
    uint64_t *unwanted; /* jobs to be cancelled; 0: not any more */
    size_t unwanted_count, unwanted_capacity;
    bool cancel_unwanted; /* the call at work is for those */

    struct loop_watch *inotify_watch;
    struct executor_sweep sweep; /* whom to tell of external runs */
    struct trash *trash;
};

static inline struct slurm *slurm_of(struct executor *ex) {
    return (struct slurm *)ex;
}

/* NULL: nobody has this number. */
static inline struct slurm_run *slurm_at(const struct slurm *ex, size_t index) {
    return run_table_at(&ex->runs, index);
}

/* --- slurm.c --------------------------------------------------------------------------------- */

/* The order's memory becomes the run's. An empty one could not be read: the run gets the token that the
 * engine gives to all of its runs, so that its job is found, and no words, so it is not submitted. */
struct slurm_run *slurm_run_new(struct slurm *ex, struct run_key key, const char *folder,
                                struct slurm_order *order);
void slurm_run_set_order(struct slurm_run *run, struct slurm_order *order);
void slurm_run_free(struct slurm_run *run); /* nobody is told */
struct slurm_run *slurm_find(const struct slurm *ex, struct run_key key);
struct slurm_run *slurm_find_token(const struct slurm *ex, const char *token);
/* From now on the number is the run's, and nobody else's. */
void slurm_set_job(struct slurm_run *run, uint64_t job);
/* The number belongs to somebody else now; `to`: a run of ours, or NULL. */
void slurm_lose_job(struct slurm *ex, uint64_t job, const struct slurm_run *to);
/* `end` is set: it is told in the next round. */
void slurm_set_over(struct slurm_run *run);

/* --- slurm_features.c ------------------------------------------------------------------------ */

size_t slurm_features(const struct executor_slurm_options *options,
                      struct executor_feature ret[EXECUTOR_FEATURES_MAX]);

/* --- slurm_call.c ---------------------------------------------------------------------------- */

/* Runs a program of Slurm. `reads`: its standard output counts, all of it; else the end of both. 0, or it
 * could not be started and `ended` does not come. */
int slurm_call(struct slurm *ex, const char *const *argv, bool reads, aside_ended ended, void *ctx,
               struct aside **ret_call);
bool slurm_call_went_well(const struct aside_end *end);
void slurm_ask_config(struct slurm *ex); /* once it has answered it is not asked again */
/* A program of Slurm has reached the controller, or has not: `why` in its words, or NULL. */
void slurm_heard(struct slurm *ex);
void slurm_not_heard(struct slurm *ex, const char *why);

/* --- slurm_submit.c -------------------------------------------------------------------------- */

void slurm_queue(struct slurm_run *run); /* to be submitted, behind all others */
void slurm_unqueue(struct slurm_run *run);
void slurm_submit_due(void *ctx);
void slurm_submits_free(struct slurm *ex); /* those at work go on without us */

/* --- slurm_ask.c ----------------------------------------------------------------------------- */

void slurm_ask_due(void *ctx);
void slurm_ask_soon(struct slurm *ex); /* something has changed */

/* --- slurm_follow.c -------------------------------------------------------------------------- */

/* Looks into its folder: has it begun, does it run, has it ended? */
void slurm_look(struct slurm_run *run);
/* What the answer to question `number` says about it. */
void slurm_follow(struct slurm_run *run, uint64_t number);
/* Nothing was run and nothing will be: the folder is closed, and the run ends like this. false: a shim
 * was first, and the run is followed; or nobody can say yet. */
bool slurm_give_up(struct slurm_run *run, enum run_end_kind kind, int error, const char *message);
/* The same for a run that has no job, and is not submitted any more: that is enough where its folder
 * cannot be closed. false: a shim was first. */
bool slurm_end_jobless(struct slurm_run *run, enum run_end_kind kind, int error,
                       const char *message);
/* Accounting was asked. `job`: what it said, or NULL. */
void slurm_follow_accounting(struct slurm_run *run, const struct slurm_job *job);
/* Its end is there, and whoever knows why it came does not answer: it is told after some time. */
void slurm_follow_late(struct slurm_run *run);
void slurm_over_due(void *ctx);

/* --- slurm_folder.c -------------------------------------------------------------------------- */

int slurm_folder_create(struct slurm *ex, const char *folder, const struct run_spec *spec,
                        const struct slurm_order *order, struct error *err);
int slurm_folder_open(const struct slurm_run *run, int *ret_dir);
/* -ENOENT: it is no folder of a Slurm run, or it was never to be submitted. */
int slurm_folder_read_order(int dir, struct slurm_order *ret);
void slurm_folder_write_job(const struct slurm_run *run);
uint64_t slurm_folder_read_job(int dir); /* 0: none */
/* 1: a shim has begun, its job and node are told; 0: nobody; 2: it is closed; <0: cannot say */
int slurm_folder_begun(int dir, uint64_t *ret_job, char ret_node[SLURM_NODE_MAX]);
void slurm_folder_refresh(int dir); /* makes a network file system look again */
void slurm_folder_watch(struct slurm_run *run);
void slurm_folder_unwatch(struct slurm_run *run);

/* --- slurm_stop.c ---------------------------------------------------------------------------- */

int slurm_stop(struct executor *ex, struct run_key key, enum stop_how how);
void slurm_cancel(struct slurm *ex, uint64_t job); /* nobody needs it any more */
void slurm_stop_due(void *ctx);

/* --- slurm_adopt.c --------------------------------------------------------------------------- */

enum adopted slurm_adopt(struct executor *ex, struct run_key key, const char *folder,
                         const struct executor_known *known);
int slurm_sweep(struct executor *ex, struct executor_sweep *sweep, struct error *err);
