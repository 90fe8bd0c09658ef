/* test_take.c: requests that take a task over and give it back; who may, and bad input. */
#include <string.h>

#include "engine/follow_ups.h"
#include "engine/takeover.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

#define TAKE "{\"terminal\":\"/run/take-1\",\"term\":\"xterm\",\"shell\":\"/bin/sh\"}"

static void turns(struct ops *o) {
    for (int i = 0; i < 4; i++)
        ops_turn(o);
}

TEST(a_held_task_is_queued_for_the_person) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    task_id task = ops_add(&o, "\"project\":\"web\",\"hold\":true,");
    struct reply r = ops_ask(&o, "POST", "/v1/tasks/1/take", TAKE, NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "state"), "ready");
    reply_finish(&r);
    assert_string_equal(engine_taken(o.engine, task)->terminal, "/run/take-1");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/1/take", TAKE, NULL), 409, "taken over");
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/1", NULL, NULL), 200, "\"taken\":{");
}

TEST(it_is_held_afterwards_and_given_back_or_approved) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = ops_add(&o, "\"project\":\"web\",");
    turns(&o);
    fake_run_starts(task);
    turns(&o);
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/1/take", TAKE, NULL), 200, NULL);
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/1/take", TAKE, NULL), 409, "taken over");
    ops_expect(&o, 409, "POST", "/v1/tasks/release", "{\"tasks\":[\"1\"]}");
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"1\"]}"); /* is stronger */
}

TEST(a_message_needs_a_task_that_is_taken_over) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"project\":\"web\",\"hold\":true,");
    reply_expect(
        ops_ask(&o, "POST", "/v1/tasks/release", "{\"tasks\":[\"1\"],\"message\":\"go on\"}", NULL),
        400, "can only be used with tasks that are taken over");
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/1/take", TAKE, NULL), 200, NULL);
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/hold", "{\"tasks\":[\"1\"]}", NULL), 200, NULL);
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/1", NULL, NULL), 200, "\"hold\":\"taken\"");
    reply_expect(
        ops_ask(&o, "POST", "/v1/tasks/release", "{\"tasks\":[\"1\"],\"message\":\"go on\"}", NULL),
        400, "is a command");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/reject", "{\"tasks\":[\"1\"]}", NULL), 409,
                 "it is taken over");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/approve", "{\"tasks\":[\"1\"]}", NULL), 200, NULL);
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/1", NULL, NULL), 200, "\"reason\":\"taken\"");
    assert_null(engine_taken(o.engine, 1));
}

TEST(a_run_takes_nothing_over) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = ops_add(&o, "\"project\":\"web\",");
    turns(&o);
    fake_run_starts(task);
    turns(&o);
    const char *token = fake_run_find(task)->token;
    reply_expect(ops_ask_as(&o, token, "POST", "/v1/tasks/1/take", TAKE), 403, NULL);
}

TEST(bad_input_is_refused_and_nothing_is_taken) {
    static const struct {
        const char *body, *message;
    } rows[] = {
        { "{}", "terminal" },
        { "{\"terminal\":\"take\"}", "absolute paths" },
        { "{\"terminal\":\"/run/take\",\"shell\":\"sh\"}", "absolute paths" },
        { "{\"terminal\":\"/run/take\",\"term\":\"\"}", "term" },
    };
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"project\":\"web\",\"hold\":true,");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        reply_expect(ops_ask(&o, "POST", "/v1/tasks/1/take", rows[i].body, NULL), 400,
                     rows[i].message);
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/9/take", TAKE, NULL), 404, NULL);
    assert_null(engine_taken(o.engine, 1));
    (void)ops_add(&o, "\"project\":\"web\",\"draft\":true,");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/2/take", TAKE, NULL), 409, "is draft");
}
