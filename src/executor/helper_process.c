/* helper_process.c: short child processes of the daemon, run outside the loop.
 *
 * Each helper leads its own process group, so a timeout also reaches its children. A pidfd reports
 * its exit. The group is killed before the leader is reaped: until then the pid cannot be reused,
 * and leftover children must not write into a repository that the next command uses. A guard ends
 * its own tree, starting with SIGTERM; it is killed only if it does not exit after it was asked
 * to. */
#include "executor/helper_process.h"

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
#include "rundir/record.h"
#include "rundir/rundir.h"

#define LOW_DESCRIPTORS   10 /* keep 0-9 free for the command */
#define MARK_VARIABLE     "SLUICE_ASIDE="
#define HELPER_KILL_DELAY SECONDS(3) /* default of struct helper_guard.grace */
#define GUARD_MARGIN      SECONDS(5) /* after the grace period, before the guard itself is killed */

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
        if (strncmp(*pair, MARK_VARIABLE, strlen(MARK_VARIABLE)) == 0)
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
    full.grace = spec->guard->grace ? spec->guard->grace : HELPER_KILL_DELAY;
    full.stop_signal = SIGTERM;
    full.log_head = full.log_tail = 0;
    run_spec_format(&full, out);
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
    return *ret_file < 0 ? errno : -fd_write_all(*ret_file, text.text, text.length);
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

/* --- output ----------------------------------------------------------------------------------- */

#define OUTPUT_USUAL (64u << 10)
#define PIECES_EACH  8
/* more than a pipe holds; a process that left the group may still write */
#define PIECES_REST 256

struct helper_process {
    struct loop *loop;
    helper_ended ended;
    void *ctx;
    pid_t pid; /* 0: it could not be started */
    int error;
    int pidfd, pipe;
    struct loop_watch *pid_watch, *pipe_watch;
    struct loop_timer *timer;
    bool timed_out, outlives, reads, cut;
    bool has_guard, is_stopping; /* is_stopping: the guard was asked to kill its tree */
    time_ms guard_patience;      /* how long the guard may take to exit */
    int report;                  /* memory file of the guard; -1: none */
    void (*over)(void *ctx, pid_t guard, enum guard_over how);
    void *over_ctx;
    size_t output_max;
    struct strbuf output;
};

/* Calls no callback. */
static struct helper_process *helper_free(struct helper_process *h) {
    loop_unwatch(h->loop, h->pid_watch);
    loop_unwatch(h->loop, h->pipe_watch);
    loop_timer_free(h->loop, h->timer);
    fd_closep(&h->pidfd);
    fd_closep(&h->pipe);
    fd_closep(&h->report);
    strbuf_finish(&h->output);
    free(h);
    return NULL;
}

/* A guard sends SIGTERM to its command, SIGKILL to its tree after the grace period, then exits. It
 * is asked only once: its timer is running afterwards. */
static void end_tree(struct helper_process *h) {
    if (!h->has_guard) {
        (void)kill(-h->pid, SIGKILL);
    } else if (!h->is_stopping) {
        h->is_stopping = true;
        (void)kill(h->pid, SIGTERM);
        (void)kill(h->pid, SIGCONT); /* a descendant may have stopped it */
        loop_timer_set(h->loop, h->timer, time_add(loop_now_steady(h->loop), h->guard_patience));
    }
}

/* Keeps only the tail; compacts the buffer when it holds twice the maximum. */
static void keep_tail(struct helper_process *h, size_t most) {
    if (h->output.length <= most || h->reads)
        return;
    size_t over = h->output.length - h->output_max;
    memmove(h->output.text, h->output.text + over, h->output_max + 1);
    h->output.length = h->output_max;
}

/* Only the head is wanted, and it is complete. */
static void cut_at_maximum(struct helper_process *h) {
    if (!h->reads || h->cut || h->output.length <= h->output_max)
        return;
    h->cut = true;
    h->output.length = h->output_max;
    h->output.text[h->output_max] = '\0';
    if (h->pid > 0)
        end_tree(h);
}

/* Reads at most `pieces` chunks, so that one helper cannot starve the loop. */
static void read_output(struct helper_process *h, unsigned pieces) {
    char bytes[8192];
    ssize_t got = 1;
    while (pieces-- > 0 && (got = read(h->pipe, bytes, sizeof(bytes))) > 0) {
        if (h->cut)
            continue;
        strbuf_add(&h->output, bytes, (size_t)got);
        keep_tail(h, 2 * h->output_max);
        cut_at_maximum(h);
    }
    if (got == 0) {
        loop_unwatch(h->loop, TAKE_PTR(h->pipe_watch));
        fd_closep(&h->pipe);
        h->pipe = -1;
    }
}

