/* test_fairness.c: which project goes first, and which worker gets the task.
 *
 * Rows 12-14, 38-40, 42, 43, 46, 47, 63-65, 158-160 and the traps T9, T10, all under the preset of
 * document 004. Its three faults, and what the default does instead: test_shares.c. */
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

static void set_weights(struct world *w, const char *a, const char *b) {
    world_set(w, "projects.A.weight", a);
    world_set(w, "projects.B.weight", b);
}

static void add_tasks(struct world *w, const char *project, int count) {
    for (int i = 1; i <= count; i++)
        world_add(w, world_text(w, "%s%d", project, i), (struct given){ .project = project });
}

static void add_workers(struct world *w, int count) {
    for (int i = 1; i <= count; i++)
        world_worker(w, world_text(w, "worker %d", i), true);
}

static void expect_assigned(struct world *w, size_t n, const char *agent, const char *task,
                            const char *project) {
    const struct order *o = world_start(w, n);
    assert_string_equal(symbol_name(core_symbols(w->core), o->agent), agent);
    assert_string_equal(world_name(w, o->task), task);
    assert_string_equal(symbol_name(core_symbols(w->core), o->project), project);
}

/* --- projects and workers -------------------------------------------------------------------- */

TEST(f012_project_has_weight_cap_budget_and_status) {
    WORLD(w, "agent-queue");
    world_set(w, "projects.capped.max_running", "1");
    world_set(w, "projects.broke.budget", "100");
    world_set(w, "projects.asleep.active", "false");
    world_set(w, "projects.heavy.weight", "9");
    add_tasks(w, "capped", 2);
    add_tasks(w, "broke", 1);
    add_tasks(w, "asleep", 1);
    add_tasks(w, "heavy", 1);
    world_usage(w, "broke", 100, 1, 0);
    world_decide(w);
    ASSERT_STARTED(w, "heavy1", "capped1");
    ASSERT_BLOCKED(w, "capped2", "lease:project:capped");
    ASSERT_BLOCKED(w, "broke1", "project-budget");
    ASSERT_BLOCKED(w, "asleep1", "project");
    world_set(w, "projects.asleep.active", "true");
    world_decide(w);
    ASSERT_STARTED(w, "asleep1");
}

TEST(f013_one_assignment_of_worker_task_project_per_idle_worker) {
    WORLD(w, "agent-queue");
    add_workers(w, 2);
    add_tasks(w, "A", 3);
    world_decide(w);
    ASSERT_START_COUNT(w, 2);
    expect_assigned(w, 0, "worker 1", "A1", "A");
    expect_assigned(w, 1, "worker 2", "A2", "A");
    ASSERT_BLOCKED(w, "A3", "lease:agents");
}

TEST(f014_only_idle_workers_in_the_order_of_the_list) {
    WORLD(w, "agent-queue");
    world_worker(w, "z", false);
    world_worker(w, "y", true);
    world_worker(w, "x", true);
    add_tasks(w, "A", 3);
    world_decide(w);
    ASSERT_START_COUNT(w, 2);
    expect_assigned(w, 0, "y", "A1", "A");
    expect_assigned(w, 1, "x", "A2", "A");
    world_worker(w, "z", true);
    world_decide(w);
    expect_assigned(w, 0, "z", "A3", "A");
}

TEST(f014_worker_with_cap_0_gets_nothing) {
    WORLD(w, "agent-queue");
    world_set(w, "agents.z.slots", "0");
    world_worker(w, "z", true);
    world_worker(w, "y", true);
    add_tasks(w, "A", 2);
    world_decide(w);
    ASSERT_START_COUNT(w, 1);
    expect_assigned(w, 0, "y", "A1", "A");
    ASSERT_BLOCKED(w, "A2", "lease:agents");
    world_set(w, "agents.z.slots", "5");
    world_worker(w, "z", true);
    world_decide(w);
    expect_assigned(w, 0, "z", "A2", "A");
}

/* --- the rank of a project ------------------------------------------------------------------- */

