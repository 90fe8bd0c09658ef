/* slurm.c: the Slurm executor: keeps its runs, submits them and follows their jobs.
 *
 * A start is a directory and a queue entry; sbatch is called later, outside the loop. Once the
 * directory is complete the run cannot be forgotten, whatever happens to this process. */
#include "executor/slurm.h"

#include <assert.h>
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
#include "base/hash.h"
#include "base/id_map.h"
#include "base/strbuf.h"
#include "executor/aside.h"
#include "executor/executor_internal.h"
#include "executor/run_table.h"
#include "executor/slurm_words.h"
#include "os/files.h"
#include "os/loop.h"
#include "os/outside.h"
#include "rundir/remove.h"

#define SLURM_CANCELS 200 /* jobs per scancel */

struct trash;
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
    struct aside *aside;
    struct slurm_submit *next; /* in ex->submits */
};

struct slurm_run {
    struct slurm *ex;
    uint32_t index; /* in ex->runs */
    enum slurm_state state;
    struct run_key key;
    char *folder;
    /* Runs found only by the sweep, reported by name. NULL: one of ours. */
    char *external_task;
    uint32_t external_attempt;

    struct slurm_order order; /* arguments of sbatch */
    struct slurm_submit *submit;
    struct slurm_run *next; /* in ex->queue */

    uint64_t job;         /* 0: unknown */
    struct slurm_job has; /* as last listed; state JOB_UNKNOWN: never */
    uint64_t seen;        /* query that listed it last */
    uint64_t heard_after; /* answers to earlier queries prove nothing about it */
    unsigned missed;      /* consecutive successful answers without it */
    time_ms missed_since; /* steady clock */
    time_ms over_since;   /* its job has ended but no end was found; steady clock; 0: no */
    bool gone;            /* Slurm no longer knows it: nothing more can be learned */
    bool begun, told_started, told_validating;
    char node[SLURM_NODE_MAX]; /* on which it began */

    bool stop_asked;
    enum stop_how stop_how;
    unsigned stop_step; /* current step of the stop */
    time_ms stop_at;    /* the next step; steady clock */

    bool has_end; /* recorded by its shim */
    struct run_end end;
    int watch, lock_watch; /* inotify on its folder and its lock file; -1: none */
};

struct slurm {
    struct executor base; /* first */
    struct loop *loop;
    int root;
    int inotify; /* on directories; -1: not open */
    char *root_path, *shim_path;
    char *programs[SLURM_PROGRAM_MAX];
    char **env;
    char *cluster;
    time_ms poll_idle, poll_busy, patience, retry;
    time_ms record_delay; /* how long a recorded end may take to become visible here */
    uint32_t submits_at_once;
    bool use_sacct;
    bool configured; /* kill_wait was read from Slurm */
    bool away;       /* the last call got no answer */
    bool busy;       /* something changed since the last query */

    struct run_table runs; /* struct slurm_run */
    struct id_map by_token, by_watch;
    struct loop_timer *over_timer;
    uint32_t over_count;
    uint32_t submitting; /* running sbatch processes */

    /* configuration of Slurm */
    struct aside *config_call;
    time_ms kill_wait;
    time_ms away_until; /* nothing is submitted before; steady clock */
    time_ms away_delay; /* backoff; grows while Slurm is unreachable */
    char away_why[160]; /* Slurm's message, or "" */

    struct slurm_run *queue, **queue_end;
    struct slurm_submit *submits;
    struct loop_timer *submit_timer;

    struct aside *ask_call, *sacct_call;
    uint64_t asks; /* queries so far */
    time_ms asked_at, ask_delay;
    time_ms ask_next;              /* when the timer is due; TIME_NEVER: not set */
    time_ms ask_rest;              /* earliest next query, because queries are expensive */
    struct loop_timer *look_timer; /* for runs whose directory was not examined yet */
    size_t look_at;                /* next run whose directory is examined routinely */
    struct loop_timer *ask_timer;
    char *sacct_ids; /* ids that sacct is being asked for: " 17 18 " */

    struct aside *cancel_call;
    uint64_t cancel_jobs[SLURM_CANCELS]; /* of the running call */
    size_t cancel_count;
    unsigned cancel_step;
    unsigned unwanted_tries;
    struct loop_timer *stop_timer;
    uint64_t *unwanted; /* jobs to cancel; 0: done */
    size_t unwanted_count, unwanted_capacity;
    bool cancel_unwanted; /* the running call is for `unwanted` */

    struct loop_watch *inotify_watch;
    struct executor_sweep sweep; /* callbacks for external runs */
    struct trash *trash;
};

static inline struct slurm *slurm_of(struct executor *ex) {
    return (struct slurm *)ex;
}

/* NULL: the index is free. */
static inline struct slurm_run *slurm_at(const struct slurm *ex, size_t index) {
    return run_table_at(&ex->runs, index);
}

static int submit(struct slurm_run *run);
static void slurm_submit_due(void *ctx);
static void slurm_ask_soon(struct slurm *ex);
static void slurm_cancel(struct slurm *ex, uint64_t job);
static void cancel_unwanted(struct slurm *ex);
static void slurm_follow_late(struct slurm_run *run);
static bool slurm_give_up(struct slurm_run *run, enum run_end_kind kind, int error,
                          const char *message);
static bool slurm_end_jobless(struct slurm_run *run, enum run_end_kind kind, int error,
                              const char *message);
static void slurm_look(struct slurm_run *run);
static void slurm_follow_accounting(struct slurm_run *run, const struct slurm_job *job);
static void slurm_follow(struct slurm_run *run, uint64_t number);
static struct slurm_run *slurm_find(const struct slurm *ex, struct run_key key);
static struct slurm_run *slurm_find_token(const struct slurm *ex, const char *token);
static void slurm_run_set_order(struct slurm_run *run, struct slurm_order *order);
static struct slurm_run *slurm_run_new(struct slurm *ex, struct run_key key, const char *folder,
                                       struct slurm_order *order);
static void slurm_run_free(struct slurm_run *run);
static void slurm_lose_job(struct slurm *ex, uint64_t job, const struct slurm_run *to);
static void slurm_set_job(struct slurm_run *run, uint64_t job);
static void slurm_set_over(struct slurm_run *run);
static size_t slurm_features(const struct executor_slurm_options *options,
                             struct executor_feature ret[EXECUTOR_FEATURES_MAX]);

/* --- slurm folder ----------------------------------------------------------------------------- */

/* The directory of a run that executes elsewhere.
 *
 * It must be complete before sbatch is called: from then on this process is not needed, and any
 * later daemon finds in it what to submit, under which token, and which shim has begun. On a local
 * file system, changes are reported at once (inotify); on a shared one they are seen when Slurm's
 * list shows a change. */

#define ORDER_NAME   "slurm"
#define JOB_NAME     "job"
#define REFRESH_NAME ".look"

static int write_file(int dir, const char *name, const char *text, size_t size) {
    _cleanup_(fd_closep) int fd = outside_create(dir, name, NULL);
    if (fd < 0)
        return fd;
    ssize_t put = write(fd, text, size);
    if (put < 0)
        return -errno;
    return (size_t)put == size ? 0 : -ENOSPC;
}

static ssize_t read_file(int dir, const char *name, char *out, size_t size) {
    _cleanup_(fd_closep) int fd = outside_open(dir, name, O_RDONLY, NULL, NULL);
    if (fd < 0)
        return fd;
    ssize_t got = read(fd, out, size);
    return got < 0 ? -errno : got;
}

/* --- contents -------------------------------------------------------------------------------- */

static int slurm_folder_create(struct slurm *ex, const char *folder, const struct run_spec *spec,
                               const struct slurm_order *order, struct error *err) {
    struct rundir_open open;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = rundir_create_at(ex->root, folder, spec, &open, err);
    if (r < 0)
        return r;
    slurm_order_format(order, &text);
    r = write_file(open.dir, ORDER_NAME, text.text, text.length);
    close(open.lock);
    close(open.dir);
    if (r == 0)
        return 0;
    unsigned budget = UINT_MAX;
    (void)remove_tree_at(ex->root, folder, &budget); /* leave no partial directory */
    return error_set(err, r, "cannot write into folder '%s': %s", folder, strerror(-r));
}

