/* test_external_ids.c: a task with an external id is found by it wherever an id is accepted. */
#include <stdlib.h>
#include <string.h>

#include "engine/external_ids.h"
#include "fixture.h"
#include "harness/test.h"

/* web-1 is bd-9, web-2 has none, web-3 is "card 7/a.md". */
static void begin(struct ops *o) {
    ops_open(o, OPS_SQLITE, NULL);
    ops_expect(o, 200, "POST", "/v1/tasks",
               "{\"draft\":true,\"tasks\":["
               "{\"argv\":[\"a\"],\"project\":\"web\",\"external_id\":\"bd-9\"},"
               "{\"argv\":[\"b\"],\"project\":\"web\"},"
               "{\"argv\":[\"c\"],\"project\":\"web\",\"external_id\":\"card 7/a.md\"}]}");
}

static void expect_id(struct ops *o, const char *path, const char *id) {
    _cleanup_(reply_finish) struct reply r = ops_ask(o, "GET", path, NULL, NULL);
    if (r.status != 200)
        fail_msg("%s: %d %s", path, r.status, r.text);
    assert_string_equal(reply_text(&r, "id"), id);
}

TEST(every_route_takes_one) {
    static const char *const gets[] = {
        "/v1/tasks/bd-9/why",
        "/v1/tasks/bd-9/runs",
        "/v1/tasks?parent=bd-9",
        "/v1/events?task=bd-9",
        "/v1/graph?root=bd-9",
        "/v1/tasks/bd-9/messages",
        "/v1/tasks/card%207%2Fa.md/why",
    };
    static const char *const posts[] = { "sling",  "hold",  "release", "clear", "priority",
                                         "cancel", "retry", "cancel",  "delete" };
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    ops_expect(&o, 200, "POST", "/v1/pause", NULL);
    expect_id(&o, "/v1/tasks/bd-9", "web-1");
    expect_id(&o, "/v1/tasks/card%207%2Fa.md", "web-3");
    for (size_t i = 0; i < ARRAY_SIZE(gets); i++)
        ops_expect(&o, 200, "GET", gets[i], NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks/depends",
               "{\"task\":\"card 7/a.md\",\"depends_on\":[\"bd-9\"]}");
    task_id on = 0;
    assert_int_equal(core_task_depends(engine_core(o.engine), 3, &on, 1), 1);
    assert_int_equal(on, 1);
    for (size_t i = 0; i < ARRAY_SIZE(posts); i++) {
        char path[64], body[96];
        (void)snprintf(path, sizeof(path), "/v1/tasks/%s", posts[i]);
        (void)snprintf(body, sizeof(body), "{\"tasks\":[\"bd-9\"]%s}",
                       strcmp(posts[i], "priority") == 0 ? ",\"priority\":7" : "");
        ops_expect(&o, 200, "POST", path, body);
    }
    ops_expect(&o, 404, "GET", "/v1/tasks/bd-9", NULL); /* it was deleted */
    assert_null(engine_external_id(o.engine, 1));
}

TEST(lists_show_it_and_find_it) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    _cleanup_(reply_finish) struct reply all = ops_ask(&o, "GET", "/v1/tasks", NULL, NULL);
    assert_string_equal(reply_text(&all, "items.0.external_id"), "card 7/a.md");
    assert_string_equal(reply_text(&all, "items.2.external_id"), "bd-9");
    assert_true(reply_is_null(&all, "items.1.external_id"));
    _cleanup_(reply_finish) struct reply one =
        ops_ask(&o, "GET", "/v1/tasks?external_id=bd-9", NULL, NULL);
    assert_string_equal(reply_text(&one, "items.0.id"), "web-1");
    assert_int_equal(reply_count(&one, "items"), 1);
    _cleanup_(reply_finish) struct reply none =
        ops_ask(&o, "GET", "/v1/tasks?external_id=bd-8", NULL, NULL);
    assert_int_equal(none.status, 200);
    assert_int_equal(reply_count(&none, "items"), 0);
    _cleanup_(reply_finish) struct reply text =
        ops_ask(&o, "GET", "/v1/tasks?text=A.MD", NULL, NULL);
    assert_string_equal(reply_text(&text, "items.0.id"), "web-3");
}

TEST(needs_and_parents_take_one) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"argv\":[\"d\"],\"project\":\"web\",\"parent\":\"bd-9\","
               "\"depends_on\":[\"card 7/a.md\"]},"
               "{\"argv\":[\"e\"],\"project\":\"web\",\"depends_on\":\"later\"},"
               "{\"argv\":[\"f\"],\"project\":\"web\",\"external_id\":\"later\"}]}");
    struct task_view t;
    task_id on = 0;
    assert_true(core_task(engine_core(o.engine), 4, &t) && t.parent == 1);
    assert_int_equal(core_task_depends(engine_core(o.engine), 4, &on, 1), 1);
    assert_int_equal(on, 3);
    assert_int_equal(core_task_depends(engine_core(o.engine), 5, &on, 1), 1);
    assert_int_equal(on, 6); /* in the same batch */
}

TEST(an_ambiguous_external_id_is_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    /* the external id of web-4 is web-2; web-5 and api-6 both have "x" */
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"draft\":true,\"tasks\":["
               "{\"argv\":[\"a\"],\"project\":\"web\",\"external_id\":\"web-2\"},"
               "{\"argv\":[\"a\"],\"project\":\"web\",\"external_id\":\"x\"},"
               "{\"argv\":[\"a\"],\"project\":\"api\",\"external_id\":\"x\"}]}");
    ops_refused(&o, 409, "/v1/tasks/sling", "{\"tasks\":[\"web-2\"]}",
                "'web-2' is the id of task #2 and the external id of task 'web-4': use '#2' or "
                "'web-4'");
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/web-2/why", NULL, NULL), 409, "\"ambiguous\"");
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/x", NULL, NULL), 409, "'web-5'");
    ops_refused(&o, 409, "/v1/tasks", "{\"tasks\":[{\"argv\":[\"a\"],\"depends_on\":\"web-2\"}]}",
                "'depends_on': 'web-2' is the id of task #2 and the external id of task 'web-4': "
                "use '#2' or 'web-4'");
    expect_id(&o, "/v1/tasks/%232", "web-2");
    expect_id(&o, "/v1/tasks/2", "web-2");
    expect_id(&o, "/v1/tasks/web-4", "web-4");
    /* when one of the two is deleted, the id is unique again */
    ops_expect(&o, 200, "POST", "/v1/tasks/delete", "{\"tasks\":[\"#2\"]}");
    expect_id(&o, "/v1/tasks/web-2", "web-4");
}

TEST(a_task_whose_external_id_is_its_id_is_one_task) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"argv\":[\"a\"],\"project\":\"web\",\"external_id\":\"web-4\"}]}");
    expect_id(&o, "/v1/tasks/web-4", "web-4");
}

TEST(they_are_found_after_a_restart) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    ops_restart(&o);
    expect_id(&o, "/v1/tasks/bd-9", "web-1");
    _cleanup_(reply_finish) struct reply again = ops_ask(
        &o, "POST", "/v1/tasks",
        "{\"tasks\":[{\"argv\":[\"a\"],\"project\":\"web\",\"external_id\":\"bd-9\"}]}", NULL);
    assert_true(reply_bool(&again, "tasks.0.already"));
    assert_string_equal(reply_text(&again, "tasks.0.id"), "web-1");
}
