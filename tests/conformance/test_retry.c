/* test_retry.c: when may it run again, and when is it over?
 *
 * Rows 76, 77, 79, 81-83, 86, 109, 112, 140 and the traps T8, T16. Launch failures and their breaker:
 * test_breaker.c. Rate limits, which cost nothing: test_ratelimit.c. */
#include <errno.h>
#include <string.h>

#include "core/policy.h"
#include "harness/test.h"
#include "harness/world.h"

/* --- document 001: the loop ------------------------------------------------------------------ */

TEST(f076_one_hundred_launches_one_second_apart) {
    WORLD(w, "conductor");
    world_add(w, "loop", (struct given){ 0 });
    world_decide(w);
    for (unsigned launch = 1; launch < 100; launch++) {
        ASSERT_STARTED(w, "loop");
        assert_int_equal(world_view(w, "loop").attempt, launch);
        world_ends(w, "loop", launch % 2 ? OUTCOME_UNFINISHED : OUTCOME_FAILED);
        ASSERT_HELD(w, "loop", HOLD_RESTART, SECONDS(1));
        ASSERT_WAKES_IN(w, SECONDS(1));
        world_sleep(w);
    }
    ASSERT_STARTED(w, "loop");
    assert_int_equal(world_view(w, "loop").attempt, 100);
    world_ends(w, "loop", OUTCOME_UNFINISHED);
    ASSERT_FAILED(w, "loop", REASON_RESTARTS);
}

TEST(f076_done_in_the_hundredth_launch_is_done) {
    WORLD(w, "conductor");
    world_add(w, "loop", (struct given){ .restarts = 99, .attempt = 99 });
    world_decide(w);
    ASSERT_STARTED(w, "loop");
    world_ends(w, "loop", OUTCOME_OK);
    ASSERT_STATE(w, "loop", TASK_DONE);
}

TEST(f076_f086_task_that_has_had_its_launches_is_not_launched_again) {
    WORLD(w, "conductor");
    world_add(w, "spent", (struct given){ .restarts = 100, .attempt = 100 });
    world_decide(w);
    ASSERT_NONE_STARTED(w); /* checked before the launch, not after it */
    ASSERT_FAILED(w, "spent", REASON_RESTARTS);
    world_apply_kind(w, FACT_RETRY, "spent");
    world_decide(w);
    ASSERT_STARTED(w, "spent");
}

TEST(t16_no_launches_allowed_fails_without_a_run) {
    WORLD(w, "conductor");
    world_set(w, "retry.unfinished.max", "0");
    world_add(w, "loop", (struct given){ 0 });
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_FAILED(w, "loop", REASON_RESTARTS);
}

TEST(t16_default_counts_restarts_so_none_is_still_one_run) {
    WORLD(w, "sluice");
    world_set(w, "retry.unfinished.max", "0");
    world_add(w, "loop", (struct given){ .until = "done" });
    world_decide(w);
    ASSERT_STARTED(w, "loop");
    world_ends(w, "loop", OUTCOME_UNFINISHED);
    ASSERT_FAILED(w, "loop", REASON_RESTARTS);
}

TEST(f076_default_counts_100_restarts_after_the_first_run) {
    WORLD(w, "sluice");
    world_add(w, "loop", (struct given){ .until = "done" });
    world_decide(w);
    for (int restart = 1; restart <= 100; restart++) {
        world_ends(w, "loop", OUTCOME_UNFINISHED);
        ASSERT_HELD(w, "loop", HOLD_RESTART, SECONDS(1));
        world_sleep(w);
    }
    assert_int_equal(world_view(w, "loop").attempt, 101);
    world_ends(w, "loop", OUTCOME_UNFINISHED);
    ASSERT_FAILED(w, "loop", REASON_RESTARTS);
}

