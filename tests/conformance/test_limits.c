/* test_limits.c: how many at once.
 *
 * Rows 24, 48-54, 58, 59, 62-64, 67, 96, 110, 139, 142, 146, 150 and trap T4. Locks, which are limits
 * of one: test_locks.c. How quickly they are filled: test_pace.c. */
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

static void add_tasks(struct world *w, const char *prefix, int count, struct given given) {
    for (int i = 1; i <= count; i++)
        world_add(w, world_text(w, "%s%d", prefix, i), given);
}

/* --- runs ------------------------------------------------------------------------------------ */

TEST(f048_fifty_runs_then_none) {
    WORLD(w, "loopr");
    add_tasks(w, "leaf", 60, (struct given){ .kind = "ralph" });
    world_decide(w);
    ASSERT_START_COUNT(w, 50);
    world_set(w, "kinds.ralph.max_running", "unlimited");
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "leaf51", "lease:runs");
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "50 of 50");
}

TEST(f048_more_running_than_places_is_no_free_place) {
    WORLD(w, "loopr");
    add_tasks(w, "live", 3, (struct given){ .kind = "ralph", .state = TASK_RUNNING, .attempt = 1 });
    add_tasks(w, "leaf", 3, (struct given){ .kind = "ralph" });
    world_set(w, "limits.runs", "2"); /* saturates: 2 − 3 counts as 0 */
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    world_ends(w, "live1", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
    world_ends(w, "live2", OUTCOME_OK);
    ASSERT_STARTED(w, "leaf1");
}

TEST(f048_t04_no_place_starts_nothing) {
    static const char *const presets[] = { "loopr", "agency", "agent-queue", "sluice" };
    for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
        WORLD(w, presets[i]);
        world_set(w, "limits.runs", "0");
        world_add(w, "task", (struct given){ 0 });
        world_decide(w);
        ASSERT_NONE_STARTED(w);
        ASSERT_BLOCKED(w, "task", "lease:runs");
    }
}

TEST(f049_ten_users_of_an_account) {
    WORLD(w, "loopr");
    add_tasks(w, "caller", 12, (struct given){ .kind = "ralph", .limiter = "anthropic" });
    world_add(w, "no api", (struct given){ .kind = "ralph" });
    world_decide(w);
    ASSERT_START_COUNT(w, 11);
    ASSERT_PLACES(w, LEASE_LIMITER, "anthropic", "10 of 10");
    ASSERT_BLOCKED(w, "caller11", "lease:limiter:anthropic");
    ASSERT_STATE(w, "no api", TASK_STARTING);
}

TEST(f050_caps_by_kind_and_none_without) {
    WORLD(w, "loopr");
    add_tasks(w, "plan", 4, (struct given){ .kind = "plan" });
    add_tasks(w, "spec", 7, (struct given){ .kind = "spec" });
    add_tasks(w, "phase", 25, (struct given){ .kind = "phase" });
    add_tasks(w, "other", 30, (struct given){ .kind = "not in the table" });
    world_set(w, "limits.runs", "200");
    world_decide(w);
    ASSERT_START_COUNT(w, 2 + 5 + 20 + 30);
    ASSERT_BLOCKED(w, "plan3", "lease:kind:plan");
    ASSERT_BLOCKED(w, "spec6", "lease:kind:spec");
    ASSERT_BLOCKED(w, "phase21", "lease:kind:phase");
    world_ends(w, "plan1", OUTCOME_OK);
    ASSERT_STARTED(w, "plan3");
}

TEST(f051_bounded_and_unbounded_runs) {
    static const struct {
        const char *value;
        size_t starts;
    } rows[] = { { "2", 2 }, { "0", 30 }, { "-1", 30 }, { "-7", 30 }, { "unlimited", 30 } };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        WORLD(w, "conductor");
        world_set(w, "limits.runs", rows[i].value);
        add_tasks(w, "task", 30, (struct given){ 0 });
        world_decide(w);
        ASSERT_START_COUNT(w, rows[i].starts);
    }
}

TEST(f051_waiting_run_goes_on_with_a_place_or_leaves_by_cancel) {
    WORLD(w, "conductor");
    world_set(w, "limits.runs", "1");
    add_tasks(w, "task", 3, (struct given){ 0 });
    world_decide(w);
    ASSERT_BLOCKED(w, "task2", "lease:runs");
    world_apply_kind(w, FACT_CANCEL, "task2");
    ASSERT_STATE(w, "task2", TASK_CANCELED);
    world_ends(w, "task1", OUTCOME_OK);
    ASSERT_STARTED(w, "task3");
}

