/* listen.c: reads what the agents of live runs print.
 *
 * One inotify descriptor for all of them. A watch fires once (IN_ONESHOT) and is set again when the
 * log has been read to its end and a pause has passed. So a run that prints constantly costs a few
 * wake-ups per second, and a silent one none. Without a watch, the log is polled every two seconds.
 *
 * The end of a run is withheld until all its output was read: its final message is at the end of a
 * log of up to 17 MB. Holes punched into the middle of a log are skipped.
 *
 * An agent that stays after its final message is asked to exit after `agents.A.linger_s`. */
#include "engine/agents/agents_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/transcript.h"
#include "engine/redaction.h"
#include "engine/runs/runs_internal.h"
#include "engine/slurm/slurm_internal.h"
#include "os/log.h"
#include "os/loop.h"
#include "os/outside.h"

#define PAUSE       250         /* ms between two reads of the same log */
#define NO_WATCH    SECONDS(2)  /* the same without inotify */
#define APPLY_EVERY SECONDS(5)  /* tokens of a live run: each report costs a commit */
#define SLICE       (256 << 10) /* bytes per round, of all runs */
#define LAST_SLICE  (1 << 20)   /* at the end of a run: most logs are shorter */
#define PIECE       (64 << 10)  /* bytes per read */

enum { OUT, ERR, LOGS };
static const char *const log_names[LOGS] = { "out.log", "err.log" };

struct listener {
    struct run_key run;
    const struct agent_adapter *adapter;
    struct agent_reader *reader;
    struct transcript *transcript; /* for its last line; NULL: it prints text */
    char *folder;                  /* absolute */
    char *agent;
    off_t at[LOGS];    /* read up to here, */
    off_t seen[LOGS];  /* at this size: what may be the beginning of a secret is left */
    int watch[LOGS];   /* -1: not set */
    bool is_changed;   /* there may be something to read, */
    time_ms read_at;   /* but not before; monotonic */
    bool is_elsewhere; /* another host writes the logs: inotify does not fire */
    bool has_ended;    /* its end is recorded, and the rest is being read */
    bool is_complete;  /* all was read: `reported` */
    struct agent_outcome reported;
    struct agent_progress live; /* as last seen */
    struct agent_usage applied;
    time_ms apply_at; /* monotonic: not before */
    struct agent_quota applied_quota[AGENT_WINDOW_MAX];
    bool has_news;
    time_ms exit_by; /* monotonic: when to ask it to exit; TIME_NEVER: not yet, or done */
};

struct listening {
    LIST(struct listener *) all;
    int fd;
    struct loop_watch *ready;
    struct loop_timer *timer;
    size_t next; /* who is read first */
    struct strbuf transcript;
    char piece[REDACT_FILE_SPACE(PIECE)];
};

PART_STATE(listen, struct listening, listening_of)

/* --- life ------------------------------------------------------------------------------------ */

static void unwatch(struct listening *l, struct listener *one) {
    for (int log = 0; log < LOGS; log++) {
        if (one->watch[log] >= 0)
            (void)inotify_rm_watch(l->fd, one->watch[log]);
        one->watch[log] = -1;
    }
}

static void listener_free(struct listening *l, struct listener *one) {
    unwatch(l, one);
    agent_reader_free(one->reader);
    transcript_free(one->transcript);
    free(one->folder);
    free(one->agent);
    free(one);
}

static void listen_free(struct engine *e) {
    struct listening *l = listening_of(e);
    for (size_t i = 0; i < l->all.count; i++)
        listener_free(l, l->all.items[i]);
    free(l->all.items);
    strbuf_finish(&l->transcript);
    loop_unwatch(e->loop, l->ready);
    loop_timer_free(e->loop, l->timer);
    if (l->fd >= 0)
        close(l->fd);
}

static struct listener *listener_find(const struct engine *e, struct run_key key) {
    const struct listening *l = listening_of(e);
    for (size_t i = 0; i < l->all.count; i++)
        if (l->all.items[i]->run.task == key.task && l->all.items[i]->run.attempt == key.attempt)
            return l->all.items[i];
    return NULL;
}

const struct agent_adapter *listen_adapter(const struct engine *e, const char *agent) {
    const char *name = agent ? config_text(e->config, "agents.A.adapter", agent) : "plain";
    return strcmp(name, "plain") == 0 ? NULL : agent_adapter_find(name);
}