TEST(f077_no_new_attempt_once_the_mark_is_there) {
    WORLD(w, "conductor");
    world_set(w, "limits.runs", "1");
    world_add(w, "between attempts", (struct given){ 0 });
    world_add(w, "queued", (struct given){ 0 });
    world_decide(w);
    world_ends(w, "between attempts", OUTCOME_UNFINISHED);
    ASSERT_STARTED(w, "queued");
    world_apply_kind(w, FACT_MARKED, "between attempts");
    ASSERT_STATE(w, "between attempts", TASK_DONE);
    world_pass(w, SECONDS(1));
    world_ends(w, "queued", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
}

TEST(f077_mark_of_a_task_that_is_not_finished_by_one_means_nothing) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "1");
    world_add(w, "runs", (struct given){ .until = "exit" });
    world_add(w, "by exit code", (struct given){ .until = "exit" });
    world_decide(w);
    assert_int_equal(world_try(w, FACT_MARKED, "by exit code"), 1);
    ASSERT_STATE(w, "by exit code", TASK_READY);
}

TEST(f109_lost_run_is_queued_again_after_5_seconds) {
    WORLD(w, "conductor");
    world_add(w, "stale", (struct given){ .state = TASK_RUNNING, .attempt = 1 });
    world_ends(w, "stale", OUTCOME_LOST);
    ASSERT_HELD(w, "stale", HOLD_BACKOFF, SECONDS(5));
    world_sleep(w);
    ASSERT_STARTED(w, "stale");
    assert_int_equal(world_view(w, "stale").restarts, 0); /* no restart of the loop */
}

TEST(f109_failed_root_run_leaves_its_place) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "1");
    world_add(w, "spent", (struct given){ .state = TASK_RUNNING, .restarts = 99, .attempt = 100 });
    world_add(w, "next", (struct given){ 0 });
    world_decide(w);
    ASSERT_BLOCKED(w, "next", "lease:roots");
    world_ends(w, "spent", OUTCOME_FAILED);
    ASSERT_FAILED(w, "spent", REASON_RESTARTS);
    ASSERT_STARTED(w, "next");
}

TEST(f109_queued_task_whose_mark_is_there_is_dropped) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "1");
    world_add(w, "runs", (struct given){ .state = TASK_RUNNING, .attempt = 1 });
    world_add(w, "already done", (struct given){ 0 });
    world_apply_kind(w, FACT_MARKED, "already done");
    world_ends(w, "runs", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
    ASSERT_STATE(w, "already done", TASK_DONE);
}

/* --- document 003: backoff ------------------------------------------------------------------- */

/* 30 s, doubled, at most 5 min, ± 10 %. */
static void assert_backoff(time_ms delay, unsigned n) {
    static const int seconds[] = { 30, 60, 120, 240, 300 };
    time_ms plain = SECONDS(seconds[n - 1]);
    assert_in_range(delay, plain - plain / 10, plain + plain / 10);
    assert_true(delay <= MINUTES(5));
}

TEST(f079_30_seconds_doubled_with_jitter_five_retries) {
    WORLD(w, "agency");
    world_add(w, "card", (struct given){ .kind = "implement" });
    world_decide(w);
    for (unsigned retry = 1; retry <= 5; retry++) {
        world_ends(w, "card", OUTCOME_FAILED);
        ASSERT_STATE(w, "card", TASK_HELD);
        assert_backoff(world_view(w, "card").not_before - w->now, retry);
        ASSERT_NONE_STARTED(w);
        world_sleep(w);
        ASSERT_STARTED(w, "card");
    }
}

TEST(f037_f079_retry_goes_to_the_tail_of_its_flow) {
    WORLD(w, "agency");
    world_add(w, "failing", (struct given){ .kind = "implement" });
    world_add(w, "a", (struct given){ .kind = "implement" });
    world_add(w, "b", (struct given){ .kind = "implement" });
    world_decide(w);
    ASSERT_STARTED(w, "failing");
    world_ends(w, "failing", OUTCOME_FAILED);
    ASSERT_STARTED(w, "a");
    world_pass(w, MINUTES(1)); /* it is queued again, behind b */
    world_decide(w);
    ASSERT_STATE(w, "failing", TASK_READY);
    world_add(w, "c", (struct given){ .kind = "implement" });
    world_pass(w, MINUTES(1));
    world_ends(w, "a", OUTCOME_OK);
    ASSERT_STARTED(w, "b");
    world_ends(w, "b", OUTCOME_OK);
    ASSERT_STARTED(w, "failing"); /* c came later */
    world_ends(w, "failing", OUTCOME_OK);
    ASSERT_STARTED(w, "c");
}

