/* test_actions.c: verbs on tasks. A list is applied completely or not at all; a verb that has no effect is not an
 * error. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

static enum task_state state_of(struct ops *o, task_id task) {
    struct task_view t = { .state = TASK_ABSENT };
    (void)core_task(engine_core(o->engine), task, &t);
    return t.state;
}

/* Sends {"tasks":[task]} to a verb; checks the resulting state and whether the verb was a no-op. */
static void expect(struct ops *o, const char *verb, const char *body, const char *wanted,
                   bool already) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/v1/tasks/%s", verb);
    struct reply r = ops_ask(o, "POST", path, body, NULL);
    if (r.status != 200)
        fail_msg("%s %s: %s", verb, body, r.text);
    if (wanted)
        assert_string_equal(reply_text(&r, "tasks.0.state"), wanted);
    assert_int_equal(reply_bool(&r, "tasks.0.already"), already);
    reply_finish(&r);
}

static void begin(struct ops *o) {
    ops_open(o, OPS_MEMORY, NULL);
    ops_expect(o, 200, "POST", "/v1/pause", "{}");
}

TEST(hold_release_clear_sling) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    (void)ops_add(&o, "");
    expect(&o, "hold", "{\"tasks\":[\"1\"]}", "held", false);
    expect(&o, "hold", "{\"tasks\":[\"1\"]}", "held", true);
    expect(&o, "release", "{\"tasks\":[\"1\"]}", "ready", false);
    expect(&o, "release", "{\"tasks\":[\"1\"]}", "ready", true);
    expect(&o, "clear", "{\"tasks\":[\"1\"]}", "draft", false);
    expect(&o, "clear", "{\"tasks\":[\"1\"]}", "draft", true);
    expect(&o, "sling", "{\"tasks\":[\"1\"]}", "ready", false);
    expect(&o, "sling", "{\"tasks\":[\"1\"]}", "ready", true); /* f100 */
}

TEST(hold_until_a_time) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    (void)ops_add(&o, "");
    char body[96];
    (void)snprintf(body, sizeof(body), "{\"tasks\":[\"1\"],\"until\":%" PRId64 "}",
                   engine_now(o.engine) + HOURS(1));
    expect(&o, "hold", body, "held", false);
    expect(&o, "hold", body, "held", true);
    expect(&o, "hold", "{\"tasks\":[\"1\"]}", "held", false); /* without an end time instead */
    ops_refused(&o, 400, "/v1/tasks/hold", "{\"tasks\":[\"1\"],\"until\":1000}",
                "'until' is in the past (it is in ms since the epoch)");
}

TEST(cancel_retry_delete) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    (void)ops_add(&o, "");
    ops_refused(&o, 409, "/v1/tasks/delete", "{\"tasks\":[\"1\"]}",
                "task 't-1' is ready: cancel it first");
    expect(&o, "cancel", "{\"tasks\":[\"1\"]}", "canceled", false);
    expect(&o, "cancel", "{\"tasks\":[\"1\"]}", "canceled", true);
    expect(&o, "retry", "{\"tasks\":[\"1\"]}", "ready", false);
    ops_refused(&o, 409, "/v1/tasks/retry", "{\"tasks\":[\"1\"]}",
                "task 't-1' is ready: only what has failed, was canceled or waits for its next "
                "attempt can be retried");
    expect(&o, "cancel", "{\"tasks\":[\"1\"]}", "canceled", false);
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/tasks/delete", "{\"tasks\":[\"1\"]}", NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "tasks.0.id"), "t-1");
    assert_true(reply_is_null(&r, "tasks.0.state"));
    ops_expect(&o, 404, "GET", "/v1/tasks/1", NULL);
}

TEST(one_task_that_is_not_allowed_stops_all) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    for (int i = 0; i < 3; i++)
        (void)ops_add(&o, "");
    (void)ops_add(&o, "\"draft\":true,");
    struct ops_trace before, after;
    ops_trace(&o, &before);
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/tasks/hold", "{\"tasks\":[\"1\",\"2\",\"4\",\"3\"]}", NULL);
    assert_int_equal(r.status, 409);
    assert_int_equal(reply_int(&r, "error.index"), 2);
    assert_string_equal(reply_text(&r, "error.message"),
                        "task 't-4' is draft: only what waits can be held");
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
}

