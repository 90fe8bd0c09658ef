/* test_readiness.c: what must be there before a task may start.
 *
 * Rows 3, 15-23, 27 and trap T2. What a parent's end or loss means for those below it:
 * test_hierarchy.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/task_graph.h"
#include "harness/test.h"
#include "harness/world.h"

/* --- states ---------------------------------------------------------------------------------- */

TEST(f003_pending_running_complete_failed_invalidated) {
    WORLD(w, "loopr");
    world_set(w, "limits.runs", "1");
    world_add(w, "parent", (struct given){ .kind = "plan" });
    world_add(w, "child", (struct given){ .kind = "spec", .parent = "parent" });
    ASSERT_STATE(w, "parent", TASK_READY);
    ASSERT_STATE(w, "child", TASK_WAITING);
    world_decide(w);
    ASSERT_STATE(w, "parent", TASK_STARTING);
    world_apply_kind(w, FACT_RUN_STARTED, "parent");
    ASSERT_STATE(w, "parent", TASK_RUNNING);
    world_end(w, "parent", OUTCOME_OK, -1);
    ASSERT_STATE(w, "parent", TASK_DONE);
    ASSERT_STATE(w, "child", TASK_READY);
    world_apply_kind(w, FACT_AGAIN, "parent");
    ASSERT_STATE(w, "child", TASK_INVALIDATED);
    world_decide(w);
    world_end(w, "parent", OUTCOME_CONFLICT, -1);
    ASSERT_FAILED(w, "parent", REASON_CONFLICT);
}

TEST(f003_queued_running_succeeded_failed_canceled) {
    WORLD(w, "agency");
    world_add(w, "good", (struct given){ .kind = "implement" });
    world_add(w, "bad", (struct given){ .kind = "implement", .retries = -1 });
    world_add(w, "stopped", (struct given){ .kind = "implement" });
    world_add(w, "withdrawn", (struct given){ .kind = "implement" });
    world_decide(w);
    world_ends(w, "good", OUTCOME_OK);
    ASSERT_STATE(w, "good", TASK_DONE);
    world_ends(w, "bad", OUTCOME_FAILED);
    ASSERT_FAILED(w, "bad", REASON_RETRIES);
    world_apply_kind(w, FACT_CANCEL, "withdrawn"); /* without a run: at once */
    ASSERT_STATE(w, "withdrawn", TASK_CANCELED);
    world_apply_kind(w, FACT_RUN_STARTED, "stopped");
    world_apply_kind(w, FACT_CANCEL, "stopped"); /* with one: when it has stopped */
    ASSERT_STATE(w, "stopped", TASK_RUNNING);
    world_decide(w);
    ASSERT_STOPPED(w, "stopped");
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 1");
    world_ends(w, "stopped", OUTCOME_FAILED);
    ASSERT_STATE(w, "stopped", TASK_CANCELED);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "0 of 1");
}

/* --- document 000 ---------------------------------------------------------------------------- */

TEST(f015_only_pending_tasks_are_started) {
    WORLD(w, "loopr");
    static const enum task_state others[] = { TASK_DRAFT,    TASK_STARTING,   TASK_RUNNING,
                                              TASK_HELD,     TASK_DONE,       TASK_FAILED,
                                              TASK_CANCELED, TASK_INVALIDATED };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        world_add(w, task_state_name(others[i]),
                  (struct given){ .kind = "ralph", .state = others[i], .attempt = 1 });
    world_add(w, "pending", (struct given){ .kind = "ralph" });
    world_decide(w);
    ASSERT_STARTED(w, "pending");
}

TEST(f016_child_waits_until_its_parent_is_complete) {
    WORLD(w, "loopr");
    world_add(w, "parent", (struct given){ .kind = "plan", .state = TASK_RUNNING, .attempt = 1 });
    world_add(w, "child", (struct given){ .kind = "spec", .parent = "parent" });
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "child", "parent");
    world_ends(w, "parent", OUTCOME_OK);
    ASSERT_STARTED(w, "child");
}

TEST(f016_child_of_a_missing_or_failed_parent_is_not_runnable) {
    WORLD(w, "loopr");
    world_add(w, "failed", (struct given){ .kind = "plan", .state = TASK_FAILED });
    world_add(w, "child of failed", (struct given){ .kind = "spec", .parent = "failed" });
    world_add(w, "child of nobody", (struct given){ .kind = "spec", .parent = "nobody" });
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "child of failed", "parent");
    ASSERT_BLOCKED(w, "child of nobody", "parent");
    world_add(w, "nobody", (struct given){ .kind = "plan", .state = TASK_DONE });
    world_decide(w);
    ASSERT_STARTED(w, "child of nobody");
}

TEST(t02_parent_is_complete_with_its_own_artifact_not_with_its_subtree) {
    WORLD(w, "loopr");
    world_add(w, "plan", (struct given){ .kind = "plan" });
    world_add(w, "spec", (struct given){ .kind = "spec", .parent = "plan" });
    world_decide(w);
    world_ends(w, "plan", OUTCOME_OK);
    ASSERT_STATE(w, "plan", TASK_DONE); /* although its child has not even begun */
    ASSERT_STARTED(w, "spec");
}

