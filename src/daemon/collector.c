/* collector.c: sends the runs that have ended to an OpenTelemetry collector (otel.endpoint).
 *
 * A span for each run, and sums over all of them, by OTLP/HTTP in JSON, every otel.interval_s while
 * there is anything new. One body at a time: first the spans that are queued, then the sums if they
 * have changed. The log says when the collector becomes unreachable, and when it is back.
 *
 * Once:    a follower of the events named "otel". What was acknowledged is not sent again; the rest
 *          goes out when the collector is back, also after a restart. After a crash a span may come
 *          twice, with the same id. Sums begin with the daemon, as their start time says.
 * Bounded: at most FOLLOW_AHEAD runs are in memory, the others wait in the log of events. What is
 *          older than KEEP when it cannot be sent is given up, and so is what the collector refuses
 *          for good. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/queue.h"
#include "daemon/http_sender.h"
#include "daemon/services.h"
#include "engine/data_folder.h"
#include "engine/follow.h"
#include "os/files.h"
#include "os/log.h"
#include "os/loop.h"
#include "otel/otlp_write.h"

#define BATCH_MAX 128u /* spans in one body */
#define TIMEOUT   SECONDS(10)
#define KEEP      HOURS(1) /* what cannot be sent for longer is given up */

#define HEADERS_FILE_MAX 16384u
#define OWN_HEADERS      2u /* of http_message_new */

/* A run that has ended. */
struct entry {
    struct entry *next;
    struct collector *collector;
    uint64_t seq;
    task_id task;
    uint32_t attempt;
    struct arena arena; /* strings of `run` */
    struct otlp_run run;
};

enum sending { SENDING_NOTHING, SENDING_SPANS, SENDING_SUMS };

struct collector {
    struct engine *engine;
    struct loop *loop;
    struct follower *follower;
    struct http_sender *sender;
    struct loop_timer *timer; /* set while there is something to send */
    bool timer_is_set;
    char *instance;
    QUEUE(struct entry) waiting;
    struct otlp_totals *totals;
    bool totals_changed;
    enum sending sending;
    size_t batch;           /* number of entries at the head that are being sent */
    bool failing, refusing; /* and the log has reported it */
};

static bool is_on(const struct collector *c) {
    return *config_text(engine_config(c->engine), "otel.endpoint", NULL) != '\0';
}

/* `least`: the minimum, as the collector asked for; or 0. */
static void set_timer(struct collector *c, time_ms least) {
    if (c->timer_is_set || c->sending != SENDING_NOTHING)
        return;
    time_ms span = config_number(engine_config(c->engine), "otel.interval_s", NULL);
    span = time_max(span, least);
    c->timer_is_set = true;
    loop_timer_set(c->loop, c->timer, time_add(loop_now_steady(c->loop), span));
}

/* --- the queue -------------------------------------------------------------------------------- */

static void entry_free(struct entry *e) {
    arena_finish(&e->arena);
    free(e);
}

static void drop_first(struct collector *c) {
    struct entry *first = QUEUE_TAKE(&c->waiting);
    follower_done(c->follower, first->seq);
    entry_free(first);
}

static char *copy(struct entry *e, const char *text) {
    return text && *text ? arena_strdup(&e->arena, text) : NULL;
}

static void fill(struct entry *e, const struct run_row *row) {
    const struct engine *engine = e->collector->engine;
    const struct symbol_table *symbols = core_symbols((struct core *)engine_core(engine));
    char id[ENGINE_ID_MAX], name[ENGINE_ID_MAX + 16];
    struct task_view view;
    const char *project =
        core_task(engine_core(engine), e->task, &view) ? symbol_name(symbols, view.project) : NULL;
    const char *agent = row->agent && *row->agent ? row->agent : NULL;
    bool has_failed = row->outcome != OUTCOME_OK && row->outcome != OUTCOME_UNFINISHED;
    bool has_word = row->result && *row->result && strcmp(row->result, "ok") != 0;
    engine_task_id(engine, e->task, id);
    (void)snprintf(name, sizeof(name), "%s.%" PRIu32, id, e->attempt);
    e->run = (struct otlp_run){
        .ids = otlp_ids_make(engine_data(engine), name, row->ordered_at),
        .started_at = row->started_at ? row->started_at : row->ordered_at,
        .ended_at = row->ended_at,
        .agent = copy(e, agent),
        .provider =
            agent ? agent_provider(config_text(engine_config(engine), "agents.A.adapter", agent))
                  : NULL,
        .model = copy(e, row->model),
        .session = copy(e, row->session),
        .task = copy(e, id),
        .project = copy(e, project),
        .attempt = e->attempt,
        .iteration = row->iteration,
        .outcome = outcome_name(row->outcome),
        .error_type =
            has_failed ? copy(e, has_word ? row->result : outcome_name(row->outcome)) : NULL,
        .message = copy(e, row->message),
        .tokens_in = row->tokens_in,
        .tokens_out = row->tokens_out,
        .tokens_cached = row->tokens_cached,
        .cost_micro_usd = row->cost_micro_usd,
    };
}

