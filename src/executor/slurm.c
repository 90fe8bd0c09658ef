/* slurm.c: the executor for runs on Slurm: submits them, polls their jobs, cancels them.
 *
 * A start is a directory and a queue entry; sbatch is called later, outside the loop. Once the
 * directory is complete the run cannot be forgotten, whatever happens to this process.
 *
 *   the run directory, the table of runs, calls of Slurm's programs, how a run ended, submit, poll,
 *   cancel, adopt and sweep, start and describe, installed programs, life of the executor */
#include "executor/slurm.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env_text.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "base/strbuf.h"
#include "executor/executor_internal.h"
#include "executor/helper_process.h"
#include "executor/slurm_words.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/outside.h"
#include "rundir/remove.h"

#define CANCELS_EACH 200 /* jobs per scancel */
/* Defaults of struct executor_slurm_options. */
#define POLL_IDLE       SECONDS(15)
#define POLL_BUSY       SECONDS(1)
#define PATIENCE        SECONDS(15)
#define RETRY           SECONDS(1)
#define SUBMITS_AT_ONCE 8
#define RECORD_LOCAL    SECONDS(1)  /* until a recorded end is visible on a local file system */
#define KILL_WAIT       SECONDS(30) /* Slurm's default, until scontrol has reported its own */

struct slurm;
struct slurm_run;

enum slurm_state {
    SLURM_QUEUED,     /* to be submitted */
    SLURM_SUBMITTING, /* sbatch is running */
    SLURM_DOUBTFUL,   /* may have been submitted: searched by its token */
    SLURM_FOLLOWED,   /* it has or had a job */
    SLURM_OVER,       /* `end` is known and reported in the next round */
};

/* One running sbatch. The run may be freed before the answer arrives. */
struct slurm_submit {
    struct slurm *ex;
    struct slurm_run *run; /* or NULL */
    bool unwanted;         /* the run was freed before it began: cancel its job */
    struct helper_process *call;
    struct slurm_submit *next; /* in ex->submits */
};

struct slurm_run {
    struct executor_run base; /* first */
    struct slurm *ex;
    enum slurm_state state;

    struct slurm_order order; /* arguments of sbatch */
    struct slurm_submit *submit;
    struct slurm_run *next; /* in ex->queue */

    uint64_t job;         /* 0: unknown */
    struct slurm_job has; /* as last listed; state JOB_UNKNOWN: never */
    uint64_t listed_in;   /* query that listed it last */
    uint64_t valid_after; /* answers to earlier queries prove nothing about it */
    unsigned missed;      /* consecutive successful answers without it */
    time_ms missed_since; /* steady clock */
    time_ms over_since;   /* its job has ended but no end was found; steady clock; 0: no */
    bool is_forgotten;    /* Slurm no longer knows it: nothing more can be learned */
    uint64_t sacct_job;   /* its job in the running sacct; 0: not queried */
    bool begun;
    char node[SLURM_NODE_MAX]; /* on which it began */

    bool stop_requested;
    enum stop_how stop_how;
    unsigned stop_step; /* current step of the stop */
    time_ms stop_at;    /* the next step; steady clock */

    int watch, lock_watch; /* inotify on its folder and its lock file; -1: none */
};

struct slurm {
    struct executor base; /* first */
    int inotify;          /* on directories; -1: not open */
    char *programs[SLURM_PROGRAM_MAX];
    char **env;
    char *cluster;
    time_ms poll_idle, poll_busy, patience, retry;
    time_ms record_delay; /* how long a recorded end may take to become visible here */
    uint32_t submits_at_once;
    bool use_sacct;
    bool configured;     /* kill_wait was read from Slurm */
    bool is_unreachable; /* the last call got no answer */
    bool busy;           /* something changed since the last query */

    struct id_map by_token, by_watch;
    struct loop_timer *over_timer;
    uint32_t over_count;
    uint32_t submitting; /* running sbatch processes */

    /* configuration of Slurm */
    struct helper_process *config_call;
    time_ms kill_wait;
    time_ms retry_at;          /* nothing is submitted before; steady clock */
    time_ms retry_delay;       /* backoff; grows while Slurm is unreachable */
    char unreachable_why[160]; /* Slurm's message, or "" */

    struct slurm_run *queue, **queue_end;
    struct slurm_submit *submits;
    struct loop_timer *submit_timer;

    struct helper_process *squeue_call, *sacct_call;
    uint64_t queries; /* queries so far */
    time_ms queried_at, poll_delay;
    time_ms poll_at;                  /* when the timer is due; TIME_NEVER: not set */
    time_ms poll_earliest;            /* earliest next query, because queries are expensive */
    struct loop_timer *examine_timer; /* for runs whose directory was not examined yet */
    size_t examine_next;              /* next run whose directory is examined routinely */
    struct loop_timer *poll_timer;

    struct helper_process *cancel_call;
    uint64_t cancel_jobs[CANCELS_EACH]; /* of the running call */
    size_t cancel_count;
    unsigned cancel_step;
    unsigned unwanted_tries;
    struct loop_timer *stop_timer;
    uint64_t *unwanted; /* jobs to cancel; 0: done */
    size_t unwanted_count, unwanted_capacity;
    bool cancel_unwanted; /* the running call is for `unwanted` */

    struct loop_watch *inotify_watch;
};

static inline struct slurm *slurm_of(struct executor *ex) {
    return (struct slurm *)ex;
}

/* NULL: the index is free. */
static inline struct slurm_run *slurm_at(const struct slurm *ex, size_t index) {
    return run_table_at(&ex->base.runs, index);
}

/* The next run in the table, or the first; NULL: none. */
static struct slurm_run *next_run(const struct slurm *ex, const struct slurm_run *run) {
    for (size_t i = run ? run->base.index + 1 : 1; i < ex->base.runs.count; i++)
        if (slurm_at(ex, i))
            return slurm_at(ex, i);
    return NULL;
}

static void examine_folder(struct slurm_run *run);
static void submit_due(void *ctx);

static time_ms steady_now(const struct slurm *ex) {
    return loop_now_steady(ex->base.loop);
}

static void set_timer_now(struct slurm *ex, struct loop_timer *timer) {
    loop_timer_set(ex->base.loop, timer, steady_now(ex));
}

/* Can only make the next query earlier. */
static void poll_no_later(struct slurm *ex, time_ms at) {
    at = time_max(at, ex->poll_earliest);
    if (ex->squeue_call || at >= ex->poll_at)
        return; /* the answer sets the time of the next query */
    ex->poll_at = at;
    loop_timer_set(ex->base.loop, ex->poll_timer, at);
}

/* Something has changed. */
static void poll_soon(struct slurm *ex) {
    ex->busy = true;
    ex->poll_delay = ex->poll_busy;
    poll_no_later(ex, steady_now(ex) + ex->poll_busy);
}

/* The job is not needed any more. */
static void cancel_job(struct slurm *ex, uint64_t job) {
    for (size_t i = 0; i < ex->unwanted_count; i++)
        if (ex->unwanted[i] == job)
            return;
    ex->unwanted =
        xgrow(ex->unwanted, &ex->unwanted_capacity, ex->unwanted_count + 1, sizeof(uint64_t));
    ex->unwanted[ex->unwanted_count++] = job;
    set_timer_now(ex, ex->stop_timer);
}

/* --- the run directory ------------------------------------------------------------------------ */

/* It must be complete before sbatch is called: from then on this process is not needed, and any
 * later daemon finds in it what to submit, under which token, and which shim has begun. On a local
 * file system, changes are reported at once (inotify); on a shared one they are seen when Slurm's
 * list shows a change. */

#define ORDER_NAME   "slurm"
#define JOB_NAME     "job"
#define REFRESH_NAME ".look"

static ssize_t read_file(int dir, const char *name, char *out, size_t size) {
    _cleanup_(fd_closep) int fd = outside_open(dir, name, O_RDONLY, NULL, NULL);
    return fd < 0 ? fd : fd_pread_all(fd, out, size, 0);
}

static int folder_create(struct slurm *ex, const char *folder, const struct run_spec *spec,
                         const struct slurm_order *order, struct error *err) {
    struct rundir_open open;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = rundir_create_at(ex->base.root, folder, spec, &open, err);
    if (r < 0)
        return r;
    slurm_order_format(order, &text);
    r = outside_create_with(open.dir, ORDER_NAME, text.text, text.length, NULL);
    close(open.lock);
    close(open.dir);
    if (r == 0)
        return 0;
    unsigned budget = UINT_MAX;
    (void)remove_tree_at(ex->base.root, folder, &budget); /* leave no partial directory */
    return error_set(err, r, "cannot write into folder '%s': %s", folder, strerror(-r));
}

static int folder_open(const struct slurm_run *run, int *ret_dir) {
    return rundir_open_at(run->ex->base.root, run->base.folder, ret_dir, NULL);
}