TEST(a_task_named_twice_is_reported_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    (void)ops_add(&o, "");
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/tasks/hold", "{\"tasks\":[\"1\",\"t-1\",\"1\"]}", NULL);
    assert_int_equal(reply_count(&r, "tasks"), 1);
}

TEST(a_verdict_is_for_what_waits_for_one) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = ops_add(&o, "\"review\":true,");
    ops_refused(
        &o, 409, "/v1/tasks/approve", "{\"tasks\":[\"1\"]}",
        "task 't-1' is starting: only what waits for review or to be closed can be approved");
    fake_run_starts(task);
    ops_turn(&o);
    fake_run_ends(task, 0);
    ops_turn(&o);
    assert_int_equal(state_of(&o, task), TASK_HELD);
    ops_refused(&o, 409, "/v1/tasks/release", "{\"tasks\":[\"1\"]}",
                "task 't-1' is held: it waits for review: approve or reject it");
    ops_refused(&o, 409, "/v1/tasks/hold", "{\"tasks\":[\"1\"]}",
                "task 't-1' is held: it waits for review: approve or reject it");
    expect(&o, "reject", "{\"tasks\":[\"1\"]}", NULL, false);
    fake_run_starts(task);
    ops_turn(&o);
    fake_run_ends(task, 0);
    ops_turn(&o);
    expect(&o, "approve", "{\"tasks\":[\"1\"]}", "done", false);
    expect(&o, "approve", "{\"tasks\":[\"1\"]}", "done", true);
    expect(&o, "again", "{\"tasks\":[\"1\"]}", NULL, false);
    struct task_view t;
    assert_true(core_task(engine_core(o.engine), task, &t));
    assert_int_equal(t.iteration, 3);
}

TEST(a_task_closed_externally_is_closed_here) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = ops_add(&o, "\"until\":\"external\",");
    fake_run_starts(task);
    ops_turn(&o);
    fake_run_ends(task, 0);
    ops_turn(&o);
    assert_int_equal(state_of(&o, task), TASK_HELD);
    expect(&o, "close", "{\"tasks\":[\"1\"]}", "done", false);
}

TEST(cancel_stops_a_run_politely_or_now) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id a = ops_add(&o, ""), b = ops_add(&o, "");
    fake_run_starts(a);
    fake_run_starts(b);
    ops_turn(&o);
    expect(&o, "cancel", "{\"tasks\":[\"1\"]}", "running", false);
    expect(&o, "cancel", "{\"tasks\":[\"2\"],\"now\":true}", "running", false);
    assert_true(fake_run_find(a)->stopped && !fake_run_find(a)->killed);
    assert_true(fake_run_find(b)->stopped && fake_run_find(b)->killed);
    fake_run_ends(a, 0);
    ops_turn(&o);
    assert_int_equal(state_of(&o, a), TASK_CANCELED);
}

TEST(f099_f101_sling_has_two_guards) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "");
    (void)ops_add(&o, "\"draft\":true,\"project\":\"api\",");
    ops_refused(&o, 409, "/v1/tasks/sling", "{\"tasks\":[\"1\"]}",
                "task 't-1' is starting: only a draft can be slung");
    ops_refused(&o, 403, "/v1/tasks/sling", "{\"tasks\":[\"2\"],\"project\":\"web\"}",
                "task 'api-2' is of project 'api', not of 'web'; force moves a draft there");
    ops_refused(&o, 404, "/v1/tasks/sling", "{\"tasks\":[\"2\"],\"project\":\"wbe\"}",
                "there is no project 'wbe'; did you mean 'web'?");
    expect(&o, "sling", "{\"tasks\":[\"1\"],\"force\":true}", "starting", true);
    expect(&o, "sling", "{\"tasks\":[\"2\"],\"project\":\"api\"}", NULL, false);
}

