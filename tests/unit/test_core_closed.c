/* test_core_closed.c: gates that are closed for a time: opening hours, the reserve of an account, probes, and
 * tasks that wait for an answer or a check (docs/internals/rules.md §2 and §5). */
#include <string.h>

#include "core/core.h"
#include "core_facts.h"
#include "harness/test.h"

#define WINDOW_END (NOW + HOURS(3))

static struct core *core_with_an_account(amount reserve, amount reserve_weekly) {
    struct core *core = core_with_a_world(false);
    struct policy policy;
    policy_default(&policy);
    struct fact fact = { .kind = FACT_LIMITER };
    fact.limiter = (struct limiter_spec){ .id = LIMITER, .policy = policy.limiter };
    fact.limiter.policy.reserve = reserve;
    fact.limiter.policy.reserve_of[QUOTA_WEEKLY] = reserve_weekly;
    apply_fact(core, fact);
    fact = (struct fact){ .kind = FACT_AGENT };
    fact.agent = (struct agent_spec){ .id = AGENT, .slots = UNLIMITED, .limiter = LIMITER };
    apply_fact(core, fact);
    return core;
}

static void add_task(struct core *core, task_id id) {
    struct task_spec spec = row(id, TASK_WAITING);
    spec.agent = AGENT;
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec }), 0);
}

static int report_use(struct core *core, enum quota_window window, int32_t milli,
                      time_ms resets_at) {
    struct fact fact = { .kind = FACT_LIMITER_USED };
    fact.used.limiter = LIMITER;
    fact.used.window = window;
    fact.used.quota = (struct quota){ milli, resets_at };
    return apply_fact(core, fact);
}

static int close_hours(struct core *core, enum lease_kind scope, sym id, time_ms until) {
    struct fact fact = { .kind = FACT_HOURS };
    fact.hours.scope = scope;
    fact.hours.id = id;
    fact.hours.until = until;
    return apply_fact(core, fact);
}

static void pass_to(struct core *core, time_ms now) {
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = now });
}

static size_t starts(struct core *core) {
    size_t count, n = 0;
    const struct order *orders = core_decide(core, &count);
    for (size_t i = 0; i < count; i++)
        n += orders[i].kind == ORDER_START;
    return n;
}

static void expect_blocked(const struct core *core, task_id task, enum gate gate, time_ms opens_at,
                           const char *message) {
    struct verdict v;
    struct strbuf text = STRBUF_INIT;
    assert_true(core_blocked(core, task, &v));
    assert_string_equal(gate_name(v.gate), gate_name(gate));
    assert_int_equal(v.opens_at, opens_at);
    verdict_message(&v, core_symbols((struct core *)core), &(struct task_names){ 0 }, &text);
    assert_string_equal(strbuf_text(&text), message);
    strbuf_finish(&text);
}

static void end(struct core *core, task_id id, enum outcome outcome, bool iterates) {
    struct task_view t;
    assert_true(core_task(core, id, &t));
    struct fact fact = { .kind = FACT_RUN_ENDED, .task = id, .attempt = t.attempt };
    fact.ended.outcome = outcome;
    fact.ended.iterates = iterates;
    fact.ended.tokens = fact.ended.money = -1;
    assert_int_equal(apply_fact(core, fact), 0);
}

/* --- the reserve ----------------------------------------------------------------------------- */

TEST(nothing_starts_when_only_the_reserve_is_left_until_the_window_ends) {
    struct core *core = core_with_an_account(20, -1);
    add_task(core, 1);
    assert_int_equal(report_use(core, QUOTA_FIVE_HOUR, 790, WINDOW_END), 0);
    assert_int_equal(starts(core), 1);
    add_task(core, 2);
    assert_int_equal(report_use(core, QUOTA_FIVE_HOUR, 820, WINDOW_END), 0);
    assert_int_equal(starts(core), 0);
    expect_blocked(
        core, 2, GATE_LIMITER, WINDOW_END,
        "account 'limiter' has used 82 % of its 5-hour window; 20 % is reserved for you");
    assert_int_equal(core_next_wakeup(core), WINDOW_END);
    pass_to(core, WINDOW_END - 1);
    assert_int_equal(starts(core), 0);
    pass_to(core, WINDOW_END);
    assert_int_equal(starts(core), 1);
    core_free(core);
}

TEST(the_run_that_reports_it_goes_on) {
    struct core *core = core_with_an_account(20, -1);
    struct task_view t;
    add_task(core, 1);
    assert_int_equal(starts(core), 1);
    assert_int_equal(report_use(core, QUOTA_FIVE_HOUR, 1000, WINDOW_END), 0);
    assert_int_equal(starts(core), 0);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.state, TASK_STARTING);
    core_free(core);
}

