/* otlp_read.c: from bodies of OTLP/HTTP to the usage of one run.
 *
 * A counter is known by its name and all its attributes: agents add some (who asked, which tool) that make two
 * series of what would look like one. Only the sum over all of them is of interest here.
 *
 * A run may be killed between two bodies, and clients repeat one whose answer they did not see, so a delta
 * is recognised by its time, and an event by its time, number and contents. */
#include "otel/otlp_read.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "otel/otlp_value.h"

#define VALUE_MAX 1e15 /* of one number: more is a mistake of somebody */

/* What is counted; tokens as the agent tells them apart. */
enum quantity { INPUT, CACHE_READ, CACHE_WRITE, OUTPUT, COST, QUANTITY_MAX };

struct amounts {
    double sum[QUANTITY_MAX];
    bool is_told[QUANTITY_MAX];
};

/* One counter. */
struct series {
    uint64_t key;
    enum quantity quantity;
    bool is_cumulative;
    uint64_t start, time; /* of its newest point */
    double value;         /* cumulative: its newest value since `start` */
};

struct otlp_meter {
    struct otlp_usage before;
    struct amounts deltas;  /* of counters, since `before` */
    struct amounts settled; /* of cumulative counters that have begun anew */
    struct series *series;
    size_t series_count, series_capacity;
    struct amounts events; /* since `before` */
    uint64_t *seen;        /* hashes of events, a ring */
    size_t seen_count;     /* ever */
};

static void add(struct amounts *to, enum quantity quantity, double value) {
    to->sum[quantity] += value;
    to->is_told[quantity] = true;
}

static bool is_sane(double value) {
    return value >= 0 && value <= VALUE_MAX;
}

/* --- counters -------------------------------------------------------------------------------- */

static bool quantity_of(const char *metric, const json_t *attributes, enum quantity *ret) {
    static const struct {
        const char *type;
        enum quantity quantity;
    } types[] = { { "input", INPUT },
                  { "cacheRead", CACHE_READ },
                  { "cacheCreation", CACHE_WRITE },
                  { "output", OUTPUT } };
    const char *type = otlp_attribute_text(attributes, "type");
    if (strcmp(metric, "claude_code.cost.usage") == 0) {
        *ret = COST;
        return true;
    }
    for (size_t i = 0; type && i < sizeof(types) / sizeof(*types); i++)
        if (strcmp(type, types[i].type) == 0) {
            *ret = types[i].quantity;
            return true;
        }
    return false;
}

/* NULL: there are too many. */
static struct series *find_series(struct otlp_meter *m, uint64_t key, enum quantity quantity,
                                  bool is_cumulative) {
    for (size_t i = 0; i < m->series_count; i++)
        if (m->series[i].key == key && m->series[i].is_cumulative == is_cumulative)
            return &m->series[i];
    if (m->series_count == OTLP_SERIES_MAX)
        return NULL;
    m->series = xgrow(m->series, &m->series_capacity, m->series_count + 1, sizeof(*m->series));
    struct series *s = &m->series[m->series_count++];
    *s = (struct series){ .key = key, .quantity = quantity, .is_cumulative = is_cumulative };
    return s;
}

static void take_delta(struct otlp_meter *m, struct series *s, uint64_t time, double value) {
    if (time != 0 && time <= s->time)
        return; /* it came before */
    s->time = time;
    add(&m->deltas, s->quantity, value);
}

static void take_cumulative(struct otlp_meter *m, struct series *s, uint64_t start, uint64_t time,
                            double value) {
    if (time < s->time)
        return; /* an old one that was late */
    if (start != s->start || value < s->value)
        add(&m->settled, s->quantity, s->value);
    s->start = start;
    s->time = time;
    s->value = value;
}

static void read_point(struct otlp_meter *m, const char *metric, const json_t *point,
                       bool is_cumulative) {
    const json_t *attributes = json_object_get(point, "attributes");
    const json_t *whole = json_object_get(point, "asInt");
    enum quantity quantity;
    double value = 0;
    if (!otlp_value_number(whole ? whole : json_object_get(point, "asDouble"), &value)
        || !is_sane(value) || !quantity_of(metric, attributes, &quantity))
        return;
    uint64_t start = otlp_value_u64(json_object_get(point, "startTimeUnixNano"));
    uint64_t time = otlp_value_u64(json_object_get(point, "timeUnixNano"));
    uint64_t key = hash_mix(quantity, otlp_attributes_hash(attributes));
    struct series *s = find_series(m, key, quantity, is_cumulative);
    if (!s)
        return;
    if (is_cumulative)
        take_cumulative(m, s, start, time, value);
    else
        take_delta(m, s, time, value);
}