TEST(f038_project_without_completion_in_the_window_first) {
    WORLD(w, "agent-queue");
    set_weights(w, "100", "1");
    add_workers(w, 1);
    add_tasks(w, "A", 1);
    add_tasks(w, "B", 1);
    world_usage(w, "A", 1, 1, HOURS(1));
    world_usage(w, "B", 999999, 0, HOURS(1)); /* far above its share, but nothing finished */
    world_decide(w);
    ASSERT_STARTED(w, "B1");
}

TEST(f039_smallest_actual_minus_target_first) {
    WORLD(w, "agent-queue");
    world_set(w, "projects.A.weight", "2");
    world_set(w, "projects.B.weight", "1");
    world_set(w, "projects.C.weight", "1");
    add_tasks(w, "A", 1);
    add_tasks(w, "B", 1);
    add_tasks(w, "C", 1);
    world_usage(w, "A", 600, 1, 0); /* 60 % of 50 % */
    world_usage(w, "B", 300, 1, 0); /* 30 % of 25 % */
    world_usage(w, "C", 100, 1, 0); /* 10 % of 25 % */
    world_decide(w);
    ASSERT_STARTED(w, "C1", "B1", "A1");
}

TEST(f039_weights_count_only_of_active_projects_with_ready_work) {
    WORLD(w, "agent-queue");
    set_weights(w, "3", "1");
    world_set(w, "projects.idle.weight", "16"); /* would turn the order: 3/20 and 1/20 */
    world_set(w, "projects.asleep.weight", "16");
    world_set(w, "projects.asleep.active", "false");
    add_tasks(w, "asleep", 1);
    add_tasks(w, "B", 1);
    add_tasks(w, "A", 1);
    world_usage(w, "A", 650, 1, 0);
    world_usage(w, "B", 350, 1, 0);
    world_decide(w);
    ASSERT_STARTED(w, "A1", "B1");
}

TEST(f040_worked_example_a_first) {
    WORLD(w, "agent-queue");
    set_weights(w, "3", "1");
    add_workers(w, 1);
    add_tasks(w, "B", 2);
    add_tasks(w, "A", 2);
    world_usage(w, "A", 1000, 1, 0);
    world_usage(w, "B", 500, 1, 0);
    world_decide(w);
    ASSERT_STARTED(w, "A1");
    /* A reaches 75 % with 500 more; above that it is B's turn */
    world_end(w, "A1", OUTCOME_OK, 501);
    world_decide(w);
    ASSERT_STARTED(w, "B1");
}

TEST(f042_no_tokens_at_all_is_no_division_by_zero) {
    WORLD(w, "agent-queue");
    set_weights(w, "1", "3");
    add_tasks(w, "A", 1);
    add_tasks(w, "B", 1);
    world_decide(w);
    ASSERT_STARTED(w, "B1", "A1");
}

TEST(t09_weights_that_sum_to_zero_are_equal_shares) {
    WORLD(w, "agent-queue");
    set_weights(w, "0", "0");
    add_workers(w, 1);
    add_tasks(w, "A", 1);
    add_tasks(w, "B", 1);
    world_usage(w, "A", 200, 1, 0);
    world_usage(w, "B", 100, 1, 0);
    world_decide(w);
    ASSERT_STARTED(w, "B1");
}

TEST(f043_usage_and_completions_leave_with_the_window) {
    WORLD(w, "agent-queue");
    set_weights(w, "1", "1");
    add_workers(w, 1);
    add_tasks(w, "A", 1);
    add_tasks(w, "B", 1);
    world_usage(w, "A", 1000, 1, HOURS(23));
    world_usage(w, "B", 10, 1, HOURS(1));
    assert_int_equal(world_share(w, "A").tokens, 1000);
    world_pass(w, MINUTES(50));
    assert_int_equal(world_share(w, "A").tokens, 1000);
    world_pass(w, MINUTES(10));
    assert_int_equal(world_share(w, "A").tokens, 0);
    assert_int_equal(world_share(w, "A").completions, 0);
    world_decide(w);
    ASSERT_STARTED(w, "A1"); /* its use of yesterday is forgotten */
}

