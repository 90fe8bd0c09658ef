/* otlp_write.c: runs as spans and counters, as OTLP/HTTP JSON. See otlp_write.h. */
#include "otel/otlp_write.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/macros.h"
#include "base/sha256.h"

#define CONVENTIONS   "https://opentelemetry.io/schemas/1.42.0"
#define KIND_INTERNAL 1
#define STATUS_ERROR  2
#define CUMULATIVE    2 /* aggregationTemporality */

/* --- values ---------------------------------------------------------------------------------- */

static void put_u64(struct json_writer *w, const char *key, uint64_t value) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    json_put_string(w, key, text);
}

static void put_time(struct json_writer *w, const char *key, time_ms at) {
    put_u64(w, key, at > 0 ? (uint64_t)at * 1000000u : 0);
}

static void put_text(struct json_writer *w, const char *key, const char *value) {
    if (value && *value)
        json_write_pack(w, "{s:s, s:{s:s}}", "key", key, "value", "stringValue", value);
}

static void put_int(struct json_writer *w, const char *key, int64_t value) {
    if (value < 0)
        return;
    json_write_pack(w, "{s:s, s:{", "key", key, "value");
    put_u64(w, "intValue", (uint64_t)value);
    json_write_pack(w, "}}");
}

static void body_begin(struct json_writer *w, const struct otlp_source *source,
                       const char *const levels[3]) {
    json_write_pack(w, "{s:[{s:{s:[", levels[0], "resource", "attributes");
    put_text(w, "service.name", "sluice");
    put_text(w, "service.version", source->version);
    put_text(w, "service.instance.id", source->instance);
    json_write_pack(w, "]}, s:[{s:{s:s, s:s}, s:s, s:[", levels[1], "scope", "name", "sluice",
                    "version", source->version, "schemaUrl", CONVENTIONS, levels[2]);
}

/* --- spans ----------------------------------------------------------------------------------- */

/* The ids are derived from the run, not random: the agent gets them before it starts, the daemon
 * may restart meanwhile, and a span that is sent twice must be the same span. */
struct otlp_ids otlp_ids_make(const char *where, const char *run, time_ms ordered_at) {
    struct otlp_ids ids;
    struct sha256 hash;
    uint8_t digest[SHA256_SIZE];
    sha256_init(&hash);
    sha256_add(&hash, where, strlen(where) + 1);
    sha256_add(&hash, run, strlen(run) + 1);
    sha256_add(&hash, &ordered_at, sizeof(ordered_at));
    sha256_end(&hash, digest);
    memcpy(ids.trace, digest, sizeof(ids.trace));
    memcpy(ids.span, digest + sizeof(ids.trace), sizeof(ids.span));
    ids.trace[0] |= 1; /* an all-zero id is invalid */
    ids.span[0] |= 1;
    return ids;
}

static void print_hex(const uint8_t *bytes, size_t size, char *ret) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        ret[2 * i] = digits[bytes[i] >> 4];
        ret[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret[2 * size] = '\0';
}

void otlp_print_traceparent(const struct otlp_ids *ids, struct strbuf *out) {
    char trace[2 * OTLP_TRACE_SIZE + 1], span[2 * OTLP_SPAN_SIZE + 1];
    print_hex(ids->trace, sizeof(ids->trace), trace);
    print_hex(ids->span, sizeof(ids->span), span);
    strbuf_printf(out, "00-%s-%s-01", trace, span);
}

static void put_attributes(struct json_writer *w, const struct otlp_run *run) {
    json_put_array(w, "attributes");
    if (run->agent) {
        put_text(w, "gen_ai.operation.name", "invoke_agent");
        put_text(w, "gen_ai.provider.name", run->provider);
        put_text(w, "gen_ai.agent.name", run->agent);
        put_text(w, "gen_ai.request.model", run->model);
        put_text(w, "gen_ai.conversation.id", run->session);
    }
    put_int(w, "gen_ai.usage.input_tokens", run->tokens_in);
    put_int(w, "gen_ai.usage.output_tokens", run->tokens_out);
    put_int(w, "gen_ai.usage.cache_read.input_tokens", run->tokens_cached);
    put_text(w, "error.type", run->error_type);
    put_text(w, "sluice.task", run->task);
    put_text(w, "sluice.project", run->project);
    put_int(w, "sluice.attempt", run->attempt);
    put_int(w, "sluice.iteration", run->iteration);
    put_text(w, "sluice.outcome", run->outcome);
    if (run->cost_micro_usd >= 0) {
        json_write_pack(w, "{s:s, s:{", "key", "sluice.cost_usd", "value");
        json_put_double(w, "doubleValue", (double)run->cost_micro_usd / 1e6, 6);
        json_write_pack(w, "}}");
    }
    json_write_array_end(w);
}