/* -ENOENT: not the directory of a Slurm run, or it was never to be submitted. */
static int folder_read_order(int dir, struct slurm_order *ret) {
    _cleanup_(freep) char *text = xmalloc(SLURM_ORDER_MAX);
    ssize_t size = read_file(dir, ORDER_NAME, text, SLURM_ORDER_MAX);
    return size < 0 ? (int)size : slurm_order_parse(text, (size_t)size, ret);
}

/* For users, and to save a search at the next start: the job can always be found by the token. */
static void folder_write_job(const struct slurm_run *run) {
    char text[32];
    _cleanup_(fd_closep) int dir = -1;
    (void)snprintf(text, sizeof(text), "%" PRIu64 "\n", run->job);
    if (folder_open(run, &dir) == 0)
        (void)outside_create_with(dir, JOB_NAME, text, strlen(text), NULL);
}

/* 0: none */
static uint64_t folder_read_job(int dir) {
    char text[32] = "";
    ssize_t size = read_file(dir, JOB_NAME, text, sizeof(text) - 1);
    return size > 1 && text[size - 1] == '\n' ? strtoull(text, NULL, 10) : 0;
}

/* 1: a shim has begun, its job and node are set; 0: none; 2: closed; <0: unknown */
static int folder_begun(int dir, uint64_t *ret_job, char ret_node[SLURM_NODE_MAX]) {
    char who[RUN_BEGIN_MAX], node[SLURM_NODE_MAX] = "";
    uint64_t job = 0;
    int r = rundir_read_begin_at(dir, who);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    if (strcmp(who, RUN_BEGIN_CLOSED) == 0)
        return 2;
    if (sscanf(who, "job %" SCNu64 " %63s", &job, node) != 2)
        return -EPROTO;
    *ret_job = job;
    memcpy(ret_node, node, sizeof(node));
    return 1;
}

/* The lock file was written, or one of the two relevant names was created. */
static void folder_changed(void *ctx, const struct inotify_event *event) {
    struct slurm *ex = ctx;
    if (event->mask & IN_Q_OVERFLOW) /* events were lost: examine all */
        set_timer_now(ex, ex->examine_timer);
    uint32_t index = id_map_find(&ex->by_watch, hash_u64((uint64_t)event->wd), &event->wd);
    bool is_relevant =
        event->len == 0 ? (event->mask & IN_MODIFY) != 0
                        : strcmp(event->name, "begin") == 0 || strcmp(event->name, "end.json") == 0;
    if (index && is_relevant)
        examine_folder(slurm_at(ex, index));
}

static void inotify_ready(void *ctx, int fd, unsigned events) {
    (void)events;
    inotify_read(fd, folder_changed, ctx);
}

static int add_watch(struct slurm_run *run, const char *file, uint32_t mask) {
    struct slurm *ex = run->ex;
    _cleanup_(freep) char *path = xasprintf("%s/%s%s", ex->base.root_path, run->base.folder, file);
    int watch = inotify_add_watch(ex->inotify, path, mask);
    if (watch >= 0)
        id_map_add(&ex->by_watch, hash_u64((uint64_t)watch), run->base.index);
    return watch;
}

/* The command's logs are in the directory, too: writes to files are not watched. */
static void folder_watch(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (ex->inotify < 0)
        ex->inotify = inotify_open(ex->base.loop, inotify_ready, ex, &ex->inotify_watch);
    if (run->watch >= 0 || ex->inotify < 0)
        return;
    run->watch = add_watch(run, "", IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
    run->lock_watch = add_watch(run, "/lock", IN_MODIFY);
}

static void remove_watch(struct slurm *ex, int *watch) {
    if (*watch < 0)
        return;
    id_map_remove(&ex->by_watch, hash_u64((uint64_t)*watch), watch);
    (void)inotify_rm_watch(ex->inotify, *watch);
    *watch = -1;
}

/* --- the table of runs ------------------------------------------------------------------------ */

static uint64_t token_hash(const char *token) {
    return hash_bytes(token, strlen(token));
}

static bool token_same(const void *ctx, uint32_t handle, const void *key) {
    const struct slurm *ex = ctx;
    return strcmp(slurm_at(ex, handle)->order.token, key) == 0;
}

static bool watch_same(const void *ctx, uint32_t handle, const void *key) {
    const struct slurm *ex = ctx;
    const struct slurm_run *run = slurm_at(ex, handle);
    int watch = *(const int *)key;
    return run->watch == watch || run->lock_watch == watch;
}

static struct slurm_run *find_by_token(const struct slurm *ex, const char *token) {
    uint32_t index = id_map_find(&ex->by_token, token_hash(token), token);
    return index ? slurm_at(ex, index) : NULL;
}

/* Appends to the submit queue. */
static void queue_submit(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    run->state = SLURM_QUEUED;
    run->next = NULL;
    *ex->queue_end = run;
    ex->queue_end = &run->next;
    loop_timer_set(ex->base.loop, ex->submit_timer, time_max(ex->retry_at, steady_now(ex)));
}

static void unqueue(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    for (struct slurm_run **at = &ex->queue; *at; at = &(*at)->next) {
        if (*at != run)
            continue;
        *at = run->next;
        if (!*at)
            ex->queue_end = at;
        return;
    }
}

static void drop_order(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->order.token && find_by_token(ex, run->order.token) == run)
        id_map_remove(&ex->by_token, token_hash(run->order.token), run->order.token);
    slurm_order_finish(&run->order);
}

static char *make_token(const struct slurm *ex, struct run_key key) {
    struct strbuf token = STRBUF_INIT;
    strbuf_printf(&token, "sluice:%s:%" PRIu64 ":%" PRIu32, ex->cluster, (uint64_t)key.task,
                  key.attempt);
    return strbuf_take(&token);
}

static void set_order(struct slurm_run *run, struct slurm_order *order) {
    drop_order(run);
    run->order = *order;
    *order = (struct slurm_order){ 0 };
    if (run->order.token && !find_by_token(run->ex, run->order.token))
        id_map_add(&run->ex->by_token, token_hash(run->order.token), run->base.index);
}

/* Takes ownership of the order's memory. If the order is empty (it could not be read), the run gets
 * the token that the engine gives to all its runs, so that its job is found. Without arguments for
 * sbatch it is not submitted. */
static struct slurm_run *slurm_run_new(struct slurm *ex, struct run_key key, const char *folder,
                                       struct slurm_order *order) {
    struct slurm_run *run = xcalloc(1, sizeof(*run));
    run->ex = ex;
    run->state = SLURM_DOUBTFUL;
    run->watch = run->lock_watch = -1;
    executor_run_init(&run->base, &ex->base, key, folder);
    if (!order->token && key.task != 0)
        order->token = make_token(ex, key);
    set_order(run, order);
    return run;
}

static void slurm_run_free(struct executor_run *base) {
    struct slurm_run *run = (struct slurm_run *)base;
    if (run->submit) {
        run->submit->run = NULL;
        run->submit->unwanted = !run->begun;
    }
    if (run->state == SLURM_QUEUED)
        unqueue(run);
    if (run->state == SLURM_OVER)
        run->ex->over_count--;
    remove_watch(run->ex, &run->watch);
    remove_watch(run->ex, &run->lock_watch);
    drop_order(run);
    executor_run_finish(base);
}

/* Answers to queries that were sent before now prove nothing about it. */
static void start_missing_count(struct slurm_run *run) {
    run->valid_after = run->ex->queries;
    run->missed = 0;
    run->missed_since = steady_now(run->ex);
}

/* A controller that was killed forgets the last jobs it accepted, and reuses their numbers. The
 * previous run with that number has no job: it is searched by its token, and no other job is
 * signaled instead. */
static void lose_job(struct slurm *ex, uint64_t job, const struct slurm_run *to) {
    for (struct slurm_run *run = NULL; (run = next_run(ex, run));) {
        if (run == to || run->job != job || run->state == SLURM_OVER)
            continue;
        run->job = 0;
        run->has = (struct slurm_job){ 0 };
        if (run->state == SLURM_FOLLOWED && !run->begun) {
            run->state = SLURM_DOUBTFUL;
            start_missing_count(run);
        }
        poll_soon(ex);
    }
    for (size_t i = 0; to && i < ex->unwanted_count; i++)
        if (ex->unwanted[i] == job)
            ex->unwanted[i] = 0; /* it is needed now */
}

/* From now on the number belongs to this run only. */
static void set_job(struct slurm_run *run, uint64_t job) {
    lose_job(run->ex, job, run);
    run->job = job;
    folder_write_job(run);
}

/* `end` is set and is reported in the next round. */
static void set_over(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->state == SLURM_QUEUED)
        unqueue(run);
    if (run->state == SLURM_OVER)
        return;
    run->state = SLURM_OVER;
    ex->over_count++;
    set_timer_now(ex, ex->over_timer);
}

/* --- calls of Slurm's programs ---------------------------------------------------------------- */

/* They run outside the loop and get a separate environment: the daemon's would become that of every
 * job. Programs that change something keep running when the daemon ends; half a submission is worse
 * than a complete one that is found by its token. */

