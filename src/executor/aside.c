/* aside.c: short helper processes of the daemon, run outside the loop.
 *
 * Each helper leads its own process group, so a timeout also reaches its children. A pidfd reports
 * its exit. The group is killed before the leader is reaped: until then the pid cannot be reused,
 * and leftover children must not write into a repository that the next command uses. A guard ends
 * its own tree, starting with SIGTERM; it is killed only if it does not exit after it was asked
 * to. */
#include "executor/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "executor/spawner.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/proc.h"
#include "rundir/guard_report.h"
#include "rundir/record.h"
#include "rundir/rundir.h"

#define LOW_DESCRIPTORS 10 /* keep 0-9 free for the command */
#define MARK            "SLUICE_ASIDE="
#define GUARD_GRACE     SECONDS(3) /* unless spec->guard has another */
#define GUARD_MARGIN    SECONDS(5) /* after the grace period, before the guard itself is killed */

struct guard_report {
    bool is_there; /* it exited by itself and its tree is empty */
    bool cgroup_killed;
    int error; /* errno of a command that could not be run */
    char message[256];
};

/* --- guards ----------------------------------------------------------------------------------- */

/* The spec is passed in a memory file, which the guard overwrites with its report. No other process
 * can open it, because the guard is not dumpable. */

/* A guard that dies with the daemon carries its mark, so that the next daemon finds it
 * (helper_sweep). */
static const char *mark_of(const struct helper_spec *spec) {
    for (const char *const *pair = spec->env; pair && *pair && !spec->outlives; pair++)
        if (strncmp(*pair, MARK, strlen(MARK)) == 0)
            return *pair;
    return NULL;
}

static void format_spec(const struct helper_spec *spec, struct strbuf *out) {
    static const char *const none[] = { NULL };
    struct run_spec full = *spec->guard->spec;
    full.command = (struct run_command){ .argv = spec->argv };
    full.env = spec->env ? spec->env : none;
    full.cwd = spec->cwd ? spec->cwd : "/";
    full.checks = NULL;
    full.check_count = 0;
    full.prompt = full.stdin_path = NULL;
    full.idle_timeout = 0;
    full.grace = spec->guard->grace ? spec->guard->grace : GUARD_GRACE;
    full.stop_signal = SIGTERM;
    full.log_head = full.log_tail = 0;
    run_spec_format(&full, out);
}

static int write_all(int file, const char *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        ssize_t done = pwrite(file, bytes + at, size - at, (off_t)at);
        if (done <= 0)
            return done < 0 ? errno : EIO;
        at += (size_t)done;
    }
    return 0;
}

/* A memory file with the spec, numbered above the guard's descriptors. The caller closes it, also
 * after an error. */
static int write_spec(const struct helper_spec *spec, int *ret_file) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    format_spec(spec, &text);
    if (text.length > RUN_SPEC_MAX)
        return E2BIG;
    _cleanup_(fd_closep) int low = memfd_create("sluice-guard", MFD_CLOEXEC);
    *ret_file = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
    return *ret_file < 0 ? errno : write_all(*ret_file, text.text, text.length);
}

/* Starts the guard of spec->guard with `out` as its output. Returns 0 or an errno. The caller
 * closes ret_file (the guard's report), also after an error; -1 if it was not created. */
static int guard_spawn(const struct helper_spec *spec, int out, int *ret_file, pid_t *ret_pid) {
    static const char *const nothing[] = { NULL };
    char parent[16];
    (void)snprintf(parent, sizeof(parent), "%d", spec->outlives ? 0 : (int)getpid());
    const char *const argv[] = { "sluice-shim",          "--guard",     parent,
                                 spec->guard->spec->run, mark_of(spec), NULL };
    int error = write_spec(spec, ret_file);
    struct spawn order = {
        .program = spec->guard->shim,
        .argv = argv,
        .env = nothing,
        .fds = { SPAWN_NULL, out, spec->reads ? SPAWN_NULL : out, *ret_file, SPAWN_NULL,
                 spec->guard->daemon, spec->guard->cgroup },
        .fd_count = 7,
        .is_session = true,
        .blocks = true, /* as in any shim */
        .ignores_pipe = spec->outlives,
    };
    return error ? error : spawn_process(&order, ret_pid);
}

/* The guard sends SIGTERM to its command, SIGKILL to its tree after the grace period, then
 * exits. */
static void guard_stop(pid_t guard) {
    (void)kill(guard, SIGTERM);
    (void)kill(guard, SIGCONT); /* a descendant may have stopped it */
}