void listen_begin(struct engine *e, const struct live_run *run,
                  const struct agent_adapter *adapter) {
    struct run_key key = run_key_of(run);
    if (!adapter || listener_find(e, key))
        return;
    struct listener *one = xcalloc(1, sizeof(*one));
    one->run = key;
    one->adapter = adapter;
    one->reader = agent_reader_new(adapter);
    session_hand_over(e, run, one->reader);
    one->transcript = transcript_new(adapter, TRANSCRIPT_BRIEF);
    one->watch[OUT] = one->watch[ERR] = -1;
    one->agent = run->agent ? xstrdup(run->agent) : NULL;
    one->is_changed = true;
    one->is_elsewhere = run->executor != EXECUTOR_LOCAL;
    one->exit_by = TIME_NEVER;
    one->applied = one->live.usage = (struct agent_usage){ -1, -1, -1, -1 };
    one->folder = xasprintf("%s/%s", e->runs_folder, run->view.folder);
    *LIST_ADD(&listening_of(e)->all) = one;
    loop_again(e->loop);
}

/* From the shim's spec: the configuration may have changed. */
static void listen_again(struct engine *e, struct live_run *run) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    const struct agent_adapter *adapter;
    if (!run->agent || run->adapter_known)
        return;
    run->adapter_known = true;
    if (run_read_spec(e, run, &read, NULL) < 0) {
        adapter = listen_adapter(e, run->agent);
    } else {
        const char *name = run_spec_variable(&read->spec, "SLUICE_ADAPTER");
        const char *session = run_spec_variable(&read->spec, "SLUICE_SESSION");
        adapter = name ? agent_adapter_find(name) : NULL;
        if (session && !run->session) {
            run->session = xstrdup(session);
            run->resumes = run_spec_variable(&read->spec, "SLUICE_RESUMES") != NULL;
        }
    }
    listen_begin(e, run, adapter);
}

/* --- reading --------------------------------------------------------------------------------- */

static int open_log(const struct listener *one, int log, off_t *ret_size) {
    _cleanup_(freep) char *path = xasprintf("%s/%s", one->folder, log_names[log]);
    return outside_open(AT_FDCWD, path, O_RDONLY, ret_size, NULL);
}

static void feed(struct listening *l, struct listener *one, int log, const char *bytes,
                 size_t size) {
    if (log == ERR) {
        agent_reader_stderr(one->reader, bytes, size);
        return;
    }
    agent_reader_stdout(one->reader, bytes, size);
    if (one->transcript)
        transcript_feed(one->transcript, bytes, size, &l->transcript);
    strbuf_clear(&l->transcript); /* only its last line counts */
}

const char *listen_last_line(const struct engine *e, struct run_key key) {
    const struct listener *one = listener_find(e, key);
    const char *line = one && one->transcript ? transcript_last_line(one->transcript) : "";
    return line[0] ? line : NULL;
}

/* Skips a punched hole. The line before it has lost its end. */
static void skip_hole(struct listening *l, struct listener *one, int log, int fd, off_t size) {
    off_t data = lseek(fd, one->at[log], SEEK_DATA);
    if (data < 0 && errno == ENXIO)
        data = size;
    if (data <= one->at[log])
        return;
    feed(l, one, log, "\n", 1);
    one->at[log] = data;
}

/* True: read to its current end. */
static bool read_log(struct engine *e, struct listener *one, int log, size_t *left) {
    off_t size = 0;
    _cleanup_(fd_closep) int fd = open_log(one, log, &size);
    if (fd < 0)
        return true;
    one->seen[log] = size;
    while (one->at[log] < size) {
        if (*left == 0)
            return false;
        skip_hole(listening_of(e), one, log, fd, size);
        const struct redact_range range = { one->at[log], *left < PIECE ? *left : PIECE,
                                            !one->has_ended };
        const char *piece;
        ssize_t got = engine_read_log(e, fd, &range, listening_of(e)->piece, &piece);
        if (got <= 0)
            return true;
        feed(listening_of(e), one, log, piece, (size_t)got);
        one->at[log] += got;
        *left -= (size_t)got;
    }
    return true;
}

/* True: nothing is left. Standard error first: it is short, and the other has the final message. */
static bool read_both(struct engine *e, struct listener *one, size_t *left) {
    return read_log(e, one, ERR, left) && read_log(e, one, OUT, left);
}

