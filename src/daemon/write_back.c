/* write_back.c: runs the user's command at the end of each task (tasks.on_end, projects.P.on_end),
 * with the result as JSON on its standard input, for trackers that want to know it.
 *
 * Outbox:  the event log. A follower named "on_end" reads the events; a `task.state` to a final
 *          state is one delivery.
 * Once:    the result of a delivery is an event of its task, `task.on_end`, committed before the
 *          cursor passes the end of the task. After a restart, ends behind the cursor that have
 *          such an event are skipped. So only a daemon that is killed between the start of a
 *          command and that commit repeats it, with the same key (`delivery`).
 * Order:   the deliveries of one task are in order, those of several tasks run in parallel
 *          (tasks.on_end_max).
 * Failed:  any exit code but 0 is retried after tasks.on_end_retry_s, then twice as long each time,
 *          up to PAUSE_MAX. After tasks.on_end_tries it is given up, with the event and the alert
 *          `on_end:PROJECT`, which the next success in that project clears. A restart counts from
 *          the beginning.
 * Bounded: at most FOLLOW_AHEAD events are in memory, the others stay in the log. Shutdown waits
 *          for running commands, not for queued ones. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_span.h"
#include "base/json_write.h"
#include "daemon/services.h"
#include "daemon/user_command.h"
#include "engine/alert.h"
#include "engine/allowance.h"
#include "engine/data_folder.h"
#include "engine/external_ids.h"
#include "engine/follow.h"
#include "engine/redaction.h"
#include "engine/worktrees.h"
#include "os/log.h"
#include "os/loop.h"

#define SCHEMA_VERSION 1
#define PAUSE_MAX      MINUTES(10)
#define STORE_PAUSE    SECONDS(1) /* before a result that was not stored is written again */
#define META_MAX       32768u     /* bytes; larger ones are left out */
#define URL_MAX        2000u
#define EVENT_KIND     "task.on_end"

enum phase {
    PHASE_READING,   /* the store is queried */
    PHASE_READY,     /* waits for `due` and a slot */
    PHASE_RUNNING,   /* the command runs */
    PHASE_RECORDING, /* its result is being committed */
};

/* The end of a task that is not recorded as delivered yet. */
struct item {
    struct engine_request request; /* first: cast back from it; writes the result */
    struct write_back *owner;      /* NULL: freed while the store was queried */
    enum phase phase;
    task_id task;
    uint64_t seq;
    time_ms at;
    uint32_t attempt;
    char *key, *id, *project, *state, *reason;
    char *title, *meta, *url;
    char *input; /* JSON */
    time_ms due; /* steady */
    unsigned tries;
    struct helper_process *helper;
    bool is_delivered; /* the result; else it is given up */
    char *why;         /* how the last try failed; or NULL */
};

struct write_back {
    struct engine *engine;
    struct loop *loop;
    struct follower *follower;
    struct loop_timer *timer;
    struct item *items[FOLLOW_AHEAD]; /* in event order */
    size_t count, running;
    bool is_starting; /* inside start_some */
};

static void start_some(struct write_back *w);
static void read_item(struct item *item);

static const struct config *config_of(const struct write_back *w) {
    return engine_config(w->engine);
}

static size_t command_of(const struct write_back *w, const char *project,
                         const char *const **ret_words) {
    return config_words(config_of(w), project ? "projects.P.on_end" : "tasks.on_end", project,
                        ret_words);
}

/* --- the list --------------------------------------------------------------------------------- */

static void item_free(struct item *item) {
    free(item->key);
    free(item->id);
    free(item->project);
    free(item->state);
    free(item->reason);
    free(item->title);
    free(item->meta);
    free(item->url);
    free(item->input);
    free(item->why);
    free(item);
}

/* An ending daemon waits for commands and commits, not for items that have not begun. */
static void set_rest(const struct write_back *w) {
    bool busy = false;
    for (size_t i = 0; i < w->count; i++)
        busy = busy || w->items[i]->phase != PHASE_READY;
    follower_rest(w->follower, !busy);
}

static void set_phase(struct item *item, enum phase phase) {
    item->phase = phase;
    set_rest(item->owner);
}

