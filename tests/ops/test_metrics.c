/* test_metrics.c: /metrics is valid Prometheus text and has the right numbers. Uses a strict parser of the text
 * format. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/metric.h"
#include "base/strbuf.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

/* --- parser ---------------------------------------------------------------------------------- */

#define SERIES_MAX 2000

struct reading {
    char family[128], type[16]; /* of the last TYPE line */
    char families[200][128];
    size_t family_count;
    const char *series[SERIES_MAX]; /* "name{labels}"; each occurs once */
    size_t series_count;
    double last_bucket, infinity; /* of the current histogram */
};

static size_t name_size(const char *text) {
    size_t size = 0;
    if (!isalpha((unsigned char)text[0]) && text[0] != '_')
        return 0;
    while (isalnum((unsigned char)text[size]) || text[size] == '_')
        size++;
    return size;
}

static bool ends_with(const char *text, const char *end) {
    size_t a = strlen(text), b = strlen(end);
    return a > b && strcmp(text + a - b, end) == 0;
}

static void read_head(struct reading *r, char *help, char *type) {
    char name[128];
    if (sscanf(help, "# HELP %127s", name) != 1 || strlen(help) < strlen("# HELP  ") + strlen(name))
        fail_msg("'%s' is no HELP line with a text", help);
    if (!type || sscanf(type, "# TYPE %127s %15s", r->family, r->type) != 2
        || strcmp(name, r->family) != 0)
        fail_msg("behind HELP of %s must come its TYPE", name);
    for (size_t i = 0; i < r->family_count; i++)
        if (strcmp(r->families[i], name) == 0)
            fail_msg("%s is told twice: its series belong together", name);
    assert_true(r->family_count < ARRAY_SIZE(r->families));
    (void)snprintf(r->families[r->family_count++], sizeof(r->families[0]), "%s", name);
    bool counter = strcmp(r->type, "counter") == 0;
    if (counter != ends_with(name, "_total"))
        fail_msg("%s: counters, and they alone, end in _total", name);
    static const char *const bad[] = {
        "_ms", "_milliseconds", "_minutes", "_mb", "_kb", "_percent"
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (ends_with(name, bad[i]))
            fail_msg("%s: units are seconds and bytes", name);
    if (strncmp(name, "sluice_", strlen("sluice_")) != 0)
        fail_msg("%s has no prefix", name);
    r->last_bucket = 0;
}

/* Returns the end of the labels, which must be quoted correctly and contain no task ids. */
static const char *read_labels(const char *line, const char *at) {
    while (*at != '}') {
        size_t size = name_size(++at);
        if (size == 0 || at[size] != '=' || at[size + 1] != '"')
            fail_msg("bad label in '%s'", line);
        at += size + 2;
        const char *value = at;
        for (; *at && *at != '"'; at++)
            if (*at == '\\' && !strchr("\\\"n", *++at))
                fail_msg("bad escape in '%s'", line);
        if (strncmp(value, "web-", 4) == 0 || strncmp(value, "api-", 4) == 0)
            fail_msg("the id of a task is a label: '%s'", line);
        if (*at != '"' || (at[1] != ',' && at[1] != '}'))
            fail_msg("a label does not end in '%s'", line);
        at++;
    }
    return at + 1;
}

static void check_histogram(struct reading *r, const char *line, const char *name, double value) {
    size_t size = strlen(r->family);
    if (strcmp(name + size, "_bucket") == 0) {
        if (value < r->last_bucket)
            fail_msg("buckets must not fall: '%s'", line);
        r->last_bucket = value;
        r->infinity = strstr(line, "le=\"+Inf\"") ? value : -1;
    } else if (strcmp(name + size, "_count") == 0) {
        if (value != r->infinity)
            fail_msg("the last bucket must be +Inf and have all: '%s'", line);
    } else if (strcmp(name + size, "_sum") != 0) {
        fail_msg("'%s' is no part of a histogram", line);
    }
}

static void read_sample(struct reading *r, char *line) {
    char name[128];
    size_t size = name_size(line);
    assert_true(size > 0 && size < sizeof(name));
    (void)snprintf(name, sizeof(name), "%.*s", (int)size, line);
    const char *at = line + size;
    if (*at == '{')
        at = read_labels(line, at);
    char *end;
    if (*at != ' ' || !at[1])
        fail_msg("no value in '%s'", line);
    double value = strtod(at + 1, &end);
    if (*end)
        fail_msg("'%s' ends with no number", line);
    bool histogram = strcmp(r->type, "histogram") == 0;
    if (strncmp(name, r->family, strlen(r->family)) != 0
        || (!histogram && strcmp(name, r->family) != 0))
        fail_msg("'%s' stands under the head of %s", line, r->family);
    if (histogram)
        check_histogram(r, line, name, value);
    line[at - line] = '\0'; /* the series without its value */
    for (size_t i = 0; i < r->series_count; i++)
        if (strcmp(r->series[i], line) == 0)
            fail_msg("%s is told twice", line);
    assert_true(r->series_count < SERIES_MAX);
    r->series[r->series_count++] = line;
}

static void read_all(char *text) {
    struct reading *r = xcalloc(1, sizeof(*r));
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] != '\n')
        fail_msg("the text must end with a new line");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# HELP ", strlen("# HELP ")) == 0)
            read_head(r, line, strtok(NULL, "\n"));
        else
            read_sample(r, line);
    }
    assert_true(r->family_count > 40);
    free(r);
}

/* --- tests ----------------------------------------------------------------------------------- */