TEST(a_late_or_lower_report_changes_nothing) {
    struct core *core = core_with_an_account(20, -1);
    assert_int_equal(report_use(core, QUOTA_FIVE_HOUR, 850, WINDOW_END), 0);
    assert_int_equal(report_use(core, QUOTA_FIVE_HOUR, 400, WINDOW_END), 1);
    assert_int_equal(report_use(core, QUOTA_FIVE_HOUR, 400, WINDOW_END - HOURS(1)), 1);
    assert_int_equal(report_use(core, QUOTA_FIVE_HOUR, 400, NOW), 1);
    add_task(core, 1);
    assert_int_equal(starts(core), 0);
    assert_int_equal(report_use(core, QUOTA_FIVE_HOUR, 10, WINDOW_END + HOURS(5)),
                     0); /* the next window */
    assert_int_equal(starts(core), 1);
    core_free(core);
}

TEST(an_earlier_end_corrects_a_guess_and_the_use_does_not_sink) {
    struct core *core = core_with_an_account(20, -1);
    struct fact fact = { .kind = FACT_LIMITER_USED };
    struct limiter_view view;
    assert_int_equal(report_use(core, QUOTA_FIVE_HOUR, 850, WINDOW_END), 0);
    fact.used.limiter = LIMITER;
    fact.used.window = QUOTA_FIVE_HOUR;
    fact.used.quota = (struct quota){ 400, WINDOW_END - HOURS(1) };
    assert_int_equal(core_apply(core, &fact, NULL), 1);
    fact.used.corrects = true;
    assert_int_equal(core_apply(core, &fact, NULL), 0);
    assert_true(core_limiter(core, fact.used.limiter, &view));
    assert_int_equal(view.reserved_until, WINDOW_END - HOURS(1));
    assert_int_equal(view.windows[QUOTA_FIVE_HOUR].quota.used_milli, 850);
    fact.used.quota.resets_at = NOW;
    assert_int_equal(core_apply(core, &fact, NULL), 1); /* it has ended */
    core_free(core);
}

TEST(each_window_may_have_its_own_reserve) {
    struct core *core = core_with_an_account(20, 0);
    add_task(core, 1);
    assert_int_equal(report_use(core, QUOTA_WEEKLY, 990, NOW + DAYS(3)), 0);
    assert_int_equal(starts(core), 1);
    core_free(core);
}

TEST(a_person_may_open_it) {
    struct core *core = core_with_an_account(20, -1);
    add_task(core, 1);
    assert_int_equal(report_use(core, QUOTA_WEEKLY, 990, NOW + DAYS(3)), 0);
    assert_int_equal(starts(core), 0);
    apply_fact(core, (struct fact){ .kind = FACT_LIMITER_CLEAR, .limiter_clear = LIMITER });
    assert_int_equal(starts(core), 1);
    core_free(core);
}

/* --- hours ----------------------------------------------------------------------------------- */

