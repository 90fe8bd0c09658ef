/* local.c: the executor for runs on this host, each a child process of its shim.
 *
 * A start is a directory, a locked file and a request to the spawner. Once the shim holds the lock,
 * the daemon may die: the run continues, and the next daemon adopts it. One pipe carries the
 * messages of all shims; a pidfd for each reports its exit.
 *
 *   processes that outlive their shim, cgroups of helper processes, messages from shims,
 *   the end of a run, adopting, sweep, start and stop, features, life of the executor,
 *   which processes belong to runs */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/strbuf.h"
#include "executor/cgroup.h"
#include "executor/executor_internal.h"
#include "executor/spare.h"
#include "executor/spawner.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/outside.h"
#include "os/proc.h"
#include "rundir/remove.h"

enum local_state {
    LOCAL_WATCHED,  /* its shim has a pidfd */
    LOCAL_HIDDEN,   /* an unidentified process holds the lock */
    LOCAL_OVER,     /* `end` is known and reported in the next round */
    LOCAL_DYING,    /* the shim is dead; its leftovers are being killed */
    LOCAL_SPAWNING, /* its shim was requested, and may already run */
    LOCAL_LEAVING,  /* its end was reported; the shim waits until that is stored */
};

struct local_run {
    struct executor_run base; /* first */
    struct local *ex;
    uint32_t generation;
    enum local_state state;
    pid_t shim;
    uint64_t shim_start; /* 0: only its pid is known */
    bool is_stored;      /* both come from the store: the lock file is not read */
    struct tag_key tag_bytes;
    const struct tag_key *tag_key; /* key of the tags on the shim's records; or NULL */
    int pidfd;
    struct loop_watch *watch;
    struct cgroup_slot *slot; /* from our pool */
    char *old_cgroup;         /* of an earlier daemon; or NULL */
    struct strbuf early;      /* messages of its shim before we knew that it runs */
    bool stop_asked;          /* before the shim was known */
    enum stop_how stop_how;
    struct run_started who; /* adopted runs only */
    int lock_watch;         /* inotify on its lock file; -1: none */
    time_ms give_up_at;     /* LOCAL_DYING: steady clock; 0: not set */
    struct local_run *next; /* in ex->pending or ex->leaving */
};

struct local {
    struct executor base;  /* first */
    uint64_t pid_space;    /* number of our pid namespace */
    char *root_given;      /* path of the root as runs see it */
    int pipe_in, pipe_out; /* from the shims to us */
    struct loop_watch *pipe_watch;
    char line[2 * RUN_RECORD_MAX]; /* incomplete line from the pipe */
    size_t line_length;

    uint32_t generation;

    struct local_run *pending; /* LOCAL_HIDDEN, LOCAL_OVER, LOCAL_DYING */
    struct loop_timer *pending_timer;
    struct local_run *leaving; /* LOCAL_LEAVING; not in the table any more */
    bool stores_ends;
    time_ms pending_delay; /* until they are examined again; grows while nothing happens */
    int inotify;           /* on lock files of adopted runs; -1: not open */
    struct loop_watch *inotify_watch;
    struct cgroup_pool *cgroups;
    struct spare *spare;
    struct spawner *spawner;
};

static inline struct local *local_of(struct executor *ex) {
    return (struct local *)ex;
}

static inline struct local_run *run_at(const struct local *ex, size_t index) {
    return run_table_at(&ex->base.runs, index);
}

static void signal_shim(struct local_run *run, enum stop_how how);
static void set_pending(struct local_run *run, enum local_state state);
static void identify_shim(struct local_run *run);

/* --- the table of runs ----------------------------------------------------------------------- */

static struct local_run *local_run_new(struct local *ex, struct run_key key, const char *folder) {
    struct local_run *run = xcalloc(1, sizeof(*run));
    run->ex = ex;
    run->pidfd = run->lock_watch = -1;
    run->generation = ++ex->generation;
    executor_run_init(&run->base, &ex->base, key, folder);
    return run;
}

static void set_tag_key(struct local_run *run, const struct tag_key *key) {
    if (!key)
        return;
    run->tag_bytes = *key;
    run->tag_key = &run->tag_bytes;
}

static void unlink_run(struct local_run **list, const struct local_run *run) {
    while (*list && *list != run)
        list = &(*list)->next;
    if (*list)
        *list = run->next;
}

static void local_run_free(struct executor_run *base) {
    struct local_run *run = (struct local_run *)base;
    struct local *ex = run->ex;
    unlink_run(run->state == LOCAL_LEAVING ? &ex->leaving : &ex->pending, run);
    if (run->lock_watch >= 0)
        (void)inotify_rm_watch(ex->inotify, run->lock_watch);
    loop_unwatch(ex->base.loop, run->watch);
    fd_closep(&run->pidfd);
    free(run->old_cgroup);
    strbuf_finish(&run->early);
    explicit_bzero(&run->tag_bytes, sizeof(run->tag_bytes));
    executor_run_finish(base);
}

/* --- processes that outlive their shim -------------------------------------------------------- */

/* A shim kills its process tree before it records an end. A shim that was killed has not done so:
 * its command dies with it (parent death signal), but not the descendants of the command. Before
 * the run is reported as lost, and perhaps started again in the same directory, its cgroup is
 * killed, then the shim's session, then every process with the run's TMPDIR. The cgroup may be
 * empty because there was none or the command could not join it.
 *
 * A session id is not reused as a pid while a process is in the session. So if no process has it as
 * its pid, all processes of that session belong to the old one. */

#define GIVE_UP SECONDS(30)

static bool is_marked(void *variable, pid_t pid) {
    return !proc_has_ended(pid) && proc_has_text(pid, "environ", variable, NULL);
}

static bool is_in_session(void *leader, pid_t pid) {
    struct proc_stat stat;
    return proc_read("/proc", pid, &stat) == 0 && stat.state != 'Z'
           && stat.session == *(pid_t *)leader;
}

/* SIGKILL for all processes in the session of a dead leader. Returns their number; 0 also if the
 * leader is alive: then the pid was reused. */
