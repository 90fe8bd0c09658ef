/* test_questions.c: a run asks, a person answers; who may do which, and bad input. */

#include <stdio.h>
#include <string.h>

#include "engine/questions.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

static void some_turns(struct ops *o) {
    for (int i = 0; i < 4; i++)
        ops_turn(o);
}

static task_id given_run(struct ops *o) {
    task_id task = ops_add(o, "\"project\":\"web\",");
    some_turns(o);
    fake_run_starts(task);
    some_turns(o);
    return task;
}

static struct reply ask(struct ops *o, const char *body) {
    return ops_ask_as(o, fake_run_find(1)->token, "POST", "/v1/tasks/web-1/question", body);
}

static struct task_view seen(struct ops *o, task_id task) {
    struct task_view view = { 0 };
    assert_true(core_task(engine_core(o->engine), task, &view));
    return view;
}

static void run_ends(struct ops *o) {
    fake_run_ends(1, 0);
    some_turns(o);
}

TEST(a_run_asks_and_its_task_goes_on_with_the_answer) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    (void)given_run(&o);
    struct reply r = ask(&o, "{\"question\":\"Which one?\"}");
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "state"), "open");
    assert_true(reply_is_null(&r, "answer"));
    assert_non_null(strstr(reply_text(&r, "text"), "End your turn now"));
    reply_finish(&r);
    run_ends(&o);
    struct task_view t = seen(&o, 1);
    assert_int_equal(t.state, TASK_HELD);
    assert_int_equal(t.hold, HOLD_QUESTION);
    assert_int_equal(t.failures + t.restarts + t.launch_failures, 0);

    r = ops_ask(&o, "GET", "/v1/questions", NULL, NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "items"), 1);
    assert_string_equal(reply_text(&r, "items.0.question"), "Which one?");
    assert_true(reply_is_null(&r, "items.0.agent"));
    assert_false(reply_is_null(&r, "items.0.title"));
    reply_finish(&r);
    reply_expect(ops_ask(&o, "GET", "/v1/status", NULL, NULL), 200, "\"questions\":1");
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/web-1/why", NULL, NULL), 200,
                 "asks: Which one?; answer with: sluice answer web-1 TEXT");
    reply_expect(ops_ask(&o, "GET", "/v1/tasks/web-1", NULL, NULL), 200, "\"state\":\"open\"");
    ops_restart(&o);
    reply_expect(ops_ask(&o, "GET", "/v1/questions", NULL, NULL), 200,
                 "\"question\":\"Which one?\"");
    reply_expect(
        ops_ask(&o, "POST", "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}", "answer-key-1"), 200,
        "\"answer\":\"blue\"");
    some_turns(&o);
    assert_int_equal(seen(&o, 1).attempt, 2);
    r = ops_ask(&o, "POST", "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}", "answer-key-1");
    assert_int_equal(r.status, 200); /* the same request, sent again */
    assert_true(r.replayed);
    reply_finish(&r);
    r = ops_ask(&o, "POST", "/v1/tasks/web-1/answer", "{\"text\":\"red\"}", NULL);
    assert_int_equal(r.status, 409);
    assert_non_null(strstr(r.text, "is answered already"));
    reply_finish(&r);
    reply_expect(ops_ask(&o, "GET", "/v1/questions", NULL, NULL), 200, "\"items\":[]");
    fake_run_starts(1);
    run_ends(&o);
    assert_int_equal(seen(&o, 1).state, TASK_DONE);
}

TEST(a_call_that_waits_gets_the_answer) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)given_run(&o);
    struct reply r = { 0 };
    ops_begin_as(&o, fake_run_find(1)->token, "/v1/tasks/web-1/question",
                 "{\"question\":\"Which one?\",\"wait_s\":600}", &r);
    some_turns(&o);
    assert_false(r.answered);
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}");
    some_turns(&o);
    assert_true(r.answered);
    assert_string_equal(reply_text(&r, "answer"), "blue");
    reply_finish(&r);
    run_ends(&o);
    assert_int_equal(seen(&o, 1).state, TASK_DONE); /* it was used */
}

TEST(an_answer_for_a_client_that_has_disconnected_is_the_next_prompt) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)given_run(&o);
    struct reply r = { 0 };
    ops_begin_as(&o, fake_run_find(1)->token, "/v1/tasks/web-1/question",
                 "{\"question\":\"Which one?\",\"wait_s\":600}", &r);
    some_turns(&o);
    op_abandon(r.call);
    some_turns(&o);
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}");
    assert_false(engine_question(o.engine, 1)->is_used);
    run_ends(&o);
    assert_int_equal(seen(&o, 1).attempt, 2);
}

