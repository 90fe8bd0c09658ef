/* test_notify.c: notify.test waits for the notifier and returns its results. */

#include <errno.h>

#include "engine/engine.h"
#include "fixture.h"
#include "harness/test.h"

/* A notifier that answers when the test calls answer(). */
static struct {
    engine_notify_tested tested;
    void *ctx;
    bool at_once;
} notifier;

static int begin_test(void *ctx, engine_notify_tested tested, void *tested_ctx, struct error *err) {
    (void)ctx;
    if (notifier.tested)
        return error_set(err, -EBUSY, "another test is on its way: wait for its end");
    if (notifier.at_once) {
        tested(tested_ctx, "[]");
        return 0;
    }
    notifier.tested = tested;
    notifier.ctx = tested_ctx;
    return 0;
}

static void answer(const char *json) {
    engine_notify_tested tested = notifier.tested;
    notifier.tested = NULL;
    tested(notifier.ctx, json);
}

static void open_with_notifier(struct ops *o) {
    ops_open(o, OPS_MEMORY, NULL);
    notifier.tested = NULL;
    notifier.at_once = false;
    engine_set_notifier(o->engine, begin_test, NULL);
}

TEST(the_answer_comes_with_the_last_channel) {
    _cleanup_(ops_close) struct ops o = { 0 };
    struct reply r = { 0 };
    open_with_notifier(&o);
    ops_begin(&o, "/v1/notify/test", "{}", NULL, &r);
    ops_turn(&o);
    assert_false(r.answered);
    answer("[{\"way\":\"notify.command\",\"ok\":false,\"text\":\"no\"}]");
    ops_turn(&o);
    assert_true(r.answered);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "ways.0.way"), "notify.command");
    assert_false(reply_bool(&r, "ways.0.ok"));
    reply_finish(&r);
}

TEST(it_may_come_at_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with_notifier(&o);
    notifier.at_once = true;
    struct reply r = ops_ask(&o, "POST", "/v1/notify/test", "{}", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "ways"), 0);
    reply_finish(&r);
}

TEST(a_second_test_meanwhile_is_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    struct reply r = { 0 };
    open_with_notifier(&o);
    ops_begin(&o, "/v1/notify/test", "{}", NULL, &r);
    ops_turn(&o);
    ops_refused(&o, 409, "/v1/notify/test", "{}", "another test is on its way: wait for its end");
    answer("[]");
    ops_turn(&o);
    assert_int_equal(r.status, 200);
    reply_finish(&r);
}

TEST(shutdown_answers_a_pending_test) {
    _cleanup_(ops_close) struct ops o = { 0 };
    struct reply r = { 0 };
    open_with_notifier(&o);
    ops_begin(&o, "/v1/notify/test", "{}", NULL, &r);
    ops_turn(&o);
    answer(NULL);
    ops_turn(&o);
    assert_int_equal(r.status, 503);
    reply_finish(&r);
}

TEST(without_a_notifier_it_is_not_supported) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_refused(&o, 501, "/v1/notify/test", "{}", "this daemon sends no notifications");
}