static bool has_grown(const struct listener *one) {
    for (int log = 0; log < LOGS; log++) {
        off_t size = 0;
        _cleanup_(fd_closep) int fd = open_log(one, log, &size);
        if (fd >= 0 && size > one->seen[log])
            return true;
    }
    return false;
}

/* --- watching -------------------------------------------------------------------------------- */

static void note_change(struct engine *e, struct listener *one, time_ms pause) {
    one->is_changed = true;
    one->read_at = time_max(one->read_at, time_add(loop_now_steady(e->loop), pause));
}

static bool set_watch(const struct listening *l, struct listener *one, int log) {
    if (one->watch[log] >= 0)
        return true;
    _cleanup_(freep) char *path = xasprintf("%s/%s", one->folder, log_names[log]);
    if (l->fd >= 0 && !one->is_elsewhere)
        one->watch[log] = inotify_add_watch(l->fd, path, IN_MODIFY | IN_ONESHOT | IN_DONT_FOLLOW);
    return one->watch[log] >= 0;
}

/* Everything was read. What was written between that and the watch is seen here. */
static void wait_for_more(struct engine *e, struct listener *one) {
    one->is_changed = false;
    one->read_at = time_add(loop_now_steady(e->loop), PAUSE);
    bool watched = set_watch(listening_of(e), one, OUT);
    watched = set_watch(listening_of(e), one, ERR) && watched;
    if (!watched)
        note_change(e, one, NO_WATCH);
    else if (has_grown(one))
        note_change(e, one, PAUSE);
}

static void note_watch_event(struct engine *e, int watch) {
    struct listening *l = listening_of(e);
    for (size_t i = 0; i < l->all.count; i++)
        for (int log = 0; log < LOGS; log++) {
            struct listener *one = l->all.items[i];
            if (one->watch[log] != watch)
                continue;
            one->watch[log] = -1;
            note_change(e, one, 0);
            return;
        }
}

/* The watch ends with its event; IN_IGNORED follows. */
static void on_inotify_event(void *ctx, const struct inotify_event *event) {
    struct engine *e = ctx;
    for (size_t i = 0; (event->mask & IN_Q_OVERFLOW) && i < listening_of(e)->all.count; i++)
        note_change(e, listening_of(e)->all.items[i], 0);
    if (event->mask & (IN_MODIFY | IN_IGNORED))
        note_watch_event(e, event->wd);
}

static void read_events(void *ctx, int fd, unsigned events) {
    (void)events;
    inotify_read(fd, on_inotify_event, ctx);
}

static void on_timer(void *ctx) {
    (void)ctx; /* the end of the round reads */
}

static void listen_init(struct engine *e) {
    struct listening *l = listening_of(e);
    l->timer = loop_timer_new(e->loop, on_timer, e);
    l->fd = inotify_open(e->loop, read_events, e, &l->ready);
}

/* --- the end --------------------------------------------------------------------------------- */

/* In a sandbox it is in the folder that its task may write, otherwise in its run folder. */
static void read_usage_file(const struct engine *e, struct listener *one) {
    const char *name = one->adapter->usage_file_name;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    if (!name)
        return;
    strbuf_printf(&path, "%s/%s", one->folder, name);
    if (outside_read(AT_FDCWD, strbuf_text(&path), 0, AGENT_USAGE_FILE_MAX, &text, NULL)
        == -ENOENT) {
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/tasks/%s/" ITERATION_OWN "/%s", e->data,
                      engine_task_id(e, one->run.task, id), name);
        (void)outside_read(AT_FDCWD, strbuf_text(&path), 0, AGENT_USAGE_FILE_MAX, &text, NULL);
    }
    if (text.length > 0)
        agent_reader_usage(one->reader, strbuf_text(&text), text.length);
}

/* It was still waiting for its provider when it timed out or gave up: not a failure. */
static void count_waiting_as_limited(struct listener *one, const struct run_end *end) {
    bool cut_off = one->reported.result == AGENT_TIMEOUT || one->reported.result == AGENT_CRASHED;
    bool by_us = end->kind == RUN_END_STOPPED || end->kind == RUN_END_LOST;
    if (!one->live.is_waiting || !cut_off || by_us)
        return;
    one->reported.result = AGENT_LIMITED;
    if (one->reported.reset_at == 0)
        one->reported.reset_at = one->live.reset_at;
}