static unsigned kill_session(pid_t leader) {
    bool is_dead = leader > 1 && proc_has_ended(leader);
    return is_dead ? proc_sweep(is_in_session, &leader, SIGKILL, NULL) : 0;
}

static bool kill_once(const struct local_run *run) {
    const char *cgroup = run->slot ? run->slot->path : run->old_cgroup;
    /* If an earlier daemon saw the end, the slot was given to another run. */
    if (cgroup && !run->slot && run->base.has_end && cgroup_is_held(cgroup))
        return true;
    if (cgroup && cgroup_is_populated(cgroup)) {
        cgroup_kill(cgroup);
        if (run->slot)
            run->slot->spoiled = true;
        return false; /* they need time to exit */
    }
    if (run->base.has_end)
        return true;
    _cleanup_(freep) char *mark =
        xasprintf("TMPDIR=%s/%s/tmp", run->ex->root_given, run->base.folder);
    return kill_session(run->shim) + proc_sweep(is_marked, mark, SIGKILL, NULL) == 0;
}

/* Kills what a dead shim left. true: nothing is left. */
static bool kill_leftovers(struct local_run *run) {
    if (kill_once(run))
        return true;
    time_ms now = loop_now_steady(run->ex->base.loop);
    if (run->give_up_at == 0)
        run->give_up_at = now + GIVE_UP;
    if (now < run->give_up_at)
        return false;
    size_t used = strlen(run->base.end.message);
    (void)snprintf(run->base.end.message + used, sizeof(run->base.end.message) - used,
                   "; some of its processes cannot be killed");
    return true;
}

/* --- cgroups of helper processes -------------------------------------------------------------- */

/* From the pool of the runs: the kernel enforces the limits, the process tree is killed together,
 * and its processes are recognized as a run by the cgroup even after the guard was killed. */

static struct cgroup_slot *local_slot_take(struct executor *base, bool limited,
                                           struct executor_slot *ret_slot) {
    struct cgroup_slot *slot = cgroup_take(local_of(base)->cgroups);
    if (!slot)
        return NULL;
    slot->spoiled = limited;
    *ret_slot = (struct executor_slot){ .path = slot->path,
                                        .folder = cgroup_hold(slot),
                                        .daemon = local_of(base)->pipe_out };
    return slot;
}

static void local_slot_give_back(struct executor *base, struct cgroup_slot *slot, pid_t guard,
                                 enum guard_over how) {
    if (how == GUARD_LOST) {
        if (slot && cgroup_is_populated(slot->path))
            cgroup_kill(slot->path);
        (void)kill_session(guard);
    }
    if (how == GUARD_LEFT) { /* still in use; the next daemon removes it */
        cgroup_leave(local_of(base)->cgroups, slot);
        return;
    }
    if (slot && how != GUARD_ENDED)
        slot->spoiled = true;
    cgroup_give_back(local_of(base)->cgroups, slot);
}

/* --- messages from shims ---------------------------------------------------------------------- */

/* A line is written atomically and carries the run's handle, which is never reused. It is a hint
 * that may be lost when the pipe is full: the run's directory is authoritative, and the end is the
 * exit of the shim, seen through its pidfd. */

#define PIPE_BYTES    (1 << 20)
#define PENDING_FIRST 1 /* ms */
#define PENDING_MAX   250

static struct local_run *find_by_handle(const struct local *ex, const char *text) {
    char *end;
    unsigned long index = strtoul(text, &end, 10);
    struct local_run *run = index > 0 && index < ex->base.runs.count ? run_at(ex, index) : NULL;
    if (*end != '.' || !run)
        return NULL;
    unsigned long generation = strtoul(end + 1, &end, 10);
    return *end == '\0' && run->generation == generation ? run : NULL;
}

/* The shim could not write its end to disk, and waits until the daemon has received it. */
static void accept_end(struct local_run *run, const char *text) {
    struct run_end end;
    if (run->state != LOCAL_WATCHED
        || run_end_parse(text, strlen(text), run->tag_key, &end, NULL) < 0)
        return;
    run->base.end = end;
    run->base.has_end = true;
    signal_shim(run, STOP_IMMEDIATELY);
}

/* The run is over and its processes are dead; its shim waits until the end is stored, and records it
 * in a file if that does not happen. If a process is left in the cgroup, the end is read when the
 * shim has exited. */
static void accept_offer(struct local_run *run, const char *text) {
    struct run_end end;
    if (run->state != LOCAL_WATCHED
        || run_end_parse(text, strlen(text), run->tag_key, &end, NULL) < 0
        || (run->slot && cgroup_is_populated(run->slot->path)))
        return;
    if (run->slot)
        run->slot->is_empty = true; /* its shim, which starts nothing any more, is not in it */
    run->base.end = end;
    run->base.has_end = true;
    run->state = LOCAL_LEAVING;
    run->next = run->ex->leaving;
    run->ex->leaving = run;
    executor_report_end_early(&run->base);
}

static void handle_message(struct local_run *run, char *what) {
    char *rest = strchr(what, ' ');
    if (rest)
        *rest++ = '\0';
    int64_t at = 0;
    if (strcmp(what, "started") == 0 && rest && number_parse_int(rest, &at, NULL) == 0)
        executor_report_started(&run->base, at);
    else if (strcmp(what, "validating") == 0)
        executor_report_validating(&run->base);
    else if (strcmp(what, "end") == 0 && rest)
        accept_end(run, rest);
    else if (strcmp(what, "over") == 0 && rest)
        accept_offer(run, rest);
}

static void handle_line(const struct local *ex, char *line) {
    char *what = strchr(line, ' ');
    if (!what)
        return;
    *what++ = '\0';
    struct local_run *run = find_by_handle(ex, line);
    /* the shim's identity goes into the store with `started` */
    if (run && run->state == LOCAL_SPAWNING)
        strbuf_printf(&run->early, "%s\n", what);
    else if (run)
        handle_message(run, what);
}

/* Called once the shim is known. */
static void handle_early_messages(struct local_run *run) {
    char *text = strbuf_take(&run->early);
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        handle_message(run, line);
    }
    free(text);
}

