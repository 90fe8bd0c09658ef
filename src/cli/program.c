/* program.c: posix_spawn, read until the end, wait. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/program.h"
#include "os/clock.h"
#include "os/fd.h"

extern char **environ;

static int exit_code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int cannot_run(const char *path, int code, struct error *err) {
    return error_set(err, -code, "cannot run '%s': %s", path, strerror(code));
}

int program_spawn(const char *path, const char *const *argv, const struct program_streams *streams,
                  pid_t *ret_pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int r = posix_spawn_file_actions_init(&files);
    if (r == 0)
        r = posix_spawnattr_init(&attributes);
    if (r != 0)
        return r;
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    if (streams->own_session)
        r = posix_spawnattr_setflags(&attributes,
                                     (short)(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK
                                             | (streams->is_daemon ? POSIX_SPAWN_SETSIGDEF : 0)));
    for (int fd = 0; fd <= 3 && r == 0; fd++)
        if (streams->fds[fd] == PROGRAM_NULL)
            r = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
        else if (streams->fds[fd] >= 0)
            r = posix_spawn_file_actions_adddup2(&files, streams->fds[fd], fd);
    /* A daemon must not keep the caller's descriptors open (a script's pipe, a lock). */
    if (r == 0 && streams->is_daemon)
        r = posix_spawn_file_actions_addclosefrom_np(&files, 4);
    if (r == 0 && streams->is_daemon)
        r = posix_spawn_file_actions_addchdir_np(&files, "/");
    if (r == 0)
        r = posix_spawn(ret_pid, path, &files, &attributes, (char *const *)(uintptr_t)argv,
                        environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return r;
}

/* 1: read; 0: nothing right now, on a non-blocking pipe; -1: the end. */
static int read_piece(int fd, struct strbuf *out) {
    char piece[4096];
    ssize_t n = read(fd, piece, sizeof(piece));
    if (n <= 0)
        return n == 0 ? -1 : errno == EINTR ? 1 : errno == EAGAIN ? 0 : -1;
    if (out->length < PROGRAM_OUTPUT_MAX)
        strbuf_add(out, piece, (size_t)n);
    return 1;
}

int program_run(const char *path, const char *const *argv, enum program_take take,
                struct strbuf *out, int *ret_status, struct error *err) {
    int ends[2] = { -1, -1 };
    bool piped = take != PROGRAM_TAKE_NOTHING;
    if (piped && pipe2(ends, O_CLOEXEC) < 0)
        return cannot_run(path, errno, err);
    (void)fflush(stdout); /* our output must precede its output */
    pid_t pid;
    const struct program_streams streams = {
        { -1, ends[1], take == PROGRAM_TAKE_BOTH ? ends[1] : -1, -1 },
    };
    int r = program_spawn(path, argv, &streams, &pid);
    fd_closep(&ends[1]);
    while (r == 0 && piped && read_piece(ends[0], out) > 0)
        continue;
    fd_closep(&ends[0]);
    if (r != 0)
        return cannot_run(path, r, err);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cannot_run(path, errno, err);
    *ret_status = exit_code_of(status);
    return 0;
}

int program_leave(const char *path, const char *const *argv, struct error *err) {
    const struct program_streams streams = { { PROGRAM_NULL, PROGRAM_NULL, PROGRAM_NULL, -1 },
                                             .own_session = true };
    pid_t pid;
    int r = program_spawn(path, argv, &streams, &pid);
    return r == 0 ? 0 : cannot_run(path, r, err);
}

/* --- several programs in parallel ------------------------------------------------------------- */

/* These programs are not ours and may hang, flood, or leave children that hold the pipe open. So
 * the exit of the process counts (its pidfd), not the end of its output, and its process group is
 * always killed. */
struct running {
    struct program_job *job;
    pid_t pid;
    int pidfd, pipe; /* -1: closed */
};

static void begin(struct running *one, struct program_job *job) {
    int ends[2];
    *one = (struct running){ .job = job, .pidfd = -1, .pipe = -1 };
    job->status = 0;
    if (!job->path)
        return;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        job->status = -errno;
        return;
    }
    const struct program_streams streams = {
        { PROGRAM_NULL, ends[1], job->drop_errors ? PROGRAM_NULL : ends[1], -1 },
        .own_session = true,
    };
    int r = program_spawn(job->path, job->argv, &streams, &one->pid);
    (void)close(ends[1]);
    if (r != 0) {
        job->status = -r;
        (void)close(ends[0]);
        return;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    one->pipe = ends[0];
    one->pidfd = (int)syscall(SYS_pidfd_open, one->pid, 0);
}

/* Reads available data, up to the limit. */
static void drain(struct running *one) {
    int r = 1;
    while (r > 0 && one->job->out.length < PROGRAM_OUTPUT_MAX)
        r = read_piece(one->pipe, &one->job->out);
    if (r < 0) {
        (void)close(one->pipe);
        one->pipe = -1;
    }
}

static void end(struct running *one, bool late) {
    int status = 0;
    if (one->pid <= 0)
        return;
    (void)kill(-one->pid, SIGKILL); /* its leftover children, and the process if it is late */
    if (late)
        (void)kill(one->pid, SIGKILL);
    while (waitpid(one->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (one->pipe >= 0)
        drain(one);
    fd_closep(&one->pipe);
    fd_closep(&one->pidfd);
    one->job->status = late ? -ETIMEDOUT : exit_code_of(status);
    one->pid = 0;
    one->pipe = one->pidfd = -1;
}

/* Waits for the next event of any of them. False: nothing runs, or the timeout has passed. */
static bool turn(struct running *all, struct pollfd *fds, size_t count, time_ms deadline) {
    bool alive = false;
    for (size_t i = 0; i < count; i++) {
        fds[2 * i] = (struct pollfd){ .fd = all[i].pidfd, .events = POLLIN };
        fds[2 * i + 1] = (struct pollfd){ .fd = all[i].pipe, .events = POLLIN };
        alive |= all[i].pid > 0 && all[i].pidfd >= 0;
    }
    time_ms left = deadline - clock_read_steady();
    if (!alive || left <= 0)
        return false;
    int r = poll(fds, 2 * count, (int)left);
    if (r <= 0)
        return r < 0 && errno == EINTR;
    for (size_t i = 0; i < count; i++) {
        if (all[i].pipe >= 0 && fds[2 * i + 1].revents)
            drain(&all[i]);
        if (all[i].pidfd >= 0 && fds[2 * i].revents)
            end(&all[i], false);
        else if (all[i].job->out.length >= PROGRAM_OUTPUT_MAX)
            end(&all[i], true);
    }
    return true;
}

void program_run_all(struct program_job *jobs, size_t count, time_ms timeout) {
    time_ms deadline = clock_read_steady() + timeout;
    struct running *all = xcalloc(count + 1, sizeof(*all));
    struct pollfd *fds = xcalloc(2 * count + 1, sizeof(*fds));
    for (size_t i = 0; i < count; i++)
        begin(&all[i], &jobs[i]);
    while (turn(all, fds, count, deadline))
        continue;
    for (size_t i = 0; i < count; i++)
        end(&all[i], true);
    free(fds);
    free(all);
}