#define CALL_TIMEOUT SECONDS(60)
#define LIST_MAX     (64u << 20) /* bytes of a job list */
#define RETRY_MAX    SECONDS(30)

/* Runs a program of Slurm. `reads`: keep its standard output, from the beginning; else the end of
 * both outputs. On an error `ended` is not called. */
static int slurm_call(struct slurm *ex, const char *const *argv, bool reads, helper_ended ended,
                      void *ctx, struct helper_process **ret_call) {
    const struct helper_spec spec = {
        .argv = argv,
        .env = (const char *const *)ex->env,
        .timeout = CALL_TIMEOUT,
        .output_max = reads ? LIST_MAX : 0,
        .reads = reads,
        .outlives = !reads,
    };
    return helper_start(ex->base.loop, &spec, ended, ctx, ret_call, NULL);
}

static bool call_succeeded(const struct helper_end *end) {
    return end->code == 0 && !end->timed_out && !end->cut;
}

static void controller_answered(struct slurm *ex) {
    if (!ex->is_unreachable)
        return;
    ex->is_unreachable = false;
    ex->retry_delay = ex->retry_at = 0;
    ex->unreachable_why[0] = '\0';
    set_timer_now(ex, ex->submit_timer);
}

/* `why`: the message of the program, or NULL. */
static void controller_unreachable(struct slurm *ex, const char *why) {
    time_ms now = steady_now(ex);
    ex->is_unreachable = true;
    if (why && *why)
        (void)snprintf(ex->unreachable_why, sizeof(ex->unreachable_why), "%s", why);
    if (now < ex->retry_at)
        return; /* simultaneous failures count once */
    ex->retry_delay = ex->retry_delay ? time_min(2 * ex->retry_delay, RETRY_MAX) : ex->retry;
    ex->retry_at = now + ex->retry_delay;
    loop_timer_set(ex->base.loop, ex->submit_timer, ex->retry_at);
}

/* --- how a run ended -------------------------------------------------------------------------- */

/* The shim's record is authoritative and is read first. Without one: a run that has not begun is
 * closed, so that it never will, and its end follows from its job; a run that has begun gets some
 * time, because its record may not be visible yet, and is lost after that. A job counts as ended
 * only if it was listed as ended, or was missing in several successful answers over some time: a
 * restarted controller may need a while to know its jobs again. */

#define MISSED_MIN  2 /* successful answers */
#define ANSWER_LATE 4 /* times the patience; then it is reported without */

#define EXIT_NO_ACCESS  126 /* of /bin/sh: cannot execute the shim */
#define EXIT_NO_PROGRAM 127

static void report_ends(void *ctx) {
    struct slurm *ex = ctx;
    for (size_t i = 1; i < ex->base.runs.count && ex->over_count > 0; i++)
        if (slurm_at(ex, i) && slurm_at(ex, i)->state == SLURM_OVER)
            executor_report_end(&slurm_at(ex, i)->base);
}

#define SET_MESSAGE(end, ...) (void)snprintf((end)->message, sizeof((end)->message), __VA_ARGS__)

/* Its script ended before the shim began: what is missing on that node? */
static void derive_launch_failure(const struct slurm_run *run, struct run_end *ret) {
    const struct slurm *ex = run->ex;
    const char *node = run->has.node[0] ? run->has.node : "?";
    int code = run->has.code;
    ret->kind = RUN_END_LAUNCH;
    if (code == EXIT_NO_PROGRAM || code == EXIT_NO_ACCESS)
        SET_MESSAGE(ret,
                    "cannot run the shim '%.120s' on node '%.40s': put it there under that name",
                    ex->base.shim_path, node);
    else if (code == RUN_NODE_NO_FOLDER)
        SET_MESSAGE(ret,
                    "node '%.40s' has no folder '%.120s': put the runs on a shared file system",
                    node, ex->base.root_path);
    else if (code == RUN_NODE_NO_WRITE)
        SET_MESSAGE(
            ret, "node '%.40s' cannot write into folder '%.120s': is it mounted read-only there?",
            node, ex->base.root_path);
    else if (run->has.node[0] == '\0' && run->has.reason[0])
        SET_MESSAGE(ret, "job %" PRIu64 " failed in Slurm: %.60s", run->job, run->has.reason);
    else
        SET_MESSAGE(
            ret, "job %" PRIu64 " failed on node '%.40s' before it began: exit code %d, signal %d",
            run->job, node, code, run->has.signal);
}

/* Derives the end of a run without a record from its job. Anything not caused by the task is
 * `lost`: it may run again, and does not count as a failure. */
static void derive_end(const struct slurm_run *run, struct run_end *ret) {
    *ret = (struct run_end){ .kind = RUN_END_LOST };
    switch (run->has.state) {
    case JOB_CANCELED:
        if (run->has.canceled_by >= 0)
            SET_MESSAGE(ret, "job %" PRIu64 " was cancelled in Slurm by user %" PRId64, run->job,
                        run->has.canceled_by);
        else
            SET_MESSAGE(ret, "job %" PRIu64 " was cancelled in Slurm", run->job);
        break;
    case JOB_TIMEOUT:
        ret->kind = run->begun ? RUN_END_TIMEOUT : RUN_END_LOST;
        SET_MESSAGE(ret, "Slurm ended job %" PRIu64 ": its time limit was over", run->job);
        break;
    case JOB_OUT_OF_MEMORY:
        ret->kind = RUN_END_SIGNAL;
        ret->signal = SIGKILL;
        SET_MESSAGE(ret, "Slurm killed it: it used more memory than job %" PRIu64 " was given",
                    run->job);
        break;
    case JOB_NODE_FAIL:
        SET_MESSAGE(ret, "node '%.60s' failed", run->node[0] ? run->node : run->has.node);
        break;
    case JOB_PREEMPTED:
        SET_MESSAGE(ret, "job %" PRIu64 " was preempted by another one", run->job);
        break;
    case JOB_FAILED:
        if (!run->begun)
            derive_launch_failure(run, ret);
        else if (run->has.code == RUN_NODE_BEGUN)
            SET_MESSAGE(ret,
                        "Slurm ended job %" PRIu64
                        " and started it again: what was begun is not begun twice",
                        run->job);
        else
            SET_MESSAGE(
                ret, "job %" PRIu64 " failed with exit code %d, signal %d, and has recorded no end",
                run->job, run->has.code, run->has.signal);
        break;
    case JOB_PENDING:
        SET_MESSAGE(ret, "job %" PRIu64 " was put back into the queue by Slurm", run->job);
        break;
    case JOB_COMPLETED:
        SET_MESSAGE(ret, "job %" PRIu64 " is over and has recorded no end", run->job);
        break;
    case JOB_UNKNOWN:
    case JOB_RUNNING:
    case JOB_ENDING:
    case JOB_STATE_MAX:
        SET_MESSAGE(ret, "Slurm does not know job %" PRIu64 " any more, and it has recorded no end",
                    run->job);
        break;
    }
    if (run->stop_requested) {
        ret->kind = RUN_END_STOPPED;
        ret->signal = run->begun ? SIGKILL : 0;
    }
}

/* `end`: kind, signal and message. */
static void end_without_record(struct slurm_run *run, const struct run_end *end) {
    run->base.end = *end;
    run->base.end.code = -1;
    run->base.end.cause = LAUNCH_HOST;
    run->base.end.ended_at = loop_now(run->ex->base.loop);
    set_over(run);
}

/* Slurm sent SIGTERM to the shim, which recorded it. Only Slurm knows why. */
static bool is_end_by_slurm(const struct run_end *end) {
    return end->kind == RUN_END_STOPPED && strstr(end->applied, "slurm.term");
}

static bool is_stopped_by_slurm(const struct slurm_run *run) {
    return is_end_by_slurm(&run->base.end) && !run->stop_requested;
}

/* No more information about the reason will come. */
static void end_by_slurm(struct slurm_run *run) {
    struct run_end derived;
    derive_end(run, &derived);
    bool plain = run->is_forgotten || run->has.state == JOB_COMPLETED
                 || run->has.state == JOB_FAILED || !slurm_job_is_over(run->has.state);
    if (plain && !run->stop_requested) {
        derived.kind = RUN_END_LOST;
        SET_MESSAGE(&derived, "Slurm told job %" PRIu64 " to end", run->job);
    }
    if (is_stopped_by_slurm(run))
        run->base.end.kind = derived.kind;
    if (run->base.end.kind == derived.kind)
        SET_MESSAGE(&run->base.end, "%s", derived.message);
    set_over(run);
}

/* Its end is known, but Slurm does not answer why: reported after some time. */
static void follow_late(struct slurm_run *run) {
    time_ms wait = run->ex->patience * (is_stopped_by_slurm(run) ? ANSWER_LATE : 1);
    if (run->base.has_end && run->state != SLURM_OVER
        && steady_now(run->ex) - run->over_since >= wait)
        end_by_slurm(run);
}

