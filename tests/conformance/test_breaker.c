/* test_breaker.c: what cannot be launched is not launched for ever.
 *
 * Rows 9, 84, 144 and trap T17. Under `gastown` the third failure in a row ends it until someone acts;
 * the default holds it for a while and tries once more. */
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

/* --- document 002 ---------------------------------------------------------------------------- */

TEST(f084_third_launch_failure_in_a_row_breaks_for_good) {
    WORLD(w, "gastown");
    world_add(w, "bead", (struct given){ 0 });
    world_decide(w);
    for (unsigned failure = 1; failure <= 2; failure++) {
        world_ends(w, "bead", OUTCOME_LAUNCH);
        assert_int_equal(world_view(w, "bead").launch_failures, failure);
        ASSERT_STARTED(w, "bead"); /* stays scheduled, tried again in the next cycle */
    }
    world_ends(w, "bead", OUTCOME_LAUNCH);
    ASSERT_FAILED(w, "bead", REASON_BREAKER);
    ASSERT_WAKES_IN(w, TIME_NEVER); /* no reset by itself */
    world_pass(w, DAYS(365));
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    world_apply_kind(w, FACT_RETRY, "bead"); /* someone acts */
    world_decide(w);
    ASSERT_STARTED(w, "bead");
    assert_int_equal(world_view(w, "bead").launch_failures, 0);
}

TEST(f084_broken_work_is_skipped_and_the_others_go_on) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "1");
    world_add(w, "broken", (struct given){ .launch_failures = 2, .attempt = 2 });
    world_add(w, "good", (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "broken");
    world_ends(w, "broken", OUTCOME_LAUNCH);
    ASSERT_FAILED(w, "broken", REASON_BREAKER);
    world_tick(w);
    world_decide(w);
    ASSERT_STARTED(w, "good");
}

TEST(f084_launch_that_works_closes_the_count) {
    WORLD(w, "gastown");
    world_add(w, "bead", (struct given){ .launch_failures = 2, .attempt = 2 });
    world_decide(w);
    world_ends(w, "bead", OUTCOME_FAILED); /* it ran, and failed: not the breaker's business */
    assert_int_equal(world_view(w, "bead").launch_failures, 0);
    ASSERT_STATE(w, "bead", TASK_HELD);
}

TEST(f084_next_cycle_is_the_next_tick_when_work_is_deferred) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "5");
    world_add(w, "bead", (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "bead");
    world_ends(w, "bead", OUTCOME_LAUNCH);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "bead", "pace");
    ASSERT_WAKES_IN(w, MINUTES(3));
    world_sleep(w);
    ASSERT_STARTED(w, "bead");
}

TEST(f009_scheduled_work_ends_as_dispatched_broken_or_cleared) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "0"); /* direct */
    world_add(w, "dispatched", (struct given){ .state = TASK_DRAFT });
    world_apply_kind(w, FACT_SLING, "dispatched");
    ASSERT_STATE(w, "dispatched", TASK_READY);
    world_decide(w);
    ASSERT_STATE(w, "dispatched", TASK_STARTING);
    world_add(w, "broken", (struct given){ .launch_failures = 2, .attempt = 2 });
    world_decide(w);
    world_ends(w, "broken", OUTCOME_LAUNCH);
    ASSERT_FAILED(w, "broken", REASON_BREAKER);
    world_add(w, "cleared", (struct given){ 0 });
    world_apply_kind(w, FACT_CLEAR, "cleared");
    ASSERT_STATE(w, "cleared", TASK_DRAFT);
    world_decide(w);
    ASSERT_NONE_STARTED(w);
}

TEST(f144_success_closes_and_failure_counts_once) {
    WORLD(w, "gastown");
    world_add(w, "bead", (struct given){ 0 });
    world_decide(w);
    world_ends(w, "bead", OUTCOME_LAUNCH);
    assert_int_equal(world_view(w, "bead").launch_failures, 1);
    ASSERT_STATE(w, "bead", TASK_STARTING);
    world_ends(w, "bead", OUTCOME_OK);
    ASSERT_STATE(w, "bead", TASK_DONE);
    assert_int_equal(world_view(w, "bead").launch_failures, 0);
}

