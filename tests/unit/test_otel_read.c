/* test_otel_read.c: derives the usage of a run from the telemetry of its agent: counted once, with any temporality
 * and repetition. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "harness/test.h"
#include "otel/otlp_read.h"

#define FIXTURES SOURCE_ROOT "/tests/fixtures/otel/"

static int setup(void **state) {
    *state = otlp_meter_new(NULL);
    return 0;
}

static int teardown(void **state) {
    otlp_meter_free(*state);
    return 0;
}

static void feed(struct otlp_meter *meter, enum otlp_signal signal, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, body = STRBUF_INIT;
    char bytes[4096];
    struct error err = { 0 };
    size_t n;
    strbuf_printf(&path, FIXTURES "%s", name);
    FILE *file = fopen(strbuf_text(&path), "re");
    if (!file)
        fail_msg("cannot read %s", strbuf_text(&path));
    while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0)
        strbuf_add(&body, bytes, n);
    (void)fclose(file);
    if (otlp_meter_read(meter, signal, strbuf_text(&body), body.length, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

static int feed_text(struct otlp_meter *meter, enum otlp_signal signal, const char *body,
                     struct error *err) {
    return otlp_meter_read(meter, signal, body, strlen(body), err);
}

/* One counter with one data point. */
static void feed_point(struct otlp_meter *meter, const char *metric, const char *temporality,
                       const char *point) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    struct error err = { 0 };
    strbuf_printf(&body,
                  "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"%s\",\"sum\":"
                  "{\"aggregationTemporality\":%s,\"dataPoints\":[%s]}}]}]}]}",
                  metric, temporality, point);
    if (feed_text(meter, OTLP_METRICS, strbuf_text(&body), &err) < 0)
        fail_msg("%s", err.text);
}

#define expect(meter, in_, out_, cached_, cost_)                                                   \
    do {                                                                                           \
        struct otlp_usage got;                                                                     \
        otlp_meter_usage(meter, &got);                                                             \
        assert_int_equal(got.in, in_);                                                             \
        assert_int_equal(got.out, out_);                                                           \
        assert_int_equal(got.cached, cached_);                                                     \
        assert_int_equal(got.cost_micro_usd, cost_);                                               \
    } while (0)

#define RULE(name_) TEST_WITH(name_, setup, teardown)

RULE(no_report_is_not_zero) {
    expect(*state, -1, -1, -1, -1);
}

RULE(deltas_are_added_and_cached_tokens_are_part_of_what_was_sent) {
    feed(*state, OTLP_METRICS, "metrics_delta_1.json");
    expect(*state, 4312, 25, 4000, 1424);
    feed(*state, OTLP_METRICS, "metrics_delta_2.json");
    expect(*state, 8622, 125, 8300, 4324);
}

/* As sent by a real client, for a run whose final message had the same numbers. */
RULE(what_claude_code_sends_gives_what_it_says_at_its_end) {
    struct otlp_meter *counters = otlp_meter_new(NULL);
    feed(*state, OTLP_LOGS, "claude_logs.json");
    expect(*state, 4312, 25, 4000, 2848);
    feed(counters, OTLP_METRICS, "claude_metrics.json");
    expect(counters, 4312, 25, 4000, 2848);
    feed(*state, OTLP_METRICS, "claude_metrics.json");
    expect(*state, 4312, 25, 4000, 2848);
    otlp_meter_free(counters);
}

RULE(a_body_that_is_sent_again_counts_once) {
    for (int i = 0; i < 3; i++) {
        feed(*state, OTLP_METRICS, "metrics_delta_1.json");
        feed(*state, OTLP_LOGS, "logs_1.json");
    }
    expect(*state, 4312, 25, 4000, 1424);
}

RULE(cumulative_counters_are_not_added_to_themselves) {
    feed(*state, OTLP_METRICS, "metrics_cumulative_1.json");
    expect(*state, 4312, 25, 4000, 1424);
    feed(*state, OTLP_METRICS, "metrics_cumulative_2.json");
    expect(*state, 8622, 125, 8300, 4324);
    feed(*state, OTLP_METRICS, "metrics_cumulative_1.json"); /* late */
    expect(*state, 8622, 125, 8300, 4324);
}

