/* notify_news.c: selects the events that are worth a notification.
 *
 * Each cause is reported once. A breaker that fails its task is reported as failed; a closed
 * account as needs-person and not also as a limit; tasks that depend on a failed one are not
 * reported. Short pauses of an account are routine: a limit is reported if the pause is long, and
 * again if it becomes much longer. */
#include "daemon/notify_news.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "engine/questions.h"
#include "engine/redaction.h"
#include "ops/op.h"

#define TEXT_MAX 500u /* bytes of one external text */
#define LONGER   4    /* times as long as the reported pause */

static const char *const kind_names[] = {
    [NEWS_DONE] = "done",           [NEWS_FAILED] = "failed",        [NEWS_LIMITED] = "limited",
    [NEWS_PERSON] = "needs-person", [NEWS_GROUP] = "group-finished", [NEWS_TEST] = "test",
};
_Static_assert(ARRAY_SIZE(kind_names) == NEWS_KIND_MAX, "a kind of news has no name");

const char *news_kind_name(enum news_kind kind) {
    return kind_names[kind];
}

struct completion {
    struct engine_request request; /* first: cast back from it */
    struct engine *engine;
    struct news *news;
    struct news_completion how;
    char code[QUESTION_LINK_SIZE]; /* "": no link was made */
};

struct news *news_free(struct news *n) {
    if (!n)
        return NULL;
    if (n->linking) { /* the daemon ends */
        engine_request_abandon(n->linking->engine, &n->linking->request);
        free(n->linking);
    }
    arena_finish(&n->arena);
    free(n);
    return NULL;
}