static void drain_pipe(void *ctx, int fd, unsigned events) {
    struct local *ex = ctx;
    (void)events;
    for (;;) {
        size_t room = sizeof(ex->line) - ex->line_length;
        ssize_t got = read(fd, ex->line + ex->line_length, room);
        if (got <= 0)
            return;
        size_t size = ex->line_length + (size_t)got, begin = 0;
        for (size_t i = ex->line_length; i < size; i++) {
            if (ex->line[i] != '\n')
                continue;
            ex->line[i] = '\0';
            handle_line(ex, ex->line + begin);
            begin = i + 1;
        }
        ex->line_length = size - begin;
        memmove(ex->line, ex->line + begin, ex->line_length);
        if (ex->line_length == sizeof(ex->line))
            ex->line_length = 0; /* longer than any line of a shim */
        if ((size_t)got < room)
            return;
    }
}

static int open_shim_pipe(struct local *ex, struct error *err) {
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
    int r = loop_watch(ex->base.loop, ex->pipe_in, LOOP_READ, drain_pipe, ex, &ex->pipe_watch);
    return r < 0 ? error_set(err, r, "cannot watch a pipe: %s", strerror(-r)) : 0;
}

/* --- the end of a run ------------------------------------------------------------------------- */

static void release_cgroup(struct local_run *run) {
    if (run->slot
        && (run->base.end.kind == RUN_END_LOST || strstr(run->base.end.applied, "cgroup.kill")))
        run->slot->spoiled = true;
    cgroup_give_back(run->ex->cgroups, TAKE_PTR(run->slot));
    if (run->old_cgroup)
        cgroup_remove(run->old_cgroup);
}

static void report_end(struct local_run *run) {
    release_cgroup(run);
    executor_report_end(&run->base);
}

static void conclude_lost(struct local_run *run, const char *why) {
    run->base.end = (struct run_end){ .kind = RUN_END_LOST, .code = -1 };
    run->base.end.ended_at = loop_now(run->ex->base.loop);
    run->base.has_end = false;
    (void)snprintf(run->base.end.message, sizeof(run->base.end.message), "%.255s", why);
}

/* Concludes a run whose shim is dead: `end` was read or is derived. */
static void conclude(struct local_run *run) {
    struct local *ex = run->ex;
    struct error err = { 0 };
    _cleanup_(fd_closep) int dir = -1;
    if (run->base.has_end)
        return;
    int r = rundir_open_at(ex->base.root, run->base.folder, &dir, &err);
    if (r >= 0)
        r = rundir_read_end_at(dir, run->tag_key, &run->base.end, &err);
    run->base.has_end = r >= 0;
    if (r >= 0)
        spare_keep_tmp(ex->spare, dir);
    else
        conclude_lost(run, r == -ENOENT ? "its shim is gone and has recorded no end" : err.text);
}

/* The shim of a run whose end was reported has exited. If it was killed, it may not have emptied
 * tmp/. */
static void shim_left(struct local_run *run, bool was_killed) {
    _cleanup_(fd_closep) int dir = -1;
    if (!was_killed && rundir_open_at(run->ex->base.root, run->base.folder, &dir, NULL) >= 0)
        spare_keep_tmp(run->ex->spare, dir);
    release_cgroup(run);
    local_run_free(&run->base);
}

/* A shim does not die by a signal unless it was killed. Then its directory proves nothing: the run
 * can write there, and may have killed the shim. 0: it exited, or it is not our child. */
static int signal_of_end(int pidfd) {
    siginfo_t info = { 0 };
    if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
        return 0; /* init reaps it */
    return info.si_code == CLD_EXITED ? 0 : info.si_status;
}

static void shim_ended(void *ctx, int fd, unsigned events) {
    struct local_run *run = ctx;
    (void)events;
    if (run->state != LOCAL_LEAVING)
        drain_pipe(run->ex, run->ex->pipe_in, 0); /* process its messages before its end */
    int signal = signal_of_end(fd);
    loop_unwatch(run->ex->base.loop, TAKE_PTR(run->watch));
    close(run->pidfd);
    run->pidfd = -1;
    if (run->state == LOCAL_LEAVING) {
        shim_left(run, signal != 0);
        return;
    }
    if (signal) {
        struct error why = { 0 };
        (void)error_set(&why, -ESRCH, "its shim was ended by signal %d", signal);
        conclude_lost(run, why.text);
    } else
        conclude(run);
    if (kill_leftovers(run))
        report_end(run);
    else
        set_pending(run, LOCAL_DYING);
}

/* Takes ownership of `pidfd`. */
static int watch_shim(struct local_run *run, int pidfd, struct error *err) {
    run->pidfd = pidfd;
    int r = loop_watch(run->ex->base.loop, pidfd, LOOP_READ, shim_ended, run, &run->watch);
    if (r < 0) {
        close(pidfd);
        run->pidfd = -1;
        return error_set(err, r, "cannot watch a shim: %s", strerror(-r));
    }
    run->state = LOCAL_WATCHED;
    if (run->stop_asked)
        signal_shim(run, run->stop_how);
    return 0;
}

/* Requests a stop. The shim applies the grace period of the spec (src/shim/watch.c). */
static void signal_shim(struct local_run *run, enum stop_how how) {
    if (run->pidfd < 0) { /* sent once the shim is known */
        run->stop_how =
            run->stop_asked && run->stop_how == STOP_IMMEDIATELY ? STOP_IMMEDIATELY : how;
        run->stop_asked = true;
        return;
    }
    (void)proc_signal(run->pidfd, how == STOP_IMMEDIATELY ? SIGUSR1 : SIGTERM);
}

/* Runs that no pidfd reports: examined in the next round, and then every few milliseconds. */
static void set_pending(struct local_run *run, enum local_state state) {
    struct local *ex = run->ex;
    run->state = state;
    run->next = ex->pending;
    ex->pending = run;
    ex->pending_delay = PENDING_FIRST;
    loop_timer_set(ex->base.loop, ex->pending_timer, loop_now_steady(ex->base.loop));
}

