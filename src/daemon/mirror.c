/* mirror.c: writes the state of a task that came from a card back to the card.
 *
 * A follower of the events named "cards". A task came from a card if its meta has `card`, a path;
 * its card is written with `cards.mirror`, or if its import requested it (`mirror`). A worker
 * thread writes the files one by one. Each line of history ends with the number of its event, so an
 * event that is handled again after a crash is not written twice. The next daemon writes what is
 * left at shutdown.
 *
 * Most tasks are not cards and must cost nothing: a task that was added without an external id is
 * known not to be one, any other is looked up once. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "card/card.h"
#include "daemon/services.h"
#include "engine/follow.h"
#include "os/log.h"
#include "os/worker.h"

#define DELETED_MAX 1000u /* deleted cards, each logged once */
#define DETAILS_MAX 200   /* bytes of the failure message */

/* One change of one card. */
struct job {
    struct worker_job base;
    struct mirror *mirror;
    uint64_t seq;
    task_id task;
    char *path, *line;
    enum card_status status;
    bool explains; /* the line has the reason of the failure */
    int result;
    struct error err;
};

struct mirror {
    struct engine *engine;
    struct follower *follower;
    uint8_t *plain; /* one bit per task that is not a card */
    size_t plain_capacity;
    char *deleted[DELETED_MAX];
    size_t deleted_count;
    struct worker *worker;
};

static void job_free(struct job *job) {
    free(job->path);
    free(job->line);
    free(job);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Users move cards from column to column: ROOT/phase/COLUMN/file. */
static int write_moved(const struct job *job, struct error *err) {
    static const char *const columns[] = { "in-progress", "backlog", "done" };
    const char *file = strrchr(job->path, '/');
    size_t column = file ? (size_t)(file - job->path) : 0;
    while (column > 0 && job->path[column - 1] != '/')
        column--;
    for (size_t i = 0; file && i < ARRAY_SIZE(columns); i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        strbuf_add(&path, job->path, column);
        strbuf_printf(&path, "%s%s", columns[i], file);
        int r = card_write(strbuf_text(&path), job->status, job->line, err);
        if (r != -ENOENT)
            return r;
    }
    return -ENOENT;
}

static void write_card(void *ctx, struct worker_job *base) {
    struct job *job = (struct job *)base;
    (void)ctx;
    job->result = card_write(job->path, job->status, job->line, &job->err);
    if (job->result == -ENOENT)
        job->result = write_moved(job, &job->err);
}

/* --- results ---------------------------------------------------------------------------------- */

static void log_failure(struct mirror *m, const struct job *job) {
    char id[ENGINE_ID_MAX];
    engine_task_id(m->engine, job->task, id);
    if (job->result != -ENOENT) {
        log_warning("the state of task %s could not be written to its card: %s", id, job->err.text);
        return;
    }
    for (size_t i = 0; i < m->deleted_count; i++)
        if (strcmp(m->deleted[i], job->path) == 0)
            return; /* already logged */
    if (m->deleted_count < DELETED_MAX)
        m->deleted[m->deleted_count++] = xstrdup(job->path);
    log_warning("card '%s' of task %s is gone; its state is not written any more", job->path, id);
}

static void job_done(void *ctx, struct worker_job *base, bool was_run) {
    struct mirror *m = ctx;
    struct job *job = (struct job *)base;
    (void)was_run;
    if (m->worker) { /* else shutdown: the next daemon repeats it */
        if (job->result < 0)
            log_failure(m, job);
        follower_done(m->follower, job->seq);
    }
    job_free(job);
}

/* --- which tasks ------------------------------------------------------------------------------ */

static void mark_plain(struct mirror *m, task_id task) {
    size_t before = m->plain_capacity;
    m->plain = xgrow(m->plain, &m->plain_capacity, task / 8 + 1, 1);
    if (m->plain_capacity > before)
        memset(m->plain + before, 0, m->plain_capacity - before);
    m->plain[task / 8] |= (uint8_t)(1u << (task % 8));
}

/* Appends why the last run failed, without line breaks. */
static void add_details(struct job *job, const struct run_row *run) {
    struct strbuf line = STRBUF_INIT;
    size_t before = strlen(job->line);
    strbuf_puts(&line, job->line);
    if (run->message && *run->message)
        strbuf_printf(&line, ": %.*s", DETAILS_MAX, run->message);
    else if (run->exit_signal)
        strbuf_printf(&line, ": signal %d", run->exit_signal);
    else if (run->exit_code >= 0)
        strbuf_printf(&line, ": exit code %d", run->exit_code);
    while (line.length > before && (line.text[line.length - 1] & 0x80)) /* incomplete character */
        line.text[--line.length] = '\0';
    for (char *c = line.text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    free(job->line);
    job->line = strbuf_take(&line);
}

static void runs_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct job *job = ctx;
    if (!err && answer->count > 0)
        add_details(job, &answer->runs[0]);
    (void)worker_submit(job->mirror->worker, &job->base);
}

static void spec_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct job *job = ctx;
    struct mirror *m = job->mirror;
    json_t *spec = !err && answer->count > 0
                       ? json_loadb(answer->specs[0].json, answer->specs[0].json_size, 0, NULL)
                       : NULL;
    const json_t *meta = json_object_get(spec, "meta");
    /* A card has an external id. A task added by a run has none, and its `meta` is untrusted. */
    bool is_card = json_is_string(json_object_get(spec, "external_id"));
    const char *path = is_card ? json_string_value(json_object_get(meta, "card")) : NULL;
    bool wanted = config_number(engine_config(m->engine), "cards.mirror", NULL)
                  || json_is_true(json_object_get(meta, "mirror"));
    if (spec && !path)
        mark_plain(m, job->task);
    if (path && *path == '/' && wanted) {
        job->path = xstrdup(path);
        struct store_query runs = { .kind = QUERY_RUNS, .task = job->task, .limit = 1 };
        if (job->explains)
            store_query(engine_store(m->engine), &runs, runs_answered, job);
        else
            (void)worker_submit(m->worker, &job->base);
    } else {
        follower_done(m->follower, job->seq);
        job_free(job);
    }
    json_decref(spec);
}

