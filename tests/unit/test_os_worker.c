/* test_os_worker.c: jobs run in order on a worker thread, each is returned exactly once, and shutdown waits no longer
 * than
 * necessary. Run this suite with -Db_sanitize=thread after a change of os/worker.c. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "harness/test.h"
#include "os/loop.h"
#include "os/worker.h"

#define MANY  20000u
#define BATCH 64u

struct job {
    struct worker_job base;
    unsigned number;
    bool was_run;     /* written by the thread, then by the loop */
    bool is_settled;  /* likewise */
    bool waits;       /* until it is canceled */
    bool waits_long;  /* until `let_go`, even if it is canceled */
    bool gives_next;  /* `done` adds another job */
    bool settles_now; /* `run` calls worker_settle */
};

struct world {
    struct loop *loop;
    struct worker *worker;
    struct worker_calls calls;
    struct job *jobs;
    sem_t began, let_go, abandoned;
    atomic_uint runs, idles, largest_batch;
    unsigned done, not_run, wanted;
    bool in_order;
};

static struct world *at_hand; /* for `abandon`, which has no context */

static void run(void *ctx, struct worker_job *base) {
    struct world *w = ctx;
    struct job *job = (struct job *)base;
    sem_t *began = &at_hand->began, *let_go = &at_hand->let_go;
    if (job->settles_now)
        worker_settle(w->worker);
    if (job->waits || job->waits_long)
        sem_post(began);
    if (job->waits) {
        struct pollfd cancel = { .fd = worker_cancel_fd(w->worker), .events = POLLIN };
        while (poll(&cancel, 1, -1) != 1)
            ;
    }
    while (job->waits_long && sem_wait(let_go) != 0)
        ;
    job->was_run = true;
    atomic_fetch_add(&at_hand->runs, 1);
}

static void settle(void *ctx, struct worker_job *jobs) {
    struct world *w = ctx;
    unsigned count = 0;
    for (; jobs; jobs = jobs->next, count++)
        ((struct job *)jobs)->is_settled = true;
    if (count > atomic_load(&w->largest_batch))
        atomic_store(&w->largest_batch, count);
}

static void idle(void *ctx) {
    atomic_fetch_add(&((struct world *)ctx)->idles, 1);
}

static void done(void *ctx, struct worker_job *base, bool was_run) {
    struct world *w = ctx;
    struct job *job = (struct job *)base;
    assert_true(job->was_run == was_run);
    assert_true(!was_run || !w->calls.settle || job->is_settled);
    w->in_order &= job->number == w->done;
    w->not_run += !was_run;
    if (job->gives_next) {
        job->gives_next = false;
        assert_int_equal(worker_submit(w->worker, &w->jobs[job->number + 1].base),
                         was_run ? 0 : -ESHUTDOWN);
    }
    if (++w->done == w->wanted)
        loop_stop(w->loop);
}

static void abandon(struct worker_job *base) {
    ((struct job *)base)->number = UINT32_MAX;
    sem_post(&at_hand->abandoned);
}

static int setup(void **state) {
    struct world *w = at_hand = calloc(1, sizeof(*w));
    assert_non_null(w);
    assert_int_equal(loop_new(&w->loop, NULL), 0);
    assert_non_null(w->jobs = calloc(MANY, sizeof(*w->jobs)));
    for (unsigned i = 0; i < MANY; i++)
        w->jobs[i].number = i;
    sem_init(&w->began, 0, 0);
    sem_init(&w->let_go, 0, 0);
    sem_init(&w->abandoned, 0, 0);
    w->calls = (struct worker_calls){ .run = run, .done = done, .abandon = abandon };
    w->worker = worker_new(w->loop, &w->calls, w);
    w->in_order = true;
    *state = w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    worker_free(w->worker, WORKER_DROP, 0);
    loop_free(w->loop);
    free(w->jobs);
    free(w);
    return 0;
}

static void give(struct world *w, unsigned from, unsigned count) {
    for (unsigned i = from; i < from + count; i++)
        assert_int_equal(worker_submit(w->worker, &w->jobs[i].base), 0);
}

static void run_until_done(struct world *w, unsigned count) {
    w->wanted = count;
    if (w->done < count)
        assert_int_equal(loop_run(w->loop, NULL), 0);
    assert_int_equal(w->done, count);
    assert_true(w->in_order);
}

static void await_post(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0)
        ;
}

/* --- running --------------------------------------------------------------------------------- */

#define FIXTURE_TEST(name_) TEST_WITH(name_, setup, teardown)

FIXTURE_TEST(jobs_run_in_order_and_come_back_once) {
    struct world *w = *state;
    give(w, 0, MANY);
    run_until_done(w, MANY);
    assert_int_equal(atomic_load(&w->runs), MANY);
    assert_true(loop_wakeups(w->loop) <= MANY);
}

FIXTURE_TEST(a_job_may_be_given_while_one_comes_back) {
    struct world *w = *state;
    for (unsigned i = 0; i < 999; i++)
        w->jobs[i].gives_next = true;
    give(w, 0, 1);
    run_until_done(w, 1000);
}