/* 1: delta, 2: cumulative, by number or by name; 0: it is no sum that can be added up. */
static int temporality_of(const json_t *sum) {
    const json_t *value = json_object_get(sum, "aggregationTemporality");
    const char *name = json_string_value(value);
    if (name && strcmp(name, "AGGREGATION_TEMPORALITY_DELTA") == 0)
        return 1;
    if (name && strcmp(name, "AGGREGATION_TEMPORALITY_CUMULATIVE") == 0)
        return 2;
    json_int_t number = json_integer_value(value);
    return number == 1 || number == 2 ? (int)number : 0;
}

static void read_metric(struct otlp_meter *m, const json_t *metric) {
    const char *name = json_string_value(json_object_get(metric, "name"));
    const json_t *sum = json_object_get(metric, "sum");
    int temporality = temporality_of(sum);
    const json_t *points = json_object_get(sum, "dataPoints");
    if (!name || temporality == 0
        || (strcmp(name, "claude_code.token.usage") != 0
            && strcmp(name, "claude_code.cost.usage") != 0))
        return;
    for (size_t i = 0; i < json_array_size(points); i++)
        read_point(m, name, json_array_get(points, i), temporality == 2);
}

/* --- events ---------------------------------------------------------------------------------- */

static bool is_request(const json_t *record, const json_t *attributes) {
    const char *name = json_string_value(json_object_get(record, "eventName"));
    if (!name)
        name = otlp_attribute_text(attributes, "event.name");
    if (!name)
        name = json_string_value(json_object_get(json_object_get(record, "body"), "stringValue"));
    return name
           && (strcmp(name, "api_request") == 0 || strcmp(name, "claude_code.api_request") == 0);
}

/* True: it came before. One that has neither time nor number cannot be recognised. */
static bool is_repeated(struct otlp_meter *m, const json_t *record, const json_t *attributes) {
    uint64_t time = otlp_value_u64(json_object_get(record, "timeUnixNano"));
    if (time == 0 && !otlp_attribute(attributes, "event.sequence"))
        return false;
    uint64_t hash = hash_mix(time, otlp_attributes_hash(attributes));
    size_t kept = m->seen_count < OTLP_EVENTS_MAX ? m->seen_count : OTLP_EVENTS_MAX;
    for (size_t i = 0; i < kept; i++)
        if (m->seen[i] == hash)
            return true;
    if (!m->seen)
        m->seen = xcalloc(OTLP_EVENTS_MAX, sizeof(*m->seen));
    m->seen[m->seen_count++ % OTLP_EVENTS_MAX] = hash;
    return false;
}

static void read_record(struct otlp_meter *m, const json_t *record) {
    static const struct {
        const char *name;
        enum quantity quantity;
    } members[] = { { "input_tokens", INPUT },
                    { "cache_read_tokens", CACHE_READ },
                    { "cache_creation_tokens", CACHE_WRITE },
                    { "output_tokens", OUTPUT },
                    { "cost_usd", COST } };
    const json_t *attributes = json_object_get(record, "attributes");
    if (!is_request(record, attributes) || is_repeated(m, record, attributes))
        return;
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        double value = 0;
        if (otlp_attribute_number(attributes, members[i].name, &value) && is_sane(value))
            add(&m->events, members[i].quantity, value);
    }
}

/* --- bodies ---------------------------------------------------------------------------------- */

/* The names of the three levels of lists. */
struct levels {
    const char *resources, *scopes, *items;
    void (*read)(struct otlp_meter *meter, const json_t *item);
};
static const struct levels levels_of[] = {
    [OTLP_METRICS] = { "resourceMetrics", "scopeMetrics", "metrics", read_metric },
    [OTLP_LOGS] = { "resourceLogs", "scopeLogs", "logRecords", read_record },
};
_Static_assert(sizeof(levels_of) / sizeof(*levels_of) == OTLP_SIGNAL_MAX, "a signal has no levels");