static int slurm_folder_open(const struct slurm_run *run, int *ret_dir) {
    return rundir_open_at(run->ex->root, run->folder, ret_dir, NULL);
}

/* -ENOENT: not the directory of a Slurm run, or it was never to be submitted. */
static int slurm_folder_read_order(int dir, struct slurm_order *ret) {
    _cleanup_(freep) char *text = xmalloc(SLURM_ORDER_MAX);
    ssize_t size = read_file(dir, ORDER_NAME, text, SLURM_ORDER_MAX);
    return size < 0 ? (int)size : slurm_order_parse(text, (size_t)size, ret);
}

/* For users, and to save a search at the next start: the job can always be found by the token. */
static void slurm_folder_write_job(const struct slurm_run *run) {
    char text[32];
    _cleanup_(fd_closep) int dir = -1;
    (void)snprintf(text, sizeof(text), "%" PRIu64 "\n", run->job);
    if (slurm_folder_open(run, &dir) == 0)
        (void)write_file(dir, JOB_NAME, text, strlen(text));
}

/* 0: none */
static uint64_t slurm_folder_read_job(int dir) {
    char text[32] = "";
    ssize_t size = read_file(dir, JOB_NAME, text, sizeof(text) - 1);
    return size > 1 && text[size - 1] == '\n' ? strtoull(text, NULL, 10) : 0;
}

