/* test_attention.c: what waits for a person, in which order, and what a dismissal does. */

#include <stdio.h>
#include <string.h>

#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

#define LIST    "/v1/attention"
#define DISMISS "/v1/attention/dismiss"

static void some_turns(struct ops *o) {
    for (int i = 0; i < 4; i++)
        ops_turn(o);
}

static void ends(struct ops *o, task_id task, int exit_code) {
    some_turns(o);
    fake_run_starts(task);
    fake_run_ends(task, exit_code);
    some_turns(o);
}

/* "review:web-1 failed:web-2": the keys in their order. */
static void expect_keys(struct ops *o, const char *wanted) {
    struct reply r = ops_ask(o, "GET", LIST, NULL, NULL), status;
    struct strbuf keys = STRBUF_INIT;
    char path[32];
    assert_int_equal(r.status, 200);
    for (size_t i = 0; i < reply_count(&r, "items"); i++) {
        (void)snprintf(path, sizeof(path), "items.%zu.key", i);
        strbuf_printf(&keys, "%s%s", i ? " " : "", reply_text(&r, path));
    }
    assert_string_equal(strbuf_text(&keys), wanted);
    assert_int_equal(reply_int(&r, "total"), reply_count(&r, "items"));
    status = ops_ask(o, "GET", "/v1/status", NULL, NULL);
    assert_int_equal(reply_int(&status, "attention"), reply_int(&r, "total"));
    reply_finish(&status);
    reply_finish(&r);
    strbuf_finish(&keys);
}

#define CALM   "alerts: {stuck_s: 0}\n" /* runs of the fixture have no age */
#define CONFIG "retry: {failed: {max: 0}}\n" CALM

TEST(what_stops_more_comes_first_and_of_failures_the_newest) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, CONFIG);
    expect_keys(&o, "");
    ops_add(&o, "\"project\":\"web\",");
    ends(&o, 1, 3);
    ops_add(&o, "\"project\":\"web\",\"review\":true,");
    ends(&o, 2, 0);
    ops_add(&o, "\"project\":\"web\",\"title\":\"the newest\",");
    ends(&o, 3, 4);
    ops_add(&o, "\"project\":\"web\",");
    some_turns(&o);
    fake_run_starts(4);
    reply_expect(ops_ask_as(&o, fake_run_find(4)->token, "POST", "/v1/tasks/web-4/question",
                            "{\"question\":\"Which one?\",\"choices\":[\"a\",\"b\"]}"),
                 200, NULL);
    expect_keys(&o, "question:web-4 review:web-2 failed:web-3 failed:web-1");
    struct reply r = ops_ask(&o, "GET", LIST "?limit=3", NULL, NULL);
    assert_int_equal(reply_count(&r, "items"), 3);
    assert_int_equal(reply_int(&r, "total"), 4);
    assert_int_equal(reply_int(&r, "counts.failed"), 2);
    assert_string_equal(reply_text(&r, "items.0.question.choices.1"), "b");
    assert_string_equal(reply_text(&r, "items.1.task.actions.0"), "approve");
    assert_string_equal(reply_text(&r, "items.2.task.title"), "the newest");
    assert_string_equal(reply_text(&r, "items.2.text"), "exit status 4");
    reply_finish(&r);
    ops_restart(&o);
    expect_keys(&o, "question:web-4 review:web-2 failed:web-3 failed:web-1");

    ops_expect(&o, 200, "POST", "/v1/tasks/approve", "{\"tasks\":[\"web-2\"]}");
    ops_expect(&o, 200, "POST", "/v1/tasks/delete", "{\"tasks\":[\"web-3\"]}");
    expect_keys(&o, "question:web-4 failed:web-1");
}

TEST(a_failure_that_others_wait_for_says_how_many_until_they_do_not) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, CONFIG);
    ops_add(&o, "\"project\":\"web\",");
    ends(&o, 1, 3);
    ops_add(&o, "\"project\":\"web\",\"review\":true,");
    ends(&o, 2, 0);
    expect_keys(&o, "review:web-2 failed:web-1");
    ops_add(&o, "\"project\":\"web\",\"depends_on\":[\"web-1\"],");
    ops_add(&o, "\"project\":\"web\",\"depends_on\":[\"web-1\"],");
    expect_keys(&o, "blocking:web-1 review:web-2"); /* not its alert as well */
    struct reply r = ops_ask(&o, "GET", LIST, NULL, NULL);
    assert_int_equal(reply_int(&r, "items.0.blocks"), 2);
    reply_finish(&r);
    ops_restart(&o);
    expect_keys(&o, "blocking:web-1 review:web-2");
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"web-3\"]}");
    expect_keys(&o, "blocking:web-1 review:web-2");
    ops_expect(&o, 200, "POST", "/v1/tasks/depends", "{\"task\":\"web-4\",\"depends_on\":[]}");
    expect_keys(&o, "review:web-2 failed:web-1");
    /* A canceled task is no failure, but may block others. */
    ops_add(&o, "\"project\":\"web\",\"hold\":true,");
    ops_add(&o, "\"project\":\"web\",\"depends_on\":[\"web-5\"],");
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"web-5\"]}");
    expect_keys(&o, "blocking:web-5 review:web-2 failed:web-1");
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"web-6\"]}");
    expect_keys(&o, "review:web-2 failed:web-1");
}