TEST(a_sling_that_is_refused_restores_dependencies) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "kinds: {epic: {base: 100}}\n");
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"draft\":true,\"tasks\":["
               "{\"name\":\"one\",\"argv\":[\"a\"],\"kind\":\"epic\"},"
               "{\"argv\":[\"b\"],\"parent\":\"one\"},"
               "{\"name\":\"two\",\"argv\":[\"c\"],\"kind\":\"epic\"},"
               "{\"argv\":[\"d\"],\"parent\":\"two\",\"depends_on\":[\"two\"]}]}");
    ops_refused(&o, 400, "/v1/tasks/sling", "{\"tasks\":[\"1\",\"3\"]}",
                "a child of epic 't-3' waits for it");
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "GET", "/v1/tasks/1", NULL, NULL);
    assert_int_equal(reply_count(&r, "depends_on"), 0);
    assert_string_equal(reply_text(&r, "state"), "draft");
}

TEST(f127_sling_takes_a_whole_group) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    ops_expect(
        &o, 200, "POST", "/v1/tasks",
        "{\"group\":\"epic\",\"draft\":true,\"tasks\":[{\"argv\":[\"a\"]},{\"argv\":[\"b\"]},"
        "{\"argv\":[\"c\"]}]}");
    (void)ops_add(&o, "\"draft\":true,");
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/tasks/sling", "{\"tasks\":[\"epic\"]}", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "tasks"), 3);
    assert_string_equal(reply_text(&r, "tasks.0.id"), "t-1");
    assert_string_equal(reply_text(&r, "tasks.2.id"), "t-3");
    assert_int_equal(state_of(&o, 4), TASK_DRAFT);
    ops_refused(&o, 404, "/v1/tasks/sling", "{\"tasks\":[\"saga\"]}",
                "there is no task and no group 'saga'");
}

/* It is found behind any number of later tasks, and although an earlier task had the same name. */
TEST(f127_a_group_is_found_whole_behind_many_others) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    ops_expect(
        &o, 200, "POST", "/v1/tasks",
        "{\"group\":\"epic\",\"draft\":true,\"tasks\":[{\"argv\":[\"a\"]},{\"argv\":[\"b\"]}]}");
    for (int batch = 0; batch < 3; batch++) {
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
        strbuf_puts(&body, "{\"tasks\":[{\"argv\":[\"a\"]}");
        strbuf_repeat(&body, ",{\"argv\":[\"a\"]}", 9999);
        strbuf_puts(&body, "]}");
        ops_expect(&o, 200, "POST", "/v1/tasks", strbuf_text(&body));
    }
    _cleanup_(reply_finish) struct reply shown = ops_ask(&o, "GET", "/v1/groups/epic", NULL, NULL);
    assert_int_equal(reply_count(&shown, "tasks"), 2);
    assert_string_equal(reply_text(&shown, "tasks.0.id"), "t-2"); /* newest first */
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/tasks/sling", "{\"tasks\":[\"epic\"]}", NULL);
    assert_int_equal(reply_count(&r, "tasks"), 2);
    assert_string_equal(reply_text(&r, "tasks.0.id"), "t-1");
    assert_int_equal(state_of(&o, 2), TASK_READY);
}

TEST(f127_too_many_drafts_of_a_group_say_how_to_go_on) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    for (int batch = 0; batch < 2; batch++) {
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
        strbuf_puts(&body, "{\"group\":\"epic\",\"draft\":true,\"tasks\":[{\"argv\":[\"a\"]}");
        strbuf_repeat(&body, ",{\"argv\":[\"a\"]}", 5000);
        strbuf_puts(&body, "]}");
        ops_expect(&o, 200, "POST", "/v1/tasks", strbuf_text(&body));
    }
    ops_refused(&o, 400, "/v1/tasks/sling", "{\"tasks\":[\"epic\"]}",
                "group 'epic' has 10002 drafts, and 10000 tasks can be slung at once; 'sluice "
                "sling --all --group' slings them in parts");
}

TEST(an_id_means_the_task_and_not_a_group_of_that_name) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    (void)ops_add(&o, "\"draft\":true,");
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"group\":\"t-1\",\"draft\":true,\"tasks\":[{\"argv\":[\"b\"]}]}");
    expect(&o, "sling", "{\"tasks\":[\"t-1\"]}", "ready", false);
    assert_int_equal(state_of(&o, 2), TASK_DRAFT);
    ops_refused(&o, 404, "/v1/tasks/sling", "{\"tasks\":[\"web-1\"]}",
                "there is no task 'web-1' (number 1 is 't-1')");
    ops_refused(&o, 404, "/v1/tasks/sling", "{\"tasks\":[\"web\"]}",
                "'web' is a project, and no task or group: 'sluice sling --all --project' slings "
                "its drafts");
}

