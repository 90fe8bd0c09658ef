/* telemetry.c: receives OpenTelemetry data from the agents of live runs (otel.listen).
 *
 * Each run gets its own address in its environment, with a secret in the path, so a post there
 * belongs to that run. It becomes the usage of the run so far (engine/telemetry.h). Off until a
 * port is configured; an unavailable port is retried, and nothing else waits for it. With
 * otel.endpoint every run also gets TRACEPARENT, so its own spans are children of the run's span.
 *
 * A post is parsed at once and applied in the next turn, all runs in one request: many posts share
 * a commit. The client is answered before that: numbers are cumulative, so a failed commit is
 * repaired by the next post. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/loopback.h"
#include "base/alloc.h"
#include "base/number.h"
#include "daemon/services.h"
#include "engine/data_folder.h"
#include "engine/telemetry.h"
#include "os/log.h"
#include "os/loop.h"
#include "otel/otlp_read.h"
#include "otel/otlp_write.h"

#define PREFIX     "/otlp/"
#define TRY_AGAIN  SECONDS(30)
#define POSTS_MAX  20u     /* per run and second: parsing costs loop time */
#define METRICS_MS "10000" /* interval of metric exports by an agent */
#define EVENTS_MS  "2000"  /* of events; short, because a run may be killed at any time */

/* A run that has posted. */
struct meter {
    task_id task;
    uint32_t attempt;
    struct otlp_meter *otlp;
    bool has_news;
    time_ms second; /* the current second */
    unsigned posts; /* the posts in it */
};

struct telemetry {
    struct engine_request request; /* first: a request is cast back */
    struct engine *engine;
    struct loop *loop;
    struct loopback *loopback; /* NULL: not listening */
    char *wanted;              /* otel.listen as last read */
    struct loop_timer *timer;  /* set while it cannot listen */
    struct meter *meters;
    size_t count, capacity;
    bool is_queued; /* the request */
};

/* --- identifying the run ---------------------------------------------------------------------- */

struct target {
    task_id task;
    uint32_t attempt;
    enum otlp_signal signal;
};

/* Digits up to `end`, which is consumed. */
static bool take_number(const char **at, char end, int64_t max, int64_t *ret) {
    char text[24];
    size_t length = strspn(*at, "0123456789");
    if (length == 0 || length >= sizeof(text) || (*at)[length] != end)
        return false;
    memcpy(text, *at, length);
    text[length] = '\0';
    *at += length + 1;
    return number_parse_int(text, ret, NULL) == 0 && *ret <= max;
}

/* /otlp/17.2/SECRET/v1/metrics, for a live run. */
static bool find_target(const struct telemetry *t, const char *path, struct target *ret) {
    char secret[ENGINE_SECRET_SIZE];
    int64_t task = 0, attempt = 0;
    if (strncmp(path, PREFIX, strlen(PREFIX)) != 0)
        return false;
    path += strlen(PREFIX);
    if (!take_number(&path, '.', INT64_MAX, &task) || !take_number(&path, '/', UINT32_MAX, &attempt)
        || strlen(path) < ENGINE_SECRET_SIZE)
        return false;
    const char *signal = path + ENGINE_SECRET_SIZE - 1;
    *ret = (struct target){ .task = (task_id)task, .attempt = (uint32_t)attempt };
    if (strcmp(signal, "/v1/metrics") == 0)
        ret->signal = OTLP_METRICS;
    else if (strcmp(signal, "/v1/logs") == 0)
        ret->signal = OTLP_LOGS;
    else
        return false;
    if (!engine_telemetry_secret(t->engine, ret->task, ret->attempt, secret))
        return false;
    unsigned char differs = 0; /* compares in constant time */
    for (size_t i = 0; i + 1 < ENGINE_SECRET_SIZE; i++)
        differs |= (unsigned char)(path[i] ^ secret[i]);
    return differs == 0;
}

static bool knows(void *ctx, const char *path) {
    struct target target;
    return find_target(ctx, path, &target);
}

/* --- posts ------------------------------------------------------------------------------------ */

static struct meter *meter_of(struct telemetry *t, const struct target *target) {
    for (size_t i = 0; i < t->count; i++)
        if (t->meters[i].task == target->task && t->meters[i].attempt == target->attempt)
            return &t->meters[i];
    t->meters = xgrow(t->meters, &t->capacity, t->count + 1, sizeof(*t->meters));
    struct meter *m = &t->meters[t->count++];
    /* A run older than this daemon may have reported to the previous one. */
    struct engine_usage known = { 0 };
    bool is_known = engine_usage_before(t->engine, target->task, target->attempt, &known);
    struct otlp_usage before = { known.tokens_in, known.tokens_out, -1, known.cost_micro_usd };
    *m = (struct meter){ .task = target->task,
                         .attempt = target->attempt,
                         .otlp = otlp_meter_new(is_known ? &before : NULL) };
    return m;
}

static void queue_request(struct telemetry *t) {
    if (t->is_queued)
        return;
    t->is_queued = true;
    t->request.next = NULL;
    t->request.wrote = t->request.cancels = false;
    engine_request(t->engine, &t->request);
}

static int take(void *ctx, const char *path, const char *body, size_t size, struct error *err) {
    struct telemetry *t = ctx;
    struct target target;
    if (!find_target(t, path, &target))
        return -ENOENT; /* the run has ended */
    struct meter *m = meter_of(t, &target);
    time_ms second = loop_now_steady(t->loop) / SECONDS(1);
    m->posts = m->second == second ? m->posts + 1 : 1;
    m->second = second;
    if (m->posts > POSTS_MAX) /* a run that posts too often must not delay other runs */
        return -EAGAIN;
    int r = otlp_meter_read(m->otlp, target.signal, body, size, err);
    if (r < 0)
        return r;
    m->has_news = true;
    queue_request(t);
    return 0;
}

