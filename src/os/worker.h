/* worker.h: a thread that runs jobs in order while the loop goes on.
 *
 * Life:    worker_new → worker_submit … → worker_free. The thread starts with the first job, or with
 *          worker_start.
 * Jobs:    a struct with a struct worker_job as its first member. The worker owns it from
 *          worker_submit until `done`. Each job is handed back exactly once: by `done`, from the loop
 *          or from worker_free, in the order given.
 * Calls:   all functions are for the thread of the loop, except worker_settle and worker_cancel_fd.
 * Memory:  `ctx` must outlive worker_free. A job's own data needs no lock: one side has it at a
 *          time. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/time_ms.h"

struct loop;
struct worker;

struct worker_job {
    struct worker_job *next;
};

struct worker_calls {
    /* In the thread. */
    void (*run)(void *ctx, struct worker_job *job);
    /* In the thread, optional: what `run` did for these jobs is made durable before they are handed
     * back. They gather until none is waiting, or there are `batch`. Without it each is handed back
     * at once. */
    void (*settle)(void *ctx, struct worker_job *jobs);
    unsigned batch;
    /* In the thread, optional: no job is waiting, and all that were run are handed back. */
    void (*idle)(void *ctx);
    /* In the loop. `was_run` is false for a job that worker_free dropped. It may give the next job;
     * it may free the worker if no other job is given. */
    void (*done)(void *ctx, struct worker_job *job, bool was_run);
    /* In a thread that worker_free has left behind: frees its job. Needed with a patience; `run`
     * must not use `ctx` then. */
    void (*abandon)(struct worker_job *job);
};

enum worker_end {
    WORKER_DROP,  /* the job that runs is completed, the others are handed back as they are */
    WORKER_DRAIN, /* all are run first */
};

/* `calls` must outlive the worker, and every thread that is left behind. */
struct worker *worker_new(struct loop *loop, const struct worker_calls *calls, void *ctx);
/* 0 or a negative errno. After it worker_submit cannot fail before worker_free. */
int worker_start(struct worker *worker);
/* 0; or a negative errno: the thread could not be started, and the job is still the caller's. */
int worker_submit(struct worker *worker, struct worker_job *job);
/* Waits until all jobs are run, then calls `done` for them. */
void worker_await(struct worker *worker);
/* Ends the thread and hands back every job. `patience`: how long a job may still run (0: as long as
 * it takes); a thread that does not end is left behind, with its job. Accepts NULL, returns
 * NULL. */
struct worker *worker_free(struct worker *worker, enum worker_end end, time_ms patience);

/* --- for `run` -------------------------------------------------------------------------------- */

/* Readable as soon as worker_free is called: a wait in `run` ends then. */
int worker_cancel_fd(const struct worker *worker);
/* Settles the jobs before this one now, because this one is going to wait. */
void worker_settle(struct worker *worker);

/* --- a thread without a worker ---------------------------------------------------------------- */

/* A thread that receives no signals: those are for the loop. Join it with pthread_join. 0 or a
 * negative errno. */
int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx);
