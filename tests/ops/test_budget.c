/* test_budget.c: token and cost budgets of a run, a task and a window, and what happens when they are used up. Runs
 * report usage as agents do. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "core/core.h"
#include "engine/allowance.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

#define AT_ONCE "retry: {failed: {delay_s: 0, max: 9}}\n"

static void turns(struct ops *o) {
    for (int i = 0; i < 3; i++)
        ops_turn(o);
}

static void set(struct ops *o, const char *body) {
    ops_expect(o, 200, "POST", "/v1/config", body);
}

/* Enough slots for all tasks. */
static void open_roomy(struct ops *o, enum ops_store store, const char *config) {
    ops_open(o, store, config);
    set(o, "{\"set\":{\"limits.runs\":50,\"limiters.anthropic.max_running\":50}}");
}

static void starts(struct ops *o, task_id task) {
    turns(o);
    const struct fake_run *run = fake_run_find(task);
    if (!run || !run->live)
        fail_msg("task %" PRIu64 " was not started", task);
    fake_run_starts(task);
    turns(o);
}

static task_id given_run(struct ops *o, const char *members) {
    task_id task = ops_add(o, members);
    starts(o, task);
    return task;
}

static void reports(struct ops *o, task_id task, int64_t tokens, const char *cost) {
    char body[160];
    (void)snprintf(body, sizeof(body), "{\"task\":\"%" PRIu64 "\",\"tokens\":%" PRId64 "%s%s}",
                   task, tokens, cost ? ",\"cost_usd\":" : "", cost ? cost : "");
    ops_expect(o, 200, "POST", "/v1/report", body);
    turns(o);
}

static void ends(struct ops *o, task_id task, int code) {
    fake_run_ends(task, code);
    turns(o);
}

static struct task_view view(struct ops *o, task_id task) {
    struct task_view v = { 0 };
    assert_true(core_task(engine_core(o->engine), task, &v));
    return v;
}

static void assert_held_for_budget(struct ops *o, task_id task) {
    struct task_view v = view(o, task);
    assert_int_equal(v.state, TASK_HELD);
    assert_int_equal(v.hold, HOLD_BUDGET);
    assert_int_equal(v.not_before, 0);
}

static void assert_why(struct ops *o, task_id task, const char *message) {
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    assert_true(engine_explain_budget_hold(o->engine, task, &why));
    assert_string_equal(strbuf_text(&why), message);
}

static struct engine_budget budget(struct ops *o, task_id task) {
    struct engine_budget b;
    engine_budget(o->engine, task, &b);
    return b;
}

/* --- one run --------------------------------------------------------------------------------- */

TEST(a_run_over_budget_continues_and_its_task_is_then_held) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, AT_ONCE);
    task_id task = given_run(&o, "\"project\":\"web\",\"run_tokens\":100000,");
    reports(&o, task, 120000, NULL);
    assert_false(fake_run_find(task)->stopped);
    ends(&o, task, 1);
    assert_held_for_budget(&o, task);
    assert_int_equal(view(&o, task).failures, 1); /* its outcome is kept */
    assert_why(&o, task,
               "its last run has used 120,000 of 100,000 tokens; raise it with `sluice budget "
               "web-1 --run-tokens N` to let it continue, or let it try again as it is with "
               "`sluice release web-1`");
    ops_restart(&o);
    turns(&o);
    assert_held_for_budget(&o, task);
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/budget", "{\"run_tokens\":130000}");
    starts(&o, task);
    assert_int_equal(view(&o, task).attempt, 2);
}

TEST(a_released_task_tries_again_with_the_same_run_budget) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, AT_ONCE);
    task_id task = given_run(&o, "\"project\":\"web\",\"run_usd\":0.5,");
    reports(&o, task, 5, "0.75");
    ends(&o, task, 1);
    assert_held_for_budget(&o, task);
    ops_expect(&o, 200, "POST", "/v1/tasks/release", "{\"tasks\":[\"web-1\"]}");
    starts(&o, task);
    ends(&o, task, 1); /* it reported nothing this time */
    assert_int_not_equal(view(&o, task).hold, HOLD_BUDGET);
}