TEST(t17_worker_that_starts_and_dies_is_not_invisible) {
    WORLD(w, "gastown");
    world_add(w, "bead", (struct given){ 0 });
    world_decide(w);
    int runs = 0;
    while (w->started == 1 && runs < 100) { /* it dies every time; the breaker does not count it */
        runs++;
        world_ends(w, "bead", OUTCOME_FAILED);
        assert_int_equal(world_view(w, "bead").launch_failures, 0);
        if (world_view(w, "bead").state == TASK_HELD)
            world_sleep(w);
    }
    assert_int_equal(runs, 6); /* but the row for failed runs does */
    ASSERT_FAILED(w, "bead", REASON_RETRIES);
}

/* --- the default ------------------------------------------------------------------------------ */

TEST(f084_default_holds_30_minutes_and_doubles_up_to_a_day) {
    WORLD(w, "sluice");
    static const int minutes[] = { 30, 60, 120, 240, 480, 960, 1440, 1440 };
    world_add(w, "task", (struct given){ 0 });
    world_decide(w);
    world_ends(w, "task", OUTCOME_LAUNCH);
    world_ends(w, "task", OUTCOME_LAUNCH);
    for (size_t i = 0; i < ARRAY_SIZE(minutes); i++) {
        ASSERT_STARTED(w, "task");
        world_ends(w, "task", OUTCOME_LAUNCH); /* the third, and then each single one */
        ASSERT_HELD(w, "task", HOLD_BREAKER, MINUTES(minutes[i]));
        ASSERT_BLOCKED(w, "task", "breaker");
        world_sleep(w);
    }
}

TEST(f084_default_closes_the_breaker_when_an_attempt_lives) {
    WORLD(w, "sluice");
    world_add(w, "task", (struct given){ .launch_failures = 2, .attempt = 2 });
    world_decide(w);
    world_ends(w, "task", OUTCOME_LAUNCH);
    ASSERT_STATE(w, "task", TASK_HELD);
    world_sleep(w);
    world_ends(w, "task", OUTCOME_FAILED);
    world_sleep(w);
    for (int failure = 1; failure <= 2; failure++) {
        world_ends(w, "task", OUTCOME_LAUNCH);
        ASSERT_STARTED(w, "task");
    }
    world_ends(w, "task", OUTCOME_LAUNCH);
    ASSERT_HELD(w, "task", HOLD_BREAKER, MINUTES(30)); /* from the beginning again */
}

TEST(f084_default_closes_an_agent_that_fails_for_everyone) {
    WORLD(w, "sluice");
    for (int i = 1; i <= 7; i++)
        world_add(w, world_text(w, "task%d", i), (struct given){ .agent = "claude" });
    world_add(w, "other", (struct given){ .agent = "codex" });
    world_decide(w);
    ASSERT_START_COUNT(w, 8);
    for (int i = 1; i <= 5; i++)
        world_end(w, world_text(w, "task%d", i), OUTCOME_LAUNCH, -1);
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "task1", "breaker");
    ASSERT_BLOCKED(w, "task5", "breaker");
    assert_int_equal(world_view(w, "task1").launch_failures, 1);
    assert_int_equal(world_view(w, "task5").launch_failures, 0); /* the agent's, not the task's */
    world_end(w, "task6", OUTCOME_LAUNCH, -1);
    assert_int_equal(world_view(w, "task6").launch_failures, 0);
    world_add(w, "for codex", (struct given){ .agent = "codex" });
    world_decide(w);
    ASSERT_STARTED(w, "for codex");
    ASSERT_WAKES_IN(w, MINUTES(30));
    world_ends(w, "task7", OUTCOME_OK); /* it works after all */
    ASSERT_START_COUNT(w, 6);
}