static void guard_read(int file, struct guard_report *ret) {
    char text[RUN_RECORD_MAX];
    ssize_t size = pread(file, text, sizeof(text), 0);
    struct record_in in = { .at = text, .end = text + (size > 0 ? size : 0) };
    const char *name, *value;
    *ret = (struct guard_report){ 0 };
    if (!record_next(&in, &name, &value) || strcmp(name, GUARD_REPORT) != 0)
        return;
    ret->is_there = true;
    while (record_next(&in, &name, &value)) {
        int64_t number;
        if (strcmp(name, GUARD_ERRNO) == 0 && record_number(value, 1, 4095, &number))
            ret->error = (int)number;
        else if (strcmp(name, GUARD_MESSAGE) == 0)
            (void)snprintf(ret->message, sizeof(ret->message), "%s", value);
        else if (strcmp(name, GUARD_CGROUP_KILLED) == 0)
            ret->cgroup_killed = true;
    }
}
#define OUTPUT_USUAL  (64u << 10)
#define GUARD_WAIT_MS 5000 /* same, while the loop is blocked */
#define PIECES_EACH   8
/* more than a pipe holds; a process that left the group may still write */
#define PIECES_REST 256

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

struct aside {
    struct loop *loop;
    helper_ended ended;
    void *ctx;
    pid_t pid; /* 0: it could not be started */
    int error;
    int pidfd, pipe;
    struct loop_watch *pid_watch, *pipe_watch;
    struct loop_timer *timer;
    bool timed_out, outlives, reads, cut;
    bool has_guard, was_asked; /* asked: the guard kills its tree */
    time_ms guard_patience;    /* how long the guard may take to exit */
    int report;                /* memory file of the guard; -1: none */
    void (*over)(void *ctx, pid_t guard, enum guard_over how);
    void *over_ctx;
    size_t output_max;
    struct strbuf output;
};

/* Calls no callback. */
static struct aside *aside_free(struct aside *a) {
    loop_unwatch(a->loop, a->pid_watch);
    loop_unwatch(a->loop, a->pipe_watch);
    loop_timer_free(a->loop, a->timer);
    fd_closep(&a->pidfd);
    fd_closep(&a->pipe);
    fd_closep(&a->report);
    strbuf_finish(&a->output);
    free(a);
    return NULL;
}

/* A guard that was already asked to stop is not asked again: its timer is running. */
static void end_tree(struct aside *a) {
    if (!a->has_guard) {
        (void)kill(-a->pid, SIGKILL);
    } else if (!a->was_asked) {
        a->was_asked = true;
        guard_stop(a->pid);
        loop_timer_set(a->loop, a->timer, time_add(loop_now_steady(a->loop), a->guard_patience));
    }
}

/* --- output ---------------------------------------------------------------------------------- */

/* Keeps only the tail; compacts the buffer when it holds twice the maximum. */
static void keep_end(struct aside *a, size_t most) {
    if (a->output.length <= most || a->reads)
        return;
    size_t over = a->output.length - a->output_max;
    memmove(a->output.text, a->output.text + over, a->output_max + 1);
    a->output.length = a->output_max;
}

/* Only the head is wanted, and it is complete. */
static void cut_rest(struct aside *a) {
    if (!a->reads || a->cut || a->output.length <= a->output_max)
        return;
    a->cut = true;
    a->output.length = a->output_max;
    a->output.text[a->output_max] = '\0';
    if (a->pid > 0)
        end_tree(a);
}

/* Reads at most `pieces` chunks, so that one helper cannot starve the loop. */
static void read_output(struct aside *a, unsigned pieces) {
    char bytes[8192];
    ssize_t got = 1;
    while (pieces-- > 0 && (got = read(a->pipe, bytes, sizeof(bytes))) > 0) {
        if (a->cut)
            continue;
        strbuf_add(&a->output, bytes, (size_t)got);
        keep_end(a, 2 * a->output_max);
        cut_rest(a);
    }
    if (got == 0) {
        loop_unwatch(a->loop, TAKE_PTR(a->pipe_watch));
        close(a->pipe);
        a->pipe = -1;
    }
}

static void output_ready(void *ctx, int fd, unsigned events) {
    (void)fd;
    (void)events;
    read_output(ctx, PIECES_EACH);
}

/* --- the end --------------------------------------------------------------------------------- */

/* The guard is dead, left running, or was never started (0); `report` is its report. */
static void tell_over(struct aside *a, pid_t guard, struct guard_report *report) {
    enum guard_over how = GUARD_ENDED;
    if (!a->has_guard)
        return;
    if (guard > 0 && a->pid > 0) {
        how = GUARD_LEFT;
    } else if (guard > 0) {
        guard_read(a->report, report);
        how = !report->is_there       ? GUARD_LOST
              : report->cgroup_killed ? GUARD_CGROUP_SPENT
                                      : GUARD_ENDED;
    }
    a->over(a->over_ctx, guard, how);
}