static void put_span(struct json_writer *w, const struct otlp_run *run) {
    char trace[2 * OTLP_TRACE_SIZE + 1], span[2 * OTLP_SPAN_SIZE + 1];
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    strbuf_puts(&name, run->agent ? "invoke_agent " : "run");
    strbuf_puts(&name, run->agent ? run->agent : "");
    print_hex(run->ids.trace, sizeof(run->ids.trace), trace);
    print_hex(run->ids.span, sizeof(run->ids.span), span);
    json_write_pack(w, "{s:s, s:s, s:s, s:i", "traceId", trace, "spanId", span, "name",
                    strbuf_text(&name), "kind", KIND_INTERNAL);
    put_time(w, "startTimeUnixNano", run->started_at);
    put_time(w, "endTimeUnixNano", run->ended_at);
    put_attributes(w, run);
    if (run->error_type)
        json_write_pack(w, "s:{s:i, s:s}}", "status", "code", STATUS_ERROR, "message",
                        run->message ? run->message : "");
    else
        json_write_pack(w, "s:{}}", "status");
}

void otlp_write_spans(const struct otlp_source *source, const struct otlp_run *const *runs,
                      size_t count, struct strbuf *out) {
    static const char *const levels[] = { "resourceSpans", "scopeSpans", "spans" };
    struct json_writer w;
    json_write_init(&w, out, false);
    body_begin(&w, source, levels);
    for (size_t i = 0; i < count; i++)
        put_span(&w, runs[i]);
    json_write_pack(&w, "]}]}]}");
}

/* --- totals ---------------------------------------------------------------------------------- */

/* Agent names come from the configuration, but model names from agent output. Made-up names must
 * not grow the daemon, nor the number of series in a collector. So their number is bounded, and the
 * rest is counted together. */

/* Bucket bounds of the semantic conventions, in seconds. */
static const double bounds[] = { 0.1,  0.2,  0.4,  0.8,   1.6,   3.2,  6.4,
                                 12.8, 25.6, 51.2, 102.4, 204.8, 409.6 };
#define BOUNDS ARRAY_SIZE(bounds)

/* In the order of struct total.tokens. */
static const struct counter {
    const char *name, *text;
} counters[] = {
    { "gen_ai.client.inference.usage.input_tokens",
      "Tokens that were sent, cached ones included." },
    { "gen_ai.client.inference.usage.output_tokens",
      "Tokens that were received, reasoning included." },
    { "gen_ai.client.inference.usage.cache_read.input_tokens",
      "Of the tokens that were sent, those from a cache." },
};
#define COUNTERS ARRAY_SIZE(counters)

/* One combination of agent, provider, model and error type. */
struct total {
    /* NULL: unknown; all NULL in the overflow entry. */
    char *agent, *provider, *model, *error_type;
    int64_t tokens[COUNTERS]; /* -1: never reported */
    uint64_t runs;
    double seconds, shortest, longest;
    uint64_t by_bound[BOUNDS + 1];
};

struct otlp_totals {
    time_ms since;
    struct total *items;
    size_t count, capacity;
};

static bool same(const char *kept, const char *given) {
    return kept && given ? strcmp(kept, given) == 0 : !kept && (!given || !*given);
}

static char *copy(const char *text) {
    return text && *text ? xstrdup(text) : NULL;
}

static struct total *find_or_add(struct otlp_totals *totals, const struct otlp_run *run) {
    for (size_t i = 0; i < totals->count; i++) {
        struct total *t = &totals->items[i];
        if (same(t->agent, run->agent) && same(t->provider, run->provider)
            && same(t->model, run->model) && same(t->error_type, run->error_type))
            return t;
    }
    if (totals->count > OTLP_TOTALS_MAX)
        return &totals->items[OTLP_TOTALS_MAX]; /* the last one is the overflow */
    totals->items =
        xgrow(totals->items, &totals->capacity, totals->count + 1, sizeof(*totals->items));
    struct total *t = &totals->items[totals->count++];
    *t = (struct total){ .tokens = { -1, -1, -1 } };
    if (totals->count > OTLP_TOTALS_MAX)
        return t;
    t->agent = xstrdup(run->agent);
    t->provider = copy(run->provider);
    t->model = copy(run->model);
    t->error_type = copy(run->error_type);
    return t;
}

void otlp_totals_add(struct otlp_totals *totals, const struct otlp_run *run) {
    const int64_t tokens[COUNTERS] = { run->tokens_in, run->tokens_out, run->tokens_cached };
    if (!run->agent || !*run->agent)
        return;
    struct total *t = find_or_add(totals, run);
    time_ms span = run->ended_at > run->started_at ? run->ended_at - run->started_at : 0;
    double seconds = (double)span / 1000;
    size_t bound = 0;
    while (bound < BOUNDS && seconds > bounds[bound])
        bound++;
    t->by_bound[bound]++;
    t->shortest = t->runs == 0 || seconds < t->shortest ? seconds : t->shortest;
    t->longest = seconds > t->longest ? seconds : t->longest;
    t->seconds += seconds;
    t->runs++;
    for (size_t i = 0; i < COUNTERS; i++)
        if (tokens[i] >= 0
            && __builtin_add_overflow(t->tokens[i] > 0 ? t->tokens[i] : 0, tokens[i],
                                      &t->tokens[i]))
            t->tokens[i] = INT64_MAX;
}