/* 1: a shim has begun, its job and node are set; 0: none; 2: closed; <0: unknown */
static int slurm_folder_begun(int dir, uint64_t *ret_job, char ret_node[SLURM_NODE_MAX]) {
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

/* NFS may cache a missing name for a minute. A local change makes the client ask its server
 * again. */
static void slurm_folder_refresh(int dir) {
    (void)write_file(dir, REFRESH_NAME, "", 0);
    (void)unlinkat(dir, REFRESH_NAME, 0);
}

/* --- watching for changes -------------------------------------------------------------------- */

/* The lock file was written, or one of the two relevant names was created. */
static bool is_news(const struct inotify_event *event) {
    return event->len == 0
               ? (event->mask & IN_MODIFY) != 0
               : strcmp(event->name, "begin") == 0 || strcmp(event->name, "end.json") == 0;
}

static void folder_heard(void *ctx, const struct inotify_event *event) {
    struct slurm *ex = ctx;
    if (event->mask & IN_Q_OVERFLOW) /* events were lost: examine all */
        loop_timer_set(ex->loop, ex->look_timer, loop_now_steady(ex->loop));
    uint32_t index = id_map_find(&ex->by_watch, hash_u64((uint64_t)event->wd), &event->wd);
    if (index && is_news(event))
        slurm_look(slurm_at(ex, index));
}

static void folder_changed(void *ctx, int fd, unsigned events) {
    (void)events;
    inotify_read(fd, folder_heard, ctx);
}

static bool open_inotify(struct slurm *ex) {
    if (ex->inotify < 0)
        ex->inotify = inotify_open(ex->loop, folder_changed, ex, &ex->inotify_watch);
    return ex->inotify >= 0;
}

static int add_watch(struct slurm_run *run, const char *file, uint32_t mask) {
    struct slurm *ex = run->ex;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s%s", ex->root_path, run->folder, file);
    return inotify_add_watch(ex->inotify, path.text, mask);
}

/* The command's logs are in the directory, too: writes to files are not watched. */
static void slurm_folder_watch(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->watch >= 0 || !open_inotify(ex))
        return;
    run->watch = add_watch(run, "", IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
    run->lock_watch = add_watch(run, "/lock", IN_MODIFY);
    if (run->watch >= 0)
        id_map_add(&ex->by_watch, hash_u64((uint64_t)run->watch), run->index);
    if (run->lock_watch >= 0)
        id_map_add(&ex->by_watch, hash_u64((uint64_t)run->lock_watch), run->index);
}

static void remove_watch(struct slurm *ex, int *watch) {
    if (*watch < 0)
        return;
    id_map_remove(&ex->by_watch, hash_u64((uint64_t)*watch), watch);
    (void)inotify_rm_watch(ex->inotify, *watch);
    *watch = -1;
}

static void slurm_folder_unwatch(struct slurm_run *run) {
    remove_watch(run->ex, &run->watch);
    remove_watch(run->ex, &run->lock_watch);
}

/* --- slurm call ------------------------------------------------------------------------------- */

/* Runs Slurm's programs outside the loop, and tracks whether Slurm answers.
 *
 * They get a separate environment: the daemon's would become that of every job. Programs that
 * change something keep running when the daemon ends; half a submission is worse than a complete
 * one that is found by its token. */

#define CALL_TIMEOUT SECONDS(60)
#define LIST_MAX     (64u << 20) /* bytes of a job list */
#define AWAY_MAX     SECONDS(30)

/* Runs a program of Slurm. `reads`: keep its standard output, from the beginning; else the end of
 * both outputs. On an error `ended` is not called. */
static int slurm_call(struct slurm *ex, const char *const *argv, bool reads, helper_ended ended,
                      void *ctx, struct aside **ret_call) {
    const struct helper_spec spec = {
        .argv = argv,
        .env = (const char *const *)ex->env,
        .timeout = CALL_TIMEOUT,
        .output_max = reads ? LIST_MAX : 0,
        .reads = reads,
        .outlives = !reads,
    };
    return helper_start(ex->loop, &spec, ended, ctx, ret_call, NULL);
}

static bool slurm_call_went_well(const struct helper_end *end) {
    return end->code == 0 && !end->timed_out && !end->cut;
}

/* Whether a program of Slurm has reached the controller; `why`: its message, or NULL. */
static void slurm_heard(struct slurm *ex) {
    if (!ex->away)
        return;
    ex->away = false;
    ex->away_delay = ex->away_until = 0;
    ex->away_why[0] = '\0';
    loop_timer_set(ex->loop, ex->submit_timer, loop_now_steady(ex->loop));
}

static void slurm_not_heard(struct slurm *ex, const char *why) {
    time_ms now = loop_now_steady(ex->loop);
    ex->away = true;
    if (why && *why)
        (void)snprintf(ex->away_why, sizeof(ex->away_why), "%s", why);
    if (now < ex->away_until)
        return; /* simultaneous failures count once */
    ex->away_delay = ex->away_delay ? time_min(2 * ex->away_delay, AWAY_MAX) : ex->retry;
    ex->away_until = now + ex->away_delay;
    loop_timer_set(ex->loop, ex->submit_timer, ex->away_until);
}

/* --- configuration --------------------------------------------------------------------------- */

static void config_ended(void *ctx, const struct helper_end *end) {
    struct slurm *ex = ctx;
    struct slurm_config config = { .kill_wait = ex->kill_wait };
    ex->config_call = NULL;
    if (slurm_call_went_well(end)) {
        slurm_config_read(end->output, &config);
        ex->configured = true;
        ex->kill_wait = config.kill_wait;
        if (config.cluster[0])
            (void)snprintf(ex->base.boot_id, sizeof(ex->base.boot_id), "slurm:%.33s",
                           config.cluster);
        if (!config.accounting)
            ex->use_sacct = false;
        slurm_heard(ex);
    }
    slurm_submit_due(ex); /* runs that waited for it are submitted, whatever the answer */
}

/* Not asked again after an answer. */
static void slurm_ask_config(struct slurm *ex) {
    const char *const argv[] = { ex->programs[PROGRAM_SCONTROL], "show", "config", NULL };
    if (!ex->configured && !ex->config_call)
        (void)slurm_call(ex, argv, true, config_ended, ex, &ex->config_call);
}

/* --- slurm submit ----------------------------------------------------------------------------- */

/* Submits runs to Slurm, a few at a time, and never an attempt twice.
 *
 * An sbatch that was refused, or that could not reach the controller, has created no job. After any
 * other end there may be a job: the run is doubtful until several successful lists have settled it.
 * Calls run in parallel, because an sbatch mostly waits for the controller; only a few, because it
 * has other users. */

#define FIXED_WORDS 16

/* --- the queue ------------------------------------------------------------------------------- */

/* Appends to the submit queue. */
static void slurm_queue(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    run->state = SLURM_QUEUED;
    run->next = NULL;
    *ex->queue_end = run;
    ex->queue_end = &run->next;
    loop_timer_set(ex->loop, ex->submit_timer, time_max(ex->away_until, loop_now_steady(ex->loop)));
}

static void slurm_unqueue(struct slurm_run *run) {
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

/* --- outcome --------------------------------------------------------------------------------- */

static void set_doubtful(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->state == SLURM_OVER)
        return;
    run->state = run->begun ? SLURM_FOLLOWED : SLURM_DOUBTFUL;
    run->heard_after = ex->asks;
    run->missed = 0;
    run->missed_since = loop_now_steady(ex->loop);
    slurm_ask_soon(ex);
}

static void take_job(struct slurm_run *run, uint64_t job) {
    run->state = SLURM_FOLLOWED;
    run->heard_after = run->ex->asks;
    slurm_ask_soon(run->ex);
    if (!run->begun) /* else its shim was faster than this answer, or it is a second job */
        slurm_set_job(run, job);
    if (run->stop_asked)
        loop_timer_set(run->ex->loop, run->ex->stop_timer, loop_now_steady(run->ex->loop));
}

static void refuse(struct slurm_run *run, const char *why) {
    char message[256];
    (void)snprintf(message, sizeof(message), "sbatch refused it: %.200s", why);
    if (!slurm_end_jobless(run, RUN_END_LAUNCH, EINVAL, message))
        set_doubtful(run);
}

static void cannot_run(struct slurm_run *run, int error) {
    char message[256];
    (void)snprintf(message, sizeof(message),
                   "cannot run '%.100s': %s; install Slurm's commands on this host",
                   run->ex->programs[PROGRAM_SBATCH], strerror(error));
    if (!slurm_end_jobless(run, RUN_END_LAUNCH, error, message))
        set_doubtful(run);
}

/* Slurm was not reached: retried later, ahead of runs that were queued after it. */
static void put_back(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    run->state = SLURM_QUEUED;
    run->next = ex->queue;
    if (!ex->queue)
        ex->queue_end = &run->next;
    ex->queue = run;
}

/* Without a run there is nothing to report, but an unneeded job must be canceled. */
static void judge_answer(struct slurm *ex, struct slurm_run *run, bool unwanted,
                         const struct helper_end *end) {
    uint64_t job = 0;
    char why[160] = "";
    bool ended = end->code >= 0 && !end->timed_out; /* killed: its output is incomplete */
    enum slurm_answer answer =
        ended ? slurm_answer_read(end->output, end->code == 0, &job, why, sizeof(why))
              : ANSWER_UNCLEAR;
    if (answer == ANSWER_ACCEPTED || answer == ANSWER_REFUSED)
        slurm_heard(ex);
    else
        slurm_not_heard(ex, why);
    if (!run && unwanted && answer == ANSWER_ACCEPTED)
        slurm_cancel(ex, job);
    if (!run)
        return;
    switch (answer) {
    case ANSWER_ACCEPTED:
        take_job(run, job);
        break;
    case ANSWER_REFUSED:
        refuse(run, why);
        break;
    case ANSWER_AWAY:
        if (run->begun) /* by an earlier sbatch */
            set_doubtful(run);
        else
            put_back(run);
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
    if (end->error && run)
        cannot_run(run, end->error);
    else if (!end->error)
        judge_answer(ex, run, submit->unwanted, end);
    free(submit);
    slurm_submit_due(ex);
}

/* --- sbatch ---------------------------------------------------------------------------------- */

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

static int submit(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    const char *words[SLURM_WORDS_MAX + FIXED_WORDS];
    _cleanup_(strbuf_finish) struct strbuf script = STRBUF_INIT, folder = STRBUF_INIT;
    strbuf_printf(&folder, "%s/%s", ex->root_path, run->folder);
    strbuf_puts(&script, "--wrap=");
    slurm_script(&script, ex->shim_path, folder.text, ex->kill_wait);
    build_words(run, script.text, words);
    slurm_folder_watch(run); /* before anything can happen in it */
    struct slurm_submit *submit = xcalloc(1, sizeof(*submit));
    submit->ex = ex;
    submit->run = run;
    int r = slurm_call(ex, words, false, submit_ended, submit, &submit->aside);
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

static void slurm_submit_due(void *ctx) {
    struct slurm *ex = ctx;
    time_ms now = loop_now_steady(ex->loop);
    uint32_t most = ex->away ? 1 : ex->submits_at_once;
    while (ex->queue && ex->submitting < most && !ex->config_call) {
        if (now < ex->away_until) {
            loop_timer_set(ex->loop, ex->submit_timer, ex->away_until);
            return;
        }
        struct slurm_run *run = ex->queue;
        slurm_unqueue(run);
        if (submit(run) < 0) { /* too many processes or descriptors, for now */
            put_back(run);
            loop_timer_set(ex->loop, ex->submit_timer, now + SECONDS(1));
            return;
        }
    }
}

/* Running calls continue without us. */
static void slurm_submits_free(struct slurm *ex) {
    while (ex->submits) {
        struct slurm_submit *submit = ex->submits;
        ex->submits = submit->next;
        helper_kill(submit->aside);
        free(submit);
    }
}

/* --- slurm ask -------------------------------------------------------------------------------- */

/* Queries Slurm about all runs at once, no more often than useful.
 *
 * One squeue lists every job of this user with its comment, including recently ended ones, so a job
 * is found by its token whether its number is known or not. Queries come soon after a change, ever
 * less often while nothing changes, and never while there is nothing to ask about. An answer is
 * valid for the time of its query; a query without an answer proves nothing. */

#define COST_SHARE 30 /* queries take at most 1/COST_SHARE of the time */
#define LOOKS_EACH 64 /* directories examined routinely after each answer */

static const char squeue_format[] = "--Format=" SLURM_SQUEUE_COLUMNS;
static const char sacct_format[] = "--format=" SLURM_SACCT_COLUMNS;

/* Can only make the next query earlier. */
static void ask_at(struct slurm *ex, time_ms at) {
    at = time_max(at, ex->ask_rest);
    if (ex->ask_call || at >= ex->ask_next)
        return; /* the answer sets the time of the next query */
    ex->ask_next = at;
    loop_timer_set(ex->loop, ex->ask_timer, at);
}

/* Something has changed. */
static void slurm_ask_soon(struct slurm *ex) {
    ex->busy = true;
    ex->ask_delay = ex->poll_busy;
    ask_at(ex, loop_now_steady(ex->loop) + ex->poll_busy);
}

/* --- squeue ---------------------------------------------------------------------------------- */

static bool is_asked_about(const struct slurm_run *run) {
    return run && (run->state == SLURM_DOUBTFUL || run->state == SLURM_FOLLOWED);
}

/* It can change without any notification to us. */
static bool is_restless(const struct slurm_run *run) {
    if (!is_asked_about(run))
        return false;
    bool begins = run->has.state == JOB_RUNNING && !run->told_started;
    return begins || run->state == SLURM_DOUBTFUL || run->missed > 0 || run->over_since > 0
           || run->stop_asked || run->has.state == JOB_ENDING;
}

/* After a lost answer there may be two jobs for one run. The one that begins first owns it; until
 * then both stay, because canceling either might end the one that begins. */
static void note_job(struct slurm_run *run, const struct slurm_job *job, uint64_t number) {
    if (run->job && run->job != job->id) {
        if (run->begun && !slurm_job_is_over(job->state) && job->state != JOB_ENDING)
            slurm_cancel(run->ex, job->id);
        return;
    }
    if (run->has.state != job->state || strcmp(run->has.reason, job->reason) != 0)
        run->ex->busy = true;
    run->has = *job;
    run->seen = number;
    if (!run->job)
        slurm_set_job(run, job->id);
}

/* Runs with a job, by its number: a list may have thousands of unrelated jobs. */
struct numbered {
    uint64_t job; /* when the list arrived; the run may have lost it since */
    struct slurm_run *run;
};

struct by_number {
    struct numbered *items;
    size_t count;
    bool made;
};

static void by_number_finish(struct by_number *index) {
    free(index->items);
}

static int compare_numbers(const void *a, const void *b) {
    uint64_t x = ((const struct numbered *)a)->job, y = ((const struct numbered *)b)->job;
    return (x > y) - (x < y);
}

static void make_index(struct slurm *ex, struct by_number *index) {
    index->made = true;
    index->items = xcalloc(ex->runs.count + 1, sizeof(*index->items));
    for (size_t i = 1; i < ex->runs.count; i++) {
        struct slurm_run *run = slurm_at(ex, i);
        if (is_asked_about(run) && run->job)
            index->items[index->count++] = (struct numbered){ run->job, run };
    }
    qsort(index->items, index->count, sizeof(*index->items), compare_numbers);
}

/* The comment is not reliable: the site or the owner of the job may overwrite it. */
static struct slurm_run *find_renamed(struct slurm *ex, struct by_number *index,
                                      const struct slurm_job *job, const char *comment) {
    if (!index->made)
        make_index(ex, index);
    struct numbered key = { .job = job->id };
    const struct numbered *found =
        bsearch(&key, index->items, index->count, sizeof(key), compare_numbers);
    struct slurm_run *run = found ? found->run : NULL;
    bool ours = run && run->job == job->id && slurm_job_is_renamed(job, comment, &run->order);
    return ours ? run : NULL;
}

/* Reports no end, so no run is freed; but a run may lose or get a job. */
static void take_list(struct slurm *ex, char *list, uint64_t number) {
    _cleanup_(by_number_finish) struct by_number index = { 0 };
    struct slurm_job job;
    const char *token;
    while (slurm_job_read(&list, &job, &token)) {
        struct slurm_run *run = slurm_find_token(ex, token);
        if (!run)
            run = find_renamed(ex, &index, &job, token);
        if (is_asked_about(run))
            note_job(run, &job, number);
        else if (!run && !slurm_job_is_over(job.state))
            slurm_lose_job(ex, job.id, NULL);
    }
    for (size_t i = 1; i < ex->runs.count; i++)
        if (is_asked_about(slurm_at(ex, i)))
            slurm_follow(slurm_at(ex, i), number);
}

/* A shared file system does not report changes made on another host. */
static void look_at_some(struct slurm *ex) {
    size_t left = ex->runs.count < LOOKS_EACH ? ex->runs.count : LOOKS_EACH;
    for (; left > 0; left--) {
        ex->look_at = ex->look_at + 1 < ex->runs.count ? ex->look_at + 1 : 1;
        struct slurm_run *run = ex->look_at < ex->runs.count ? slurm_at(ex, ex->look_at) : NULL;
        if (is_asked_about(run) && run->begun)
            slurm_look(run);
    }
}

/* --- sacct ----------------------------------------------------------------------------------- */

static void sacct_ended(void *ctx, const struct helper_end *end) {
    struct slurm *ex = ctx;
    struct slurm_job job;
    const char *token;
    _cleanup_(freep) char *ids = TAKE_PTR(ex->sacct_ids);
    ex->sacct_call = NULL;
    if (!slurm_call_went_well(end)) {
        ex->busy = true;
        return;
    }
    _cleanup_(freep) char *text = xstrndup(end->output, end->size);
    for (char *list = text; slurm_job_read(&list, &job, &token);)
        for (size_t i = 1; i < ex->runs.count; i++)
            if (is_asked_about(slurm_at(ex, i)) && slurm_at(ex, i)->job == job.id)
                slurm_follow_accounting(slurm_at(ex, i), &job);
    for (size_t i = 1; i < ex->runs.count; i++) {
        char id[32];
        struct slurm_run *run = slurm_at(ex, i);
        if (!is_asked_about(run) || !run->gone)
            continue;
        (void)snprintf(id, sizeof(id), ",%" PRIu64 ",", run->job);
        if (strstr(ids, id))
            slurm_follow_accounting(run, NULL);
    }
}

/* Jobs that the controller has forgotten. One call for all of them. */
static void ask_accounting(struct slurm *ex) {
    struct strbuf ids = STRBUF_INIT;
    if (ex->sacct_call)
        return;
    for (size_t i = 1; i < ex->runs.count; i++)
        if (is_asked_about(slurm_at(ex, i)) && slurm_at(ex, i)->gone && slurm_at(ex, i)->job)
            strbuf_printf(&ids, "%s%" PRIu64 ",", ids.length ? "" : ",", slurm_at(ex, i)->job);
    if (ids.length == 0)
        return;
    _cleanup_(freep) char *list = xstrndup(ids.text + 1, ids.length - 2);
    const char *const argv[] = { ex->programs[PROGRAM_SACCT],
                                 "--allocations",
                                 "--noheader",
                                 "--parsable2",
                                 "--starttime=now-7days",
                                 "--jobs",
                                 list,
                                 sacct_format,
                                 NULL };
    ex->sacct_ids = strbuf_take(&ids);
    if (slurm_call(ex, argv, true, sacct_ended, ex, &ex->sacct_call) < 0) {
        free(TAKE_PTR(ex->sacct_ids));
        ex->busy = true;
    }
}

/* --- when ------------------------------------------------------------------------------------ */

static void ask_again(struct slurm *ex) {
    bool wanted = false, restless = ex->busy;
    for (size_t i = 1; i < ex->runs.count; i++) {
        if (is_asked_about(slurm_at(ex, i)))
            slurm_follow_late(slurm_at(ex, i));
        wanted = wanted || is_asked_about(slurm_at(ex, i));
        restless = restless || is_restless(slurm_at(ex, i));
    }
    if (!wanted)
        return;
    time_ms now = loop_now_steady(ex->loop);
    ex->ask_rest = now + time_min(COST_SHARE * (now - ex->asked_at), ex->poll_idle);
    ex->ask_delay = restless ? ex->poll_busy : time_min(2 * ex->ask_delay, ex->poll_idle);
    ex->busy = false;
    if (ex->away)
        ex->ask_delay = time_max(ex->ask_delay, ex->away_delay);
    ask_at(ex, now + ex->ask_delay);
}

static void ask_ended(void *ctx, const struct helper_end *end) {
    struct slurm *ex = ctx;
    uint64_t number = ex->asks;
    ex->ask_call = NULL;
    if (slurm_call_went_well(end)) {
        _cleanup_(freep) char *list = xstrndup(end->output, end->size);
        slurm_heard(ex);
        slurm_ask_config(ex);
        take_list(ex, list, number);
        look_at_some(ex);
        if (ex->use_sacct)
            ask_accounting(ex);
    } else {
        slurm_not_heard(ex, NULL);
    }
    ask_again(ex);
}

static void slurm_ask_due(void *ctx) {
    struct slurm *ex = ctx;
    const char *const argv[] = {
        ex->programs[PROGRAM_SQUEUE], "--me", "--noheader", "--states=all", squeue_format, NULL
    };
    ex->ask_next = TIME_NEVER;
    if (ex->ask_call)
        return;
    ex->asks++;
    ex->asked_at = loop_now_steady(ex->loop);
    if (slurm_call(ex, argv, true, ask_ended, ex, &ex->ask_call) < 0)
        ask_again(ex);
}

/* --- slurm stop ------------------------------------------------------------------------------- */

/* Stops runs on other hosts, and cancels unneeded jobs.
 *
 * A run that has not begun is closed: it will never run, whatever happens to its job. A run that
 * has begun is stopped through its shim (a signal for the batch script only, which is the shim), so
 * that it gets its grace period and its end is recorded. Only if that fails, Slurm ends the
 * complete job. All due runs share one call. */

#define JOBS_EACH    SLURM_CANCELS
#define STEP_MARGIN  SECONDS(15)
#define UNWANTED_MAX 20 /* consecutive failed calls before jobs of closed runs are abandoned */

enum { STEP_ASK, STEP_CANCEL, STEP_KILL };

/* --- one run --------------------------------------------------------------------------------- */

static void look_at_stops(struct slurm *ex) {
    loop_timer_set(ex->loop, ex->stop_timer, loop_now_steady(ex->loop));
}

static int slurm_stop(struct executor *base, struct run_key key, enum stop_how how) {
    struct slurm *ex = slurm_of(base);
    struct slurm_run *run = slurm_find(ex, key);
    if (!run || run->state == SLURM_OVER)
        return -ENOENT;
    if (run->stop_asked && (run->stop_how == how || run->stop_how == STOP_AT_ONCE))
        return 0;
    run->stop_asked = true;
    run->stop_how = how;
    run->stop_step = STEP_ASK;
    run->stop_at = loop_now_steady(ex->loop);
    look_at_stops(ex);
    return 0;
}

/* The job is not needed any more. */
static void slurm_cancel(struct slurm *ex, uint64_t job) {
    for (size_t i = 0; i < ex->unwanted_count; i++)
        if (ex->unwanted[i] == job)
            return;
    ex->unwanted =
        xgrow(ex->unwanted, &ex->unwanted_capacity, ex->unwanted_count + 1, sizeof(uint64_t));
    ex->unwanted[ex->unwanted_count++] = job;
    look_at_stops(ex);
}

/* Closes a run that has not begun. true: closed. */
static bool stop_unbegun(struct slurm_run *run) {
    if (run->begun || run->state == SLURM_OVER)
        return run->state == SLURM_OVER;
    static const char why[] = "it was stopped before it began";
    if (run->state == SLURM_QUEUED)
        slurm_unqueue(run);
    bool closed = run->state == SLURM_QUEUED ? slurm_end_jobless(run, RUN_END_STOPPED, 0, why)
                                             : slurm_give_up(run, RUN_END_STOPPED, 0, why);
    if (closed || run->begun)
        return closed;
    if (run->state == SLURM_QUEUED)
        slurm_queue(run);
    else if (run->job && !slurm_job_is_over(run->has.state)) /* then its job must not begin */
        slurm_cancel(run->ex, run->job);
    return false;
}

/* --- calls ----------------------------------------------------------------------------------- */

static void cancel_ended(void *ctx, const struct helper_end *end) {
    struct slurm *ex = ctx;
    bool good = slurm_call_went_well(end);
    time_ms now = loop_now_steady(ex->loop);
    ex->cancel_call = NULL;
    /* A job that has already ended is not an error (--quiet); all other failures are retried. */
    for (size_t i = 0; i < ex->cancel_count && !good; i++)
        for (size_t k = 1; k < ex->runs.count; k++) {
            struct slurm_run *run = slurm_at(ex, k);
            if (run && run->job == ex->cancel_jobs[i] && run->stop_asked) {
                run->stop_step = ex->cancel_step;
                run->stop_at = now + 2 * ex->retry;
            }
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
    slurm_ask_soon(ex);
    loop_timer_set(ex->loop, ex->stop_timer, good ? now : now + 2 * ex->retry);
}

static void call_scancel(struct slurm *ex, const char *const *options) {
    char ids[JOBS_EACH][24];
    const char *argv[JOBS_EACH + 8];
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
        loop_timer_set(ex->loop, ex->stop_timer, loop_now_steady(ex->loop) + 2 * ex->retry);
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool is_due(const struct slurm_run *run, time_ms now) {
    return run && run->stop_asked && run->begun && run->job && run->state != SLURM_OVER
           && !run->has_end && now >= run->stop_at;
}

static void next_step(struct slurm_run *run, time_ms now) {
    struct slurm *ex = run->ex;
    time_ms wait = run->stop_how == STOP_POLITELY ? run->order.grace : 0;
    if (run->stop_step == STEP_CANCEL)
        wait = ex->kill_wait;
    run->stop_at = time_add(now, time_add(wait, STEP_MARGIN));
    if (run->stop_step < STEP_KILL)
        run->stop_step++;
}

/* Collects runs that get the same signal. 0: none is due. */
static size_t collect(struct slurm *ex, const struct slurm_run *first, time_ms now) {
    unsigned step = first->stop_step;
    enum stop_how how = first->stop_how;
    ex->cancel_count = 0;
    ex->cancel_step = step;
    ex->cancel_unwanted = false;
    for (size_t i = first->index; i < ex->runs.count && ex->cancel_count < JOBS_EACH; i++) {
        struct slurm_run *run = slurm_at(ex, i);
        if (!is_due(run, now) || run->stop_step != step || run->stop_how != how)
            continue;
        ex->cancel_jobs[ex->cancel_count++] = run->job;
        next_step(run, now);
    }
    return ex->cancel_count;
}

static void signal_runs(struct slurm *ex, const struct slurm_run *first, time_ms now) {
    static const char *const politely[] = { "--batch", "--signal=USR2", NULL };
    static const char *const at_once[] = { "--batch", "--signal=USR1", NULL };
    static const char *const cancel[] = { NULL };
    static const char *const kill[] = { "--full", "--signal=KILL", NULL };
    const char *const *options = first->stop_step == STEP_CANCEL    ? cancel
                                 : first->stop_step == STEP_KILL    ? kill
                                 : first->stop_how == STOP_POLITELY ? politely
                                                                    : at_once;
    (void)collect(ex, first, now);
    call_scancel(ex, options);
}

static void drop_needed(struct slurm *ex) {
    size_t count = 0;
    for (size_t i = 0; i < ex->unwanted_count; i++)
        if (ex->unwanted[i])
            ex->unwanted[count++] = ex->unwanted[i];
    ex->unwanted_count = count;
}

static void cancel_unwanted(struct slurm *ex) {
    static const char *const options[] = { NULL };
    drop_needed(ex);
    if (ex->unwanted_count == 0)
        return;
    ex->cancel_count = ex->unwanted_count < JOBS_EACH ? ex->unwanted_count : JOBS_EACH;
    memcpy(ex->cancel_jobs, ex->unwanted, ex->cancel_count * sizeof(uint64_t));
    ex->cancel_unwanted = true;
    call_scancel(ex, options);
}

static void slurm_stop_due(void *ctx) {
    struct slurm *ex = ctx;
    time_ms now = loop_now_steady(ex->loop), next = TIME_NEVER;
    struct slurm_run *first = NULL;
    for (size_t i = 1; i < ex->runs.count; i++) {
        struct slurm_run *run = slurm_at(ex, i);
        if (!run || !run->stop_asked || run->state == SLURM_OVER || stop_unbegun(run))
            continue;
        if (!first && is_due(run, now))
            first = run;
        if (!run->begun)
            run->stop_at = now + 2 * ex->retry;
        if (!is_due(run, now))
            next = time_min(next, run->stop_at);
    }
    if (!ex->cancel_call && first)
        signal_runs(ex, first, now);
    else if (!ex->cancel_call && ex->unwanted_count > 0)
        cancel_unwanted(ex);
    else if (next != TIME_NEVER && !ex->cancel_call) /* rescheduled when the call ends */
        loop_timer_set(ex->loop, ex->stop_timer, time_max(next, now + 1));
}

/* --- slurm follow ----------------------------------------------------------------------------- */

/* How a run ended, from Slurm's list and the run's directory.
 *
 * The shim's record is authoritative and is read first. Without one: a run that has not begun is
 * closed, so that it never will, and its end follows from its job; a run that has begun gets some
 * time, because its record may not be visible yet, and is lost after that. A job counts as ended
 * only if it was listed as ended, or was missing in several successful answers over some time: a
 * restarted controller may need a while to know its jobs again. */

#define MISSED_MIN  2 /* successful answers */
#define ANSWER_LATE 4 /* times the patience; then it is reported without */

#define EXIT_NO_ACCESS  126 /* of /bin/sh: cannot execute the shim */
#define EXIT_NO_PROGRAM 127

/* --- reporting ------------------------------------------------------------------------------- */

static void tell_started(struct slurm_run *run, time_ms at) {
    if (run->told_started)
        return;
    run->told_started = true;
    if (!run->external_task)
        run->ex->base.events.started(run->ex->base.events.ctx, run->key, at);
}

static void tell_validating(struct slurm_run *run) {
    if (run->told_validating)
        return;
    run->told_validating = true;
    if (!run->external_task)
        run->ex->base.events.validating(run->ex->base.events.ctx, run->key);
}

static void tell_end(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    struct run_end end = run->end;
    struct run_key key = run->key;
    if (run->external_task) {
        if (ex->sweep.external_ended)
            ex->sweep.external_ended(ex->sweep.ctx, run->external_task, run->external_attempt);
        slurm_run_free(run);
        return;
    }
    if (end.started_at > 0)
        tell_started(run, end.started_at);
    slurm_run_free(run);
    ex->base.events.ended(ex->base.events.ctx, key, &end);
}

static void slurm_over_due(void *ctx) {
    struct slurm *ex = ctx;
    for (size_t i = 1; i < ex->runs.count && ex->over_count > 0; i++)
        if (slurm_at(ex, i) && slurm_at(ex, i)->state == SLURM_OVER)
            tell_end(slurm_at(ex, i));
}

/* --- state of the job ------------------------------------------------------------------------ */

struct verdict {
    enum run_end_kind kind;
    int signal;
    char message[256];
};

#define SAY(verdict, ...)                                                                          \
    (void)snprintf((verdict)->message, sizeof((verdict)->message), __VA_ARGS__)

static void judge_cancelled(const struct slurm_run *run, struct verdict *ret) {
    if (run->has.cancelled_by >= 0)
        SAY(ret, "job %" PRIu64 " was cancelled in Slurm by user %" PRId64, run->job,
            run->has.cancelled_by);
    else
        SAY(ret, "job %" PRIu64 " was cancelled in Slurm", run->job);
}

/* Its script ended before the shim began: what is missing on that node? */
static void judge_not_begun(const struct slurm_run *run, struct verdict *ret) {
    const struct slurm *ex = run->ex;
    const char *node = run->has.node[0] ? run->has.node : "?";
    int code = run->has.code;
    ret->kind = RUN_END_LAUNCH;
    if (code == EXIT_NO_PROGRAM || code == EXIT_NO_ACCESS)
        SAY(ret, "cannot run the shim '%.120s' on node '%.40s': put it there under that name",
            ex->shim_path, node);
    else if (code == RUN_NODE_NO_FOLDER)
        SAY(ret, "node '%.40s' has no folder '%.120s': put the runs on a shared file system", node,
            ex->root_path);
    else if (code == RUN_NODE_NO_WRITE)
        SAY(ret, "node '%.40s' cannot write into folder '%.120s': is it mounted read-only there?",
            node, ex->root_path);
    else if (run->has.node[0] == '\0' && run->has.reason[0])
        SAY(ret, "job %" PRIu64 " failed in Slurm: %.60s", run->job, run->has.reason);
    else
        SAY(ret, "job %" PRIu64 " failed on node '%.40s' before it began: exit code %d, signal %d",
            run->job, node, code, run->has.signal);
}

static void judge_failed(const struct slurm_run *run, struct verdict *ret) {
    if (!run->begun)
        judge_not_begun(run, ret);
    else if (run->has.code == RUN_NODE_BEGUN)
        SAY(ret,
            "Slurm ended job %" PRIu64 " and started it again: what was begun is not begun twice",
            run->job);
    else
        SAY(ret, "job %" PRIu64 " failed with exit code %d, signal %d, and has recorded no end",
            run->job, run->has.code, run->has.signal);
}

/* Derives the end of a run without a record from its job. Anything not caused by the task is
 * `lost`: it may run again, and does not count as a failure. */
static void judge_end(const struct slurm_run *run, struct verdict *ret) {
    *ret = (struct verdict){ .kind = RUN_END_LOST };
    switch (run->has.state) {
    case JOB_CANCELLED:
        judge_cancelled(run, ret);
        break;
    case JOB_TIMEOUT:
        ret->kind = run->begun ? RUN_END_TIMEOUT : RUN_END_LOST;
        SAY(ret, "Slurm ended job %" PRIu64 ": its time limit was over", run->job);
        break;
    case JOB_OUT_OF_MEMORY:
        ret->kind = RUN_END_SIGNAL;
        ret->signal = SIGKILL;
        SAY(ret, "Slurm killed it: it used more memory than job %" PRIu64 " was given", run->job);
        break;
    case JOB_NODE_FAIL:
        SAY(ret, "node '%.60s' failed", run->node[0] ? run->node : run->has.node);
        break;
    case JOB_PREEMPTED:
        SAY(ret, "job %" PRIu64 " was preempted by another one", run->job);
        break;
    case JOB_FAILED:
        judge_failed(run, ret);
        break;
    case JOB_PENDING:
        SAY(ret, "job %" PRIu64 " was put back into the queue by Slurm", run->job);
        break;
    case JOB_COMPLETED:
        SAY(ret, "job %" PRIu64 " is over and has recorded no end", run->job);
        break;
    case JOB_UNKNOWN:
    case JOB_RUNNING:
    case JOB_ENDING:
    case JOB_STATE_MAX:
        SAY(ret, "Slurm does not know job %" PRIu64 " any more, and it has recorded no end",
            run->job);
        break;
    }
    if (run->stop_asked) {
        ret->kind = RUN_END_STOPPED;
        ret->signal = run->begun ? SIGKILL : 0;
    }
}

/* --- ends ------------------------------------------------------------------------------------ */

static void end_without_record(struct slurm_run *run, const struct verdict *verdict) {
    run->end = (struct run_end){ .kind = verdict->kind,
                                 .code = -1,
                                 .signal = verdict->signal,
                                 .cause = LAUNCH_HOST,
                                 .ended_at = loop_now(run->ex->loop) };
    (void)snprintf(run->end.message, sizeof(run->end.message), "%s", verdict->message);
    slurm_set_over(run);
}

/* Slurm told the shim to stop, which the shim recorded; or its command was killed, and not by us.
 * Only Slurm knows why. */
static bool is_stopped_by_slurm(const struct slurm_run *run) {
    return run->end.kind == RUN_END_STOPPED && strstr(run->end.applied, "slurm.term")
           && !run->stop_asked;
}

static bool is_killed_by_somebody(const struct slurm_run *run) {
    return run->end.kind == RUN_END_SIGNAL && run->end.signal == SIGKILL
           && run->end.message[0] == '\0';
}

/* No more information about the reason will come. */
static void end_by_slurm(struct slurm_run *run) {
    struct verdict verdict;
    judge_end(run, &verdict);
    bool plain = run->gone || run->has.state == JOB_COMPLETED || run->has.state == JOB_FAILED
                 || !slurm_job_is_over(run->has.state);
    if (plain && !run->stop_asked) {
        verdict.kind = RUN_END_LOST;
        SAY(&verdict, "Slurm told job %" PRIu64 " to end", run->job);
    }
    if (is_stopped_by_slurm(run))
        run->end.kind = verdict.kind;
    if (run->end.kind == verdict.kind)
        (void)snprintf(run->end.message, sizeof(run->end.message), "%s", verdict.message);
    slurm_set_over(run);
}

/* Its end is known, but Slurm does not answer why: reported after some time. */
static void slurm_follow_late(struct slurm_run *run) {
    time_ms wait = run->ex->patience * (is_stopped_by_slurm(run) ? ANSWER_LATE : 1);
    if (run->has_end && run->state != SLURM_OVER
        && loop_now_steady(run->ex->loop) - run->over_since >= wait)
        end_by_slurm(run);
}

/* A daemon that has lost the store, but does not know it yet, may be about to create the directory:
 * it must exist then. */
static int open_or_make(const struct slurm_run *run, int *ret_dir) {
    int r = slurm_folder_open(run, ret_dir);
    if (r == -ENOENT && rundir_make_at(run->ex->root, run->folder, NULL) >= 0)
        r = slurm_folder_open(run, ret_dir);
    return r;
}

/* -EEXIST: a shim was first. */
static int close_folder(struct slurm_run *run) {
    _cleanup_(fd_closep) int dir = -1;
    int r = open_or_make(run, &dir);
    if (r == 0)
        r = rundir_begin_at(dir, RUN_BEGIN_CLOSED);
    if (r == -EEXIST)
        slurm_look(run);
    return r == -ENOENT || r == -ENOTDIR ? 0 : r; /* without a directory no shim can begin */
}

static void end_unbegun(struct slurm_run *run, enum run_end_kind kind, int error,
                        const char *message) {
    struct verdict verdict = { .kind = kind };
    SAY(&verdict, "%.250s", message);
    end_without_record(run, &verdict);
    run->end.exec_errno = kind == RUN_END_LAUNCH ? error : 0;
    if (run->job && !slurm_job_is_over(run->has.state) && !run->gone)
        slurm_cancel(run->ex, run->job);
}

/* Nothing ran and nothing will: closes the directory and ends the run. false: a shim was first, and
 * the run is followed; or the state is unknown. */
static bool slurm_give_up(struct slurm_run *run, enum run_end_kind kind, int error,
                          const char *message) {
    if (close_folder(run) < 0)
        return false;
    end_unbegun(run, kind, error, message);
    return true;
}

/* Same for a run without a job that is not submitted again: it ends even if its directory cannot be
 * closed. false: a shim was first. */
static bool slurm_end_jobless(struct slurm_run *run, enum run_end_kind kind, int error,
                              const char *message) {
    if (close_folder(run) == -EEXIST)
        return false;
    end_unbegun(run, kind, error, message);
    return true;
}

/* --- the folder ------------------------------------------------------------------------------ */

static void note_begun(struct slurm_run *run, int dir) {
    struct slurm *ex = run->ex;
    uint64_t job = 0;
    int begun = slurm_folder_begun(dir, &job, run->node);
    if (begun == 2) {
        (void)slurm_give_up(run, run->stop_asked ? RUN_END_STOPPED : RUN_END_LOST, 0,
                            "it was given up before it began");
        return;
    }
    if (begun != 1)
        return;
    run->begun = true;
    run->heard_after = ex->asks;
    run->missed = 0;
    if (run->state == SLURM_QUEUED) /* an earlier sbatch was accepted after all */
        slurm_unqueue(run);
    if (run->state != SLURM_SUBMITTING)
        run->state = SLURM_FOLLOWED;
    if (run->job == job)
        return;
    if (run->job)
        slurm_cancel(ex, run->job);
    run->has = (struct slurm_job){ .id = job };
    slurm_set_job(run, job);
}

/* It could not be read when the run was adopted. */
static void read_order(struct slurm_run *run, int dir) {
    struct slurm_order order = { 0 };
    if (slurm_folder_read_order(dir, &order) == 0)
        slurm_run_set_order(run, &order);
}

/* Reads from its directory whether it has begun, runs, or has ended. */
static void slurm_look(struct slurm_run *run) {
    struct run_started who;
    struct run_end end;
    _cleanup_(fd_closep) int dir = -1;
    if (run->state == SLURM_OVER || run->has_end || slurm_folder_open(run, &dir) < 0)
        return;
    if (!run->order.words)
        read_order(run, dir);
    if (!run->begun)
        note_begun(run, dir);
    if (!run->begun)
        return;
    if (!run->told_validating && rundir_read_started_at(dir, NULL, &who, NULL) == 0) {
        if (who.command > 0)
            tell_started(run, who.at);
        if (who.validating)
            tell_validating(run);
    }
    if (rundir_read_end_at(dir, NULL, &end, NULL) < 0) /* missing or incomplete */
        return;
    run->end = end;
    run->has_end = true;
    if (!is_stopped_by_slurm(run) && !is_killed_by_somebody(run)) {
        slurm_set_over(run);
        return;
    }
    run->over_since = loop_now_steady(run->ex->loop);
    slurm_ask_soon(run->ex);
}

/* --- answers --------------------------------------------------------------------------------- */

/* A directory that cannot be closed is retried, but not forever, because there is no job any
 * more. */
static void conclude_unbegun(struct slurm_run *run, const struct verdict *verdict, time_ms now) {
    if (now - run->over_since < ANSWER_LATE * run->ex->patience)
        (void)slurm_give_up(run, verdict->kind, ENOEXEC, verdict->message);
    else
        (void)slurm_end_jobless(run, verdict->kind, ENOEXEC, verdict->message);
}

/* Its job is over or unknown. */
static void conclude(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    struct verdict verdict;
    time_ms now = loop_now_steady(ex->loop);
    if (run->over_since == 0)
        run->over_since = now;
    slurm_look(run);
    if (run->state == SLURM_OVER)
        return;
    if (run->has_end) {
        end_by_slurm(run);
        return;
    }
    judge_end(run, &verdict);
    if (!run->begun) {
        conclude_unbegun(run, &verdict, now);
        return;
    }
    time_ms wait = run->has.state == JOB_PENDING ? ex->patience : ex->record_delay;
    if (now - run->over_since < wait)
        return;
    _cleanup_(fd_closep) int dir = -1;
    if (slurm_folder_open(run, &dir) == 0) {
        slurm_folder_refresh(dir);
        slurm_look(run);
    }
    if (run->state == SLURM_OVER || run->has_end)
        return;
    if (run->has.state == JOB_PENDING)
        slurm_cancel(ex, run->job);
    end_without_record(run, &verdict);
}

static bool was_missed_for(const struct slurm_run *run, time_ms span) {
    return run->missed >= MISSED_MIN && loop_now_steady(run->ex->loop) - run->missed_since >= span;
}

/* It may have been submitted; now it is known that it was not. */
static void follow_jobless(struct slurm_run *run) {
    run->missed = 0;
    if (run->stop_asked)
        (void)slurm_end_jobless(run, RUN_END_STOPPED, 0, "it was stopped before it began");
    else if (run->order.words)
        slurm_queue(run);
    else
        (void)slurm_end_jobless(run, RUN_END_LOST, 0,
                                "Slurm has no job of it, and its folder does not say what to "
                                "submit: look at the file system of the runs");
}

static void follow_missing(struct slurm_run *run) {
    if (run->missed++ == 0)
        run->missed_since = loop_now_steady(run->ex->loop);
    slurm_look(run);
    if (run->state == SLURM_OVER || !was_missed_for(run, run->ex->patience))
        return;
    if (run->state == SLURM_DOUBTFUL && !run->external_task) {
        follow_jobless(run);
        return;
    }
    run->gone = true; /* accounting may know more, if it is available and answers */
    if (!run->ex->use_sacct || !run->job || was_missed_for(run, ANSWER_LATE * run->ex->patience))
        conclude(run);
}

/* `job`: the answer of accounting, or NULL. */
static void slurm_follow_accounting(struct slurm_run *run, const struct slurm_job *job) {
    if (!run->gone || run->state == SLURM_OVER)
        return;
    if (job && slurm_job_is_over(job->state))
        run->has = *job;
    conclude(run);
}

/* Applies the answer to query `number`. */
static void slurm_follow(struct slurm_run *run, uint64_t number) {
    if (run->seen != number) {
        if (number > run->heard_after)
            follow_missing(run);
        return;
    }
    run->missed = 0;
    run->gone = false;
    if (run->state == SLURM_DOUBTFUL)
        run->state = SLURM_FOLLOWED;
    bool requeued = run->begun && run->has.state == JOB_PENDING && number > run->heard_after;
    if (slurm_job_is_over(run->has.state) || requeued) {
        conclude(run);
        return;
    }
    if (!run->has_end)
        run->over_since = 0;
    if (run->has.state == JOB_ENDING || (run->has.state == JOB_RUNNING && !run->told_started))
        slurm_look(run);
}

/* --- slurm adopt ------------------------------------------------------------------------------ */

/* Adopts runs that an earlier daemon, or one on another host, has submitted.
 *
 * The directory has everything: what to submit, who has begun, how it ended. A run without a known
 * job may still have one (the answer was lost with the daemon that waited for it), so it is
 * searched before it is submitted. Only a run whose directory is missing or incomplete can be
 * reported as lost at once, if the directory can be closed. If not, Slurm is asked for its job
 * first. */

static void follow(struct slurm_run *run, int dir) {
    struct slurm *ex = run->ex;
    run->job = dir >= 0 ? slurm_folder_read_job(dir) : 0;
    run->state = run->job ? SLURM_FOLLOWED : SLURM_DOUBTFUL;
    run->heard_after = ex->asks;
    run->missed_since = loop_now_steady(ex->loop);
    slurm_folder_watch(run);
    slurm_ask_soon(ex);
    loop_timer_set(ex->loop, ex->look_timer, loop_now_steady(ex->loop));
}

/* The record is complete; for a run ended by Slurm, Slurm is asked for the reason first. */
static bool has_plain_end(int dir) {
    struct run_end end;
    return rundir_read_end_at(dir, NULL, &end, NULL) == 0
           && !(end.kind == RUN_END_STOPPED && strstr(end.applied, "slurm.term"));
}

static enum adopted slurm_adopt(struct executor *base, struct run_key key, const char *folder,
                                const struct executor_known *known) {
    struct slurm *ex = slurm_of(base);
    struct slurm_order order = { 0 };
    _cleanup_(fd_closep) int dir = -1;
    (void)known; /* the boot id of a host is irrelevant for a job */
    if (slurm_find(ex, key))
        return ADOPTED_ALIVE;
    int r = rundir_open_at(ex->root, folder, &dir, NULL);
    if (r == 0)
        r = slurm_folder_read_order(dir, &order);
    struct slurm_run *run = slurm_run_new(ex, key, folder, &order);
    bool unsubmitted = r == -ENOENT || r == -ENOTDIR || r == -EPROTO;
    if (unsubmitted
        && slurm_give_up(run, RUN_END_LOST, 0,
                         "its folder is gone, or it was never handed over to Slurm"))
        return ADOPTED_LOST;
    follow(run, dir);
    return dir >= 0 && has_plain_end(dir) ? ADOPTED_ENDED : ADOPTED_ALIVE;
}

/* --- all of them ----------------------------------------------------------------------------- */

static bool is_over(int dir) {
    struct run_end end;
    uint64_t job;
    char node[SLURM_NODE_MAX];
    return rundir_read_end_at(dir, NULL, &end, NULL) == 0
           || slurm_folder_begun(dir, &job, node) == 2;
}

static enum sweep_verdict sweep_look(void *ctx, const char *folder, const char *task,
                                     uint32_t attempt) {
    struct slurm *ex = ctx;
    struct slurm_order order = { 0 };
    struct run_started who = { 0 };
    _cleanup_(fd_closep) int dir = -1;
    if (rundir_open_at(ex->root, folder, &dir, NULL) < 0)
        return SWEEP_KEEP;
    int r = slurm_folder_read_order(dir, &order);
    if (r == -EPROTO)
        return SWEEP_REMOVE; /* incomplete, so never submitted */
    if (r < 0)
        return SWEEP_KEEP; /* not ours, or unknown for now */
    if (is_over(dir)) {
        slurm_order_finish(&order);
        return SWEEP_REMOVE;
    }
    struct slurm_run *run = slurm_run_new(ex, (struct run_key){ 0 }, folder, &order);
    run->external_task = xstrdup(task);
    run->external_attempt = attempt;
    follow(run, dir);
    (void)rundir_read_started_at(dir, NULL, &who, NULL);
    if (ex->sweep.external)
        ex->sweep.external(ex->sweep.ctx, task, attempt, &who);
    return SWEEP_KEEP;
}

static int slurm_sweep(struct executor *base, struct executor_sweep *sweep, struct error *err) {
    struct slurm *ex = slurm_of(base);
    ex->sweep = *sweep;
    struct sweep all = { ex->root, ex->root_path, ex->trash, &ex->runs, sweep_look, ex };
    return sweep_folders(&all, sweep, err);
}
#define POLL_IDLE       SECONDS(15)
#define POLL_BUSY       SECONDS(1)
#define PATIENCE        SECONDS(15)
#define RETRY           SECONDS(1)
#define RECORD_LOCAL    SECONDS(1)
#define SUBMITS_AT_ONCE 8
#define KILL_WAIT       SECONDS(30) /* Slurm's default, until it is queried */

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

static struct slurm_run *slurm_find(const struct slurm *ex, struct run_key key) {
    return run_table_find(&ex->runs, key);
}

static struct slurm_run *slurm_find_token(const struct slurm *ex, const char *token) {
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

static void slurm_run_set_order(struct slurm_run *run, struct slurm_order *order) {
    drop_order(run);
    run->order = *order;
    *order = (struct slurm_order){ 0 };
    if (run->order.token && !slurm_find_token(run->ex, run->order.token))
        id_map_add(&run->ex->by_token, token_hash(run->order.token), run->index);
}

/* Takes ownership of the order's memory. If the order is empty (it could not be read), the run gets
 * the token that the engine gives to all its runs, so that its job is found. Without words it is
 * not submitted. */
static struct slurm_run *slurm_run_new(struct slurm *ex, struct run_key key, const char *folder,
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

/* Calls no callback. */
static void slurm_run_free(struct slurm_run *run) {
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

/* A controller that was killed forgets the last jobs it accepted, and reuses their numbers. The
 * previous run with that number has no job: it is searched by its token, and no other job is
 * signaled instead. */
static void slurm_lose_job(struct slurm *ex, uint64_t job, const struct slurm_run *to) {
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
            ex->unwanted[i] = 0; /* it is needed now */
}

/* From now on the number belongs to this run only. */
static void slurm_set_job(struct slurm_run *run, uint64_t job) {
    slurm_lose_job(run->ex, job, run);
    run->job = job;
    slurm_folder_write_job(run);
}

/* `end` is set and is reported in the next round. */
static void slurm_set_over(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->state == SLURM_QUEUED)
        slurm_unqueue(run);
    if (run->state == SLURM_OVER)
        return;
    run->state = SLURM_OVER;
    ex->over_count++;
    loop_timer_set(ex->loop, ex->over_timer, loop_now_steady(ex->loop));
}

/* Reports the state in the directories of adopted runs, once, from the loop. */
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
    full.cgroup = NULL;  /* Slurm's own is used */
    full.boot_id = NULL; /* of the node, not of this host */
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
    if (!run_table_has_task(&ex->runs, task)) /* else the sweep of the next start deletes it */
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
        helper_kill(calls[i]);
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

/* On a local disk there is no delay: the record is visible before the job is over. */
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

/* The path is kept as given: a symlink may resolve differently on the nodes, to the same
 * directory. */
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

/* --- slurm features --------------------------------------------------------------------------- */

/* Which of Slurm's programs are installed?
 *
 * Searched as a shell would, without running any. The controller is queried when a run needs it,
 * and by the doctor command. */

#define FIX_CLIENT                                                                                 \
    "install Slurm's commands on this host (Debian: slurm-client), or name their folder"

static const char *path_of(const char *const *env) {
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

static bool is_there(const char *program, const char *path) {
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
    const struct {
        const char *given, *name, *instead, *fix;
    } all[] = {
        { options->sbatch, "sbatch", "nothing: no run can be handed over to Slurm", FIX_CLIENT },
        { options->squeue, "squeue", "nothing: no run can be followed", FIX_CLIENT },
        { options->scancel, "scancel", "nothing: runs end when they like", FIX_CLIENT },
        { options->scontrol, "scontrol", "Slurm's usual time between TERM and KILL is assumed",
          FIX_CLIENT },
        { options->sacct, "sacct",
          "a job that the controller has forgotten and that has recorded no end is lost",
          FIX_CLIENT },
        { options->sinfo, "sinfo", "no limit can follow the size of a partition", FIX_CLIENT },
    };
    const char *path = path_of(options->env ? options->env : (const char *const *)environ);
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        ret[count++] = (struct executor_feature){
            .name = all[i].name,
            .there = is_there(all[i].given ? all[i].given : all[i].name, path),
            .instead = all[i].instead,
            .fix = all[i].fix,
        };
    return count;
}

size_t executor_slurm_probe(const struct executor_slurm_options *options,
                            const struct executor_feature **ret) {
    static struct executor_feature items[EXECUTOR_FEATURES_MAX];
    *ret = items;
    return slurm_features(options, items);
}
