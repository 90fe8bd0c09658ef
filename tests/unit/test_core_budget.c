/* test_core_budget.c: cost budgets in addition to tokens, and tasks that have used up their own budget. */
#include <errno.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "core/core.h"
#include "core_facts.h"
#include "harness/test.h"

#define DOLLAR INT64_C(1000000)

static void set_project_budgets(struct core *core, amount tokens, struct money_budget money) {
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_PROJECT,
                                                     .project = { .id = PROJECT,
                                                                  .weight_milli = 1000,
                                                                  .max_running = UNLIMITED,
                                                                  .budget = tokens,
                                                                  .money = money,
                                                                  .active = true,
                                                                  .workspaces = UNLIMITED,
                                                                  .review = UNLIMITED } }),
                     0);
}

static void set_project_money(struct core *core, int64_t micro) {
    set_project_budgets(core, UNLIMITED, (struct money_budget){ .is_set = true, .micro = micro });
}

static void ends_at_cost(struct core *core, task_id task, int64_t tokens, int64_t money) {
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_RUN_ENDED,
                                                     .task = task,
                                                     .attempt = 1,
                                                     .ended = { .outcome = OUTCOME_OK,
                                                                .tokens = tokens,
                                                                .money = money } }),
                     0);
}

static size_t starts(struct core *core) {
    size_t count, started = 0;
    const struct order *orders = core_decide(core, &count);
    for (size_t i = 0; i < count; i++)
        started += orders[i].kind == ORDER_START;
    return started;
}

static void add_ready(struct core *core, task_id first, task_id last) {
    for (task_id id = first; id <= last; id++)
        assert_int_equal(add(core, row(id, TASK_READY)), 0);
}

static struct budgets_view budgets(const struct core *core, sym project) {
    struct budgets_view v = { 0 };
    assert_true(core_budgets(core, project, &v));
    return v;
}

static struct verdict blocked(const struct core *core, task_id task) {
    struct verdict v = { 0 };
    assert_true(core_blocked(core, task, &v));
    return v;
}

static const char *no_name(const void *ctx, task_id task) {
    (void)ctx, (void)task;
    return "?";
}

static void assert_message(struct core *core, task_id task, const char *expected) {
    struct verdict v = blocked(core, task);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    verdict_message(&v, core_symbols(core), &(struct task_names){ .name = no_name }, &text);
    assert_string_equal(strbuf_text(&text), expected);
}

/* --- the window ------------------------------------------------------------------------------ */

TEST(money_used_equal_to_the_budget_stops_one_less_does_not) {
    struct core *core = core_with_a_world(false);
    assert_int_equal(add(core, row(1, TASK_RUNNING)), 0);
    ends_at_cost(core, 1, 10, 12 * DOLLAR);
    add_ready(core, 2, 2);
    set_project_money(core, 12 * DOLLAR);
    assert_int_equal(starts(core), 0);
    assert_int_equal(blocked(core, 2).gate, GATE_PROJECT_BUDGET);
    assert_true(blocked(core, 2).money);
    set_project_money(core, 12 * DOLLAR + 1);
    assert_int_equal(starts(core), 1);
    core_free(core);
}

TEST(the_reason_names_the_dollars_and_the_span) {
    struct core *core = core_with_a_world(false);
    assert_int_equal(add(core, row(1, TASK_RUNNING)), 0);
    ends_at_cost(core, 1, 10, 12 * DOLLAR + 400000);
    add_ready(core, 2, 2);
    set_project_money(core, 12 * DOLLAR);
    assert_int_equal(starts(core), 0);
    assert_message(core, 2, "project 'project' has used $12.40 of $12.00 in 24 h");
    set_project_money(core, 100 * DOLLAR);
    apply_fact(core, (struct fact){ .kind = FACT_BUDGET,
                                    .budget = UNLIMITED,
                                    .money_budget = { .is_set = true, .micro = 12500 } });
    assert_int_equal(starts(core), 0);
    assert_message(core, 2, "all projects together have used $12.40 of $0.0125 in 24 h");
    core_free(core);
}