/* The end of the task needs no more: the cursor may pass it. */
static void item_finish(struct item *item) {
    struct write_back *w = item->owner;
    size_t at = 0;
    while (w->items[at] != item)
        at++;
    memmove(&w->items[at], &w->items[at + 1], (--w->count - at) * sizeof(*w->items));
    follower_done(w->follower, item->seq);
    item_free(item);
    set_rest(w);
}

/* --- the result ------------------------------------------------------------------------------- */

static char *alert_key(const struct item *item) {
    return xasprintf("on_end:%s", item->project ? item->project : "default");
}

static void set_alert(struct engine *engine, const struct item *item) {
    _cleanup_(freep) char *key = alert_key(item);
    if (item->is_delivered) {
        engine_alert_clear(engine, key);
        return;
    }
    _cleanup_(freep) char *text = xasprintf(
        "the command of 'projects.%s.on_end' failed %u times for task '%s' and was given up%.300s; "
        "'sluice events --task %s' has the delivery",
        item->project ? item->project : "default", item->tries, item->id, item->why, item->id);
    engine_alert_raise(engine, key, text);
}

static int record_run(struct engine *engine, struct engine_request *request) {
    struct item *item = (struct item *)request;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct json_writer json;
    json_write_init(&json, &text, false);
    json_write_object_begin(&json);
    json_put_string(&json, "delivery", item->key);
    json_put_string(&json, "state", item->state);
    json_put_string(&json, "result", item->is_delivered ? "delivered" : "given_up");
    json_put_int(&json, "tries", item->tries);
    if (!item->is_delivered)
        json_put_string(&json, "message", item->why);
    json_write_object_end(&json);
    engine_event(engine, EVENT_KIND, item->task, item->attempt, strbuf_text(&text));
    set_alert(engine, item);
    return 0;
}

static void record_done(struct engine *engine, struct engine_request *request,
                        enum store_outcome outcome, const struct error *err) {
    struct item *item = (struct item *)request;
    struct write_back *w = item->owner;
    (void)engine;
    if (outcome != STORE_OK || err) { /* the command is not repeated, only the commit */
        item->due = time_add(loop_now_steady(w->loop), STORE_PAUSE);
        set_phase(item, PHASE_READY);
    } else {
        item_finish(item);
    }
    start_some(w);
}

static void record(struct item *item) {
    set_phase(item, PHASE_RECORDING);
    item->request = (struct engine_request){ .run = record_run, .done = record_done };
    engine_request(item->owner->engine, &item->request);
}

/* --- the command ------------------------------------------------------------------------------ */

static time_ms timeout_of(const struct write_back *w) {
    return config_number(config_of(w), "tasks.on_end_timeout_s", NULL);
}

static void begin_pause(struct item *item) {
    const struct write_back *w = item->owner;
    time_ms pause = config_number(config_of(w), "tasks.on_end_retry_s", NULL);
    for (unsigned i = 1; i < item->tries && pause < PAUSE_MAX; i++)
        pause *= 2;
    item->due = time_add(loop_now_steady(w->loop), time_min(pause, PAUSE_MAX));
    set_phase(item, PHASE_READY);
}

/* `why`: how it ended. */
static void try_ended(struct item *item, bool ok, const char *why) {
    const struct write_back *w = item->owner;
    item->tries++;
    item->is_delivered = ok;
    free(item->why);
    item->why = ok ? NULL : xstrdup(why);
    if (!ok)
        log_warning("on_end of task '%s', try %u%s", item->id, item->tries, why);
    if (ok || item->tries >= config_number(config_of(w), "tasks.on_end_tries", NULL))
        record(item);
    else
        begin_pause(item);
}

static void command_ended(void *ctx, const struct helper_end *end) {
    struct item *item = ctx;
    struct write_back *w = item->owner;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const struct user_command command = { .program = "", .timeout = timeout_of(w) };
    item->helper = NULL;
    w->running--;
    bool ok = user_command_describe(w->engine, &command, end, &text);
    try_ended(item, ok, strbuf_text(&text));
    start_some(w);
}

