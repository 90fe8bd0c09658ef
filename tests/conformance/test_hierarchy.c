/* test_hierarchy.c: what becomes of those below a task.
 *
 * Rows 1, 25, 26, 78, 147, 148. When a child may start at all: test_readiness.c. */
#include <errno.h>
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

/* plan → spec → phase → ralph, each done or waiting as it comes. */
static void add_tree(struct world *w) {
    world_add(w, "plan", (struct given){ .kind = "plan" });
    world_add(w, "spec", (struct given){ .kind = "spec", .parent = "plan" });
    world_add(w, "phase", (struct given){ .kind = "phase", .parent = "spec" });
    world_add(w, "ralph", (struct given){ .kind = "ralph", .parent = "phase" });
}

/* Ends what runs, level by level, until `last` is done. */
static void finish_down_to(struct world *w, const char *last) {
    static const char *const levels[] = { "plan", "spec", "phase", "ralph" };
    world_decide(w);
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        world_ends(w, levels[i], OUTCOME_OK);
        if (strcmp(levels[i], last) == 0)
            return;
    }
}

TEST(f001_plan_spec_phase_ralph_run_one_level_after_the_other) {
    WORLD(w, "loopr");
    add_tree(w);
    world_decide(w);
    ASSERT_STARTED(w, "plan");
    world_ends(w, "plan", OUTCOME_OK);
    ASSERT_STARTED(w, "spec");
    world_ends(w, "spec", OUTCOME_OK);
    ASSERT_STARTED(w, "phase");
    world_ends(w, "phase", OUTCOME_OK);
    ASSERT_STARTED(w, "ralph");
    world_ends(w, "ralph", OUTCOME_OK);
    ASSERT_STATE(w, "ralph", TASK_DONE);
}

TEST(f001_task_cannot_be_its_own_ancestor) {
    WORLD(w, "loopr");
    assert_int_equal(world_try_add(w, "a", (struct given){ .parent = "a" }, NULL), -ELOOP);
    world_add(w, "child", (struct given){ .parent = "parent" });
    assert_int_equal(world_try_add(w, "parent", (struct given){ .parent = "child" }, NULL), -ELOOP);
}

/* --- orphans --------------------------------------------------------------------------------- */

TEST(f025_deleted_parent_fails_all_descendants) {
    WORLD(w, "loopr");
    add_tree(w);
    world_add(w, "bystander", (struct given){ .kind = "ralph" });
    world_apply_kind(w, FACT_DELETE, "plan");
    world_decide(w);
    ASSERT_BECAME(w, TASK_FAILED, "spec", "phase", "ralph");
    ASSERT_FAILED(w, "spec", REASON_ORPHANED);
    ASSERT_FAILED(w, "ralph", REASON_ORPHANED);
    ASSERT_STARTED(w, "bystander");
}

TEST(f025_running_descendant_is_stopped_and_fails_whatever_its_end) {
    WORLD(w, "loopr");
    add_tree(w);
    finish_down_to(w, "phase");
    ASSERT_STARTED(w, "ralph");
    world_apply_kind(w, FACT_RUN_STARTED, "ralph");
    world_apply_kind(w, FACT_DELETE, "plan");
    world_decide(w);
    ASSERT_STOPPED(w, "ralph");
    ASSERT_STATE(w, "ralph", TASK_RUNNING);
    ASSERT_PLACES(w, LEASE_KIND, "ralph", "1 of 50"); /* held until the process is gone */
    ASSERT_STATE(w, "phase", TASK_DONE);              /* what is final stays */
    world_ends(w, "ralph", OUTCOME_OK);
    ASSERT_FAILED(w, "ralph", REASON_ORPHANED);
    ASSERT_PLACES(w, LEASE_KIND, "ralph", "0 of 50");
}

/* Its parent is not there, and will never be done. */
TEST(f025_retried_orphan_runs_without_its_parent) {
    WORLD(w, "loopr");
    add_tree(w);
    world_apply_kind(w, FACT_DELETE, "plan");
    world_apply_kind(w, FACT_RETRY, "spec");
    world_apply_kind(w, FACT_RETRY, "phase");
    world_decide(w);
    ASSERT_STARTED(w, "spec");
    ASSERT_BLOCKED(w, "phase", "parent");
    world_ends(w, "spec", OUTCOME_OK);
    ASSERT_STARTED(w, "phase");
}

