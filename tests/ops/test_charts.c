/* test_charts.c: the data for charts and pages: runs over time, usage, the dependency graph, and
 * what-if forecasts. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"
#include "os/files.h"

static struct reply get(struct ops *o, const char *path) {
    struct reply r = ops_ask(o, "GET", path, NULL, NULL);
    if (r.status != 200)
        fail_msg("GET %s: %s", path, r.text);
    return r;
}

/* A member of every item of a list: "web-1 web-2". */
static const char *each(const struct reply *r, const char *list, const char *member) {
    static char text[1024];
    size_t i;
    json_t *item;
    text[0] = '\0';
    json_array_foreach((json_t *)reply_at(r, list), i, item) {
        size_t length = strlen(text);
        const json_t *value = json_object_get(item, member);
        (void)snprintf(text + length, sizeof(text) - length, "%s%s", i ? " " : "",
                       json_is_string(value) ? json_string_value(value) : "-");
    }
    return text;
}

static const char *ids(struct ops *o, const char *path, const char *list, const char *member) {
    _cleanup_(reply_finish) struct reply r = get(o, path);
    return each(&r, list, member);
}

static void run_to_its_end(struct ops *o, task_id task, int exit_code) {
    fake_run_starts(task);
    ops_turn(o);
    fake_run_ends(task, exit_code);
    ops_turn(o);
}

/* --- runs ------------------------------------------------------------------------------------ */

/* 1 and 2 have ended, 3 has failed and waits, 4 and 5 are live. */
static void begin_runs(struct ops *o, enum ops_store store) {
    ops_open(o, store, "retry: {failed: {max: 0}}\n");
    run_to_its_end(o, ops_add(o, "\"project\":\"web\",\"title\":\"first\","), 0);
    run_to_its_end(o, ops_add(o, "\"project\":\"api\",\"agent\":\"claude\","), 0);
    run_to_its_end(o, ops_add(o, "\"project\":\"web\",\"agent\":\"claude\","), 1);
    (void)ops_add(o, "\"project\":\"api\",\"title\":\"fourth\",");
    (void)ops_add(o, "\"project\":\"web\",");
}

static void runs_are_listed_with_what_they_are_about(struct ops *o) {
    _cleanup_(reply_finish) struct reply r = get(o, "/v1/runs");
    assert_string_equal(each(&r, "items", "task"), "web-5 api-4 web-3 api-2 web-1");
    assert_string_equal(reply_text(&r, "items.1.title"), "fourth");
    assert_true(reply_is_null(&r, "items.1.ended_at"));
    assert_string_equal(reply_text(&r, "items.1.phase"), "starting");
    assert_true(reply_is_null(&r, "items.1.outcome"));
    assert_true(reply_is_null(&r, "items.1.cost_usd"));
    assert_string_equal(reply_text(&r, "items.2.outcome"), "failed");
    assert_string_equal(reply_text(&r, "items.2.agent"), "claude");
    assert_true(reply_is_null(&r, "items.4.agent"));
    assert_string_equal(reply_text(&r, "items.4.project"), "web");
    assert_int_equal(reply_int(&r, "items.4.attempt"), 1);
    assert_true(reply_int(&r, "items.4.ended_at") >= reply_int(&r, "items.4.ordered_at"));
    assert_true(reply_is_null(&r, "next"));
}

TEST(live_runs_come_first_then_the_latest_ends) {
    for (enum ops_store store = OPS_MEMORY; store <= OPS_SQLITE; store++) {
        _cleanup_(ops_close) struct ops o = { 0 };
        begin_runs(&o, store);
        runs_are_listed_with_what_they_are_about(&o);
    }
}