static void examine_pending(struct local_run *run) {
    if (run->state == LOCAL_HIDDEN)
        identify_shim(run);
    if (run->state == LOCAL_OVER || (run->state == LOCAL_DYING && kill_leftovers(run)))
        report_end(run);
    else if (run->state != LOCAL_WATCHED) {
        run->next = run->ex->pending;
        run->ex->pending = run;
    }
}

static void pending_due(void *ctx) {
    struct local *ex = ctx;
    struct local_run *runs = TAKE_PTR(ex->pending);
    time_ms delay = ex->pending_delay;
    ex->pending_delay = time_min(2 * delay, PENDING_MAX);
    while (runs) {
        struct local_run *run = runs;
        runs = run->next;
        run->next = NULL;
        examine_pending(run);
    }
    if (ex->pending)
        loop_timer_set(ex->base.loop, ex->pending_timer, loop_now_steady(ex->base.loop) + delay);
}

/* --- adopting runs of an earlier daemon ------------------------------------------------------- */

/* The store has the pid and the start time of each shim that was seen. They decide, regardless of
 * the directory, which the run can write. Without them the directory decides.
 *
 * The lock is examined before the end: a shim records its end before it releases the lock, so a
 * free lock without an end means lost. In the other order, a run that ends in between would be
 * reported as lost. If a shim cannot be examined, its run is not considered dead: it is examined
 * again. */

static void lock_file_written(void *ctx, const struct inotify_event *event) {
    struct local *ex = ctx;
    for (size_t i = 1; i < ex->base.runs.count; i++) {
        struct local_run *run = run_at(ex, i);
        struct run_started who;
        if (!run || run->lock_watch != event->wd
            || rundir_read_started(ex->base.root_path, run->base.folder, run->tag_key, &who, NULL)
                   < 0)
            continue;
        executor_report_progress(&run->base, &who);
        break;
    }
}

static void lock_files_ready(void *ctx, int fd, unsigned events) {
    (void)events;
    inotify_read(fd, lock_file_written, ctx);
}

/* An adopted shim has no pipe to us; its messages are also in its lock file. */
static void watch_lock(struct local_run *run) {
    struct local *ex = run->ex;
    if (ex->inotify < 0)
        ex->inotify = inotify_open(ex->base.loop, lock_files_ready, ex, &ex->inotify_watch);
    if (ex->inotify < 0)
        return;
    _cleanup_(freep) char *path = xasprintf("%s/%s/lock", ex->base.root_path, run->base.folder);
    run->lock_watch = inotify_add_watch(ex->inotify, path, IN_MODIFY);
}

/* The cgroup of its spec, if a daemon of this root created it: without a key the command itself
 * could have changed the file, and every process in that cgroup may be killed. */
static char *read_cgroup(const struct local *ex, int dir, const struct tag_key *key) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (rundir_read_spec_at(dir, key, &read, NULL) < 0 || !read->spec.cgroup
        || !cgroup_is_ours(ex->cgroups, read->spec.cgroup))
        return NULL;
    return xstrdup(read->spec.cgroup);
}

static void set_over(struct local_run *run, bool same_boot) {
    conclude(run);
    run->state = same_boot ? LOCAL_DYING : LOCAL_OVER;
}

static void set_shim(struct local_run *run, pid_t shim) {
    if (run->shim != shim)
        run->ex->base.origin_epoch++;
    run->shim = shim;
}

/* Opens the process with the stored pid and start time. 0; -ESRCH: it has ended; -EACCES: /proc
 * does not show it. */
static int open_stored(const struct local_run *run, int *ret_pidfd) {
    struct proc_stat process = { 0 };
    int pidfd = proc_open(run->shim);
    if (pidfd < 0)
        return errno == ESRCH ? -ESRCH : -EACCES;
    int r = proc_read("/proc", run->shim, &process);
    if (r == 0 && process.start == run->shim_start) {
        *ret_pidfd = pidfd;
        return 0;
    }
    close(pidfd);
    return r == 0 ? -ESRCH : -EACCES;
}

/* Is the process named in the lock file the one that wrote it? If the lock is still held after the
 * pidfd was opened, the shim was alive the entire time, so its pid was not reused. But the command
 * can also write the file and hold the lock, and the named process may be killed: so its process
 * name must be that of a shim of this run. */
static int open_shim(const struct local_run *run, int dir) {
    int pidfd = proc_open(run->who.shim);
    if (pidfd < 0)
        return -1;
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (rundir_read_spec_at(dir, run->tag_key, &read, NULL) == 0
        && proc_has_text(run->who.shim, "cmdline", read->spec.run, "sluice-shim")
        && rundir_is_locked_at(dir) > 0)
        return pidfd;
    close(pidfd);
    return -1;
}

/* As named in the lock file. <0: unknown; examined again. */
static int open_named(struct local_run *run, int dir, int *ret_pidfd) {
    if (dir < 0 || rundir_read_started_at(dir, run->tag_key, &run->who, NULL) < 0)
        return -EACCES;
    int pidfd = open_shim(run, dir);
    if (pidfd < 0)
        return -EACCES;
    struct proc_stat process = { 0 };
    set_shim(run, run->who.shim);
    if (proc_read("/proc", run->shim, &process) == 0)
        run->shim_start = process.start;
    *ret_pidfd = pidfd;
    return 0;
}

/* 0 and a pidfd: alive; -ESRCH: dead; -EACCES: unknown. */
static int find_shim(struct local_run *run, int dir, int *ret_pidfd) {
    if (run->is_stored) {
        int r = open_stored(run, ret_pidfd);
        if (r != -EACCES)
            return r;
        run->is_stored = false;
    }
    if (dir >= 0 && rundir_is_locked_at(dir) == 0)
        return -ESRCH;
    return open_named(run, dir, ret_pidfd);
}

/* Identifies the holder of the lock. Afterwards the run is watched, over, dying, or still
 * hidden. */