void news_reader_finish(struct news_reader *reader) {
    for (size_t i = 0; i < reader->count; i++)
        free(reader->reported[i].account);
    reader->count = 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* On one line, at most TEXT_MAX bytes; NULL if empty. */
static char *clean(struct news *n, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (!text || !*text)
        return NULL;
    for (size_t left = strlen(text); left > 0;) {
        size_t length = utf8_length(text, left);
        size_t step = length ? length : 1;
        if (out.length + step > TEXT_MAX) {
            strbuf_puts(&out, "…");
            break;
        }
        if (length == 0)
            strbuf_putc(&out, '?');
        else if (utf8_is_control(text, length))
            strbuf_putc(&out, ' ');
        else
            strbuf_add(&out, text, length);
        text += step;
        left -= step;
    }
    return arena_strdup(&n->arena, strbuf_text(&out));
}

static const char *member(const json_t *data, const char *name) {
    const char *text = json_string_value(json_object_get(data, name));
    return text ? text : "";
}

static int64_t number(const json_t *data, const char *name) {
    return json_integer_value(json_object_get(data, name));
}

/* --- which events ----------------------------------------------------------------------------- */

static struct news *news_new(enum news_kind kind, const char *reason) {
    struct news *n = xcalloc(1, sizeof(*n));
    n->kind = kind;
    n->reason = clean(n, reason);
    return n;
}

static struct news *read_state(const json_t *data) {
    const char *to = member(data, "to"), *reason = member(data, "reason");
    const char *hold = member(data, "hold");
    if (strcmp(to, "done") == 0)
        return news_new(NEWS_DONE, reason);
    /* the cause of these two was already reported, or was requested by a user */
    if (strcmp(to, "failed") == 0)
        return strcmp(reason, "dependency") == 0 || strcmp(reason, "orphaned") == 0
                   ? NULL
                   : news_new(NEWS_FAILED, reason);
    if (strcmp(to, "held") == 0 && (strcmp(hold, "review") == 0 || strcmp(hold, "external") == 0))
        return news_new(NEWS_PERSON, hold);
    return NULL;
}

static bool is_kind(const char *key, size_t size, const char *kind) {
    return strlen(kind) == size && strncmp(key, kind, size) == 0;
}

/* For `chain` and `group` the failure itself was reported; memory and load recover by
 * themselves. */
static struct news *read_alert(const struct engine *engine, const struct event_row *event,
                               const json_t *data) {
    static const char *const left_out[] = { "chain", "group", "load", "memory" };
    const char *key = member(data, "key");
    size_t size = strcspn(key, ":");
    for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
        if (is_kind(key, size, left_out[i]))
            return NULL;
    struct task_view view;
    if (is_kind(key, size, "breaker") && event->task
        && core_task(engine_core(engine), event->task, &view) && view.state == TASK_FAILED)
        return NULL;
    _cleanup_(freep) char *kind = xstrndup(key, size);
    struct news *n = news_new(NEWS_PERSON, kind);
    n->alert = clean(n, key);
    n->text = clean(n, *member(data, "text") ? member(data, "text") : key);
    if (is_kind(key, size, "account") && key[size] == ':')
        n->account = clean(n, key + size + 1);
    return n;
}

/* A pause that was not reported, or is much longer than the reported one. */
static bool is_worth_reporting(struct news_reader *reader, const char *account, int64_t hits,
                               time_ms pause) {
    size_t i = 0;
    while (i < reader->count && strcmp(reader->reported[i].account, account) != 0)
        i++;
    if (i == reader->count) {
        if (i == NEWS_ACCOUNTS_MAX)
            return true;
        reader->reported[reader->count++].account = xstrdup(account);
    } else if (hits > reader->reported[i].hits && pause < LONGER * reader->reported[i].pause) {
        reader->reported[i].hits = hits;
        return false;
    }
    reader->reported[i].hits = hits;
    reader->reported[i].pause = pause;
    return true;
}

static struct news *read_limit(struct news_reader *reader, const struct engine *engine,
                               const struct event_row *event, const json_t *data) {
    const char *account = member(data, "limiter");
    time_ms until = number(data, "until"), pause = until - event->at;
    if (pause < config_number(engine_config(engine), "notify.limited_s", NULL)
        || !is_worth_reporting(reader, account, number(data, "hits"), pause))
        return NULL;
    struct news *n = news_new(NEWS_LIMITED, "rate-limit");
    n->account = clean(n, account);
    n->until = until;
    return n;
}

/* The text is complete here: the question may be answered when the notification is sent. */
static struct news *read_question(const struct engine *engine, const struct event_row *event,
                                  const json_t *data) {
    _cleanup_(strbuf_finish) struct strbuf choices = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    const json_t *list = json_object_get(data, "choices");
    for (size_t i = 0; i < json_array_size(list); i++)
        strbuf_printf(&choices, "%s%s", i ? ", " : " (",
                      json_string_value(json_array_get(list, i)));
    if (choices.length > 0)
        strbuf_putc(&choices, ')');
    struct news *n = news_new(NEWS_PERSON, "question");
    n->is_question = true;
    n->message = clean(n, member(data, "question"));
    engine_task_id(engine, event->task, id);
    _cleanup_(freep) char *text =
        xasprintf("'%s' asks: %s%s: 'sluice answer %s TEXT'", id, n->message ? n->message : "",
                  strbuf_text(&choices), id);
    n->text = clean(n, text);
    return n;
}

static struct news *read_group(const json_t *data) {
    struct news *n = news_new(NEWS_GROUP, "closed");
    n->group = clean(n, member(data, "group"));
    n->total = number(data, "total");
    n->open = number(data, "open");
    n->failed = number(data, "failed");
    return n;
}

static bool is_listed(const struct engine *engine, enum news_kind kind) {
    const char *const *words = NULL;
    size_t count = config_words(engine_config(engine), "notify.events", NULL, &words);
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], kind_names[kind]) == 0)
            return true;
    return false;
}

static void add_task(const struct engine *engine, const struct event_row *event, struct news *n) {
    char id[ENGINE_ID_MAX];
    struct task_view view;
    if (!event->task)
        return;
    n->number = event->task;
    n->attempt = event->attempt;
    n->task = clean(n, engine_task_id(engine, event->task, id));
    if (core_task(engine_core(engine), event->task, &view) && view.project)
        n->project =
            clean(n, symbol_name(core_symbols((struct core *)engine_core(engine)), view.project));
}

struct news *news_read(struct news_reader *reader, const struct engine *engine,
                       const struct event_row *event) {
    bool state = strcmp(event->kind, "task.state") == 0, alert = strcmp(event->kind, "alert") == 0;
    bool group = strcmp(event->kind, "group.closed") == 0;
    bool asked = strcmp(event->kind, "task.asked") == 0;
    if (!event->data
        || (!state && !alert && !group && !asked && strcmp(event->kind, "limiter.limited") != 0))
        return NULL;
    json_t *data = json_loads(event->data, 0, NULL);
    struct news *n = state   ? read_state(data)
                     : alert ? read_alert(engine, event, data)
                     : group ? read_group(data)
                     : asked ? read_question(engine, event, data)
                             : read_limit(reader, engine, event, data);
    json_decref(data);
    /* A closed account is also a limit, for users that selected only limits. */
    if (!n
        || !(is_listed(engine, n->kind)
             || (n->kind == NEWS_PERSON && n->account && is_listed(engine, NEWS_LIMITED))))
        return news_free(n);
    n->seq = event->seq;
    n->at = event->at;
    n->id = arena_printf(&n->arena, "%" PRIu64 "-%" PRId64, event->seq, event->at);
    add_task(engine, event, n);
    return n;
}