/* The checks began because the agent itself exited with 0. */
static void complete_report(struct engine *e, struct listener *one, const struct run_end *end) {
    bool checked = end->kind == RUN_END_CHECK;
    time_ms now = end->ended_at ? end->ended_at : loop_now(e->loop);
    time_t seconds = (time_t)(now / 1000);
    struct tm local = { 0 };
    (void)localtime_r(&seconds, &local);
    struct agent_end how = { .code = checked ? 0 : end->code,
                             .signal = checked ? 0 : end->signal,
                             .by = end->kind == RUN_END_STOPPED   ? AGENT_BY_STOP
                                   : end->kind == RUN_END_TIMEOUT ? AGENT_BY_TIMEOUT
                                                                  : AGENT_BY_ITSELF,
                             .now = now,
                             .utc_offset_s = (int32_t)local.tm_gmtoff };
    const struct live_run *run = run_find_attempt(e, one->run);
    read_usage_file(e, one);
    if (run)
        session_files_read(e, run, one->adapter, one->reader);
    agent_reader_progress(one->reader, &one->live);
    agent_reader_end(one->reader, &how, &one->reported);
    count_waiting_as_limited(one, end);
    one->is_complete = true;
    one->has_news = false;
    one->exit_by = TIME_NEVER;
    unwatch(listening_of(e), one);
}

bool listen_end(struct engine *e, struct live_run *run, const struct run_end *end) {
    struct listener *one = listener_find(e, run_key_of(run));
    if (!one && end->kind != RUN_END_LAUNCH) {
        listen_again(e, run); /* known for those that this daemon has launched */
        one = listener_find(e, run_key_of(run));
    }
    if (!one || one->is_complete)
        return false;
    size_t left = LAST_SLICE;
    one->has_ended = true;
    if (read_both(e, one, &left)) {
        complete_report(e, one, end);
        return false;
    }
    one->is_changed = true;
    one->read_at = 0;
    loop_again(e->loop);
    return true;
}

const struct agent_outcome *listen_reported(const struct engine *e, struct run_key key) {
    const struct listener *one = listener_find(e, key);
    return one && one->is_complete ? &one->reported : NULL;
}

/* --- while it is live ------------------------------------------------------------------------ */

static bool same_usage(const struct agent_usage *a, const struct agent_usage *b) {
    return a->in == b->in && a->out == b->out && a->cached == b->cached
           && a->cost_micro_usd == b->cost_micro_usd;
}

/* A change of the account's use is not delayed: it may close the account, and is rare. */
static void note_news(struct engine *e, struct listener *one) {
    bool usage =
        one->apply_at <= loop_now_steady(e->loop) && !same_usage(&one->live.usage, &one->applied);
    if (one->has_news || (!usage && quota_is_same(one->live.quota, one->applied_quota)))
        return;
    one->has_news = true;
    turn_wake(e);
}

/* The agent has ended and its checks run, or it was already asked. */
static bool is_exiting(const struct engine *e, const struct listener *one) {
    const struct live_run *run = run_find(e, one->run.task);
    struct run_started started;
    if (!run || run->phase != PHASE_WORKING)
        return true;
    return rundir_read_started(e->runs_folder, run->view.folder, run_proof_key(&run->proof),
                               &started, NULL)
               == 0
           && started.validating;
}

/* Its end will be "stopped", but its final message counts. */
static void ask_to_exit(struct engine *e, struct listener *one) {
    char id[ENGINE_ID_MAX];
    if (one->exit_by > loop_now_steady(e->loop) || one->has_ended)
        return;
    one->exit_by = INT64_MAX - 1; /* once; never again, but not "not yet" */
    if (!is_exiting(e, one) && !turn_is_over(e)
        && executors_stop(e, one->run, STOP_GRACEFULLY) == 0)
        log_info("task '%s': its agent has said its last word and stays; it is asked to go",
                 engine_task_id(e, one->run.task, id));
}

static bool listen_has_news(const struct engine *e) {
    for (size_t i = 0; i < listening_of(e)->all.count; i++)
        if (listening_of(e)->all.items[i]->has_news)
            return true;
    return false;
}

