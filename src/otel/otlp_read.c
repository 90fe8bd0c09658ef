/* otlp_read.c: reads OTLP/HTTP bodies into the usage of one run.
 *
 * A series is identified by its name and all its attributes, because agents add attributes (who
 * asked, which tool) that distinguish series. Only the sum over all series matters here.
 *
 * A run may be killed between two bodies, and clients resend a body whose answer they missed. So
 * deltas are deduplicated by time, and events by time, number and contents. */
#include "otel/otlp_read.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/macros.h"

#define VALUE_MAX       1e15 /* per number; more is a client error */
#define NUMBER_TEXT_MAX 64u
#define COST_METRIC     "claude_code.cost.usage"
#define ATTRIBUTES_MAX  128u /* the rest is ignored */

enum quantity { INPUT, CACHE_READ, CACHE_WRITE, OUTPUT, COST, QUANTITY_MAX };
static const struct {
    const char *type;      /* attribute value of the token counter */
    const char *attribute; /* of an event */
} quantities[] = {
    [INPUT] = { "input", "input_tokens" },
    [CACHE_READ] = { "cacheRead", "cache_read_tokens" },
    [CACHE_WRITE] = { "cacheCreation", "cache_creation_tokens" },
    [OUTPUT] = { "output", "output_tokens" },
    [COST] = { NULL, "cost_usd" },
};
_Static_assert(ARRAY_SIZE(quantities) == QUANTITY_MAX, "a quantity has no names");

struct amounts {
    double sum[QUANTITY_MAX];
    bool is_reported[QUANTITY_MAX];
};

struct series {
    uint64_t key;
    enum quantity quantity;
    bool is_cumulative;
    uint64_t start, time; /* of the latest point */
    double value;         /* cumulative: latest value since `start` */
};

struct otlp_meter {
    struct otlp_usage before;
    struct amounts deltas;  /* of counters, since `before` */
    struct amounts settled; /* of cumulative counters that were reset */
    struct series *series;
    size_t series_count, series_capacity;
    struct amounts events; /* since `before` */
    uint64_t *seen;        /* ring of event hashes */
    size_t seen_count;     /* total ever added */
};

/* --- values: invalid ones count as missing ---------------------------------------------------- */

static bool parse_text(const char *text, double *ret_number) {
    size_t length = strlen(text);
    char *end = NULL;
    /* Rejects blanks, words and hexadecimal numbers, which strtod accepts. */
    if (length == 0 || length > NUMBER_TEXT_MAX || strspn(text, "0123456789+-.eE") != length)
        return false;
    double number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number))
        return false;
    *ret_number = number;
    return true;
}

static bool number_of(const json_t *value, double *ret_number) {
    if (json_is_string(value))
        return parse_text(json_string_value(value), ret_number);
    if (!json_is_number(value) || !isfinite(json_number_value(value)))
        return false;
    *ret_number = json_number_value(value);
    return true;
}

static uint64_t u64_of(const json_t *value) {
    if (json_is_integer(value))
        return json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
    const char *text = json_string_value(value);
    size_t length = text ? strlen(text) : 0;
    if (length == 0 || length > 20 || strspn(text, "0123456789") != length)
        return 0;
    errno = 0;
    unsigned long long number = strtoull(text, NULL, 10);
    return errno ? 0 : number;
}

static size_t attribute_count(const json_t *attributes) {
    size_t count = json_array_size(attributes);
    return count < ATTRIBUTES_MAX ? count : ATTRIBUTES_MAX;
}

static const json_t *attribute_find(const json_t *attributes, const char *name) {
    for (size_t i = 0; i < attribute_count(attributes); i++) {
        const json_t *attribute = json_array_get(attributes, i);
        const char *key = json_string_value(json_object_get(attribute, "key"));
        if (key && strcmp(key, name) == 0)
            return json_object_get(attribute, "value");
    }
    return NULL;
}

static const char *attribute_text(const json_t *attributes, const char *name) {
    return json_string_value(json_object_get(attribute_find(attributes, name), "stringValue"));
}