TEST(f043_length_of_the_window_is_a_setting) {
    WORLD(w, "agent-queue");
    world_set(w, "fair.window_h", "2");
    world_usage(w, "A", 700, 1, HOURS(3));
    assert_int_equal(world_share(w, "A").tokens, 0);
    world_usage(w, "A", 700, 1, HOURS(1));
    assert_int_equal(world_share(w, "A").tokens, 700);
}

/* --- one round ------------------------------------------------------------------------------- */

TEST(f046_picks_of_this_round_count_on_workers_tasks_and_caps) {
    WORLD(w, "agent-queue");
    set_weights(w, "10", "1");
    world_set(w, "projects.A.max_running", "2");
    world_external(w, "A", 1);
    add_workers(w, 4);
    add_tasks(w, "A", 5);
    add_tasks(w, "B", 2);
    world_decide(w);
    ASSERT_STARTED(w, "A1", "B1", "B2");
    ASSERT_BLOCKED(w, "A2", "lease:project:A");
}

TEST(t10_shares_are_not_charged_inside_a_round_places_are) {
    WORLD(w, "agent-queue");
    set_weights(w, "3", "1");
    world_set(w, "projects.A.workspaces", "4");
    add_workers(w, 8);
    add_tasks(w, "A", 6);
    add_tasks(w, "B", 6);
    world_decide(w);
    /* the document's fault stays: A, A, A, A; its oversubscription does not: four workspaces */
    ASSERT_STARTED(w, "A1", "A2", "A3", "A4", "B1", "B2", "B3", "B4");
    ASSERT_BLOCKED(w, "A5", "lease:workspaces:A");
}

TEST(t10_wished_workspace_is_not_given_twice_in_a_round) {
    WORLD(w, "agent-queue");
    add_workers(w, 3);
    world_workspace(w, "tree", NULL);
    world_add(w, "one", (struct given){ .workspace = "tree" });
    world_add(w, "two", (struct given){ .workspace = "tree" });
    world_add(w, "any", (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "one", "any");
    ASSERT_BLOCKED(w, "two", "lease:workspace:tree");
}

TEST(f063_f064_f065_cap_budget_and_workspaces_skip_a_project) {
    WORLD(w, "agent-queue");
    add_workers(w, 4);
    world_set(w, "projects.first.max_running", "2");
    world_set(w, "projects.second.budget", "500");
    world_set(w, "projects.third.workspaces", "0");
    add_tasks(w, "first", 1);
    add_tasks(w, "second", 1);
    add_tasks(w, "third", 1);
    add_tasks(w, "fourth", 1);
    world_external(w, "first", 2);
    world_usage(w, "second", 500, 0, 0);
    world_decide(w);
    ASSERT_STARTED(w, "fourth1");
    ASSERT_BLOCKED(w, "first1", "lease:project:first");
    ASSERT_BLOCKED(w, "second1", "project-budget");
    ASSERT_BLOCKED(w, "third1", "lease:workspaces:third");
}

TEST(f064_used_equal_to_the_budget_stops_one_less_does_not) {
    WORLD(w, "agent-queue");
    world_set(w, "budget", "1000");
    world_set(w, "limits.runs", "1");
    add_tasks(w, "A", 3);
    world_usage(w, "A", 999, 1, 0);
    world_decide(w);
    ASSERT_STARTED(w, "A1");
    world_end(w, "A1", OUTCOME_OK, 1);
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "A2", "budget");
    world_set(w, "budget", "unlimited");
    world_decide(w);
    ASSERT_STARTED(w, "A2");
}

TEST(f158_plan_is_orders_and_nothing_happens_until_it_is_applied) {
    WORLD(w, "agent-queue");
    add_workers(w, 2);
    add_tasks(w, "A", 3);
    world_decide(w);
    ASSERT_STARTED(w, "A1", "A2");
    ASSERT_STATE(w, "A1", TASK_STARTING);
    world_pass(w, HOURS(1));
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_STATE(w, "A1", TASK_STARTING);
    world_apply_kind(w, FACT_RUN_STARTED, "A1");
    ASSERT_STATE(w, "A1", TASK_RUNNING);
    world_apply_kind(w, FACT_ORDER_REFUSED, "A2");
    world_decide(w);
    ASSERT_STARTED(w, "A2");
}

