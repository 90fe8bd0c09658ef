/* worker.h: a thread that runs jobs in order, outside the loop.
 *
 * Life:    worker_new → worker_submit … → worker_free. The thread starts with the first job, or
 *          with worker_start.
 * Jobs:    a struct with a struct worker_job as its first member. The worker owns it from
 *          worker_submit until `done`. Each job is handed back exactly once: by `done`, from the
 *          loop or from worker_free, in order.
 * Calls:   only from the loop thread, except worker_settle and worker_cancel_fd.
 * Memory:  `ctx` must outlive worker_free. A job's own data needs no lock: one side owns it at a
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
    /* In the thread, optional: makes the work of these jobs durable before they are handed back.
     * They are gathered until the queue is empty, or there are `batch`. Without it each is handed
     * back at once. */
    void (*settle)(void *ctx, struct worker_job *jobs);
    unsigned batch;
    /* In the thread, optional: the queue is empty, and all jobs are handed back. */
    void (*idle)(void *ctx);
    /* In the loop. `was_run` is false for a job that worker_free dropped. It may submit the next
     * job; it may free the worker if it submits none. */
    void (*done)(void *ctx, struct worker_job *job, bool was_run);
    /* In a thread that worker_free has left behind: frees its job. Required with a patience; `run`
     * must then not use `ctx`. */
    void (*abandon)(struct worker_job *job);
};

enum worker_end {
    WORKER_DROP,  /* completes the running job, hands back the others unrun */
    WORKER_DRAIN, /* runs all jobs first */
};

/* `calls` must outlive the worker, and every abandoned thread. */
struct worker *worker_new(struct loop *loop, const struct worker_calls *calls, void *ctx);
/* 0 or a negative errno. After success worker_submit cannot fail before worker_free. */
int worker_start(struct worker *worker);
/* 0; or a negative errno: the thread could not be started, and the caller still owns the job. */
int worker_submit(struct worker *worker, struct worker_job *job);
/* Waits until all jobs are run, then calls `done` for them. */
void worker_await(struct worker *worker);
/* Ends the thread and hands back every job. `patience`: how long a job may still run (0:
 * unlimited); a thread that does not end is left behind, with its job. Accepts NULL, returns
 * NULL. */
struct worker *worker_free(struct worker *worker, enum worker_end end, time_ms patience);

/* --- for `run` -------------------------------------------------------------------------------- */

/* Readable once worker_free is called: ends a wait in `run`. */
int worker_cancel_fd(const struct worker *worker);
/* Settles the previous jobs now, because the current one is about to wait. */
void worker_settle(struct worker *worker);

/* --- a thread without a worker ---------------------------------------------------------------- */

/* A thread with all signals blocked: those are for the loop. Join it with pthread_join. 0 or a
 * negative errno. */
int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx);