struct news *news_sample(time_ms now) {
    struct news *n = news_new(NEWS_TEST, "test");
    n->at = now;
    n->id = arena_printf(&n->arena, "test-%" PRId64, now);
    n->text = arena_strdup(&n->arena, "this is a test, sent by 'sluice notify test'");
    return n;
}

/* --- the text --------------------------------------------------------------------------------- */

static char *limit_text(struct news *n) {
    char when[32] = "?";
    time_t seconds = (time_t)(n->until / 1000);
    struct tm day;
    if (gmtime_r(&seconds, &day))
        (void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &day);
    return arena_printf(
        &n->arena, "account '%s' is limited until %s: what uses it waits, and goes on by itself",
        n->account ? n->account : "?", when);
}

static char *make_text(struct news *n) {
    const char *title = n->title ? arena_printf(&n->arena, ": %s", n->title) : "";
    switch (n->kind) {
    case NEWS_DONE:
        return arena_printf(&n->arena, "'%s' is done%s", n->task, title);
    case NEWS_FAILED:
        return arena_printf(&n->arena, "'%s' has failed (%s%s%s)%s", n->task,
                            n->reason ? n->reason : "failed", n->message ? ": " : "",
                            n->message ? n->message : "", title);
    case NEWS_LIMITED:
        return limit_text(n);
    case NEWS_PERSON:
        if (strcmp(n->reason, "review") == 0)
            return arena_printf(&n->arena,
                                "'%s' waits for review: 'sluice approve %s', or 'sluice reject "
                                "%s'%s",
                                n->task, n->task, n->task, title);
        return arena_printf(&n->arena, "'%s' waits to be closed: 'sluice close %s'%s", n->task,
                            n->task, title);
    case NEWS_GROUP:
        return arena_printf(
            &n->arena,
            "group '%s' is finished: %" PRId64 " done, %" PRId64 " failed, %" PRId64 " open",
            n->group ? n->group : "", n->total - n->open - n->failed, n->failed, n->open);
    case NEWS_TEST:
    case NEWS_KIND_MAX:
        break;
    }
    return arena_strdup(&n->arena, "");
}

/* A title may be older than the secret that it contains. */
static char *clean_for(const struct engine *engine, struct news *n, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    bool is_redacted = text && engine_redact(engine, text, strlen(text), &shown);
    return clean(n, is_redacted ? strbuf_text(&shown) : text);
}

/* --- title and message ------------------------------------------------------------------------ */

static void finish(struct completion *c) {
    struct news_completion how = c->how;
    if (!c->news->text)
        c->news->text = make_text(c->news);
    explicit_bzero(c->code, sizeof(c->code));
    free(c);
    how.done(how.ctx);
}

/* --- addresses -------------------------------------------------------------------------------- */

/* "https://sluice.example.org"; NULL: there is no dashboard. */
static const char *page_url(const struct engine *engine) {
    const char *url = config_text(engine_config(engine), "http.url", NULL);
    const char *listener = engine_tcp_listener_url(engine);
    return listener && *url ? url : listener;
}

static void put_encoded(struct strbuf *out, const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < 0x80 && (isalnum((unsigned char)*text) || strchr("-._", *text)))
            strbuf_putc(out, *text);
        else
            strbuf_printf(out, "%%%02X", (unsigned char)*text);
}

static void add_url(const struct engine *engine, struct news *n) {
    _cleanup_(strbuf_finish) struct strbuf url = STRBUF_INIT;
    if (!page_url(engine) || !n->task)
        return;
    strbuf_printf(&url, "%s/#/task/", page_url(engine));
    put_encoded(&url, n->task);
    n->url = arena_strdup(&n->arena, strbuf_text(&url));
}

