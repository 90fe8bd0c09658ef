/* test_locks.c: limits of one: a card, a phase, a workspace.
 *
 * Rows 60-62, 65, 66, 80, 85, 95, 106, 157, 161 and the traps T6, T7. */
#include <errno.h>
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

static struct given card(const char *kind, const char *phase) {
    return (struct given){ .kind = kind, .phase = phase };
}

/* Many places, so that only locks stop anything. */
static void open_caps(struct world *w) {
    world_set(w, "limits.runs", "20");
    world_set(w, "kinds.implement.max_running", "20");
    world_set(w, "kinds.review.max_running", "20");
}

/* --- one run per card ------------------------------------------------------------------------ */

TEST(f060_card_that_is_there_is_refused_and_runs_once) {
    WORLD(w, "agency");
    open_caps(w);
    world_add(w, "card", card("implement", "phase-1"));
    assert_int_equal(world_try_add(w, "card", card("implement", "phase-1"), NULL), -EEXIST);
    world_decide(w);
    ASSERT_STARTED(w, "card");
    assert_int_equal(world_try_add(w, "card", card("implement", "phase-1"), NULL), -EEXIST);
    assert_int_equal(world_try(w, FACT_SLING, "card"), 1);
    world_decide(w);
    ASSERT_NONE_STARTED(w);
}

TEST(f080_card_stays_locked_while_it_backs_off) {
    WORLD(w, "agency");
    world_add(w, "card", card("implement", "phase-1"));
    world_decide(w);
    world_ends(w, "card", OUTCOME_FAILED);
    ASSERT_STATE(w, "card", TASK_HELD);
    assert_int_equal(world_try_add(w, "card", card("implement", "phase-1"), NULL), -EEXIST);
    world_decide(w);
    ASSERT_NONE_STARTED(w); /* a user's run cannot collide with the one that comes */
    ASSERT_BLOCKED(w, "card", "held");
}

TEST(t07_card_is_kept_in_backoff_phase_and_places_are_not) {
    WORLD(w, "agency");
    world_add(w, "fails", card("implement", "phase-1"));
    world_add(w, "next", card("implement", "phase-1"));
    world_decide(w);
    ASSERT_STARTED(w, "fails");
    world_ends(w, "fails", OUTCOME_LAUNCH); /* a launch that fails at once, as the text has it */
    ASSERT_STATE(w, "fails", TASK_HELD);
    ASSERT_STARTED(w, "next");
    world_pass(w, MINUTES(5)); /* its time has come, but the phase is taken now */
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "fails", "lease:serial:main/phase-1/implement");
    world_ends(w, "next", OUTCOME_OK);
    ASSERT_STARTED(w, "fails");
}

TEST(f085_finish_gives_card_phase_and_places_back_and_drains_at_once) {
    static const struct {
        enum outcome outcome;
        enum task_state after;
    } rows[] = { { OUTCOME_OK, TASK_DONE },
                 { OUTCOME_FAILED, TASK_FAILED },
                 { OUTCOME_CANCELED, TASK_CANCELED } };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        WORLD(w, "agency");
        struct given given = card("implement", "phase-1");
        given.retries = -1;
        world_add(w, "card", given);
        world_add(w, "next", card("implement", "phase-1"));
        world_decide(w);
        world_ends(w, "card", rows[i].outcome);
        ASSERT_STATE(w, "card", rows[i].after);
        ASSERT_STARTED(w, "next");
        ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 1");
        ASSERT_PLACES(w, LEASE_KIND, "implement", "1 of 1");
        ASSERT_WAKES_IN(w, TIME_NEVER); /* no timer is left */
    }
}

/* --- one per phase and flow ------------------------------------------------------------------ */

TEST(f061_one_at_a_time_in_a_phase_and_flow_by_default) {
    WORLD(w, "agency");
    open_caps(w);
    world_add(w, "one", card("implement", "phase-1"));
    world_add(w, "two", card("implement", "phase-1"));
    world_add(w, "other flow", card("review", "phase-1"));
    world_add(w, "other phase", card("implement", "phase-2"));
    struct given elsewhere = card("implement", "phase-1");
    elsewhere.project = "other";
    world_add(w, "other project", elsewhere);
    world_decide(w);
    ASSERT_STARTED(w, "one", "other flow", "other phase", "other project");
    ASSERT_BLOCKED(w, "two", "lease:serial:main/phase-1/implement");
    world_ends(w, "one", OUTCOME_OK);
    ASSERT_STARTED(w, "two");
}

TEST(f061_cards_without_phase_share_one) {
    WORLD(w, "agency");
    open_caps(w);
    world_add(w, "one", card("implement", NULL));
    world_add(w, "two", card("implement", NULL));
    world_decide(w);
    ASSERT_STARTED(w, "one");
    ASSERT_BLOCKED(w, "two", "lease:serial:main/-/implement");
}

TEST(f062_f157_parallelizable_is_limited_by_caps_alone) {
    WORLD(w, "agency");
    open_caps(w);
    struct given parallel = card("implement", "phase-1");
    parallel.parallel = YES;
    world_add(w, "serial", card("implement", "phase-1"));
    world_add(w, "parallel 1", parallel);
    world_add(w, "parallel 2", parallel);
    world_decide(w); /* it neither waits for the phase nor takes it */
    ASSERT_STARTED(w, "serial", "parallel 1", "parallel 2");
    world_set(w, "kinds.implement.max_running", "unlimited"); /* no cap for the flow: the global */
    world_set(w, "limits.runs", "4");
    world_add(w, "parallel 3", parallel);
    world_add(w, "parallel 4", parallel);
    world_decide(w);
    ASSERT_STARTED(w, "parallel 3");
    ASSERT_BLOCKED(w, "parallel 4", "lease:runs");
}