static void tell_end(struct aside *a, const siginfo_t *info, const struct guard_report *report) {
    struct helper_end end = {
        .code = -1, .error = a->error, .why = "", .timed_out = a->timed_out, .cut = a->cut
    };
    if (a->error != 0 && a->has_guard)
        end.why = "cannot start sluice-shim";
    if (report->error != 0) {
        end.error = report->error;
        end.why = report->message;
    } else if (info && info->si_code == CLD_EXITED)
        end.code = info->si_status;
    else if (info)
        end.signal = info->si_status;
    keep_end(a, a->output_max);
    end.output = strbuf_text(&a->output);
    end.size = a->output.length;
    helper_ended ended = a->ended;
    void *ctx = a->ctx;
    char *kept = strbuf_take(&a->output);
    if (end.size > 0)
        end.output = kept;
    aside_free(a);
    ended(ctx, &end);
    free(kept);
}

static void process_ended(void *ctx, int fd, unsigned events) {
    struct aside *a = ctx;
    siginfo_t info = { 0 };
    struct guard_report report = { 0 };
    pid_t pid = a->pid;
    (void)events;
    (void)kill(-pid, SIGKILL); /* before it is reaped: the pid cannot be reused yet */
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
    a->pid = 0;
    if (a->pipe >= 0)
        read_output(a, PIECES_REST);
    tell_over(a, pid, &report);
    tell_end(a, &info, &report);
}

static void timer_due(void *ctx) {
    struct aside *a = ctx;
    if (a->pid == 0) {
        struct guard_report report = { 0 };
        tell_over(a, 0, &report);
        tell_end(a, NULL, &report);
    } else if (a->was_asked) { /* the guard cannot kill its tree, or is prevented from doing so */
        (void)kill(-a->pid, SIGKILL);
    } else {
        a->timed_out = true;
        end_tree(a);
    }
}

void helper_stop(struct aside *a) {
    if (a->pid > 0 && !a->outlives)
        end_tree(a);
}

/* Waits for a guard that was asked to stop, with a limit because the loop is blocked meanwhile. */
static void await_guard(const struct aside *a) {
    struct pollfd gone = { .fd = a->pidfd, .events = POLLIN };
    if (poll(&gone, 1, GUARD_WAIT_MS) != 1)
        (void)kill(-a->pid, SIGKILL);
}

struct aside *helper_kill(struct aside *a) {
    siginfo_t info;
    struct guard_report report = { 0 };
    if (!a)
        return NULL;
    pid_t pid = a->pid;
    if (pid > 0 && !a->outlives) {
        end_tree(a);
        if (a->has_guard)
            await_guard(a);
        (void)waitid(P_PIDFD, (id_t)a->pidfd, &info, WEXITED);
        a->pid = 0;
    }
    tell_over(a, pid, &report);
    return aside_free(a);
}

/* --- the start ------------------------------------------------------------------------------- */

/* 0, or an errno. */
static int spawn(struct aside *a, const struct helper_spec *spec, int out) {
    static const char *const nothing[] = { NULL };
    const struct spawn order = {
        .program = spec->argv[0],
        .argv = spec->argv,
        .env = spec->env ? spec->env : nothing,
        .cwd = spec->cwd ? spec->cwd : "/",
        .fds = { SPAWN_NULL, out, spec->reads ? SPAWN_NULL : out },
        .fd_count = 3,
        .ignores_pipe =
            spec->outlives, /* its final output may have no reader; SIGPIPE must not kill it */
    };
    pid_t pid = 0;
    int error =
        spec->guard ? guard_spawn(spec, out, &a->report, &pid) : spawn_process(&order, &pid);
    a->pid = error ? 0 : pid;
    return error;
}

static int watch(struct aside *a) {
    a->pidfd = proc_open(a->pid);
    if (a->pidfd < 0)
        return -errno;
    int r = loop_watch(a->loop, a->pidfd, LOOP_READ, process_ended, a, &a->pid_watch);
    return r < 0 ? r : loop_watch(a->loop, a->pipe, LOOP_READ, output_ready, a, &a->pipe_watch);
}