TEST(a_call_that_waits_ends_with_the_daemon) {
    struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    (void)given_run(&o);
    struct reply r = { 0 };
    ops_begin_as(&o, fake_run_find(1)->token, "/v1/tasks/web-1/question",
                 "{\"question\":\"Which one?\",\"wait_s\":600}", &r);
    some_turns(&o);
    ops_close(&o);
    assert_true(r.answered);
    assert_int_equal(r.status, 503);
    reply_finish(&r);
}

/* The daemon is killed after the answer was marked as used, and before it was sent. */
TEST(a_request_with_the_same_key_gets_its_answer_again) {
    static const char body[] = "{\"question\":\"Which one?\",\"wait_s\":600}";
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    (void)given_run(&o);
    char token[40];
    (void)snprintf(token, sizeof(token), "%s", fake_run_find(1)->token);
    struct reply r = { 0 };
    ops_begin_keyed(&o, token, "/v1/tasks/web-1/question", body, "ask-key-0001", &r);
    some_turns(&o);
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}");
    some_turns(&o);
    assert_string_equal(reply_text(&r, "answer"), "blue");
    reply_finish(&r);
    assert_true(engine_question(o.engine, 1)->is_used);
    struct reply again = { 0 };
    ops_begin_keyed(&o, token, "/v1/tasks/web-1/question", body, "ask-key-0001", &again);
    some_turns(&o);
    assert_true(again.answered);
    assert_true(again.replayed);
    assert_string_equal(reply_text(&again, "answer"), "blue");
    reply_finish(&again);
    assert_int_equal(engine_question_count(o.engine), 0);
}

TEST(the_same_question_again_returns_its_answer) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)given_run(&o);
    reply_expect(ask(&o, "{\"question\":\"Which one?\"}"), 200, "\"answer\":null");
    reply_expect(ask(&o, "{\"question\":\"And when?\"}"), 409, "has an open question already");
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}");
    reply_expect(ask(&o, "{\"question\":\"Which one?\"}"), 200, "\"answer\":\"blue\"");
    reply_expect(ask(&o, "{\"question\":\"And when?\"}"), 200, "\"answer\":null");
}

TEST(a_release_withdraws_the_question) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)given_run(&o);
    reply_expect(ask(&o, "{\"question\":\"Which one?\"}"), 200, NULL);
    run_ends(&o);
    ops_expect(&o, 200, "POST", "/v1/tasks/release", "{\"tasks\":[\"web-1\"]}");
    some_turns(&o);
    assert_int_equal(seen(&o, 1).attempt, 2);
    ops_refused(&o, 409, "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}",
                "task 'web-1' has no open question");
}

TEST(a_run_neither_answers_nor_asks_for_others) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)given_run(&o);
    (void)given_run(&o);
    reply_expect(ask(&o, "{\"question\":\"Which one?\"}"), 200, NULL);
    static const char *const bodies[] = { "{\"text\":\"blue\"}", "{\"question\":\"Mine?\"}" };
    for (task_id task = 1; task <= 2; task++)
        reply_expect(
            ops_ask_as(&o, fake_run_find(task)->token, "POST", "/v1/tasks/web-1/answer", bodies[0]),
            403, "is not for runs");
    reply_expect(
        ops_ask_as(&o, fake_run_find(2)->token, "POST", "/v1/tasks/web-1/question", bodies[1]), 403,
        "reports of itself");
    reply_expect(ops_ask_as(&o, fake_run_find(2)->token, "GET", "/v1/questions", NULL), 403, NULL);
    assert_int_equal(engine_question(o.engine, 1)->state, QUESTION_OPEN);
}

