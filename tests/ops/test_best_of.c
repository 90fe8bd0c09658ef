/* test_best_of.c: requests for a task with candidates; who may have them, and bad input. */

#include <string.h>

#include "engine/best_of.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

#define CONFIG                                                                                     \
    "projects:\n  tree: {path: /, workspace_mode: worktree}\n"                                     \
    "agents:\n  one: {command: [sh, '{prompt}']}\n  two: {command: [sh, '{prompt}']}\n"

static task_id given(struct ops *o, const char *members) {
    char body[512];
    (void)snprintf(body, sizeof(body),
                   "{\"tasks\":[{\"project\":\"tree\",\"prompt\":\"go\",\"hold\":true,%s}]}",
                   members);
    struct reply r = ops_ask(o, "POST", "/v1/tasks", body, NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "tasks"), 1); /* the candidates are not in the answer */
    reply_finish(&r);
    return 1;
}

TEST(a_task_comes_with_its_candidates_in_one_commit) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, CONFIG);
    (void)given(&o, "\"best_of\":3,\"agents\":[\"one\",\"two\"],\"chooser\":\"two\"");
    ops_restart(&o);
    const struct engine_best_of *v = engine_best_of(o.engine, 1);
    assert_non_null(v);
    assert_int_equal(v->count, 3);
    assert_int_equal(v->candidates[2], 4);
    assert_int_equal(v->chooser, 5);
    struct reply r = ops_ask(&o, "GET", "/v1/tasks/3/candidates", NULL, NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "candidates"), 3);
    assert_string_equal(reply_text(&r, "candidates.0.agent"), "one");
    assert_string_equal(reply_text(&r, "candidates.1.agent"), "two");
    assert_string_equal(reply_text(&r, "candidates.2.agent"), "one"); /* in turn */
    assert_true(reply_is_null(&r, "picked"));
    reply_finish(&r);
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/1", NULL, NULL), 200, "\"hold\":\"candidates\"");
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/1/why", NULL, NULL), 200,
                 "its candidates work on it: ");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/1/pick", "{\"candidate\":\"2\"}", NULL), 409,
                 "only one that is done can be picked");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/1/pick", "{\"candidate\":\"5\"}", NULL), 400,
                 "is not a candidate of");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/1/edit", "{\"title\":\"x\"}", NULL), 409,
                 "has candidates");
}

TEST(the_same_external_id_brings_no_second_candidates) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, CONFIG);
    (void)given(&o, "\"best_of\":2,\"agent\":\"one\",\"external_id\":\"X-1\"");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks",
                         "{\"tasks\":[{\"project\":\"tree\",\"prompt\":\"go\",\"agent\":\"one\","
                         "\"best_of\":2,\"external_id\":\"X-1\"},{\"argv\":[\"true\"]}]}",
                         NULL),
                 200, "\"already\":true");
    assert_int_equal(engine_next_task(o.engine), 5); /* 1 to 3, and the other task */
}

TEST(requests_for_the_task_are_for_its_candidates) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, CONFIG);
    (void)given(&o, "\"best_of\":2,\"agent\":\"one\"");
    struct task_view t;
    ops_expect(&o, 200, "POST", "/v1/tasks/priority", "{\"tasks\":[\"1\"],\"priority\":7}");
    assert_true(core_task(engine_core(o.engine), 3, &t));
    assert_int_equal(t.priority, 7);
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/approve", "{\"tasks\":[\"1\"]}", NULL), 409, NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"1\"]}");
    assert_true(core_task(engine_core(o.engine), 3, &t));
    assert_int_equal(t.state, TASK_CANCELED);
    ops_expect(&o, 200, "POST", "/v1/tasks/delete", "{\"tasks\":[\"1\"]}");
    assert_false(core_task(engine_core(o.engine), 3, &t));
    assert_null(engine_best_of(o.engine, 1));
}

TEST(a_run_has_no_candidates_and_does_not_pick) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, CONFIG);
    task_id task = ops_add(&o, "\"project\":\"web\",");
    for (int i = 0; i < 4; i++)
        ops_turn(&o);
    fake_run_starts(task);
    for (int i = 0; i < 4; i++)
        ops_turn(&o);
    const char *token = fake_run_find(task)->token;
    reply_expect(ops_ask_as(&o, token, "POST", "/v1/tasks",
                            "{\"tasks\":[{\"prompt\":\"go\",\"agent\":\"one\",\"best_of\":2}]}"),
                 403, "'best_of'");
    reply_expect(ops_ask_as(&o, token, "POST", "/v1/tasks/web-1/pick", "{\"candidate\":\"1\"}"),
                 400, "has no candidates");
}

TEST(bad_input_is_named_and_nothing_is_stored) {
    static const struct {
        const char *members, *message;
        int status; /* 0: 400 */
    } rows[] = {
        { "\"project\":\"web\",\"prompt\":\"go\",\"agent\":\"one\",\"best_of\":2",
          "needs a worktree" },
        { "\"project\":\"tree\",\"prompt\":\"go\",\"agent\":\"one\",\"best_of\":1", "best_of" },
        { "\"project\":\"tree\",\"prompt\":\"go\",\"agent\":\"one\",\"agents\":[\"two\"]",
          "'agents' can only be used with 'best_of'" },
        { "\"project\":\"tree\",\"prompt\":\"go\",\"agent\":\"one\",\"chooser\":\"two\"",
          "'chooser' can only be used with 'best_of'" },
        { "\"project\":\"tree\",\"prompt\":\"go\",\"agents\":[\"none\"],\"best_of\":2",
          "there is no agent 'none'", 404 },
        { "\"project\":\"tree\",\"argv\":[\"true\"],\"agents\":[\"one\"],\"best_of\":2",
          "a command does not use agents" },
        { "\"project\":\"tree\",\"argv\":[\"true\"],\"best_of\":2,\"merge\":\"mr\"",
          "'merge' cannot be used with 'best_of'" },
    };
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, CONFIG);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char body[512];
        (void)snprintf(body, sizeof(body), "{\"tasks\":[{%s}]}", rows[i].members);
        reply_expect(ops_ask(&o, "POST", "/v1/tasks", body, NULL),
                     rows[i].status ? rows[i].status : 400, rows[i].message);
    }
    reply_expect(ops_ask(&o, "POST", "/v1/tasks",
                         "{\"partial\":true,\"tasks\":[{\"project\":\"tree\",\"prompt\":\"go\","
                         "\"agent\":\"one\",\"best_of\":2}]}",
                         NULL),
                 400, "'partial' and 'best_of'");
    assert_int_equal(engine_next_task(o.engine), 1);
}