TEST(a_dismissed_failure_is_listed_again_when_it_has_failed_again) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, CONFIG);
    ops_add(&o, "\"project\":\"web\",");
    ends(&o, 1, 3);
    reply_expect(ops_ask(&o, "POST", DISMISS, "{\"tasks\":[\"web-1\"]}", NULL), 200,
                 "\"changed\":1");
    expect_keys(&o, "");
    reply_expect(ops_ask(&o, "POST", DISMISS, "{\"tasks\":[\"web-1\"]}", NULL), 200,
                 "\"changed\":0");
    ops_restart(&o);
    expect_keys(&o, "");
    ops_expect(&o, 200, "POST", DISMISS, "{\"tasks\":[\"web-1\"],\"dismissed\":false}");
    expect_keys(&o, "failed:web-1");
    ops_expect(&o, 200, "POST", DISMISS, "{\"tasks\":[\"web-1\"]}");
    ops_expect(&o, 200, "POST", "/v1/tasks/retry", "{\"tasks\":[\"web-1\"]}");
    ends(&o, 1, 3);
    expect_keys(&o, "failed:web-1");
    ops_add(&o, "\"project\":\"web\",\"hold\":true,");
    ops_refused(&o, 409, DISMISS, "{\"tasks\":[\"web-1\",\"web-2\"]}",
                "task 'web-2' is held: only failed tasks can be dismissed");
    expect_keys(&o, "failed:web-1");
    ops_expect(&o, 200, "POST", DISMISS, "{\"tasks\":[\"web-1\"]}");
    ops_expect(&o, 200, "POST", "/v1/tasks/delete", "{\"tasks\":[\"web-1\"]}");
    ops_restart(&o);
    expect_keys(&o, "");
}

TEST(a_budget_is_offered_that_lets_the_task_go_on) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, "retry: {failed: {delay_s: 0, max: 9}}\n" CALM);
    ops_add(&o, "\"project\":\"web\",\"run_tokens\":100,");
    some_turns(&o);
    fake_run_starts(1);
    ops_expect(&o, 200, "POST", "/v1/report", "{\"task\":\"web-1\",\"tokens\":150}");
    fake_run_ends(1, 1);
    some_turns(&o);
    struct reply r = ops_ask(&o, "GET", LIST, NULL, NULL);
    assert_string_equal(reply_text(&r, "items.0.key"), "budget:web-1");
    assert_int_equal(reply_int(&r, "items.0.raise.run_tokens"), 300);
    assert_true(reply_is_null(&r, "items.0.raise.usd"));
    reply_finish(&r);
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/budget", "{\"run_tokens\":300}");
    expect_keys(&o, "");
}

TEST(a_used_up_window_is_one_item_and_its_tasks_are_none) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, CONFIG "budget: 100\n");
    for (int i = 0; i < 3; i++)
        ops_add(&o, "\"project\":\"web\",");
    some_turns(&o);
    fake_run_starts(1);
    ops_expect(&o, 200, "POST", "/v1/report", "{\"task\":\"web-1\",\"tokens\":150}");
    some_turns(&o);
    expect_keys(&o, "window");
    struct reply r = ops_ask(&o, "GET", LIST, NULL, NULL);
    assert_string_equal(reply_text(&r, "items.0.raise.setting"), "budget");
    assert_int_equal(reply_int(&r, "items.0.raise.value"), 300);
    reply_finish(&r);
    ops_expect(&o, 200, "POST", "/v1/config", "{\"set\":{\"budget\":1000}}");
    some_turns(&o);
    expect_keys(&o, "");
}

TEST(bad_requests_are_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_refused(&o, 400, LIST "?limit=0", NULL, "parameter 'limit' must be from 1 to 200");
    ops_expect(&o, 400, "GET", LIST "?limit=201", NULL);
    ops_expect(&o, 400, "POST", DISMISS, "{\"tasks\":[\"web-1\"],\"dismissed\":\"no\"}");
    ops_expect(&o, 404, "POST", DISMISS, "{\"tasks\":[\"web-9\"]}");
    ops_expect(&o, 400, "POST", DISMISS, "{\"tasks\":[]}");
}
