/* collector.c: see collector.h.
 *
 * One body at a time: first the spans that wait, then the sums if they have changed. A collector that
 * cannot be reached is told of in the log once, and again when it is back. */
#include "daemon/collector.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/queue.h"
#include "engine/data_folder.h"
#include "engine/follow.h"
#include "os/log.h"
#include "os/loop.h"
#include "otel/otlp_write.h"

#define BATCH_MAX 128u /* spans in one body */
#define TIMEOUT   SECONDS(10)

/* A run that has ended. */
struct entry {
    struct entry *next;
    struct collector *collector;
    uint64_t seq;
    task_id task;
    uint32_t attempt;
    struct otlp_run run;
    char *agent, *model, *session, *id, *project, *message, *error_type; /* of `run`; owned */
};

enum sending { SENDING_NOTHING, SENDING_SPANS, SENDING_SUMS };

struct collector {
    struct engine *engine;
    struct loop *loop;
    struct follower *follower;
    struct webhook_line *line;
    struct loop_timer *timer; /* set while there is something to send */
    bool timer_is_set;
    char *instance;
    QUEUE(struct entry) waiting;
    struct otlp_totals *totals;
    bool totals_changed;
    enum sending sending;
    size_t batch;           /* how many of the first are being sent */
    bool failing, refusing; /* it was said in the log */
};

static bool is_on(const struct collector *c) {
    return *config_text(engine_config(c->engine), "otel.endpoint", NULL) != '\0';
}

/* `least`: the collector asks for so much time, or 0. */
static void set_timer(struct collector *c, time_ms least) {
    if (c->timer_is_set || c->sending != SENDING_NOTHING)
        return;
    time_ms span = config_number(engine_config(c->engine), "otel.interval_s", NULL);
    span = time_max(span, least);
    c->timer_is_set = true;
    loop_timer_set(c->loop, c->timer, time_add(loop_now_steady(c->loop), span));
}

/* --- the queue ------------------------------------------------------------------------------- */

static void entry_free(struct entry *e) {
    char *const texts[] = { e->agent,   e->model,   e->session,   e->id,
                            e->project, e->message, e->error_type };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        free(texts[i]);
    free(e);
}

static void drop_first(struct collector *c) {
    struct entry *first = QUEUE_TAKE(&c->waiting);
    follower_done(c->follower, first->seq);
    entry_free(first);
}

static char *copy(const char *text) {
    return text && *text ? xstrdup(text) : NULL;
}

/* One word of few, or NULL: it went well, or is not at its end yet. */
static char *error_type_of(const struct run_row *row) {
    if (row->outcome == OUTCOME_OK || row->outcome == OUTCOME_UNFINISHED)
        return NULL;
    bool has_word = row->said && *row->said && strcmp(row->said, "ok") != 0;
    return xstrdup(has_word ? row->said : outcome_name(row->outcome));
}

static void fill(struct entry *e, const struct run_row *row) {
    const struct collector *c = e->collector;
    const struct config *config = engine_config(c->engine);
    char id[ENGINE_ID_MAX];
    struct strbuf name = STRBUF_INIT;
    struct task_view view;
    e->id = xstrdup(engine_task_id(c->engine, e->task, id));
    e->agent = copy(row->agent);
    e->model = copy(row->model);
    e->session = copy(row->session);
    e->message = copy(row->message);
    e->error_type = error_type_of(row);
    if (core_task(engine_core(c->engine), e->task, &view))
        e->project =
            copy(symbol_name(core_symbols((struct core *)engine_core(c->engine)), view.project));
    strbuf_printf(&name, "%s.%" PRIu32, e->id, e->attempt);
    e->run = (struct otlp_run){
        .ids = otlp_ids_of(engine_data(c->engine), strbuf_text(&name), row->ordered_at),
        .started_at = row->started_at ? row->started_at : row->ordered_at,
        .ended_at = row->ended_at,
        .agent = e->agent,
        .provider =
            e->agent ? agent_provider(config_text(config, "agents.A.adapter", e->agent)) : NULL,
        .model = e->model,
        .session = e->session,
        .task = e->id,
        .project = e->project,
        .attempt = e->attempt,
        .iteration = row->iteration,
        .outcome = outcome_name(row->outcome),
        .error_type = e->error_type,
        .message = e->message,
        .tokens_in = row->tokens_in,
        .tokens_out = row->tokens_out,
        .tokens_cached = row->tokens_cached,
        .cost_micro_usd = row->cost_micro_usd,
    };
    strbuf_finish(&name);
}