TEST(runs_are_filtered) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin_runs(&o, OPS_MEMORY);
    assert_string_equal(ids(&o, "/v1/runs?state=live", "items", "task"), "web-5 api-4");
    assert_string_equal(ids(&o, "/v1/runs?state=ended", "items", "task"), "web-3 api-2 web-1");
    assert_string_equal(ids(&o, "/v1/runs?state=failed", "items", "task"), "web-3");
    assert_string_equal(ids(&o, "/v1/runs?project=api", "items", "task"), "api-4 api-2");
    assert_string_equal(ids(&o, "/v1/runs?agent=claude", "items", "task"), "web-3 api-2");
    assert_string_equal(ids(&o, "/v1/runs?agent=claude&state=ok", "items", "task"), "api-2");
    assert_string_equal(ids(&o, "/v1/runs?until=1", "items", "task"), "");
    assert_string_equal(ids(&o, "/v1/runs?since=99999999999999", "items", "task"), "web-5 api-4");
    ops_refused(&o, 400, "/v1/runs?state=faild", NULL, "no run is 'faild'; did you mean 'failed'?");
    ops_refused(&o, 404, "/v1/runs?project=wbe", NULL,
                "there is no project 'wbe'; did you mean 'web'?");
    ops_refused(&o, 400, "/v1/runs?after=n7", NULL,
                "'n7' is not a cursor of this list: take `next` of its answer");
    ops_expect(&o, 400, "GET", "/v1/runs?after=l", NULL);
    ops_expect(&o, 400, "GET", "/v1/runs?after=e12.1", NULL);
    ops_expect(&o, 400, "GET", "/v1/runs?after=e12.1.x", NULL);
    ops_expect(&o, 400, "GET", "/v1/runs?after=e12.1.5000000000", NULL);
}

TEST(pages_of_runs_follow_each_other_without_a_gap) {
    static const char *const wanted[] = { "web-5", "api-4", "web-3", "api-2", "web-1" };
    for (enum ops_store store = OPS_MEMORY; store <= OPS_SQLITE; store++) {
        _cleanup_(ops_close) struct ops o = { 0 };
        begin_runs(&o, store);
        char after[100] = "";
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
            char path[160];
            (void)snprintf(path, sizeof(path), "/v1/runs?limit=1%s", after);
            _cleanup_(reply_finish) struct reply r = get(&o, path);
            assert_string_equal(each(&r, "items", "task"), wanted[i]);
            if (i + 1 == ARRAY_SIZE(wanted))
                assert_true(reply_is_null(&r, "next"));
            else
                (void)snprintf(after, sizeof(after), "&after=%s", reply_text(&r, "next"));
        }
    }
}

/* --- usage ----------------------------------------------------------------------------------- */

static void report(struct ops *o, task_id task, const char *numbers) {
    char body[200];
    (void)snprintf(body, sizeof(body), "{\"task\":\"%" PRIu64 "\",%s}", task, numbers);
    fake_run_starts(task);
    ops_turn(o);
    ops_expect(o, 200, "POST", "/v1/report", body);
    fake_run_ends(task, 0);
    ops_turn(o);
}

TEST(usage_is_summed_and_unknown_is_not_zero) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    report(&o, ops_add(&o, "\"project\":\"web\",\"agent\":\"claude\","),
           "\"tokens_in\":100,\"tokens_out\":20,\"cost_usd\":0.5");
    report(&o, ops_add(&o, "\"project\":\"web\",\"agent\":\"claude\","), "\"tokens_in\":7");
    run_to_its_end(&o, ops_add(&o, "\"project\":\"api\","), 1);
    ops_restart(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/usage");
    assert_string_equal(reply_text(&r, "by"), "day");
    assert_string_equal(each(&r, "items", "name"), "web api");
    assert_int_equal(reply_int(&r, "items.0.runs"), 2);
    assert_int_equal(reply_int(&r, "items.0.ok"), 2);
    assert_int_equal(reply_int(&r, "items.0.tokens_in"), 107);
    assert_int_equal(reply_int(&r, "items.0.tokens_out"), 20);
    assert_true(json_real_value(reply_at(&r, "items.0.cost_usd")) == 0.5);
    assert_int_equal(reply_int(&r, "items.0.unknown_cost"), 1);
    assert_int_equal(reply_int(&r, "items.0.at") % DAYS(1), 0);
    assert_true(reply_is_null(&r, "items.1.cost_usd"));
    assert_int_equal(reply_int(&r, "items.1.unknown_tokens"), 1);
    assert_int_equal(reply_int(&r, "items.1.ok"), 0);
    assert_string_equal(each(&r, "targets", "name"), "web api");
    _cleanup_(reply_finish) struct reply a = get(&o, "/v1/usage?by=hour&group=agent&limit=1");
    assert_int_equal(reply_count(&a, "items"), 1);
    assert_string_equal(reply_text(&a, "next"), "u1");
    _cleanup_(reply_finish) struct reply b = get(&o, "/v1/usage?by=hour&group=agent&cursor=u1");
    assert_int_equal(reply_count(&b, "items"), 1);
    assert_true(reply_is_null(&b, "next"));
    assert_string_equal(ids(&o, "/v1/usage?until=1", "items", "name"), "");
    ops_expect(&o, 400, "GET", "/v1/usage?by=week", NULL);
    ops_expect(&o, 400, "GET", "/v1/usage?group=kind", NULL);
    ops_expect(&o, 400, "GET", "/v1/usage?cursor=r1", NULL);
}