FIXTURE_TEST(jobs_are_settled_together_before_they_come_back) {
    struct world *w = *state;
    w->calls.settle = settle;
    w->calls.batch = BATCH;
    w->calls.idle = idle;
    w->jobs[0].waits_long = true; /* the others queue up behind it */
    give(w, 0, 2 * BATCH + 1);
    sem_post(&w->let_go);
    run_until_done(w, 2 * BATCH + 1);
    worker_await(w->worker); /* `idle` is called after `settle` */
    assert_int_equal(atomic_load(&w->largest_batch), BATCH);
    assert_true(atomic_load(&w->idles) >= 1);
}

FIXTURE_TEST(a_job_that_is_going_to_wait_settles_the_others) {
    struct world *w = *state;
    w->calls.settle = settle;
    w->calls.batch = BATCH;
    w->jobs[0].waits_long = true;
    w->jobs[2].settles_now = w->jobs[2].waits_long = true;
    give(w, 0, 3);
    await_post(&w->began);
    sem_post(&w->let_go);
    run_until_done(w, 2); /* and the third does not end before this */
    sem_post(&w->let_go);
    run_until_done(w, 3);
}

FIXTURE_TEST(all_jobs_can_be_awaited) {
    struct world *w = *state;
    worker_await(w->worker); /* no job was ever added */
    give(w, 0, MANY);
    worker_await(w->worker);
    assert_int_equal(w->done, MANY);
    assert_true(w->in_order);
    give(w, 0, 1);
    worker_await(w->worker); /* again, while its wake-ups are still unread */
    assert_int_equal(w->done, MANY + 1);
}

/* --- shutdown -------------------------------------------------------------------------------- */

FIXTURE_TEST(shutdown_runs_pending_jobs) {
    struct world *w = *state;
    give(w, 0, MANY);
    w->worker = worker_free(w->worker, WORKER_DRAIN, 0);
    assert_int_equal(w->done, MANY);
    assert_int_equal(w->not_run, 0);
    assert_true(w->in_order);
}

FIXTURE_TEST(shutdown_cancels_the_running_job_and_drops_the_others) {
    struct world *w = *state;
    w->calls.settle = settle;
    w->calls.batch = BATCH;
    w->jobs[0].waits = true;
    w->jobs[1].gives_next = true; /* it is refused, and returned to the caller */
    give(w, 0, 10);
    await_post(&w->began);
    w->worker = worker_free(w->worker, WORKER_DROP, 0);
    assert_int_equal(w->done, 10);
    assert_int_equal(w->not_run, 9);
    assert_true(w->in_order);
}

/* The shutdown may occur between any two steps of the thread. */
FIXTURE_TEST(shutdown_settles_jobs_whose_followers_are_dropped) {
    struct world *w = *state;
    w->calls.settle = settle;
    w->calls.batch = MANY;
    for (unsigned i = 0; i < 500; i++) {
        struct worker *worker = worker_new(w->loop, &w->calls, w);
        w->done = w->not_run = 0;
        atomic_store(&w->runs, 0);
        for (unsigned j = 0; j < 2000; j++) {
            w->jobs[j].was_run = w->jobs[j].is_settled = false;
            assert_int_equal(worker_submit(worker, &w->jobs[j].base), 0);
        }
        worker_free(worker, WORKER_DROP, 0);
        assert_int_equal(w->done, 2000);
        assert_int_equal(atomic_load(&w->runs), 2000 - w->not_run);
        assert_true(w->in_order);
    }
}

FIXTURE_TEST(a_job_that_cannot_be_canceled_is_left_with_its_thread) {
    struct world *w = *state;
    w->jobs[0].waits_long = true;
    give(w, 0, 3);
    await_post(&w->began);
    w->worker = worker_free(w->worker, WORKER_DROP, 1);
    assert_int_equal(w->done, 2); /* the others were returned */
    assert_int_equal(w->not_run, 2);
    sem_post(&w->let_go);
    await_post(&w->abandoned);
    assert_int_equal(w->jobs[0].number, UINT32_MAX);
}

FIXTURE_TEST(shutdown_with_a_timeout_waits_for_an_idle_thread) {
    struct world *w = *state;
    for (unsigned i = 0; i < 200; i++) {
        struct worker *worker = worker_new(w->loop, &w->calls, w);
        w->done = 0;
        assert_int_equal(worker_submit(worker, &w->jobs[0].base), 0);
        worker_free(worker, WORKER_DRAIN, SECONDS(100));
        assert_int_equal(w->done, 1);
    }
}

FIXTURE_TEST(a_worker_without_a_job_has_no_thread) {
    struct world *w = *state;
    worker_free(worker_new(w->loop, &w->calls, w), WORKER_DRAIN, 0);
    assert_null(worker_free(NULL, WORKER_DROP, 0));
    assert_int_equal(w->done, 0);
}