TEST(f159_budget_then_idle_workers_then_ready_work_then_active_projects) {
    WORLD(w, "agent-queue");
    world_set(w, "budget", "100");
    world_set(w, "projects.A.active", "false");
    world_worker(w, "worker", false);
    world_decide(w); /* nothing at all */
    ASSERT_NONE_STARTED(w);
    add_tasks(w, "A", 1);
    add_tasks(w, "B", 1);
    world_usage(w, "B", 100, 1, 0);
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "B1", "budget");
    world_set(w, "budget", "1000");
    world_decide(w);
    ASSERT_BLOCKED(w, "B1", "lease:agents");
    world_worker(w, "worker", true);
    world_decide(w);
    ASSERT_STARTED(w, "B1");
    ASSERT_BLOCKED(w, "A1", "project");
}

TEST(f160_each_worker_takes_the_first_free_task_of_the_first_eligible_project) {
    WORLD(w, "agent-queue");
    set_weights(w, "5", "1");
    world_set(w, "projects.A.max_running", "2");
    add_workers(w, 3);
    world_workspace(w, "taken", "someone");
    world_add(w, "waits", (struct given){ .project = "A", .priority = 1, .workspace = "taken" });
    world_add(w, "A2", (struct given){ .project = "A", .priority = 50 });
    world_add(w, "A1", (struct given){ .project = "A", .priority = 20 });
    world_add(w, "A3", (struct given){ .project = "A", .priority = 60 });
    world_add(w, "B1", (struct given){ .project = "B", .priority = 999 });
    world_decide(w);
    ASSERT_STARTED(w, "A1", "A2", "B1");
    expect_assigned(w, 2, "worker 3", "B1", "B");
    ASSERT_BLOCKED(w, "waits", "lease:workspace:taken");
}

TEST(f160_equal_rank_goes_by_the_place_in_the_list) {
    WORLD(w, "agent-queue");
    set_weights(w, "1", "1");
    world_set(w, "projects.C.weight", "1");
    add_workers(w, 3);
    world_add(w, "C1", (struct given){ .project = "C", .priority = 1 });
    world_add(w, "B1", (struct given){ .project = "B", .priority = 2 });
    world_add(w, "A1", (struct given){ .project = "A", .priority = 3 });
    world_decide(w);
    ASSERT_STARTED(w, "A1", "B1", "C1"); /* priority is compared inside a project only */
}

/* --- over many rounds ------------------------------------------------------------------------ */

TEST(f047_every_project_gets_a_task_and_the_shares_converge) {
    WORLD(w, "agent-queue");
    set_weights(w, "3", "1");
    add_workers(w, 1);
    add_tasks(w, "A", 100);
    add_tasks(w, "B", 100);
    int of_b = 0;
    for (int round = 1; round <= 80; round++) {
        world_decide(w);
        ASSERT_START_COUNT(w, 1);
        const char *task = world_name(w, world_start(w, 0)->task);
        of_b += task[0] == 'B';
        world_pass(w, MINUTES(5));
        world_end(w, task, OUTCOME_OK, 1000);
        if (round == 2)
            assert_int_equal(of_b, 1); /* each had one before anyone has two */
    }
    assert_int_equal(of_b, 20);
}

TEST(f047_an_imbalance_corrects_itself) {
    WORLD(w, "agent-queue");
    set_weights(w, "1", "1");
    add_workers(w, 1);
    add_tasks(w, "A", 50);
    add_tasks(w, "B", 50);
    world_usage(w, "A", 10000, 10, HOURS(1)); /* A had everything for an hour */
    world_usage(w, "B", 0, 1, HOURS(1));
    int first_a = 0;
    for (int round = 1; round <= 40 && !first_a; round++) {
        world_decide(w);
        const char *task = world_name(w, world_start(w, 0)->task);
        if (task[0] == 'A')
            first_a = round;
        world_end(w, task, OUTCOME_OK, 1000);
    }
    assert_int_equal(first_a, 11); /* after B had its ten thousand */
}
