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
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/program.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"

#define GRACE     SECONDS(5) /* between SIGTERM and SIGKILL */
#define AGAIN     100        /* ms: processes may have been started meanwhile */
#define DEPTH_MAX 64u

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

/* --- a program that prints lines -------------------------------------------------------------- */

struct line_reader {
    const struct program_lines *lines;
    struct strbuf pending; /* the beginning of a line */
    struct strbuf *tail;
    size_t number;
    int out, errors; /* -1: closed */
    struct error *err;
};

static void close_end(int *fd) {
    fd_closep(fd);
    *fd = -1;
}

static int hand_line(struct line_reader *r, char *text, size_t size) {
    r->number++;
    if (size > r->lines->line_max)
        return error_set(r->err, -E2BIG, "line %zu has more than %zu bytes", r->number,
                         r->lines->line_max);
    return r->lines->line(r->lines->ctx, text, size, r->err);
}

/* Hands out the complete lines of `pending`, at the end also the last one. */
static int hand_lines(struct line_reader *r, bool at_end) {
    char *at = r->pending.text;
    size_t left = r->pending.length;
    int result = 0;
    for (char *newline; result == 0 && left > 0 && (newline = memchr(at, '\n', left));) {
        size_t size = (size_t)(newline - at);
        result = hand_line(r, at, size);
        at = newline + 1;
        left -= size + 1;
    }
    if (result == 0 && left > 0 && (at_end || left > r->lines->line_max)) {
        result = hand_line(r, at, left);
        left = 0;
    }
    if (left > 0)
        memmove(r->pending.text, at, left);
    r->pending.length = left;
    return result;
}

static int read_output(struct line_reader *r) {
    char piece[65536];
    ssize_t n = read(r->out, piece, sizeof(piece));
    if (n > 0) {
        strbuf_add(&r->pending, piece, (size_t)n);
        return hand_lines(r, false);
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_end(&r->out);
    return 0;
}

/* Passes it on, and keeps the end of it. */
static void read_errors(struct line_reader *r) {
    char piece[4096];
    ssize_t n = read(r->errors, piece, sizeof(piece));
    if (n > 0) {
        (void)fwrite(piece, 1, (size_t)n, stderr);
        strbuf_add(r->tail, piece, (size_t)n);
        if (r->tail->length > 2 * sizeof(piece)) {
            size_t drop = r->tail->length - sizeof(piece);
            memmove(r->tail->text, r->tail->text + drop, sizeof(piece));
            r->tail->length = sizeof(piece);
        }
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_end(&r->errors);
    }
}

static void keep_last_line(struct strbuf *tail) {
    size_t end = tail->length;
    while (end > 0 && (unsigned char)tail->text[end - 1] <= ' ')
        end--;
    size_t begin = end;
    while (begin > 0 && tail->text[begin - 1] != '\n')
        begin--;
    char *line = end > begin ? xstrndup(tail->text + begin, end - begin) : NULL;
    strbuf_clear(tail);
    if (line)
        strbuf_puts(tail, line);
    free(line);
}

/* Until it has exited and its output is read, or a line is refused. */
static int read_until_exit(struct line_reader *r, int pidfd) {
    int result = 0;
    for (bool exited = false; result == 0;) {
        struct pollfd fds[] = { { .fd = r->out, .events = POLLIN },
                                { .fd = r->errors, .events = POLLIN },
                                { .fd = exited ? -1 : pidfd, .events = POLLIN } };
        int ready = poll(fds, 3, exited ? 0 : -1);
        if (ready < 0 && errno != EINTR)
            return error_set_errno(r->err, "wait for", "the program");
        if (ready <= 0 && exited)
            return hand_lines(r, true);
        if (ready > 0 && fds[1].revents)
            read_errors(r);
        if (ready > 0 && fds[0].revents)
            result = read_output(r);
        if (ready > 0 && fds[2].revents)
            exited = true;
    }
    return result;
}

struct descendants {
    int signal;
    struct pollfd fds[64];
    nfds_t count;
};

static void signal_descendant(void *ctx, pid_t parent, pid_t pid, unsigned depth) {
    struct descendants *all = ctx;
    struct proc_stat stat;
    int fd = proc_open(pid);
    if (fd < 0)
        return;
    bool is_alive =
        proc_read("/proc", pid, &stat) == 0 && stat.parent == parent && stat.state != 'Z';
    if (is_alive)
        (void)proc_signal(fd, all->signal);
    if (depth < DEPTH_MAX)
        proc_children(pid, signal_descendant, all, depth + 1);
    if (is_alive && all->count < ARRAY_SIZE(all->fds))
        all->fds[all->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
    else
        (void)close(fd);
}

/* False: no descendant is alive. */
static bool signal_descendants(int signal, time_ms wait) {
    struct descendants all = { .signal = signal };
    proc_children(getpid(), signal_descendant, &all, 0);
    if (all.count > 0)
        (void)poll(all.fds, all.count, (int)wait);
    for (nfds_t i = 0; i < all.count; i++)
        (void)close(all.fds[i].fd);
    return all.count > 0;
}

/* The program and everything that it has started. As a subreaper, this process becomes the parent
 * of those whose parent has exited. */
static void end_descendants(void) {
    time_ms deadline = time_add(clock_read_steady(), GRACE);
    while (signal_descendants(clock_read_steady() < deadline ? SIGTERM : SIGKILL, AGAIN))
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
}

int program_read_lines(const char *path, const char *const *argv, const struct program_lines *lines,
                       struct strbuf *tail, int *ret_status, struct error *err) {
    int out[2] = { -1, -1 }, errors[2] = { -1, -1 }, status = 0;
    pid_t pid = 0;
    int r = pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0 ? errno : 0;
    (void)fflush(NULL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    const struct program_streams streams = { { -1, out[1], errors[1], -1 } };
    if (r == 0)
        r = program_spawn(path, argv, &streams, &pid);
    fd_closep(&out[1]);
    fd_closep(&errors[1]);
    struct line_reader reader = {
        .lines = lines, .tail = tail, .out = out[0], .errors = errors[0], .err = err
    };
    _cleanup_(fd_closep) int pidfd = r == 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    int result = r == 0 ? 0 : cannot_run(path, r, err);
    if (result == 0) {
        (void)fcntl(reader.out, F_SETFL, O_NONBLOCK);
        (void)fcntl(reader.errors, F_SETFL, O_NONBLOCK);
        result = read_until_exit(&reader, pidfd);
        if (result < 0)
            end_descendants();
    }
    fd_closep(&reader.out);
    fd_closep(&reader.errors);
    strbuf_finish(&reader.pending);
    keep_last_line(tail);
    while (result == 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cannot_run(path, errno, err);
    *ret_status = exit_code_of(status);
    return result;
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