TEST(a_successful_task_is_done_whatever_it_used) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",\"tokens\":10,");
    reports(&o, task, 11, NULL);
    ends(&o, task, 0);
    assert_int_equal(view(&o, task).state, TASK_DONE);
}

TEST(with_stop_a_live_run_is_stopped_once_and_nothing_is_counted) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, "tasks: {on_budget: stop, run_usd: 1.25}\n");
    task_id task = given_run(&o, "\"project\":\"web\",");
    reports(&o, task, 5, "1.25"); /* within its budget */
    assert_false(fake_run_find(task)->stopped);
    reports(&o, task, 5, "1.250001");
    assert_true(fake_run_find(task)->stopped);
    assert_false(fake_run_find(task)->killed); /* stopped, with a grace period */
    ops_restart(&o);
    turns(&o);
    assert_true(fake_run_find(task)->stopped); /* a recorded stop is sent again */
    ends(&o, task, 143);
    assert_held_for_budget(&o, task);
    assert_int_equal(view(&o, task).failures, 0);
    assert_int_equal(view(&o, task).losses, 0);
    struct reply r = ops_ask(&o, "GET", "/v1/tasks/web-1", NULL, NULL);
    assert_string_equal(reply_text(&r, "runs.0.outcome"), "budget");
    assert_non_null(strstr(reply_text(&r, "runs.0.message"), "has used $1.250001 of $1.25"));
    reply_finish(&r);
    r = ops_ask(&o, "GET", "/metrics", NULL, NULL);
    assert_non_null(
        strstr(r.text, "\nsluice_cost_usd_total{project=\"web\",agent=\"\"} 1.250001\n"));
    assert_non_null(strstr(r.text, "\nsluice_project_cost_usd{project=\"web\"} 1.250001\n"));
    reply_finish(&r);
}

TEST(a_lowered_budget_applies_to_live_runs) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",\"on_budget\":\"stop\",");
    reports(&o, task, 500, NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/budget", "{\"tokens\":500}");
    assert_false(fake_run_find(task)->stopped);
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/budget", "{\"tokens\":499}");
    turns(&o);
    assert_true(fake_run_find(task)->stopped);
}

/* --- all its runs ---------------------------------------------------------------------------- */

TEST(a_task_budget_covers_all_its_runs_and_restarts) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, AT_ONCE);
    task_id task = given_run(&o, "\"project\":\"web\",\"tokens\":1000,\"usd\":9,");
    reports(&o, task, 600, "0.5");
    ends(&o, task, 1);
    ops_restart(&o);
    assert_int_equal(budget(&o, task).used.tokens, 600);
    assert_int_equal(budget(&o, task).used.usd, 500000);
    starts(&o, task);
    reports(&o, task, 400, NULL);
    ops_restart(&o); /* the usage that a live run has reported is in its row */
    turns(&o);
    assert_int_equal(budget(&o, task).live.tokens, 400);
    ends(&o, task, 1);
    assert_held_for_budget(&o, task);
    assert_why(&o, task,
               "it has used 1,000 of 1,000 tokens; raise it with `sluice budget web-1 --tokens N` "
               "to let it continue");
    assert_int_equal(budget(&o, task).unknown, 1);
    ops_restart(&o);
    turns(&o);
    assert_held_for_budget(&o, task);
}

TEST(no_way_leads_around_a_budget_that_is_used_up) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, AT_ONCE);
    task_id task = given_run(&o, "\"project\":\"web\",\"usd\":1,");
    reports(&o, task, 5, "1");
    ends(&o, task, 1);
    size_t before = fake_runs_started();
    ops_expect(&o, 200, "POST", "/v1/tasks/release", "{\"tasks\":[\"web-1\"]}");
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"web-1\"]}");
    ops_expect(&o, 200, "POST", "/v1/tasks/retry", "{\"tasks\":[\"web-1\"]}");
    turns(&o);
    assert_held_for_budget(&o, task);
    assert_int_equal(fake_runs_started(), before);
    ops_expect(&o, 200, "POST", "/v1/tasks/web-1/budget", "{\"usd\":\"unlimited\"}");
    starts(&o, task);
}

