/* test_otel_write.c: exported telemetry is valid OTLP with the names of the semantic conventions. Parsed with
 * another parser, as a collector would. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "harness/test.h"
#include "otel/otlp_write.h"

static const struct otlp_source source = { .version = "1.2.3", .instance = "a-home" };

static struct otlp_run a_run(void) {
    return (struct otlp_run){ .ids = otlp_ids_make("home", "web-17.2", 5),
                              .started_at = 1794711600000,
                              .ended_at = 1794711612500,
                              .agent = "claude",
                              .provider = "anthropic",
                              .model = "claude-sonnet-5-5",
                              .session = "5f0c3a52",
                              .task = "web-17",
                              .project = "web",
                              .attempt = 2,
                              .iteration = 1,
                              .outcome = "ok",
                              .tokens_in = 4312,
                              .tokens_out = 25,
                              .tokens_cached = 4000,
                              .cost_micro_usd = 1424 };
}

static json_t *parse(const struct strbuf *text) {
    json_error_t problem;
    json_t *root = json_loadb(strbuf_text(text), text->length, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        fail_msg("the body is not JSON: %s at %d: %s", problem.text, problem.position,
                 strbuf_text(text));
    return root;
}

static const json_t *first(const json_t *object, const char *list) {
    return json_array_get(json_object_get(object, list), 0);
}

static const char *text_of(const json_t *object, const char *member) {
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "(none)";
}

/* The value of an attribute as text; "(none)". */
static const char *attribute(const json_t *object, const char *name) {
    const json_t *list = json_object_get(object, "attributes");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_object_get(json_array_get(list, i), "value");
        if (strcmp(text_of(json_array_get(list, i), "key"), name) != 0)
            continue;
        const char *text = json_string_value(json_object_get(value, "stringValue"));
        return text ? text : text_of(value, "intValue");
    }
    return "(none)";
}

static json_t *spans_of(const struct otlp_run *run) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    otlp_write_spans(&source, &run, 1, &out);
    return parse(&out);
}

static const json_t *span_in(const json_t *root) {
    return first(first(first(root, "resourceSpans"), "scopeSpans"), "spans");
}

static const json_t *metric_in(const json_t *root, const char *name) {
    const json_t *list =
        json_object_get(first(first(root, "resourceMetrics"), "scopeMetrics"), "metrics");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(text_of(json_array_get(list, i), "name"), name) == 0)
            return json_array_get(list, i);
    return NULL;
}

static json_t *metrics_of(const struct otlp_totals *totals) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    otlp_totals_write(totals, &source, 1794711660000, &out);
    return parse(&out);
}

TEST(a_run_is_a_span_with_the_names_of_the_conventions) {
    struct otlp_run run = a_run();
    json_t *root = spans_of(&run);
    const json_t *span = span_in(root);
    (void)state;
    assert_string_equal(text_of(span, "name"), "invoke_agent claude");
    assert_int_equal(strlen(text_of(span, "traceId")), 32);
    assert_int_equal(strlen(text_of(span, "spanId")), 16);
    assert_string_equal(text_of(span, "startTimeUnixNano"), "1794711600000000000");
    assert_string_equal(text_of(span, "endTimeUnixNano"), "1794711612500000000");
    assert_string_equal(attribute(span, "gen_ai.operation.name"), "invoke_agent");
    assert_string_equal(attribute(span, "gen_ai.provider.name"), "anthropic");
    assert_string_equal(attribute(span, "gen_ai.agent.name"), "claude");
    assert_string_equal(attribute(span, "gen_ai.request.model"), "claude-sonnet-5-5");
    assert_string_equal(attribute(span, "gen_ai.conversation.id"), "5f0c3a52");
    assert_string_equal(attribute(span, "gen_ai.usage.input_tokens"), "4312");
    assert_string_equal(attribute(span, "gen_ai.usage.output_tokens"), "25");
    assert_string_equal(attribute(span, "gen_ai.usage.cache_read.input_tokens"), "4000");
    assert_string_equal(attribute(span, "sluice.task"), "web-17");
    assert_string_equal(attribute(span, "sluice.attempt"), "2");
    assert_string_equal(attribute(span, "error.type"), "(none)");
    assert_int_equal(json_object_size(json_object_get(span, "status")), 0);
    const json_t *resource = json_object_get(first(root, "resourceSpans"), "resource");
    assert_string_equal(attribute(resource, "service.name"), "sluice");
    assert_string_equal(attribute(resource, "service.version"), "1.2.3");
    assert_string_equal(attribute(resource, "service.instance.id"), "a-home");
    json_decref(root);
}

