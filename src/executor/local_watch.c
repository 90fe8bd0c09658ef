/* local_watch.c: what the shims say, and when they are gone.
 *
 * One pipe for all shims: a line is written in one piece and carries the run's handle, which is never
 * used twice. What it says is a hint that may be lost (a full pipe); the truth is in the run's folder, and the
 * end is the shim's own end, seen through its pidfd. */
#include "executor/local.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number.h"
#include "executor/spare.h"
#include "os/proc.h"

#define PIPE_BYTES    (1 << 20)
#define PENDING_FIRST 1 /* ms */
#define PENDING_MAX   250

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* --- the pipe -------------------------------------------------------------------------------- */

static struct local_run *find_by_handle(const struct local *ex, const char *text) {
    char *end;
    unsigned long index = strtoul(text, &end, 10);
    struct local_run *run = index > 0 && index < ex->runs.count ? local_at(ex, index) : NULL;
    if (*end != '.' || !run)
        return NULL;
    unsigned long generation = strtoul(end + 1, &end, 10);
    return *end == '\0' && run->generation == generation ? run : NULL;
}

void local_tell_started(struct local_run *run, time_ms at) {
    if (run->told_started)
        return;
    run->told_started = true;
    if (!run->external_task)
        run->ex->base.events.started(run->ex->base.events.ctx, run->key, at);
}

void local_tell_validating(struct local_run *run) {
    if (run->told_validating)
        return;
    run->told_validating = true;
    if (!run->external_task)
        run->ex->base.events.validating(run->ex->base.events.ctx, run->key);
}

/* Its shim could not write it anywhere, and waits until somebody has it. */
static void take_end(struct local_run *run, const char *text) {
    struct run_end end;
    if (run->state != LOCAL_WATCHED
        || run_end_parse(text, strlen(text), run->tag_key, &end, NULL) < 0)
        return;
    run->end = end;
    run->has_end = true;
    local_signal(run, STOP_AT_ONCE);
}

static void take_words(struct local_run *run, char *what) {
    char *rest = strchr(what, ' ');
    if (rest)
        *rest++ = '\0';
    int64_t at = 0;
    if (strcmp(what, "started") == 0 && rest && number_parse_int(rest, &at, NULL) == 0)
        local_tell_started(run, at);
    else if (strcmp(what, "validating") == 0)
        local_tell_validating(run);
    else if (strcmp(what, "end") == 0 && rest)
        take_end(run, rest);
}

static void take_line(const struct local *ex, char *line) {
    char *what = strchr(line, ' ');
    if (!what)
        return;
    *what++ = '\0';
    struct local_run *run = find_by_handle(ex, line);
    if (run
        && run->state == LOCAL_SPAWNING) /* who the shim is goes into the store with `started` */
        strbuf_printf(&run->early, "%s\n", what);
    else if (run)
        take_words(run, what);
}

void local_hear_early(struct local_run *run) {
    char *text = strbuf_take(&run->early);
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        take_words(run, line);
    }
    free(text);
}

static void drain_pipe(struct local *ex) {
    for (;;) {
        size_t room = sizeof(ex->line) - ex->line_length;
        ssize_t got = read(ex->pipe_in, ex->line + ex->line_length, room);
        if (got <= 0)
            return;
        size_t size = ex->line_length + (size_t)got, begin = 0;
        for (size_t i = ex->line_length; i < size; i++) {
            if (ex->line[i] != '\n')
                continue;
            ex->line[i] = '\0';
            take_line(ex, ex->line + begin);
            begin = i + 1;
        }
        ex->line_length = size - begin;
        memmove(ex->line, ex->line + begin, ex->line_length);
        if (ex->line_length == sizeof(ex->line))
            ex->line_length = 0; /* no line of a shim is so long */
        if ((size_t)got < room)
            return;
    }
}

static void pipe_ready(void *ctx, int fd, unsigned events) {
    (void)fd;
    (void)events;
    drain_pipe(ctx);
}

int local_open_pipe(struct local *ex, struct error *err) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    ex->pipe_in = fcntl(ends[0], F_DUPFD_CLOEXEC, 10);
    ex->pipe_out = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    if (ex->pipe_in < 0 || ex->pipe_out < 0)
        return error_set(err, -error, "cannot make a pipe: %s", strerror(error));
    (void)fcntl(ex->pipe_in, F_SETPIPE_SZ, PIPE_BYTES);
    int r = loop_watch(ex->loop, ex->pipe_in, LOOP_READ, pipe_ready, ex, &ex->pipe_watch);
    return r < 0 ? error_set(err, r, "cannot watch a pipe: %s", strerror(-r)) : 0;
}

/* --- the end --------------------------------------------------------------------------------- */

static void release_cgroup(struct local_run *run) {
    if (run->slot && (run->end.kind == RUN_END_LOST || strstr(run->end.applied, "cgroup.kill")))
        run->slot->spoiled = true;
    cgroup_give_back(run->ex->cgroups, TAKE_PTR(run->slot));
    if (run->old_cgroup)
        cgroup_remove(run->old_cgroup);
}

