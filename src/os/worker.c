/* worker.c: two queues under one mutex: jobs to run, and jobs to hand back.
 *
 * The thread sleeps on a condition while the first is empty; an eventfd wakes the loop for the
 * second. It is written only when that queue becomes non-empty, so a burst costs one wake-up.
 *
 * The thread and the loop each hold a reference, because worker_free may leave a thread behind that
 * cannot be interrupted (a name lookup). Such a thread accesses only the worker and its job. */
#include "os/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/queue.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/loop.h"

struct worker {
    struct loop *loop;
    struct loop_watch *watch;
    const struct worker_calls *calls;
    void *ctx;
    int done_fd, cancel_fd; /* eventfds */
    bool has_thread;        /* owned by the loop */
    pthread_t thread;
    QUEUE(struct worker_job) ran; /* owned by the thread: run, not settled yet */
    unsigned ran_count;

    pthread_mutex_t mutex; /* protects everything that follows */
    pthread_cond_t wake;   /* for the thread: a job is queued, or shutdown */
    pthread_cond_t rest;   /* for worker_await: the queue is empty */
    QUEUE(struct worker_job) todo, done;
    unsigned references;
    bool is_busy;   /* a job was taken, and is not settled or gathered yet */
    bool is_in_run; /* and `run` has not returned */
    bool is_stopping;
    bool is_left; /* worker_free did not wait for it */
};

/* A new thread inherits the signal mask, so all signals are blocked briefly. */
int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(ret, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

static void notify(int fd) {
    const uint64_t one = 1;
    (void)!write(fd, &one, sizeof(one));
}

static void unref(struct worker *w) {
    pthread_mutex_lock(&w->mutex);
    bool is_last = --w->references == 0;
    pthread_mutex_unlock(&w->mutex);
    if (!is_last)
        return;
    fd_closep(&w->done_fd);
    fd_closep(&w->cancel_fd);
    pthread_cond_destroy(&w->rest);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}

/* --- the thread ------------------------------------------------------------------------------- */

void worker_settle(struct worker *w) {
    if (QUEUE_IS_EMPTY(&w->ran))
        return;
    if (w->calls->settle)
        w->calls->settle(w->ctx, w->ran.first);
    pthread_mutex_lock(&w->mutex);
    bool is_first = QUEUE_IS_EMPTY(&w->done);
    QUEUE_MOVE(&w->done, &w->ran);
    pthread_mutex_unlock(&w->mutex);
    if (is_first) /* without the mutex: the loop would wake up only to wait for it */
        notify(w->done_fd);
    w->ran_count = 0;
}

/* NULL: shutdown. */
static struct worker_job *next_job(struct worker *w) {
    pthread_mutex_lock(&w->mutex);
    w->is_busy = false;
    if (QUEUE_IS_EMPTY(&w->todo))
        pthread_cond_signal(&w->rest);
    while (QUEUE_IS_EMPTY(&w->todo) && !w->is_stopping)
        pthread_cond_wait(&w->wake, &w->mutex);
    struct worker_job *job = QUEUE_TAKE(&w->todo);
    w->is_busy = w->is_in_run = job != NULL;
    pthread_mutex_unlock(&w->mutex);
    return job;
}

static void abandon(struct worker *w) {
    for (struct worker_job *job; (job = QUEUE_TAKE(&w->ran));)
        w->calls->abandon(job);
}

static void *run_jobs(void *ctx) {
    struct worker *w = ctx;
    bool is_left = false;
    for (struct worker_job *job; !is_left && (job = next_job(w));) {
        w->calls->run(w->ctx, job);
        pthread_mutex_lock(&w->mutex);
        bool has_more = !QUEUE_IS_EMPTY(&w->todo);
        is_left = w->is_left;
        w->is_in_run = false;
        pthread_mutex_unlock(&w->mutex);
        QUEUE_ADD(&w->ran, job);
        if (is_left)
            abandon(w);
        else if (++w->ran_count >= w->calls->batch || !has_more)
            worker_settle(w);
        if (!is_left && !has_more && w->calls->idle)
            w->calls->idle(w->ctx);
    }
    worker_settle(w); /* the jobs after them were dropped */
    unref(w);
    return NULL;
}

int worker_cancel_fd(const struct worker *w) {
    return w->cancel_fd;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void hand_back(struct worker *w) {
    QUEUE(struct worker_job) jobs = { 0 };
    pthread_mutex_lock(&w->mutex);
    QUEUE_MOVE(&jobs, &w->done);
    pthread_mutex_unlock(&w->mutex);
    for (struct worker_job *job; (job = QUEUE_TAKE(&jobs));)
        w->calls->done(w->ctx, job, true);
}

static void done_came(void *ctx, int fd, unsigned events) {
    uint64_t count;
    (void)events;
    (void)!read(fd, &count, sizeof(count));
    hand_back(ctx);
}

struct worker *worker_new(struct loop *loop, const struct worker_calls *calls, void *ctx) {
    struct worker *w = xcalloc(1, sizeof(*w));
    *w = (struct worker){ .loop = loop, .calls = calls, .ctx = ctx, .references = 1 };
    w->done_fd = w->cancel_fd = -1;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->rest, NULL);
    return w;
}

int worker_start(struct worker *w) {
    if (w->has_thread)
        return 0;
    if (w->done_fd < 0)
        w->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->cancel_fd < 0)
        w->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = w->done_fd < 0 || w->cancel_fd < 0 ? -errno : 0;
    if (r == 0 && !w->watch)
        r = loop_watch(w->loop, w->done_fd, LOOP_READ, done_came, w, &w->watch);
    w->references = 2; /* one for the thread, which does not exist yet */
    if (r == 0)
        r = thread_start(&w->thread, run_jobs, w);
    w->has_thread = r == 0;
    if (r < 0)
        w->references = 1;
    return r;
}