static int apply_usage(struct engine *engine, struct engine_request *request) {
    struct telemetry *t = (struct telemetry *)request;
    for (size_t i = 0; i < t->count; i++) {
        struct meter *m = &t->meters[i];
        struct otlp_usage used;
        if (!m->has_news)
            continue;
        m->has_news = false;
        otlp_meter_usage(m->otlp, &used);
        struct engine_usage usage = { .tokens_in = used.in,
                                      .tokens_out = used.out,
                                      .cost_micro_usd = used.cost_micro_usd };
        if (usage.tokens_in >= 0 || usage.tokens_out >= 0 || usage.cost_micro_usd >= 0)
            (void)engine_take_telemetry(engine, m->task, m->attempt, &usage, NULL);
    }
    return 0;
}

static void usage_applied(struct engine *engine, struct engine_request *request,
                          enum store_outcome outcome, const struct error *err) {
    struct telemetry *t = (struct telemetry *)request;
    (void)engine;
    (void)outcome;
    (void)err;
    t->is_queued = false;
    for (size_t i = 0; i < t->count; i++)
        if (t->meters[i].has_news) /* posted while the others were being stored */
            queue_request(t);
}

void telemetry_run_ended(struct telemetry *t, task_id task, uint32_t attempt) {
    for (size_t i = 0; i < t->count; i++)
        if (t->meters[i].task == task && t->meters[i].attempt <= attempt) {
            otlp_meter_free(t->meters[i].otlp);
            t->meters[i--] = t->meters[--t->count];
        }
}

/* --- variables of runs ------------------------------------------------------------------------ */

static void put(struct strbuf *out, const char *name, const char *value) {
    strbuf_printf(out, "%s=%s", name, value);
    strbuf_putc(out, '\0');
}

static void variables(void *ctx, const struct engine_launch *launch, struct strbuf *out) {
    const struct telemetry *t = ctx;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (*config_text(engine_config(t->engine), "otel.endpoint", NULL)) {
        struct otlp_ids ids =
            otlp_ids_make(engine_data(t->engine), launch->run, launch->ordered_at);
        otlp_print_traceparent(&ids, &text);
        put(out, "TRACEPARENT", strbuf_text(&text));
        strbuf_clear(&text);
    }
    if (!t->loopback || !launch->adapter || strcmp(launch->adapter, "claude") != 0)
        return;
    strbuf_printf(&text, "http://%s" PREFIX "%" PRIu64 ".%" PRIu32 "/%s",
                  loopback_address(t->loopback), (uint64_t)launch->task, launch->attempt,
                  launch->secret);
    put(out, "OTEL_EXPORTER_OTLP_ENDPOINT", strbuf_text(&text));
    put(out, "OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    put(out, "OTEL_METRICS_EXPORTER", "otlp");
    put(out, "OTEL_LOGS_EXPORTER", "otlp");
    put(out, "OTEL_METRIC_EXPORT_INTERVAL", METRICS_MS);
    put(out, "OTEL_LOGS_EXPORT_INTERVAL", EVENTS_MS);
    put(out, "CLAUDE_CODE_ENABLE_TELEMETRY", "1");
}

/* --- life ------------------------------------------------------------------------------------- */

static void listen_now(void *ctx) {
    struct telemetry *t = ctx;
    struct error err = { 0 };
    struct loopback_options options = {
        .address = t->wanted, .knows = knows, .take = take, .ctx = t
    };
    if (loopback_new(t->loop, &options, &t->loopback, &err) == 0) {
        log_info("telemetry of agents is heard at %s", loopback_address(t->loopback));
        return;
    }
    log_warning("otel.listen: %s; it is tried again every %d s", err.text, (int)(TRY_AGAIN / 1000));
    loop_timer_set(t->loop, t->timer, time_add(loop_now_steady(t->loop), TRY_AGAIN));
}

void telemetry_check_config(struct telemetry *t) {
    const char *wanted = config_text(engine_config(t->engine), "otel.listen", NULL);
    if (strcmp(wanted, t->wanted) == 0)
        return;
    free(t->wanted);
    t->wanted = xstrdup(wanted);
    t->loopback = loopback_free(t->loopback);
    loop_timer_clear(t->loop, t->timer);
    if (*wanted)
        listen_now(t);
}

struct telemetry *telemetry_new(struct engine *engine, struct loop *loop) {
    struct telemetry *t = xcalloc(1, sizeof(*t));
    t->request.run = apply_usage;
    t->request.done = usage_applied;
    t->engine = engine;
    t->loop = loop;
    t->wanted = xstrdup("");
    t->timer = loop_timer_new(loop, listen_now, t);
    engine_set_run_variables(engine, variables, t);
    telemetry_check_config(t);
    return t;
}

struct telemetry *telemetry_free(struct telemetry *t) {
    if (!t)
        return NULL;
    if (t->is_queued)
        engine_request_abandon(t->engine, &t->request);
    engine_set_run_variables(t->engine, NULL, NULL);
    loopback_free(t->loopback);
    loop_timer_free(t->loop, t->timer);
    for (size_t i = 0; i < t->count; i++)
        otlp_meter_free(t->meters[i].otlp);
    free(t->meters);
    free(t->wanted);
    free(t);
    return NULL;
}
