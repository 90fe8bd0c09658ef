/* notify.test: the operation waits for whoever tells people, and says what he says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "engine/notifier.h"
#include "fixture.h"

/* A notifier that answers when the test says so. */
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

static void open_it(struct ops *o) {
    ops_open(o, OPS_MEMORY, NULL);
    notifier.tested = NULL;
    notifier.at_once = false;
    engine_set_notifier(o->engine, begin_test, NULL);
}

static void the_answer_comes_with_the_last_way(void **state) {
    (void)state;
    _cleanup_(ops_close) struct ops o = { 0 };
    struct reply r = { 0 };
    open_it(&o);
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

static void it_may_come_at_once(void **state) {
    (void)state;
    _cleanup_(ops_close) struct ops o = { 0 };
    open_it(&o);
    notifier.at_once = true;
    struct reply r = ops_ask(&o, "POST", "/v1/notify/test", "{}", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "ways"), 0);
    reply_finish(&r);
}

static void a_second_test_meanwhile_is_refused(void **state) {
    (void)state;
    _cleanup_(ops_close) struct ops o = { 0 };
    struct reply r = { 0 };
    open_it(&o);
    ops_begin(&o, "/v1/notify/test", "{}", NULL, &r);
    ops_turn(&o);
    ops_refused(&o, 409, "/v1/notify/test", "{}", "another test is on its way: wait for its end");
    answer("[]");
    ops_turn(&o);
    assert_int_equal(r.status, 200);
    reply_finish(&r);
}

static void a_daemon_that_ends_says_so(void **state) {
    (void)state;
    _cleanup_(ops_close) struct ops o = { 0 };
    struct reply r = { 0 };
    open_it(&o);
    ops_begin(&o, "/v1/notify/test", "{}", NULL, &r);
    ops_turn(&o);
    answer(NULL);
    ops_turn(&o);
    assert_int_equal(r.status, 503);
    reply_finish(&r);
}

static void without_a_notifier_it_is_not_supported(void **state) {
    (void)state;
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_refused(&o, 501, "/v1/notify/test", "{}", "this daemon tells nobody of anything");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_comes_with_the_last_way),
        cmocka_unit_test(it_may_come_at_once),
        cmocka_unit_test(a_second_test_meanwhile_is_refused),
        cmocka_unit_test(a_daemon_that_ends_says_so),
        cmocka_unit_test(without_a_notifier_it_is_not_supported),
    };
    return cmocka_run_group_tests_name("ops_notify", tests, NULL, NULL);
}
