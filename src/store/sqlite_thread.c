/* sqlite_thread.c: a commit that is made while the loop goes on.
 *
 * A disk that syncs slowly, and a machine on which many processes want the processor, would stop the loop for as long as a
 * commit takes. So the connection goes to a thread with the batch, and comes back with the outcome. Meanwhile nothing else
 * touches it: questions wait. A quick commit is made in the loop, where it costs two changes of threads less: only after one
 * that was slow, and with a batch that must be, the thread has it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/worker.h"
#include "store/sqlite_internal.h"

#define SLOW_US    2000        /* a commit that takes longer */
#define SLOW_FOR   SECONDS(10) /* those after it are made in the thread, too */
#define ROWS_QUICK 256

struct sqlite_thread {
    struct worker_job job;
    struct sqlite_store *store;
    struct worker *worker;
    const struct store_batch *batch; /* on its way; NULL: none */
    enum store_outcome outcome;
    struct error err;
};

/* A question that came while the thread had the connection. */
struct sqlite_waiting {
    struct sqlite_waiting *next;
    struct store_question question;
    task_id *tasks;
    char *key, *project;
    store_answered done;
    void *ctx;
};

static void commit(void *ctx, struct worker_job *job) {
    struct sqlite_thread *t = ctx;
    (void)job;
    sqlite_keep_words(t->store);
    t->err = (struct error){ 0 };
    t->outcome = sqlite_commit_now(t->store, t->batch, &t->err);
}

/* --- questions ------------------------------------------------------------------------------- */

void sqlite_thread_keep(struct sqlite_store *store, const struct store_question *question,
                        store_answered done, void *ctx) {
    struct sqlite_waiting *w = xcalloc(1, sizeof(*w));
    w->question = *question;
    w->done = done;
    w->ctx = ctx;
    if (question->task_count > 0) {
        size_t size = question->task_count * sizeof(*w->tasks);
        w->question.tasks = w->tasks = memcpy(xmalloc(size), question->tasks, size);
    }
    if (question->key)
        w->question.key = w->key = xstrdup(question->key);
    if (question->project)
        w->question.project = w->project = xstrdup(question->project);
    QUEUE_ADD(&store->waiting, w);
}

/* `why` not NULL: the store has stopped, and none is answered. */
static void answer_waiting(struct sqlite_store *store, const struct error *why) {
    QUEUE(struct sqlite_waiting) waiting = { 0 };
    QUEUE_MOVE(&waiting, &store->waiting); /* an answer may ask again */
    for (struct sqlite_waiting *w; (w = QUEUE_TAKE(&waiting));) {
        if (why)
            w->done(w->ctx, &(struct store_answer){ 0 }, why);
        else
            sqlite_ask(&store->base, &w->question, w->done, w->ctx);
        free(w->tasks);
        free(w->key);
        free(w->project);
        free(w);
    }
}

/* --- the loop -------------------------------------------------------------------------------- */

bool sqlite_thread_is_busy(const struct sqlite_store *store) {
    return store->thread && store->thread->batch;
}

/* The connection is ours again. */
static void take_outcome(void *ctx, struct worker_job *job, bool was_run) {
    struct sqlite_thread *t = ctx;
    struct sqlite_store *store = t->store;
    struct error err = t->err;
    enum store_outcome outcome = t->outcome;
    (void)job;
    (void)was_run; /* the store ends after its last commit */
    t->batch = NULL;
    sqlite_tell_words(store);
    if (outcome == STORE_UNKNOWN)
        store_break(&store->base, &err);
    answer_waiting(store, store_why_broken(&store->base));
    store_finish_commit(&store->base, outcome, outcome == STORE_OK ? NULL : &err);
}

void sqlite_thread_await(struct sqlite_store *store) {
    if (sqlite_thread_is_busy(store))
        worker_await(store->thread->worker);
}

void sqlite_thread_end(struct sqlite_store *store) {
    struct sqlite_thread *t = TAKE_PTR(store->thread);
    if (t)
        worker_free(t->worker, WORKER_DRAIN, 0);
    free(t);
}

bool sqlite_thread_takes(struct sqlite_store *store, const struct store_batch *batch) {
    static const struct worker_calls calls = { .run = commit, .done = take_outcome };
    time_ms now = clock_read_steady();
    if (store->base.last_commit_us > SLOW_US || store->options.is_slow)
        store->slow_until = now + SLOW_FOR;
    if (!store->options.loop || (now >= store->slow_until && batch->count <= ROWS_QUICK))
        return false;
    if (!store->thread) {
        store->thread = xcalloc(1, sizeof(*store->thread));
        store->thread->store = store;
        store->thread->worker = worker_new(store->options.loop, &calls, store->thread);
    }
    if (worker_start(store->thread->worker) < 0)
        return false; /* the loop does it itself */
    store->thread->batch = batch;
    (void)worker_give(store->thread->worker, &store->thread->job);
    return true;
}