/* A live run is in no sum until it ends: the sums of all pages, views and commands agree. */
TEST(what_live_runs_have_used_is_shown_apart) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    report(&o, ops_add(&o, "\"project\":\"web\",\"agent\":\"claude\","),
           "\"tokens_in\":100,\"tokens_out\":20,\"cost_usd\":0.5");
    task_id live = ops_add(&o, "\"project\":\"web\",\"agent\":\"claude\",");
    fake_run_starts(live);
    ops_turn(&o);
    ops_expect(&o, 200, "POST", "/v1/report", "{\"task\":\"2\",\"tokens_in\":9,\"cost_usd\":0.25}");
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/usage");
    assert_int_equal(reply_int(&r, "totals.runs"), 1);
    assert_true(json_real_value(reply_at(&r, "totals.cost_usd")) == 0.5);
    assert_int_equal(reply_int(&r, "live.runs"), 1);
    assert_int_equal(reply_int(&r, "live.tokens_in"), 9);
    assert_true(json_real_value(reply_at(&r, "live.cost_usd")) == 0.25);
    assert_string_equal(each(&r, "names", "name"), "web");
    assert_true(json_real_value(reply_at(&r, "names.0.cost_usd")) == 0.5);
    assert_true(json_real_value(reply_at(&r, "names.0.live.cost_usd")) == 0.25);
    _cleanup_(reply_finish) struct reply s = get(&o, "/v1/status");
    assert_true(json_real_value(reply_at(&s, "budgets.0.usd_used")) == 0.5);
    assert_true(json_real_value(reply_at(&s, "budgets.0.usd_live")) == 0.25);
    _cleanup_(reply_finish) struct reply t = get(&o, "/v1/usage/tasks");
    assert_string_equal(each(&t, "items", "task"), "web-1 web-2");
    assert_true(json_real_value(reply_at(&t, "items.0.cost_usd")) == 0.5);
    assert_true(reply_is_null(&t, "items.0.live_usd"));
    assert_true(reply_bool(&t, "items.1.live"));
    assert_true(json_real_value(reply_at(&t, "items.1.live_usd")) == 0.25);
    assert_false(reply_bool(&t, "partial"));
    fake_run_ends(live, 0);
    ops_turn(&o);
    _cleanup_(reply_finish) struct reply u = get(&o, "/v1/usage");
    assert_true(json_real_value(reply_at(&u, "totals.cost_usd")) == 0.75);
    assert_int_equal(reply_int(&u, "live.runs"), 0);
    assert_true(reply_is_null(&u, "next"));
}

TEST(the_most_expensive_tasks_come_first) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    report(&o, ops_add(&o, "\"project\":\"web\",\"title\":\"cheap\","), "\"cost_usd\":0.5");
    report(&o, ops_add(&o, "\"project\":\"api\",\"title\":\"dear\","), "\"cost_usd\":2");
    run_to_its_end(&o, ops_add(&o, "\"project\":\"api\","), 0);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/usage/tasks");
    assert_string_equal(each(&r, "items", "task"), "api-2 web-1 api-3");
    assert_string_equal(each(&r, "items", "title"), "dear cheap true");
    assert_true(reply_is_null(&r, "items.2.cost_usd"));
    assert_int_equal(reply_int(&r, "items.2.unknown_cost"), 1);
    assert_string_equal(ids(&o, "/v1/usage/tasks?project=web", "items", "task"), "web-1");
    assert_string_equal(ids(&o, "/v1/usage/tasks?limit=1", "items", "task"), "api-2");
    assert_string_equal(ids(&o, "/v1/usage/tasks?since=99999999999999", "items", "task"), "");
    assert_string_equal(ids(&o, "/v1/usage/tasks?until=1", "items", "task"), "");
    ops_expect(&o, 404, "GET", "/v1/usage/tasks?project=wbe", NULL);
}