RULE(a_cumulative_counter_continues_after_a_reset) {
    const char *cost = "claude_code.cost.usage";
    feed_point(*state, cost, "2",
               "{\"asDouble\":0.5,\"startTimeUnixNano\":\"1\",\"timeUnixNano\":\"5\"}");
    feed_point(*state, cost, "2",
               "{\"asDouble\":0.2,\"startTimeUnixNano\":\"6\",\"timeUnixNano\":\"7\"}");
    feed_point(*state, cost, "2",
               "{\"asDouble\":0.3,\"startTimeUnixNano\":\"6\",\"timeUnixNano\":\"8\"}");
    expect(*state, -1, -1, -1, 800000);
    /* The same without a start time: the value decreased, so the counter was reset. */
    feed_point(*state, cost, "2",
               "{\"asDouble\":0.1,\"startTimeUnixNano\":\"6\",\"timeUnixNano\":\"9\"}");
    expect(*state, -1, -1, -1, 900000);
}

RULE(counters_and_events_report_the_same_calls) {
    feed(*state, OTLP_LOGS, "logs_1.json");
    expect(*state, 4312, 25, 4000, 1424);
    feed(*state, OTLP_METRICS, "metrics_delta_1.json");
    expect(*state, 4312, 25, 4000, 1424);
    feed(*state, OTLP_LOGS, "logs_2.json"); /* events are sent more often */
    expect(*state, 8622, 125, 8300, 4324);
    feed(*state, OTLP_METRICS, "metrics_delta_2.json");
    expect(*state, 8622, 125, 8300, 4324);
}

RULE(numbers_come_as_texts_and_as_numbers) {
    static const char *const forms[] = { "\"asInt\":\"5\"", "\"asInt\":5", "\"asDouble\":5.0",
                                         "\"asDouble\":\"5\"" };
    _cleanup_(strbuf_finish) struct strbuf point = STRBUF_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        strbuf_clear(&point);
        strbuf_printf(
            &point,
            "{%s,\"attributes\":[{\"key\":\"type\",\"value\":{\"stringValue\":\"output\"}}"
            ",{\"key\":\"n\",\"value\":{\"intValue\":\"%zu\"}}]}",
            forms[i], i);
        feed_point(*state, "claude_code.token.usage",
                   i % 2 ? "1" : "\"AGGREGATION_TEMPORALITY_DELTA\"", strbuf_text(&point));
    }
    expect(*state, -1, 20, -1, -1);
}

RULE(series_are_distinguished_by_all_their_attributes) {
    static const char form[] =
        "{\"asInt\":\"%d\",\"timeUnixNano\":\"9\",\"attributes\":[{\"key\":\"type\",\"value\":"
        "{\"stringValue\":\"input\"}},{\"key\":\"query_source\",\"value\":{\"stringValue\":\"%s\"}}"
        "]}";
    char point[400];
    (void)snprintf(point, sizeof(point), form, 3, "main");
    feed_point(*state, "claude_code.token.usage", "2", point);
    (void)snprintf(point, sizeof(point), form, 4, "subagent");
    feed_point(*state, "claude_code.token.usage", "2", point);
    expect(*state, 7, -1, -1, -1);
}