TEST(t08_five_retries_are_six_runs) {
    WORLD(w, "agency");
    world_add(w, "card", (struct given){ .kind = "implement" });
    world_decide(w);
    int runs = 0;
    while (w->started == 1) {
        runs++;
        world_ends(w, "card", OUTCOME_FAILED);
        if (world_view(w, "card").state == TASK_HELD)
            world_sleep(w);
    }
    assert_int_equal(runs, 6);
    ASSERT_FAILED(w, "card", REASON_RETRIES);
}

TEST(t08_cap_holds_after_the_jitter) {
    WORLD(w, "agency");
    const struct retry_policy *policy = &config_policy(w->config)->retry[RETRY_FAILED];
    bool shorter = false, longer = false;
    for (task_id task = 1; task <= 2000; task++) {
        for (unsigned n = 1; n <= 5; n++)
            assert_backoff(retry_delay(policy, n, task, n), n);
        shorter |= retry_delay(policy, 1, task, 1) < SECONDS(30);
        longer |= retry_delay(policy, 1, task, 1) > SECONDS(30);
        assert_true(retry_delay(policy, 40, task, 40) <= SECONDS(300));
    }
    assert_true(shorter && longer); /* it does spread them */
}

TEST(f079_jitter_is_the_same_in_a_replay) {
    WORLD(w, "agency");
    const struct retry_policy *policy = &config_policy(w->config)->retry[RETRY_FAILED];
    assert_int_equal(retry_delay(policy, 2, 17, 3), retry_delay(policy, 2, 17, 3));
    assert_int_not_equal(retry_delay(policy, 2, 17, 3), retry_delay(policy, 2, 18, 3));
}

TEST(f079_success_resets_the_counter) {
    WORLD(w, "agency");
    world_add(w, "card", (struct given){ .kind = "implement", .failures = 5, .attempt = 5 });
    world_decide(w);
    world_ends(w, "card", OUTCOME_OK);
    world_apply_kind(w, FACT_AGAIN, "card");
    world_decide(w);
    world_ends(w, "card", OUTCOME_FAILED);
    ASSERT_STATE(w, "card", TASK_HELD);
    assert_int_equal(world_view(w, "card").failures, 1);
}

TEST(f079_timeout_counts_as_a_failed_run) {
    WORLD(w, "agency");
    world_add(w, "card", (struct given){ .kind = "implement", .failures = 4, .attempt = 4 });
    world_decide(w);
    world_ends(w, "card", OUTCOME_TIMEOUT);
    assert_backoff(world_view(w, "card").not_before - w->now, 5);
    world_sleep(w);
    world_ends(w, "card", OUTCOME_TIMEOUT);
    ASSERT_FAILED(w, "card", REASON_TIMEOUT);
}

TEST(f081_manual_rerun_clears_counter_and_timer) {
    WORLD(w, "agency");
    world_add(w, "backs off", (struct given){ .kind = "implement", .retries = 1 });
    world_decide(w);
    world_ends(w, "backs off", OUTCOME_FAILED);
    ASSERT_STATE(w, "backs off", TASK_HELD);
    world_apply_kind(w, FACT_CLEAR, "backs off");
    world_apply_kind(w, FACT_SLING, "backs off");
    world_decide(w);
    ASSERT_STARTED(w, "backs off"); /* now, not in 30 s */
    assert_int_equal(world_view(w, "backs off").failures, 0);
    assert_int_equal(world_view(w, "backs off").attempt, 2); /* a new run */
    world_ends(w, "backs off", OUTCOME_FAILED);
    world_sleep(w);
    world_ends(w, "backs off", OUTCOME_FAILED);
    ASSERT_FAILED(w, "backs off", REASON_RETRIES);
    world_apply_kind(w, FACT_RETRY, "backs off");
    world_decide(w);
    ASSERT_STARTED(w, "backs off");
    assert_int_equal(world_view(w, "backs off").failures, 0);
    assert_int_equal(world_view(w, "backs off").attempt, 4);
}