static void start_command(struct item *item) {
    struct write_back *w = item->owner;
    struct error err = { 0 };
    const char *const *words = NULL;
    if (command_of(w, item->project, &words) == 0) { /* no longer wanted */
        item_finish(item);
        return;
    }
    struct user_environment env = { .count = 0 };
    user_environment_put(&env, "SLUICE_DELIVERY", item->key);
    user_environment_put(&env, "SLUICE_TASK", item->id);
    user_environment_put_common(&env, w->engine);
    struct helper_spec spec = { .argv = words,
                                .cwd = engine_home(w->engine),
                                .env = env.pairs,
                                .input = item->input,
                                .timeout = timeout_of(w),
                                .output_max = USER_COMMAND_OUTPUT };
    int r = helper_start(w->loop, &spec, command_ended, item, &item->helper, &err);
    arena_finish(&env.arena);
    if (r < 0) {
        _cleanup_(freep) char *why = xasprintf(": %s", err.text);
        try_ended(item, false, why);
        return;
    }
    w->running++;
    set_phase(item, PHASE_RUNNING);
}

/* --- what is next ----------------------------------------------------------------------------- */

/* An earlier end of the same task is not recorded yet. */
static bool has_earlier(const struct write_back *w, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (w->items[i]->task == w->items[at]->task)
            return true;
    return false;
}

/* The first item that may begin now; NULL: none. *ret_due: when to look again. */
static struct item *find_due(const struct write_back *w, time_ms *ret_due) {
    time_ms now = loop_now_steady(w->loop);
    *ret_due = TIME_NEVER;
    for (size_t i = 0; i < w->count; i++) {
        struct item *item = w->items[i];
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): item_finish removes what it frees from the list
        if (item->phase != PHASE_READY || has_earlier(w, i))
            continue;
        if (item->due <= now)
            return item;
        *ret_due = time_min(*ret_due, item->due);
    }
    return NULL;
}

/* Has its command ended for good, and only its result is not stored? */
static bool is_decided(const struct write_back *w, const struct item *item) {
    return item->is_delivered
           || item->tries >= config_number(config_of(w), "tasks.on_end_tries", NULL);
}

static void start_some(struct write_back *w) {
    struct item *item;
    time_ms due = TIME_NEVER;
    if (w->is_starting)
        return;
    w->is_starting = true;
    while (!follow_is_ending(w->engine)
           && (int64_t)w->running < config_number(config_of(w), "tasks.on_end_max", NULL)
           && (item = find_due(w, &due))) {
        if (!item->input)
            read_item(item);
        else if (is_decided(w, item))
            record(item);
        else
            start_command(item);
    }
    w->is_starting = false;
    if (due != TIME_NEVER)
        loop_timer_set(w->loop, w->timer, due);
}

static void timer_is_due(void *ctx) {
    start_some(ctx);
}

/* --- the JSON --------------------------------------------------------------------------------- */

/* 0: null. */
static void put_time(struct json_writer *w, const char *key, time_ms at) {
    if (at > 0)
        json_put_int(w, key, at);
    else
        json_put_null(w, key);
}

static void put_run(struct json_writer *w, const struct run_row *run) {
    json_put_string(w, "agent", run ? run->agent : NULL);
    json_put_string(w, "outcome", run && run->ended ? outcome_name(run->outcome) : NULL);
    if (run && run->exit_code >= 0)
        json_put_int(w, "exit_code", run->exit_code);
    else
        json_put_null(w, "exit_code");
    json_put_string(w, "message", run && run->message && *run->message ? run->message : NULL);
    put_time(w, "started_at", run ? run->started_at : 0);
    put_time(w, "ended_at", run ? run->ended_at : 0);
}

static void put_used(struct json_writer *w, const struct engine *engine, task_id task) {
    struct engine_budget budget;
    engine_budget(engine, task, &budget);
    json_put_int(w, "tokens", budget.used.tokens);
    if (budget.used.usd > 0 || (budget.used.usd == 0 && budget.unknown == 0))
        json_put_double(w, "cost_usd", (double)budget.used.usd / 1e6, 6);
    else
        json_put_null(w, "cost_usd");
}

static void put_merge(struct json_writer *w, const struct engine *engine, task_id task) {
    struct delivery d;
    if (!engine_delivery(engine, task, &d)) {
        json_put_null(w, "branch");
        json_put_null(w, "merge");
        return;
    }
    json_put_string(w, "branch", d.branch);
    json_put_object(w, "merge");
    json_put_string(w, "strategy", d.strategy);
    json_put_string(w, "result", d.result);
    json_put_string(w, "message", d.message);
    json_put_string(w, "base", d.base);
    json_put_string(w, "commit", d.commit[0] ? d.commit : NULL);
    json_put_bool(w, "merged", d.merged);
    json_write_object_end(w);
    delivery_finish(&d);
}