static void run_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct entry *e = ctx;
    struct collector *c = e->collector;
    const struct run_row *row = !err && answer->count > 0 ? &answer->runs[0] : NULL;
    if (err)
        log_warning("otel.endpoint: a run that has ended cannot be read, and is left out: %s",
                    err->text);
    if (!row || row->attempt != e->attempt || !row->ended) {
        follower_done(c->follower, e->seq); /* its row is deleted already */
        entry_free(e);
        return;
    }
    fill(e, row);
    QUEUE_ADD(&c->waiting, e);
    otlp_totals_add(c->totals, &e->run);
    c->totals_changed = c->totals_changed || e->run.agent; /* plain commands are in no sum */
    set_timer(c, 0);
}

static void handle(void *ctx, const struct event_row *event) {
    struct collector *c = ctx;
    if (!event->task || strcmp(event->kind, "run.ended") != 0 || !is_on(c)) {
        follower_done(c->follower, event->seq);
        return;
    }
    struct entry *e = xcalloc(1, sizeof(*e));
    e->collector = c;
    e->seq = event->seq;
    e->task = event->task;
    e->attempt = event->attempt;
    struct store_query question = {
        .kind = QUERY_RUNS, .task = e->task, .before = (uint64_t)e->attempt + 1, .limit = 1
    };
    store_query(engine_store(c->engine), &question, run_answered, e);
}

/* --- the address ------------------------------------------------------------------------------ */

static bool is_header(const char *line) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    static const char *const ours[] = { "host",         "content-length",    "connection",
                                        "content-type", "transfer-encoding", "user-agent" };
    size_t length = strspn(line, letters);
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        if (strlen(ours[i]) == length && strncasecmp(line, ours[i], length) == 0)
            return false;
    for (const char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return length > 0 && line[length] == ':' && line[length + 1] == ' ' && line[length + 2];
}

/* `line` is ended with NUL. */
static int take_line(const char *path, unsigned number, char *line, struct http_message *m,
                     struct error *err) {
    size_t length = strlen(line);
    while (length > 0 && strchr(" \t\r", line[length - 1]))
        line[--length] = '\0';
    if (length == 0 || *line == '#')
        return 0;
    if (!is_header(line)) /* not logged: it may be a secret */
        return error_set(err, -EINVAL,
                         "otel.headers_file: line %u of '%s' is not a valid header (example: "
                         "Authorization: Bearer …)",
                         number, path);
    if (m->header_count == HTTP_SENDER_HEADERS_MAX)
        return error_set(err, -E2BIG, "otel.headers_file: '%s' has more than %u headers", path,
                         HTTP_SENDER_HEADERS_MAX - OWN_HEADERS);
    http_message_add(m, xstrdup(line));
    return 0;
}

static int take_headers(const char *path, struct http_message *m, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = file_read(path, HEADERS_FILE_MAX, &text, err);
    if (r < 0)
        return error_prefix(err, "otel.headers_file");
    if (strlen(strbuf_text(&text)) != text.length)
        return error_set(err, -EINVAL, "otel.headers_file: '%s' has a NUL in it", path);
    unsigned number = 1;
    for (char *line = text.text, *end; line && r == 0; line = end ? end + 1 : NULL, number++) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        r = take_line(path, number, line, m, err);
    }
    if (text.text)
        explicit_bzero(text.text, text.length);
    return r;
}

/* Fills URL and headers for /v1/SIGNAL. The headers are in a file, because they hold secrets and
 * the configuration is printed. It is read for each POST: a new secret needs no restart. */
static int fill_address(const struct config *config, const char *signal, struct http_message *m,
                        struct error *err) {
    const char *file = config_text(config, "otel.headers_file", NULL);
    int r = http_url_parse(config_text(config, "otel.endpoint", NULL), &m->url, err);
    if (r < 0)
        return error_prefix(err, "otel.endpoint");
    size_t length = strlen(m->url.path);
    while (length > 0 && m->url.path[length - 1] == '/')
        length--;
    char *path = xasprintf("%.*s/v1/%s", (int)length, m->url.path, signal);
    free(m->url.path);
    m->url.path = path;
    return *file ? take_headers(file, m, err) : 0;
}