static void read_tree(struct otlp_meter *m, const struct levels *l, const json_t *resources) {
    for (size_t i = 0; i < json_array_size(resources); i++) {
        const json_t *scopes = json_object_get(json_array_get(resources, i), l->scopes);
        for (size_t k = 0; k < json_array_size(scopes); k++) {
            const json_t *items = json_object_get(json_array_get(scopes, k), l->items);
            for (size_t n = 0; n < json_array_size(items); n++)
                l->read(m, json_array_get(items, n));
        }
    }
}

int otlp_meter_read(struct otlp_meter *m, enum otlp_signal signal, const char *body, size_t size,
                    struct error *err) {
    const struct levels *l = &levels_of[signal];
    json_error_t problem;
    json_t *root = json_loadb(body, size, JSON_ALLOW_NUL, &problem);
    if (!root)
        return error_set(err, -EINVAL, "the body is no JSON: %.100s (line %d, column %d)",
                         problem.text, problem.line, problem.column);
    const json_t *resources = json_object_get(root, l->resources);
    int r = 0;
    if (!json_is_object(root) || (resources && !json_is_array(resources)))
        r = error_set(err, -EINVAL, "the body is no OTLP: expected an object with the list '%s'",
                      l->resources);
    else
        read_tree(m, l, resources);
    json_decref(root);
    return r;
}

/* --- the sum --------------------------------------------------------------------------------- */

static struct amounts counted(const struct otlp_meter *m) {
    struct amounts all = m->settled;
    for (size_t i = 0; i < m->series_count; i++)
        if (m->series[i].is_cumulative)
            add(&all, m->series[i].quantity, m->series[i].value);
    return all;
}

/* Tokens, or millionths of a dollar; -1: none of these was told. */
static int64_t sum_of(const struct amounts *amounts, const enum quantity *which, size_t count) {
    double sum = 0;
    bool is_told = false;
    for (size_t i = 0; i < count; i++) {
        double value = amounts->sum[which[i]];
        sum += which[i] == COST ? value * 1e6 : value;
        is_told = is_told || amounts->is_told[which[i]];
    }
    if (!is_told)
        return -1;
    return (int64_t)((sum < VALUE_MAX * 1000 ? sum : VALUE_MAX * 1000) + 0.5);
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* However much it is: what came before is not ours, and may be any number. */
static int64_t plus(int64_t before, int64_t more) {
    int64_t sum;
    if (more < 0)
        return before;
    return __builtin_add_overflow(larger(before, 0), more, &sum) ? INT64_MAX : sum;
}

static int64_t total(const struct otlp_meter *m, int64_t before, const enum quantity *which,
                     size_t count) {
    struct amounts cumulative = counted(m);
    int64_t by_deltas = plus(before, sum_of(&m->deltas, which, count));
    int64_t by_totals = sum_of(&cumulative, which, count);
    int64_t by_events = plus(before, sum_of(&m->events, which, count));
    /* A client changes its way of counting only with its process: then both are parts of the whole. */
    int64_t by_counters =
        by_deltas > before ? plus(by_deltas, by_totals) : larger(by_deltas, by_totals);
    return larger(by_counters, by_events);
}

void otlp_meter_look(const struct otlp_meter *m, struct otlp_usage *ret) {
    static const enum quantity in[] = { INPUT, CACHE_READ, CACHE_WRITE };
    static const enum quantity out[] = { OUTPUT };
    static const enum quantity cached[] = { CACHE_READ };
    static const enum quantity cost[] = { COST };
    *ret = (struct otlp_usage){
        .in = total(m, m->before.in, in, 3),
        .out = total(m, m->before.out, out, 1),
        .cached = total(m, m->before.cached, cached, 1),
        .cost_micro_usd = total(m, m->before.cost_micro_usd, cost, 1),
    };
}

struct otlp_meter *otlp_meter_new(const struct otlp_usage *before) {
    struct otlp_meter *m = xcalloc(1, sizeof(*m));
    m->before = before ? *before : (struct otlp_usage){ -1, -1, -1, -1 };
    return m;
}

struct otlp_meter *otlp_meter_free(struct otlp_meter *m) {
    if (!m)
        return NULL;
    free(m->series);
    free(m->seen);
    free(m);
    return NULL;
}
