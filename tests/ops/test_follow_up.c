/* test_follow_up.c: task.again with a message. */

#include <stdio.h>
#include <string.h>

#include "engine/follow_ups.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

#define AGAIN "/v1/tasks/again"

static void some_turns(struct ops *o) {
    for (int i = 0; i < 4; i++)
        ops_turn(o);
}

/* Task web-1, with a prompt, has ended. */
static void begin(struct ops *o, int exit_code) {
    ops_open(o, OPS_SQLITE, "retry: {failed: {max: 0}}\n");
    ops_expect(o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"project\":\"web\",\"agent\":\"claude\",\"prompt\":\"first\"}]}");
    some_turns(o);
    fake_run_starts(1);
    fake_run_ends(1, exit_code);
    some_turns(o);
}

static struct task_view seen(struct ops *o) {
    struct task_view view = { 0 };
    assert_true(core_task(engine_core(o->engine), 1, &view));
    return view;
}

TEST(a_message_begins_another_iteration_of_what_is_done) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o, 0);
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/web-1", NULL, NULL), 200,
                 "\"follow_up\":null,\"best_of\":null,\"candidate_of\":null,"
                 "\"editable\":false,\"continuable\":true");
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    reply_expect(
        ops_ask(&o, "POST", AGAIN, "{\"tasks\":[\"web-1\"],\"message\":\"go on\"}", "again-key-1"),
        200, "\"state\":\"ready\"");
    assert_int_equal(seen(&o).iteration, 2);
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/web-1", NULL, NULL), 200,
                 "\"follow_up\":{\"message\":\"go on\"");
    struct reply r =
        ops_ask(&o, "POST", AGAIN, "{\"tasks\":[\"web-1\"],\"message\":\"go on\"}", "again-key-1");
    assert_int_equal(r.status, 200); /* the same request, sent again */
    assert_true(r.replayed);
    reply_finish(&r);
    ops_restart(&o);
    assert_string_equal(engine_follow_up(o.engine, 1)->text, "go on");
    ops_expect(&o, 200, "POST", "/v1/resume", "{}");
    some_turns(&o);
    assert_int_equal(engine_follow_up(o.engine, 1)->attempt, 2);
    fake_run_starts(1);
    fake_run_ends(1, 0);
    some_turns(&o);
    assert_true(engine_follow_up(o.engine, 1)->is_used);
}

TEST(a_message_retries_what_has_failed) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o, 1);
    assert_int_equal(seen(&o).state, TASK_FAILED);
    ops_refused(&o, 409, AGAIN, "{\"tasks\":[\"web-1\"]}",
                "task 'web-1' is failed: only what is done can be done again");
    ops_expect(&o, 200, "POST", AGAIN, "{\"tasks\":[\"web-1\"],\"message\":\"go on\"}");
    some_turns(&o);
    assert_int_equal(seen(&o).attempt, 2);
    assert_int_equal(seen(&o).iteration, 1);
    ops_refused(
        &o, 409, AGAIN, "{\"tasks\":[\"web-1\"],\"message\":\"more\"}",
        "task 'web-1' is starting: only a task that is done, failed or canceled can be continued "
        "with a message; use 'sluice edit' to change the prompt of a waiting task");
}

TEST(bad_messages_change_nothing) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o, 0);
    (void)ops_add(&o, "\"project\":\"web\",\"state\":\"done\",");
    ops_refused(
        &o, 400, AGAIN, "{\"tasks\":[\"web-2\"],\"message\":\"go on\"}",
        "task 'web-2' is a command: it has no prompt that a message could follow; 'sluice again "
        "web-2' runs it again without one");
    ops_refused(&o, 400, AGAIN, "{\"tasks\":[\"web-1\",\"web-2\"],\"message\":\"go on\"}",
                "'message' can only be used with one task, got 2");
    ops_expect(&o, 400, "POST", AGAIN, "{\"tasks\":[\"web-1\"],\"message\":\"\"}");
    ops_expect(&o, 404, "POST", AGAIN, "{\"tasks\":[\"web-9\"],\"message\":\"go on\"}");
    assert_int_equal(seen(&o).state, TASK_DONE);
    assert_null(engine_follow_up(o.engine, 1));
}