/* --- events ----------------------------------------------------------------------------------- */

static enum card_status status_of(const char *state, const char *hold) {
    static const struct {
        const char *state;
        enum card_status status;
    } words[] = { { "draft", CARD_IDLE },        { "waiting", CARD_QUEUED },
                  { "ready", CARD_QUEUED },      { "held", CARD_QUEUED },
                  { "starting", CARD_RUNNING },  { "running", CARD_RUNNING },
                  { "done", CARD_SUCCEEDED },    { "failed", CARD_FAILED },
                  { "canceled", CARD_CANCELED }, { "invalidated", CARD_CANCELED } };
    /* The agent has finished; the review has not. */
    if (strcmp(hold, "review") == 0 || strcmp(hold, "external") == 0)
        return CARD_SUCCEEDED;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i].state, state) == 0)
            return words[i].status;
    return CARD_STATUS_MAX;
}

static char *line_of(const struct mirror *m, const struct event_row *event, enum card_status status,
                     const char *reason) {
    struct strbuf line = STRBUF_INIT;
    char date[16] = "", id[ENGINE_ID_MAX];
    time_t seconds = (time_t)(event->at / 1000);
    struct tm day;
    if (localtime_r(&seconds, &day))
        (void)strftime(date, sizeof(date), "%Y-%m-%d", &day);
    strbuf_printf(&line, "%s: agent %s", date, card_status_name(status));
    if (reason)
        strbuf_printf(&line, ": %s", reason);
    strbuf_printf(&line, " (%s", engine_task_id(m->engine, event->task, id));
    if (event->attempt > 0)
        strbuf_printf(&line, ".%" PRIu32, event->attempt);
    strbuf_printf(&line, " #%" PRIu64 ")", event->seq);
    return strbuf_take(&line);
}