TEST(the_start_time_of_a_draft_counts_when_it_is_slung) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    char body[128];
    (void)snprintf(body, sizeof(body), "\"draft\":true,\"not_before\":%" PRId64 ",",
                   engine_now(o.engine) + HOURS(1));
    (void)ops_add(&o, body);
    (void)ops_add(&o, "\"draft\":true,\"hold\":true,");
    (void)ops_add(&o, "\"draft\":true,\"not_before\":1000,");
    expect(&o, "sling", "{\"tasks\":[\"1\"]}", "held", false);
    struct task_view t;
    assert_true(core_task(engine_core(o.engine), 1, &t));
    assert_true(t.not_before > engine_now(o.engine));
    expect(&o, "sling", "{\"tasks\":[\"2\"]}", "held", false);
    expect(&o, "sling", "{\"tasks\":[\"3\"]}", "ready", false); /* in the past */
    expect(&o, "release", "{\"tasks\":[\"2\"]}", "ready", false);
    expect(&o, "clear", "{\"tasks\":[\"2\"]}", "draft", false);
    expect(&o, "sling", "{\"tasks\":[\"2\"]}", "ready", false); /* it was released before */
}

TEST(f146_merging_that_cannot_be_is_refused_when_it_is_slung) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    (void)ops_add(&o, "\"draft\":true,");
    ops_refused(&o, 400, "/v1/tasks/sling", "{\"tasks\":[\"1\"],\"merge\":\"direct\"}",
                "merge 'direct' needs a branch to merge: 'sluice config set "
                "projects.default.workspace_mode=worktree' makes one for each task");
    ops_refused(&o, 400, "/v1/tasks/sling", "{\"tasks\":[\"1\"],\"base_branch\":\"a..b\"}",
                "'base_branch' 'a..b' is not a name of a branch");
    assert_int_equal(state_of(&o, 1), TASK_DRAFT);
    expect(&o, "sling", "{\"tasks\":[\"1\"],\"merge\":\"none\"}", "ready", false);
}

TEST(the_front_is_before_all_that_wait) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    for (int i = 0; i < 3; i++)
        (void)ops_add(&o, i == 1 ? "\"priority\":-3," : "");
    expect(&o, "priority", "{\"tasks\":[\"3\"],\"to\":\"front\"}", NULL, false);
    assert_int_equal(core_queue_position(engine_core(o.engine), 3), 1);
    expect(&o, "priority", "{\"tasks\":[\"2\"],\"to\":\"back\"}", NULL, false);
    assert_int_equal(core_queue_position(engine_core(o.engine), 2), 3);
    expect(&o, "priority", "{\"tasks\":[\"1\"],\"priority\":5}", NULL, false);
    expect(&o, "priority", "{\"tasks\":[\"1\"],\"priority\":5}", NULL, true);
    ops_refused(&o, 400, "/v1/tasks/priority", "{\"tasks\":[\"1\"]}",
                "give 'priority', or 'to' with front or back");
    ops_refused(&o, 400, "/v1/tasks/priority",
                "{\"tasks\":[\"1\"],\"priority\":1,\"to\":\"front\"}",
                "give 'priority', or 'to' with front or back");
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"1\"]}");
    ops_refused(&o, 409, "/v1/tasks/priority", "{\"tasks\":[\"1\"],\"priority\":1}",
                "task 't-1' is canceled: its priority no longer matters");
}

TEST(dependencies_are_replaced) {
    _cleanup_(ops_close) struct ops o = { 0 };
    begin(&o);
    for (int i = 0; i < 3; i++)
        (void)ops_add(&o, "");
    ops_expect(&o, 200, "POST", "/v1/tasks/depends",
               "{\"task\":\"3\",\"depends_on\":[\"1\",\"2\",\"t-1\"]}");
    _cleanup_(reply_finish) struct reply a = ops_ask(&o, "GET", "/v1/tasks/3", NULL, NULL);
    assert_int_equal(reply_count(&a, "depends_on"), 2);
    assert_string_equal(reply_text(&a, "state"), "waiting");
    ops_expect(&o, 200, "POST", "/v1/tasks/depends", "{\"task\":\"3\",\"depends_on\":[]}");
    assert_int_equal(state_of(&o, 3), TASK_READY);
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"3\"]}");
    ops_refused(&o, 409, "/v1/tasks/depends", "{\"task\":\"3\",\"depends_on\":[]}",
                "task 't-3' is canceled: what it depends on no longer matters");
}

