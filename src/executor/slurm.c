/* slurm.c: makes the executor of Slurm, keeps its runs, and starts them.
 *
 * A start is a folder and a place in a queue; sbatch comes later, beside the loop. Once the folder is whole the
 * run is not forgotten any more, whatever happens to this process. */
#include "executor/slurm.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "executor/slurm_internal.h"
#include "executor/trash.h"
#include "os/files.h"
#include "os/outside.h"

#define POLL_IDLE       SECONDS(15)
#define POLL_BUSY       SECONDS(1)
#define PATIENCE        SECONDS(15)
#define RETRY           SECONDS(1)
#define RECORD_LOCAL    SECONDS(1)
#define SUBMITS_AT_ONCE 8
#define KILL_WAIT       SECONDS(30) /* Slurm's own default, until it is asked */

/* --- the table of runs ----------------------------------------------------------------------- */

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

struct slurm_run *slurm_find(const struct slurm *ex, struct run_key key) {
    return run_table_find(&ex->runs, key);
}

struct slurm_run *slurm_find_token(const struct slurm *ex, const char *token) {
    uint32_t index = id_map_find(&ex->by_token, token_hash(token), token);
    return index ? slurm_at(ex, index) : NULL;
}

static void drop_order(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->order.token && slurm_find_token(ex, run->order.token) == run)
        id_map_remove(&ex->by_token, token_hash(run->order.token), run->order.token);
    slurm_order_finish(&run->order);
}

static char *make_token(const struct slurm *ex, struct run_key key) {
    struct strbuf token = STRBUF_INIT;
    strbuf_printf(&token, "sluice:%s:%" PRIu64 ":%" PRIu32, ex->cluster, (uint64_t)key.task,
                  key.attempt);
    return strbuf_take(&token);
}

void slurm_run_set_order(struct slurm_run *run, struct slurm_order *order) {
    drop_order(run);
    run->order = *order;
    *order = (struct slurm_order){ 0 };
    if (run->order.token && !slurm_find_token(run->ex, run->order.token))
        id_map_add(&run->ex->by_token, token_hash(run->order.token), run->index);
}

struct slurm_run *slurm_run_new(struct slurm *ex, struct run_key key, const char *folder,
                                struct slurm_order *order) {
    struct slurm_run *run = xcalloc(1, sizeof(*run));
    run->ex = ex;
    run->key = key;
    run->state = SLURM_DOUBTFUL;
    run->folder = xstrdup(folder);
    run->watch = run->lock_watch = -1;
    run->index = run_table_add(&ex->runs, run, key, run->folder);
    if (!order->token && key.task != 0)
        order->token = make_token(ex, key);
    slurm_run_set_order(run, order);
    ex->base.live++;
    return run;
}

void slurm_run_free(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->submit) {
        run->submit->run = NULL;
        run->submit->unwanted = !run->begun;
    }
    if (run->state == SLURM_QUEUED)
        slurm_unqueue(run);
    if (run->state == SLURM_OVER)
        ex->over_count--;
    slurm_folder_unwatch(run);
    drop_order(run);
    run_table_remove(&ex->runs, run->index);
    free(run->folder);
    free(run->external_task);
    free(run);
    ex->base.live--;
}

/* A controller that was killed forgets what it had accepted last, and gives the same numbers out again. Whoever had
 * the number before has no job: it is looked for by its token, and nobody is signalled in its place. */
void slurm_lose_job(struct slurm *ex, uint64_t job, const struct slurm_run *to) {
    for (size_t i = 1; i < ex->runs.count; i++) {
        struct slurm_run *run = slurm_at(ex, i);
        if (!run || run == to || run->job != job || run->state == SLURM_OVER)
            continue;
        run->job = 0;
        run->has = (struct slurm_job){ 0 };
        if (run->state == SLURM_FOLLOWED && !run->begun) {
            run->state = SLURM_DOUBTFUL;
            run->missed = 0;
            run->missed_since = loop_now_steady(ex->loop);
            run->heard_after = ex->asks;
        }
        slurm_ask_soon(ex);
    }
    for (size_t i = 0; to && i < ex->unwanted_count; i++)
        if (ex->unwanted[i] == job)
            ex->unwanted[i] = 0; /* somebody needs it now */
}

void slurm_set_job(struct slurm_run *run, uint64_t job) {
    slurm_lose_job(run->ex, job, run);
    run->job = job;
    slurm_folder_write_job(run);
}

void slurm_set_over(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->state == SLURM_QUEUED)
        slurm_unqueue(run);
    if (run->state == SLURM_OVER)
        return;
    run->state = SLURM_OVER;
    ex->over_count++;
    loop_timer_set(ex->loop, ex->over_timer, loop_now_steady(ex->loop));
}