/* The day of a zone begins at its own midnight; an hour belongs to the day in which it begins. */
TEST(days_are_those_of_the_zone_that_is_asked_for) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    report(&o, ops_add(&o, "\"project\":\"web\","), "\"cost_usd\":0.5");
    _cleanup_(reply_finish) struct reply hours = get(&o, "/v1/usage?by=hour");
    time_ms hour = reply_int(&hours, "items.0.at");
    static const struct {
        const char *name;
        time_ms east;
    } zones[] = { { "UTC", 0 }, { "Etc/GMT-14", HOURS(14) }, { "Etc/GMT+12", -HOURS(12) } };
    for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
        char path[80];
        (void)snprintf(path, sizeof(path), "/v1/usage?timezone=%s%s",
                       zones[i].east > 0 ? "Etc/GMT-14" : "",
                       zones[i].east > 0   ? ""
                       : zones[i].east < 0 ? "Etc/GMT%2B12"
                                           : "UTC");
        _cleanup_(reply_finish) struct reply r = get(&o, path);
        assert_string_equal(reply_text(&r, "timezone"), zones[i].name);
        time_ms local = hour + zones[i].east;
        assert_int_equal(reply_int(&r, "items.0.at"), local - local % DAYS(1) - zones[i].east);
        assert_true(json_real_value(reply_at(&r, "totals.cost_usd")) == 0.5);
    }
    ops_expect(&o, 200, "GET", "/v1/usage?timezone=system", NULL);
    ops_expect(&o, 400, "GET", "/v1/usage?timezone=Mars/Olympus", NULL);
}

/* Hours are kept for 40 days: older days are of UTC, and no run is counted twice or lost. */
TEST(a_long_span_in_a_zone_has_every_run_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    report(&o, ops_add(&o, "\"project\":\"web\","), "\"cost_usd\":0.5");
    time_ms now = engine_now(o.engine);
    char path[120];
    (void)snprintf(path, sizeof(path), "/v1/usage?timezone=Etc/GMT-14&since=%" PRId64,
                   now - DAYS(300));
    _cleanup_(reply_finish) struct reply r = get(&o, path);
    assert_int_equal(reply_int(&r, "totals.runs"), 1);
    assert_true(reply_int(&r, "utc_before") > now - DAYS(41));
    _cleanup_(reply_finish) struct reply s = get(&o, "/v1/usage?timezone=Etc/GMT-14");
    assert_true(reply_is_null(&s, "utc_before"));
}

TEST(usage_is_kept_when_its_task_is_deleted) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    run_to_its_end(&o, ops_add(&o, "\"project\":\"web\","), 0);
    ops_expect(&o, 200, "POST", "/v1/tasks/delete", "{\"tasks\":[\"1\"]}");
    assert_string_equal(ids(&o, "/v1/runs", "items", "task"), "");
    assert_string_equal(ids(&o, "/v1/usage", "items", "name"), "web");
}

/* --- graph ----------------------------------------------------------------------------------- */

/* 1 → 2 → 4, 3 → 4, 4 is the parent of 5; 6 has no edges. */
static void begin_graph(struct ops *o) {
    ops_open(o, OPS_MEMORY, NULL);
    ops_expect(o, 200, "POST", "/v1/pause", "{}");
    (void)ops_add(o, "\"project\":\"web\",\"title\":\"one\",");
    (void)ops_add(o, "\"project\":\"web\",\"depends_on\":\"1\",");
    (void)ops_add(o, "\"project\":\"api\",");
    (void)ops_add(o, "\"project\":\"web\",\"depends_on\":[\"2\",\"3\"],");
    (void)ops_add(o, "\"project\":\"web\",\"parent\":\"4\",");
    ops_expect(o, 200, "POST", "/v1/tasks",
               "{\"group\":\"night\",\"tasks\":[{\"project\":\"api\",\"argv\":[\"true\"]}]}");
}