TEST(bad_input_has_one_message_and_stores_nothing) {
    static const struct {
        const char *body, *says;
    } rows[] = {
        { "{}", "question" },
        { "{\"question\":\"\"}", "question" },
        { "{\"question\":\" \\n\\t\"}", "'question' is empty" },
        { "{\"question\":\"x\",\"choices\":[\"a\",\" \"]}", "choice 2" },
        { "{\"question\":\"x\",\"choices\":[\"a\",\"a\"]}", "the choice 'a' is given twice" },
        { "{\"question\":\"x\",\"choices\":[\"a\"],\"default\":\"b\",\"deadline_s\":60}",
          "the default 'b' is not one of the choices" },
        { "{\"question\":\"x\",\"default\":\"b\"}", "'default' needs 'deadline_s'" },
        { "{\"question\":\"x\",\"deadline_s\":0}", "deadline_s" },
        { "{\"question\":\"x\",\"deadline_s\":\"soon\"}", "deadline_s" },
        { "{\"question\":\"x\",\"wait_s\":-1}", "wait_s" },
        { "{\"question\":\"x\",\"wait_s\":7200}", "wait_s" },
        { "{\"question\":\"x\",\"colour\":1}", "colour" },
    };
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)given_run(&o);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        reply_expect(ask(&o, rows[i].body), 400, rows[i].says);
    char body[4200];
    (void)snprintf(body, sizeof(body), "{\"question\":\"%04100d\"}", 0);
    reply_expect(ask(&o, body), 400, "question");
    reply_expect(ask(&o, "{\"question\":\"x\",\"attempt\":7}"), 409,
                 "attempt 7 of task 'web-1' is not the one that runs");
    assert_null(engine_question(o.engine, 1));
    ops_refused(&o, 409, "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}",
                "task 'web-1' has no open question");

    reply_expect(ask(&o, "{\"question\":\"x\",\"choices\":[\"yes\",\"no\"]}"), 200, NULL);
    ops_refused(&o, 400, "/v1/tasks/web-1/answer", "{\"text\":\"maybe\"}",
                "'maybe' is not one of the choices: 'yes', 'no'");
    ops_refused(&o, 400, "/v1/tasks/web-1/answer", "{\"text\":\"  \"}", "'text' is empty");
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/web-9/answer", "{\"text\":\"x\"}", NULL), 404,
                 NULL);
    assert_int_equal(engine_question(o.engine, 1)->state, QUESTION_OPEN);
    run_ends(&o);
    ops_refused(&o, 409, "/v1/tasks/web-1/question", "{\"question\":\"y\"}",
                "task 'web-1' does not run: only a run can ask");
}

TEST(of_two_answers_at_once_one_counts) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    (void)given_run(&o);
    reply_expect(ask(&o, "{\"question\":\"Which one?\"}"), 200, NULL);
    struct reply first = { 0 }, second = { 0 };
    ops_begin(&o, "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}", NULL, &first);
    ops_begin(&o, "/v1/tasks/web-1/answer", "{\"text\":\"red\"}", NULL, &second);
    some_turns(&o); /* both are in the same turn */
    assert_int_equal(first.status, 200);
    assert_int_equal(second.status, 409);
    assert_non_null(strstr(second.text, "is answered already, by ann: 'blue'"));
    reply_finish(&first);
    reply_finish(&second);
    assert_string_equal(engine_question(o.engine, 1)->answer, "blue");
}

TEST(an_answer_that_meets_the_end_of_the_run_is_used) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    (void)given_run(&o);
    reply_expect(ask(&o, "{\"question\":\"Which one?\"}"), 200, NULL);
    struct reply r = { 0 };
    fake_run_ends(1, 0);
    ops_begin(&o, "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}", NULL, &r);
    some_turns(&o); /* end and answer are in the same turn */
    assert_int_equal(r.status, 200);
    reply_finish(&r);
    assert_int_equal(seen(&o, 1).attempt, 2);
    fake_run_starts(1);
    run_ends(&o);
    assert_int_equal(seen(&o, 1).state, TASK_DONE);
}

TEST(a_task_that_is_held_manually_keeps_its_answer) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    (void)given_run(&o);
    reply_expect(ask(&o, "{\"question\":\"Which one?\"}"), 200, NULL);
    run_ends(&o);
    ops_expect(&o, 200, "POST", "/v1/tasks/hold", "{\"tasks\":[\"web-1\"]}");
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/answer", "{\"text\":\"blue\"}");
    some_turns(&o);
    assert_int_equal(seen(&o, 1).state, TASK_HELD);
    assert_int_equal(seen(&o, 1).attempt, 1);
    ops_expect(&o, 200, "POST", "/v1/tasks/release", "{\"tasks\":[\"web-1\"]}");
    some_turns(&o);
    assert_int_equal(seen(&o, 1).attempt, 2);
    assert_int_equal(engine_question(o.engine, 1)->state, QUESTION_ANSWERED);
    fake_run_starts(1);
    run_ends(&o);
    assert_int_equal(seen(&o, 1).state, TASK_DONE);
}

TEST(a_deleted_task_has_no_question) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    (void)given_run(&o);
    reply_expect(ask(&o, "{\"question\":\"Which one?\"}"), 200, NULL);
    run_ends(&o);
    ops_refused(&o, 409, "/v1/tasks/delete", "{\"tasks\":[\"web-1\"]}",
                "task 'web-1' is held: cancel it first");
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"web-1\"]}");
    ops_refused(&o, 409, "/v1/tasks/web-1/answer", "{\"text\":\"x\"}",
                "task 'web-1' has no open question");
    ops_expect(&o, 200, "POST", "/v1/tasks/delete", "{\"tasks\":[\"web-1\"]}");
    some_turns(&o);
    assert_int_equal(engine_question_count(o.engine), 0);
    reply_expect(ops_ask(&o, "POST", "/v1/tasks/web-1/answer", "{\"text\":\"x\"}", NULL), 404,
                 NULL);
    ops_restart(&o);
    assert_int_equal(engine_question_count(o.engine), 0);
}
