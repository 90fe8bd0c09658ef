/* test_booked.c: how much usage one run may book into shared windows, and how the owner corrects a booking. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "core/core.h"
#include "engine/alert.h"
#include "engine/allowance.h"
#include "engine/runs/runs_internal.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

/* Claims are not bounded. */
#define NAIVE                                                                                      \
    "report: {run_tokens: unlimited, run_usd: unlimited, tokens_per_min: unlimited,\n"             \
    "  usd_per_min: unlimited}\n"

static void turns(struct ops *o) {
    for (int i = 0; i < 3; i++)
        ops_turn(o);
}

/* A window with a limit, and two projects that share it. */
static void open_with(struct ops *o, enum ops_store store, const char *config) {
    ops_open(o, store, config);
    ops_expect(o, 200, "POST", "/v1/config",
               "{\"set\":{\"limits.runs\":8,\"budget\":1000000,\"budget_usd\":50}}");
}

static bool is_live(task_id task) {
    const struct fake_run *run = fake_run_find(task);
    return run && run->live;
}

static task_id given_run(struct ops *o, const char *members) {
    task_id task = ops_add(o, members);
    turns(o);
    assert_true(is_live(task));
    fake_run_starts(task);
    turns(o);
    return task;
}

static struct reply report(struct ops *o, task_id task, const char *members) {
    char body[160];
    (void)snprintf(body, sizeof(body), "{\"task\":\"%" PRIu64 "\",%s}", task, members);
    struct reply r = ops_ask(o, "POST", "/v1/report", body, NULL);
    if (r.status != 200)
        fail_msg("%s: %s", members, r.text);
    turns(o);
    return r;
}

static void booked(struct ops *o, task_id task, const char *members) {
    struct reply r = report(o, task, members);
    assert_null(strstr(r.text, "refused"));
    reply_finish(&r);
}

static void refused(struct ops *o, task_id task, const char *members, const char *why) {
    struct reply r = report(o, task, members);
    if (!strstr(reply_text(&r, "refused"), why))
        fail_msg("%s does not say '%s': %s", members, why, r.text);
    reply_finish(&r);
}

static void ends(struct ops *o, task_id task, int code) {
    fake_run_ends(task, code);
    turns(o);
}

static struct budgets_view window(struct ops *o, const char *project) {
    struct budgets_view v = { 0 };
    sym symbol = project ? symbol_find(core_symbols(o->engine->core), project, strlen(project)) : 0;
    assert_true(core_budgets(engine_core(o->engine), symbol, &v));
    return v;
}

static bool has_event(struct ops *o, const char *kind) {
    struct reply r = ops_ask(o, "GET", "/v1/events?limit=1000", NULL, NULL);
    char text[64];
    (void)snprintf(text, sizeof(text), "\"kind\":\"%s\"", kind);
    bool has = strstr(r.text, text) != NULL;
    reply_finish(&r);
    return has;
}

/* --- implausible claims ------------------------------------------------------------------------ */

TEST(an_implausible_claim_blocks_no_other_project) {
    static const char *const claims[] = { "\"tokens\":900000000000000", "\"cost_usd\":1000000",
                                          "\"tokens_in\":1000000000000000,\"tokens_out\":1" };
    for (size_t i = 0; i < ARRAY_SIZE(claims); i++)
        for (int naive = 1; naive >= 0; naive--) {
            _cleanup_(ops_close) struct ops o = { 0 };
            open_with(&o, OPS_MEMORY, naive ? NAIVE : NULL);
            task_id rogue = given_run(&o, "\"project\":\"web\",");
            if (naive)
                booked(&o, rogue, claims[i]);
            else
                refused(&o, rogue, claims[i], "it was not booked");
            ends(&o, rogue, 0);
            task_id other = ops_add(&o, "\"project\":\"api\",");
            turns(&o);
            assert_int_equal(is_live(other), !naive); /* unbounded, it blocks the other project */
            assert_int_equal(engine_alert_is_open(o.engine, "usage:web-1"), !naive);
            assert_int_equal(engine_alert_is_open(o.engine, "window"), naive);
            assert_int_equal(has_event(&o, "run.usage_refused"), !naive);
        }
}