TEST(f017_task_waits_for_its_artifact) {
    WORLD(w, "loopr");
    world_set(w, "limits.runs", "0");
    world_add(w, "parent", (struct given){ .kind = "plan", .state = TASK_DONE });
    world_add(w, "child",
              (struct given){ .kind = "spec", .parent = "parent", .artifact_missing = true });
    world_decide(w);
    ASSERT_STATE(w, "child", TASK_WAITING);
    ASSERT_BLOCKED(w, "child", "artifact");
    world_artifact(w, "child", true);
    ASSERT_STATE(w, "child", TASK_READY);
    world_artifact(w, "child", false); /* it is gone again before there was a place */
    ASSERT_STATE(w, "child", TASK_WAITING);
    world_artifact(w, "child", true);
    world_set(w, "limits.runs", "1");
    world_decide(w);
    ASSERT_STARTED(w, "child");
}

/* --- document 001 ---------------------------------------------------------------------------- */

TEST(f018_task_starts_when_all_it_depends_on_is_done) {
    WORLD(w, "conductor");
    world_add(w, "top", (struct given){ 0 });
    world_add(w, "left", (struct given){ .after = { "top" } });
    world_add(w, "right", (struct given){ .after = { "top" } });
    world_add(w, "bottom", (struct given){ .after = { "left", "right" } });
    world_decide(w);
    ASSERT_STARTED(w, "top");
    ASSERT_BLOCKED(w, "left", "dependency");
    world_ends(w, "top", OUTCOME_OK);
    ASSERT_STARTED(w, "left", "right");
    world_ends(w, "right", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "bottom", "dependency");
    world_ends(w, "left", OUTCOME_OK);
    ASSERT_STARTED(w, "bottom");
}

TEST(f018_dependencies_change_while_it_waits) {
    WORLD(w, "conductor");
    world_add(w, "slow", (struct given){ .state = TASK_RUNNING, .attempt = 1 });
    world_add(w, "quick", (struct given){ .state = TASK_DONE });
    world_add(w, "task", (struct given){ .after = { "slow" } });
    world_decide(w);
    ASSERT_BLOCKED(w, "task", "dependency");
    world_depend(w, "task", "quick");
    world_decide(w);
    ASSERT_STARTED(w, "task");
    assert_int_equal(world_try_depend(w, "task", "slow"), -EBUSY); /* too late */
}

TEST(f018_failed_dependency_keeps_them_waiting_and_its_retry_revives) {
    WORLD(w, "conductor");
    world_add(w, "first", (struct given){ .state = TASK_FAILED });
    world_add(w, "second", (struct given){ .after = { "first" } });
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "second", "dependency");
    world_apply_kind(w, FACT_RETRY, "first");
    world_decide(w);
    world_ends(w, "first", OUTCOME_OK);
    ASSERT_STARTED(w, "second");
}

TEST(f018_dependencies_on_failure_fail_takes_the_others_down) {
    WORLD(w, "conductor");
    world_set(w, "dependencies.on_failure", "fail");
    world_add(w, "first", (struct given){ 0 });
    world_add(w, "second", (struct given){ .after = { "first" } });
    world_add(w, "third", (struct given){ .after = { "second" } });
    world_decide(w);
    world_ends(w, "first", OUTCOME_CONFLICT);
    ASSERT_FAILED(w, "second", REASON_DEPENDENCY);
    ASSERT_FAILED(w, "third", REASON_DEPENDENCY);
}

TEST(f018_missing_dependency_waits_visibly_deleted_one_fails) {
    WORLD(w, "conductor");
    world_add(w, "task", (struct given){ .after = { "not there yet" } });
    world_decide(w);
    ASSERT_BLOCKED(w, "task", "dependency");
    world_add(w, "not there yet", (struct given){ .state = TASK_DRAFT });
    world_apply_kind(w, FACT_DELETE, "not there yet");
    ASSERT_FAILED(w, "task", REASON_DEPENDENCY);
}

TEST(f019_task_cannot_depend_on_itself) {
    WORLD(w, "conductor");
    assert_int_equal(world_try_add(w, "task", (struct given){ .after = { "task" } }, NULL), -ELOOP);
    world_add(w, "task", (struct given){ 0 });
    assert_int_equal(world_try_depend(w, "task", "task"), -ELOOP);
    world_decide(w);
    ASSERT_STARTED(w, "task"); /* a refused fact changes nothing */
}

TEST(f020_cycle_is_refused_when_a_task_comes_and_when_it_changes) {
    WORLD(w, "conductor");
    world_add(w, "a", (struct given){ .after = { "c" } }); /* c is not there yet */
    world_add(w, "b", (struct given){ .after = { "a" } });
    assert_int_equal(world_try_add(w, "c", (struct given){ .after = { "b" } }, NULL), -ELOOP);
    world_add(w, "c", (struct given){ 0 });
    assert_int_equal(world_try_depend(w, "c", "b"), -ELOOP);
    ASSERT_STATE(w, "c", TASK_READY);
    world_add(w, "d", (struct given){ .after = { "a", "b", "c" } }); /* no cycle: a diamond */
    ASSERT_STATE(w, "d", TASK_WAITING);
}