static void identify_shim(struct local_run *run) {
    struct local *ex = run->ex;
    _cleanup_(fd_closep) int dir = -1;
    int pidfd = -1;
    int opened = rundir_open_at(ex->base.root, run->base.folder, &dir, NULL);
    int r = find_shim(run, dir, &pidfd);
    if (r == -ESRCH || (r < 0 && opened == -ENOENT)) {
        set_over(run, true);
        return;
    }
    if (r < 0 || watch_shim(run, pidfd, NULL) < 0)
        return;
    watch_lock(run);
    /* Read again: it may have changed before the watch was set. */
    if (dir >= 0 && rundir_read_started_at(dir, run->tag_key, &run->who, NULL) == 0)
        executor_report_progress(&run->base, &run->who);
}

static void apply_known(struct local_run *run, const struct executor_known *known, bool same_boot) {
    set_tag_key(run, known->key);
    const struct executor_shim *shim = &known->shim;
    if (!same_boot || shim->pid <= 1 || shim->start == 0 || shim->space != run->ex->pid_space)
        return;
    run->is_stored = true;
    run->shim_start = shim->start;
    set_shim(run, shim->pid);
    if (shim->cgroup && cgroup_is_ours(run->ex->cgroups, shim->cgroup))
        run->old_cgroup = xstrdup(shim->cgroup);
}

static enum adopted local_adopt(struct executor *base, struct run_key key, const char *folder,
                                const struct executor_known *known) {
    struct local *ex = local_of(base);
    const char *boot_id = known->boot_id ? known->boot_id : "";
    if (run_table_find(&base->runs, key))
        return ADOPTED_ALIVE;
    struct local_run *run = local_run_new(ex, key, folder);
    bool same_boot = *boot_id == '\0' || strcmp(boot_id, base->boot_id) == 0;
    _cleanup_(fd_closep) int dir = -1;
    _cleanup_(fd_closep) int pidfd = -1;
    apply_known(run, known, same_boot);
    int r = rundir_open_at(ex->base.root, folder, &dir, NULL);
    /* It is lost. Another daemon that has lost the store, but does not know it yet, may be about to
     * start it: the directory must exist then. If that daemon was faster, its run is adopted. */
    if (r == -ENOENT && same_boot && rundir_make_at(ex->base.root, folder, NULL) == -EEXIST)
        r = rundir_open_at(ex->base.root, folder, &dir, NULL);
    if (dir >= 0 && same_boot && !run->old_cgroup)
        run->old_cgroup = read_cgroup(ex, dir, run->tag_key);
    bool is_missing = dir < 0 && (r == -ENOENT || r == -ENOTDIR || r == -EINVAL);
    /* Its processes are known from now on, before any query. The loop watches it. */
    if (same_boot && (!is_missing || run->is_stored) && find_shim(run, dir, &pidfd) != -ESRCH) {
        set_pending(run, LOCAL_HIDDEN);
        return ADOPTED_ALIVE;
    }
    if (dir >= 0 && run->shim == 0
        && rundir_read_started_at(dir, run->tag_key, &run->who, NULL) == 0)
        run->shim = run->who.shim;
    set_over(run, same_boot);
    bool ended = run->base.has_end;
    set_pending(run, run->state);
    return ended ? ADOPTED_ENDED : ADOPTED_LOST;
}

/* --- sweep ------------------------------------------------------------------------------------ */