void local_tell_end(struct local_run *run) {
    struct local *ex = run->ex;
    struct run_end end = run->end;
    struct run_key key = run->key;
    bool ran = end.started_at > 0;
    release_cgroup(run);
    if (run->external_task) {
        if (ex->sweep.external_ended)
            ex->sweep.external_ended(ex->sweep.ctx, run->external_task, run->external_attempt);
        local_run_free(run);
        return;
    }
    if (ran)
        local_tell_started(run, end.started_at);
    local_run_free(run);
    ex->base.events.ended(ex->base.events.ctx, key, &end);
}

static void conclude_lost(struct local_run *run, const char *why) {
    run->end = (struct run_end){ .kind = RUN_END_LOST, .code = -1 };
    run->end.ended_at = loop_now(run->ex->loop);
    run->has_end = false;
    (void)snprintf(run->end.message, sizeof(run->end.message), "%.255s", why);
}

void local_conclude(struct local_run *run) {
    struct local *ex = run->ex;
    struct error err = { 0 };
    int dir = -1;
    int r = run->has_end ? 0 : rundir_open_at(ex->root, run->folder, &dir, &err);
    if (r >= 0 && !run->has_end) {
        r = rundir_read_end_at(dir, run->tag_key, &run->end, &err);
        if (r >= 0)
            spare_keep_tmp(ex->spare, dir);
        close(dir);
    }
    if (r >= 0) {
        run->has_end = true;
        return;
    }
    conclude_lost(run, r == -ENOENT ? "its shim is gone and has recorded no end" : err.text);
}

/* A shim does not end by a signal unless somebody has killed it. Then its folder proves nothing: its run can write there,
 * and may be the one that did it. 0: it has exited, or it is not our child. */
static int signal_of_end(int pidfd) {
    siginfo_t info = { 0 };
    if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
        return 0; /* init reaps it */
    return info.si_code == CLD_EXITED ? 0 : info.si_status;
}

static void shim_gone(void *ctx, int fd, unsigned events) {
    struct local_run *run = ctx;
    (void)events;
    drain_pipe(run->ex); /* what it said comes before its end */
    int signal = signal_of_end(fd);
    loop_unwatch(run->ex->loop, TAKE_PTR(run->watch));
    close(run->pidfd);
    run->pidfd = -1;
    if (signal) {
        struct error why = { 0 };
        (void)error_set(&why, -ESRCH, "its shim was ended by signal %d", signal);
        conclude_lost(run, why.text);
    } else {
        local_conclude(run);
    }
    if (local_kill_rest(run))
        local_tell_end(run);
    else
        local_set_pending(run, LOCAL_DYING);
}

int local_watch_shim(struct local_run *run, int pidfd, struct error *err) {
    run->pidfd = pidfd;
    int r = loop_watch(run->ex->loop, pidfd, LOOP_READ, shim_gone, run, &run->watch);
    if (r < 0) {
        close(pidfd);
        run->pidfd = -1;
        return error_set(err, r, "cannot watch a shim: %s", strerror(-r));
    }
    run->state = LOCAL_WATCHED;
    if (run->stop_asked)
        local_signal(run, run->stop_how);
    return 0;
}

void local_signal(struct local_run *run, enum stop_how how) {
    if (run->pidfd < 0) {
        run->stop_how = run->stop_asked && run->stop_how == STOP_AT_ONCE ? STOP_AT_ONCE : how;
        run->stop_asked = true;
        return;
    }
    int signal = how == STOP_AT_ONCE ? SIGUSR1 : SIGTERM;
    (void)proc_signal(run->pidfd, signal);
}

/* --- those who are not watched --------------------------------------------------------------- */

void local_set_pending(struct local_run *run, enum local_state state) {
    struct local *ex = run->ex;
    run->state = state;
    run->next = ex->pending;
    ex->pending = run;
    ex->pending_delay = PENDING_FIRST;
    loop_timer_set(ex->loop, ex->pending_timer, loop_now_steady(ex->loop));
}

static void look_again(struct local_run *run) {
    if (run->state == LOCAL_HIDDEN)
        local_unhide(run);
    if (run->state == LOCAL_OVER || (run->state == LOCAL_DYING && local_kill_rest(run)))
        local_tell_end(run);
    else if (run->state != LOCAL_WATCHED) {
        run->next = run->ex->pending;
        run->ex->pending = run;
    }
}

void local_pending_due(void *ctx) {
    struct local *ex = ctx;
    struct local_run *runs = TAKE_PTR(ex->pending);
    time_ms delay = ex->pending_delay;
    ex->pending_delay = time_min(2 * delay, PENDING_MAX);
    while (runs) {
        struct local_run *run = runs;
        runs = run->next;
        run->next = NULL;
        look_again(run);
    }
    if (ex->pending)
        loop_timer_set(ex->loop, ex->pending_timer, loop_now_steady(ex->loop) + delay);
}