static void run_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct entry *e = ctx;
    struct collector *c = e->collector;
    const struct run_row *row = !err && answer->count > 0 ? &answer->runs[0] : NULL;
    if (err)
        log_warning("otel.endpoint: a run that has ended cannot be read, and is left out: %s",
                    err->text);
    if (!row || row->attempt != e->attempt || !row->ended) {
        follower_done(c->follower, e->seq); /* it is forgotten already */
        entry_free(e);
        return;
    }
    fill(e, row);
    QUEUE_ADD(&c->waiting, e);
    otlp_totals_add(c->totals, &e->run);
    c->totals_changed = c->totals_changed || e->agent; /* a plain command is in no sum */
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
    struct store_question question = {
        .kind = ASK_RUNS, .task = e->task, .before = (uint64_t)e->attempt + 1, .limit = 1
    };
    store_ask(engine_store(c->engine), &question, run_answered, e);
}

/* --- sending --------------------------------------------------------------------------------- */

static void send_next(struct collector *c);

static void give_up_old(struct collector *c) {
    size_t dropped = 0;
    while (c->waiting.first
           && loop_now(c->loop) - c->waiting.first->run.ended_at > COLLECTOR_KEEP) {
        drop_first(c);
        dropped++;
    }
    if (dropped > 0)
        log_warning("otel.endpoint: %zu spans could not be sent for an hour and are given up",
                    dropped);
}

/* It is tried again after the interval, or when the collector wants it. */
static void fail(struct collector *c, const char *why, time_ms retry_after) {
    if (!c->failing)
        log_warning("otel.endpoint: %s; it is tried again every otel.interval_s", why);
    c->failing = true;
    c->sending = SENDING_NOTHING;
    give_up_old(c);
    if (c->waiting.first || c->totals_changed)
        set_timer(c, retry_after);
}

/* As OTLP has it: these mean later; other refusals mean never. */
static bool is_for_later(int status) {
    return status == 0 || status == 408 || status == 429 || status == 502 || status == 503
           || status == 504;
}

static void came_back(void *ctx, const struct webhook_result *result) {
    struct collector *c = ctx;
    bool taken = result->status >= 200 && result->status < 300;
    if (result->canceled)
        return;
    if (!taken && is_for_later(result->status)) {
        c->totals_changed = c->totals_changed || c->sending == SENDING_SUMS;
        fail(c, result->text, result->retry_after);
        return;
    }
    if (!taken && !c->refusing)
        log_warning("otel.endpoint: %s; what it refuses is not sent again", result->text);
    else if (taken && (c->failing || c->refusing))
        log_info("otel.endpoint: it is back");
    c->refusing = !taken;
    c->failing = c->failing && !taken;
    for (; c->sending == SENDING_SPANS && c->batch > 0; c->batch--)
        drop_first(c);
    c->sending = SENDING_NOTHING;
    send_next(c);
}

/* Takes the body. */
static void send_body(struct collector *c, enum sending what, struct strbuf *body) {
    struct error err = { 0 };
    struct webhook_message *m = xcalloc(1, sizeof(*m));
    int r = collector_address(c->engine, what == SENDING_SPANS ? "traces" : "metrics", m, &err);
    m->timeout = TIMEOUT;
    m->size = body->length;
    m->body = strbuf_take(body);
    if (r == 0)
        r = webhook_line_post(c->line, m, &err); /* it is theirs, if that went well */
    if (r < 0) {
        webhook_message_free(m);
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
    while (c->waiting.first) /* it was switched off meanwhile */
        drop_first(c);
    c->totals_changed = c->failing = c->refusing = false;
}

/* --- life ------------------------------------------------------------------------------------ */

struct collector *collector_new(struct engine *engine, struct loop *loop,
                                char *const *environment) {
    struct collector *c = xcalloc(1, sizeof(*c));
    struct strbuf instance = STRBUF_INIT;
    char host[256] = "";
    c->engine = engine;
    c->loop = loop;
    c->totals = otlp_totals_new(loop_now(loop));
    c->timer = loop_timer_new(loop, is_due, c);
    c->line = webhook_line_new(engine, loop, environment, came_back, c);
    (void)gethostname(host, sizeof(host) - 1);
    strbuf_printf(&instance, "%s:%s", host, engine_home(engine));
    c->instance = strbuf_take(&instance);
    c->follower = follower_new(engine, "otel", handle, c);
    follower_rest(c->follower, true); /* the next daemon goes on */
    return c;
}

struct collector *collector_free(struct collector *c) {
    if (!c)
        return NULL;
    webhook_line_free(c->line);
    loop_timer_free(c->loop, c->timer);
    for (struct entry *e; (e = QUEUE_TAKE(&c->waiting));)
        entry_free(e);
    otlp_totals_free(c->totals);
    free(c->instance);
    free(c);
    return NULL;
}