TEST(both_currencies_must_be_open_and_the_later_time_counts) {
    struct core *core = core_with_a_world(false);
    apply_fact(core, (struct fact){
                         .kind = FACT_USAGE,
                         .usage = { .project = PROJECT, .tokens = 500, .at = NOW - HOURS(20) } });
    apply_fact(core, (struct fact){ .kind = FACT_USAGE,
                                    .usage = { .project = PROJECT,
                                               .money = 3 * DOLLAR,
                                               .priced = 1,
                                               .at = NOW - HOURS(10) } });
    set_project_budgets(core, 500, (struct money_budget){ .is_set = true, .micro = 3 * DOLLAR });
    add_ready(core, 1, 1);
    assert_int_equal(starts(core), 0);
    assert_false(blocked(core, 1).money); /* tokens are reported first */
    assert_int_equal(blocked(core, 1).opens_at, NOW + HOURS(14));
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW + HOURS(4) });
    assert_int_equal(starts(core), 0);
    assert_true(blocked(core, 1).money);
    assert_int_equal(core_next_wakeup(core), NOW + HOURS(14));
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW + HOURS(14) });
    assert_int_equal(starts(core), 1);
    core_free(core);
}

/* --- corrections ----------------------------------------------------------------------------- */

static int correct(struct core *core, int64_t tokens, int64_t money, time_ms at) {
    struct fact fact = { .kind = FACT_USAGE,
                         .usage = {
                             .project = PROJECT, .tokens = tokens, .money = money, .at = at } };
    return core_apply(core, &fact, NULL);
}

TEST(what_was_booked_can_be_taken_back_as_far_as_it_is_there) {
    struct core *core = core_with_a_world(false);
    apply_fact(core, (struct fact){ .kind = FACT_USAGE,
                                    .usage = { .project = PROJECT,
                                               .tokens = 900,
                                               .reports = 1,
                                               .money = 3 * DOLLAR,
                                               .priced = 1,
                                               .at = NOW - HOURS(10) } });
    set_project_budgets(core, 500, (struct money_budget){ .is_set = true, .micro = 3 * DOLLAR });
    add_ready(core, 1, 1);
    assert_int_equal(starts(core), 0);
    assert_int_equal(correct(core, -901, 0, NOW - HOURS(10)), -ERANGE);
    assert_int_equal(correct(core, 0, -3 * DOLLAR - 1, NOW - HOURS(10)), -ERANGE);
    assert_int_equal(correct(core, -1, 0, NOW - HOURS(9)), -ERANGE);  /* not in that bucket */
    assert_int_equal(correct(core, -1, 0, NOW - HOURS(30)), -ERANGE); /* nor before the window */
    assert_int_equal(correct(core, -880, -2 * DOLLAR, NOW - HOURS(10)), 0);
    assert_int_equal(budgets(core, PROJECT).tokens.used, 20);
    assert_int_equal(budgets(core, 0).tokens.used, 20);
    assert_int_equal(budgets(core, PROJECT).money.used, DOLLAR);
    assert_int_equal(budgets(core, PROJECT).priced, 1);
    assert_int_equal(starts(core), 1);
    core_free(core);
}

/* --- live runs ------------------------------------------------------------------------------- */

TEST(a_live_run_is_charged_what_ended_ones_cost_or_what_it_reported) {
    struct core *core = core_with_a_world(false);
    for (task_id id = 1; id <= 3; id++)
        assert_int_equal(add(core, row(id, TASK_RUNNING)), 0);
    ends_at_cost(core, 1, 10, 4 * DOLLAR);
    assert_int_equal(budgets(core, PROJECT).money.reserved, 8 * DOLLAR);
    apply_fact(
        core,
        (struct fact){
            .kind = FACT_RUN_TOKENS, .task = 2, .attempt = 1, .tokens = -1, .money = 9 * DOLLAR });
    assert_int_equal(budgets(core, PROJECT).money.reserved, 13 * DOLLAR);
    assert_int_equal(budgets(core, PROJECT).money.live, 9 * DOLLAR);
    assert_int_equal(view(core, 2).money, 9 * DOLLAR);
    assert_int_equal(view(core, 2).tokens, -1);
    add_ready(core, 4, 4);
    set_project_money(core, 17 * DOLLAR);
    assert_int_equal(starts(core), 0); /* 4 used, 13 in flight */
    set_project_money(core, 18 * DOLLAR);
    assert_int_equal(starts(core), 1);
    core_free(core);
}