TEST(a_graph_has_dependencies_and_the_longest_chain) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin_graph(&o);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/graph");
    assert_string_equal(each(&r, "nodes", "id"), "web-1 web-2 api-3 web-4 web-5 api-6");
    assert_string_equal(each(&r, "edges", "from"), "web-1 web-2 api-3 web-4");
    assert_string_equal(each(&r, "edges", "to"), "web-2 web-4 web-4 web-5");
    assert_string_equal(each(&r, "edges", "type"), "dependency dependency dependency parent");
    static const bool critical[] = { true, true, false, true, true, false };
    static const int levels[] = { 0, 1, 0, 2, 3, 0 };
    for (size_t i = 0; i < ARRAY_SIZE(critical); i++) {
        char path[40];
        (void)snprintf(path, sizeof(path), "nodes.%zu.critical", i);
        assert_int_equal(reply_bool(&r, path), critical[i]);
        (void)snprintf(path, sizeof(path), "nodes.%zu.level", i);
        assert_int_equal(reply_int(&r, path), levels[i]);
    }
    assert_false(reply_bool(&r, "edges.2.critical"));
    assert_int_equal(reply_int(&r, "critical_ms"), 4 * MINUTES(5));
    assert_string_equal(reply_text(&r, "nodes.0.title"), "one");
    assert_string_equal(reply_text(&r, "nodes.0.gate"), "paused");
    assert_string_equal(reply_text(&r, "nodes.4.parent"), "web-4");
    assert_false(reply_bool(&r, "truncated"));
}

TEST(a_graph_shows_a_part) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin_graph(&o);
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"3\",\"6\"]}");
    assert_string_equal(ids(&o, "/v1/graph?project=web", "nodes", "id"),
                        "web-1 web-2 api-3 web-4 web-5"); /* canceled, but a dependency */
    assert_string_equal(ids(&o, "/v1/graph?project=api", "nodes", "id"), "");
    assert_string_equal(ids(&o, "/v1/graph?project=api&state=all", "nodes", "id"), "api-3 api-6");
    assert_string_equal(ids(&o, "/v1/graph?group=night", "nodes", "id"), "api-6");
    assert_string_equal(ids(&o, "/v1/graph?root=2", "nodes", "id"), "web-1 web-2 web-4 web-5");
    assert_string_equal(ids(&o, "/v1/graph?root=api-3", "nodes", "id"), "api-3 web-4 web-5");
    _cleanup_(reply_finish) struct reply few = get(&o, "/v1/graph?limit=2");
    assert_string_equal(each(&few, "nodes", "id"), "web-4 web-5");
    assert_string_equal(each(&few, "edges", "to"), "web-5");
    assert_true(reply_bool(&few, "truncated"));
    ops_refused(&o, 400, "/v1/graph?project=web&root=1", NULL,
                "give one of 'project', 'group' and 'root', not several");
    ops_refused(&o, 404, "/v1/graph?root=99", NULL, "there is no task '99'");
    ops_refused(&o, 404, "/v1/graph?group=nigth", NULL,
                "there is no group 'nigth'; did you mean 'night'?");
    ops_expect(&o, 400, "GET", "/v1/graph?limit=20001", NULL);
    ops_expect(&o, 400, "GET", "/v1/graph?state=done", NULL);
}

/* A large graph is built over several turns, and other requests are answered in between. */
TEST(a_large_graph_blocks_no_other_request) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_puts(&body, "{\"tasks\":[{\"argv\":[\"a\"]}");
    strbuf_repeat(&body, ",{\"argv\":[\"a\"]}", 9999);
    strbuf_puts(&body, "]}");
    ops_expect(&o, 200, "POST", "/v1/tasks", strbuf_text(&body));
    struct reply graph, other;
    ops_begin_get(&o, "/v1/graph?limit=20000", &graph);
    ops_turn(&o);
    assert_false(graph.answered);
    ops_begin_get(&o, "/v1/health", &other);
    ops_turn(&o);
    assert_true(other.answered);
    assert_false(graph.answered);
    ops_wait(&o, &graph);
    assert_int_equal(graph.status, 200);
    assert_int_equal(reply_count(&graph, "nodes"), 10000);
    assert_false(reply_bool(&graph, "truncated"));
    reply_finish(&graph);
    reply_finish(&other);
}

/* --- what-if --------------------------------------------------------------------------------- */

static void begin_queue(struct ops *o) {
    ops_open(o, OPS_MEMORY, NULL); /* two runs at a time, five minutes each by estimate */
    for (int i = 0; i < 4; i++)
        (void)ops_add(o, "\"project\":\"web\",");
    for (int i = 0; i < 4; i++)
        (void)ops_add(o, "\"project\":\"api\",");
    (void)ops_add(o, "\"hold\":true,");
}

static int64_t span_of(const struct reply *r, const char *path) {
    return reply_int(r, path) / MINUTES(1);
}