static void put_task(struct json_writer *w, const struct item *item) {
    const struct engine *engine = item->owner->engine;
    json_put_int(w, "schema_version", SCHEMA_VERSION);
    json_put_string(w, "delivery", item->key);
    json_put_int(w, "seq", (int64_t)item->seq);
    json_put_int(w, "at", item->at);
    json_put_string(w, "task", item->id);
    json_put_string(w, "external_id", engine_external_id(engine, item->task));
    json_put_string(w, "url", item->url);
    json_put_string(w, "project", item->project);
    json_put_string(w, "title", item->title);
    json_put_string(w, "state", item->state);
    json_put_string(w, "reason", item->reason);
    json_put_int(w, "attempts", item->attempt);
}

/* Texts may be older than the secret that they contain. */
static void fill_input(struct item *item, const struct run_row *run) {
    const struct engine *engine = item->owner->engine;
    struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;
    struct json_writer w;
    struct task_view view = { 0 };
    (void)core_task(engine_core(engine), item->task, &view);
    json_write_init(&w, &text, false);
    json_write_object_begin(&w);
    put_task(&w, item);
    put_run(&w, run);
    put_time(&w, "created_at", view.created_at);
    put_used(&w, engine, item->task);
    put_merge(&w, engine, item->task);
    json_write_key(&w, "meta");
    strbuf_puts(&text, item->meta ? item->meta : "null");
    w.after_key = false;
    json_write_object_end(&w);
    strbuf_putc(&text, '\n');
    if (engine_redact(engine, strbuf_text(&text), text.length, &shown)) {
        strbuf_finish(&text);
        item->input = strbuf_take(&shown);
    } else {
        strbuf_finish(&shown);
        item->input = strbuf_take(&text);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* False: the item is not the caller's any more. Its service was freed in the meantime, or the store failed, and the item is
 * read again later. */
static bool take_answer(struct item *item, const struct error *err) {
    if (!item->owner) {
        item_free(item);
        return false;
    }
    if (!err)
        return true;
    item->due = time_add(loop_now_steady(item->owner->loop), STORE_PAUSE);
    set_phase(item, PHASE_READY);
    start_some(item->owner);
    return false;
}

static void runs_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct item *item = ctx;
    if (!take_answer(item, err))
        return;
    fill_input(item, answer->count > 0 ? &answer->runs[0] : NULL);
    set_phase(item, PHASE_READY);
    start_some(item->owner);
}

static void take_spec(struct item *item, const struct spec_row *row) {
    free(item->title);
    free(item->url);
    free(item->meta);
    item->url = item->meta = NULL;
    item->title = row->title ? xstrdup(row->title) : NULL;
    json_t *spec =
        row->json
            ? json_loadb(row->json, row->json_size ? row->json_size : strlen(row->json), 0, NULL)
            : NULL;
    const json_t *meta = json_object_get(spec, "meta");
    const char *url = json_string_value(json_object_get(meta, "url"));
    if (url && strlen(url) <= URL_MAX)
        item->url = xstrdup(url);
    char *text = json_object_size(meta) > 0 ? json_dumps(meta, JSON_COMPACT) : NULL;
    if (text && strlen(text) <= META_MAX)
        item->meta = TAKE_PTR(text);
    free(text);
    json_decref(spec);
}

static void spec_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct item *item = ctx;
    if (!take_answer(item, err))
        return;
    if (answer->count == 0) { /* deleted */
        item_finish(item);
        return;
    }
    take_spec(item, &answer->specs[0]);
    struct store_query runs = {
        .kind = QUERY_RUNS, .task = item->task, .before = item->attempt + 1, .limit = 1
    };
    store_query(engine_store(item->owner->engine), &runs, runs_answered, item);
}

static bool is_result_of(const struct event_row *event, const struct item *item) {
    struct json_span data;
    return strcmp(event->kind, EVENT_KIND) == 0 && event->data
           && json_span_parse(event->data, strlen(event->data), &data)
           && json_span_is(json_span_get(data, "delivery"), item->key);
}