TEST(f062_phase_is_looked_at_before_the_caps_and_both_must_be_free) {
    WORLD(w, "agency");
    world_set(w, "limits.runs", "2");
    world_set(w, "kinds.implement.max_running", "2");
    world_add(w, "one", card("implement", "phase-1"));
    world_add(w, "two", card("implement", "phase-1"));
    world_add(w, "three", card("implement", "phase-2"));
    world_decide(w);
    ASSERT_STARTED(w, "one", "three");
    ASSERT_BLOCKED(w, "two", "lease:serial:main/phase-1/implement");
    world_set(w, "limits.runs", "1");
    world_ends(w, "one", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "two", "lease:runs"); /* the phase is free now, a place is not */
    world_ends(w, "three", OUTCOME_OK);
    ASSERT_STARTED(w, "two");
}

TEST(t06_phase_is_taken_at_dispatch_not_at_enqueue) {
    WORLD(w, "agency");
    open_caps(w);
    world_add(w, "waits",
              (struct given){ .kind = "implement", .phase = "phase-1", .after = { "never" } });
    world_add(w, "second", card("implement", "phase-1"));
    world_decide(w);
    ASSERT_STARTED(w, "second");                         /* a queued card excludes no other task */
    world_add(w, "third", card("implement", "phase-1")); /* and many may be queued */
    world_add(w, "fourth", card("implement", "phase-1"));
    world_decide(w);
    ASSERT_BLOCKED(w, "third", "lease:serial:main/phase-1/implement");
    ASSERT_BLOCKED(w, "fourth", "lease:serial:main/phase-1/implement");
}

TEST(f095_drain_passes_over_what_a_phase_stops) {
    WORLD(w, "agency");
    world_set(w, "limits.runs", "2");
    world_set(w, "kinds.implement.max_running", "2");
    world_add(w, "runs", card("implement", "phase-1"));
    world_add(w, "blocked", card("implement", "phase-1"));
    world_add(w, "blocked too", card("implement", "phase-1"));
    world_add(w, "behind them", card("implement", "phase-2"));
    world_add(w, "no place", card("implement", "phase-3"));
    world_decide(w);
    ASSERT_STARTED(w, "runs", "behind them");
    world_ends(w, "behind them", OUTCOME_OK);
    ASSERT_STARTED(w, "no place");
    world_ends(w, "runs", OUTCOME_OK);
    ASSERT_STARTED(w, "blocked");
}

TEST(f106_enqueue_locks_queues_and_drains_in_one_turn) {
    WORLD(w, "agency");
    world_add(w, "card", card("implement", "phase-1"));
    assert_int_equal(core_queue_depth(w->core, 0), 1);
    world_decide(w);
    ASSERT_STARTED(w, "card");
    assert_int_equal(core_queue_depth(w->core, 0), 0);
}

/* --- workspaces ------------------------------------------------------------------------------ */

TEST(f065_no_free_workspace_stops_a_project_and_no_number_no_check) {
    WORLD(w, "agent-queue");
    world_set(w, "projects.A.workspaces", "2");
    for (int i = 1; i <= 3; i++) {
        world_add(w, world_text(w, "A%d", i), (struct given){ .project = "A" });
        world_add(w, world_text(w, "B%d", i), (struct given){ .project = "B" });
    }
    world_decide(w);
    ASSERT_START_COUNT(w, 5);
    ASSERT_BLOCKED(w, "A3", "lease:workspaces:A");
    world_ends(w, "A1", OUTCOME_OK);
    ASSERT_STARTED(w, "A3");
}

TEST(f065_worktree_stays_with_its_task_until_that_is_final) {
    WORLD(w, "agent-queue");
    world_set(w, "projects.A.workspace_mode", "worktree");
    world_set(w, "projects.A.workspaces", "1");
    world_add(w, "A1", (struct given){ .project = "A" });
    world_add(w, "A2", (struct given){ .project = "A" });
    world_decide(w);
    world_ends(w, "A1", OUTCOME_FAILED);
    ASSERT_STATE(w, "A1", TASK_HELD);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "A2", "lease:workspaces:A");
    world_sleep(w);
    ASSERT_STARTED(w, "A1");
    world_ends(w, "A1", OUTCOME_OK);
    ASSERT_STARTED(w, "A2");
}

TEST(f066_task_waits_while_the_workspace_it_wants_is_locked) {
    WORLD(w, "agent-queue");
    world_workspace(w, "ws-1", "someone else");
    world_add(w, "picky", (struct given){ .workspace = "ws-1", .priority = 1 });
    world_add(w, "easy", (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "easy");
    ASSERT_BLOCKED(w, "picky", "lease:workspace:ws-1");
    world_workspace(w, "ws-1", NULL);
    world_decide(w);
    ASSERT_STARTED(w, "picky");
    assert_string_equal(symbol_name(core_symbols(w->core), world_start(w, 0)->workspace), "ws-1");
}

TEST(f161_lock_names_the_task_and_null_is_free) {
    WORLD(w, "agent-queue");
    world_workspace(w, "locked by it", "owner");
    world_workspace(w, "free", NULL);
    world_add(w, "stranger", (struct given){ .workspace = "locked by it" });
    world_add(w, "owner", (struct given){ .workspace = "locked by it" });
    world_add(w, "other", (struct given){ .workspace = "free" });
    world_add(w, "unlisted", (struct given){ .workspace = "never heard of" });
    world_decide(w);
    ASSERT_STARTED(w, "owner", "other", "unlisted");
    ASSERT_BLOCKED(w, "stranger", "lease:workspace:locked by it");
    struct verdict verdict;
    assert_true(core_blocked(w->core, world_number(w, "stranger"), &verdict));
    assert_string_equal(world_name(w, verdict.about), "owner");
}