TEST(a_default_of_the_project_counts_and_raising_it_lets_tasks_continue) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, AT_ONCE "tasks: {task_tokens: 1000}\n");
    task_id task = given_run(&o, "\"project\":\"web\",");
    set(&o, "{\"set\":{\"projects.web.task_tokens\":50}}");
    reports(&o, task, 60, NULL);
    ends(&o, task, 1);
    assert_held_for_budget(&o, task);
    set(&o, "{\"set\":{\"projects.web.task_tokens\":100}}");
    starts(&o, task);
}

TEST(an_unknown_cost_counts_nothing_and_is_reported) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, AT_ONCE);
    task_id task = given_run(&o, "\"project\":\"web\",\"usd\":0.01,");
    reports(&o, task, 5000000, NULL);
    ends(&o, task, 1);
    starts(&o, task); /* its cost is unknown */
    struct reply r = ops_ask(&o, "GET", "/v1/tasks/web-1", NULL, NULL);
    assert_int_equal(reply_int(&r, "budget.unknown_cost_runs"), 1);
    assert_int_equal(reply_int(&r, "budget.task.tokens.used"), 5000000);
    assert_int_equal(reply_int(&r, "budget.project.unknown_cost_runs"), 1);
    assert_true(reply_is_null(&r, "budget.run.usd.used"));
    reply_finish(&r);
}

TEST(a_budget_of_nothing_starts_nothing) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = ops_add(&o, "\"project\":\"web\",\"tokens\":0,");
    turns(&o);
    assert_held_for_budget(&o, task);
    assert_null(fake_run_find(task));
}

/* --- windows --------------------------------------------------------------------------------- */

TEST(a_window_stops_new_starts_and_not_live_runs) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_SQLITE, NULL);
    set(&o, "{\"set\":{\"projects.web.budget_usd\":2}}");
    task_id first = given_run(&o, "\"project\":\"web\",");
    task_id second = given_run(&o, "\"project\":\"web\",");
    reports(&o, first, 5, "2.10");
    assert_false(fake_run_find(first)->stopped);
    assert_false(fake_run_find(second)->stopped);
    task_id third = ops_add(&o, "\"project\":\"web\",");
    turns(&o);
    assert_null(fake_run_find(third));
    ends(&o, first, 0);
    assert_int_equal(view(&o, first).state, TASK_DONE);
    ops_restart(&o);
    turns(&o);
    assert_null(fake_run_find(third));
    struct reply r = ops_ask(&o, "GET", "/v1/tasks/web-3", NULL, NULL);
    assert_string_equal(reply_text(&r, "gate"), "project-budget");
    assert_non_null(strstr(reply_text(&r, "why"), "project 'web' has used $4.20 of $2.00 in 24 h"));
    reply_finish(&r);
}

TEST(with_budget_stops_runs_live_runs_stop_and_wait_for_the_window) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_SQLITE, "budget_stops_runs: true\nfair: {run_tokens: 0}\n");
    set(&o, "{\"set\":{\"projects.web.budget\":100}}");
    task_id first = given_run(&o, "\"project\":\"web\",");
    task_id second = given_run(&o, "\"project\":\"web\",");
    task_id other = given_run(&o, "\"project\":\"api\",");
    reports(&o, first, 99, NULL);
    assert_false(fake_run_find(second)->stopped);
    reports(&o, second, 1, NULL);
    assert_true(fake_run_find(first)->stopped);
    assert_true(fake_run_find(second)->stopped);
    assert_false(fake_run_find(other)->stopped);
    ends(&o, first, 143);
    ends(&o, second, 143);
    assert_int_equal(view(&o, first).state, TASK_READY);
    assert_int_equal(view(&o, first).failures + view(&o, first).losses, 0);
    struct verdict v;
    assert_true(core_blocked(engine_core(o.engine), first, &v));
    assert_int_equal(v.gate, GATE_PROJECT_BUDGET);
    set(&o, "{\"set\":{\"projects.web.budget\":500}}");
    starts(&o, first); /* it starts again when the window has room */
}

/* --- children -------------------------------------------------------------------------------- */

