/* test_queue.c: coming in, staying, being taken out.
 *
 * Rows 5, 68, 69, 97, 100, 101, 116, 121, 125, 132, 156. */
#include <errno.h>
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

static void add_tasks(struct world *w, const char *prefix, int count, struct given given) {
    for (int i = 1; i <= count; i++)
        world_add(w, world_text(w, "%s%d", prefix, i), given);
}

enum admission { ADMIT, ADMIT_WARN, ADMIT_DEFER };

/* May one more task be added to the queue? As ops/queue_room.c decides it. */
static enum admission ask(struct world *w, amount *ret_depth, amount *ret_limit) {
    const struct policy *policy = config_policy(w->config);
    *ret_depth = core_queue_depth(w->core, 0);
    bool is_full = *ret_depth >= policy->queue.hard;
    *ret_limit = is_full ? policy->queue.hard : policy->queue.soft;
    return is_full ? ADMIT_DEFER : *ret_depth >= policy->queue.soft ? ADMIT_WARN : ADMIT;
}

/* --- how long it may be ----------------------------------------------------------------------- */

TEST(f068_f156_queue_longer_than_4_times_the_runs_warns) {
    WORLD(w, "agency");
    amount depth, limit;
    world_set(w, "limits.runs", "3"); /* soft: 12 */
    for (int i = 1; i <= 12; i++) {
        assert_int_equal(ask(w, &depth, &limit), ADMIT);
        world_add(w, world_text(w, "card%d", i), (struct given){ .kind = "implement" });
    }
    assert_int_equal(ask(w, &depth, &limit), ADMIT_WARN); /* with one more, 13 exceed 12 */
    assert_int_equal(depth, 12);
    assert_int_equal(limit, 12);
    world_add(w, "one more", (struct given){ .kind = "review" });
    assert_int_equal(core_queue_depth(w->core, world_sym(w, "implement")), 12);
    assert_int_equal(core_queue_depth(w->core, world_sym(w, "review")), 1);
    assert_int_equal(core_queue_depth(w->core, world_sym(w, "research")), 0);
}

TEST(f068_soft_limit_is_at_least_8) {
    WORLD(w, "agency");
    amount depth, limit;
    assert_int_equal(ask(w, &depth, &limit), ADMIT);
    assert_int_equal(limit, 8); /* one run: 4 would be too few */
    world_set(w, "limits.runs", "2");
    (void)ask(w, &depth, &limit);
    assert_int_equal(limit, 8);
    world_set(w, "limits.runs", "5");
    (void)ask(w, &depth, &limit);
    assert_int_equal(limit, 20);
}

TEST(f069_queue_of_twice_the_soft_limit_defers) {
    WORLD(w, "agency");
    amount depth, limit;
    add_tasks(w, "card", 15, (struct given){ .kind = "implement" });
    assert_int_equal(ask(w, &depth, &limit), ADMIT_WARN);
    world_add(w, "card16", (struct given){ .kind = "implement" });
    assert_int_equal(ask(w, &depth, &limit), ADMIT_DEFER);
    assert_int_equal(limit, 16);
    world_decide(w); /* one of them runs now: there is room again */
    assert_int_equal(ask(w, &depth, &limit), ADMIT_WARN);
    world_set(w, "limits.runs", "9"); /* "or raise caps" */
    assert_int_equal(ask(w, &depth, &limit), ADMIT);
}

TEST(f068_f069_limits_can_be_set_and_are_off_where_no_document_has_them) {
    static const char *const unbounded[] = { "loopr", "conductor", "gastown", "agent-queue" };
    amount depth, limit;
    for (size_t i = 0; i < ARRAY_SIZE(unbounded); i++) {
        WORLD(w, unbounded[i]);
        add_tasks(w, "task", 500, (struct given){ 0 });
        assert_int_equal(ask(w, &depth, &limit), ADMIT);
    }
    WORLD(w, "sluice");
    world_set(w, "queue.soft", "2");
    world_set(w, "queue.hard", "4");
    add_tasks(w, "task", 3, (struct given){ .after = { "nothing" } });
    assert_int_equal(ask(w, &depth, &limit), ADMIT_WARN);
    add_tasks(w, "more", 1, (struct given){ 0 });
    assert_int_equal(ask(w, &depth, &limit), ADMIT_DEFER);
}

TEST(f132_gauge_rises_with_a_waiter_and_falls_with_its_place_or_cancel) {
    WORLD(w, "conductor");
    world_set(w, "limits.runs", "1");
    add_tasks(w, "task", 4, (struct given){ 0 });
    assert_int_equal(core_queue_depth(w->core, 0), 4);
    world_decide(w);
    assert_int_equal(core_queue_depth(w->core, 0), 3);
    world_apply_kind(w, FACT_CANCEL, "task2");
    assert_int_equal(core_queue_depth(w->core, 0), 2);
    world_ends(w, "task1", OUTCOME_OK);
    assert_int_equal(core_queue_depth(w->core, 0), 1);
    world_apply_kind(w, FACT_DELETE, "task4");
    assert_int_equal(core_queue_depth(w->core, 0), 0);
}

/* --- scheduling twice ------------------------------------------------------------------------- */

TEST(f100_scheduling_again_changes_nothing) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "5");
    world_add(w, "blocker", (struct given){ .state = TASK_DRAFT });
    world_add(w, "bead", (struct given){ .state = TASK_DRAFT, .after = { "blocker" } });
    assert_int_equal(world_try(w, FACT_SLING, "bead"), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(world_try(w, FACT_SLING, "bead"), 1);
    world_decide(w);
    ASSERT_BECAME(w, TASK_WAITING, "bead"); /* once */
    assert_int_equal(core_queue_depth(w->core, 0), 1);
}