/* --- the daemon ------------------------------------------------------------------------------ */

TEST(f124_pause_and_resume_all_or_one_project) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    _cleanup_(reply_finish) struct reply a = ops_ask(&o, "POST", "/v1/pause", "{}", NULL);
    _cleanup_(reply_finish) struct reply b = ops_ask(&o, "POST", "/v1/pause", NULL, NULL);
    assert_true(reply_bool(&a, "paused") && !reply_bool(&a, "already"));
    assert_true(reply_bool(&b, "already"));
    ops_restart(&o);
    assert_true(engine_is_paused(o.engine));
    ops_expect(&o, 200, "POST", "/v1/resume", "{}");
    ops_expect(&o, 200, "POST", "/v1/pause", "{\"project\":\"web\"}");
    task_id web = ops_add(&o, "\"project\":\"web\","), api = ops_add(&o, "\"project\":\"api\",");
    assert_int_equal(state_of(&o, web), TASK_READY);
    assert_int_equal(state_of(&o, api), TASK_STARTING);
    ops_refused(&o, 404, "/v1/pause", "{\"project\":\"wbe\"}",
                "there is no project 'wbe'; did you mean 'web'?");
    ops_expect(&o, 200, "POST", "/v1/resume", "{\"project\":\"web\"}");
    assert_int_equal(state_of(&o, web), TASK_STARTING);
}

/* `why` names who paused the queue and when, also after a restart. */
TEST(f124_a_pause_keeps_who_asked_and_when) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    ops_expect(&o, 200, "POST", "/v1/pause", "{}");
    ops_expect(&o, 200, "POST", "/v1/pause", "{\"project\":\"web\"}");
    time_ms at = engine_now(o.engine);
    (void)ops_add(&o, "\"project\":\"web\",");
    _cleanup_(reply_finish) struct reply events = ops_ask(&o, "GET", "/v1/events", NULL, NULL);
    size_t last = reply_count(&events, "items") - 2; /* the event before that of the task */
    char path[32];
    (void)snprintf(path, sizeof(path), "items.%zu.kind", last);
    assert_string_equal(reply_text(&events, path), "project.paused");
    (void)snprintf(path, sizeof(path), "items.%zu.data.by", last);
    assert_string_equal(reply_text(&events, path), "ann");
    ops_restart(&o);
    _cleanup_(reply_finish) struct reply again = ops_ask(&o, "POST", "/v1/pause", "{}", NULL);
    assert_true(reply_bool(&again, "already"));
    assert_string_equal(reply_text(&again, "paused_by"), "ann");
    _cleanup_(reply_finish) struct reply status = ops_ask(&o, "GET", "/v1/status", NULL, NULL);
    assert_string_equal(reply_text(&status, "paused_by"), "ann");
    assert_int_equal(reply_int(&status, "paused_at"), at);
    _cleanup_(reply_finish) struct reply web = ops_ask(&o, "GET", "/v1/projects/web", NULL, NULL);
    assert_string_equal(reply_text(&web, "paused_by"), "ann");
    assert_int_equal(reply_int(&web, "paused_at"), at);
    _cleanup_(reply_finish) struct reply why = ops_ask(&o, "GET", "/v1/tasks/1/why", NULL, NULL);
    assert_string_equal(reply_text(&why, "summary"),
                        "everything is paused by 'ann'; go on with: sluice resume");
    assert_int_equal(reply_int(&why, "gates.0.since"), at);
    assert_string_equal(reply_text(&why, "gates.1.reason"),
                        "project 'web' is paused by 'ann'; go on with: sluice resume web");
    ops_expect(&o, 200, "POST", "/v1/resume", "{}");
    ops_restart(&o);
    _cleanup_(reply_finish) struct reply after = ops_ask(&o, "GET", "/v1/status", NULL, NULL);
    assert_true(reply_is_null(&after, "paused_by") && reply_is_null(&after, "paused_at"));
}

