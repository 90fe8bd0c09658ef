/* test_wait.c: task.wait answers as soon as tasks have ended, and not before; a run that waits lends its slot.
 * Only the test advances time. */

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

#define ONE_PLACE "capability: {depth: 4, children: 8, running: 8}\n"

static void open_with_one_slot(struct ops *o, enum ops_store store) {
    ops_open(o, store, ONE_PLACE);
    ops_expect(o, 200, "POST", "/v1/config", "{\"set\":{\"limits.runs\":1}}");
}

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

static task_id child_of(struct ops *o, task_id run) {
    struct reply r = ops_ask_as(o, fake_run_find(run)->token, "POST", "/v1/tasks",
                                "{\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"go\"}]}");
    assert_int_equal(r.status, 200);
    task_id task = engine_find_task(o->engine, reply_text(&r, "tasks.0.id"), NULL);
    reply_finish(&r);
    return task;
}

static void ends(struct ops *o, task_id task) {
    assert_non_null(fake_run_find(task));
    fake_run_starts(task);
    fake_run_ends(task, 0);
    some_turns(o);
}

static struct task_view seen(struct ops *o, task_id task) {
    struct task_view view = { 0 };
    assert_true(core_task(engine_core(o->engine), task, &view));
    return view;
}

static const char *body_for(char buf[128], task_id first, task_id second, const char *more) {
    if (second)
        (void)snprintf(buf, 128, "{\"tasks\":[\"web-%u\",\"web-%u\"]%s}", (unsigned)first,
                       (unsigned)second, more);
    else
        (void)snprintf(buf, 128, "{\"tasks\":[\"web-%u\"]%s}", (unsigned)first, more);
    return buf;
}

/* --- clients --------------------------------------------------------------------------------- */

TEST(it_is_answered_when_all_have_ended) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    ops_open(&o, OPS_MEMORY, NULL);
    task_id first = given_run(&o), second = given_run(&o);
    struct reply r;
    ops_begin(&o, "/v1/wait", body_for(body, first, second, ""), NULL, &r);
    some_turns(&o);
    assert_false(r.answered);
    ends(&o, first);
    assert_false(r.answered);
    ends(&o, second);
    assert_true(r.answered);
    assert_int_equal(r.status, 200);
    assert_false(reply_bool(&r, "timed_out"));
    assert_string_equal(reply_text(&r, "tasks.1.state"), "done");
    assert_true(reply_bool(&r, "tasks.1.finished"));
    assert_int_equal(reply_int(&r, "tasks.1.run.exit_code"), 0);
    reply_finish(&r);
}

TEST(one_is_enough_for_any) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    ops_open(&o, OPS_MEMORY, NULL);
    task_id first = given_run(&o), second = given_run(&o);
    struct reply r;
    ops_begin(&o, "/v1/wait", body_for(body, first, second, ",\"any\":true"), NULL, &r);
    some_turns(&o);
    assert_false(r.answered);
    ends(&o, second);
    assert_true(r.answered);
    assert_false(reply_bool(&r, "tasks.0.finished"));
    assert_true(reply_is_null(&r, "tasks.0.run"));
    reply_finish(&r);
}

TEST(a_task_that_needs_a_person_is_an_answer) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    ops_open(&o, OPS_MEMORY, NULL);
    task_id busy = given_run(&o), second = given_run(&o),
            third = ops_add(&o, "\"project\":\"web\",");
    (void)busy, (void)second; /* both slots are taken: the third waits */
    struct reply r;
    ops_begin(&o, "/v1/wait", body_for(body, third, 0, ""), NULL, &r);
    some_turns(&o);
    assert_false(r.answered);
    ops_expect(&o, 200, "POST", "/v1/tasks/hold", "{\"tasks\":[\"web-3\"]}");
    some_turns(&o);
    assert_true(r.answered);
    assert_true(reply_bool(&r, "tasks.0.needs_person"));
    assert_false(reply_bool(&r, "tasks.0.finished"));
    assert_false(reply_bool(&r, "timed_out"));
    reply_finish(&r);
}

