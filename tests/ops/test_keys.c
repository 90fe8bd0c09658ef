/* test_keys.c: idempotency keys: a request that is sent twice is applied once. */

#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "harness/test.h"

#define KEY   "a-key-of-mine"
#define ONE   "{\"tasks\":[{\"argv\":[\"true\"]}]}"
#define OTHER "{\"tasks\":[{\"argv\":[\"false\"]}]}"

static size_t tasks_of(struct ops *o) {
    struct core_counts counts;
    size_t sum = 0;
    core_count(engine_core(o->engine), &counts);
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        sum += counts.by_state[s];
    return sum;
}

TEST(the_same_key_twice_adds_one_task) {
    for (int store = OPS_MEMORY; store <= OPS_SQLITE; store++) {
        _cleanup_(ops_close) struct ops o = { 0 };
        ops_open(&o, (enum ops_store)store, NULL);
        _cleanup_(reply_finish) struct reply a = ops_ask(&o, "POST", "/v1/tasks", ONE, KEY);
        _cleanup_(reply_finish) struct reply b = ops_ask(&o, "POST", "/v1/tasks", ONE, KEY);
        assert_int_equal(a.status, 200);
        assert_int_equal(b.status, 200);
        assert_false(a.replayed);
        assert_true(b.replayed);
        assert_string_equal(a.text, b.text);
        assert_int_equal(tasks_of(&o), 1);
    }
}

TEST(the_same_key_twice_in_one_turn_adds_one_task) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    struct reply a, b, c;
    ops_begin(&o, "/v1/tasks", ONE, KEY, &a);
    ops_begin(&o, "/v1/tasks", ONE, KEY, &b);
    ops_begin(&o, "/v1/tasks", ONE, KEY, &c);
    ops_turn(&o);
    assert_true(a.answered && b.answered && c.answered);
    assert_true(!a.replayed && b.replayed && c.replayed);
    assert_string_equal(a.text, b.text);
    assert_string_equal(a.text, c.text);
    assert_int_equal(tasks_of(&o), 1);
    reply_finish(&a);
    reply_finish(&b);
    reply_finish(&c);
}

TEST(a_key_with_other_parameters_is_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct reply a, b, c, d;
    ops_begin(&o, "/v1/tasks", ONE, KEY, &a);
    ops_begin(&o, "/v1/tasks", OTHER, KEY, &b); /* while the first is in flight */
    ops_turn(&o);
    c = ops_ask(&o, "POST", "/v1/tasks", OTHER, KEY); /* after it is stored */
    d = ops_ask(&o, "POST", "/v1/pause", "{}", KEY);  /* another operation */
    assert_int_equal(a.status, 200);
    assert_int_equal(b.status, 409);
    assert_int_equal(c.status, 409);
    assert_int_equal(d.status, 409);
    assert_string_equal(
        reply_text(&b, "error.message"),
        "the idempotency key 'a-key-of-mine' was used for another request; use a new "
        "one");
    assert_string_equal(reply_text(&c, "error.code"), "conflict");
    assert_int_equal(tasks_of(&o), 1);
    assert_false(engine_is_paused(o.engine));
    reply_finish(&a);
    reply_finish(&b);
    reply_finish(&c);
    reply_finish(&d);
}

TEST(members_in_another_order_are_the_same_request) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(reply_finish) struct reply a = ops_ask(
        &o, "POST", "/v1/tasks", "{\"force\":true,\"tasks\":[{\"argv\":[\"a\",\"b\"]}]}", KEY);
    _cleanup_(reply_finish) struct reply b = ops_ask(
        &o, "POST", "/v1/tasks", "{ \"tasks\" : [{\"argv\":[\"a\",\"b\"]}], \"force\":true}", KEY);
    _cleanup_(reply_finish) struct reply c = ops_ask(
        &o, "POST", "/v1/tasks", "{\"force\":true,\"tasks\":[{\"argv\":[\"b\",\"a\"]}]}", KEY);
    assert_false(a.replayed);
    assert_true(b.replayed);
    assert_string_equal(a.text, b.text);
    assert_int_equal(c.status, 409);
}