/* --- root tasks ------------------------------------------------------------------------------ */

TEST(f052_cap_on_root_tasks_or_start_at_once) {
    WORLD(w, "conductor");
    add_tasks(w, "early", 5, (struct given){ 0 });
    world_decide(w);
    ASSERT_START_COUNT(w, 5); /* not set: no planner */
    world_set(w, "limits.roots", "6");
    add_tasks(w, "late", 3, (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "late1");
    ASSERT_BLOCKED(w, "late2", "lease:roots");
    world_set(w, "limits.roots", "0");
    world_decide(w);
    ASSERT_STARTED(w, "late2", "late3");
}

TEST(f052_root_place_is_kept_between_the_attempts) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "1");
    world_add(w, "loop", (struct given){ 0 });
    world_add(w, "next", (struct given){ 0 });
    world_decide(w);
    world_ends(w, "loop", OUTCOME_UNFINISHED);
    ASSERT_HELD(w, "loop", HOLD_RESTART, SECONDS(1));
    ASSERT_BLOCKED(w, "next", "lease:roots");
    world_sleep(w);
    ASSERT_STARTED(w, "loop");
    world_ends(w, "loop", OUTCOME_OK);
    ASSERT_STARTED(w, "next");
}

TEST(f052_root_place_comes_back_by_clear_cancel_and_delete) {
    static const enum fact_kind ways[] = { FACT_CLEAR, FACT_CANCEL, FACT_DELETE };
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        WORLD(w, "conductor");
        world_set(w, "limits.roots", "1");
        world_add(w, "loop", (struct given){ 0 });
        world_add(w, "next", (struct given){ 0 });
        world_decide(w);
        world_ends(w, "loop", OUTCOME_UNFINISHED);
        ASSERT_NONE_STARTED(w);
        world_apply_kind(w, ways[i], "loop");
        world_decide(w);
        ASSERT_STARTED(w, "next");
    }
}

TEST(f142_only_root_tasks_pass_the_planner) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "2");
    add_tasks(w, "root", 5, (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "root1", "root2"); /* as many as there are places, in one pass */
    add_tasks(w, "child", 6, (struct given){ .parent = "root1" });
    world_decide(w);
    ASSERT_START_COUNT(w, 6);
    ASSERT_PLACES(w, LEASE_ROOTS, NULL, "2 of 2");
}

/* --- who else runs --------------------------------------------------------------------------- */

TEST(f053_runs_found_outside_are_counted) {
    WORLD(w, "conductor");
    world_set(w, "limits.runs", "4");
    world_external(w, "main", 3);
    add_tasks(w, "task", 4, (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "task1");
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "4 of 4");
    world_external(w, "main", 1);
    world_decide(w);
    ASSERT_STARTED(w, "task2", "task3");
}

TEST(f053_root_runs_found_running_take_root_places) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "3");
    add_tasks(w, "found", 2, (struct given){ .state = TASK_RUNNING, .attempt = 1 });
    add_tasks(w, "task", 3, (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "task1");
    ASSERT_BLOCKED(w, "task2", "lease:roots");
}

TEST(f054_every_worker_counts_no_matter_what_started_it) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "5");
    world_set(w, "pace.batch", "10");
    world_external(w, "rig a", 2);
    world_external(w, "rig b", 1);
    add_tasks(w, "slung", 4, (struct given){ .project = "rig c" });
    world_decide(w);
    ASSERT_STARTED(w, "slung1", "slung2");
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "5 of 5");
}

TEST(f150_many_slings_do_not_start_many_workers) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "5");
    world_set(w, "pace.batch", "100");
    add_tasks(w, "bead", 100, (struct given){ .state = TASK_DRAFT });
    for (int i = 1; i <= 100; i++)
        world_apply_kind(w, FACT_SLING, world_text(w, "bead%d", i));
    world_decide(w);
    ASSERT_START_COUNT(w, 5); /* whatever the rig: the machine and the account are shared */
    for (int i = 1; i <= 95; i++) {
        world_pass(w, MINUTES(3));
        world_ends(w, world_text(w, "bead%d", i), OUTCOME_OK);
        ASSERT_START_COUNT(w, 1);
        ASSERT_PLACES(w, LEASE_RUNS, NULL, "5 of 5");
    }
}

TEST(f024_direct_dispatch_of_a_group_has_no_capacity_control) {
    WORLD(w, "gastown");
    add_tasks(w, "tracked", 40, (struct given){ .state = TASK_DRAFT, .group = 1 });
    for (int i = 1; i <= 40; i++)
        world_apply_kind(w, FACT_SLING, world_text(w, "tracked%d", i));
    world_decide(w);
    ASSERT_START_COUNT(w, 40);
}