/* --- sending ---------------------------------------------------------------------------------- */

static void send_next(struct collector *c);

/* Retried after the interval, or when the collector asks for it. */
static void fail(struct collector *c, const char *why, time_ms retry_after) {
    if (!c->failing)
        log_warning("otel.endpoint: %s; it is tried again every otel.interval_s", why);
    c->failing = true;
    c->sending = SENDING_NOTHING;
    size_t dropped = 0;
    for (; c->waiting.first && loop_now(c->loop) - c->waiting.first->run.ended_at > KEEP; dropped++)
        drop_first(c);
    if (dropped > 0)
        log_warning("otel.endpoint: %zu spans could not be sent for an hour and are given up",
                    dropped);
    if (c->waiting.first || c->totals_changed)
        set_timer(c, retry_after);
}

static void posted(void *ctx, const struct http_result *result) {
    struct collector *c = ctx;
    if (result->canceled)
        return;
    int status = result->status;
    /* OTLP: retry these; other refusals are final. */
    if (!result->ok
        && (status == 0 || status == 408 || status == 429 || (status >= 502 && status <= 504))) {
        c->totals_changed = c->totals_changed || c->sending == SENDING_SUMS;
        fail(c, result->text, result->retry_after);
        return;
    }
    if (!result->ok && !c->refusing)
        log_warning("otel.endpoint: %s; what it refuses is not sent again", result->text);
    else if (result->ok && (c->failing || c->refusing))
        log_info("otel.endpoint: it is back");
    c->refusing = !result->ok;
    c->failing = c->failing && !result->ok;
    for (; c->sending == SENDING_SPANS && c->batch > 0; c->batch--)
        drop_first(c);
    c->sending = SENDING_NOTHING;
    send_next(c);
}

/* Takes ownership of the body. */
static void send_body(struct collector *c, enum sending what, struct strbuf *body) {
    struct error err = { 0 };
    struct http_message *m = http_message_new(c->engine);
    int r = fill_address(engine_config(c->engine), what == SENDING_SPANS ? "traces" : "metrics", m,
                         &err);
    m->timeout = TIMEOUT;
    m->size = body->length;
    m->body = strbuf_take(body);
    if (r == 0)
        r = http_sender_post(c->sender, m, &err); /* owns the message if it succeeds */
    if (r < 0) {
        http_message_free(m);
        fail(c, err.text, 0);
        return;
    }
    c->sending = what;
    if (what == SENDING_SUMS)
        c->totals_changed = false;
}

static void send_next(struct collector *c) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    const struct otlp_run *runs[BATCH_MAX];
    const struct otlp_source source = { .version = engine_version(c->engine),
                                        .instance = c->instance };
    c->batch = 0;
    for (struct entry *e = c->waiting.first; e && c->batch < BATCH_MAX; e = e->next)
        runs[c->batch++] = &e->run;
    if (c->batch > 0) {
        otlp_write_spans(&source, runs, c->batch, &body);
        send_body(c, SENDING_SPANS, &body);
    } else if (c->totals_changed) {
        otlp_totals_write(c->totals, &source, loop_now(c->loop), &body);
        send_body(c, SENDING_SUMS, &body);
    }
}

static void is_due(void *ctx) {
    struct collector *c = ctx;
    c->timer_is_set = false;
    if (is_on(c)) {
        send_next(c);
        return;
    }
    while (c->waiting.first) /* it was disabled */
        drop_first(c);
    c->totals_changed = c->failing = c->refusing = false;
}

/* --- life ------------------------------------------------------------------------------------- */

struct collector *collector_new(struct engine *engine, struct loop *loop) {
    struct collector *c = xcalloc(1, sizeof(*c));
    char host[256] = "";
    c->engine = engine;
    c->loop = loop;
    c->totals = otlp_totals_new(loop_now(loop));
    c->timer = loop_timer_new(loop, is_due, c);
    c->sender = http_sender_new(engine, loop, posted, c);
    (void)gethostname(host, sizeof(host) - 1);
    c->instance = xasprintf("%s:%s", host, engine_home(engine));
    c->follower = follower_new(engine, "otel", handle, c);
    follower_rest(c->follower, true); /* the next daemon continues */
    return c;
}

struct collector *collector_free(struct collector *c) {
    if (!c)
        return NULL;
    http_sender_free(c->sender);
    loop_timer_free(c->loop, c->timer);
    for (struct entry *e; (e = QUEUE_TAKE(&c->waiting));)
        entry_free(e);
    otlp_totals_free(c->totals);
    free(c->instance);
    free(c);
    return NULL;
}