static int make_link(struct engine *engine, struct engine_request *request) {
    struct completion *c = (struct completion *)request;
    if (!engine_add_link(engine, c->news->number, c->news->at, c->code))
        c->code[0] = '\0'; /* it is answered already */
    return 0;
}

/* The link is sent only when its hash is stored: otherwise it would not work. */
static void link_is_stored(struct engine *engine, struct engine_request *request,
                           enum store_outcome outcome, const struct error *err) {
    struct completion *c = (struct completion *)request;
    (void)err;
    c->news->linking = NULL;
    if (outcome == STORE_OK && c->code[0] && page_url(engine))
        c->news->answer_url =
            arena_printf(&c->news->arena, "%s" OP_LINK_PATH "%s", page_url(engine), c->code);
    finish(c);
}

static void complete(struct completion *c) {
    bool is_on = config_number(engine_config(c->engine), "notify.answer_links", NULL) != 0;
    add_url(c->engine, c->news);
    if (!c->how.wants_link || !is_on || !c->news->is_question || !page_url(c->engine)) {
        finish(c);
        return;
    }
    c->request.run = make_link;
    c->request.done = link_is_stored;
    c->news->linking = c;
    engine_request(c->engine, &c->request);
}

static void runs_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct completion *c = ctx;
    const struct run_row *run = !err && answer->count > 0 ? &answer->runs[0] : NULL;
    char how[32] = "";
    if (run && run->exit_signal)
        (void)snprintf(how, sizeof(how), "signal %d", (int)run->exit_signal);
    else if (run && run->exit_code >= 0)
        (void)snprintf(how, sizeof(how), "exit code %d", (int)run->exit_code);
    if (run)
        c->news->message =
            clean_for(c->engine, c->news, run->message && *run->message ? run->message : how);
    complete(c);
}

static void spec_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct completion *c = ctx;
    struct store_query runs = { .kind = QUERY_RUNS, .task = c->news->number, .limit = 1 };
    if (!err && answer->count > 0)
        c->news->title = clean_for(c->engine, c->news, answer->specs[0].title);
    if (c->news->kind == NEWS_FAILED)
        store_query(engine_store(c->engine), &runs, runs_answered, c);
    else
        complete(c);
}

void news_complete(struct engine *engine, struct news *n, const struct news_completion *how) {
    struct completion *c = xcalloc(1, sizeof(*c));
    *c = (struct completion){ .engine = engine, .news = n, .how = *how };
    struct store_query question = { .kind = QUERY_SPECS, .tasks = &n->number, .task_count = 1 };
    if (n->number)
        store_query(engine_store(engine), &question, spec_answered, c);
    else
        complete(c);
}

/* --- the body --------------------------------------------------------------------------------- */

/* 0: null. */
static void put_number(struct json_writer *w, const char *key, int64_t value) {
    json_write_key(w, key);
    if (value > 0)
        json_write_int(w, value);
    else
        json_write_null(w);
}

static void put_group(struct json_writer *w, const struct news *n) {
    json_write_key(w, "group");
    if (!n->group) {
        json_write_null(w);
        return;
    }
    json_write_object_begin(w);
    json_put_string(w, "name", n->group);
    json_put_int(w, "total", n->total);
    json_put_int(w, "done", n->total - n->open - n->failed);
    json_put_int(w, "failed", n->failed);
    json_put_int(w, "open", n->open);
    json_write_object_end(w);
}

void news_print(const struct news *n, bool with_link, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    json_put_int(&w, "schema_version", NEWS_SCHEMA_VERSION);
    json_put_string(&w, "id", n->id);
    json_put_int(&w, "seq", (int64_t)n->seq);
    json_put_int(&w, "at", n->at);
    json_put_string(&w, "kind", kind_names[n->kind]);
    json_put_string(&w, "text", n->text);
    json_put_string(&w, "task", n->task);
    json_put_string(&w, "project", n->project);
    json_put_string(&w, "title", n->title);
    put_number(&w, "attempt", n->attempt);
    json_put_string(&w, "reason", n->reason);
    json_put_string(&w, "message", n->message);
    json_put_string(&w, "account", n->account);
    put_number(&w, "until", n->until);
    json_put_string(&w, "alert", n->alert);
    put_group(&w, n);
    json_put_string(&w, "url", n->url);
    json_put_string(&w, "answer_url", with_link ? n->answer_url : NULL);
    json_write_object_end(&w);
}