TEST(a_task_that_is_deleted_is_waited_for_no_more) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    ops_open(&o, OPS_MEMORY, NULL);
    task_id first = given_run(&o), second = given_run(&o);
    struct reply r;
    ops_begin(&o, "/v1/wait", body_for(body, first, second, ""), NULL, &r);
    some_turns(&o);
    ends(&o, first);
    ops_expect(&o, 200, "POST", "/v1/tasks/delete", "{\"tasks\":[\"web-1\"]}");
    ends(&o, second);
    assert_true(r.answered);
    assert_string_equal(reply_text(&r, "tasks.0.id"), "web-1");
    assert_string_equal(reply_text(&r, "tasks.0.state"), "deleted");
    reply_finish(&r);
}

TEST(a_timeout_ends_it_and_timeout_zero_polls) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o);
    struct reply r;
    ops_begin(&o, "/v1/wait", body_for(body, task, 0, ",\"timeout_s\":0"), NULL, &r);
    some_turns(&o);
    assert_true(r.answered);
    assert_true(reply_bool(&r, "timed_out"));
    reply_finish(&r);
    ops_begin(&o, "/v1/wait", body_for(body, task, 0, ",\"timeout_s\":1"), NULL, &r);
    some_turns(&o);
    assert_false(r.answered);
    ops_wait(&o, &r);
    assert_true(reply_bool(&r, "timed_out"));
    assert_string_equal(reply_text(&r, "tasks.0.state"), "running");
    reply_finish(&r);
}

TEST(bad_input_is_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)given_run(&o);
    ops_expect(&o, 400, "POST", "/v1/wait", "{}");
    ops_expect(&o, 400, "POST", "/v1/wait", "{\"tasks\":[]}");
    ops_expect(&o, 400, "POST", "/v1/wait", "{\"tasks\":[\"web-1\"],\"timeout_s\":3601}");
    ops_expect(&o, 400, "POST", "/v1/wait", "{\"tasks\":[\"web-1\"],\"timeout_s\":-1}");
    ops_expect(&o, 400, "POST", "/v1/wait", "{\"tasks\":[\"web-1\"],\"any\":\"yes\"}");
    ops_expect(&o, 404, "POST", "/v1/wait", "{\"tasks\":[\"web-1\",\"web-9\"]}");
    _cleanup_(strbuf_finish) struct strbuf many = STRBUF_INIT;
    for (int i = 0; i < 257; i++)
        strbuf_printf(&many, "%s\"web-1\"", i ? "," : "{\"tasks\":[");
    strbuf_puts(&many, "]}");
    ops_expect(&o, 400, "POST", "/v1/wait", strbuf_text(&many));
}

/* --- runs ------------------------------------------------------------------------------------ */

TEST(a_run_lends_its_slot_while_it_waits) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    open_with_one_slot(&o, OPS_MEMORY);
    task_id parent = given_run(&o), child = child_of(&o, parent);
    some_turns(&o);
    assert_null(fake_run_find(child));
    struct reply r;
    ops_begin_as(&o, fake_run_find(parent)->token, "/v1/wait", body_for(body, child, 0, ""), &r);
    some_turns(&o);
    assert_int_equal(seen(&o, parent).phase, PHASE_WAITING);
    assert_int_equal(seen(&o, parent).borrower, child);
    assert_non_null(fake_run_find(child));
    assert_false(r.answered);
    ends(&o, child);
    assert_true(r.answered);
    assert_int_equal(seen(&o, parent).phase, PHASE_WORKING);
    assert_int_equal(seen(&o, parent).borrower, 0);
    reply_finish(&r);
}