/* -EEXIST: a shim was first. */
static int close_folder(struct slurm_run *run) {
    _cleanup_(fd_closep) int dir = -1;
    int r = folder_open(run, &dir);
    /* A daemon that has lost the store, but does not know it yet, may be about to create the
     * directory: it must exist then. */
    if (r == -ENOENT && rundir_make_at(run->ex->base.root, run->base.folder, NULL) >= 0)
        r = folder_open(run, &dir);
    if (r == 0)
        r = rundir_begin_at(dir, RUN_BEGIN_CLOSED);
    if (r == -EEXIST)
        examine_folder(run);
    return r == -ENOENT || r == -ENOTDIR ? 0 : r; /* without a directory no shim can begin */
}

static void end_unbegun(struct slurm_run *run, enum run_end_kind kind, int error,
                        const char *message) {
    struct run_end end = { .kind = kind, .exec_errno = kind == RUN_END_LAUNCH ? error : 0 };
    SET_MESSAGE(&end, "%.250s", message);
    end_without_record(run, &end);
    if (run->job && !slurm_job_is_over(run->has.state) && !run->is_forgotten)
        cancel_job(run->ex, run->job);
}

/* Nothing ran and nothing will: closes the directory and ends the run. false: a shim was first, and
 * the run is followed; or the state is unknown. */
static bool give_up(struct slurm_run *run, enum run_end_kind kind, int error, const char *message) {
    if (close_folder(run) < 0)
        return false;
    end_unbegun(run, kind, error, message);
    return true;
}

/* Same for a run without a job that is not submitted again: it ends even if its directory cannot be
 * closed. false: a shim was first. */
static bool end_jobless(struct slurm_run *run, enum run_end_kind kind, int error,
                        const char *message) {
    if (close_folder(run) == -EEXIST)
        return false;
    end_unbegun(run, kind, error, message);
    return true;
}

static void apply_begin(struct slurm_run *run, int dir) {
    struct slurm *ex = run->ex;
    uint64_t job = 0;
    int begun = folder_begun(dir, &job, run->node);
    if (begun == 2) {
        (void)give_up(run, run->stop_requested ? RUN_END_STOPPED : RUN_END_LOST, 0,
                      "it was given up before it began");
        return;
    }
    if (begun != 1)
        return;
    run->begun = true;
    run->valid_after = ex->queries;
    run->missed = 0;
    if (run->state == SLURM_QUEUED) /* an earlier sbatch was accepted after all */
        unqueue(run);
    if (run->state != SLURM_SUBMITTING)
        run->state = SLURM_FOLLOWED;
    if (run->job == job)
        return;
    if (run->job)
        cancel_job(ex, run->job);
    run->has = (struct slurm_job){ .id = job };
    set_job(run, job);
}

/* Reads from its directory whether it has begun, runs, or has ended. */
static void examine_folder(struct slurm_run *run) {
    struct run_started who;
    struct slurm_order order = { 0 };
    _cleanup_(fd_closep) int dir = -1;
    if (run->state == SLURM_OVER || run->base.has_end || folder_open(run, &dir) < 0)
        return;
    /* It could not be read when the run was adopted. */
    if (!run->order.words && folder_read_order(dir, &order) == 0)
        set_order(run, &order);
    if (!run->begun)
        apply_begin(run, dir);
    if (!run->begun)
        return;
    if (!run->base.reported_validating && rundir_read_started_at(dir, NULL, &who, NULL) == 0)
        executor_report_progress(&run->base, &who);
    if (rundir_read_end_at(dir, NULL, &run->base.end, NULL) < 0) /* missing or incomplete */
        return;
    run->base.has_end = true;
    bool is_killed_by_others = run->base.end.kind == RUN_END_SIGNAL
                               && run->base.end.signal == SIGKILL
                               && run->base.end.message[0] == '\0';
    if (!is_stopped_by_slurm(run) && !is_killed_by_others) {
        set_over(run);
        return;
    }
    run->over_since = steady_now(run->ex);
    poll_soon(run->ex);
}

/* Its job is over or unknown. */
static void conclude(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    struct run_end derived;
    time_ms now = steady_now(ex);
    if (run->over_since == 0)
        run->over_since = now;
    examine_folder(run);
    if (run->state == SLURM_OVER)
        return;
    if (run->base.has_end) {
        end_by_slurm(run);
        return;
    }
    derive_end(run, &derived);
    if (!run->begun) {
        /* A directory that cannot be closed is retried, but not forever, because there is no job
         * any more. */
        bool retries = now - run->over_since < ANSWER_LATE * ex->patience;
        (void)(retries ? give_up : end_jobless)(run, derived.kind, ENOEXEC, derived.message);
        return;
    }
    time_ms wait = run->has.state == JOB_PENDING ? ex->patience : ex->record_delay;
    if (now - run->over_since < wait)
        return;
    _cleanup_(fd_closep) int dir = -1;
    if (folder_open(run, &dir) == 0) {
        /* NFS may cache a missing name for a minute. A local change makes the client query its
         * server again. */
        (void)outside_create_with(dir, REFRESH_NAME, "", 0, NULL);
        (void)unlinkat(dir, REFRESH_NAME, 0);
        examine_folder(run);
    }
    if (run->state == SLURM_OVER || run->base.has_end)
        return;
    if (run->has.state == JOB_PENDING)
        cancel_job(ex, run->job);
    end_without_record(run, &derived);
}

static bool was_missed_for(const struct slurm_run *run, time_ms span) {
    return run->missed >= MISSED_MIN && steady_now(run->ex) - run->missed_since >= span;
}

/* It may have been submitted; now it is known that it was not. */
static void follow_jobless(struct slurm_run *run) {
    run->missed = 0;
    if (run->stop_requested)
        (void)end_jobless(run, RUN_END_STOPPED, 0, "it was stopped before it began");
    else if (run->order.words)
        queue_submit(run);
    else
        (void)end_jobless(run, RUN_END_LOST, 0,
                          "Slurm has no job of it, and its folder does not say what to "
                          "submit: look at the file system of the runs");
}

static void follow_missing(struct slurm_run *run) {
    if (run->missed++ == 0)
        run->missed_since = steady_now(run->ex);
    examine_folder(run);
    if (run->state == SLURM_OVER || !was_missed_for(run, run->ex->patience))
        return;
    if (run->state == SLURM_DOUBTFUL && !run->base.external_task) {
        follow_jobless(run);
        return;
    }
    run->is_forgotten = true; /* accounting may know more, if it is available and answers */
    if (!run->ex->use_sacct || !run->job || was_missed_for(run, ANSWER_LATE * run->ex->patience))
        conclude(run);
}

/* `job`: the answer of accounting, or NULL. */
static void follow_accounting(struct slurm_run *run, const struct slurm_job *job) {
    if (!run->is_forgotten || run->state == SLURM_OVER)
        return;
    if (job && slurm_job_is_over(job->state))
        run->has = *job;
    conclude(run);
}

/* Applies the answer to query `number`. */
static void follow_answer(struct slurm_run *run, uint64_t number) {
    if (run->listed_in != number) {
        if (number > run->valid_after)
            follow_missing(run);
        return;
    }
    run->missed = 0;
    run->is_forgotten = false;
    if (run->state == SLURM_DOUBTFUL)
        run->state = SLURM_FOLLOWED;
    bool requeued = run->begun && run->has.state == JOB_PENDING && number > run->valid_after;
    if (slurm_job_is_over(run->has.state) || requeued) {
        conclude(run);
        return;
    }
    if (!run->base.has_end)
        run->over_since = 0;
    if (run->has.state == JOB_ENDING
        || (run->has.state == JOB_RUNNING && !run->base.reported_started))
        examine_folder(run);
}

/* --- submit ----------------------------------------------------------------------------------- */

/* Submits runs to Slurm, a few at a time, and never an attempt twice.
 *
 * An sbatch that was refused, or that could not reach the controller, has created no job. After any
 * other end there may be a job: the run is doubtful until several successful lists have settled it.
 * Calls run in parallel, because an sbatch mostly waits for the controller; only a few, because it
 * has other users. */

#define FIXED_WORDS 16

static void set_doubtful(struct slurm_run *run) {
    if (run->state == SLURM_OVER)
        return;
    run->state = run->begun ? SLURM_FOLLOWED : SLURM_DOUBTFUL;
    start_missing_count(run);
    poll_soon(run->ex);
}

static void accept_job(struct slurm_run *run, uint64_t job) {
    run->state = SLURM_FOLLOWED;
    run->valid_after = run->ex->queries;
    poll_soon(run->ex);
    if (!run->begun) /* else its shim was faster than this answer, or it is a second job */
        set_job(run, job);
    if (run->stop_requested)
        set_timer_now(run->ex, run->ex->stop_timer);
}

/* sbatch has created no job, and will not: the run has failed to launch. */
static void fail_launch(struct slurm_run *run, int error, const char *message) {
    if (!end_jobless(run, RUN_END_LAUNCH, error, message))
        set_doubtful(run);
}

