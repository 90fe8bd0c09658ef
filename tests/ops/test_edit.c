/* test_edit.c: edits of tasks that do not run; versions; who may edit what. */

#include <stdio.h>
#include <string.h>

#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

static void some_turns(struct ops *o) {
    for (int i = 0; i < 4; i++)
        ops_turn(o);
}

/* Task web-1 waits, with a prompt. */
static void begin(struct ops *o, enum ops_store store) {
    ops_open(o, store, NULL);
    ops_expect(o, 200, "POST", "/v1/pause", "{}");
    ops_expect(
        o, 200, "POST", "/v1/tasks",
        "{\"tasks\":[{\"project\":\"web\",\"agent\":\"claude\",\"prompt\":\"first\",\"meta\":{"
        "\"a\":1},\"external_id\":\"X-1\"}]}");
}

static void shows(struct ops *o, const char *has) {
    reply_expect(ops_ask(o, "GET", "/v1/tasks/web-1", NULL, NULL), 200, has);
}

TEST(an_edit_replaces_what_is_given_and_nothing_else) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o, OPS_SQLITE);
    shows(&o, "\"editable\":true,\"continuable\":false,\"version\":0");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/web-1/edit",
                         "{\"prompt\":\"second\\nline\",\"timeout_s\":\"30m\",\"priority\":5}",
                         NULL),
                 200, "\"state\":\"ready\",\"version\":1,\"already\":false");
    shows(&o, "\"title\":\"second\"");
    shows(&o, "\"prompt\":\"second\\nline\"");
    shows(&o, "\"timeout_s\":1800");
    shows(&o, "\"priority\":5");
    shows(&o, "\"meta\":{\"a\":1}");
    reply_expect(ops_ask(&o, "GET", "/v1/events?task=web-1", NULL, NULL), 200,
                 "\"kind\":\"task.edited\"");
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/edit", "{\"title\":\"named\"}");
    shows(&o, "\"title\":\"named\"");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/X-1/edit", "{\"title\":\"named\"}", NULL), 200,
                 "\"version\":2,\"already\":true");
    ops_restart(&o);
    shows(&o, "\"prompt\":\"second\\nline\"");
    shows(&o, "\"version\":2");
}

TEST(an_edit_of_another_version_is_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o, OPS_MEMORY);
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/edit", "{\"prompt\":\"mine\",\"version\":0}");
    ops_refused(&o, 409, "/v1/tasks/web-1/edit", "{\"prompt\":\"yours\",\"version\":0}",
                "task 'web-1' was edited or started since version 0 was read: nothing was changed; "
                "read it again (version 1)");
    shows(&o, "\"prompt\":\"mine\"");
}

/* Both are in one turn, so the store still has the first version when the second is made. */
TEST(two_edits_at_once_do_not_lose_one_of_them) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o, OPS_SQLITE);
    struct reply a = { 0 }, b = { 0 }, c = { 0 };
    ops_begin(&o, "/v1/tasks/web-1/edit", "{\"prompt\":\"new\",\"version\":0}", NULL, &a);
    ops_begin(&o, "/v1/tasks/web-1/edit", "{\"prompt\":\"stale\",\"version\":0}", NULL, &b);
    ops_begin(&o, "/v1/tasks/web-1/edit", "{\"title\":\"titled\"}", NULL, &c);
    ops_wait(&o, &a);
    ops_wait(&o, &b);
    ops_wait(&o, &c);
    assert_int_equal(a.status, 200);
    assert_int_equal(b.status, 409);
    assert_int_equal(c.status, 200);
    reply_finish(&a);
    reply_finish(&b);
    reply_finish(&c);
    shows(&o, "\"prompt\":\"new\"");
    shows(&o, "\"title\":\"titled\"");
}

TEST(what_runs_or_has_ended_is_not_edited) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"project\":\"web\",");
    some_turns(&o);
    fake_run_starts(1);
    some_turns(&o);
    ops_refused(&o, 409, "/v1/tasks/web-1/edit", "{\"title\":\"x\"}",
                "task 'web-1' is running: only what waits, is held or is a draft can be edited");
    reply_expect(ops_ask_as(&o, fake_run_find(1)->token, "POST", "/v1/tasks/web-1/edit",
                            "{\"title\":\"x\"}"),
                 403, NULL);
    (void)ops_add(&o, "\"project\":\"web\",\"hold\":true,\"parent\":\"web-1\",");
    reply_expect(ops_ask_as(&o, fake_run_find(1)->token, "POST", "/v1/tasks/web-2/edit",
                            "{\"argv\":[\"id\"]}"),
                 403, NULL); /* nor a child */
    shows(&o, "\"editable\":false");
    fake_run_ends(1, 0);
    some_turns(&o);
    ops_refused(&o, 409, "/v1/tasks/web-1/edit", "{\"title\":\"x\"}",
                "task 'web-1' is done: 'sluice again -m TEXT web-1' continues it with a message");
}

TEST(a_task_that_was_started_meanwhile_has_another_version) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "retry: {failed: {delay_s: 3600}}\n");
    (void)ops_add(&o, "\"project\":\"web\",");
    some_turns(&o);
    fake_run_starts(1);
    fake_run_ends(1, 1);
    some_turns(&o);
    shows(&o, "\"hold\":\"backoff\"");
    ops_refused(&o, 409, "/v1/tasks/web-1/edit", "{\"argv\":[\"false\"],\"version\":0}",
                "task 'web-1' was edited or started since version 0 was read: nothing was changed; "
                "read it again (version 1)");
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/edit", "{\"argv\":[\"false\"],\"version\":1}");
}

TEST(bad_values_change_nothing) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o, OPS_MEMORY);
    ops_refused(&o, 400, "/v1/tasks/web-1/edit", "{}",
                "give at least one of 'prompt', 'argv', 'title', 'priority', 'timeout_s', "
                "'idle_timeout_s', 'checks'");
    ops_refused(&o, 400, "/v1/tasks/web-1/edit", "{\"argv\":[\"true\"]}",
                "task 'web-1' has a 'prompt' and no 'argv'");
    ops_expect(&o, 400, "POST", "/v1/tasks/web-1/edit", "{\"timeout_s\":\"soon\"}");
    ops_expect(&o, 400, "POST", "/v1/tasks/web-1/edit", "{\"prompt\":\"\"}");
    ops_expect(&o, 404, "POST", "/v1/tasks/web-9/edit", "{\"title\":\"x\"}");
    reply_expect(ops_ask_by(&o, ACCESS_READ, "/v1/tasks/web-1/edit", "{\"title\":\"x\"}", NULL),
                 403, NULL);
    shows(&o, "\"version\":0");
}
