/* test_pace.c: when a decision is made, and how much it may start.
 *
 * Rows 55-57, 87, 88, 91-94, 107, 123, 124, 126, 151 and trap T5. */
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

static void add_tasks(struct world *w, const char *prefix, int count, struct given given) {
    for (int i = 1; i <= count; i++)
        world_add(w, world_text(w, "%s%d", prefix, i), given);
}

/* --- direct or deferred ----------------------------------------------------------------------- */

TEST(f055_t05_no_cap_0_and_minus_1_dispatch_at_once) {
    static const char *const direct[] = { NULL, "0", "-1", "unlimited" };
    for (size_t i = 0; i < ARRAY_SIZE(direct); i++) {
        WORLD(w, "gastown");
        if (direct[i])
            world_set(w, "limits.runs", direct[i]);
        add_tasks(w, "bead", 9, (struct given){ .state = TASK_DRAFT });
        for (int n = 1; n <= 9; n++)
            world_apply_kind(w, FACT_SLING, world_text(w, "bead%d", n));
        world_decide(w);
        ASSERT_START_COUNT(w, 9);
    }
}

TEST(f055_t05_other_reading_of_0_is_the_pause) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "0"); /* "disabled", says one table: that is what pause is for */
    world_pause(w);
    world_add(w, "bead", (struct given){ 0 });
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "bead", "paused");
}

TEST(f055_a_cap_defers_the_same_sling_to_the_ticks) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "5");
    add_tasks(w, "bead", 3, (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "bead1");
    ASSERT_BLOCKED(w, "bead2", "pace");
    world_set(w, "limits.runs", "-1"); /* the mode changes with the setting, in the same turn */
    world_decide(w);
    ASSERT_STARTED(w, "bead2", "bead3");
}

TEST(f056_least_of_free_places_batch_and_ready_work) {
    static const struct {
        const char *places, *batch;
        int active, ready;
        size_t starts;
    } rows[] = {
        { "5", "10", 3, 9, 2 }, /* places */
        { "9", "3", 2, 9, 3 },  /* batch */
        { "9", "10", 2, 4, 4 }, /* ready work */
        { "5", "10", 5, 9, 0 }, /* no place */
        { "5", "10", 8, 9, 0 }, /* less than none */
        { "5", "1", 0, 9, 1 },  /* the default batch */
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        WORLD(w, "gastown");
        world_set(w, "limits.runs", rows[i].places);
        world_set(w, "pace.batch", rows[i].batch);
        world_external(w, "main", (unsigned)rows[i].active);
        add_tasks(w, "bead", rows[i].ready, (struct given){ 0 });
        world_decide(w);
        ASSERT_START_COUNT(w, rows[i].starts);
    }
}

TEST(f057_one_per_tick_and_no_delay_by_default) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "10");
    add_tasks(w, "bead", 4, (struct given){ 0 });
    world_decide(w);
    for (int i = 1; i <= 3; i++) {
        ASSERT_STARTED(w, world_text(w, "bead%d", i));
        world_decide(w); /* looking again starts nothing before its time */
        ASSERT_NONE_STARTED(w);
        ASSERT_WAKES_IN(w, MINUTES(3));
        world_sleep(w);
    }
    ASSERT_STARTED(w, "bead4");
}

TEST(f057_spawn_delay_lies_between_two_starts) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "10");
    world_set(w, "pace.batch", "3");
    world_set(w, "pace.spawn_delay_s", "5");
    add_tasks(w, "bead", 4, (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "bead1");
    ASSERT_BLOCKED(w, "bead2", "pace");
    ASSERT_WAKES_IN(w, SECONDS(5));
    world_sleep(w);
    ASSERT_STARTED(w, "bead2");
    world_sleep(w);
    ASSERT_STARTED(w, "bead3");
    ASSERT_WAKES_IN(w, MINUTES(3) - SECONDS(10)); /* the batch is over: the next tick */
    world_sleep(w);
    ASSERT_STARTED(w, "bead4");
}

TEST(f088_tick_every_three_minutes_only_while_something_waits) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "10");
    world_decide(w);
    ASSERT_WAKES_IN(w, TIME_NEVER);
    world_add(w, "bead1", (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "bead1"); /* nothing waited: no reason to wait for a tick */
    ASSERT_WAKES_IN(w, TIME_NEVER);
    world_pass(w, MINUTES(2));
    world_add(w, "bead2", (struct given){ 0 });
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_WAKES_IN(w, MINUTES(1));
    world_sleep(w);
    ASSERT_STARTED(w, "bead2");
}

TEST(f126_batch_delay_and_cap_change_at_run_time) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "10");
    add_tasks(w, "bead", 20, (struct given){ 0 });
    world_decide(w);
    ASSERT_START_COUNT(w, 1);
    world_set(w, "pace.batch", "4");
    world_decide(w);
    ASSERT_START_COUNT(w, 3); /* this tick may start four now */
    world_set(w, "limits.runs", "5");
    world_sleep(w);
    ASSERT_START_COUNT(w, 1);
    world_set(w, "pace.tick_s", "10");
    world_set(w, "limits.runs", "20");
    world_decide(w);
    ASSERT_START_COUNT(w, 3);
    ASSERT_WAKES_IN(w, SECONDS(10));
}

