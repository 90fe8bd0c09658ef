/* spawner.c: see spawner.h. */
#include "executor/spawner.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "os/files.h"
#include "os/worker.h"

/* --- processes that start with their signals blocked ------------------------------------------ */

/* posix_spawn makes about 100 system calls, most of them to look at each signal, because a handler
 * of this process must not run in the new one. Shims start with all signals blocked, so no handler
 * can run before exec resets it: only ignored signals are left to reset. The new process shares our
 * memory and this thread sleeps until its exec, as in posix_spawn. */

#define STACK_BYTES (16u << 10)
/* Its frames are never left, so marks of AddressSanitizer in them would stay in our memory. */
#define IN_CHILD __attribute__((no_sanitize("address")))

struct blocked_child {
    const struct spawn *spawn;
    int fds[SPAWN_FDS]; /* all above SPAWN_FDS */
    int error;          /* why it did not execute its program */
};

/* Found before the first start, and does not change. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t ignored_signals; /* bit N - 1 */
static atomic_int null_fd = -1;  /* /dev/null, once it was opened */

/* By raw system calls: libc refuses to look at those that it reserves (32 and 33), and one that
 * our parent has ignored stays ignored across exec. The first word is the handler, and all zero means
 * "default". */
struct raw_action {
    unsigned long words[8];
};

IN_CHILD static long raw_sigaction(int signal, const struct raw_action *action,
                                   struct raw_action *ret_old) {
    return syscall(SYS_rt_sigaction, signal, action, ret_old, (NSIG - 1) / 8);
}

static void find_inherited(void) {
    struct raw_action action;
    for (int signal = 1; signal < NSIG; signal++)
        if (raw_sigaction(signal, NULL, &action) == 0
            && action.words[0] == (unsigned long)(uintptr_t)SIG_IGN)
            ignored_signals |= UINT64_C(1) << (signal - 1);
    ignored_signals |= UINT64_C(1) << (SIGPIPE - 1); /* by main, or by a test that does not yet */
}

/* Opened by the first start that can. 0 or the error. */
static int open_null(void) {
    int none = -1;
    if (atomic_load(&null_fd) >= 0)
        return 0;
    _cleanup_(fd_closep) int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_FDS);
    if (high < 0)
        return errno;
    if (!atomic_compare_exchange_strong(&null_fd, &none, high))
        (void)close(high); /* another thread was first */
    return 0;
}

/* Not left to exec, which wakes our thread before it closes anything: a daemon that exits then would
 * leave a reader of its pipe, and the shims that end in that moment would take it for alive. */
IN_CHILD static void close_others(unsigned first) {
    if (close_range(first, ~0u, 0) == 0)
        return;
    for (int fd = (int)first, end = (int)sysconf(_SC_OPEN_MAX); fd < end; fd++)
        (void)close(fd);
}

/* On a stack of its own, in our memory: it may change only what it was given, and errno. */
IN_CHILD static int run_blocked_child(void *ctx) {
    struct blocked_child *child = ctx;
    const struct spawn *spawn = child->spawn;
    for (int signal = 1; signal < NSIG; signal++)
        if ((ignored_signals & (UINT64_C(1) << (signal - 1)))
            && !(signal == SIGPIPE && spawn->ignores_pipe))
            (void)raw_sigaction(signal, &(struct raw_action){ 0 }, NULL);
    bool good = spawn->is_session ? setsid() >= 0 : setpgid(0, 0) == 0;
    for (size_t i = 0; good && i < spawn->fd_count; i++)
        good = dup2(child->fds[i], (int)i) >= 0;
    if (good) {
        close_others((unsigned)spawn->fd_count);
        (void)execve(spawn->program, (char *const *)(uintptr_t)spawn->argv,
                     (char *const *)(uintptr_t)spawn->env);
    }
    child->error = errno;
    return 127; /* clone makes it the exit status, by a system call */
}

/* Descriptors that a dup2 of the child would overwrite are duplicated first. */
static int raise_files(struct blocked_child *child, int ret_made[SPAWN_FDS], size_t *ret_count) {
    for (size_t i = 0; i < child->spawn->fd_count; i++) {
        int fd = child->spawn->fds[i] == SPAWN_NULL ? null_fd : child->spawn->fds[i];
        if (fd >= 0 && fd < SPAWN_FDS)
            fd = ret_made[(*ret_count)++] = fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_FDS);
        if (fd < 0)
            return errno;
        child->fds[i] = fd;
    }
    return 0;
}

static int clone_blocked(struct blocked_child *child, pid_t *ret_pid) {
    _Alignas(16) char stack[STACK_BYTES];
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid =
        clone(run_blocked_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, child);
    int error = pid < 0 ? errno : child->error;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0 && error)
        (void)waitpid(pid, NULL, 0);
    *ret_pid = pid;
    return error;
}

static int spawn_blocked(const struct spawn *spawn, pid_t *ret_pid) {
    struct blocked_child child = { .spawn = spawn };
    int made[SPAWN_FDS];
    size_t count = 0;
    assert(!spawn->cwd && strchr(spawn->program, '/'));
    pthread_once(&once, find_inherited);
    int error = open_null();
    if (error == 0)
        error = raise_files(&child, made, &count);
    if (error == 0)
        error = clone_blocked(&child, ret_pid);
    while (count-- > 0)
        if (made[count] >= 0)
            close(made[count]);
    return error;
}

/* --- other processes -------------------------------------------------------------------------- */

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

static int spawn_unblocked(const struct spawn *spawn, pid_t *ret_pid) {
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

int spawn_process(const struct spawn *spawn, pid_t *ret_pid) {
    return spawn->blocks ? spawn_blocked(spawn, ret_pid) : spawn_unblocked(spawn, ret_pid);
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
        if (!(job->order.kept & (1u << i)))
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