/* --- flows ----------------------------------------------------------------------------------- */

TEST(f058_one_run_and_one_per_flow_by_default) {
    WORLD(w, "agency");
    add_tasks(w, "implement", 2, (struct given){ .kind = "implement", .parallel = YES });
    add_tasks(w, "review", 2, (struct given){ .kind = "review", .parallel = YES });
    add_tasks(w, "research", 2, (struct given){ .kind = "research", .parallel = YES });
    world_decide(w);
    ASSERT_STARTED(w, "implement1");
    ASSERT_BLOCKED(w, "review1", "lease:runs");
    world_set(w, "limits.runs", "10");
    world_decide(w);
    ASSERT_STARTED(w, "review1", "research1");
    ASSERT_BLOCKED(w, "review2", "lease:kind:review");
    world_set(w, "kinds.review.max_running", "2");
    world_decide(w);
    ASSERT_STARTED(w, "review2");
}

TEST(f059_raised_cap_starts_work_at_once_lowered_cap_stops_none) {
    WORLD(w, "agency");
    world_set(w, "kinds.implement.max_running", "10");
    add_tasks(w, "card", 4, (struct given){ .kind = "implement", .parallel = YES });
    world_decide(w);
    ASSERT_STARTED(w, "card1");
    world_set(w, "limits.runs", "3");
    world_decide(w);
    ASSERT_STARTED(w, "card2", "card3");
    world_set(w, "limits.runs", "1");
    world_decide(w);
    assert_int_equal(w->order_count, 0);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "3 of 1");
    world_ends(w, "card1", OUTCOME_OK);
    world_ends(w, "card2", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
    world_ends(w, "card3", OUTCOME_OK);
    ASSERT_STARTED(w, "card4");
}

TEST(f062_parallelizable_cards_meet_only_the_caps) {
    WORLD(w, "agency");
    world_set(w, "limits.runs", "10");
    world_set(w, "kinds.implement.max_running", "3");
    add_tasks(w, "card", 4,
              (struct given){ .kind = "implement", .phase = "phase-1", .parallel = YES });
    world_decide(w);
    ASSERT_STARTED(w, "card1", "card2", "card3");
    ASSERT_BLOCKED(w, "card4", "lease:kind:implement");
}

/* --- projects, budgets, the machine ------------------------------------------------------------ */

TEST(f063_project_at_its_cap_is_passed_over) {
    WORLD(w, "agent-queue");
    world_set(w, "projects.busy.max_running", "2");
    add_tasks(w, "busy", 4, (struct given){ .project = "busy", .priority = 1 });
    add_tasks(w, "free", 1, (struct given){ .project = "free", .priority = 900 });
    world_decide(w);
    ASSERT_START_COUNT(w, 3);
    ASSERT_BLOCKED(w, "busy3", "lease:project:busy");
    ASSERT_STATE(w, "free1", TASK_STARTING);
}

TEST(f064_default_counts_what_live_runs_may_still_use) {
    WORLD(w, "sluice");
    world_set(w, "budget", "25000"); /* an unknown run is taken for 10,000 */
    add_tasks(w, "task", 6, (struct given){ 0 });
    world_decide(w);
    ASSERT_START_COUNT(w, 3);
    ASSERT_BLOCKED(w, "task4", "budget");
    world_end(w, "task1", OUTCOME_OK, 15000);
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    world_end(w, "task2", OUTCOME_OK, 5000);
    world_decide(w);
    ASSERT_NONE_STARTED(w); /* 20,000 are used, and one run is on its way */
    world_end(w, "task3", OUTCOME_OK, 4000);
    world_decide(w);
    ASSERT_STARTED(w, "task4");
}

TEST(f064_budget_opens_when_the_window_moves_on) {
    WORLD(w, "agent-queue");
    world_set(w, "projects.main.budget", "1000");
    world_usage(w, "main", 1000, 1, HOURS(20));
    world_add(w, "task", (struct given){ 0 });
    world_decide(w);
    ASSERT_BLOCKED(w, "task", "project-budget");
    ASSERT_WAKES_IN(w, HOURS(4));
    world_sleep(w);
    ASSERT_STARTED(w, "task");
}