TEST(earlier_reports_stay_booked) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    booked(&o, task, "\"tokens\":1000,\"cost_usd\":0.5");
    refused(&o, task, "\"tokens\":900000000000000,\"cost_usd\":0.75",
            "(report.run_tokens, report.tokens_per_min)");
    ends(&o, task, 0);
    assert_int_equal(window(&o, "web").tokens.used, 1000);
    assert_int_equal(window(&o, NULL).money.used, 750000); /* the cost is plausible */
}

TEST(a_longer_run_may_have_used_more) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with(&o, OPS_MEMORY,
              "report: {run_tokens: 2000000, tokens_per_min: 1000, run_usd: 30, usd_per_min: 1}\n");
    task_id task = given_run(&o, "\"project\":\"web\",");
    run_find(o.engine, task)->view.started_at = engine_now(o.engine); /* the fake began in 1970 */
    booked(&o, task, "\"tokens\":10000,\"cost_usd\":10");             /* ten minutes in advance */
    refused(&o, task, "\"tokens\":15000", "tokens");
    refused(&o, task, "\"cost_usd\":15", "$15.00");
    o.engine->steady_at_start -= MINUTES(6);
    booked(&o, task, "\"tokens\":15000,\"cost_usd\":15");
    o.engine->steady_at_start -= MINUTES(60);
    refused(&o, task, "\"cost_usd\":31", "report.run_usd");
    booked(&o, task, "\"cost_usd\":30");
}

/* An implausible claim uses up the budget of its own task, and not more than that in shared windows. */
TEST(an_implausible_claim_uses_up_only_its_own_budget) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with(&o, OPS_MEMORY, "retry: {failed: {delay_s: 0, max: 9}}\n");
    task_id task = given_run(&o, "\"project\":\"web\",\"run_tokens\":2000,\"on_budget\":\"stop\",");
    refused(&o, task, "\"tokens\":900000000000000", "tokens");
    assert_true(fake_run_find(task)->stopped);
    ends(&o, task, 1);
    struct task_view view = { 0 };
    assert_true(core_task(engine_core(o.engine), task, &view));
    assert_int_equal(view.hold, HOLD_BUDGET);
    assert_int_equal(window(&o, NULL).tokens.used, 2001);
    task_id dear = given_run(&o, "\"project\":\"web\",\"usd\":2,");
    refused(&o, dear, "\"cost_usd\":1000000", "$1000000.00");
    ends(&o, dear, 1);
    assert_int_equal(window(&o, NULL).money.used, 2000001);
}

TEST(the_alert_ends_with_the_window) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    refused(&o, task, "\"tokens\":900000000000000", "tokens");
    ends(&o, task, 0);
    assert_true(engine_alert_is_open(o.engine, "usage:web-1"));
    o.engine->steady_at_start -= HOURS(25);
    (void)ops_add(&o, "\"project\":\"web\",");
    turns(&o);
    assert_false(engine_alert_is_open(o.engine, "usage:web-1"));
}

/* --- corrections ------------------------------------------------------------------------------- */

#define USAGE "/v1/tasks/web-1/usage"

/* A member of the usage totals of the day. */
static int64_t sum_of(struct ops *o, const char *member) {
    struct reply r = ops_ask(o, "GET", "/v1/usage?by=day", NULL, NULL);
    if (r.status != 200)
        fail_msg("%s", r.text);
    int64_t sum = 0;
    for (size_t i = 0; i < reply_count(&r, "items"); i++)
        sum +=
            json_integer_value(json_object_get(json_array_get(reply_at(&r, "items"), i), member));
    reply_finish(&r);
    return sum;
}

