/* otlp_totals.c: what all runs have used, by agent and model.
 *
 * Names of agents come from the configuration, but those of models from what an agent has printed: whoever
 * makes them up must not make the daemon grow, nor the bill of whoever stores the series. So their number
 * is bounded, and what comes later is counted in one place. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "otel/otlp_json.h"
#include "otel/otlp_write.h"

/* As the conventions have them, in seconds. */
static const double bounds[] = { 0.1,  0.2,  0.4,  0.8,   1.6,   3.2,  6.4,
                                 12.8, 25.6, 51.2, 102.4, 204.8, 409.6 };
#define BOUNDS (sizeof(bounds) / sizeof(*bounds))

/* What is known by one agent, provider, model and error. */
struct total {
    char *agent, *provider, *model, *error_type; /* NULL: not known; all NULL: the overflow */
    int64_t in, out, cached;                     /* -1: never told */
    uint64_t runs;
    double seconds, shortest, longest;
    uint64_t by_bound[BOUNDS + 1];
};

struct otlp_totals {
    time_ms since;
    struct total *items;
    size_t count, capacity;
};

static bool same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_overflow(const struct total *t) {
    return t->agent == NULL;
}

static char *copy(const char *text) {
    return text && *text ? xstrdup(text) : NULL;
}

static const char *word(const char *text) {
    return text && *text ? text : NULL;
}

static struct total *find(struct otlp_totals *totals, const struct otlp_run *run) {
    for (size_t i = 0; i < totals->count; i++) {
        struct total *t = &totals->items[i];
        if (same(t->agent, run->agent) && same(t->provider, word(run->provider))
            && same(t->model, word(run->model)) && same(t->error_type, word(run->error_type)))
            return t;
    }
    return NULL;
}

static struct total *make(struct otlp_totals *totals, const struct otlp_run *run) {
    if (totals->count > OTLP_TOTALS_MAX)
        return &totals->items[OTLP_TOTALS_MAX]; /* the last one is the overflow */
    totals->items =
        xgrow(totals->items, &totals->capacity, totals->count + 1, sizeof(*totals->items));
    struct total *t = &totals->items[totals->count++];
    *t = (struct total){ .in = -1, .out = -1, .cached = -1 };
    if (totals->count > OTLP_TOTALS_MAX)
        return t;
    t->agent = xstrdup(run->agent);
    t->provider = copy(run->provider);
    t->model = copy(run->model);
    t->error_type = copy(run->error_type);
    return t;
}

static void count(int64_t *sum, int64_t tokens) {
    if (tokens < 0)
        return;
    int64_t before = *sum > 0 ? *sum : 0;
    *sum = tokens <= INT64_MAX - before ? before + tokens : INT64_MAX;
}

void otlp_totals_add(struct otlp_totals *totals, const struct otlp_run *run) {
    if (!run->agent || !*run->agent)
        return;
    struct total *t = find(totals, run);
    if (!t)
        t = make(totals, run);
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
    count(&t->in, run->tokens_in);
    count(&t->out, run->tokens_out);
    count(&t->cached, run->tokens_cached);
}

/* --- printing -------------------------------------------------------------------------------- */

static void begin_point(struct json_writer *w, const struct otlp_totals *totals,
                        const struct total *t, time_ms now) {
    json_write_object_begin(w);
    otlp_put_time(w, "startTimeUnixNano", totals->since);
    otlp_put_time(w, "timeUnixNano", now);
    json_put_array(w, "attributes");
    if (is_overflow(t))
        otlp_put_true(w, "otel.metric.overflow");
    otlp_put_text(w, "gen_ai.agent.name", t->agent);
    otlp_put_text(w, "gen_ai.request.model", t->model);
    otlp_put_text(w, "error.type", t->error_type);
}

static void begin_metric(struct json_writer *w, const char *name, const char *unit,
                         const char *text) {
    json_write_object_begin(w);
    json_put_string(w, "name", name);
    json_put_string(w, "description", text);
    json_put_string(w, "unit", unit);
}

static void begin_data(struct json_writer *w, const char *kind) {
    json_put_object(w, kind);
    json_put_int(w, "aggregationTemporality", 2);
}

struct counter {
    const char *name, *text;
    size_t offset;
};

static int64_t value_of(const struct total *t, const struct counter *counter) {
    int64_t value;
    memcpy(&value, (const char *)t + counter->offset, sizeof(value));
    return value;
}

static bool has_any(const struct otlp_totals *totals, const struct counter *counter) {
    for (size_t i = 0; i < totals->count; i++)
        if (value_of(&totals->items[i], counter) >= 0)
            return true;
    return false;
}

static void put_counter(struct json_writer *w, const struct otlp_totals *totals,
                        const struct counter *counter, time_ms now) {
    begin_metric(w, counter->name, "{token}", counter->text);
    begin_data(w, "sum");
    json_put_bool(w, "isMonotonic", true);
    json_put_array(w, "dataPoints");
    for (size_t i = 0; i < totals->count; i++) {
        const struct total *t = &totals->items[i];
        int64_t value = value_of(t, counter);
        if (value < 0)
            continue;
        begin_point(w, totals, t, now);
        otlp_put_text(w, "gen_ai.operation.name", "invoke_agent");
        otlp_put_text(w, "gen_ai.provider.name", t->provider ? t->provider : "unknown");
        otlp_put_text(w, "gen_ai.token.modality", "unknown");
        json_write_array_end(w);
        otlp_put_u64(w, "asInt", (uint64_t)value);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    json_write_object_end(w);
    json_write_object_end(w);
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
    begin_metric(w, "gen_ai.invoke_agent.duration", "s", "How long runs of agents took.");
    begin_data(w, "histogram");
    json_put_array(w, "dataPoints");
    for (size_t i = 0; i < totals->count; i++) {
        const struct total *t = &totals->items[i];
        begin_point(w, totals, t, now);
        json_write_array_end(w);
        otlp_put_u64(w, "count", t->runs);
        json_put_double(w, "sum", t->seconds, 3);
        json_put_double(w, "min", t->shortest, 3);
        json_put_double(w, "max", t->longest, 3);
        put_buckets(w, t);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    json_write_object_end(w);
    json_write_object_end(w);
}

void otlp_totals_write(const struct otlp_totals *totals, const struct otlp_source *source,
                       time_ms now, struct strbuf *out) {
    static const char *const levels[] = { "resourceMetrics", "scopeMetrics", "metrics" };
    static const struct counter counters[] = {
        { "gen_ai.client.inference.usage.input_tokens",
          "Tokens that were sent, cached ones included.", offsetof(struct total, in) },
        { "gen_ai.client.inference.usage.output_tokens",
          "Tokens that were received, reasoning included.", offsetof(struct total, out) },
        { "gen_ai.client.inference.usage.cache_read.input_tokens",
          "Of the tokens that were sent, those from a cache.", offsetof(struct total, cached) },
    };
    struct json_writer w;
    json_write_init(&w, out, false);
    otlp_begin(&w, source, levels);
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
        if (has_any(totals, &counters[i]))
            put_counter(&w, totals, &counters[i], now);
    if (totals->count > 0)
        put_durations(&w, totals, now);
    otlp_end(&w);
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