TEST(f025_live_task_cannot_be_deleted) {
    WORLD(w, "loopr");
    add_tree(w);
    world_decide(w);
    assert_int_equal(world_try(w, FACT_DELETE, "plan"), -EBUSY);
    ASSERT_STATE(w, "spec", TASK_WAITING);
}

/* --- a new iteration of the parent ------------------------------------------------------------ */

TEST(f026_children_of_an_older_iteration_are_invalidated_deepest_first) {
    WORLD(w, "loopr");
    add_tree(w);
    finish_down_to(w, "spec");
    world_add(w, "second phase", (struct given){ .kind = "phase", .parent = "spec" });
    world_ends(w, "phase", OUTCOME_OK);
    world_ends(w, "ralph", OUTCOME_OK); /* the deepest is done already: also that is void */
    world_ends(w, "second phase", OUTCOME_OK);
    world_apply_kind(w, FACT_AGAIN, "plan");
    world_decide(w);
    ASSERT_BECAME(w, TASK_INVALIDATED, "ralph", "phase", "second phase", "spec");
    ASSERT_REASON(w, "spec", REASON_INVALIDATED);
    ASSERT_STARTED(w, "plan");
    assert_int_equal(world_view(w, "plan").iteration, 2);
}

TEST(f026_new_children_come_from_the_new_artifact) {
    WORLD(w, "loopr");
    add_tree(w);
    finish_down_to(w, "plan");
    world_ends(w, "spec", OUTCOME_OK);
    world_apply_kind(w, FACT_AGAIN, "plan");
    world_decide(w);
    world_ends(w, "plan", OUTCOME_OK);
    world_add(w, "stale",
              (struct given){ .kind = "spec", .parent = "plan", .parent_iteration = 1 });
    world_add(w, "fresh",
              (struct given){ .kind = "spec", .parent = "plan", .parent_iteration = 2 });
    ASSERT_STATE(w, "stale", TASK_INVALIDATED); /* made from what is replaced */
    world_decide(w);
    ASSERT_STARTED(w, "fresh");
}

TEST(f026_failed_validation_is_a_new_iteration_too) {
    WORLD(w, "loopr");
    world_add(w, "plan", (struct given){ .kind = "plan" });
    world_decide(w);
    world_add(w, "early child", (struct given){ .kind = "spec", .parent = "plan" });
    world_ends(w, "plan", OUTCOME_INVALID);
    ASSERT_STATE(w, "early child", TASK_INVALIDATED);
    assert_int_equal(world_view(w, "plan").iteration, 2);
}

TEST(f026_running_child_stops_gracefully_and_its_success_does_not_count) {
    WORLD(w, "loopr");
    add_tree(w);
    finish_down_to(w, "plan");
    world_apply_kind(w, FACT_RUN_STARTED, "spec");
    world_apply_kind(w, FACT_AGAIN, "plan");
    world_decide(w);
    ASSERT_STOPPED(w, "spec");
    ASSERT_STATE(w, "spec", TASK_RUNNING);
    ASSERT_STATE(w, "ralph", TASK_INVALIDATED);
    world_ends(w, "spec", OUTCOME_OK);
    ASSERT_STATE(w, "spec", TASK_INVALIDATED);
}

TEST(f026_retry_limit_and_loss_are_no_new_iteration) {
    WORLD(w, "loopr");
    world_set(w, "loop.failed", "failed"); /* the document itself knows only iterations */
    world_add(w, "plan", (struct given){ .kind = "plan" });
    world_decide(w);
    world_add(w, "child", (struct given){ .kind = "spec", .parent = "plan" });
    world_ends(w, "plan", OUTCOME_FAILED);
    world_sleep(w);
    world_ends(w, "plan", OUTCOME_LIMITED);
    world_ends(w, "plan", OUTCOME_LOST);
    assert_int_equal(world_view(w, "plan").iteration, 1);
    ASSERT_STATE(w, "child", TASK_WAITING);
}

TEST(f026_children_that_run_beside_their_parent_stay) {
    WORLD(w, "conductor");
    world_add(w, "root", (struct given){ 0 });
    world_decide(w);
    world_add(w, "child", (struct given){ .parent = "root" });
    world_decide(w);
    ASSERT_STARTED(w, "child");
    world_ends(w, "root", OUTCOME_UNFINISHED); /* restarted: it finds its child at work */
    ASSERT_STATE(w, "child", TASK_STARTING);
    assert_int_equal(world_view(w, "root").iteration, 2);
}

/* --- draining -------------------------------------------------------------------------------- */