/* Slurm was not reached: retried later, ahead of runs that were queued after it. */
static void requeue_first(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    run->state = SLURM_QUEUED;
    run->next = ex->queue;
    if (!ex->queue)
        ex->queue_end = &run->next;
    ex->queue = run;
}

/* Without a run there is nothing to report, but an unneeded job must be canceled. */
static void apply_sbatch_answer(struct slurm *ex, struct slurm_run *run, bool unwanted,
                                const struct helper_end *end) {
    uint64_t job = 0;
    char why[160] = "", message[256];
    bool ended = end->code >= 0 && !end->timed_out; /* killed: its output is incomplete */
    enum slurm_answer answer =
        ended ? slurm_answer_read(end->output, end->code == 0, &job, why, sizeof(why))
              : ANSWER_UNCLEAR;
    if (answer == ANSWER_ACCEPTED || answer == ANSWER_REFUSED)
        controller_answered(ex);
    else
        controller_unreachable(ex, why);
    if (!run && unwanted && answer == ANSWER_ACCEPTED)
        cancel_job(ex, job);
    if (!run)
        return;
    switch (answer) {
    case ANSWER_ACCEPTED:
        accept_job(run, job);
        break;
    case ANSWER_REFUSED:
        (void)snprintf(message, sizeof(message), "sbatch refused it: %.200s", why);
        fail_launch(run, EINVAL, message);
        break;
    case ANSWER_UNREACHABLE:
        if (run->begun) /* by an earlier sbatch */
            set_doubtful(run);
        else
            requeue_first(run);
        break;
    case ANSWER_UNCLEAR:
        set_doubtful(run);
        break;
    }
}

static void submit_ended(void *ctx, const struct helper_end *end) {
    struct slurm_submit *submit = ctx;
    struct slurm *ex = submit->ex;
    struct slurm_run *run = submit->run;
    for (struct slurm_submit **at = &ex->submits; *at; at = &(*at)->next) {
        if (*at == submit) {
            *at = submit->next;
            break;
        }
    }
    ex->submitting--;
    if (run)
        run->submit = NULL;
    if (run && run->state == SLURM_OVER) { /* it was faster than this answer */
        submit->unwanted = !run->begun;
        run = NULL;
    }
    if (!end->error) {
        apply_sbatch_answer(ex, run, submit->unwanted, end);
    } else if (run) {
        char message[256];
        (void)snprintf(message, sizeof(message),
                       "cannot run '%.100s': %s; install Slurm's commands on this host",
                       ex->programs[PROGRAM_SBATCH], strerror(end->error));
        fail_launch(run, end->error, message);
    }
    free(submit);
    submit_due(ex);
}

/* The run's own options may contain anything; those that follow override them. */
static void build_words(const struct slurm_run *run, const char *script,
                        const char *words[SLURM_WORDS_MAX + FIXED_WORDS]) {
    static const char *const first[] = { "--nodes=1", "--ntasks=1" };
    static const char *const last[] = {
        "--parsable",        "--export=ALL",       "--no-requeue",      "--chdir=/",
        "--input=/dev/null", "--output=/dev/null", "--error=/dev/null",
    };
    size_t count = 0;
    words[count++] = run->ex->programs[PROGRAM_SBATCH];
    for (size_t i = 0; i < ARRAY_SIZE(first); i++)
        words[count++] = first[i];
    for (char **word = run->order.words; *word; word++)
        words[count++] = *word;
    for (size_t i = 0; i < ARRAY_SIZE(last); i++)
        words[count++] = last[i];
    words[count++] = script;
    words[count] = NULL;
}

static int submit_run(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    const char *words[SLURM_WORDS_MAX + FIXED_WORDS];
    _cleanup_(strbuf_finish) struct strbuf script = STRBUF_INIT;
    _cleanup_(freep) char *folder = xasprintf("%s/%s", ex->base.root_path, run->base.folder);
    strbuf_puts(&script, "--wrap=");
    slurm_script(&script, ex->base.shim_path, folder, ex->kill_wait);
    build_words(run, script.text, words);
    folder_watch(run); /* before anything can happen in it */
    struct slurm_submit *submit = xcalloc(1, sizeof(*submit));
    submit->ex = ex;
    submit->run = run;
    int r = slurm_call(ex, words, false, submit_ended, submit, &submit->call);
    if (r < 0) {
        free(submit);
        return r;
    }
    submit->next = ex->submits;
    ex->submits = submit;
    ex->submitting++;
    run->submit = submit;
    run->state = SLURM_SUBMITTING;
    return 0;
}

static void submit_due(void *ctx) {
    struct slurm *ex = ctx;
    time_ms now = steady_now(ex);
    uint32_t most = ex->is_unreachable ? 1 : ex->submits_at_once;
    while (ex->queue && ex->submitting < most && !ex->config_call) {
        if (now < ex->retry_at) {
            loop_timer_set(ex->base.loop, ex->submit_timer, ex->retry_at);
            return;
        }
        struct slurm_run *run = ex->queue;
        unqueue(run);
        if (submit_run(run) < 0) { /* too many processes or descriptors, for now */
            requeue_first(run);
            loop_timer_set(ex->base.loop, ex->submit_timer, now + SECONDS(1));
            return;
        }
    }
}

static void config_ended(void *ctx, const struct helper_end *end) {
    struct slurm *ex = ctx;
    struct slurm_config config = { .kill_wait = ex->kill_wait };
    ex->config_call = NULL;
    if (call_succeeded(end)) {
        slurm_config_read(end->output, &config);
        ex->configured = true;
        ex->kill_wait = config.kill_wait;
        if (config.cluster[0])
            (void)snprintf(ex->base.boot_id, sizeof(ex->base.boot_id), "slurm:%.33s",
                           config.cluster);
        if (!config.accounting)
            ex->use_sacct = false;
        controller_answered(ex);
    }
    submit_due(ex); /* runs that waited for it are submitted, whatever the answer */
}

/* Not asked again after an answer. */
static void query_config(struct slurm *ex) {
    const char *const argv[] = { ex->programs[PROGRAM_SCONTROL], "show", "config", NULL };
    if (!ex->configured && !ex->config_call)
        (void)slurm_call(ex, argv, true, config_ended, ex, &ex->config_call);
}

/* --- poll ------------------------------------------------------------------------------------- */

/* Queries Slurm about all runs at once, no more often than useful.
 *
 * One squeue lists every job of this user with its comment, including recently ended ones, so a job
 * is found by its token whether its number is known or not. Queries come soon after a change, ever
 * less often while nothing changes, and never while there is nothing to ask about. An answer is
 * valid for the time of its query; a query without an answer proves nothing. */

#define COST_SHARE    30 /* queries take at most 1/COST_SHARE of the time */
#define EXAMINED_EACH 64 /* directories examined routinely after each answer */

static bool is_polled(const struct slurm_run *run) {
    return run && (run->state == SLURM_DOUBTFUL || run->state == SLURM_FOLLOWED);
}

/* It can change without any notification to us. */
static bool needs_fast_polling(const struct slurm_run *run) {
    if (!is_polled(run))
        return false;
    bool begins = run->has.state == JOB_RUNNING && !run->base.reported_started;
    return begins || run->state == SLURM_DOUBTFUL || run->missed > 0 || run->over_since > 0
           || run->stop_requested || run->has.state == JOB_ENDING;
}

/* After a lost answer there may be two jobs for one run. The one that begins first owns it; until
 * then both stay, because canceling either might end the one that begins. */
static void apply_job(struct slurm_run *run, const struct slurm_job *job, uint64_t number) {
    if (run->job && run->job != job->id) {
        if (run->begun && !slurm_job_is_over(job->state) && job->state != JOB_ENDING)
            cancel_job(run->ex, job->id);
        return;
    }
    if (run->has.state != job->state || strcmp(run->has.reason, job->reason) != 0)
        run->ex->busy = true;
    run->has = *job;
    run->listed_in = number;
    if (!run->job)
        set_job(run, job->id);
}

static bool job_same(const void *ctx, uint32_t handle, const void *key) {
    return slurm_at(ctx, handle)->job == *(const uint64_t *)key;
}

/* The comment is not reliable: the site or the owner of the job may overwrite it. `by_job` is
 * filled when it is needed first: a list may have thousands of unrelated jobs. */
static struct slurm_run *find_renamed(struct slurm *ex, struct id_map *by_job,
                                      const struct slurm_job *job, const char *comment) {
    if (by_job->capacity == 0)
        for (struct slurm_run *run = NULL; (run = next_run(ex, run));)
            if (is_polled(run) && run->job)
                id_map_add(by_job, hash_u64(run->job), run->base.index);
    uint32_t index = id_map_find(by_job, hash_u64(job->id), &job->id);
    struct slurm_run *found = index ? slurm_at(ex, index) : NULL;
    return found && slurm_job_is_renamed(job, comment, &found->order) ? found : NULL;
}