TEST(a_booking_is_corrected_everywhere) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with(&o, OPS_SQLITE, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    booked(&o, task, "\"tokens_in\":900000,\"tokens_out\":100000,\"cost_usd\":60");
    ends(&o, task, 0);
    task_id other = ops_add(&o, "\"project\":\"api\",");
    turns(&o);
    assert_false(is_live(other)); /* both windows are used up */
    ops_expect(&o, 200, "POST", USAGE, "{\"tokens_in\":900,\"tokens_out\":100,\"cost_usd\":0.25}");
    turns(&o);
    assert_true(is_live(other));
    for (int again = 0; again < 2; again++) {
        assert_int_equal(window(&o, "web").tokens.used, 1000);
        assert_int_equal(window(&o, NULL).tokens.used, 1000);
        assert_int_equal(window(&o, "web").money.used, 250000);
        assert_int_equal(window(&o, "web").priced, 1);
        struct engine_budget b;
        engine_budget(o.engine, task, &b);
        assert_int_equal(b.used.tokens, 1000);
        assert_int_equal(b.last.usd, 250000);
        struct reply r = ops_ask(&o, "GET", "/v1/tasks/web-1/runs", NULL, NULL);
        assert_int_equal(reply_int(&r, "items.0.tokens_in"), 900);
        assert_int_equal(reply_int(&r, "items.0.tokens_out"), 100);
        reply_finish(&r);
        assert_int_equal(sum_of(&o, "tokens_in"), 900);
        assert_int_equal(sum_of(&o, "tokens_out"), 100);
        assert_int_equal(sum_of(&o, "runs"), 1);
        if (!again)
            ops_restart(&o);
    }
    assert_true(has_event(&o, "run.corrected"));
    ops_expect(&o, 200, "POST", USAGE, "{\"tokens\":5000}"); /* corrected upwards */
    assert_int_equal(window(&o, NULL).tokens.used, 5000);
    assert_int_equal(window(&o, NULL).money.used, 250000);
}

TEST(an_unknown_usage_can_be_corrected) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    refused(&o, task, "\"cost_usd\":1000000", "it was not booked");
    ends(&o, task, 0);
    assert_int_equal(window(&o, NULL).unpriced, 1);
    ops_expect(&o, 200, "POST", USAGE, "{\"cost_usd\":1.5}");
    assert_int_equal(window(&o, NULL).unpriced, 0);
    assert_int_equal(window(&o, NULL).priced, 1);
    assert_int_equal(window(&o, NULL).money.used, 1500000);
    assert_false(engine_alert_is_open(o.engine, "usage:web-1"));
}

TEST(a_task_held_for_its_budget_continues_after_a_correction) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with(&o, OPS_MEMORY, "retry: {failed: {delay_s: 0, max: 9}}\n");
    task_id task = given_run(&o, "\"project\":\"web\",\"tokens\":1000,");
    booked(&o, task, "\"tokens\":1200");
    ends(&o, task, 1);
    assert_false(is_live(task));
    ops_expect(&o, 200, "POST", USAGE, "{\"tokens\":200}");
    turns(&o);
    assert_true(is_live(task));
}

TEST(only_ended_runs_are_corrected_and_only_by_the_owner) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with(&o, OPS_MEMORY, NULL);
    task_id task = given_run(&o, "\"project\":\"web\",");
    ops_expect(&o, 404, "POST", USAGE, "{\"tokens\":1}");
    ops_expect(&o, 409, "POST", USAGE, "{\"tokens\":1,\"attempt\":1}");
    ops_expect(&o, 404, "POST", USAGE, "{\"tokens\":1,\"attempt\":7}");
    struct reply r =
        ops_ask_as(&o, fake_run_find(task)->token, "POST", USAGE, "{\"tokens\":1,\"attempt\":1}");
    assert_int_equal(r.status, 403);
    reply_finish(&r);
    ends(&o, task, 0);
    ops_expect(&o, 400, "POST", USAGE, "{}");
    ops_expect(&o, 400, "POST", USAGE, "{\"tokens\":-1}");
    ops_expect(&o, 400, "POST", USAGE, "{\"tokens\":1,\"tokens_in\":1}");
    ops_expect(&o, 404, "POST", "/v1/tasks/web-9/usage", "{\"tokens\":1}");
    r = ops_ask_by(&o, ACCESS_SUBMIT, USAGE, "{\"tokens\":1}", NULL);
    assert_int_equal(r.status, 403);
    reply_finish(&r);
    r = ops_ask_by(&o, ACCESS_ADMIN, USAGE, "{\"tokens\":1}", NULL);
    assert_int_equal(r.status, 200);
    reply_finish(&r);
}
