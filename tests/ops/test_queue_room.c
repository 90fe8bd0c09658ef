/* test_queue_room.c: how many tasks the queue accepts, and what happens to the others. */

#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "harness/test.h"

static struct reply add(struct ops *o, const char *body) {
    return ops_ask(o, "POST", "/v1/tasks", body, NULL);
}

TEST(f068_a_long_queue_comes_with_a_warning_and_depths) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "queue: {soft: 3, hard: 6}\n");
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    for (int i = 0; i < 2; i++)
        (void)ops_add(&o, "\"kind\":\"plan\",");
    _cleanup_(reply_finish) struct reply quiet =
        add(&o, "{\"tasks\":[{\"argv\":[\"a\"],\"kind\":\"implement\"}]}");
    assert_true(reply_is_null(&quiet, "warning")); /* f156: the limit itself is not exceeded */
    _cleanup_(reply_finish) struct reply r = add(&o, "{\"tasks\":[{\"argv\":[\"a\"]}]}");
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "warning"),
                        "The queue is long (4 wait, queue.soft is 3; plan 2; implement "
                        "1)");
    assert_int_equal(reply_int(&r, "depths.plan"), 2);
    assert_int_equal(reply_int(&r, "depths.implement"), 1);
}

TEST(f069_a_full_queue_defers_and_stores_nothing) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "queue: {soft: 2, hard: 4}\n");
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    for (int i = 0; i < 3; i++)
        (void)ops_add(&o, "\"kind\":\"plan\",");
    struct ops_trace before, after;
    ops_trace(&o, &before);
    _cleanup_(reply_finish) struct reply r = /* one fits, two do not */
        add(&o, "{\"tasks\":[{\"argv\":[\"a\"]},{\"argv\":[\"b\"]}]}");
    assert_int_equal(r.status, 429);
    assert_string_equal(reply_text(&r, "error.code"), "deferred");
    assert_string_equal(
        reply_text(&r, "error.message"),
        "deferred: 3 tasks wait already, and the queue takes 4 (queue.hard); nothing "
        "was stored; try again later, or raise the limits");
    assert_int_equal(reply_int(&r, "depths.plan"), 3);
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
    /* only waiting tasks count */
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"argv\":[\"a\"],\"draft\":true},{\"argv\":[\"b\"],\"hold\":true},"
               "{\"argv\":[\"c\"]}]}");
    ops_expect(&o, 429, "POST", "/v1/tasks", "{\"tasks\":[{\"argv\":[\"c\"]}]}");
}

TEST(f069_independent_tasks_fill_the_room_and_the_rest_is_deferred) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "queue: {soft: 100, hard: 4}\n");
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    (void)ops_add(&o, "\"kind\":\"plan\",");
    static const char tasks[] =
        "\"tasks\":[{\"argv\":[\"a\"],\"external_id\":\"a\",\"depends_on\":[\"b\"]},"
        "{\"argv\":[\"b\"],\"name\":\"b\",\"external_id\":\"b\"},"
        "{\"argv\":[\"c\"],\"external_id\":\"c\",\"depends_on\":[\"d\"]},"
        "{\"argv\":[\"d\"],\"name\":\"d\",\"external_id\":\"d\"},"
        "{\"argv\":[\"e\"],\"external_id\":\"e\",\"draft\":true},"
        "{\"argv\":[\"f\"],\"external_id\":\"f\"}]";
    static const char *const first[] = { "queued", "queued", "deferred",
                                         "queued", "draft",  "deferred" };
    char body[1024], path[32];
    struct ops_trace before, after;
    ops_trace(&o, &before);
    (void)snprintf(body, sizeof(body), "{%s,\"partial\":true,\"dry_run\":true}", tasks);
    _cleanup_(reply_finish) struct reply dry = add(&o, body);
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
    (void)snprintf(body, sizeof(body), "{%s,\"partial\":true}", tasks);
    _cleanup_(reply_finish) struct reply r = add(&o, body);
    assert_int_equal(r.status, 200);
    for (int i = 0; i < 6; i++) {
        (void)snprintf(path, sizeof(path), "tasks.%d.result", i);
        assert_string_equal(reply_text(&r, path), first[i]);
        assert_string_equal(reply_text(&dry, path),
                            strcmp(first[i], "deferred") == 0 ? "deferred" : "new");
        (void)snprintf(path, sizeof(path), "tasks.%d.id", i);
        assert_int_equal(reply_is_null(&r, path), strcmp(first[i], "deferred") == 0);
        assert_true(reply_is_null(&dry, path));
    }
    assert_int_equal(reply_int(&r, "deferred"), 2);
    assert_int_equal(reply_int(&dry, "deferred"), 2);
    assert_string_equal(reply_text(&r, "warning"),
                        "2 deferred: the queue takes 4 (queue.hard), and 1 waited already; repeat "
                        "it later to continue");
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"t-1\"]}");
    _cleanup_(reply_finish) struct reply again = add(&o, body);
    assert_string_equal(reply_text(&again, "tasks.0.result"), "already");
    assert_string_equal(reply_text(&again, "tasks.2.result"), "queued");
    assert_string_equal(reply_text(&again, "tasks.5.result"), "deferred");
}