/* Adopted runs, once: what their folders say is told from the loop. */
static void look_due(void *ctx) {
    struct slurm *ex = ctx;
    for (size_t i = 1; i < ex->runs.count; i++)
        if (slurm_at(ex, i))
            slurm_look(slurm_at(ex, i));
}

/* --- start ----------------------------------------------------------------------------------- */

static int slurm_start(struct executor *base, struct run_key key, const char *folder,
                       const struct run_spec *spec, struct error *err) {
    struct slurm *ex = slurm_of(base);
    _cleanup_(slurm_order_finish) struct slurm_order order = { 0 };
    if (slurm_find(ex, key))
        return error_set(err, -EEXIST, "run '%s' is already there", spec->run);
    _cleanup_(freep) char *token = spec->token ? xstrdup(spec->token) : make_token(ex, key);
    if (slurm_find_token(ex, token))
        return error_set(err, -EEXIST, "a run with the token '%s' is already there", token);
    struct run_spec full = *spec;
    full.cgroup = NULL;  /* that of Slurm stays */
    full.boot_id = NULL; /* of its own host, which is not ours */
    full.unlocked = true;
    int r = slurm_order_make(&full, token, &order, err);
    if (r >= 0)
        r = slurm_folder_create(ex, folder, &full, &order, err);
    if (r < 0)
        return r;
    slurm_queue(slurm_run_new(ex, key, folder, &order));
    return 0;
}

static void slurm_forget(struct executor *base, const char *task) {
    struct slurm *ex = slurm_of(base);
    if (!run_table_has_task(&ex->runs, task)) /* else the sweep of the next start takes it */
        (void)trash_throw(ex->trash, task);
}

