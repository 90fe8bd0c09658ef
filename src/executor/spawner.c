/* spawner.c: see spawner.h. */
#include "executor/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "os/files.h"
#include "os/worker.h"

/* An action must not overwrite a descriptor that a later action needs: low descriptors are
 * duplicated first. The caller closes `ret_made` afterwards. */
static int add_file(posix_spawn_file_actions_t *actions, int fd, int place, int *ret_made) {
    *ret_made = -1;
    if (fd == SPAWN_NULL)
        return posix_spawn_file_actions_addopen(actions, place, "/dev/null", O_RDWR, 0);
    if (fd < SPAWN_FDS) {
        fd = *ret_made = fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_FDS);
        if (fd < 0)
            return errno;
    }
    return posix_spawn_file_actions_adddup2(actions, fd, place);
}

/* /dev/null is opened once. */
static int add_files(posix_spawn_file_actions_t *actions, const struct spawn *spawn,
                     int ret_made[SPAWN_FDS], size_t *ret_count) {
    int null = -1, error = 0;
    for (size_t i = 0; error == 0 && i < spawn->fd_count; i++) {
        bool is_again = spawn->fds[i] == SPAWN_NULL && null >= 0;
        ret_made[i] = -1;
        error = is_again ? posix_spawn_file_actions_adddup2(actions, null, (int)i)
                         : add_file(actions, spawn->fds[i], (int)i, &ret_made[i]);
        if (spawn->fds[i] == SPAWN_NULL)
            null = (int)i;
        *ret_count = i + 1;
    }
    return error ? error : posix_spawn_file_actions_addclosefrom_np(actions, (int)spawn->fd_count);
}

static int set_attributes(posix_spawnattr_t *attributes, const struct spawn *spawn) {
    sigset_t all, blocked;
    sigfillset(&all);
    if (spawn->blocks)
        sigfillset(&blocked);
    else
        sigemptyset(&blocked);
    if (spawn->ignores_pipe)
        sigdelset(&all, SIGPIPE);
    int error = posix_spawnattr_setflags(
        attributes, (short)((spawn->is_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP)
                            | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    error = error ? error : posix_spawnattr_setpgroup(attributes, 0);
    error = error ? error : posix_spawnattr_setsigmask(attributes, &blocked);
    return error ? error : posix_spawnattr_setsigdefault(attributes, &all);
}

int spawn_process(const struct spawn *spawn, pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int made[SPAWN_FDS];
    size_t count = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    (void)posix_spawnattr_init(&attributes);
    error = add_files(&actions, spawn, made, &count);
    if (error == 0 && spawn->cwd)
        error = posix_spawn_file_actions_addchdir_np(&actions, spawn->cwd);
    error = error ? error : set_attributes(&attributes, spawn);
    error = error ? error
                  : posix_spawnp(ret_pid, spawn->program, &actions, &attributes,
                                 (char *const *)(uintptr_t)spawn->argv,
                                 (char *const *)(uintptr_t)spawn->env);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    while (count-- > 0)
        if (made[count] >= 0)
            close(made[count]);
    return error;
}

/* --- jobs ------------------------------------------------------------------------------------ */

struct spawner_job {
    struct worker_job base;
    struct spawn order; /* its strings are in the arena */
    struct arena arena;
    spawner_done done;
    void *ctx;
    pid_t pid;
    int error;
};

struct spawner {
    struct worker *worker;
    size_t pending;
};

static const char *const *copy_words(struct arena *arena, const char *const *words) {
    size_t count = 0;
    while (words[count])
        count++;
    const char **copy = arena_alloc(arena, (count + 1) * sizeof(*copy)); /* NULL-terminated */
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(arena, words[i]);
    return copy;
}

static struct spawner_job *job_new(const struct spawn *order) {
    struct spawner_job *job = xcalloc(1, sizeof(*job));
    job->order = *order;
    job->order.argv = copy_words(&job->arena, order->argv);
    job->order.env = copy_words(&job->arena, order->env);
    job->order.program = arena_strdup(&job->arena, order->program);
    job->order.cwd = order->cwd ? arena_strdup(&job->arena, order->cwd) : NULL;
    return job;
}

static void job_free(struct spawner_job *job) {
    for (const char *const *pair = job->order.env; *pair; pair++) /* the key of a run is there */
        explicit_bzero((char *)(uintptr_t)*pair, strlen(*pair));
    arena_finish(&job->arena);
    free(job);
}

/* The descriptors are closed at once: only the new process may hold a lock among them. */
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
    if (spawner->worker) /* else the spawner is being freed */
        job->done(job->ctx, job->pid, job->error);
    job_free(job);
}

void spawner_start(struct spawner *spawner, const struct spawn *order, spawner_done done,
                   void *ctx) {
    struct spawner_job *job = job_new(order);
    job->done = done;
    job->ctx = ctx;
    spawner->pending++;
    (void)worker_submit(spawner->worker, &job->base); /* the worker has started */
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