TEST(f123_a_tick_decides_now_and_a_dry_one_only_says_so) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "pace: {tick_s: 3600, batch: 1}\n");
    (void)ops_add(&o, ""); /* the first tick */
    (void)ops_add(&o, "\"project\":\"web\",\"agent\":\"claude\",");
    assert_int_equal(state_of(&o, 2), TASK_READY);
    _cleanup_(reply_finish) struct reply dry =
        ops_ask(&o, "POST", "/v1/tick", "{\"dry_run\":true}", NULL);
    assert_int_equal(reply_count(&dry, "start"), 1);
    assert_string_equal(reply_text(&dry, "start.0.id"), "web-2");
    assert_int_equal(state_of(&o, 2), TASK_READY);
    _cleanup_(reply_finish) struct reply real = ops_ask(&o, "POST", "/v1/tick", "{}", NULL);
    assert_int_equal(state_of(&o, 2), TASK_STARTING);
    assert_int_equal(reply_count(&real, "start"), 1);
    assert_string_equal(reply_text(&real, "start.0.id"), "web-2");
    assert_string_equal(reply_text(&real, "start.0.agent"), "claude");
    assert_string_equal(reply_text(&real, "start.0.project"), "web");
}

TEST(a_report_is_for_the_live_run) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = ops_add(&o, "\"agent\":\"claude\",");
    fake_run_starts(task);
    ops_turn(&o);
    ops_expect(
        &o, 200, "POST", "/v1/report",
        "{\"task\":\"1\",\"attempt\":1,\"tokens_in\":100,\"tokens_out\":20,\"cost_usd\":0.5}");
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "GET", "/v1/tasks/1", NULL, NULL);
    assert_int_equal(reply_int(&r, "run.tokens_in"), 100);
    assert_int_equal(reply_int(&r, "run.tokens_out"), 20);
    ops_refused(&o, 409, "/v1/report", "{\"task\":\"1\",\"attempt\":2,\"tokens\":5}",
                "attempt 2 of task 't-1' is not the one that runs");
    ops_refused(&o, 400, "/v1/report", "{\"tokens\":5}",
                "parameter 'task' is missing: the task that reports");
    ops_refused(&o, 400, "/v1/report", "{\"task\":\"1\",\"tokens\":5,\"tokens_out\":5}",
                "'tokens' is the total: give it, or 'tokens_in' and 'tokens_out'");
    ops_expect(&o, 200, "POST", "/v1/report", "{\"task\":\"1\",\"rate_limited_s\":60}");
    _cleanup_(reply_finish) struct reply l = ops_ask(&o, "GET", "/v1/limiters", NULL, NULL);
    assert_string_equal(reply_text(&l, "items.0.state"), "backoff");
    assert_int_equal(reply_int(&l, "items.0.hits"), 1);
    ops_expect(&o, 200, "POST", "/v1/limiters/anthropic/clear", "{}");
    _cleanup_(reply_finish) struct reply c =
        ops_ask(&o, "POST", "/v1/limiters/anthropic/clear", "{}", NULL);
    assert_true(reply_bool(&c, "already"));
    fake_run_ends(task, 0);
    ops_turn(&o);
    ops_refused(&o, 409, "/v1/report", "{\"task\":\"1\",\"tokens\":5}",
                "task 't-1' does not run: nothing can be reported of it");
}

TEST(a_run_may_report_without_saying_who_it_is) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = ops_add(&o, "");
    fake_run_starts(task);
    ops_turn(&o);
    static const struct {
        const char *caller;
        int status;
    } rows[] = { { "t-1.1", 200 }, { "t-1.2", 409 }, { "t-9.1", 404 }, { "nonsense", 400 } };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct reply r;
        ops_begin(&o, "/v1/report", "{\"tokens\":7}", NULL, &r);
        r.call->caller = strdup(rows[i].caller);
        ops_turn(&o);
        if (r.status != rows[i].status)
            fail_msg("%s: %s", rows[i].caller, r.text);
        reply_finish(&r);
    }
}

TEST(shutdown_reaches_the_front_end) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "POST", "/v1/shutdown", "{}", NULL);
    assert_true(r.stops_daemon && reply_bool(&r, "ok"));
    _cleanup_(reply_finish) struct reply other = ops_ask(&o, "POST", "/v1/pause", "{}", NULL);
    assert_false(other.stops_daemon);
}