/* Was it recorded by an earlier daemon, which did not write the cursor? */
static void events_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct item *item = ctx;
    if (!take_answer(item, err))
        return;
    for (size_t i = 0; i < answer->count; i++)
        if (is_result_of(&answer->events[i], item)) {
            item_finish(item);
            return;
        }
    struct store_query spec = { .kind = QUERY_SPECS, .tasks = &item->task, .task_count = 1 };
    store_query(engine_store(item->owner->engine), &spec, spec_answered, item);
}

static void read_item(struct item *item) {
    set_phase(item, PHASE_READING);
    struct store_query events = { .kind = QUERY_EVENTS, .task = item->task, .after = item->seq };
    store_query(engine_store(item->owner->engine), &events, events_answered, item);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_final_name(const char *state) {
    for (unsigned i = 0; i < TASK_STATE_MAX; i++)
        if (strcmp(task_state_name((enum task_state)i), state) == 0)
            return task_state_is_final((enum task_state)i);
    return false;
}

/* The project of a task that has a command; *ret_project: NULL for none. False: there is nothing to do. */
static bool is_wanted(const struct write_back *w, task_id task, const char **ret_project) {
    struct task_view view;
    const char *const *words = NULL;
    if (!core_task(engine_core(w->engine), task, &view))
        return false; /* deleted */
    const struct symbol_table *symbols = core_symbols((struct core *)engine_core(w->engine));
    *ret_project = view.project ? symbol_name(symbols, view.project) : NULL;
    return command_of(w, *ret_project, &words) > 0;
}

static struct item *item_new(struct write_back *w, const struct event_row *event,
                             const char *project, const json_t *data) {
    char id[ENGINE_ID_MAX];
    struct item *item = xcalloc(1, sizeof(*item));
    item->owner = w;
    item->task = event->task;
    item->seq = event->seq;
    item->at = event->at;
    item->attempt = event->attempt;
    item->id = xstrdup(engine_task_id(w->engine, event->task, id));
    item->key = xasprintf("%s:%" PRIu64 "-%" PRId64, item->id, event->seq, event->at);
    item->project = project ? xstrdup(project) : NULL;
    item->state = xstrdup(json_string_value(json_object_get(data, "to")));
    const char *reason = json_string_value(json_object_get(data, "reason"));
    item->reason = reason ? xstrdup(reason) : NULL;
    return item;
}

/* Most daemons have no such command: nothing is parsed for them. */
static void handle(void *ctx, const struct event_row *event) {
    struct write_back *w = ctx;
    const char *project = NULL;
    json_t *data = event->task && event->data && strcmp(event->kind, "task.state") == 0
                           && is_wanted(w, event->task, &project)
                       ? json_loads(event->data, 0, NULL)
                       : NULL;
    const char *to = json_string_value(json_object_get(data, "to"));
    struct item *item = to && is_final_name(to) ? item_new(w, event, project, data) : NULL;
    json_decref(data);
    if (!item) {
        follower_done(w->follower, event->seq);
        return;
    }
    w->items[w->count++] = item; /* a follower gets no more than FOLLOW_AHEAD */
    read_item(item);
}

/* --- life ------------------------------------------------------------------------------------- */

static bool is_configured(const struct write_back *w) {
    const char *const *words = NULL;
    const struct config *config = config_of(w);
    bool has = command_of(w, NULL, &words) > 0;
    for (size_t i = 0; !has && i < config_project_count(config); i++)
        has = command_of(w, config_project_name(config, i), &words) > 0;
    return has;
}

struct write_back *write_back_new(struct engine *engine, struct loop *loop) {
    struct write_back *w = xcalloc(1, sizeof(*w));
    w->engine = engine;
    w->loop = loop;
    w->timer = loop_timer_new(loop, timer_is_due, w);
    w->follower = follower_new(engine, "on_end", handle, w);
    follower_rest(w->follower, true);
    if (is_configured(w)) /* a delivery must not run beside its repetition */
        (void)helper_sweep(engine_data(engine));
    return w;
}

struct write_back *write_back_free(struct write_back *w) {
    if (!w)
        return NULL;
    loop_timer_free(w->loop, w->timer);
    for (size_t i = 0; i < w->count; i++) {
        struct item *item = w->items[i];
        helper_kill(item->helper);
        if (item->phase == PHASE_RECORDING)
            engine_request_abandon(w->engine, &item->request);
        item->owner = NULL;
        if (item->phase != PHASE_READING) /* else the answer of the store frees it */
            item_free(item);
    }
    free(w);
    return NULL;
}