/* Reports no end, so no run is freed; but a run may lose or get a job. */
static void apply_list(struct slurm *ex, char *list, uint64_t number) {
    _cleanup_(id_map_finish) struct id_map by_job = { .same = job_same, .ctx = ex };
    struct slurm_job job;
    const char *token;
    while (slurm_job_read(&list, &job, &token)) {
        struct slurm_run *run = find_by_token(ex, token);
        if (!run)
            run = find_renamed(ex, &by_job, &job, token);
        if (is_polled(run))
            apply_job(run, &job, number);
        else if (!run && !slurm_job_is_over(job.state))
            lose_job(ex, job.id, NULL);
    }
    for (struct slurm_run *run = NULL; (run = next_run(ex, run));)
        if (is_polled(run))
            follow_answer(run, number);
}

/* A shared file system does not report changes made on another host. */
static void examine_some(struct slurm *ex) {
    size_t left = ex->base.runs.count < EXAMINED_EACH ? ex->base.runs.count : EXAMINED_EACH;
    for (; left > 0; left--) {
        ex->examine_next = ex->examine_next + 1 < ex->base.runs.count ? ex->examine_next + 1 : 1;
        struct slurm_run *run =
            ex->examine_next < ex->base.runs.count ? slurm_at(ex, ex->examine_next) : NULL;
        if (is_polled(run) && run->begun)
            examine_folder(run);
    }
}

static void sacct_ended(void *ctx, const struct helper_end *end) {
    struct slurm *ex = ctx;
    struct slurm_job job;
    const char *token;
    ex->sacct_call = NULL;
    if (!call_succeeded(end)) {
        ex->busy = true;
        return;
    }
    _cleanup_(freep) char *text = xstrndup(end->output, end->size);
    for (char *list = text; slurm_job_read(&list, &job, &token);)
        for (struct slurm_run *run = NULL; (run = next_run(ex, run));)
            if (is_polled(run) && run->job == job.id)
                follow_accounting(run, &job);
    for (struct slurm_run *run = NULL; (run = next_run(ex, run));)
        if (is_polled(run) && run->is_forgotten && run->job && run->sacct_job == run->job)
            follow_accounting(run, NULL);
}

/* Jobs that the controller has forgotten. One call for all of them. */
static void query_accounting(struct slurm *ex) {
    _cleanup_(strbuf_finish) struct strbuf ids = STRBUF_INIT;
    if (ex->sacct_call)
        return;
    for (struct slurm_run *run = NULL; (run = next_run(ex, run));) {
        run->sacct_job = is_polled(run) && run->is_forgotten ? run->job : 0;
        if (run->sacct_job)
            strbuf_printf(&ids, "%s%" PRIu64, ids.length ? "," : "", run->job);
    }
    if (ids.length == 0)
        return;
    const char *const argv[] = { ex->programs[PROGRAM_SACCT],
                                 "--allocations",
                                 "--noheader",
                                 "--parsable2",
                                 "--starttime=now-7days",
                                 "--jobs",
                                 ids.text,
                                 ("--format=" SLURM_SACCT_COLUMNS),
                                 NULL };
    if (slurm_call(ex, argv, true, sacct_ended, ex, &ex->sacct_call) < 0)
        ex->busy = true;
}

static void schedule_poll(struct slurm *ex) {
    bool wanted = false, restless = ex->busy;
    for (struct slurm_run *run = NULL; (run = next_run(ex, run));) {
        if (is_polled(run))
            follow_late(run);
        wanted = wanted || is_polled(run);
        restless = restless || needs_fast_polling(run);
    }
    if (!wanted)
        return;
    time_ms now = steady_now(ex);
    ex->poll_earliest = now + time_min(COST_SHARE * (now - ex->queried_at), ex->poll_idle);
    ex->poll_delay = restless ? ex->poll_busy : time_min(2 * ex->poll_delay, ex->poll_idle);
    ex->busy = false;
    if (ex->is_unreachable)
        ex->poll_delay = time_max(ex->poll_delay, ex->retry_delay);
    poll_no_later(ex, now + ex->poll_delay);
}

static void squeue_ended(void *ctx, const struct helper_end *end) {
    struct slurm *ex = ctx;
    uint64_t number = ex->queries;
    ex->squeue_call = NULL;
    if (call_succeeded(end)) {
        _cleanup_(freep) char *list = xstrndup(end->output, end->size);
        controller_answered(ex);
        query_config(ex);
        apply_list(ex, list, number);
        examine_some(ex);
        if (ex->use_sacct)
            query_accounting(ex);
    } else {
        controller_unreachable(ex, NULL);
    }
    schedule_poll(ex);
}

static void poll_due(void *ctx) {
    struct slurm *ex = ctx;
    const char *const argv[] = {
        ex->programs[PROGRAM_SQUEUE],       "--me", "--noheader", "--states=all",
        ("--Format=" SLURM_SQUEUE_COLUMNS), NULL
    };
    ex->poll_at = TIME_NEVER;
    if (ex->squeue_call)
        return;
    ex->queries++;
    ex->queried_at = steady_now(ex);
    if (slurm_call(ex, argv, true, squeue_ended, ex, &ex->squeue_call) < 0)
        schedule_poll(ex);
}

/* --- cancel ----------------------------------------------------------------------------------- */

/* Stops runs on other hosts, and cancels unneeded jobs.
 *
 * A run that has not begun is closed: it will never run, whatever happens to its job. A run that
 * has begun is stopped through its shim (a signal for the batch script only, which is the shim), so
 * that it gets its grace period and its end is recorded. Only if that fails, Slurm ends the
 * complete job. All due runs share one call. */

#define STEP_MARGIN  SECONDS(15)
#define UNWANTED_MAX 20 /* consecutive failed calls before jobs of closed runs are abandoned */

enum { STEP_SIGNAL, STEP_CANCEL, STEP_KILL };

static int slurm_stop(struct executor *base, struct run_key key, enum stop_how how) {
    struct slurm *ex = slurm_of(base);
    struct slurm_run *run = run_table_find(&ex->base.runs, key);
    if (!run || run->state == SLURM_OVER)
        return -ENOENT;
    if (run->stop_requested && (run->stop_how == how || run->stop_how == STOP_IMMEDIATELY))
        return 0;
    run->stop_requested = true;
    run->stop_how = how;
    run->stop_step = STEP_SIGNAL;
    run->stop_at = steady_now(ex);
    set_timer_now(ex, ex->stop_timer);
    return 0;
}

/* Closes a run that has not begun. true: closed. */
static bool stop_unbegun(struct slurm_run *run) {
    if (run->begun || run->state == SLURM_OVER)
        return run->state == SLURM_OVER;
    static const char why[] = "it was stopped before it began";
    if (run->state == SLURM_QUEUED)
        unqueue(run);
    bool closed = run->state == SLURM_QUEUED ? end_jobless(run, RUN_END_STOPPED, 0, why)
                                             : give_up(run, RUN_END_STOPPED, 0, why);
    if (closed || run->begun)
        return closed;
    if (run->state == SLURM_QUEUED)
        queue_submit(run);
    else if (run->job && !slurm_job_is_over(run->has.state)) /* then its job must not begin */
        cancel_job(run->ex, run->job);
    return false;
}

static void cancel_ended(void *ctx, const struct helper_end *end) {
    struct slurm *ex = ctx;
    bool good = call_succeeded(end);
    time_ms now = steady_now(ex);
    ex->cancel_call = NULL;
    /* A job that has already ended is not an error (--quiet); all other failures are retried. */
    for (size_t i = 0; i < ex->cancel_count && !good; i++)
        for (struct slurm_run *run = NULL; (run = next_run(ex, run));)
            if (run->job == ex->cancel_jobs[i] && run->stop_requested) {
                run->stop_step = ex->cancel_step;
                run->stop_at = now + 2 * ex->retry;
            }
    if (ex->cancel_unwanted) {
        ex->unwanted_tries = good ? 0 : ex->unwanted_tries + 1;
        if (good || ex->unwanted_tries >= UNWANTED_MAX) {
            ex->unwanted_count -= ex->cancel_count;
            memmove(ex->unwanted, ex->unwanted + ex->cancel_count,
                    ex->unwanted_count * sizeof(uint64_t));
            ex->unwanted_tries = 0;
        }
    }
    poll_soon(ex);
    loop_timer_set(ex->base.loop, ex->stop_timer, good ? now : now + 2 * ex->retry);
}

static void call_scancel(struct slurm *ex, const char *const *options) {
    char ids[CANCELS_EACH][24];
    const char *argv[CANCELS_EACH + 8];
    size_t count = 0;
    argv[count++] = ex->programs[PROGRAM_SCANCEL];
    argv[count++] = "--quiet";
    for (; *options; options++)
        argv[count++] = *options;
    for (size_t i = 0; i < ex->cancel_count; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "%" PRIu64, ex->cancel_jobs[i]);
        argv[count++] = ids[i];
    }
    argv[count] = NULL;
    if (slurm_call(ex, argv, false, cancel_ended, ex, &ex->cancel_call) < 0)
        loop_timer_set(ex->base.loop, ex->stop_timer, steady_now(ex) + 2 * ex->retry);
}