TEST(a_mistake_in_a_deferred_task_refuses_all) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "queue: {soft: 100, hard: 1}\n");
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    ops_refused(
        &o, 400, "/v1/tasks",
        "{\"partial\":true,\"tasks\":[{\"argv\":[\"a\"]},"
        "{\"argv\":[\"b\"],\"depends_on\":[\"no such task\"]}]}",
        "task 2: it depends on 'no such task', which is neither an id nor a name of this batch");
}

TEST(a_duplicate_of_a_deferred_task_is_deferred) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "queue: {soft: 100, hard: 1}\n");
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    _cleanup_(reply_finish) struct reply r =
        add(&o, "{\"partial\":true,\"tasks\":["
                "{\"argv\":[\"a\"],\"external_id\":\"x\",\"depends_on\":[\"b\"]},"
                "{\"argv\":[\"b\"],\"name\":\"b\",\"external_id\":\"y\"},"
                "{\"argv\":[\"c\"],\"external_id\":\"x\"},"
                "{\"argv\":[\"d\"],\"external_id\":\"y\"}]}");
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "tasks.0.result"), "deferred");
    assert_string_equal(reply_text(&r, "tasks.1.id"), "t-1");
    assert_string_equal(reply_text(&r, "tasks.2.result"), "deferred");
    assert_string_equal(reply_text(&r, "tasks.3.result"), "already");
    assert_string_equal(reply_text(&r, "tasks.3.id"), "t-1");
    assert_int_equal(reply_int(&r, "deferred"), 2);
}

TEST(a_key_gives_the_same_answer_of_a_deferral_again) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "queue: {soft: 100, hard: 1}\n");
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    static const char body[] = "{\"partial\":true,\"tasks\":[{\"argv\":[\"a\"]},"
                               "{\"argv\":[\"b\"]},{\"argv\":[\"c\"]}]}";
    static const char dry[] = "{\"dry_run\":true,\"tasks\":[{\"argv\":[\"a\"],\"draft\":true}]}";
    for (int i = 0; i < 2; i++) {
        _cleanup_(reply_finish) struct reply r = ops_ask(&o, "POST", "/v1/tasks", body, "one");
        assert_int_equal(r.status, 200);
        assert_string_equal(reply_text(&r, "tasks.0.id"), "t-1");
        assert_string_equal(reply_text(&r, "tasks.1.result"), "deferred");
        assert_string_equal(reply_text(&r, "tasks.2.result"), "deferred");
        assert_true(reply_is_null(&r, "tasks.2.id"));
        assert_int_equal(reply_int(&r, "deferred"), 2);
        _cleanup_(reply_finish) struct reply s = ops_ask(&o, "POST", "/v1/tasks", dry, "two");
        assert_string_equal(reply_text(&s, "tasks.0.result"), "new");
        assert_true(reply_is_null(&s, "tasks.0.id"));
    }
}
