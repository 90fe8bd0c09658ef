/* spawner.c: two lists below one lock: what is to be started, and what was. An eventfd tells the loop of the second. */
#include "executor/spawner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/thread.h"

struct spawner_job {
    struct spawner_job *next;
    struct spawn order; /* its texts are in `texts` */
    const char **words; /* of argv and env */
    char *texts;
    size_t text_size;
    spawner_done done;
    void *ctx;
    pid_t pid;
    int error;
};

struct job_list {
    struct spawner_job *first, **end;
};

struct spawner {
    struct loop *loop;
    struct loop_watch *watch;
    int told; /* an eventfd: there are jobs in `done` */
    size_t pending;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; /* over all below */
    pthread_cond_t wake;
    bool stop;
    struct job_list todo, done;
};

static void list_init(struct job_list *list) {
    list->first = NULL;
    list->end = &list->first;
}

static void list_add(struct job_list *list, struct spawner_job *job) {
    job->next = NULL;
    *list->end = job;
    list->end = &job->next;
}

static struct spawner_job *list_take(struct job_list *list) {
    struct spawner_job *job = list->first;
    if (!job)
        return NULL;
    list->first = job->next;
    if (!list->first)
        list->end = &list->first;
    return job;
}

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
static void carry_out(struct spawner_job *job) {
    job->error = spawn_process(&job->order, &job->pid);
    for (size_t i = 0; i < job->order.fd_count; i++)
        fd_closep(&job->order.fds[i]);
}

/* --- the thread ------------------------------------------------------------------------------ */

static void add_done(struct spawner *spawner, struct spawner_job *job) {
    const uint64_t one = 1;
    bool was_empty = !spawner->done.first;
    list_add(&spawner->done, job);
    if (was_empty)
        (void)!write(spawner->told, &one, sizeof(one));
}

static void *start_all(void *ctx) {
    struct spawner *spawner = ctx;
    pthread_mutex_lock(&spawner->mutex);
    for (;;) {
        struct spawner_job *job = list_take(&spawner->todo);
        if (!job && spawner->stop)
            break;
        if (!job) {
            pthread_cond_wait(&spawner->wake, &spawner->mutex);
            continue;
        }
        pthread_mutex_unlock(&spawner->mutex);
        carry_out(job);
        pthread_mutex_lock(&spawner->mutex);
        add_done(spawner, job);
    }
    pthread_mutex_unlock(&spawner->mutex);
    return NULL;
}

/* --- the loop -------------------------------------------------------------------------------- */

static void tell_done(void *ctx, int fd, unsigned events) {
    struct spawner *spawner = ctx;
    uint64_t count;
    (void)events;
    (void)!read(fd, &count, sizeof(count));
    pthread_mutex_lock(&spawner->mutex);
    struct spawner_job *jobs = spawner->done.first;
    list_init(&spawner->done);
    pthread_mutex_unlock(&spawner->mutex);
    while (jobs) {
        struct spawner_job *job = jobs;
        jobs = job->next;
        spawner->pending--;
        job->done(job->ctx, job->pid, job->error);
        job_free(job);
    }
}

void spawner_start(struct spawner *spawner, const struct spawn *order, spawner_done done,
                   void *ctx) {
    struct spawner_job *job = job_new(order);
    job->done = done;
    job->ctx = ctx;
    spawner->pending++;
    pthread_mutex_lock(&spawner->mutex);
    list_add(&spawner->todo, job);
    pthread_cond_signal(&spawner->wake);
    pthread_mutex_unlock(&spawner->mutex);
}

size_t spawner_pending(const struct spawner *spawner) {
    return spawner->pending;
}

/* --- life ------------------------------------------------------------------------------------ */

int spawner_new(struct loop *loop, struct spawner **ret, struct error *err) {
    struct spawner *spawner = xcalloc(1, sizeof(*spawner));
    spawner->loop = loop;
    list_init(&spawner->todo);
    list_init(&spawner->done);
    pthread_mutex_init(&spawner->mutex, NULL);
    pthread_cond_init(&spawner->wake, NULL);
    spawner->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = spawner->told < 0 ? -errno : 0;
    r = r ? r : loop_watch(loop, spawner->told, LOOP_READ, tell_done, spawner, &spawner->watch);
    r = r ? r : thread_start(&spawner->thread, start_all, spawner);
    spawner->has_thread = r == 0;
    if (r < 0) {
        spawner_free(spawner);
        return error_set(err, r, "cannot start the thread that starts runs: %s", strerror(-r));
    }
    *ret = spawner;
    return 0;
}

struct spawner *spawner_free(struct spawner *spawner) {
    if (!spawner)
        return NULL;
    pthread_mutex_lock(&spawner->mutex);
    spawner->stop = true;
    pthread_cond_signal(&spawner->wake);
    pthread_mutex_unlock(&spawner->mutex);
    if (spawner->has_thread)
        pthread_join(spawner->thread, NULL);
    for (struct spawner_job *job; (job = list_take(&spawner->done));)
        job_free(job);
    loop_unwatch(spawner->loop, spawner->watch);
    fd_closep(&spawner->told);
    pthread_cond_destroy(&spawner->wake);
    pthread_mutex_destroy(&spawner->mutex);
    free(spawner);
    return NULL;
}