TEST(more_slots_would_be_faster) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin_queue(&o);
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/whatif", "{\"set\":{\"limits.runs\":\"8\"}}", NULL);
    if (r.status != 200)
        fail_msg("%s", r.text);
    assert_int_equal(reply_int(&r, "now.tasks"), 8);
    assert_int_equal(reply_int(&r, "now.others"), 1);
    assert_true(reply_bool(&r, "now.complete"));
    assert_in_range(span_of(&r, "now.makespan_ms"), 19, 20);
    assert_in_range(span_of(&r, "then.makespan_ms"), 4, 5);
    assert_string_equal(each(&r, "then.projects", "name"), "api web");
    assert_int_equal(reply_int(&r, "then.projects.0.tasks"), 4);
    assert_int_equal(reply_count(&r, "now.points"), 8);
    assert_int_equal(reply_int(&r, "now.points.0.1"), 7);
    assert_int_equal(reply_int(&r, "now.points.7.1"), 0);
    assert_int_equal(reply_int(&r, "now.points.7.0"), reply_int(&r, "now.finish_at"));
}

/* Task page, timeline and what-if show the same forecast. */
TEST(all_answers_come_from_one_forecast) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin_queue(&o);
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/whatif", "{\"set\":{\"limits.runs\":\"8\"}}", NULL);
    _cleanup_(reply_finish) struct reply f = get(&o, "/v1/forecast");
    assert_true(reply_bool(&f, "available"));
    assert_int_equal(reply_int(&f, "finish_at"), reply_int(&r, "now.finish_at"));
    assert_int_equal(reply_int(&f, "tasks"), reply_int(&r, "now.tasks"));
    assert_int_equal(reply_int(&f, "others"), 1);
    assert_int_equal(reply_int(&f, "later"), 0);
    assert_int_equal(reply_count(&f, "items"), 8);
    assert_true(reply_bool(&f, "items.0.live"));
    assert_false(reply_bool(&f, "items.7.live"));
    assert_int_equal(reply_int(&f, "items.7.end"), reply_int(&f, "finish_at"));
    char path[80];
    (void)snprintf(path, sizeof(path), "/v1/tasks/%s/why", reply_text(&f, "items.7.task"));
    _cleanup_(reply_finish) struct reply why = get(&o, path);
    assert_int_equal(reply_int(&why, "forecast.starts_at"), reply_int(&f, "items.7.start"));
    assert_string_equal(reply_text(&f, "bottleneck.gate"), "lease:runs");
    assert_string_equal(reply_text(&f, "bottleneck.setting"), "limits.runs");
    assert_int_equal(reply_int(&f, "bottleneck.cap"), 2);
    assert_true(reply_is_null(&r, "then.bottleneck"));
    _cleanup_(reply_finish) struct reply a = get(&o, "/v1/forecast?limit=3");
    assert_int_equal(reply_count(&a, "items"), 3);
    assert_string_equal(reply_text(&a, "next"), "f3");
    _cleanup_(reply_finish) struct reply b = get(&o, "/v1/forecast?cursor=f3&project=api");
    assert_int_equal(reply_count(&b, "items"), 3);
    ops_expect(&o, 404, "GET", "/v1/forecast?project=wbe", NULL);
    ops_expect(&o, 400, "GET", "/v1/forecast?cursor=u3", NULL);
    assert_string_equal(ids(&o, "/v1/forecast?until=1&cursor=f2", "items", "task"), "");
}

/* The other settings may have names that the daemon does not know. */
TEST(a_bottleneck_may_be_an_account_that_is_only_tried) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    for (int i = 0; i < 4; i++)
        (void)ops_add(&o, "\"project\":\"web\",\"agent\":\"claude\",");
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/whatif",
                "{\"set\":{\"limits.runs\":\"8\",\"agents.claude.limiter\":\"tried\","
                "\"limiters.tried.max_running\":\"1\"}}",
                NULL);
    if (r.status != 200)
        fail_msg("%s", r.text);
    assert_string_equal(reply_text(&r, "then.bottleneck.gate"), "lease:limiter:tried");
    assert_string_equal(reply_text(&r, "then.bottleneck.setting"), "limiters.tried.max_running");
}

/* The play begins with a resume: it waits for no person but that one. */
TEST(a_paused_queue_is_played_as_after_a_resume) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    for (int i = 0; i < 4; i++)
        (void)ops_add(&o, "\"project\":\"web\",");
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/whatif", "{\"set\":{\"limits.runs\":\"8\"}}", NULL);
    assert_true(reply_bool(&r, "now.paused"));
    assert_int_equal(reply_int(&r, "now.tasks"), 4);
    assert_int_equal(reply_int(&r, "now.others"), 0);
}

