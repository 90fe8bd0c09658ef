/* test_ratelimit.c: what a rate limit does to those who share an account.
 *
 * Rows 49, 70-75 and trap T3: document 000 computes 2, 4 … 64 s in its code and names 5, 120 and a
 * recovery of 30 s in its configuration. The preset `loopr` is the code, the default the
 * configuration, which are distinguished here. */
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

static void add_callers(struct world *w, int count) {
    for (int i = 1; i <= count; i++)
        world_add(w, world_text(w, "call%d", i),
                  (struct given){ .kind = "ralph", .limiter = "account" });
}

static void end_limited(struct world *w, const char *task, time_ms retry_after) {
    world_end_as(
        w, task,
        (struct ending){ .outcome = OUTCOME_LIMITED, .tokens = -1, .retry_after = retry_after });
}

static time_ms backoff_left(struct world *w) {
    time_ms until = world_limiter(w, "account").backoff_until;
    return until ? until - w->now : 0;
}

/* --- the state -------------------------------------------------------------------------------- */

TEST(f070_state_is_shared_by_all_users_of_the_account) {
    WORLD(w, "loopr");
    world_set(w, "limits.runs", "2");
    add_callers(w, 4);
    world_add(w, "other account", (struct given){ .kind = "plan", .limiter = "second" });
    world_decide(w);
    ASSERT_STARTED(w, "call1", "call2");
    end_limited(w, "call1", 0);
    assert_int_equal(world_limiter(w, "account").hits, 1);
    assert_int_equal(backoff_left(w), SECONDS(2));
    assert_int_equal(world_limiter(w, "second").hits, 0);
    world_decide(w);
    ASSERT_STARTED(w, "other account");
    ASSERT_BLOCKED(w, "call3", "limiter");
}

TEST(f071_delay_is_2_to_the_hits_up_to_64_seconds) {
    WORLD(w, "loopr");
    static const int seconds[] = { 2, 4, 8, 16, 32, 64, 64, 64 };
    add_callers(w, 1);
    world_decide(w);
    for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
        ASSERT_STARTED(w, "call1");
        end_limited(w, "call1", 0);
        assert_int_equal(world_limiter(w, "account").hits, i + 1);
        assert_int_equal(backoff_left(w), SECONDS(seconds[i]));
        world_decide(w);
        ASSERT_NONE_STARTED(w);
        ASSERT_WAKES_IN(w, SECONDS(seconds[i]));
        world_sleep(w);
    }
}

TEST(f071_longer_of_retry_after_and_own_delay) {
    WORLD(w, "loopr");
    add_callers(w, 1);
    world_decide(w);
    end_limited(w, "call1", SECONDS(90));
    assert_int_equal(backoff_left(w), SECONDS(90));
    world_decide(w);
    world_sleep(w);
    end_limited(w, "call1", SECONDS(1));
    assert_int_equal(backoff_left(w), SECONDS(4));
}

TEST(f071_limit_costs_the_task_nothing) {
    WORLD(w, "loopr");
    add_callers(w, 1);
    world_decide(w);
    for (int i = 0; i < 50; i++) {
        end_limited(w, "call1", 0);
        ASSERT_STATE(w, "call1", TASK_READY);
        world_decide(w);
        world_sleep(w);
        ASSERT_STARTED(w, "call1");
    }
    struct task_view view = world_view(w, "call1");
    assert_int_equal(view.failures + view.restarts + view.launch_failures + view.losses, 0);
    assert_int_equal(view.iteration, 1);
}

TEST(f072_any_success_clears_hits_and_backoff) {
    WORLD(w, "loopr");
    add_callers(w, 4);
    world_set(w, "limits.runs", "3");
    world_decide(w);
    end_limited(w, "call1", SECONDS(60));
    end_limited(w, "call2", SECONDS(60));
    assert_int_equal(world_limiter(w, "account").hits, 2);
    world_pass(w, SECONDS(1));
    world_ends(w, "call3", OUTCOME_OK); /* it was started before the limit: the document's rule */
    assert_int_equal(world_limiter(w, "account").hits, 0);
    assert_int_equal(backoff_left(w), 0);
    ASSERT_STARTED(w, "call1", "call2", "call4");
}

TEST(f073_nothing_new_starts_while_limited_what_runs_goes_on) {
    WORLD(w, "loopr");
    world_set(w, "limits.runs", "2");
    add_callers(w, 3);
    world_decide(w);
    world_apply_kind(w, FACT_RUN_STARTED, "call1");
    struct fact limited = { .kind = FACT_RUN_LIMITED,
                            .task = world_number(w, "call1"),
                            .attempt = 1 };
    limited.limited.retry_after = SECONDS(30);
    assert_int_equal(world_apply(w, &limited), 0); /* reported from inside the run */
    world_decide(w);
    ASSERT_STATE(w, "call1", TASK_RUNNING);
    ASSERT_STATE(w, "call2", TASK_STARTING);
    world_set(w, "limits.runs", "9");
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "call3", "limiter");
    world_pass(w, SECONDS(30) - 1);
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    world_pass(w, 1);
    world_decide(w);
    ASSERT_STARTED(w, "call3");
}