TEST(f107_few_go_directly_many_are_capped) {
    WORLD(w, "gastown");
    add_tasks(w, "small", 4, (struct given){ .group = 1 });
    world_decide(w);
    ASSERT_START_COUNT(w, 4);
    world_set(w, "limits.runs", "6");
    add_tasks(w, "large", 12, (struct given){ .group = 2 });
    size_t most = 0;
    for (int tick = 0; tick < 20; tick++) {
        world_pass(w, MINUTES(3));
        world_decide(w);
        assert_true(w->started <= 1);
        most += w->started;
    }
    assert_int_equal(most, 2); /* four small ones run: two places were left */
}

TEST(f151_direct_dispatch_waits_for_nothing) {
    WORLD(w, "gastown");
    world_set(w, "pace.spawn_delay_s", "60");
    world_set(w, "pace.batch", "1");
    for (int i = 1; i <= 5; i++) {
        const char *name = world_text(w, "bead%d", i);
        world_add(w, name, (struct given){ 0 });
        world_decide(w);
        ASSERT_STARTED(w, name); /* in the turn in which it came, whatever the pace says */
        ASSERT_WAKES_IN(w, TIME_NEVER);
    }
}

TEST(f123_asked_for_a_tick_dispatches_now) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "5");
    add_tasks(w, "bead", 3, (struct given){ 0 });
    world_decide(w);
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    world_tick(w);
    world_decide(w);
    ASSERT_STARTED(w, "bead2");
    world_decide(w);
    ASSERT_NONE_STARTED(w); /* once */
}

TEST(f124_pause_stops_every_dispatch_and_resume_goes_on) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "5");
    world_add(w, "running", (struct given){ .state = TASK_RUNNING, .attempt = 1 });
    world_pause(w);
    add_tasks(w, "bead", 2, (struct given){ .project = "rig a" });
    add_tasks(w, "other", 2, (struct given){ .project = "rig b" });
    world_decide(w);
    world_tick(w); /* not even on request */
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "bead1", "paused");
    ASSERT_BLOCKED(w, "other2", "paused");
    ASSERT_WAKES_IN(w, TIME_NEVER);
    world_ends(w, "running", OUTCOME_OK); /* what runs ends as ever */
    ASSERT_STATE(w, "running", TASK_DONE);
    world_pass(w, HOURS(1));
    world_resume(w);
    world_decide(w);
    ASSERT_STARTED(w, "bead1");
}

TEST(f091_plan_says_what_goes_what_is_skipped_and_why) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "2");
    world_set(w, "pace.batch", "2");
    world_external(w, "main", 1);
    add_tasks(w, "bead", 2, (struct given){ 0 });
    world_add(w, "blocked", (struct given){ .after = { "bead2" } });
    world_decide(w);
    ASSERT_STARTED(w, "bead1");
    ASSERT_BLOCKED(w, "bead2", "lease:runs");   /* capacity */
    ASSERT_BLOCKED(w, "blocked", "dependency"); /* not ready */
    world_set(w, "limits.runs", "9");
    world_set(w, "pace.batch", "1");
    world_decide(w);
    ASSERT_BLOCKED(w, "bead2", "pace"); /* batch */
    world_apply_kind(w, FACT_ORDER_REFUSED, "bead1");
    world_decide(w);
    ASSERT_STARTED(w, "bead1"); /* an order that was not carried out is not counted */
}

/* --- no polling ------------------------------------------------------------------------------ */

TEST(f087_idle_core_sleeps_until_something_happens) {
    WORLD(w, "loopr");
    world_decide(w);
    ASSERT_WAKES_IN(w, TIME_NEVER);
    world_set(w, "limits.runs", "1");
    add_tasks(w, "leaf", 3, (struct given){ .kind = "ralph" });
    world_decide(w);
    ASSERT_START_COUNT(w, 1);
    ASSERT_WAKES_IN(w, TIME_NEVER); /* only the end of a run can change anything */
    world_hold(w, "leaf2", MINUTES(7));
    ASSERT_WAKES_IN(w, MINUTES(7));
    world_hold(w, "leaf3", MINUTES(4));
    ASSERT_WAKES_IN(w, MINUTES(4));
    world_sleep(w);
    ASSERT_STATE(w, "leaf3", TASK_READY);
    ASSERT_WAKES_IN(w, MINUTES(3));
}

TEST(f087_poll_fills_every_free_place_in_one_pass) {
    WORLD(w, "loopr");
    add_tasks(w, "leaf", 30, (struct given){ .kind = "ralph" });
    world_decide(w);
    ASSERT_START_COUNT(w, 30);
    add_tasks(w, "more", 10, (struct given){ .kind = "ralph" });
    world_decide(w); /* and not a second later: an event need not wait for the poll */
    ASSERT_START_COUNT(w, 10);
}

TEST(f092_enqueue_finish_and_cap_change_drain_at_once) {
    WORLD(w, "agency");
    add_tasks(w, "card", 3, (struct given){ .kind = "implement", .parallel = YES });
    world_decide(w);
    ASSERT_STARTED(w, "card1"); /* enqueue */
    world_ends(w, "card1", OUTCOME_OK);
    ASSERT_STARTED(w, "card2"); /* finish */
    world_set(w, "limits.runs", "2");
    world_set(w, "kinds.implement.max_running", "2");
    world_decide(w);
    ASSERT_STARTED(w, "card3"); /* cap change */
}

TEST(f094_finished_run_leaves_and_the_next_in_line_is_promoted) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "2");
    add_tasks(w, "task", 5, (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "task1", "task2");
    world_ends(w, "task2", OUTCOME_OK);
    ASSERT_STARTED(w, "task3");
    world_end(w, "task1", OUTCOME_OK, -1);
    world_end(w, "task3", OUTCOME_OK, -1);
    world_decide(w);
    ASSERT_STARTED(w, "task4", "task5");
}