static int open_pipe(struct aside *a, int *ret_out) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    a->pipe = fcntl(ends[0], F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
    *ret_out = fcntl(ends[1], F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
    int r = a->pipe < 0 || *ret_out < 0 ? -errno : 0;
    close(ends[0]);
    close(ends[1]);
    /* our end only: the two ends are separate descriptions */
    if (r == 0)
        (void)fcntl(a->pipe, F_SETFL, O_NONBLOCK);
    return r;
}

/* A program that could not be executed is reported as an end. Only our own failures are errors
 * here. */
static bool is_of_program(int error) {
    return error == ENOENT || error == EACCES || error == ENOTDIR || error == ENOEXEC
           || error == EISDIR || error == ELOOP || error == ENAMETOOLONG || error == ETXTBSY
           || error == E2BIG;
}

int helper_start(struct loop *loop, const struct helper_spec *spec, helper_ended ended, void *ctx,
                 struct aside **ret_aside, struct error *err) {
    struct aside *a = xcalloc(1, sizeof(*a));
    *a = (struct aside){ .loop = loop, .ended = ended, .ctx = ctx };
    a->pidfd = a->pipe = a->report = -1;
    if (spec->guard) {
        a->has_guard = true;
        a->guard_patience = (spec->guard->grace ? spec->guard->grace : GUARD_GRACE) + GUARD_MARGIN;
        a->over = spec->guard->over;
        a->over_ctx = spec->guard->ctx;
    }
    a->outlives = spec->outlives;
    a->reads = spec->reads;
    a->output_max = spec->output_max ? spec->output_max : OUTPUT_USUAL;
    a->timer = loop_timer_new(loop, timer_due, a);
    int out = -1;
    int r = open_pipe(a, &out);
    if (r == 0) {
        a->error = spawn(a, spec, out);
        r = is_of_program(a->error) ? 0 : -a->error;
    }
    fd_closep(&out);
    if (r == 0 && a->pid > 0)
        r = watch(a);
    if (r < 0) {
        a->outlives = false; /* the failed start is reported to the caller */
        helper_kill(a);
        return error_set(err, r, "cannot start '%s': %s", spec->argv[0], strerror(-r));
    }
    time_ms span = a->pid > 0 ? spec->timeout : 0;
    if (span > 0 || a->pid == 0)
        loop_timer_set(loop, a->timer, time_add(loop_now_steady(loop), span));
    *ret_aside = a;
    return 0;
}

/* --- helper processes of a daemon that was killed --------------------------------------------- */

/* A guard carries the mark on its command line, because its environment cannot be read. It exits by
 * itself when its daemon dies, so it is waited for. */

#define GONE_AFTER SECONDS(2) /* after SIGKILL */
#define SWEEP_MAX  256        /* processes waited for */

void helper_mark(const char *home, struct strbuf *out) {
    strbuf_printf(out, MARK "%s", home);
}

static bool is_guard(void *mark, pid_t pid) {
    return proc_has_text(pid, "cmdline", mark, "sluice-shim");
}

static bool is_command(void *mark, pid_t pid) {
    return proc_has_text(pid, "environ", mark, NULL);
}

/* A new git command must not run beside an old one. */
static void await_all(const struct proc_swept *swept, time_ms patience, int signal) {
    time_ms deadline = clock_read_steady() + patience;
    for (unsigned i = 0; i < swept->count; i++) {
        struct pollfd gone = { .fd = swept->fds[i], .events = POLLIN };
        time_ms left = deadline - clock_read_steady();
        if (poll(&gone, 1, left > 0 ? (int)left : 0) != 1 && signal != 0)
            (void)proc_signal(swept->fds[i], signal);
    }
}

static unsigned sweep_marked(bool (*wanted)(void *ctx, pid_t pid), struct strbuf *mark,
                             int signal) {
    int fds[SWEEP_MAX];
    struct proc_swept swept = { .fds = fds, .max = SWEEP_MAX };
    unsigned count = proc_sweep(wanted, mark->text, signal, &swept);
    for (unsigned i = 0; i < swept.count; i++)
        (void)proc_signal(fds[i], SIGCONT); /* a stopped process would receive it too late */
    if (signal != SIGKILL)                  /* a guard has its grace period before it is killed */
        await_all(&swept, GUARD_GRACE + GUARD_MARGIN, SIGKILL);
    await_all(&swept, GONE_AFTER, 0);
    for (unsigned i = 0; i < swept.count; i++)
        close(fds[i]);
    return count;
}

unsigned helper_sweep(const char *home) {
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    helper_mark(home, &mark);
    /* Guards are asked to stop, so that their commands can remove their locks. Commands that remain
     * have no guard, or their guard was killed. */
    unsigned guards = sweep_marked(is_guard, &mark, SIGTERM);
    return guards + sweep_marked(is_command, &mark, SIGKILL);
}