TEST(an_empty_queue_is_finished_at_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"hold\":true,");
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/whatif", "{\"set\":{\"limits.runs\":8}}", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_int(&r, "now.makespan_ms"), 0);
    assert_int_equal(reply_int(&r, "then.finish_at"), reply_int(&r, "at"));
    assert_int_equal(reply_count(&r, "now.points"), 0);
    assert_int_equal(reply_int(&r, "now.others"), 1);
}

TEST(a_what_if_request_changes_nothing) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin_queue(&o);
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    struct ops_trace was, is;
    ops_trace(&o, &was);
    assert_int_equal(file_read(o.config_file, 1 << 20, &before, NULL), 0);
    ops_expect(&o, 200, "POST", "/v1/whatif",
               "{\"set\":{\"limits.runs\":8,\"projects.new.weight\":\"3\"},"
               "\"unset\":[\"projects.web.weight\"]}");
    assert_int_equal(file_read(o.config_file, 1 << 20, &after, NULL), 0);
    assert_string_equal(strbuf_text(&after), strbuf_text(&before));
    ops_trace(&o, &is);
    assert_memory_equal(&is, &was, sizeof(is));
    _cleanup_(reply_finish) struct reply s = get(&o, "/v1/status");
    assert_int_equal(reply_int(&s, "limits.0.cap"), 2);
}

TEST(an_invalid_what_if_request_is_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin_queue(&o);
    ops_refused(&o, 400, "/v1/whatif", "{}", "nothing to change: 'set' or 'unset' is required");
    ops_refused(&o, 400, "/v1/whatif", "{\"set\":{\"limits.runs\":[8]}}",
                "the value of 'limits.runs' must be a text, a number, or true or false");
    ops_expect(&o, 400, "POST", "/v1/whatif", "{\"set\":{\"limits.runs\":\"many\"}}");
    ops_expect(&o, 400, "POST", "/v1/whatif", "{\"set\":{\"limits.rnus\":\"8\"}}");
    ops_expect(&o, 400, "POST", "/v1/whatif", "{\"set\":8}");
    struct reply first, second;
    ops_begin(&o, "/v1/whatif", "{\"set\":{\"limits.runs\":8}}", NULL, &first);
    ops_begin(&o, "/v1/whatif", "{\"set\":{\"limits.runs\":9}}", NULL, &second);
    ops_turn(&o);
    assert_int_equal(second.status, 409);
    ops_wait(&o, &first);
    assert_int_equal(first.status, 200);
    reply_finish(&first);
    reply_finish(&second);
}

/* The client is answered with 503, and no process is left. */
TEST(a_what_if_request_ends_with_the_daemon) {
    struct ops o = { 0 };
    struct reply r;
    begin_queue(&o);
    ops_begin(&o, "/v1/whatif", "{\"set\":{\"limits.runs\":8}}", NULL, &r);
    ops_turn(&o);
    ops_close(&o);
    assert_true(r.answered);
    assert_int_equal(r.status, 503);
    reply_finish(&r);
}

TEST(a_queue_that_is_too_large_is_refused_with_a_message) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_puts(&body, "{\"tasks\":[{\"argv\":[\"a\"]}");
    strbuf_repeat(&body, ",{\"argv\":[\"a\"]}", 9999);
    strbuf_puts(&body, "]}");
    struct core_counts counts = { 0 };
    for (int batch = 0; batch < 60 && counts.bytes <= 32u << 20; batch++) {
        ops_expect(&o, 200, "POST", "/v1/tasks", strbuf_text(&body));
        core_count(engine_core(o.engine), &counts);
    }
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/whatif", "{\"set\":{\"limits.runs\":8}}", NULL);
    assert_int_equal(r.status, 413);
    assert_non_null(strstr(reply_text(&r, "error.message"),
                           "the queue is too large to be played forward here ("));
}

/* --- lists and status for the dashboard ------------------------------------------------------ */