static bool is_due(const struct slurm_run *run, time_ms now) {
    return run && run->stop_requested && run->begun && run->job && run->state != SLURM_OVER
           && !run->base.has_end && now >= run->stop_at;
}

static void advance_stop(struct slurm_run *run, time_ms now) {
    struct slurm *ex = run->ex;
    time_ms wait = run->stop_how == STOP_GRACEFULLY ? run->order.grace : 0;
    if (run->stop_step == STEP_CANCEL)
        wait = ex->kill_wait;
    run->stop_at = time_add(now, time_add(wait, STEP_MARGIN));
    if (run->stop_step < STEP_KILL)
        run->stop_step++;
}

/* One call for `first` and all runs that are due to get the same signal. */
static void signal_due_runs(struct slurm *ex, const struct slurm_run *first, time_ms now) {
    static const char *const grace_first[] = { "--batch", "--signal=USR2", NULL };
    static const char *const at_once[] = { "--batch", "--signal=USR1", NULL };
    static const char *const cancel[] = { NULL };
    static const char *const kill[] = { "--full", "--signal=KILL", NULL };
    unsigned step = first->stop_step;
    enum stop_how how = first->stop_how;
    ex->cancel_count = 0;
    ex->cancel_step = step;
    ex->cancel_unwanted = false;
    for (size_t i = first->base.index; i < ex->base.runs.count && ex->cancel_count < CANCELS_EACH;
         i++) {
        struct slurm_run *run = slurm_at(ex, i);
        if (!is_due(run, now) || run->stop_step != step || run->stop_how != how)
            continue;
        ex->cancel_jobs[ex->cancel_count++] = run->job;
        advance_stop(run, now);
    }
    call_scancel(ex, step == STEP_CANCEL      ? cancel
                     : step == STEP_KILL      ? kill
                     : how == STOP_GRACEFULLY ? grace_first
                                              : at_once);
}

static void cancel_unwanted(struct slurm *ex) {
    static const char *const options[] = { NULL };
    size_t count = 0;
    for (size_t i = 0; i < ex->unwanted_count; i++)
        if (ex->unwanted[i])
            ex->unwanted[count++] = ex->unwanted[i];
    ex->unwanted_count = count;
    if (count == 0)
        return;
    ex->cancel_count = count < CANCELS_EACH ? count : CANCELS_EACH;
    memcpy(ex->cancel_jobs, ex->unwanted, ex->cancel_count * sizeof(uint64_t));
    ex->cancel_unwanted = true;
    call_scancel(ex, options);
}

static void stop_due(void *ctx) {
    struct slurm *ex = ctx;
    time_ms now = steady_now(ex), next = TIME_NEVER;
    struct slurm_run *first = NULL;
    for (struct slurm_run *run = NULL; (run = next_run(ex, run));) {
        if (!run->stop_requested || run->state == SLURM_OVER || stop_unbegun(run))
            continue;
        if (!first && is_due(run, now))
            first = run;
        if (!run->begun)
            run->stop_at = now + 2 * ex->retry;
        if (!is_due(run, now))
            next = time_min(next, run->stop_at);
    }
    if (!ex->cancel_call && first)
        signal_due_runs(ex, first, now);
    else if (!ex->cancel_call && ex->unwanted_count > 0)
        cancel_unwanted(ex);
    else if (next != TIME_NEVER && !ex->cancel_call) /* rescheduled when the call ends */
        loop_timer_set(ex->base.loop, ex->stop_timer, time_max(next, now + 1));
}

/* --- adopt and sweep -------------------------------------------------------------------------- */

/* Adopts runs that an earlier daemon, or one on another host, has submitted.
 *
 * The directory has everything: what to submit, who has begun, how it ended. A run without a known
 * job may still have one (the answer was lost with the daemon that waited for it), so it is
 * searched before it is submitted. Only a run whose directory is missing or incomplete can be
 * reported as lost at once, if the directory can be closed. If not, Slurm is asked for its job
 * first. */

static void follow_adopted(struct slurm_run *run, int dir) {
    struct slurm *ex = run->ex;
    run->job = dir >= 0 ? folder_read_job(dir) : 0;
    run->state = run->job ? SLURM_FOLLOWED : SLURM_DOUBTFUL;
    run->valid_after = ex->queries;
    run->missed_since = steady_now(ex);
    folder_watch(run);
    poll_soon(ex);
    set_timer_now(ex, ex->examine_timer);
}

static enum adopted slurm_adopt(struct executor *base, struct run_key key, const char *folder,
                                const struct executor_known *known) {
    struct slurm *ex = slurm_of(base);
    struct slurm_order order = { 0 };
    _cleanup_(fd_closep) int dir = -1;
    (void)known; /* the boot id of a host is irrelevant for a job */
    if (run_table_find(&ex->base.runs, key))
        return ADOPTED_ALIVE;
    int r = rundir_open_at(ex->base.root, folder, &dir, NULL);
    if (r == 0)
        r = folder_read_order(dir, &order);
    struct slurm_run *run = slurm_run_new(ex, key, folder, &order);
    bool unsubmitted = r == -ENOENT || r == -ENOTDIR || r == -EPROTO;
    if (unsubmitted
        && give_up(run, RUN_END_LOST, 0,
                   "its folder is gone, or it was never handed over to Slurm"))
        return ADOPTED_LOST;
    follow_adopted(run, dir);
    struct run_end end; /* of a run that Slurm has ended: the reason is queried first */
    bool has_ended = dir >= 0 && rundir_read_end_at(dir, NULL, &end, NULL) == 0;
    return has_ended && !is_end_by_slurm(&end) ? ADOPTED_ENDED : ADOPTED_ALIVE;
}

static enum sweep_verdict slurm_sweep_folder(struct executor *base, const char *folder,
                                             const char *task, uint32_t attempt) {
    struct slurm *ex = slurm_of(base);
    struct slurm_order order = { 0 };
    struct run_started who = { 0 };
    struct run_end end;
    uint64_t job;
    char node[SLURM_NODE_MAX];
    _cleanup_(fd_closep) int dir = -1;
    if (rundir_open_at(base->root, folder, &dir, NULL) < 0)
        return SWEEP_KEEP;
    int r = folder_read_order(dir, &order);
    if (r == -EPROTO)
        return SWEEP_REMOVE; /* incomplete, so never submitted */
    if (r < 0)
        return SWEEP_KEEP; /* not ours, or unknown for now */
    if (rundir_read_end_at(dir, NULL, &end, NULL) == 0 || folder_begun(dir, &job, node) == 2) {
        slurm_order_finish(&order);
        return SWEEP_REMOVE;
    }
    struct slurm_run *run = slurm_run_new(ex, (struct run_key){ 0 }, folder, &order);
    follow_adopted(run, dir);
    (void)rundir_read_started_at(dir, NULL, &who, NULL);
    executor_report_external(&run->base, task, attempt, &who);
    return SWEEP_KEEP;
}

/* Reports the state in the directories of adopted runs, once, from the loop. */
static void examine_due(void *ctx) {
    struct slurm *ex = ctx;
    for (struct slurm_run *run = NULL; (run = next_run(ex, run));)
        examine_folder(run);
}

/* --- start and describe ----------------------------------------------------------------------- */

static int slurm_start(struct executor *base, struct run_key key, const char *folder,
                       const struct run_spec *spec, struct error *err) {
    struct slurm *ex = slurm_of(base);
    _cleanup_(slurm_order_finish) struct slurm_order order = { 0 };
    if (run_table_find(&ex->base.runs, key))
        return error_set(err, -EEXIST, "run '%s' is already there", spec->run);
    _cleanup_(freep) char *token = spec->token ? xstrdup(spec->token) : make_token(ex, key);
    if (find_by_token(ex, token))
        return error_set(err, -EEXIST, "a run with the token '%s' is already there", token);
    struct run_spec full = *spec;
    full.cgroup = NULL;  /* Slurm's own is used */
    full.boot_id = NULL; /* of the node, not of this host */
    full.unlocked = true;
    int r = slurm_order_make(&full, token, &order, err);
    if (r >= 0)
        r = folder_create(ex, folder, &full, &order, err);
    if (r < 0)
        return r;
    queue_submit(slurm_run_new(ex, key, folder, &order));
    return 0;
}

static void describe_followed(const struct slurm_run *run, struct strbuf *out) {
    if (run->begun)
        strbuf_printf(out, "on node %s", run->node);
    else if (run->has.state == JOB_PENDING)
        strbuf_printf(out, "pending in Slurm: %s", run->has.reason[0] ? run->has.reason : "None");
    else if (run->has.state == JOB_RUNNING)
        strbuf_printf(out, "starting on node %s", run->has.node);
    else
        strbuf_puts(out, "submitted to Slurm");
    strbuf_printf(out, " (job %" PRIu64 ")", run->job);
    if (run->missed > 0)
        strbuf_puts(out, "; not in Slurm's list");
}