/* The run has failed, and another attempt follows. */
static bool failed_attempt(const json_t *data) {
    static const char *const reasons[] = { "retry", "relaunch", "breaker" };
    const char *reason = json_string_value(json_object_get(data, "reason"));
    for (size_t i = 0; reason && i < ARRAY_SIZE(reasons); i++)
        if (strcmp(reasons[i], reason) == 0)
            return true;
    return false;
}

/* CARD_STATUS_MAX: the card does not change. */
static enum card_status new_status(struct mirror *m, const struct event_row *event,
                                   const json_t *data) {
    const char *from = json_string_value(json_object_get(data, "from"));
    const char *to = json_string_value(json_object_get(data, "to"));
    const char *hold = json_string_value(json_object_get(data, "hold"));
    struct task_view t;
    if (strcmp(event->kind, "task.state") == 0 && from && to) {
        enum card_status status = status_of(to, hold ? hold : "");
        /* A failed launch: it is retried, but nothing runs meanwhile. */
        if (status == CARD_QUEUED && strcmp(from, "starting") == 0 && failed_attempt(data))
            return CARD_FAILED;
        return status_of(from, "") == status ? CARD_STATUS_MAX : status;
    }
    if (!json_object_get(data, "external_id")) { /* a card has one */
        mark_plain(m, event->task);
        return CARD_STATUS_MAX;
    }
    bool draft = core_task(engine_core(m->engine), event->task, &t) && t.state == TASK_DRAFT;
    return draft ? CARD_STATUS_MAX : CARD_QUEUED;
}

static void handle(void *ctx, const struct event_row *event) {
    struct mirror *m = ctx;
    bool added = strcmp(event->kind, "task.added") == 0;
    bool is_plain =
        event->task / 8 < m->plain_capacity && (m->plain[event->task / 8] >> (event->task % 8) & 1);
    bool concerns =
        event->task != 0 && (added || strcmp(event->kind, "task.state") == 0) && !is_plain;
    if (concerns && added && event->data && !strstr(event->data, "external_id")) {
        mark_plain(m, event->task); /* most tasks: nothing else is read */
        concerns = false;
    }
    json_t *data = concerns && event->data ? json_loads(event->data, 0, NULL) : NULL;
    enum card_status status = concerns ? new_status(m, event, data) : CARD_STATUS_MAX;
    if (status == CARD_STATUS_MAX) {
        json_decref(data);
        follower_done(m->follower, event->seq);
        return;
    }
    struct job *job = xcalloc(1, sizeof(*job));
    job->mirror = m;
    job->seq = event->seq;
    job->task = event->task;
    job->status = status;
    job->explains = status == CARD_FAILED || failed_attempt(data);
    job->line = line_of(m, event, status,
                        job->explains ? json_string_value(json_object_get(data, "reason")) : NULL);
    json_decref(data);
    struct store_query question = { .kind = QUERY_SPECS, .tasks = &job->task, .task_count = 1 };
    store_query(engine_store(m->engine), &question, spec_answered, job);
}

/* --- life ------------------------------------------------------------------------------------- */

struct mirror *mirror_new(struct engine *engine, struct loop *loop) {
    static const struct worker_calls calls = { .run = write_card, .done = job_done };
    struct mirror *m = xcalloc(1, sizeof(*m));
    m->engine = engine;
    m->worker = worker_new(loop, &calls, m);
    int r = worker_start(m->worker);
    if (r == 0)
        m->follower = follower_new(engine, "cards", handle, m);
    else
        log_warning("cards are not written: %s", strerror(-r));
    return m;
}

struct mirror *mirror_free(struct mirror *m) {
    if (!m)
        return NULL;
    worker_free(TAKE_PTR(m->worker), WORKER_DROP, 0);
    for (size_t i = 0; i < m->deleted_count; i++)
        free(m->deleted[i]);
    free(m->plain);
    free(m);
    return NULL;
}