int worker_submit(struct worker *w, struct worker_job *job) {
    int r = w->is_stopping ? -ESHUTDOWN : worker_start(w);
    if (r < 0)
        return r;
    pthread_mutex_lock(&w->mutex);
    QUEUE_ADD(&w->todo, job);
    pthread_mutex_unlock(&w->mutex);
    pthread_cond_signal(&w->wake); /* without the mutex: the thread would wait for it */
    return 0;
}

void worker_await(struct worker *w) {
    pthread_mutex_lock(&w->mutex);
    while (w->is_busy || !QUEUE_IS_EMPTY(&w->todo))
        pthread_cond_wait(&w->rest, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
    hand_back(w);
}

static void join(struct worker *w, time_ms patience) {
    bool is_left = false;
    time_ms until = clock_read() + patience;
    struct timespec at = { .tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000 };
    if (!w->has_thread || (patience > 0 && pthread_timedjoin_np(w->thread, NULL, &at) == 0))
        return;
    if (patience > 0) {
        pthread_mutex_lock(&w->mutex);
        is_left = w->is_left = w->is_in_run; /* else it only has to exit */
        pthread_mutex_unlock(&w->mutex);
    }
    if (is_left)
        (void)pthread_detach(w->thread);
    else
        (void)pthread_join(w->thread, NULL);
}

struct worker *worker_free(struct worker *w, enum worker_end end, time_ms patience) {
    if (!w)
        return NULL;
    QUEUE(struct worker_job) dropped = { 0 };
    loop_unwatch(w->loop, w->watch);
    pthread_mutex_lock(&w->mutex);
    w->is_stopping = true;
    if (end == WORKER_DROP)
        QUEUE_MOVE(&dropped, &w->todo);
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    if (w->has_thread)
        notify(w->cancel_fd);
    join(w, patience);
    pthread_mutex_lock(&w->mutex);
    QUEUE_MOVE(&dropped, &w->todo); /* those after an abandoned job */
    pthread_mutex_unlock(&w->mutex);
    hand_back(w);
    for (struct worker_job *job; (job = QUEUE_TAKE(&dropped));)
        w->calls->done(w->ctx, job, false);
    unref(w);
    return NULL;
}