/* The second child is ready when the first has ended: it must not get the slot. */
TEST(a_run_resumes_before_its_slot_is_lent_again) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    open_with_one_slot(&o, OPS_MEMORY);
    task_id parent = given_run(&o), child = child_of(&o, parent), other = child_of(&o, parent);
    struct reply r;
    ops_begin_as(&o, fake_run_find(parent)->token, "/v1/wait", body_for(body, child, 0, ""), &r);
    some_turns(&o);
    ends(&o, child);
    assert_true(r.answered);
    assert_null(fake_run_find(other));
    assert_int_equal(seen(&o, parent).borrower, 0);
    reply_finish(&r);
}

/* The run waits for the second child, but the first one in the queue borrows the slot. */
TEST(the_answer_is_held_until_the_slot_is_back) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    open_with_one_slot(&o, OPS_MEMORY);
    task_id parent = given_run(&o), first = child_of(&o, parent), second = child_of(&o, parent);
    struct reply r;
    ops_begin_as(&o, fake_run_find(parent)->token, "/v1/wait", body_for(body, second, 0, ""), &r);
    some_turns(&o);
    assert_int_equal(seen(&o, parent).borrower, first);
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"web-3\"]}");
    some_turns(&o);
    assert_int_equal(seen(&o, second).state, TASK_CANCELED);
    assert_int_equal(seen(&o, parent).phase, PHASE_WORKING);
    assert_false(r.answered); /* two runs would work in one slot */
    ends(&o, first);
    assert_true(r.answered);
    reply_finish(&r);
}

TEST(a_disconnected_client_waits_no_longer) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    open_with_one_slot(&o, OPS_MEMORY);
    task_id parent = given_run(&o), child = child_of(&o, parent);
    struct reply one, two;
    ops_begin_as(&o, fake_run_find(parent)->token, "/v1/wait", body_for(body, child, 0, ""), &one);
    ops_begin_as(&o, fake_run_find(parent)->token, "/v1/wait", body_for(body, child, 0, ""), &two);
    some_turns(&o);
    op_abandon(one.call);
    some_turns(&o);
    assert_int_equal(seen(&o, parent).phase, PHASE_WAITING); /* the second request still waits */
    op_abandon(two.call);
    some_turns(&o);
    assert_int_equal(seen(&o, parent).phase, PHASE_WORKING);
    assert_int_equal(seen(&o, parent).borrower, child); /* the lent slot stays lent */
}

TEST(a_run_waits_only_for_its_descendants) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id run = given_run(&o);
    (void)given_run(&o);
    static const char *const bodies[] = {
        "{\"tasks\":[\"web-2\"]}", /* not a descendant */
        "{\"tasks\":[\"web-1\"]}", /* itself */
        "{\"tasks\":[\"web-9\"]}", /* a run does not learn whether a foreign task exists */
    };
    for (size_t i = 0; i < 3; i++) {
        struct reply r = ops_ask_as(&o, fake_run_find(run)->token, "POST", "/v1/wait", bodies[i]);
        assert_int_equal(r.status, 403);
        reply_finish(&r);
    }
    assert_int_equal(seen(&o, run).phase, PHASE_WORKING);
}

TEST(after_a_restart_it_works_and_what_is_lent_stays_lent) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[128];
    open_with_one_slot(&o, OPS_SQLITE);
    task_id parent = given_run(&o), child = child_of(&o, parent);
    struct reply r;
    ops_begin_as(&o, fake_run_find(parent)->token, "/v1/wait", body_for(body, child, 0, ""), &r);
    some_turns(&o);
    assert_int_equal(seen(&o, parent).phase, PHASE_WAITING);
    op_abandon(r.call); /* its connection ended with the daemon, so it gets no answer */
    ops_restart(&o);
    some_turns(&o);
    assert_int_equal(seen(&o, parent).phase, PHASE_WORKING);
    assert_int_equal(seen(&o, parent).borrower, child);
    assert_int_equal(seen(&o, child).lender, parent);
}