RULE(what_is_unknown_or_impossible_is_skipped) {
    static const char *const points[] = {
        "{\"asInt\":\"-5\"}",
        "{\"asInt\":\"0x10\"}",
        "{\"asDouble\":\"NaN\"}",
        "{\"asDouble\":\"1e300\"}",
        "{\"asInt\":\"\"}",
        "{\"asInt\":null}",
        "{\"asInt\":[1]}",
        "7",
        "null",
        "{\"asDouble\":\"1 2\"}",
        "{\"asInt\":\"99999999999999999999\"}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(points); i++)
        feed_point(*state, "claude_code.cost.usage", "1", points[i]);
    feed_point(*state, "claude_code.cost.usage", "0", "{\"asDouble\":1}");
    feed_point(*state, "claude_code.cost.total", "1", "{\"asDouble\":1}");
    feed_point(*state, "claude_code.token.usage", "1", "{\"asInt\":\"1\"}");
    assert_int_equal(feed_text(*state, OTLP_METRICS,
                               "{\"resourceMetrics\":[1,{\"scopeMetrics\":{}},{\"scopeMetrics\":[{"
                               "\"metrics\":[[],{\"name\":5},{\"name\":\"claude_code.cost.usage\","
                               "\"gauge\":{\"dataPoints\":[{\"asDouble\":1}]}}]}]}],\"more\":1}",
                               NULL),
                     0);
    expect(*state, -1, -1, -1, -1);
}

RULE(an_empty_export_is_fine) {
    assert_int_equal(feed_text(*state, OTLP_METRICS, "{}", NULL), 0);
    assert_int_equal(feed_text(*state, OTLP_LOGS, "{\"resourceLogs\":[]}", NULL), 0);
    expect(*state, -1, -1, -1, -1);
}

RULE(bad_bodies_get_one_message_and_count_nothing) {
    static const char *const bodies[] = {
        "",
        "x",
        "[]",
        "7",
        "{\"resourceMetrics\":{}}",
        "{\"resourceMetrics\":[",
        "\x0a\x05\x12", /* protobuf */
    };
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct error err = { 0 };
        assert_int_equal(feed_text(*state, OTLP_METRICS, bodies[i], &err), -EINVAL);
        assert_ptr_equal(strstr(err.text, "the body is not "), err.text);
        assert_null(strchr(err.text, '\n'));
    }
    expect(*state, -1, -1, -1, -1);
}

RULE(too_many_series_are_left_out) {
    char point[200];
    for (unsigned i = 0; i < OTLP_SERIES_MAX + 50; i++) {
        (void)snprintf(point, sizeof(point),
                       "{\"asDouble\":1,\"attributes\":[{\"key\":\"model\",\"value\":"
                       "{\"stringValue\":\"m%u\"}}]}",
                       i);
        feed_point(*state, "claude_code.cost.usage", "1", point);
    }
    expect(*state, -1, -1, -1, (int64_t)OTLP_SERIES_MAX * 1000000);
}

/* A run may report any values, again and again. */
RULE(sums_end_where_numbers_do) {
    struct otlp_usage known = { .in = INT64_MAX - 5, .out = 1, .cached = -1, .cost_micro_usd = -1 };
    struct otlp_meter *meter = otlp_meter_new(&known);
    (void)state;
    feed_point(meter, "claude_code.token.usage", "1",
               "{\"timeUnixNano\":\"1\",\"asInt\":\"10\",\"attributes\":[{\"key\":\"type\","
               "\"value\":{\"stringValue\":\"input\"}}]}");
    expect(meter, INT64_MAX, 1, -1, -1);
    feed_point(meter, "claude_code.token.usage", "2",
               "{\"timeUnixNano\":\"1\",\"asInt\":\"10\",\"attributes\":[{\"key\":\"type\","
               "\"value\":{\"stringValue\":\"input\"}}]}");
    expect(meter, INT64_MAX, 1, -1, -1);
    otlp_meter_free(meter);
}

RULE(after_a_restart_deltas_are_added_to_what_was_known) {
    struct otlp_usage known = { .in = 4312, .out = 25, .cached = -1, .cost_micro_usd = 1424 };
    struct otlp_meter *meter = otlp_meter_new(&known);
    (void)state;
    expect(meter, 4312, 25, -1, 1424);
    feed(meter, OTLP_METRICS, "metrics_delta_2.json");
    expect(meter, 8622, 125, 4300, 4324);
    feed(meter, OTLP_LOGS, "logs_2.json");
    expect(meter, 8622, 125, 4300, 4324);
    otlp_meter_free(meter);
    meter = otlp_meter_new(&known);
    feed(meter, OTLP_METRICS, "metrics_cumulative_2.json"); /* it was counted all along */
    expect(meter, 8622, 125, 8300, 4324);
    otlp_meter_free(meter);
}