static void output_ready(void *ctx, int fd, unsigned events) {
    (void)fd;
    (void)events;
    read_output(ctx, PIECES_EACH);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The guard is dead, left running, or was never started (0); `report` is its report. */
static void report_guard_over(struct helper_process *h, pid_t guard, struct guard_report *report) {
    enum guard_over how = GUARD_ENDED;
    if (!h->has_guard)
        return;
    if (guard > 0 && h->pid > 0) {
        how = GUARD_LEFT;
    } else if (guard > 0) {
        guard_read(h->report, report);
        how = !report->is_there       ? GUARD_LOST
              : report->cgroup_killed ? GUARD_CGROUP_SPENT
                                      : GUARD_ENDED;
    }
    if (h->over)
        h->over(h->over_ctx, guard, how);
}

static void report_end(struct helper_process *h, const siginfo_t *info,
                       const struct guard_report *report) {
    struct helper_end end = {
        .code = -1, .error = h->error, .why = "", .timed_out = h->timed_out, .cut = h->cut
    };
    if (h->error != 0 && h->has_guard)
        end.why = "cannot start sluice-shim";
    if (report->error != 0) {
        end.error = report->error;
        end.why = report->message;
    } else if (info && info->si_code == CLD_EXITED)
        end.code = info->si_status;
    else if (info)
        end.signal = info->si_status;
    keep_tail(h, h->output_max);
    end.size = h->output.length;
    _cleanup_(freep) char *output = strbuf_take(&h->output);
    end.output = output;
    helper_ended ended = h->ended;
    void *ctx = h->ctx;
    helper_free(h);
    ended(ctx, &end);
}

static void process_ended(void *ctx, int fd, unsigned events) {
    struct helper_process *h = ctx;
    siginfo_t info = { 0 };
    struct guard_report report = { 0 };
    pid_t pid = h->pid;
    (void)events;
    (void)kill(-pid, SIGKILL); /* before it is reaped: the pid cannot be reused yet */
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
    h->pid = 0;
    if (h->pipe >= 0)
        read_output(h, PIECES_REST);
    report_guard_over(h, pid, &report);
    report_end(h, &info, &report);
}

static void timer_due(void *ctx) {
    struct helper_process *h = ctx;
    if (h->pid == 0) {
        struct guard_report report = { 0 };
        report_guard_over(h, 0, &report);
        report_end(h, NULL, &report);
    } else if (h->is_stopping) { /* the guard cannot kill its tree, or is prevented from doing so */
        (void)kill(-h->pid, SIGKILL);
    } else {
        h->timed_out = true;
        end_tree(h);
    }
}

void helper_stop(struct helper_process *h) {
    if (h->pid > 0 && !h->outlives)
        end_tree(h);
}

#define GUARD_WAIT_MS 5000 /* for a guard that was asked to stop, while the loop is blocked */

struct helper_process *helper_kill(struct helper_process *h) {
    siginfo_t info;
    struct guard_report report = { 0 };
    if (!h)
        return NULL;
    pid_t pid = h->pid;
    if (pid > 0 && !h->outlives) {
        struct pollfd exited = { .fd = h->pidfd, .events = POLLIN };
        end_tree(h);
        if (h->has_guard && poll(&exited, 1, GUARD_WAIT_MS) != 1)
            (void)kill(-pid, SIGKILL);
        (void)waitid(P_PIDFD, (id_t)h->pidfd, &info, WEXITED);
        h->pid = 0;
    }
    report_guard_over(h, pid, &report);
    return helper_free(h);
}

/* --- the start -------------------------------------------------------------------------------- */

/* A pipe that holds the input already. Returns 0 or an errno. */
static int open_input(const struct helper_spec *spec, int *ret_in) {
    int ends[2];
    size_t size = strlen(spec->input);
    if (size > HELPER_INPUT_MAX)
        return E2BIG;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return errno;
    int r = fd_write_all(ends[1], spec->input, size);
    *ret_in = r < 0 ? -1 : fcntl(ends[0], F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
    int error = r < 0 ? -r : *ret_in < 0 ? errno : 0;
    if (*ret_in >= 0) /* for all who have it open; the writer is closed */
        (void)fcntl(*ret_in, F_SETFL, 0);
    fd_closep(&ends[0]);
    fd_closep(&ends[1]);
    return error;
}

/* 0, or an errno. */
static int spawn(struct helper_process *h, const struct helper_spec *spec, int out) {
    static const char *const nothing[] = { NULL };
    _cleanup_(fd_closep) int in = -1;
    int error = spec->input ? open_input(spec, &in) : 0;
    if (error)
        return error;
    const struct spawn order = {
        .program = spec->argv[0],
        .argv = spec->argv,
        .env = spec->env ? spec->env : nothing,
        .cwd = spec->cwd ? spec->cwd : "/",
        .fds = { in >= 0 ? in : SPAWN_NULL, out, spec->reads ? SPAWN_NULL : out },
        .fd_count = 3,
        .ignores_pipe =
            spec->outlives, /* its final output may have no reader; SIGPIPE must not kill it */
    };
    pid_t pid = 0;
    error = spec->guard ? guard_spawn(spec, out, &h->report, &pid) : spawn_process(&order, &pid);
    h->pid = error ? 0 : pid;
    return error;
}

static int watch(struct helper_process *h) {
    h->pidfd = proc_open(h->pid);
    if (h->pidfd < 0)
        return -errno;
    int r = loop_watch(h->loop, h->pidfd, LOOP_READ, process_ended, h, &h->pid_watch);
    return r < 0 ? r : loop_watch(h->loop, h->pipe, LOOP_READ, output_ready, h, &h->pipe_watch);
}

static int open_pipe(struct helper_process *h, int *ret_out) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    h->pipe = fcntl(ends[0], F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
    *ret_out = fcntl(ends[1], F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
    int r = h->pipe < 0 || *ret_out < 0 ? -errno : 0;
    close(ends[0]);
    close(ends[1]);
    /* our end only: the two ends are separate descriptions */
    if (r == 0)
        (void)fcntl(h->pipe, F_SETFL, O_NONBLOCK);
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
                 struct helper_process **ret_helper, struct error *err) {
    struct helper_process *h = xcalloc(1, sizeof(*h));
    *h = (struct helper_process){ .loop = loop, .ended = ended, .ctx = ctx };
    h->pidfd = h->pipe = h->report = -1;
    if (spec->guard) {
        h->has_guard = true;
        h->guard_patience =
            (spec->guard->grace ? spec->guard->grace : HELPER_KILL_DELAY) + GUARD_MARGIN;
        h->over = spec->guard->over;
        h->over_ctx = spec->guard->ctx;
    }
    h->outlives = spec->outlives;
    h->reads = spec->reads;
    h->output_max = spec->output_max ? spec->output_max : OUTPUT_USUAL;
    h->timer = loop_timer_new(loop, timer_due, h);
    int out = -1;
    int r = open_pipe(h, &out);
    if (r == 0) {
        h->error = spawn(h, spec, out);
        r = is_of_program(h->error) ? 0 : -h->error;
    }
    fd_closep(&out);
    if (r == 0 && h->pid > 0)
        r = watch(h);
    if (r < 0) {
        h->outlives = false; /* the failed start is reported to the caller */
        helper_kill(h);
        return error_set(err, r, "cannot start '%s': %s", spec->argv[0], strerror(-r));
    }
    time_ms span = h->pid > 0 ? spec->timeout : 0;
    if (span > 0 || h->pid == 0)
        loop_timer_set(loop, h->timer, time_add(loop_now_steady(loop), span));
    *ret_helper = h;
    return 0;
}

/* --- helper processes of a daemon that was killed --------------------------------------------- */

/* A guard carries the mark on its command line, because its environment cannot be read. It exits by
 * itself when its daemon dies, so it is waited for. */

#define KILL_PATIENCE SECONDS(2) /* after SIGKILL */
#define SWEEP_MAX     256        /* processes waited for */

void helper_mark(const char *home, struct strbuf *out) {
    strbuf_printf(out, MARK_VARIABLE "%s", home);
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
        struct pollfd exited = { .fd = swept->fds[i], .events = POLLIN };
        time_ms left = deadline - clock_read_steady();
        if (poll(&exited, 1, left > 0 ? (int)left : 0) != 1 && signal != 0)
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
        await_all(&swept, HELPER_KILL_DELAY + GUARD_MARGIN, SIGKILL);
    await_all(&swept, KILL_PATIENCE, 0);
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

/* --- trial of a sandbox ----------------------------------------------------------------------- */

#define TRIAL_OUTPUT_MAX 4096

struct trial {
    struct loop *loop;
    bool passed;
    struct error err;
};

/* Folds the output into one line. */
static void explain_failure(struct trial *t, const char *words) {
    char text[200];
    size_t used = 0;
    for (; *words && used + 1 < sizeof(text); words++) {
        if (*words == '\n' && words[1] == '\0')
            break;
        text[used++] = *words == '\n' ? ' ' : *words >= ' ' && *words <= '~' ? *words : '?';
    }
    text[used] = '\0';
    (void)error_set(&t->err, -EOPNOTSUPP, "%s",
                    used > 0 ? text : "its trial failed without a word");
}

/* The output of the sandbox program explains more than the failure itself. */
static void trial_ended(void *ctx, const struct helper_end *end) {
    struct trial *t = ctx;
    t->passed = end->code == 0;
    if (end->timed_out)
        (void)error_set(&t->err, -ETIMEDOUT, "its trial took too long");
    else if (!t->passed)
        explain_failure(t, end->size > 0 ? end->output : end->why);
    loop_stop(t->loop);
}

int sandbox_trial(const char *shim_path, const struct run_spec *spec, struct error *err) {
    const struct helper_guard guard = {
        .shim = shim_path, .spec = spec, .cgroup = -1, .daemon = -1
    };
    const struct helper_spec command = { .argv = spec->command.argv,
                                         .cwd = spec->cwd,
                                         .env = spec->env,
                                         .timeout = spec->command.timeout,
                                         .output_max = TRIAL_OUTPUT_MAX,
                                         .guard = &guard };
    struct trial t = { 0 };
    struct helper_process *helper = NULL;
    int r = loop_new(&t.loop, err);
    if (r == 0)
        r = helper_start(t.loop, &command, trial_ended, &t, &helper, err);
    if (r == 0)
        r = loop_run(t.loop, err);
    t.loop = loop_free(t.loop);
    if (r == 0 && !t.passed)
        r = error_set(err, t.err.code, "%s", t.err.text);
    return r;
}