TEST(f101_work_in_progress_is_not_scheduled_cleared_or_deleted) {
    WORLD(w, "gastown");
    world_add(w, "bead", (struct given){ 0 });
    world_decide(w);
    world_apply_kind(w, FACT_RUN_STARTED, "bead");
    assert_int_equal(world_try(w, FACT_SLING, "bead"), 1);
    assert_int_equal(world_try(w, FACT_CLEAR, "bead"), -EBUSY);
    assert_int_equal(world_try(w, FACT_HOLD, "bead"), -EBUSY);
    assert_int_equal(world_try(w, FACT_DELETE, "bead"), -EBUSY);
    assert_int_equal(world_try(w, FACT_RETRY, "bead"), -EBUSY);
    ASSERT_STATE(w, "bead", TASK_RUNNING);
}

TEST(f125_clear_takes_one_or_all_out_of_the_queue) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "1");
    add_tasks(w, "bead", 4, (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "bead1");
    world_apply_kind(w, FACT_CLEAR, "bead2");
    ASSERT_STATE(w, "bead2", TASK_DRAFT);
    world_hold(w, "bead3", 0);
    for (int i = 3; i <= 4; i++)
        world_apply_kind(w, FACT_CLEAR, world_text(w, "bead%d", i));
    assert_int_equal(core_queue_depth(w->core, 0), 0);
    world_pass(w, HOURS(1));
    world_ends(w, "bead1", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
    world_apply_kind(w, FACT_SLING, "bead4"); /* and it can come back */
    world_decide(w);
    ASSERT_STARTED(w, "bead4");
}

/* --- what is kept apart ----------------------------------------------------------------------- */

TEST(f005_f116_scheduling_never_changes_what_was_submitted) {
    WORLD(w, "gastown");
    world_add(w, "bead",
              (struct given){ .project = "rig",
                              .kind = "task",
                              .agent = "claude",
                              .workspace = "tree",
                              .priority = 42,
                              .created_ago = HOURS(3),
                              .state = TASK_DRAFT });
    struct task_view before = world_view(w, "bead");
    world_apply_kind(w, FACT_SLING, "bead");
    world_decide(w);
    world_ends(w, "bead", OUTCOME_LAUNCH);
    world_ends(w, "bead", OUTCOME_FAILED);
    world_sleep(w);
    world_ends(w, "bead", OUTCOME_LOST);
    world_ends(w, "bead", OUTCOME_CONFLICT);
    world_apply_kind(w, FACT_RETRY, "bead");
    world_apply_kind(w, FACT_CLEAR, "bead");
    struct task_view after = world_view(w, "bead");
    assert_int_equal(after.project, before.project);
    assert_int_equal(after.kind, before.kind);
    assert_int_equal(after.agent, before.agent);
    assert_int_equal(after.workspace, before.workspace);
    assert_int_equal(after.priority, 42);
    assert_int_equal(after.created_at, before.created_at);
    assert_int_equal(after.state, TASK_DRAFT);
}

TEST(f121_counts_of_queued_ready_and_active) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "2");
    world_set(w, "pace.batch", "9");
    add_tasks(w, "ready", 4, (struct given){ 0 });
    add_tasks(w, "blocked", 3, (struct given){ .after = { "ready4" } });
    world_decide(w);
    struct core_counts counts;
    core_count(w->core, &counts);
    assert_int_equal(counts.by_state[TASK_STARTING] + counts.by_state[TASK_RUNNING], 2);
    assert_int_equal(counts.by_state[TASK_READY], 2);
    assert_int_equal(counts.by_state[TASK_WAITING], 3);
    assert_int_equal(counts.runs_used, 2);
    assert_int_equal(counts.runs_cap, 2);
}

/* --- which place ------------------------------------------------------------------------------ */

static amount place_of(struct world *w, const char *task) {
    return core_queue_position(w->core, world_number(w, task));
}

TEST(f097_queue_position_is_the_number_of_queued_tasks_with_a_lower_number_and_one) {
    WORLD(w, "conductor");
    world_set(w, "limits.runs", "1");
    add_tasks(w, "root", 4, (struct given){ 0 });
    world_add(w, "blocked", (struct given){ .after = { "root1" } });
    world_add(w, "last", (struct given){ .workspace = "/tmp/one" });
    world_decide(w);
    assert_int_equal(place_of(w, "root1"), 0); /* it was started at once */
    assert_int_equal(place_of(w, "root2"), 1);
    assert_int_equal(place_of(w, "root4"), 3);
    assert_int_equal(place_of(w, "blocked"), 4); /* queued is queued, ready or not */
    assert_int_equal(place_of(w, "last"), 5);
    world_hold(w, "root3", HOURS(1));
    assert_int_equal(place_of(w, "root3"), 0);
    assert_int_equal(place_of(w, "root4"), 2);
    world_ends(w, "root1", OUTCOME_OK);
    assert_int_equal(place_of(w, "blocked"), 2);
    assert_int_equal(place_of(w, "last"), 3);
    assert_int_equal(core_queue_position(w->core, 4711), 0);
}

TEST(f097_default_queue_position_follows_priority_and_age) {
    WORLD(w, "sluice");
    world_pause(w);
    world_add(w, "old", (struct given){ .created_ago = MINUTES(20) });
    world_add(w, "new", (struct given){ 0 });
    world_add(w, "urgent", (struct given){ .priority = 1 });
    world_add(w, "another", (struct given){ .project = "other" });
    assert_int_equal(place_of(w, "urgent"), 1);
    assert_int_equal(place_of(w, "old"), 2);
    assert_int_equal(place_of(w, "new"), 3);
    assert_int_equal(place_of(w, "another"), 4); /* ignoring shares */
}
