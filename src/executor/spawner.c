/* spawner.c: see spawner.h. */
#include "executor/spawner.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/files.h"
#include "os/worker.h"

struct spawner_job {
    struct worker_job base;
    struct spawn order; /* its texts are in `texts` */
    const char **words; /* of argv and env */
    char *texts;
    size_t text_size;
    spawner_done done;
    void *ctx;
    pid_t pid;
    int error;
};

struct spawner {
    struct worker *worker;
    size_t pending;
};

/* --- jobs ------------------------------------------------------------------------------------ */

static size_t measure(const char *const *words, size_t *ret_count) {
    size_t size = 0;
    for (; *words; words++, ++*ret_count)
        size += strlen(*words) + 1;
    ++*ret_count; /* the NULL */
    return size;
}

static const char *copy_text(char **at, const char *text) {
    if (!text)
        return NULL;
    const char *copy = *at;
    *at = stpcpy(*at, text) + 1;
    return copy;
}

static const char *const *copy_words(const char ***slot, char **at, const char *const *words) {
    const char *const *copy = *slot;
    for (; *words; words++)
        *(*slot)++ = copy_text(at, *words);
    *(*slot)++ = NULL;
    return copy;
}

static struct spawner_job *job_new(const struct spawn *order) {
    struct spawner_job *job = xcalloc(1, sizeof(*job));
    size_t count = 0;
    job->text_size = measure(order->argv, &count) + measure(order->env, &count)
                     + strlen(order->program) + 1 + (order->cwd ? strlen(order->cwd) + 1 : 0);
    char *at = job->texts = xmalloc(job->text_size);
    const char **slot = job->words = xcalloc(count, sizeof(*job->words));
    job->order = *order;
    job->order.argv = copy_words(&slot, &at, order->argv);
    job->order.env = copy_words(&slot, &at, order->env);
    job->order.program = copy_text(&at, order->program);
    job->order.cwd = copy_text(&at, order->cwd);
    return job;
}

static void job_free(struct spawner_job *job) {
    explicit_bzero(job->texts, job->text_size); /* the key of a run is in its environment */
    free(job->texts);
    free(job->words);
    free(job);
}

/* The descriptors are closed at once: a lock among them must be the new process's alone. */
static void carry_out(void *ctx, struct worker_job *base) {
    struct spawner_job *job = (struct spawner_job *)base;
    (void)ctx;
    job->error = spawn_process(&job->order, &job->pid);
    for (size_t i = 0; i < job->order.fd_count; i++)
        fd_closep(&job->order.fds[i]);
}

static void is_done(void *ctx, struct worker_job *base, bool was_run) {
    struct spawner *spawner = ctx;
    struct spawner_job *job = (struct spawner_job *)base;
    (void)was_run;
    spawner->pending--;
    if (spawner->worker) /* else this is the end */
        job->done(job->ctx, job->pid, job->error);
    job_free(job);
}

void spawner_start(struct spawner *spawner, const struct spawn *order, spawner_done done,
                   void *ctx) {
    struct spawner_job *job = job_new(order);
    job->done = done;
    job->ctx = ctx;
    spawner->pending++;
    (void)worker_give(spawner->worker, &job->base); /* it has started */
}

size_t spawner_pending(const struct spawner *spawner) {
    return spawner->pending;
}

int spawner_new(struct loop *loop, struct spawner **ret, struct error *err) {
    static const struct worker_calls calls = { .run = carry_out, .done = is_done };
    struct spawner *spawner = xcalloc(1, sizeof(*spawner));
    spawner->worker = worker_new(loop, &calls, spawner);
    int r = worker_start(spawner->worker);
    if (r < 0) {
        spawner_free(spawner);
        return error_set(err, r, "cannot start the thread that starts runs: %s", strerror(-r));
    }
    *ret = spawner;
    return 0;
}

struct spawner *spawner_free(struct spawner *spawner) {
    if (spawner)
        worker_free(TAKE_PTR(spawner->worker), WORKER_DRAIN, 0);
    free(spawner);
    return NULL;
}