static void say_followed(const struct slurm_run *run, struct strbuf *out) {
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

static bool slurm_doing(const struct executor *base, struct run_key key, struct strbuf *out) {
    const struct slurm *ex = (const struct slurm *)base;
    const struct slurm_run *run = slurm_find(ex, key);
    if (!run || run->state == SLURM_OVER)
        return false;
    time_ms left = time_max(ex->away_until - loop_now_steady(ex->loop), 0);
    if (run->state == SLURM_QUEUED && ex->away)
        strbuf_printf(out, "slurmctld is away: submitting again in %d s%s%s",
                      (int)((left + 999) / 1000), ex->away_why[0] ? ": " : "", ex->away_why);
    else if (run->state == SLURM_QUEUED)
        strbuf_puts(out, "to be submitted to Slurm");
    else if (run->state == SLURM_SUBMITTING && !run->begun)
        strbuf_puts(out, "being submitted to Slurm");
    else if (run->state == SLURM_DOUBTFUL)
        strbuf_puts(out, "perhaps submitted to Slurm: looking for its job");
    else
        say_followed(run, out);
    if (run->state != SLURM_QUEUED && ex->away)
        strbuf_puts(out, "; slurmctld is away");
    return true;
}

/* --- life ------------------------------------------------------------------------------------ */

static void slurm_free(struct executor *base) {
    struct slurm *ex = slurm_of(base);
    for (size_t i = 1; i < ex->runs.count; i++)
        if (slurm_at(ex, i))
            slurm_run_free(slurm_at(ex, i));
    slurm_submits_free(ex);
    struct aside *const calls[] = { ex->config_call, ex->ask_call, ex->sacct_call,
                                    ex->cancel_call };
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        aside_kill(calls[i]);
    struct loop_timer *const timers[] = { ex->over_timer, ex->submit_timer, ex->ask_timer,
                                          ex->stop_timer, ex->look_timer };
    for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
        loop_timer_free(ex->loop, timers[i]);
    loop_unwatch(ex->loop, ex->inotify_watch);
    (void)trash_free(ex->trash);
    fd_closep(&ex->inotify);
    fd_closep(&ex->root);
    run_table_finish(&ex->runs);
    id_map_finish(&ex->by_token);
    id_map_finish(&ex->by_watch);
    for (size_t i = 0; i < SLURM_PROGRAM_MAX; i++)
        free(ex->programs[i]);
    for (char **variable = ex->env; variable && *variable; variable++)
        free(*variable);
    free(ex->env);
    free(ex->unwanted);
    free(ex->sacct_ids);
    free(ex->root_path);
    free(ex->shim_path);
    free(ex->cluster);
    free(ex);
}

static const struct executor_backend slurm_backend = {
    .start = slurm_start,
    .stop = slurm_stop,
    .adopt = slurm_adopt,
    .sweep = slurm_sweep,
    .forget = slurm_forget,
    .doing = slurm_doing,
    .free = slurm_free,
};

/* On a disk of this host nothing is on its way: the record is there before the job is over. */
static bool is_shared(int root) {
    static const uint32_t own[] = {
        0xef53 /* ext4 */,      0x58465342 /* xfs */,     0x01021994 /* tmpfs */,
        0x9123683e /* btrfs */, 0x794c7630 /* overlay */, 0x2fc12fc1 /* zfs */,
        0xf2f52010 /* f2fs */,
    };
    struct statfs fs;
    if (fstatfs(root, &fs) < 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if ((uint32_t)fs.f_type == own[i])
            return false;
    return true;
}

/* The path is kept as it was given: a link may lead somewhere else on the nodes, to the same folder. */
static int open_root(struct slurm *ex, const char *root, struct error *err) {
    if (mkdir(root, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, "make folder", root);
    ex->root_path = root[0] == '/' ? xstrdup(root) : realpath(root, NULL);
    if (!ex->root_path)
        return error_set_errno(err, "open folder", root);
    ex->root =
        outside_open(AT_FDCWD, ex->root_path, O_RDONLY | O_DIRECTORY | OUTSIDE_LINKS, NULL, err);
    return ex->root < 0 ? ex->root : 0;
}

static void copy_env(struct slurm *ex, const char *const *env) {
    const char *const *from = env ? env : (const char *const *)environ;
    size_t count = 0;
    while (from[count])
        count++;
    ex->env = xcalloc(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++)
        ex->env[i] = xstrdup(from[i]);
}

static void copy_options(struct slurm *ex, const struct executor_slurm_options *options) {
    const char *const programs[] = {
        [PROGRAM_SBATCH] = options->sbatch,     [PROGRAM_SQUEUE] = options->squeue,
        [PROGRAM_SACCT] = options->sacct,       [PROGRAM_SCANCEL] = options->scancel,
        [PROGRAM_SCONTROL] = options->scontrol, [PROGRAM_SINFO] = options->sinfo,
    };
    for (size_t i = 0; i < SLURM_PROGRAM_MAX; i++)
        ex->programs[i] =
            xstrdup(programs[i] ? programs[i] : slurm_program_name((enum slurm_program)i));
    ex->shim_path = xstrdup(options->base.shim_path);
    ex->cluster = xstrdup(options->cluster ? options->cluster : "local");
    ex->poll_idle = options->poll_idle ? options->poll_idle : POLL_IDLE;
    ex->poll_busy = options->poll_busy ? options->poll_busy : POLL_BUSY;
    ex->patience = options->patience ? options->patience : PATIENCE;
    ex->retry = options->retry ? options->retry : RETRY;
    ex->submits_at_once = options->submits_at_once ? options->submits_at_once : SUBMITS_AT_ONCE;
    ex->use_sacct = options->use_sacct;
    copy_env(ex, options->env);
}

static void make_timers(struct slurm *ex) {
    ex->over_timer = loop_timer_new(ex->loop, slurm_over_due, ex);
    ex->submit_timer = loop_timer_new(ex->loop, slurm_submit_due, ex);
    ex->ask_timer = loop_timer_new(ex->loop, slurm_ask_due, ex);
    ex->stop_timer = loop_timer_new(ex->loop, slurm_stop_due, ex);
    ex->look_timer = loop_timer_new(ex->loop, look_due, ex);
}

int executor_slurm_new(struct loop *loop, const struct executor_slurm_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err) {
    assert(loop && options->base.root && options->base.shim_path && events->started
           && events->validating && events->ended);
    struct slurm *ex = xcalloc(1, sizeof(*ex));
    ex->base.backend = &slurm_backend;
    ex->base.events = *events;
    ex->loop = loop;
    ex->root = ex->inotify = -1;
    ex->queue_end = &ex->queue;
    ex->kill_wait = KILL_WAIT;
    ex->ask_next = TIME_NEVER;
    run_table_init(&ex->runs);
    id_map_init(&ex->by_token, token_same, ex);
    id_map_init(&ex->by_watch, watch_same, ex);
    copy_options(ex, options);
    make_timers(ex);
    (void)snprintf(ex->base.boot_id, sizeof(ex->base.boot_id), "slurm");
    executor_set_host(&ex->base, options->base.host);
    int r = open_root(ex, options->base.root, err);
    if (r < 0) {
        slurm_free(&ex->base);
        return r;
    }
    ex->record_delay = is_shared(ex->root) ? ex->patience : time_min(RECORD_LOCAL, ex->patience);
    ex->trash = trash_new(loop, ex->root, &ex->base.live);
    ex->base.feature_count = slurm_features(options, ex->base.features);
    slurm_ask_config(ex);
    *ret = &ex->base;
    return 0;
}