TEST(outside_its_hours_a_project_an_agent_and_an_account_start_nothing) {
    static const struct {
        enum lease_kind scope;
        sym id;
        const char *message;
    } rows[] = {
        { LEASE_PROJECT, PROJECT, "project 'project' is outside its opening hours" },
        { LEASE_AGENT, AGENT, "agent 'agent' is outside its opening hours" },
        { LEASE_LIMITER, LIMITER, "account 'limiter' is outside its opening hours" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct core *core = core_with_an_account(0, -1);
        add_task(core, 1);
        assert_int_equal(close_hours(core, rows[i].scope, rows[i].id, NOW + HOURS(8)), 0);
        assert_int_equal(starts(core), 0);
        expect_blocked(core, 1, GATE_HOURS, NOW + HOURS(8), rows[i].message);
        assert_int_equal(core_next_wakeup(core), NOW + HOURS(8));
        pass_to(core, NOW + HOURS(8));
        assert_int_equal(starts(core), 1);
        core_free(core);
    }
}

TEST(hours_of_something_unknown_are_refused) {
    struct core *core = core_with_an_account(0, -1);
    struct error err = { 0 };
    struct fact fact = { .kind = FACT_HOURS };
    fact.hours.scope = LEASE_AGENT;
    fact.hours.id = PROJECT;
    assert_true(core_apply(core, &fact, &err) < 0);
    assert_string_equal(err.text, "agent 'project' is not known");
    core_free(core);
}

TEST(a_configuration_that_is_applied_again_keeps_the_hours_closed) {
    struct core *core = core_with_an_account(0, -1);
    add_task(core, 1);
    close_hours(core, LEASE_AGENT, AGENT, NOW + HOURS(8));
    struct fact fact = { .kind = FACT_AGENT };
    fact.agent = (struct agent_spec){ .id = AGENT, .slots = 3, .limiter = LIMITER };
    apply_fact(core, fact);
    assert_int_equal(starts(core), 0);
    core_free(core);
}

/* --- probes, questions, checks, conflicts ----------------------------------------------------- */

TEST(a_task_with_a_probe_waits_until_it_says_yes) {
    struct core *core = core_with_an_account(0, -1);
    struct task_spec spec = row(1, TASK_WAITING);
    spec.probe_closed = true;
    apply_fact(core, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
    assert_int_equal(starts(core), 0);
    expect_blocked(core, 1, GATE_PROBE, TIME_NEVER, "its gate has not said yes yet");
    apply_fact(core, (struct fact){ .kind = FACT_PROBE, .task = 1, .probe_open = true });
    assert_int_equal(starts(core), 1);
    core_free(core);
}

TEST(a_task_that_asked_or_whose_check_is_pending_holds_no_slot_and_counts_nothing) {
    static const struct {
        enum outcome outcome;
        enum hold hold;
    } rows[] = { { OUTCOME_ASKED, HOLD_QUESTION }, { OUTCOME_PENDING, HOLD_CHECK } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct core *core = core_with_an_account(0, -1);
        struct task_view t;
        amount in_use, cap;
        add_task(core, 1);
        assert_int_equal(starts(core), 1);
        end(core, 1, rows[i].outcome, false);
        assert_true(core_task(core, 1, &t));
        assert_int_equal(t.state, TASK_HELD);
        assert_int_equal(t.hold, rows[i].hold);
        assert_int_equal(t.failures + t.restarts + t.losses, 0);
        assert_true(core_lease(core, LEASE_AGENT, AGENT, &in_use, &cap));
        assert_int_equal(in_use, 0);
        assert_int_equal(starts(core), 0);
        apply_fact(core, (struct fact){ .kind = FACT_RELEASE, .task = 1 });
        assert_int_equal(starts(core), 1);
        core_free(core);
    }
}

TEST(a_question_without_an_answer_fails_its_task_and_nothing_else_does) {
    struct core *core = core_with_an_account(0, -1);
    struct error err = { 0 };
    struct task_view t;
    add_task(core, 1);
    starts(core);
    end(core, 1, OUTCOME_ASKED, false);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_UNANSWERED, .task = 1 }), 0);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.state, TASK_FAILED);
    assert_int_equal(t.reason, REASON_UNANSWERED);
    add_task(core, 2);
    apply_fact(core, (struct fact){ .kind = FACT_HOLD, .task = 2 });
    assert_true(core_apply(core, &(struct fact){ .kind = FACT_UNANSWERED, .task = 2 }, &err) < 0);
    core_free(core);
}

TEST(a_probe_that_does_not_say_yes_in_time_fails_its_task) {
    struct core *core = core_with_an_account(0, -1);
    struct error err = { 0 };
    struct task_view t;
    struct task_spec spec = row(1, TASK_WAITING);
    spec.probe_closed = true;
    apply_fact(core, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_UNANSWERED, .task = 1 }), 0);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.state, TASK_FAILED);
    assert_int_equal(t.reason, REASON_GATE_TIMEOUT);
    apply_fact(core, (struct fact){ .kind = FACT_RETRY, .task = 1 });
    assert_int_equal(starts(core), 0); /* its gate is still closed */
    spec = row(2, TASK_WAITING);
    spec.artifact_missing = true;
    apply_fact(core, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
    assert_true(core_apply(core, &(struct fact){ .kind = FACT_UNANSWERED, .task = 2 }, &err) < 0);
    core_free(core);
}

TEST(a_conflict_that_iterates_is_repaired_until_no_restart_is_left) {
    struct core *core = core_with_an_account(0, -1);
    struct task_view t;
    add_task(core, 1);
    starts(core);
    end(core, 1, OUTCOME_CONFLICT, true);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.iteration, 2);
    assert_false(task_state_is_final(t.state));
    while (core_task(core, 1, &t) && !task_state_is_final(t.state)) {
        if (t.state == TASK_HELD)
            pass_to(core, t.not_before);
        if (starts(core) > 0)
            end(core, 1, OUTCOME_CONFLICT, true);
    }
    assert_int_equal(t.state, TASK_FAILED);
    assert_int_equal(t.reason, REASON_CONFLICT);
    core_free(core);
}