static enum sweep_verdict local_sweep_folder(struct executor *base, const char *folder,
                                             const char *task, uint32_t attempt) {
    struct local *ex = local_of(base);
    _cleanup_(fd_closep) int dir = -1;
    if (rundir_open_at(ex->base.root, folder, &dir, NULL) < 0)
        return SWEEP_KEEP;
    /* Runs of Slurm have no lock to examine: their own executor handles them. */
    if (faccessat(dir, "slurm", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return SWEEP_LEAVE;
    int locked = rundir_is_locked_at(dir);
    if (locked <= 0)
        return locked == 0 ? SWEEP_REMOVE : SWEEP_KEEP;
    struct run_started who = { 0 };
    (void)rundir_read_started_at(dir, NULL, &who, NULL);
    struct local_run *run = local_run_new(ex, (struct run_key){ 0 }, folder);
    run->old_cgroup = read_cgroup(ex, dir, NULL);
    set_pending(run, LOCAL_HIDDEN);
    executor_report_external(&run->base, task, attempt, &who);
    return SWEEP_KEEP;
}

static bool cgroup_used_by_run(void *ctx, const char *path) {
    const struct local *ex = ctx;
    for (size_t i = 1; i < ex->base.runs.count; i++) {
        const struct local_run *run = run_at(ex, i);
        if (run && run->old_cgroup && strcmp(run->old_cgroup, path) == 0)
            return true;
    }
    return false;
}

static void local_swept(struct executor *base) {
    cgroup_sweep(local_of(base)->cgroups, cgroup_used_by_run, base);
}

/* --- start and stop --------------------------------------------------------------------------- */

#define LOW_DESCRIPTORS 10 /* keep 0-9 free for the shim */
#define SPAWNS_MAX      32 /* pending requests; each has up to five descriptors open */
#define KEY_PAIR_SIZE   (sizeof(TAG_VARIABLE "=") + SHA256_HEX_SIZE)

/* An unnamed file with the secrets of a run, each NUL-terminated; the caller closes it. *ret_fd is
 * -1 if there are none. */
static int handover_secrets(const char *const *secrets, int *ret_fd, struct error *err) {
    *ret_fd = -1;
    if (!secrets || !*secrets)
        return 0;
    struct strbuf block = STRBUF_INIT;
    for (; *secrets; secrets++)
        strbuf_add(&block, *secrets, strlen(*secrets) + 1);
    int fd = memfd_create("secrets", MFD_CLOEXEC);
    ssize_t put = fd < 0 ? -1 : write(fd, block.text, block.length);
    bool is_written = put == (ssize_t)block.length;
    int error = put < 0 ? errno : ENOSPC;
    explicit_bzero(block.text, block.length);
    strbuf_finish(&block);
    if (!is_written) {
        fd_closep(&fd);
        return error_set(err, -error, "cannot hand the secrets to the shim: %s", strerror(error));
    }
    *ret_fd = fd;
    return 0;
}

/* Nothing ran: removes what was created for it. */
static void undo_start(struct local_run *run, int error) {
    struct local *ex = run->ex;
    unsigned budget = UINT_MAX;
    (void)remove_tree_at(ex->base.root, run->base.folder, &budget);
    run->base.end = (struct run_end){
        .kind = RUN_END_LAUNCH,
        .code = -1,
        .exec_errno = error,
        .cause = LAUNCH_HOST,
        .ended_at = loop_now(ex->base.loop),
    };
    (void)snprintf(run->base.end.message, sizeof(run->base.end.message),
                   "cannot start the shim '%.200s': %s", ex->base.shim_path, strerror(error));
    report_end(run);
}

/* The shim holds the lock, so it runs regardless of the daemon: if it cannot be watched now, it is
 * identified later. */
static void shim_spawned(void *ctx, pid_t pid, int error) {
    struct local_run *run = ctx;
    if (error) {
        undo_start(run, error);
        return;
    }
    run->shim = pid;
    run->ex->base.origin_epoch++;
    int pidfd = proc_open(pid);
    if (pidfd < 0 || watch_shim(run, pidfd, NULL) < 0)
        set_pending(run, LOCAL_HIDDEN);
    handle_early_messages(run);
}

/* The shim gets five descriptors and the key of its run, nothing else from the daemon. An early
 * stop stays pending until the shim reads it: its signals are blocked. The spawner owns the
 * descriptors. */
static void spawn_shim(struct local_run *run, const struct run_spec *spec,
                       const struct rundir_open *open, int secrets) {
    struct local *ex = run->ex;
    char handle[32], pair[KEY_PAIR_SIZE] = "";
    (void)snprintf(handle, sizeof(handle), "%u.%u", run->base.index, run->generation);
    if (spec->key) /* not an argument, which every user can list, and not a file */
        sha256_hex(spec->key->bytes, stpcpy(pair, TAG_VARIABLE "="));
    const char *const argv[] = { "sluice-shim", spec->run, handle,
                                 ex->stores_ends ? RUN_OFFERS_END : NULL, NULL };
    const char *const env[] = { spec->key ? pair : NULL, NULL };
    const struct spawn order = {
        .program = ex->base.shim_path,
        .argv = argv,
        .env = env,
        .fds = { SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, open->dir, open->lock, ex->pipe_out,
                 cgroup_hold(run->slot), secrets },
        .fd_count = 8,
        .kept = 1u << 5,
        .is_session = true,
        .blocks = true,
    };
    spawner_start(ex->spawner, &order, shim_spawned, run);
    explicit_bzero(pair, sizeof(pair));
}

static int local_start(struct executor *base, struct run_key key, const char *folder,
                       const struct run_spec *spec, struct error *err) {
    struct local *ex = local_of(base);
    if (run_table_find(&base->runs, key))
        return error_set(err, -EEXIST, "run '%s' is already there", spec->run);
    int r = rundir_check(folder, spec, err); /* before a directory is created for it */
    if (r < 0)
        return r;
    int secrets = -1;
    r = handover_secrets(spec->secrets, &secrets, err);
    if (r < 0)
        return r;
    struct run_spec full = *spec;
    struct cgroup_slot *slot = cgroup_take(ex->cgroups);
    full.cgroup = slot ? slot->path : NULL;
    full.boot_id = base->boot_id;
    if (slot)
        slot->spoiled = spec->memory_max > 0 || spec->processes_max > 0;
    struct rundir_open open;
    r = spare_take(ex->spare, folder) ? rundir_fill_at(ex->base.root, folder, &full, &open, err)
                                      : rundir_create_at(ex->base.root, folder, &full, &open, err);
    if (r < 0) {
        fd_closep(&secrets);
        cgroup_give_back(ex->cgroups, slot);
        return r;
    }
    struct local_run *run = local_run_new(ex, key, folder);
    run->slot = slot;
    run->state = LOCAL_SPAWNING;
    set_tag_key(run, spec->key);
    spawn_shim(run, spec, &open, secrets);
    return 0;
}

static bool local_is_busy(const struct executor *base) {
    return spawner_pending(((const struct local *)base)->spawner) >= SPAWNS_MAX;
}

static int local_stop(struct executor *base, struct run_key key, enum stop_how how) {
    struct local_run *run = run_table_find(&base->runs, key);
    if (!run || run->state == LOCAL_OVER || run->state == LOCAL_DYING)
        return -ENOENT;
    signal_shim(run, how);
    return 0;
}

static void local_end_is_stored(struct executor *base, struct run_key key) {
    for (struct local_run *run = local_of(base)->leaving; run; run = run->next)
        if (run->base.key.task == key.task && run->base.key.attempt == key.attempt) {
            (void)proc_signal(run->pidfd, SIGUSR2);
            return;
        }
}

/* The start time of our own child is read on demand: its pid is not reused before it is reaped. */
static struct executor_shim local_shim(struct executor *base, struct run_key key) {
    struct local *ex = local_of(base);
    struct local_run *run = run_table_find(&base->runs, key);
    struct proc_stat process = { 0 };
    if (run && run->shim_start == 0 && run->pidfd >= 0
        && proc_read("/proc", run->shim, &process) == 0)
        run->shim_start = process.start;
    if (!run || run->shim_start == 0)
        return (struct executor_shim){ 0 };
    return (struct executor_shim){ .pid = run->shim,
                                   .start = run->shim_start,
                                   .space = ex->pid_space,
                                   .cgroup = run->slot ? run->slot->path : run->old_cgroup };
}

/* --- features --------------------------------------------------------------------------------- */

static bool has_pidfd(void) {
    _cleanup_(fd_closep) int fd = proc_open(getpid());
    return fd >= 0;
}

/* Probes the file system of the logs. */
static bool can_punch(int root) {
    int fd = openat(root, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        fd = outside_create(root, ".probe", NULL);
        (void)unlinkat(root, ".probe", 0);
    }
    if (fd < 0)
        return false;
    static const char block[8192];
    bool good = write(fd, block, sizeof(block)) == (ssize_t)sizeof(block)
                && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
    close(fd);
    return good;
}

static bool has_subreaper(void) {
    int value = 0;
    return prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0) == 0;
}

static bool has_inotify(void) {
    _cleanup_(fd_closep) int fd = inotify_init1(IN_CLOEXEC);
    return fd >= 0;
}

#define FIX_PIDFD "# use Linux 5.4 or newer (in a container: allow it in the seccomp profile)"
#define FIX_CGROUP                                                                                 \
    "sluice service install # a systemd service has cgroups; the host needs cgroup v2"
#define FIX_CONTROLLER                                                                             \
    "sluice service install # hybrid hosts: boot with systemd.unified_cgroup_hierarchy=1"

/* `root`: a directory on the file system of the runs; -1: none yet. Returns their number. */
static size_t list_features(const struct cgroup_facts *facts, int root,
                            struct executor_feature ret[EXECUTOR_FEATURES_MAX]) {
    const struct executor_feature features[] = {
        { "pidfd", has_pidfd(), "nothing: no run can be started", FIX_PIDFD },
        { "cgroup", facts->there, "the processes of a run are found through their parents",
          FIX_CGROUP },
        { "cgroup.kill", facts->kill, "processes are stopped and killed one by one",
          facts->there ? "# use Linux 5.14 or newer" : FIX_CGROUP },
        { "clone into cgroup", facts->clone, "the command joins its cgroup before it starts",
          facts->there ? "# use Linux 5.7 or newer" : FIX_CGROUP },
        { "memory.max", facts->memory, "memory is checked twice a second", FIX_CONTROLLER },
        { "pids.max", facts->pids, "processes are counted twice a second", FIX_CONTROLLER },
        { "hole punching", root >= 0 && can_punch(root),
          "a run ends when a log grows 64 MB beyond its limit",
          "# put the data folder on ext4, xfs, btrfs or tmpfs" },
        { "inotify", has_inotify(), "logs are checked many times a second",
          "sudo sysctl fs.inotify.max_user_instances=512" },
        { "close_range", syscall(SYS_close_range, ~0u - 1, ~0u - 1, 0) == 0, /* an empty range */
          "descriptors are closed one by one", "# use Linux 5.11 or newer" },
        { "subreaper", has_subreaper(), "processes that leave their parent may outlive a run",
          "# use Linux 3.4 or newer" },
    };
    _Static_assert(ARRAY_SIZE(features) <= EXECUTOR_FEATURES_MAX, "too many features");
    memcpy(ret, features, sizeof(features));
    return ARRAY_SIZE(features);
}

/* Opens the directory or its nearest existing ancestor. */
static int open_near(const char *folder) {
    _cleanup_(freep) char *path = xstrdup(folder);
    for (;;) {
        int fd = outside_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | OUTSIDE_LINKS, NULL, NULL);
        char *slash = strrchr(path, '/');
        if (fd >= 0 || !slash || slash == path)
            return fd;
        *slash = '\0';
    }
}