TEST(a_key_outlives_the_daemon) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    static const char body[] =
        "{\"group\":\"night\",\"tasks\":[{\"argv\":[\"a\"],\"name\":\"first\"},"
        "{\"argv\":[\"b\"]},{\"argv\":[\"c\"],\"draft\":true},"
        "{\"argv\":[\"d\"],\"hold\":true}]}";
    _cleanup_(reply_finish) struct reply a = ops_ask(&o, "POST", "/v1/tasks", body, KEY);
    assert_int_equal(a.status, 200);
    ops_restart(&o);
    _cleanup_(reply_finish) struct reply b = ops_ask(&o, "POST", "/v1/tasks", body, KEY);
    assert_int_equal(b.status, 200);
    assert_true(b.replayed);
    static const char *const same[] = { "tasks.0.id",     "tasks.0.name",   "tasks.1.id",
                                        "tasks.2.id",     "tasks.2.result", "tasks.3.id",
                                        "tasks.3.result", "tasks.0.result", "group" };
    for (size_t i = 0; i < ARRAY_SIZE(same); i++)
        assert_string_equal(reply_text(&a, same[i]), reply_text(&b, same[i]));
    assert_int_equal(tasks_of(&o), 4);
    _cleanup_(reply_finish) struct reply c = ops_ask(&o, "POST", "/v1/tasks", ONE, KEY);
    assert_int_equal(c.status, 409);
}

TEST(a_refusal_is_not_kept) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    static const char body[] = "{\"tasks\":[{\"argv\":[\"a\"],\"project\":\"later\"}]}";
    _cleanup_(reply_finish) struct reply a = ops_ask(&o, "POST", "/v1/tasks", body, KEY);
    assert_int_equal(a.status, 404);
    ops_expect(&o, 200, "POST", "/v1/projects", "{\"name\":\"later\"}");
    _cleanup_(reply_finish) struct reply b = ops_ask(&o, "POST", "/v1/tasks", body, KEY);
    assert_int_equal(b.status, 200);
    assert_false(b.replayed);
}

TEST(those_that_wait_for_a_refused_request_are_refused_too) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct reply a, b;
    ops_begin(&o, "/v1/tasks/cancel", "{\"tasks\":[\"7\"]}", KEY, &a);
    ops_begin(&o, "/v1/tasks/cancel", "{\"tasks\":[\"7\"]}", KEY, &b);
    ops_turn(&o);
    assert_int_equal(a.status, 404);
    assert_int_equal(b.status, 404);
    assert_false(b.replayed);
    reply_finish(&a);
    reply_finish(&b);
}

TEST(an_action_with_a_key_gives_the_same_answer_again) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    (void)ops_add(&o, "\"hold\":true,");
    static const char body[] = "{\"tasks\":[\"1\"]}";
    _cleanup_(reply_finish) struct reply a = ops_ask(&o, "POST", "/v1/tasks/cancel", body, KEY);
    ops_expect(&o, 200, "POST", "/v1/tasks/retry", body);
    ops_restart(&o);
    _cleanup_(reply_finish) struct reply b = ops_ask(&o, "POST", "/v1/tasks/cancel", body, KEY);
    assert_true(b.replayed);
    assert_string_equal(a.text, b.text);
    struct task_view t;
    assert_true(core_task(engine_core(o.engine), 1, &t));
    assert_int_not_equal(t.state, TASK_CANCELED); /* it was not canceled again */
}

TEST(a_request_of_a_disconnected_client_is_applied_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct reply a;
    ops_begin(&o, "/v1/tasks", ONE, KEY, &a);
    op_abandon(a.call);
    ops_turn(&o);
    assert_false(a.answered);
    _cleanup_(reply_finish) struct reply b = ops_ask(&o, "POST", "/v1/tasks", ONE, KEY);
    assert_true(b.replayed);
    assert_int_equal(tasks_of(&o), 1);
}

TEST(a_retry_is_answered_when_the_first_client_has_disconnected) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct reply a, b;
    ops_begin(&o, "/v1/tasks", ONE, KEY, &a);
    ops_begin(&o, "/v1/tasks", ONE, KEY, &b);
    op_abandon(a.call);
    ops_turn(&o);
    assert_true(b.answered && b.replayed);
    assert_int_equal(b.status, 200);
    assert_int_equal(tasks_of(&o), 1);
    reply_finish(&b);
}

TEST(keys_have_8_to_128_printable_characters) {
    char longest[130];
    memset(longest, 'k', sizeof(longest));
    longest[128] = '\0';
    assert_true(op_key_is_valid("12345678"));
    assert_true(op_key_is_valid(longest));
    assert_false(op_key_is_valid("1234567"));
    assert_false(op_key_is_valid("12345 678"));
    assert_false(op_key_is_valid("12345678\n"));
    assert_false(op_key_is_valid("12345678\xc3\xa4"));
    longest[128] = 'k';
    longest[129] = '\0';
    assert_false(op_key_is_valid(longest));
}

TEST(read_operations_ignore_a_key) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(reply_finish) struct reply a = ops_ask(&o, "GET", "/v1/tasks", NULL, KEY);
    (void)ops_add(&o, "");
    _cleanup_(reply_finish) struct reply b = ops_ask(&o, "GET", "/v1/tasks", NULL, KEY);
    assert_false(b.replayed);
    assert_int_equal(reply_count(&a, "items"), 0);
    assert_int_equal(reply_count(&b, "items"), 1);
}