static task_id child_of(struct ops *o, task_id run, const char *members, int status,
                        const char *part) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    strbuf_printf(&body, "{\"tasks\":[{%s\"agent\":\"claude\",\"prompt\":\"go\"}]}", members);
    struct reply r =
        ops_ask_as(o, fake_run_find(run)->token, "POST", "/v1/tasks", strbuf_text(&body));
    if (r.status != status || (part && !strstr(r.text, part)))
        fail_msg("a child with %s: status %d, expected %d with '%s': %s", members, r.status, status,
                 part ? part : "", r.text);
    task_id task =
        status == 200 ? engine_find_task(o->engine, reply_text(&r, "tasks.0.id"), NULL) : 0;
    reply_finish(&r);
    return task;
}

TEST(the_rest_of_a_child_goes_back_to_its_parent) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_SQLITE, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",\"tokens\":1000,\"usd\":10,");
    task_id child = child_of(&o, task, "\"tokens\":600,\"usd\":4,", 200, NULL);
    assert_int_equal(engine_budget_left(o.engine, task).tokens, 400);
    assert_int_equal(engine_budget_left(o.engine, task).usd, 6000000);
    (void)child_of(&o, task, "\"tokens\":1,\"usd\":6.01,", 403, "'web-1' has $6.00 left");
    (void)child_of(&o, task, "\"tokens\":401,\"usd\":1,", 403, "'web-1' has 400 left");
    (void)child_of(&o, task, "\"tokens\":1,", 403, "'usd' is required");
    starts(&o, child);
    reports(&o, child, 250, "1.5");
    ends(&o, child, 0);
    assert_int_equal(view(&o, child).state, TASK_DONE);
    assert_int_equal(engine_budget_left(o.engine, task).tokens, 750);
    assert_int_equal(engine_budget_left(o.engine, task).usd, 8500000);
    ops_restart(&o);
    assert_int_equal(engine_budget_left(o.engine, task).tokens, 750);
}

TEST(a_child_that_is_taken_up_again_takes_its_rest_again) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",\"tokens\":1000,");
    task_id child = child_of(&o, task, "\"tokens\":600,", 200, NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"web-2\"]}");
    if (fake_run_find(child))
        ends(&o, child, 143);
    turns(&o);
    assert_int_equal(engine_budget_left(o.engine, task).tokens, 1000);
    (void)child_of(&o, task, "\"tokens\":700,", 200, NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks/retry", "{\"tasks\":[\"web-2\"]}");
    turns(&o);
    assert_int_equal(engine_budget_left(o.engine, task).tokens, 0);
    assert_int_equal(budget(&o, child).limit.tokens, 300); /* no tree uses more than its root may */
}

/* --- bad input ------------------------------------------------------------------------------- */

TEST(bad_amounts_are_refused_and_change_nothing) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"project\":\"web\",\"tokens\":7,");
    turns(&o);
    static const char path[] = "/v1/tasks/web-1/budget";
    ops_refused(&o, 400, path, "{}",
                "give at least one of 'tokens', 'usd', 'run_tokens', 'run_usd', 'on_budget'");
    ops_refused(&o, 400, path, "{\"tokens\":\"lots\"}",
                "parameter 'tokens', unless it is unlimited: expected a whole number from 0 to "
                "100000000000000, got 'lots'");
    ops_refused(&o, 400, path, "{\"tokens\":-1}",
                "parameter 'tokens', unless it is unlimited: expected a whole number from 0 to "
                "100000000000000, got -1");
    ops_refused(&o, 400, path, "{\"tokens\":9,\"usd\":-0.1}",
                "parameter 'usd', unless it is unlimited: expected dollars like 2.50 or $2.50 from "
                "$0.00 to $1000000000.00, got -0.1");
    ops_expect(&o, 400, "POST", path, "{\"on_budget\":\"explode\"}");
    ops_expect(&o, 404, "POST", "/v1/tasks/web-9/budget", "{\"tokens\":1}");
    assert_int_equal(budget(&o, 1).limit.tokens, 7);
    ops_refused(&o, 400, "/v1/tasks", "{\"tasks\":[{\"argv\":[\"true\"],\"usd\":\"two\"}]}",
                "'usd': expected dollars like 2.50 or $2.50, got 'two'");
    ops_refused(&o, 400, "/v1/tasks", "{\"tasks\":[{\"argv\":[\"true\"],\"on_budget\":\"x\"}]}",
                "'on_budget': expected one of hold, stop, got 'x'");
}