size_t executor_probe(const char *folder, const struct executor_feature **ret) {
    static struct executor_feature items[EXECUTOR_FEATURES_MAX];
    struct cgroup_facts facts;
    cgroup_probe(&facts);
    _cleanup_(fd_closep) int root = open_near(folder);
    *ret = items;
    return list_features(&facts, root, items);
}

/* --- life of the executor --------------------------------------------------------------------- */

static void local_free(struct executor *base) {
    struct local *ex = local_of(base);
    ex->spawner = spawner_free(ex->spawner); /* pending requests are carried out */
    for (size_t i = 1; i < base->runs.count; i++)
        if (run_at(ex, i))
            cgroup_leave(ex->cgroups, run_at(ex, i)->slot); /* its run still uses it */
    executor_free_runs(base);
    while (ex->leaving) {
        cgroup_leave(ex->cgroups, TAKE_PTR(ex->leaving->slot));
        local_run_free(&ex->leaving->base);
    }
    loop_unwatch(ex->base.loop, ex->pipe_watch);
    loop_unwatch(ex->base.loop, ex->inotify_watch);
    loop_timer_free(ex->base.loop, ex->pending_timer);
    (void)spare_free(ex->spare);
    fd_closep(&ex->pipe_in); /* before the pool is freed: see cgroup_pool_free */
    (void)cgroup_pool_free(ex->cgroups);
    fd_closep(&ex->pipe_out);
    fd_closep(&ex->inotify);
    free(ex->root_given);
    executor_finish(base);
}

static size_t local_clean(struct executor *base, size_t *ret_kept) {
    return cgroup_clean(local_of(base)->cgroups, ret_kept);
}

static const struct executor_backend local_backend = {
    .start = local_start,
    .is_busy = local_is_busy,
    .stop = local_stop,
    .end_is_stored = local_end_is_stored,
    .adopt = local_adopt,
    .shim = local_shim,
    .sweep_folder = local_sweep_folder,
    .swept = local_swept,
    .forgets_folders = true,
    .clean = local_clean,
    .slot_take = local_slot_take,
    .slot_give_back = local_slot_give_back,
    .free_run = local_run_free,
    .free = local_free,
};

static int open_root(struct executor *base, const char *root, struct error *err) {
    if (mkdir(root, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, "make folder", root);
    base->root_path = realpath(root, NULL);
    if (!base->root_path)
        return error_set_errno(err, "open", root);
    _cleanup_(fd_closep) int fd = open(base->root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    base->root = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
    return base->root < 0 ? error_set_errno(err, "open", base->root_path) : 0;
}

static int read_identity(struct local *ex, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = file_read("/proc/sys/kernel/random/boot_id", 256, &text, err);
    if (r < 0)
        return r;
    (void)snprintf(ex->base.boot_id, sizeof(ex->base.boot_id), "%.*s",
                   (int)strcspn(strbuf_text(&text), "\n"), strbuf_text(&text));
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) == 0)
        ex->pid_space = st.st_ino;
    return 0;
}