TEST(f078_finished_task_waits_for_active_children) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "1");
    world_set(w, "limits.runs", "2");
    world_add(w, "root", (struct given){ 0 });
    world_decide(w);
    world_add(w, "child", (struct given){ .parent = "root" });
    world_decide(w);
    world_add(w, "next root", (struct given){ 0 });
    world_ends(w, "root", OUTCOME_OK);
    ASSERT_STATE(w, "root", TASK_RUNNING);
    assert_int_equal(world_view(w, "root").phase, PHASE_DRAINING);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 2");  /* its run is over */
    ASSERT_BLOCKED(w, "next root", "lease:roots"); /* the task is not */
    world_ends(w, "child", OUTCOME_OK);
    ASSERT_STATE(w, "root", TASK_DONE);
    ASSERT_REASON(w, "root", REASON_SUCCEEDED);
    ASSERT_STARTED(w, "next root");
}

TEST(f078_after_300_seconds_it_is_done_with_a_warning) {
    WORLD(w, "conductor");
    world_add(w, "root", (struct given){ 0 });
    world_decide(w);
    world_add(w, "child", (struct given){ .parent = "root" });
    world_decide(w);
    world_ends(w, "root", OUTCOME_OK);
    ASSERT_WAKES_IN(w, SECONDS(300));
    world_pass(w, SECONDS(300) - 1);
    world_decide(w);
    ASSERT_STATE(w, "root", TASK_RUNNING);
    world_sleep(w);
    ASSERT_STATE(w, "root", TASK_DONE);
    ASSERT_REASON(w, "root", REASON_DRAIN_TIMEOUT);
    ASSERT_STATE(w, "child", TASK_STARTING); /* it continues */
}

TEST(f078_without_active_children_it_is_done_at_once) {
    WORLD(w, "conductor");
    world_add(w, "root", (struct given){ 0 });
    world_decide(w);
    world_add(w, "done child", (struct given){ .parent = "root", .state = TASK_DONE });
    world_add(w, "draft child", (struct given){ .parent = "root", .state = TASK_DRAFT });
    world_ends(w, "root", OUTCOME_OK);
    ASSERT_STATE(w, "root", TASK_DONE);
}

TEST(f078_default_waits_also_for_children_that_have_not_begun) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "1");
    world_add(w, "root", (struct given){ 0 });
    world_decide(w);
    world_add(w, "child", (struct given){ .parent = "root", .parent_gate = "none" });
    world_ends(w, "root", OUTCOME_OK);
    ASSERT_STATE(w, "root", TASK_RUNNING);
    ASSERT_STARTED(w, "child"); /* in the place its parent has left */
    world_ends(w, "child", OUTCOME_OK);
    ASSERT_STATE(w, "root", TASK_DONE);
}

/* --- groups ---------------------------------------------------------------------------------- */

static unsigned group_orders(const struct world *w, enum task_state to) {
    unsigned count = 0;
    for (size_t i = 0; i < w->order_count; i++)
        count += w->orders[i].kind == ORDER_GROUP && w->orders[i].to == to;
    return count;
}

TEST(f148_group_tracks_completion_and_gates_nothing) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "1");
    world_set(w, "pace.tick_s", "0");
    world_add(w, "convoy 1", (struct given){ .group = 7 });
    world_add(w, "convoy 2", (struct given){ .group = 7 });
    world_add(w, "alone", (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "convoy 1");
    world_ends(w, "convoy 1", OUTCOME_OK); /* capacity decides, not the convoy */
    ASSERT_STARTED(w, "convoy 2");
    assert_int_equal(group_orders(w, TASK_DONE), 0);
    world_ends(w, "convoy 2", OUTCOME_CONFLICT);
    assert_int_equal(group_orders(w, TASK_DONE), 1); /* nothing of it is open any more */
    ASSERT_STARTED(w, "alone");
}

TEST(f147_group_closes_by_itself_and_opens_again_with_new_work) {
    WORLD(w, "gastown");
    world_add(w, "first", (struct given){ .group = 7 });
    world_decide(w);
    world_ends(w, "first", OUTCOME_OK);
    assert_int_equal(group_orders(w, TASK_DONE), 1); /* reported; the caller decides what follows */
    world_add(w, "second", (struct given){ .group = 7 });
    world_decide(w);
    assert_int_equal(group_orders(w, TASK_WAITING), 1);
    world_apply_kind(w, FACT_CANCEL, "second");
    world_ends(w, "second", OUTCOME_CANCELED);
    assert_int_equal(group_orders(w, TASK_DONE), 1);
}