TEST(f082_exhausted_card_fails_is_unlocked_and_out_of_the_queue) {
    WORLD(w, "agency");
    world_add(w, "card", (struct given){ .kind = "implement", .failures = 5, .attempt = 5 });
    world_add(w, "next", (struct given){ .kind = "implement" });
    world_decide(w);
    ASSERT_STARTED(w, "card");
    world_ends(w, "card", OUTCOME_FAILED);
    ASSERT_FAILED(w, "card", REASON_RETRIES);
    ASSERT_STARTED(w, "next");
    assert_int_equal(core_queue_depth(w->core, 0), 0);
    ASSERT_WAKES_IN(w, TIME_NEVER);
    world_pass(w, DAYS(30));
    world_decide(w);
    ASSERT_STATE(w, "card", TASK_FAILED); /* failed never revives by itself */
}

TEST(f083_launch_that_fails_takes_the_backoff_of_a_failed_run) {
    WORLD(w, "agency");
    world_add(w, "card", (struct given){ .kind = "implement" });
    world_decide(w);
    for (unsigned retry = 1; retry <= 5; retry++) {
        world_ends(w, "card", OUTCOME_LAUNCH);
        ASSERT_STATE(w, "card", TASK_HELD);
        assert_backoff(world_view(w, "card").not_before - w->now, retry);
        ASSERT_PLACES(w, LEASE_RUNS, NULL, "0 of 1");
        world_sleep(w);
    }
    world_ends(w, "card", OUTCOME_LAUNCH);
    ASSERT_FAILED(w, "card", REASON_RETRIES);
}

TEST(f112_running_without_a_worker_fails_and_the_queue_goes_on) {
    WORLD(w, "agency");
    world_add(w, "gone",
              (struct given){ .kind = "implement", .state = TASK_RUNNING, .attempt = 1 });
    world_add(w, "next", (struct given){ .kind = "implement" });
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    world_ends(w, "gone", OUTCOME_LOST);
    ASSERT_FAILED(w, "gone", REASON_LOST);
    ASSERT_STARTED(w, "next");
}

TEST(f112_default_queues_a_lost_run_again_three_times) {
    WORLD(w, "sluice");
    world_add(w, "task", (struct given){ 0 });
    world_decide(w);
    for (int loss = 1; loss <= 3; loss++) {
        world_ends(w, "task", OUTCOME_LOST);
        ASSERT_STARTED(w, "task");
    }
    world_ends(w, "task", OUTCOME_LOST);
    ASSERT_FAILED(w, "task", REASON_LOST);
}

TEST(f140_retry_numbers_are_settings) {
    WORLD(w, "agency");
    world_set(w, "retry.failed.max", "2");
    world_set(w, "retry.failed.delay_s", "10");
    world_set(w, "retry.failed.factor", "3");
    world_set(w, "retry.failed.jitter", "0");
    world_set(w, "retry.failed.cap_s", "25");
    world_add(w, "card", (struct given){ .kind = "implement" });
    world_decide(w);
    world_ends(w, "card", OUTCOME_FAILED);
    ASSERT_HELD(w, "card", HOLD_BACKOFF, SECONDS(10));
    world_sleep(w);
    world_ends(w, "card", OUTCOME_FAILED);
    ASSERT_HELD(w, "card", HOLD_BACKOFF, SECONDS(25));
    world_sleep(w);
    world_ends(w, "card", OUTCOME_FAILED);
    ASSERT_FAILED(w, "card", REASON_RETRIES);
}

TEST(f144_late_and_double_ends_are_ignored) {
    WORLD(w, "agency");
    world_set(w, "retry.failed.delay_s", "0");
    world_set(w, "retry.failed.cap_s", "0");
    world_add(w, "card", (struct given){ .kind = "implement" });
    world_decide(w);
    world_ends(w, "card", OUTCOME_FAILED);
    ASSERT_STARTED(w, "card"); /* attempt 2 */
    struct fact late = { .kind = FACT_RUN_ENDED, .task = world_number(w, "card"), .attempt = 1 };
    late.ended.outcome = OUTCOME_OK;
    assert_int_equal(world_apply(w, &late), 1);
    ASSERT_STATE(w, "card", TASK_STARTING);
    world_end(w, "card", OUTCOME_OK, -1);
    late.attempt = 2;
    assert_int_equal(world_apply(w, &late), 1);
    ASSERT_STATE(w, "card", TASK_DONE);
}