static void report(struct ops *o, const char *members, const char *body, int exit_code) {
    task_id task = ops_add(o, members);
    fake_run_starts(task);
    ops_turn(o);
    ops_expect(o, 200, "POST", "/v1/report", body);
    fake_run_ends(task, exit_code);
    ops_turn(o);
}

static void begin(struct ops *o) {
    ops_open(o, OPS_SQLITE,
             "budget: 5000\nretry: {failed: {max: 0}}\n"
             "projects: {web: {budget: 900}}\n");
    report(o, "\"project\":\"web\",\"agent\":\"claude\",",
           "{\"task\":\"1\",\"tokens_in\":100,\"tokens_out\":20,\"cost_usd\":0.25}", 0);
    report(o, "\"project\":\"web\",\"agent\":\"claude\",", "{\"task\":\"2\",\"tokens_in\":1}", 1);
    char members[128];
    snprintf(members, sizeof(members), "\"project\":\"web\",\"workspace\":\"%s\",", o->home);
    (void)ops_add(o, members);
    (void)ops_add(o, "\"project\":\"web\",");
    (void)ops_add(o, members);
    (void)ops_add(o, "\"project\":\"web\",\"depends_on\":\"5\",");
    (void)ops_add(o, "\"project\":\"web\",");
}

TEST(the_text_is_valid_prometheus_format) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "GET", "/metrics", NULL, NULL);
    assert_int_equal(r.status, 200);
    read_all(r.text);
}

TEST(the_numbers_are_those_of_the_daemon) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "GET", "/metrics", NULL, NULL);
    static const char *const wanted[] = {
        "sluice_tokens_total{project=\"web\",agent=\"claude\",type=\"input\"} 101",
        "sluice_tokens_total{project=\"web\",agent=\"claude\",type=\"output\"} 20",
        "sluice_cost_usd_total{project=\"web\",agent=\"claude\"} 0.250000",
        "sluice_unknown_cost_runs_total{project=\"web\",agent=\"claude\"} 1",
        "sluice_unknown_tokens_runs_total{project=\"web\",agent=\"claude\"} 0",
        "sluice_ended_runs_total{project=\"web\",agent=\"claude\"} 2",
        "sluice_run_outcomes_total{outcome=\"ok\"} 1",
        "sluice_run_outcomes_total{outcome=\"failed\"} 1",
        "sluice_limit_used{limit=\"runs\"} 2",
        "sluice_limit_cap{limit=\"runs\"} 2",
        "sluice_limit_cap{limit=\"resource:license\"} 3",
        "sluice_limiter_cap{limiter=\"anthropic\"} 2",
        "sluice_limiter_backoff_seconds{limiter=\"anthropic\"} 0",
        "sluice_budget_cap_tokens{scope=\"global\",project=\"\"} 5000",
        "sluice_budget_used_tokens{scope=\"project\",project=\"web\"} 121",
        "sluice_waiting_tasks{gate=\"lease:workspace\"} 1",
        "sluice_waiting_tasks{gate=\"lease:runs\"} 1",
        "sluice_waiting_tasks{gate=\"dependency\"} 1",
        "sluice_waiting_tasks{gate=\"paused\"} 0",
        "sluice_build_info{version=\"0.0-test\",schema=\"9\"} 1",
        "sluice_run_duration_seconds_count 2",
    };
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
        strbuf_printf(&line, "\n%s\n", wanted[i]);
        if (!strstr(r.text, strbuf_text(&line)))
            fail_msg("'%s' is not among the numbers", wanted[i]);
    }
    assert_non_null(strstr(r.text, "\nsluice_turn_duration_seconds_bucket{le=\"0.0001\"} "));
    assert_non_null(strstr(r.text, "\nsluice_store_commit_duration_seconds_count "));
    assert_null(strstr(r.text, o.home));
}

TEST(names_are_escaped_and_histograms_are_complete) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct metric_label labels[] = { { "a", "x\"y" }, { "b", "1\\2\n3" } };
    metric_series_micro(&out, "n", labels, 2, 1500000);
    static const int64_t bounds[] = { 1000, 2000000 };
    static const uint64_t up_to[] = { 1, 3 };
    metric_histogram(&out, "h_seconds", "Help.",
                     &(struct metric_histogram){ bounds, up_to, 2, 4, 2500000 });
    assert_string_equal(strbuf_text(&out), "sluice_n{a=\"x\\\"y\",b=\"1\\\\2\\n3\"} 1.500000\n"
                                           "# HELP sluice_h_seconds Help.\n"
                                           "# TYPE sluice_h_seconds histogram\n"
                                           "sluice_h_seconds_bucket{le=\"0.001\"} 1\n"
                                           "sluice_h_seconds_bucket{le=\"2\"} 3\n"
                                           "sluice_h_seconds_bucket{le=\"+Inf\"} 4\n"
                                           "sluice_h_seconds_sum 2.500000\n"
                                           "sluice_h_seconds_count 4\n");
}

/* tests/daemon/test_metrics.sh compares the metrics that the dashboard queries with those that the daemon exports. */
TEST(the_dashboard_can_be_imported) {
    json_error_t err;
    json_t *board = json_load_file(SOURCE_ROOT "/contrib/grafana/sluice.json", 0, &err), *panel;
    if (!board)
        fail_msg("contrib/grafana/sluice.json:%d: %s", err.line, err.text);
    size_t i;
    json_array_foreach(json_object_get(board, "panels"), i, panel) {
        if (json_array_size(json_object_get(panel, "targets")) == 0)
            fail_msg("panel %zu asks for nothing", i);
    }
    assert_true(i > 10);
    json_decref(board);
}