TEST(a_failed_run_has_an_error_type) {
    struct otlp_run run = a_run();
    (void)state;
    run.error_type = "limited";
    run.message = "it said \"wait\"\nand went";
    json_t *root = spans_of(&run);
    const json_t *status = json_object_get(span_in(root), "status");
    assert_string_equal(attribute(span_in(root), "error.type"), "limited");
    assert_int_equal(json_integer_value(json_object_get(status, "code")), 2);
    assert_string_equal(text_of(status, "message"), run.message);
    json_decref(root);
}

TEST(what_is_not_known_is_left_out) {
    struct otlp_run run = a_run();
    (void)state;
    run.tokens_in = run.tokens_out = run.tokens_cached = run.cost_micro_usd = -1;
    run.model = run.session = NULL;
    json_t *root = spans_of(&run);
    static const char *const names[] = { "gen_ai.request.model",
                                         "gen_ai.conversation.id",
                                         "gen_ai.usage.input_tokens",
                                         "gen_ai.usage.output_tokens",
                                         "gen_ai.usage.cache_read.input_tokens",
                                         "sluice.cost_usd" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_string_equal(attribute(span_in(root), names[i]), "(none)");
    json_decref(root);
}

TEST(a_plain_command_is_a_span_and_no_agent) {
    struct otlp_run run = a_run();
    struct otlp_totals *totals = otlp_totals_new(1);
    (void)state;
    run.agent = run.provider = run.model = run.session = NULL;
    json_t *root = spans_of(&run);
    assert_string_equal(text_of(span_in(root), "name"), "run");
    assert_string_equal(attribute(span_in(root), "gen_ai.operation.name"), "(none)");
    json_decref(root);
    otlp_totals_add(totals, &run);
    root = metrics_of(totals);
    assert_null(metric_in(root, "gen_ai.invoke_agent.duration"));
    json_decref(root);
    otlp_totals_free(totals);
}

TEST(tokens_are_counted_since_the_beginning) {
    struct otlp_run run = a_run();
    struct otlp_totals *totals = otlp_totals_new(1794711590000);
    (void)state;
    otlp_totals_add(totals, &run);
    run.tokens_in = 1000;
    run.tokens_out = -1;
    otlp_totals_add(totals, &run);
    json_t *root = metrics_of(totals);
    const json_t *metric = metric_in(root, "gen_ai.client.inference.usage.input_tokens");
    const json_t *sum = json_object_get(metric, "sum");
    const json_t *point = first(sum, "dataPoints");
    assert_string_equal(text_of(metric, "unit"), "{token}");
    assert_int_equal(json_integer_value(json_object_get(sum, "aggregationTemporality")), 2);
    assert_true(json_is_true(json_object_get(sum, "isMonotonic")));
    assert_string_equal(text_of(point, "asInt"), "5312");
    assert_string_equal(text_of(point, "startTimeUnixNano"), "1794711590000000000");
    assert_string_equal(text_of(point, "timeUnixNano"), "1794711660000000000");
    assert_string_equal(attribute(point, "gen_ai.operation.name"), "invoke_agent");
    assert_string_equal(attribute(point, "gen_ai.provider.name"), "anthropic");
    assert_string_equal(attribute(point, "gen_ai.token.modality"), "unknown");
    assert_string_equal(attribute(point, "gen_ai.request.model"), "claude-sonnet-5-5");
    metric = metric_in(root, "gen_ai.client.inference.usage.output_tokens");
    assert_string_equal(text_of(first(json_object_get(metric, "sum"), "dataPoints"), "asInt"),
                        "25");
    metric = metric_in(root, "gen_ai.client.inference.usage.cache_read.input_tokens");
    assert_string_equal(text_of(first(json_object_get(metric, "sum"), "dataPoints"), "asInt"),
                        "8000");
    json_decref(root);
    otlp_totals_free(totals);
}

TEST(durations_are_in_seconds_in_the_buckets_of_the_conventions) {
    struct otlp_run run = a_run(); /* 12.5 s: the bucket up to 12.8 */
    struct otlp_totals *totals = otlp_totals_new(1);
    (void)state;
    otlp_totals_add(totals, &run);
    run.ended_at = run.started_at + 3600000;
    otlp_totals_add(totals, &run);
    json_t *root = metrics_of(totals);
    const json_t *metric = metric_in(root, "gen_ai.invoke_agent.duration");
    const json_t *point = first(json_object_get(metric, "histogram"), "dataPoints");
    const json_t *counts = json_object_get(point, "bucketCounts");
    assert_string_equal(text_of(metric, "unit"), "s");
    assert_string_equal(text_of(point, "count"), "2");
    assert_true(json_real_value(json_object_get(point, "sum")) == 3612.5);
    assert_int_equal(json_array_size(json_object_get(point, "explicitBounds")), 13);
    assert_int_equal(json_array_size(counts), 14);
    assert_string_equal(json_string_value(json_array_get(counts, 7)), "1");
    assert_string_equal(json_string_value(json_array_get(counts, 13)), "1");
    json_decref(root);
    otlp_totals_free(totals);
}

TEST(made_up_models_do_not_make_it_grow) {
    struct otlp_run run = a_run();
    struct otlp_totals *totals = otlp_totals_new(1);
    char model[32];
    int64_t all = 0;
    (void)state;
    for (unsigned i = 0; i < 3 * OTLP_TOTALS_MAX; i++) {
        (void)snprintf(model, sizeof(model), "model-%u", i);
        run.model = model;
        otlp_totals_add(totals, &run);
        all += run.tokens_in;
    }
    json_t *root = metrics_of(totals);
    const json_t *points = json_object_get(
        json_object_get(metric_in(root, "gen_ai.client.inference.usage.input_tokens"), "sum"),
        "dataPoints");
    assert_int_equal(json_array_size(points), OTLP_TOTALS_MAX + 1);
    const json_t *last = json_array_get(points, OTLP_TOTALS_MAX);
    assert_string_equal(attribute(last, "gen_ai.request.model"), "(none)");
    for (size_t i = 0; i < json_array_size(points); i++) {
        long long value = 0;
        assert_int_equal(sscanf(text_of(json_array_get(points, i), "asInt"), "%lld", &value), 1);
        all -= value;
    }
    assert_int_equal(all, 0); /* no data is lost */
    json_decref(root);
    otlp_totals_free(totals);
}

TEST(the_ids_of_a_run_are_deterministic) {
    _cleanup_(strbuf_finish) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    struct otlp_ids ids = otlp_ids_make("home", "web-17.2", 5);
    struct otlp_ids others[] = { otlp_ids_make("home", "web-17.3", 5),
                                 otlp_ids_make("home", "web-17.2", 6),
                                 otlp_ids_make("other", "web-17.2", 5) };
    (void)state;
    otlp_print_traceparent(&ids, &a);
    ids = otlp_ids_make("home", "web-17.2", 5);
    otlp_print_traceparent(&ids, &b);
    assert_string_equal(strbuf_text(&a), strbuf_text(&b));
    assert_int_equal(a.length, 2 + 1 + 32 + 1 + 16 + 1 + 2);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        strbuf_clear(&b);
        otlp_print_traceparent(&others[i], &b);
        assert_string_not_equal(strbuf_text(&a), strbuf_text(&b));
    }
}