static void metric_begin(struct json_writer *w, const char *name, const char *unit,
                         const char *text, const char *kind) {
    json_write_pack(w, "{s:s, s:s, s:s, s:{s:i", "name", name, "description", text, "unit", unit,
                    kind, "aggregationTemporality", CUMULATIVE);
}

static void point_begin(struct json_writer *w, const struct otlp_totals *totals,
                        const struct total *t, time_ms now) {
    json_write_object_begin(w);
    put_time(w, "startTimeUnixNano", totals->since);
    put_time(w, "timeUnixNano", now);
    json_put_array(w, "attributes");
    if (!t->agent)
        json_write_pack(w, "{s:s, s:{s:b}}", "key", "otel.metric.overflow", "value", "boolValue",
                        true);
    put_text(w, "gen_ai.agent.name", t->agent);
    put_text(w, "gen_ai.request.model", t->model);
    put_text(w, "error.type", t->error_type);
}

/* Omitted if no agent has reported it. */
static void put_counter(struct json_writer *w, const struct otlp_totals *totals, size_t counter,
                        time_ms now) {
    bool has_points = false;
    for (size_t i = 0; i < totals->count; i++) {
        const struct total *t = &totals->items[i];
        if (t->tokens[counter] < 0)
            continue;
        if (!has_points) {
            metric_begin(w, counters[counter].name, "{token}", counters[counter].text, "sum");
            json_write_pack(w, "s:b, s:[", "isMonotonic", true, "dataPoints");
        }
        has_points = true;
        point_begin(w, totals, t, now);
        put_text(w, "gen_ai.operation.name", "invoke_agent");
        put_text(w, "gen_ai.provider.name", t->provider ? t->provider : "unknown");
        put_text(w, "gen_ai.token.modality", "unknown");
        json_write_array_end(w);
        put_u64(w, "asInt", (uint64_t)t->tokens[counter]);
        json_write_object_end(w);
    }
    if (has_points)
        json_write_pack(w, "]}}");
}

static void put_buckets(struct json_writer *w, const struct total *t) {
    char text[24];
    json_put_array(w, "bucketCounts");
    for (size_t i = 0; i <= BOUNDS; i++) {
        (void)snprintf(text, sizeof(text), "%" PRIu64, t->by_bound[i]);
        json_write_string(w, text);
    }
    json_write_array_end(w);
    json_put_array(w, "explicitBounds");
    for (size_t i = 0; i < BOUNDS; i++)
        json_write_double(w, bounds[i], 1);
    json_write_array_end(w);
}

static void put_durations(struct json_writer *w, const struct otlp_totals *totals, time_ms now) {
    metric_begin(w, "gen_ai.invoke_agent.duration", "s", "How long runs of agents took.",
                 "histogram");
    json_put_array(w, "dataPoints");
    for (size_t i = 0; i < totals->count; i++) {
        const struct total *t = &totals->items[i];
        point_begin(w, totals, t, now);
        json_write_array_end(w);
        put_u64(w, "count", t->runs);
        json_put_double(w, "sum", t->seconds, 3);
        json_put_double(w, "min", t->shortest, 3);
        json_put_double(w, "max", t->longest, 3);
        put_buckets(w, t);
        json_write_object_end(w);
    }
    json_write_pack(w, "]}}");
}

void otlp_totals_write(const struct otlp_totals *totals, const struct otlp_source *source,
                       time_ms now, struct strbuf *out) {
    static const char *const levels[] = { "resourceMetrics", "scopeMetrics", "metrics" };
    struct json_writer w;
    json_write_init(&w, out, false);
    body_begin(&w, source, levels);
    for (size_t i = 0; i < COUNTERS; i++)
        put_counter(&w, totals, i, now);
    if (totals->count > 0)
        put_durations(&w, totals, now);
    json_write_pack(&w, "]}]}]}");
}

struct otlp_totals *otlp_totals_new(time_ms since) {
    struct otlp_totals *totals = xcalloc(1, sizeof(*totals));
    totals->since = since;
    return totals;
}

struct otlp_totals *otlp_totals_free(struct otlp_totals *totals) {
    if (!totals)
        return NULL;
    for (size_t i = 0; i < totals->count; i++) {
        free(totals->items[i].agent);
        free(totals->items[i].provider);
        free(totals->items[i].model);
        free(totals->items[i].error_type);
    }
    free(totals->items);
    free(totals);
    return NULL;
}