int executor_local_new(struct loop *loop, const struct executor_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err) {
    struct local *ex = xcalloc(1, sizeof(*ex));
    executor_init(&ex->base, &local_backend, loop, options, events);
    ex->pipe_in = ex->pipe_out = ex->inotify = -1;
    ex->root_given = xstrdup(options->root);
    ex->stores_ends = options->stores_ends;
    ex->pending_timer = loop_timer_new(loop, pending_due, ex);
    int r = 0;
    if (access(options->shim_path, X_OK) < 0)
        r = error_set(err, -errno, "cannot run the shim '%s': %s; install it beside the daemon",
                      options->shim_path, strerror(errno));
    else if (!has_pidfd())
        r = error_set(err, -ENOSYS, "this kernel has no pidfd_open: " FIX_PIDFD);
    if (r >= 0)
        r = open_root(&ex->base, options->root, err);
    if (r >= 0)
        r = read_identity(ex, err);
    if (r >= 0)
        r = open_shim_pipe(ex, err);
    if (r >= 0)
        r = spawner_new(loop, &ex->spawner, err);
    if (r < 0) {
        local_free(&ex->base);
        return r;
    }
    char name[32];
    const char *root = ex->base.root_path;
    (void)snprintf(name, sizeof(name), CGROUP_NAME, (uint32_t)hash_bytes(root, strlen(root)));
    ex->cgroups = cgroup_pool_new(name, options->use_cgroup);
    ex->base.trash = trash_new(loop, ex->base.root, &ex->base.live);
    ex->spare = spare_new(ex->base.root);
    ex->base.feature_count =
        list_features(cgroup_pool_facts(ex->cgroups), ex->base.root, ex->base.features);
    *ret = &ex->base;
    return 0;
}

/* --- which processes belong to runs ----------------------------------------------------------- */

/* Does a process belong to a run? Any of three marks is enough:
 *   - an ancestor is called sluice-shim. A shim is the subreaper of all its descendants, so a
 *     process created in a run has its shim among its ancestors, whichever of them have ended
 *   - an ancestor is the shim of a run of this executor, whatever that program is called
 *   - its cgroup is the slot of a run, or below it. This mark remains when the shim is killed
 * The first and the last need no table: they work while a daemon starts, on a standby, and for runs
 * of other daemons of this user.
 *
 * A daemon may itself be in a run. Ancestors that it shares with a client prove nothing about the
 * client. */

#define SHIM_NAME       "sluice-shim" /* prefix; also sluice-shim-checked */
#define GENERATIONS_MAX 256           /* bound of one walk */
#define WALKS_MAX       8             /* number of walks */

static bool is_shim_of_run(const struct local *ex, pid_t pid) {
    for (size_t i = 1; ex && i < ex->base.runs.count; i++)
        if (run_at(ex, i) && run_at(ex, i)->shim == pid)
            return true;
    return false;
}

/* With the mount option hidepid, processes of other users are invisible, and so are our own that
 * are not dumpable, such as sshd and every shim. The ancestors of such a process are unknown. */
static bool is_hidden(const char *proc, pid_t pid) {
    struct proc_stat init = { 0 };
    return proc_read(proc, 1, &init) < 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* Is `pid` this daemon or one of its ancestors? */
static bool is_above_daemon(const char *proc, pid_t pid) {
    pid_t at = getpid();
    struct proc_stat process = { 0 };
    for (unsigned i = 0; i < GENERATIONS_MAX && at > 1; i++) {
        if (at == pid)
            return true;
        if (proc_read(proc, at, &process) < 0)
            return false;
        at = process.parent;
    }
    return false;
}

/* One walk from the process to the top. */
static enum executor_process_origin walk_ancestors(const struct local *ex, const char *proc,
                                                   pid_t pid) {
    uint64_t child_start = UINT64_MAX;
    for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
        struct proc_stat process = { 0 };
        if (is_shim_of_run(ex, pid))
            return ORIGIN_RUN;
        if (proc_read(proc, pid, &process) < 0)
            return i > 0 && is_hidden(proc, pid) ? ORIGIN_OUTSIDE : ORIGIN_UNKNOWN;
        if (strncmp(process.name, SHIM_NAME, strlen(SHIM_NAME)) == 0 && !is_above_daemon(proc, pid))
            return ORIGIN_RUN;
        /* A parent younger than its child: its pid was reused. */
        if (process.start > child_start)
            return ORIGIN_UNKNOWN;
        child_start = process.start;
        pid = process.parent;
        if (pid <= 1)
            return ORIGIN_OUTSIDE;
    }
    return ORIGIN_UNKNOWN;
}

static enum executor_process_origin origin_by_cgroup(const char *proc, pid_t pid) {
    char file[256];
    (void)snprintf(file, sizeof(file), "%.200s/%d/cgroup", proc, (int)pid);
    _cleanup_(freep) char *path = cgroup_read_path(file);
    if (path && !cgroup_is_in_slot(path, "/")) /* most are in no slot */
        return ORIGIN_OUTSIDE;
    (void)snprintf(file, sizeof(file), "%.200s/self/cgroup", proc);
    _cleanup_(freep) char *own = cgroup_read_path(file);
    if (!own) /* no cgroup v2 on this host */
        return ORIGIN_OUTSIDE;
    if (!path)
        return ORIGIN_UNKNOWN;
    return cgroup_is_in_slot(path, own) ? ORIGIN_RUN : ORIGIN_OUTSIDE;
}

/* An ancestor that ends during the walk leaves a gap, and its children have a new parent: if the
 * process is alive, the walk is repeated. A process that has ended, or whose ancestors keep ending,
 * stays unknown. */
enum executor_process_origin process_origin_in(const struct executor *ex, const char *proc,
                                               pid_t pid) {
    enum executor_process_origin origin = ORIGIN_UNKNOWN;
    if (pid < 1) /* outside our pid namespace */
        return ORIGIN_UNKNOWN;
    if (pid == 1)
        return ORIGIN_OUTSIDE;
    for (unsigned i = 0; i < WALKS_MAX && origin == ORIGIN_UNKNOWN; i++)
        origin = walk_ancestors((const struct local *)ex, proc, pid);
    return origin == ORIGIN_OUTSIDE ? origin_by_cgroup(proc, pid) : origin;
}

enum executor_process_origin executor_process_origin(const struct executor *ex, pid_t pid) {
    return process_origin_in(ex, "/proc", pid);
}

uint64_t executor_origin_epoch(const struct executor *ex) {
    return ex->origin_epoch;
}