TEST(a_list_is_searched_by_title_and_id) {
    for (enum ops_store store = OPS_MEMORY; store <= OPS_SQLITE; store++) {
        _cleanup_(ops_close) struct ops o = { 0 };
        ops_open(&o, store, NULL);
        ops_expect(&o, 200, "POST", "/v1/pause", "{}");
        (void)ops_add(&o, "\"project\":\"web\",\"title\":\"Write the Parser\",");
        (void)ops_add(&o, "\"project\":\"api\",\"title\":\"parse 100%\",");
        (void)ops_add(&o, "\"project\":\"api\",\"title\":\"print\",");
        assert_string_equal(ids(&o, "/v1/tasks?text=PARSE", "items", "id"), "api-2 web-1");
        assert_string_equal(ids(&o, "/v1/tasks?text=parse&project=web", "items", "id"), "web-1");
        assert_string_equal(ids(&o, "/v1/tasks?text=100%25", "items", "id"), "api-2");
        assert_string_equal(ids(&o, "/v1/tasks?text=API-3", "items", "id"), "api-3");
        assert_string_equal(ids(&o, "/v1/tasks?text=none", "items", "id"), "");
        static const char *const orders[] = { "new", "old", "queue" };
        static const char *const pages[][2] = { { "api-3", "api-2" },
                                                { "api-2", "api-3" },
                                                { "api-2", "api-3" } };
        for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
            char path[120];
            (void)snprintf(path, sizeof(path), "/v1/tasks?text=api&limit=1&order=%s", orders[i]);
            _cleanup_(reply_finish) struct reply first = get(&o, path);
            assert_string_equal(each(&first, "items", "id"), pages[i][0]);
            size_t length = strlen(path);
            (void)snprintf(path + length, sizeof(path) - length, "&cursor=%s",
                           reply_text(&first, "next"));
            assert_string_equal(ids(&o, path, "items", "id"), pages[i][1]);
        }
    }
}

TEST(a_search_among_many_comes_in_short_steps) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    (void)ops_add(&o, "\"title\":\"needle\",");
    for (int batch = 0; batch < 2; batch++) {
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
        strbuf_puts(&body, "{\"tasks\":[{\"argv\":[\"a\"]}");
        strbuf_repeat(&body, ",{\"argv\":[\"a\"]}", 7999);
        strbuf_puts(&body, "]}");
        ops_expect(&o, 200, "POST", "/v1/tasks", strbuf_text(&body));
    }
    _cleanup_(reply_finish) struct reply a = get(&o, "/v1/tasks?text=needle");
    assert_int_equal(reply_count(&a, "items"), 0);
    assert_string_equal(reply_text(&a, "next"), "n6001");
    assert_string_equal(ids(&o, "/v1/tasks?text=needle&cursor=n6001", "items", "id"), "t-1");
}

TEST(status_counts_by_project_and_shows_what_runs_say) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin_runs(&o, OPS_MEMORY);
    (void)ops_add(&o, "\"project\":\"web\",");
    struct strbuf folder = STRBUF_INIT;
    engine_run_folder(o.engine, 4, 1, &folder);
    for (char *at = folder.text + strlen(o.home) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        (void)mkdir(folder.text, 0700);
    }
    (void)mkdir(strbuf_text(&folder), 0700);
    strbuf_puts(&folder, "/out.log");
    static const struct {
        const char *log, *line;
    } rows[] = {
        { "one\ntwo\n\n", "two" },
        { "no end", "no end" },
        { "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Hi.\"}}\n"
          "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1}}\n",
          "Hi." },
        { "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"I "
          "look.\"},"
          "{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\\nls -l\"}}]}}\n",
          "ls -l" },
        { "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"name\":"
          "\"Read\",\"input\":{\"file\":\"a\"}}]}}\n",
          "Read" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(file_write(strbuf_text(&folder), rows[i].log, strlen(rows[i].log), NULL),
                         0);
        _cleanup_(reply_finish) struct reply s = get(&o, "/v1/status");
        assert_string_equal(each(&s, "running", "id"), "api-4 web-5");
        assert_string_equal(reply_text(&s, "running.0.last_line"), rows[i].line);
        assert_true(reply_is_null(&s, "running.1.last_line"));
        assert_string_equal(reply_text(&s, "projects.0.name"), "web");
        assert_int_equal(reply_int(&s, "projects.0.counts.done"), 1);
        assert_int_equal(reply_int(&s, "projects.0.counts.failed"), 1);
        assert_int_equal(reply_int(&s, "projects.0.counts.starting"), 1);
        assert_int_equal(reply_int(&s, "projects.0.counts.ready"), 1);
        assert_int_equal(reply_int(&s, "projects.1.counts.ready"), 0);
    }
    strbuf_finish(&folder);
}