TEST(a_live_run_of_an_expensive_model_is_charged_what_it_will_cost) {
    struct core *core = core_with_a_world(false);
    for (task_id id = 1; id <= 3; id++)
        assert_int_equal(add(core, row(id, TASK_RUNNING)), 0);
    ends_at_cost(core, 1, 10, 4 * DOLLAR);
    struct fact expects = { .kind = FACT_RUN_TOKENS, .task = 2, .attempt = 1 };
    expects.tokens = expects.money = -1;
    expects.expected = 20 * DOLLAR;
    apply_fact(core, expects);
    assert_int_equal(budgets(core, PROJECT).money.reserved, 24 * DOLLAR); /* 20, and the mean */
    assert_int_equal(budgets(core, PROJECT).money.live, 0);
    expects.expected = 0; /* a report that expects nothing new */
    expects.money = 7 * DOLLAR;
    apply_fact(core, expects);
    assert_int_equal(budgets(core, PROJECT).money.reserved, 24 * DOLLAR);
    expects.money = 30 * DOLLAR;
    apply_fact(core, expects);
    assert_int_equal(budgets(core, PROJECT).money.reserved, 34 * DOLLAR);
    core_free(core);
}

TEST(an_unknown_cost_is_in_no_mean_and_is_counted) {
    struct core *core = core_with_a_world(false);
    for (task_id id = 1; id <= 4; id++)
        assert_int_equal(add(core, row(id, TASK_RUNNING)), 0);
    ends_at_cost(core, 1, 10, 6 * DOLLAR);
    ends_at_cost(core, 2, 10, -1);
    ends_at_cost(core, 3, -1, 0); /* known to be zero, which differs from unknown */
    struct budgets_view v = budgets(core, PROJECT);
    assert_int_equal(v.money.used, 6 * DOLLAR);
    assert_int_equal(v.priced, 2);
    assert_int_equal(v.unpriced, 1);
    assert_int_equal(v.money.reserved, 3 * DOLLAR);
    end_run(core, 4, OUTCOME_LAUNCH); /* it never ran */
    assert_int_equal(budgets(core, 0).unpriced, 1);
    core_free(core);
}

TEST(what_a_run_reported_while_it_ran_counts_when_its_end_reports_nothing) {
    struct core *core = core_with_a_world(false);
    assert_int_equal(add(core, row(1, TASK_RUNNING)), 0);
    apply_fact(core,
               (struct fact){
                   .kind = FACT_RUN_TOKENS, .task = 1, .attempt = 1, .tokens = 5, .money = 70 });
    apply_fact(core,
               (struct fact){
                   .kind = FACT_RUN_TOKENS, .task = 1, .attempt = 1, .tokens = 4, .money = 60 });
    end_run(core, 1, OUTCOME_LOST);
    assert_int_equal(budgets(core, 0).money.used, 70);
    assert_int_equal(budgets(core, 0).tokens.used, 5);
    core_free(core);
}

/* --- a task's own budget --------------------------------------------------------------------- */

TEST(a_spent_task_is_held_until_it_is_released) {
    struct core *core = core_with_a_world(false);
    add_ready(core, 1, 1);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_SPENT, .task = 1 }), 0);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_SPENT, .task = 1 }), 1);
    assert_int_equal(starts(core), 0);
    assert_int_equal(view(core, 1).hold, HOLD_BUDGET);
    assert_int_equal(view(core, 1).reason, REASON_SPENT);
    assert_int_equal(core_next_wakeup(core), TIME_NEVER);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_RELEASE, .task = 1 }), 0);
    assert_int_equal(starts(core), 1);
    core_free(core);
}

TEST(a_wait_for_the_next_attempt_ends_when_the_budget_is_spent) {
    struct core *core = core_with_a_world(false);
    assert_int_equal(add(core, row(1, TASK_RUNNING)), 0);
    end_run(core, 1, OUTCOME_FAILED);
    assert_int_equal(view(core, 1).hold, HOLD_BACKOFF);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_SPENT, .task = 1 }), 0);
    assert_int_equal(view(core, 1).not_before, 0);
    assert_int_equal(view(core, 1).failures, 1); /* what was counted is kept */
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW + DAYS(1) });
    assert_int_equal(starts(core), 0);
    core_free(core);
}

TEST(a_live_or_finished_task_and_one_a_person_holds_is_left_alone) {
    struct core *core = core_with_a_world(false);
    assert_int_equal(add(core, row(1, TASK_RUNNING)), 0);
    assert_int_equal(add(core, row(2, TASK_DONE)), 0);
    add_ready(core, 3, 3);
    apply_fact(core, (struct fact){ .kind = FACT_HOLD, .task = 3 });
    assert_true(apply_fact(core, (struct fact){ .kind = FACT_SPENT, .task = 1 }) < 0);
    assert_true(apply_fact(core, (struct fact){ .kind = FACT_SPENT, .task = 2 }) < 0);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_SPENT, .task = 3 }), 1);
    assert_int_equal(view(core, 3).hold, HOLD_PERSON);
    core_free(core);
}