TEST(f020_cycle_is_named_node_by_node) {
    /* 0 → 1 → 2 → 3 → 1, and 4 → 0 */
    static const uint32_t starts[] = { 0, 1, 2, 3, 4, 5 }, targets[] = { 1, 2, 3, 1, 0 };
    uint32_t *path = NULL;
    size_t length = 0;
    assert_true(cycle_find(starts, targets, 5, &path, &length));
    assert_int_equal(length, 3);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(targets[path[i]], path[(i + 1) % length]);
    free(path);
    static const uint32_t open[] = { 1, 2, 3, 5, 0 }; /* 3 points outside */
    assert_false(cycle_find(starts, open, 5, &path, &length));
}

TEST(f021_dependency_is_ready_when_marked_done_or_its_run_succeeded) {
    WORLD(w, "conductor");
    world_add(w, "marked", (struct given){ .state = TASK_HELD, .hold = HOLD_RESTART });
    world_add(w, "completed", (struct given){ .until = "exit" });
    world_add(w, "task", (struct given){ .after = { "marked", "completed" } });
    world_decide(w);
    world_ends(w, "completed", OUTCOME_OK);
    ASSERT_BLOCKED(w, "task", "dependency");
    world_apply_kind(w, FACT_MARKED, "marked");
    ASSERT_STATE(w, "marked", TASK_DONE);
    world_decide(w);
    ASSERT_STARTED(w, "task");
}

TEST(f021_dependency_that_runs_again_is_not_ready) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "1");
    world_add(w, "first", (struct given){ .until = "exit" });
    world_add(w, "blocker", (struct given){ 0 });
    world_add(w, "second", (struct given){ .after = { "first" } });
    world_decide(w);
    world_ends(w, "first", OUTCOME_OK);
    ASSERT_STATE(w, "second", TASK_READY);
    world_apply_kind(w, FACT_AGAIN, "first");
    ASSERT_STATE(w, "second", TASK_WAITING);
    ASSERT_BLOCKED(w, "second", "dependency");
}

TEST(f022_own_done_mark_ends_the_wait_at_once) {
    WORLD(w, "conductor");
    world_add(w, "first", (struct given){ .state = TASK_RUNNING, .attempt = 1 });
    world_add(w, "second", (struct given){ .after = { "first" } });
    world_decide(w);
    ASSERT_BLOCKED(w, "second", "dependency");
    ASSERT_WAKES_IN(w, TIME_NEVER); /* an event ends the wait, without polling */
    world_apply_kind(w, FACT_MARKED, "second");
    world_decide(w);
    ASSERT_BECAME(w, TASK_DONE, "second");
    ASSERT_REASON(w, "second", REASON_MARKED);
    ASSERT_NONE_STARTED(w);
}

/* The document's planner comes before its dependency gate, so that what waits for others takes a root
 * place from what could run. Here a place is taken by a start and by nothing else. */
TEST(f027_dependencies_then_root_place_then_run_place_then_children) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "1");
    world_set(w, "limits.runs", "1");
    world_external(w, "main", 1);
    world_add(w, "first",
              (struct given){ .state = TASK_HELD, .hold = HOLD_RESTART, .keeps = true });
    world_add(w, "task", (struct given){ .after = { "first" } });
    ASSERT_BLOCKED(w, "task", "dependency");
    world_depend(w, "task", NULL);
    ASSERT_BLOCKED(w, "task", "lease:roots");
    world_apply_kind(w, FACT_MARKED, "first"); /* its root place comes back */
    ASSERT_BLOCKED(w, "task", "lease:runs");
    world_external(w, "main", 0);
    world_set(w, "limits.runs", "2");
    world_decide(w);
    ASSERT_STARTED(w, "task");
    world_add(w, "child", (struct given){ .parent = "task" });
    world_decide(w);
    world_ends(w, "task", OUTCOME_OK);
    ASSERT_REASON(w, "task", REASON_DRAIN);
    world_ends(w, "child", OUTCOME_OK);
    ASSERT_STATE(w, "task", TASK_DONE);
}

/* --- document 002 ---------------------------------------------------------------------------- */

TEST(f023_scheduled_work_is_eligible_only_when_unblocked) {
    WORLD(w, "gastown");
    world_add(w, "blocker", (struct given){ .project = "rig a", .state = TASK_DRAFT });
    world_add(w, "blocked", (struct given){ .project = "rig b", .after = { "blocker" } });
    world_add(w, "unblocked", (struct given){ .project = "rig b" });
    world_add(w, "not slung", (struct given){ .project = "rig b", .state = TASK_DRAFT });
    world_decide(w);
    ASSERT_STARTED(w, "unblocked");
    ASSERT_BLOCKED(w, "blocked", "dependency");
    world_apply_kind(w, FACT_SLING, "blocker");
    world_decide(w);
    world_ends(w, "blocker", OUTCOME_OK);
    ASSERT_STARTED(w, "blocked"); /* across rigs */
}