TEST(f067_low_disk_starts_nothing_new) {
    WORLD(w, "loopr");
    world_add(w, "running", (struct given){ .kind = "ralph", .state = TASK_RUNNING, .attempt = 1 });
    world_add(w, "leaf", (struct given){ .kind = "ralph" });
    world_disk(w, 4999);
    world_decide(w);
    assert_int_equal(w->order_count, 0); /* and live runs continue */
    ASSERT_BLOCKED(w, "leaf", "host");
    world_disk(w, 5000);
    world_decide(w);
    ASSERT_STARTED(w, "leaf");
}

TEST(f067_floor_is_a_setting) {
    WORLD(w, "loopr");
    world_set(w, "host.disk_free_gb", "20");
    world_add(w, "leaf", (struct given){ .kind = "ralph" });
    world_disk(w, 19999);
    world_decide(w);
    ASSERT_BLOCKED(w, "leaf", "host");
    world_set(w, "host.disk_free_gb", "0"); /* not looked at */
    world_decide(w);
    ASSERT_STARTED(w, "leaf");
}

/* --- what an order takes ----------------------------------------------------------------------- */

TEST(f096_order_takes_its_places_and_a_refused_one_leaves_no_trace) {
    WORLD(w, "agency");
    world_add(w, "card", (struct given){ .kind = "implement", .phase = "phase-1" });
    world_decide(w);
    ASSERT_STARTED(w, "card");
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 1");
    ASSERT_PLACES(w, LEASE_KIND, "implement", "1 of 1");
    world_apply_kind(w, FACT_ORDER_REFUSED, "card");
    ASSERT_STATE(w, "card", TASK_READY);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "0 of 1");
    ASSERT_PLACES(w, LEASE_KIND, "implement", "0 of 1");
    assert_int_equal(world_view(w, "card").attempt, 0);
    assert_int_equal(world_share(w, "main").starts, 0);
    assert_int_equal(world_view(w, "card").failures, 0);
    world_decide(w);
    ASSERT_STARTED(w, "card");
}

TEST(f110_places_are_rebuilt_from_the_stored_tasks) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "3");
    world_set(w, "limits.runs", "2");
    world_add(w, "running", (struct given){ .state = TASK_RUNNING, .attempt = 4 });
    world_add(w, "in backoff",
              (struct given){ .state = TASK_HELD,
                              .hold = HOLD_RESTART,
                              .held_for = SECONDS(5),
                              .attempt = 2,
                              .keeps = true });
    add_tasks(w, "queued", 3, (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "queued1");
    ASSERT_PLACES(w, LEASE_ROOTS, NULL, "3 of 3");
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "2 of 2");
    ASSERT_BLOCKED(w, "queued2", "lease:roots");
    world_ends(w, "running", OUTCOME_OK); /* the attempt of before the restart */
    ASSERT_STATE(w, "running", TASK_DONE);
    ASSERT_STARTED(w, "queued2");
}

TEST(f139_limits_are_settings) {
    WORLD(w, "loopr");
    world_set(w, "limits.runs", "7");
    world_set(w, "kinds.plan.max_running", "1");
    world_set(w, "limiter.max_running", "3");
    world_set(w, "limiters.second.max_running", "1");
    add_tasks(w, "plan", 3, (struct given){ .kind = "plan" });
    add_tasks(w, "first", 9, (struct given){ .kind = "ralph", .limiter = "first" });
    add_tasks(w, "second", 9, (struct given){ .kind = "ralph", .limiter = "second" });
    world_decide(w);
    ASSERT_STARTED(w, "first1", "first2", "first3", "second1", "plan1");
    ASSERT_BLOCKED(w, "first4", "lease:limiter:first");
    ASSERT_BLOCKED(w, "second2", "lease:limiter:second");
    ASSERT_BLOCKED(w, "plan2", "lease:kind:plan");
}

TEST(f146_task_names_its_agent_and_its_account) {
    WORLD(w, "gastown");
    world_set(w, "limiters.work.max_running", "1");
    world_set(w, "limiters.home.max_running", "1");
    world_set(w, "agents.claude.limiter", "work");
    world_add(w, "usual", (struct given){ .agent = "claude" });
    world_add(w, "waits", (struct given){ .agent = "claude" });
    world_add(w, "other account", (struct given){ .agent = "claude", .limiter = "home" });
    world_decide(w);
    ASSERT_STARTED(w, "usual", "other account");
    assert_string_equal(symbol_name(core_symbols(w->core), world_start(w, 1)->limiter), "home");
    assert_string_equal(symbol_name(core_symbols(w->core), world_start(w, 1)->agent), "claude");
    ASSERT_BLOCKED(w, "waits", "lease:limiter:work");
}