TEST(f075_validating_run_needs_no_account) {
    WORLD(w, "loopr");
    world_set(w, "limiters.account.max_running", "1");
    add_callers(w, 3);
    world_decide(w);
    ASSERT_STARTED(w, "call1");
    world_apply_kind(w, FACT_RUN_STARTED, "call1");
    world_validating(w, "call1"); /* its place on the account is free */
    ASSERT_PLACES(w, LEASE_LIMITER, "account", "0 of 1");
    world_decide(w);
    ASSERT_STARTED(w, "call2");
    end_limited(w, "call2", SECONDS(60));
    world_decide(w);
    ASSERT_STATE(w, "call1", TASK_RUNNING); /* the limit does not stop it */
    world_end(w, "call1", OUTCOME_INVALID, -1);
    world_decide(w);
    ASSERT_BLOCKED(w, "call1", "limiter"); /* its next iteration it does */
}

TEST(f075_tasks_without_an_account_are_not_stopped) {
    WORLD(w, "loopr");
    add_callers(w, 1);
    world_decide(w);
    end_limited(w, "call1", SECONDS(60));
    world_add(w, "tests only", (struct given){ .kind = "ralph" });
    world_decide(w);
    ASSERT_STARTED(w, "tests only");
}

/* --- the default: the document's configuration, wired ------------------------------------------- */

/* Runs `task` alone until the account has been hit `hits` times. */
static void hit_times(struct world *w, const char *task, int times) {
    for (int i = 0; i < times; i++) {
        end_limited(w, task, 0);
        world_decide(w);
        world_sleep(w);
    }
}

TEST(f074_t03_default_backs_off_5_to_120_seconds) {
    WORLD(w, "sluice");
    static const int seconds[] = { 5, 10, 20, 40, 80, 120, 120 };
    add_callers(w, 1);
    world_decide(w);
    for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
        end_limited(w, "call1", 0);
        assert_int_equal(backoff_left(w), SECONDS(seconds[i]));
        world_decide(w);
        world_sleep(w);
        ASSERT_STARTED(w, "call1");
    }
}

TEST(f074_t03_loopr_can_be_given_the_documents_configuration) {
    WORLD(w, "loopr");
    world_set(w, "limiter.initial_s", "5");
    world_set(w, "limiter.max_s", "120");
    add_callers(w, 1);
    world_decide(w);
    hit_times(w, "call1", 4);
    end_limited(w, "call1", 0);
    assert_int_equal(backoff_left(w), SECONDS(80));
}

TEST(f074_after_the_backoff_one_goes_first_then_the_cap_rises) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "100");
    world_set(w, "limiter.max_running", "6");
    add_callers(w, 12);
    world_decide(w);
    ASSERT_START_COUNT(w, 6);
    for (int i = 1; i <= 6; i++)
        end_limited(w, world_text(w, "call%d", i), 0);
    assert_int_equal(world_limiter(w, "account").hits, 1); /* one event, not six */
    world_decide(w);
    world_sleep(w);
    ASSERT_STARTED(w, "call1"); /* the probe */
    ASSERT_BLOCKED(w, "call2", "lease:limiter:account");
    world_pass(w, MINUTES(10)); /* however long it takes */
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    world_ends(w, "call1", OUTCOME_OK);
    ASSERT_STARTED(w, "call2");
    for (int places = 2; places <= 6; places++) { /* 6 places in 30 s: one more every 5 s */
        ASSERT_WAKES_IN(w, places == 2 ? SECONDS(10) : SECONDS(5));
        world_sleep(w);
        ASSERT_START_COUNT(w, 1);
        assert_int_equal(world_limiter(w, "account").cap, places);
    }
}

TEST(f074_late_limits_of_older_runs_only_prolong_the_backoff) {
    WORLD(w, "sluice");
    add_callers(w, 3);
    world_decide(w);
    end_limited(w, "call1", 0);
    world_pass(w, SECONDS(3));
    end_limited(w, "call2", 0);
    assert_int_equal(world_limiter(w, "account").hits, 1);
    assert_int_equal(backoff_left(w), SECONDS(5)); /* from now, not doubled */
    world_ends(w, "call3", OUTCOME_OK);            /* started before the limit: proves nothing */
    assert_int_equal(backoff_left(w), SECONDS(5));
}

TEST(f071_reset_time_of_the_provider_is_waited_for) {
    WORLD(w, "sluice");
    add_callers(w, 1);
    world_decide(w);
    world_end_as(
        w, "call1",
        (struct ending){ .outcome = OUTCOME_LIMITED, .tokens = -1, .reset_at = w->now + HOURS(3) });
    world_decide(w);
    ASSERT_WAKES_IN(w, HOURS(3));
}

TEST(f070_closed_account_stays_closed_until_someone_clears_it) {
    WORLD(w, "sluice");
    add_callers(w, 2);
    world_set(w, "limits.runs", "1");
    world_decide(w);
    world_ends(w, "call1", OUTCOME_CLOSED); /* not logged in, not paid */
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "call2", "limiter");
    ASSERT_WAKES_IN(w, TIME_NEVER);
    world_pass(w, DAYS(3));
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    struct fact clear = { .kind = FACT_LIMITER_CLEAR, .limiter_clear = world_sym(w, "account") };
    assert_int_equal(world_apply(w, &clear), 0);
    world_decide(w);
    ASSERT_STARTED(w, "call1");
}