static bool slurm_describe_run(const struct executor *base, struct run_key key,
                               struct strbuf *out) {
    const struct slurm *ex = (const struct slurm *)base;
    const struct slurm_run *run = run_table_find(&ex->base.runs, key);
    if (!run || run->state == SLURM_OVER)
        return false;
    time_ms left = time_max(ex->retry_at - steady_now(ex), 0);
    if (run->state == SLURM_QUEUED && ex->is_unreachable)
        strbuf_printf(out, "slurmctld is away: submitting again in %d s%s%s",
                      (int)((left + 999) / 1000), ex->unreachable_why[0] ? ": " : "",
                      ex->unreachable_why);
    else if (run->state == SLURM_QUEUED)
        strbuf_puts(out, "to be submitted to Slurm");
    else if (run->state == SLURM_SUBMITTING && !run->begun)
        strbuf_puts(out, "being submitted to Slurm");
    else if (run->state == SLURM_DOUBTFUL)
        strbuf_puts(out, "perhaps submitted to Slurm: looking for its job");
    else
        describe_followed(run, out);
    if (run->state != SLURM_QUEUED && ex->is_unreachable)
        strbuf_puts(out, "; slurmctld is away");
    return true;
}

/* --- installed programs ----------------------------------------------------------------------- */

/* Searched as a shell would, without running any. The controller is queried when a run needs it,
 * and by the doctor command. */

#define FIX_CLIENT                                                                                 \
    "sudo apt install slurm-client # or set slurm.programs to the folder of the commands"

/* In the configured folder, else its name, which is searched in PATH. */
static char *program_path(const struct executor_slurm_options *options,
                          enum slurm_program program) {
    const char *name = slurm_program_name(program);
    return options->programs ? xasprintf("%s/%s", options->programs, name) : xstrdup(name);
}

static bool is_installed(const char *program, const char *path) {
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, ":");
        _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT;
        strbuf_printf(&file, "%.*s/%s", (int)length, at, program);
        if (length > 0 && access(file.text, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static size_t slurm_features(const struct executor_slurm_options *options,
                             struct executor_feature ret[EXECUTOR_FEATURES_MAX]) {
    static const char *const instead[] = {
        [PROGRAM_SBATCH] = "nothing: no run can be handed over to Slurm",
        [PROGRAM_SQUEUE] = "nothing: no run can be followed",
        [PROGRAM_SCANCEL] = "nothing: runs end when they like",
        [PROGRAM_SCONTROL] = "Slurm's usual time between TERM and KILL is assumed",
        [PROGRAM_SACCT] =
            "a job that the controller has forgotten and that has recorded no end is lost",
        [PROGRAM_SINFO] = "no limit can follow the size of a partition",
    };
    static const enum slurm_program order[] = { PROGRAM_SBATCH,   PROGRAM_SQUEUE, PROGRAM_SCANCEL,
                                                PROGRAM_SCONTROL, PROGRAM_SACCT,  PROGRAM_SINFO };
    const char *path = env_find(options->env ? options->env : (const char *const *)environ, "PATH");
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        _cleanup_(freep) char *program = program_path(options, order[i]);
        ret[i] = (struct executor_feature){
            .name = slurm_program_name(order[i]),
            .there = is_installed(program, path ? path : "/usr/local/bin:/usr/bin:/bin"),
            .instead = instead[order[i]],
            .fix = FIX_CLIENT,
        };
    }
    return ARRAY_SIZE(order);
}

size_t executor_slurm_probe(const struct executor_slurm_options *options,
                            const struct executor_feature **ret) {
    static struct executor_feature items[EXECUTOR_FEATURES_MAX];
    *ret = items;
    return slurm_features(options, items);
}

/* --- life of the executor --------------------------------------------------------------------- */

static void slurm_free(struct executor *base) {
    struct slurm *ex = slurm_of(base);
    executor_free_runs(base);
    while (ex->submits) { /* running calls continue without us */
        struct slurm_submit *submit = ex->submits;
        ex->submits = submit->next;
        helper_kill(submit->call);
        free(submit);
    }
    struct helper_process *const calls[] = { ex->config_call, ex->squeue_call, ex->sacct_call,
                                             ex->cancel_call };
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        helper_kill(calls[i]);
    struct loop_timer *const timers[] = { ex->over_timer, ex->submit_timer, ex->poll_timer,
                                          ex->stop_timer, ex->examine_timer };
    for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
        loop_timer_free(ex->base.loop, timers[i]);
    loop_unwatch(ex->base.loop, ex->inotify_watch);
    fd_closep(&ex->inotify);
    id_map_finish(&ex->by_token);
    id_map_finish(&ex->by_watch);
    for (size_t i = 0; i < SLURM_PROGRAM_MAX; i++)
        free(ex->programs[i]);
    for (char **variable = ex->env; variable && *variable; variable++)
        free(*variable);
    free(ex->env);
    free(ex->unwanted);
    free(ex->cluster);
    executor_finish(base);
}

static const struct executor_backend slurm_backend = {
    .start = slurm_start,
    .stop = slurm_stop,
    .adopt = slurm_adopt,
    .sweep_folder = slurm_sweep_folder,
    .describe_run = slurm_describe_run,
    .free_run = slurm_run_free,
    .free = slurm_free,
};

/* On a local disk there is no delay: the record is visible before the job is over. */
static bool is_shared(int root) {
    static const uint32_t local[] = {
        0xef53 /* ext4 */,      0x58465342 /* xfs */,     0x01021994 /* tmpfs */,
        0x9123683e /* btrfs */, 0x794c7630 /* overlay */, 0x2fc12fc1 /* zfs */,
        0xf2f52010 /* f2fs */,
    };
    struct statfs fs;
    if (fstatfs(root, &fs) < 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(local); i++)
        if ((uint32_t)fs.f_type == local[i])
            return false;
    return true;
}

/* The path is kept as given: a symlink may resolve differently on the nodes, to the same
 * directory. */
static int open_root(struct executor *base, const char *root, struct error *err) {
    if (mkdir(root, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, "make folder", root);
    base->root_path = root[0] == '/' ? xstrdup(root) : realpath(root, NULL);
    if (!base->root_path)
        return error_set_errno(err, "open folder", root);
    base->root =
        outside_open(AT_FDCWD, base->root_path, O_RDONLY | O_DIRECTORY | OUTSIDE_LINKS, NULL, err);
    return base->root < 0 ? base->root : 0;
}

static void copy_options(struct slurm *ex, const struct executor_slurm_options *options) {
    for (size_t i = 0; i < SLURM_PROGRAM_MAX; i++)
        ex->programs[i] = program_path(options, (enum slurm_program)i);
    ex->cluster = xstrdup(options->cluster ? options->cluster : "local");
    ex->poll_idle = options->poll_idle ? options->poll_idle : POLL_IDLE;
    ex->poll_busy = options->poll_busy ? options->poll_busy : POLL_BUSY;
    ex->patience = options->patience ? options->patience : PATIENCE;
    ex->retry = options->retry ? options->retry : RETRY;
    ex->submits_at_once = options->submits_at_once ? options->submits_at_once : SUBMITS_AT_ONCE;
    ex->use_sacct = options->use_sacct;
    const char *const *env = options->env ? options->env : (const char *const *)environ;
    size_t count = 0;
    while (env[count])
        count++;
    ex->env = xcalloc(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++)
        ex->env[i] = xstrdup(env[i]);
}

int executor_slurm_new(struct loop *loop, const struct executor_slurm_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err) {
    struct slurm *ex = xcalloc(1, sizeof(*ex));
    executor_init(&ex->base, &slurm_backend, loop, &options->base, events);
    ex->inotify = -1;
    ex->queue_end = &ex->queue;
    ex->kill_wait = KILL_WAIT;
    ex->poll_at = TIME_NEVER;
    id_map_init(&ex->by_token, token_same, ex);
    id_map_init(&ex->by_watch, watch_same, ex);
    copy_options(ex, options);
    ex->over_timer = loop_timer_new(loop, report_ends, ex);
    ex->submit_timer = loop_timer_new(loop, submit_due, ex);
    ex->poll_timer = loop_timer_new(loop, poll_due, ex);
    ex->stop_timer = loop_timer_new(loop, stop_due, ex);
    ex->examine_timer = loop_timer_new(loop, examine_due, ex);
    (void)snprintf(ex->base.boot_id, sizeof(ex->base.boot_id), "slurm");
    int r = open_root(&ex->base, options->base.root, err);
    if (r < 0) {
        slurm_free(&ex->base);
        return r;
    }
    ex->record_delay =
        is_shared(ex->base.root) ? ex->patience : time_min(RECORD_LOCAL, ex->patience);
    ex->base.trash = trash_new(loop, ex->base.root, &ex->base.live);
    ex->base.feature_count = slurm_features(options, ex->base.features);
    query_config(ex);
    *ret = &ex->base;
    return 0;
}