/* The member that holds the value. */
static const json_t *plain_value(const json_t *value) {
    static const char *const members[] = { "stringValue", "intValue", "doubleValue", "boolValue" };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const json_t *plain = json_object_get(value, members[i]);
        if (plain)
            return plain;
    }
    return NULL;
}

static uint64_t hash_value(const json_t *value) {
    double number = 0;
    if (json_is_string(value))
        return hash_bytes(json_string_value(value), json_string_length(value));
    if (number_of(value, &number))
        return hash_bytes(&number, sizeof(number));
    return json_is_true(value) ? 1 : 2;
}

static uint64_t attributes_hash(const json_t *attributes) {
    uint64_t sum = 0;
    for (size_t i = 0; i < attribute_count(attributes); i++) {
        const json_t *attribute = json_array_get(attributes, i);
        const json_t *key = json_object_get(attribute, "key");
        const json_t *value = plain_value(json_object_get(attribute, "value"));
        if (json_is_string(key))
            sum += hash_mix(hash_value(key), value ? hash_value(value) : 0);
    }
    return sum;
}

/* --- counters -------------------------------------------------------------------------------- */

static void add(struct amounts *to, enum quantity quantity, double value) {
    to->sum[quantity] += value;
    to->is_reported[quantity] = true;
}

static bool is_sane(double value) {
    return value >= 0 && value <= VALUE_MAX;
}

/* QUANTITY_MAX: not counted. */
static enum quantity quantity_of(const char *metric, const json_t *attributes) {
    const char *type = attribute_text(attributes, "type");
    enum quantity quantity = 0;
    if (strcmp(metric, COST_METRIC) == 0)
        return COST;
    while (quantity < COST && !(type && strcmp(type, quantities[quantity].type) == 0))
        quantity++;
    return quantity < COST ? quantity : QUANTITY_MAX;
}

/* NULL: the table is full. */
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

static void add_cumulative(struct otlp_meter *m, struct series *s, uint64_t start, uint64_t time,
                           double value) {
    if (time < s->time)
        return; /* arrived late */
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
    enum quantity quantity = quantity_of(metric, attributes);
    double value = 0;
    if (!number_of(whole ? whole : json_object_get(point, "asDouble"), &value) || !is_sane(value)
        || quantity == QUANTITY_MAX)
        return;
    uint64_t start = u64_of(json_object_get(point, "startTimeUnixNano"));
    uint64_t time = u64_of(json_object_get(point, "timeUnixNano"));
    uint64_t key = hash_mix(quantity, attributes_hash(attributes));
    struct series *s = find_series(m, key, quantity, is_cumulative);
    if (!s)
        return;
    if (is_cumulative) {
        add_cumulative(m, s, start, time, value);
    } else if (time == 0 || time > s->time) { /* else a repeat */
        s->time = time;
        add(&m->deltas, s->quantity, value);
    }
}

/* 1: delta, 2: cumulative, by number or by name; 0: not a sum that can be added up. */
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
        || (strcmp(name, "claude_code.token.usage") != 0 && strcmp(name, COST_METRIC) != 0))
        return;
    for (size_t i = 0; i < json_array_size(points); i++)
        read_point(m, name, json_array_get(points, i), temporality == 2);
}

/* --- events ---------------------------------------------------------------------------------- */

static bool is_request(const json_t *record, const json_t *attributes) {
    const char *name = json_string_value(json_object_get(record, "eventName"));
    if (!name)
        name = attribute_text(attributes, "event.name");
    if (!name)
        name = json_string_value(json_object_get(json_object_get(record, "body"), "stringValue"));
    return name
           && (strcmp(name, "api_request") == 0 || strcmp(name, "claude_code.api_request") == 0);
}

