/* sqlite_thread.c: a commit that is made while the loop goes on.
 *
 * A disk that syncs slowly, and a machine on which many processes want the processor, would stop the loop for as long as a
 * commit takes. So the connection goes to a thread with the batch, and comes back with the outcome. Meanwhile nothing else
 * touches it: questions wait. A quick commit is made in the loop, where it costs two changes of threads less: only after one
 * that was slow, and with a batch that must be, the thread has it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/thread.h"
#include "store/sqlite_internal.h"

#define SLOW_US    2000        /* a commit that takes longer */
#define SLOW_FOR   SECONDS(10) /* those after it are made in the thread, too */
#define ROWS_QUICK 256

struct sqlite_thread {
    struct sqlite_store *store;
    struct loop_watch *watch;
    int told; /* an eventfd: there is an outcome */
    pthread_t thread;
    pthread_mutex_t mutex; /* over all below */
    pthread_cond_t wake;
    bool stop;
    const struct store_batch *batch; /* to be committed; NULL: none, or it was */
    bool has_outcome;
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

/* --- the thread ------------------------------------------------------------------------------ */

static void *commit_all(void *ctx) {
    struct sqlite_thread *t = ctx;
    const uint64_t one = 1;
    sqlite_keep_words(t->store);
    pthread_mutex_lock(&t->mutex);
    while (!t->stop) {
        if (!t->batch || t->has_outcome) {
            pthread_cond_wait(&t->wake, &t->mutex);
            continue;
        }
        pthread_mutex_unlock(&t->mutex);
        struct error err = { 0 };
        enum store_outcome outcome = sqlite_commit_now(t->store, t->batch, &err);
        pthread_mutex_lock(&t->mutex);
        t->outcome = outcome;
        t->err = err;
        t->has_outcome = true;
        pthread_cond_signal(&t->wake); /* the loop may wait for it: sqlite_thread_await */
        (void)!write(t->told, &one, sizeof(one));
    }
    pthread_mutex_unlock(&t->mutex);
    return NULL;
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
    struct sqlite_waiting **end = &store->waiting;
    while (*end)
        end = &(*end)->next;
    *end = w;
}

/* `why` not NULL: the store has stopped, and none is answered. */
static void answer_waiting(struct sqlite_store *store, const struct error *why) {
    struct sqlite_waiting *next = TAKE_PTR(store->waiting);
    while (next) {
        struct sqlite_waiting *w = next;
        next = w->next;
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
static void take_outcome(struct sqlite_thread *t) {
    struct sqlite_store *store = t->store;
    pthread_mutex_lock(&t->mutex);
    struct error err = t->err;
    enum store_outcome outcome = t->outcome;
    t->batch = NULL;
    t->has_outcome = false;
    pthread_mutex_unlock(&t->mutex);
    sqlite_tell_words(store);
    if (outcome == STORE_UNKNOWN)
        store_break(&store->base, &err);
    answer_waiting(store, store_why_broken(&store->base));
    store_finish_commit(&store->base, outcome, outcome == STORE_OK ? NULL : &err);
}

static void outcome_came(void *ctx, int fd, unsigned events) {
    struct sqlite_thread *t = ctx;
    uint64_t count;
    (void)events;
    (void)!read(fd, &count, sizeof(count));
    pthread_mutex_lock(&t->mutex);
    bool has_outcome = t->has_outcome;
    pthread_mutex_unlock(&t->mutex);
    if (has_outcome)
        take_outcome(t);
}

void sqlite_thread_await(struct sqlite_store *store) {
    struct sqlite_thread *t = store->thread;
    if (!sqlite_thread_is_busy(store))
        return;
    pthread_mutex_lock(&t->mutex);
    while (!t->has_outcome)
        pthread_cond_wait(&t->wake, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
    take_outcome(t);
}

static void thread_free(struct sqlite_thread *t) {
    loop_unwatch(t->store->options.loop, t->watch);
    fd_closep(&t->told);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->mutex);
    free(t);
}

/* NULL: there is none, and the loop does it itself. */
static struct sqlite_thread *thread_new(struct sqlite_store *store) {
    struct sqlite_thread *t = xcalloc(1, sizeof(*t));
    t->store = store;
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->wake, NULL);
    t->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->told >= 0
        && loop_watch(store->options.loop, t->told, LOOP_READ, outcome_came, t, &t->watch) == 0
        && thread_start(&t->thread, commit_all, t) == 0)
        return t;
    thread_free(t);
    return NULL;
}

void sqlite_thread_end(struct sqlite_store *store) {
    struct sqlite_thread *t = TAKE_PTR(store->thread);
    if (!t)
        return;
    pthread_mutex_lock(&t->mutex);
    t->stop = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->mutex);
    pthread_join(t->thread, NULL);
    thread_free(t);
}

bool sqlite_thread_takes(struct sqlite_store *store, const struct store_batch *batch) {
    time_ms now = clock_read_steady();
    if (store->base.last_commit_us > SLOW_US || store->options.is_slow)
        store->slow_until = now + SLOW_FOR;
    if (!store->options.loop || (now >= store->slow_until && batch->count <= ROWS_QUICK))
        return false;
    if (!store->thread)
        store->thread = thread_new(store);
    if (!store->thread)
        return false;
    pthread_mutex_lock(&store->thread->mutex);
    store->thread->batch = batch;
    pthread_cond_signal(&store->thread->wake);
    pthread_mutex_unlock(&store->thread->mutex);
    return true;
}