static void apply_usage(struct engine *e, struct listener *one, struct live_run *run) {
    struct agent_usage own = one->live.usage;
    if (own.cost_micro_usd < 0 && !run->is_metered) {
        own.cost_micro_usd = usage_guess_cost(e, run, &own);
        run->cost_is_guessed = run->cost_is_guessed || own.cost_micro_usd >= 0;
    }
    struct engine_usage usage = { .tokens_in = own.in,
                                  .tokens_out = own.out,
                                  .cost_micro_usd = own.cost_micro_usd };
    (void)engine_report_usage(e, one->run.task, &usage, NULL);
}

static void apply_news(struct engine *e, struct listener *one, struct live_run *run) {
    if (!quota_is_same(one->live.quota, one->applied_quota)) {
        quota_report(e, run, one->live.quota);
        memcpy(one->applied_quota, one->live.quota, sizeof(one->applied_quota));
    }
    if (!same_usage(&one->live.usage, &one->applied)) {
        apply_usage(e, one, run);
        one->applied = one->live.usage;
        one->apply_at = time_add(loop_now_steady(e->loop), APPLY_EVERY);
    }
}

/* In the turn: tokens of live runs, and use of their accounts. */
static void listen_apply_news(struct engine *e) {
    for (size_t i = 0; i < listening_of(e)->all.count; i++) {
        struct listener *one = listening_of(e)->all.items[i];
        struct live_run *run = run_find(e, one->run.task);
        if (!one->has_news)
            continue;
        one->has_news = false;
        if (run && run->view.attempt == one->run.attempt)
            apply_news(e, one, run);
    }
}

/* --- the round ------------------------------------------------------------------------------- */

static void read_one(struct engine *e, struct listener *one, size_t *left) {
    if (!read_both(e, one, left)) {
        loop_again(e->loop);
    } else if (!one->has_ended) {
        wait_for_more(e, one);
    } else if (!one->is_complete) {
        const struct run_end *end = run_end_find(e, one->run);
        if (end)
            complete_report(e, one, end);
        run_end_continue(e, one->run, END_LOG, NULL);
        return;
    }
    if (one->has_ended)
        return;
    agent_reader_progress(one->reader, &one->live);
    note_news(e, one);
    if (!one->live.has_ended)
        one->exit_by = TIME_NEVER;
    else if (one->exit_by == TIME_NEVER)
        one->exit_by = time_add(loop_now_steady(e->loop),
                                config_number(e->config, "agents.A.linger_s", one->agent));
}

static time_ms next_read(const struct listener *one) {
    time_ms next = TIME_NEVER;
    if (one->is_complete)
        return next;
    if (one->is_changed)
        next = one->read_at;
    if (!one->has_ended && one->exit_by < INT64_MAX - 1)
        next = time_min(next, one->exit_by);
    if (!one->has_ended && !one->has_news && !same_usage(&one->live.usage, &one->applied))
        next = time_min(next, one->apply_at);
    return next;
}

/* At the end of each round. */
static void listen_some(struct engine *e) {
    struct listening *l = listening_of(e);
    time_ms now = loop_now_steady(e->loop), next = TIME_NEVER;
    size_t left = SLICE, count = l->all.count;
    if (count == 0)
        return;
    l->next++;
    for (size_t i = 0; i < count && i < l->all.count; i++) {
        struct listener *one = l->all.items[(l->next + i) % l->all.count];
        if (one->is_complete)
            continue;
        if (one->is_changed && one->read_at <= now)
            read_one(e, one, &left);
        else if (!one->has_ended)
            note_news(e, one);
        ask_to_exit(e, one);
    }
    /* Frees those whose end is committed. A failed commit brings their run back. */
    for (size_t i = l->all.count; !e->committing && i-- > 0;)
        if (!run_find_attempt(e, l->all.items[i]->run)) {
            listener_free(l, l->all.items[i]);
            l->all.items[i] = l->all.items[--l->all.count];
        }
    for (size_t i = 0; i < l->all.count; i++)
        next = time_min(next, next_read(l->all.items[i]));
    loop_timer_set(e->loop, l->timer, next);
}

static void listen_start(struct engine *e) {
    for (size_t i = 0; i < run_count(e); i++)
        if (!run_live_at(e, i)->is_unreachable)
            listen_again(e, run_live_at(e, i));
}

const struct engine_part listen_part = {
    .state_size = sizeof(struct listening),
    .at = { [STEP_INIT] = listen_init,
            [STEP_START] = listen_start,
            [STEP_FACTS] = listen_apply_news,
            [STEP_ROUND_END] = listen_some,
            [STEP_FREE] = listen_free },
    .has_work = listen_has_news,
};