/* True if it was seen before. Events without time and number cannot be recognized. */
static bool is_repeated(struct otlp_meter *m, const json_t *record, const json_t *attributes) {
    uint64_t time = u64_of(json_object_get(record, "timeUnixNano"));
    if (time == 0 && !attribute_find(attributes, "event.sequence"))
        return false;
    uint64_t hash = hash_mix(time, attributes_hash(attributes));
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
    const json_t *attributes = json_object_get(record, "attributes");
    if (!is_request(record, attributes) || is_repeated(m, record, attributes))
        return;
    for (enum quantity i = 0; i < QUANTITY_MAX; i++) {
        double value = 0;
        if (number_of(plain_value(attribute_find(attributes, quantities[i].attribute)), &value)
            && is_sane(value))
            add(&m->events, i, value);
    }
}

/* --- bodies ---------------------------------------------------------------------------------- */

/* Names of the three nested lists. */
struct levels {
    const char *resources, *scopes, *items;
    void (*read)(struct otlp_meter *meter, const json_t *item);
};
static const struct levels levels_of[] = {
    [OTLP_METRICS] = { "resourceMetrics", "scopeMetrics", "metrics", read_metric },
    [OTLP_LOGS] = { "resourceLogs", "scopeLogs", "logRecords", read_record },
};
_Static_assert(ARRAY_SIZE(levels_of) == OTLP_SIGNAL_MAX, "a signal has no levels");

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
        return error_set(err, -EINVAL, "the body is not JSON: %.100s (line %d, column %d)",
                         problem.text, problem.line, problem.column);
    const json_t *resources = json_object_get(root, l->resources);
    int r = 0;
    if (!json_is_object(root) || (resources && !json_is_array(resources)))
        r = error_set(err, -EINVAL, "the body is not OTLP: expected an object with the list '%s'",
                      l->resources);
    else
        read_tree(m, l, resources);
    json_decref(root);
    return r;
}

/* --- sums ------------------------------------------------------------------------------------ */

/* Tokens, or millionths of a dollar, over some quantities (bit 1 << enum quantity); -1: not
 * reported. */
static int64_t sum_of(const struct amounts *amounts, unsigned which) {
    double sum = 0;
    bool is_reported = false;
    for (enum quantity i = 0; i < QUANTITY_MAX; i++)
        if (which & 1u << i) {
            sum += i == COST ? amounts->sum[i] * 1e6 : amounts->sum[i];
            is_reported |= amounts->is_reported[i];
        }
    if (!is_reported)
        return -1;
    return (int64_t)((sum < VALUE_MAX * 1000 ? sum : VALUE_MAX * 1000) + 0.5);
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Saturates: `before` comes from outside and may be any number. */
static int64_t plus(int64_t before, int64_t more) {
    int64_t sum;
    if (more < 0)
        return before;
    return __builtin_add_overflow(larger(before, 0), more, &sum) ? INT64_MAX : sum;
}

static int64_t total(const struct otlp_meter *m, const struct amounts *cumulative, int64_t before,
                     unsigned which) {
    int64_t by_deltas = plus(before, sum_of(&m->deltas, which));
    int64_t by_totals = sum_of(cumulative, which);
    int64_t by_events = plus(before, sum_of(&m->events, which));
    /* A client changes its temporality only when it restarts, so both are parts of the sum. */
    int64_t by_counters =
        by_deltas > before ? plus(by_deltas, by_totals) : larger(by_deltas, by_totals);
    return larger(by_counters, by_events);
}

void otlp_meter_usage(const struct otlp_meter *m, struct otlp_usage *ret) {
    struct amounts cumulative = m->settled;
    for (size_t i = 0; i < m->series_count; i++)
        if (m->series[i].is_cumulative)
            add(&cumulative, m->series[i].quantity, m->series[i].value);
    *ret = (struct otlp_usage){
        .in =
            total(m, &cumulative, m->before.in, 1u << INPUT | 1u << CACHE_READ | 1u << CACHE_WRITE),
        .out = total(m, &cumulative, m->before.out, 1u << OUTPUT),
        .cached = total(m, &cumulative, m->before.cached, 1u << CACHE_READ),
        .cost_micro_usd = total(m, &cumulative, m->before.cost_micro_usd, 1u << COST),
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
