/* test_ordering.c: who goes first.
 *
 * Rows 28-34, 36, 37, 41, 44, 138, 141, 162 and the traps T11-T14. Golden numbers are those of
 * document 000. */
#include <stdlib.h>
#include <string.h>

#include "harness/order_print.h"
#include "harness/test.h"
#include "harness/world.h"

/* plan → spec → phase, all done, so that what hangs below may start. */
static void add_finished_branch(struct world *w) {
    world_add(w, "plan", (struct given){ .kind = "plan", .state = TASK_DONE });
    world_add(w, "spec", (struct given){ .kind = "spec", .parent = "plan", .state = TASK_DONE });
    world_add(w, "phase", (struct given){ .kind = "phase", .parent = "spec", .state = TASK_DONE });
}

/* --- the score ------------------------------------------------------------------------------- */

TEST(f028_base_priority_by_kind) {
    WORLD(w, "loopr");
    world_add(w, "a plan", (struct given){ .kind = "plan" });
    world_add(w, "a spec", (struct given){ .kind = "spec" });
    world_add(w, "a phase", (struct given){ .kind = "phase" });
    world_add(w, "a ralph", (struct given){ .kind = "ralph" });
    ASSERT_SCORE(w, "a plan", 40);
    ASSERT_SCORE(w, "a spec", 60);
    ASSERT_SCORE(w, "a phase", 80);
    ASSERT_SCORE(w, "a ralph", 100);
    world_decide(w);
    ASSERT_STARTED(w, "a ralph", "a phase", "a spec", "a plan");
}

TEST(f029_age_boost_one_per_whole_minute_max_50) {
    WORLD(w, "loopr");
    world_add(w, "leaf", (struct given){ .kind = "ralph" });
    world_pass(w, MINUTES(1) - 1);
    ASSERT_SCORE(w, "leaf", 100);
    world_pass(w, 1);
    ASSERT_SCORE(w, "leaf", 101);
    world_pass(w, MINUTES(49) - 1);
    ASSERT_SCORE(w, "leaf", 149);
    world_pass(w, 1);
    ASSERT_SCORE(w, "leaf", 150);
    world_pass(w, HOURS(100));
    ASSERT_SCORE(w, "leaf", 150);
}

TEST(f029_age_changes_the_order_while_tasks_wait) {
    WORLD(w, "loopr");
    world_set(w, "limits.runs", "0");
    world_add(w, "old phase", (struct given){ .kind = "phase" });
    world_pass(w, MINUTES(20));
    world_add(w, "new ralph", (struct given){ .kind = "ralph" });
    world_decide(w);
    ASSERT_SCORE(w, "old phase", 100);
    ASSERT_SCORE(w, "new ralph", 100);
    world_pass(w, SECONDS(59)); /* equal: the older one; no minute later either */
    world_set(w, "limits.runs", "2");
    world_decide(w);
    ASSERT_STARTED(w, "old phase", "new ralph");
}

TEST(f030_depth_boost_ten_per_parent) {
    WORLD(w, "loopr");
    add_finished_branch(w);
    world_add(w, "leaf", (struct given){ .kind = "ralph", .parent = "phase" });
    ASSERT_SCORE(w, "plan", 40);
    ASSERT_SCORE(w, "spec", 70);
    ASSERT_SCORE(w, "phase", 100);
    ASSERT_SCORE(w, "leaf", 130);
    assert_int_equal(world_view(w, "leaf").depth, 3);
}

TEST(f030_missing_parent_counts_once_and_stops_the_walk) {
    WORLD(w, "loopr");
    world_add(w, "child", (struct given){ .kind = "ralph", .parent = "gone" });
    world_add(w, "grandchild", (struct given){ .kind = "ralph", .parent = "child" });
    ASSERT_SCORE(w, "child", 110);
    ASSERT_SCORE(w, "grandchild", 120);
    /* it comes after all, and has a parent itself: everything below is deeper now */
    world_add(w, "top", (struct given){ .kind = "plan" });
    world_add(w, "gone", (struct given){ .kind = "spec", .parent = "top" });
    ASSERT_SCORE(w, "child", 120);
    ASSERT_SCORE(w, "grandchild", 130);
}

TEST(f031_retry_penalty_five_per_iteration_max_30) {
    WORLD(w, "loopr");
    static const struct {
        uint32_t iteration;
        int32_t score;
    } rows[] = { { 1, 100 }, { 2, 95 }, { 5, 80 }, { 6, 75 }, { 7, 70 }, { 8, 70 }, { 1000, 70 } };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *name = world_text(w, "iteration %u", (unsigned)rows[i].iteration);
        world_add(w, name, (struct given){ .kind = "ralph", .iteration = rows[i].iteration });
        ASSERT_SCORE(w, name, rows[i].score);
    }
}

/* --- golden numbers -------------------------------------------------------------------------- */

TEST(f032_example_a_135_b_130_c_111) {
    WORLD(w, "loopr");
    add_finished_branch(w);
    world_add(w, "C",
              (struct given){
                  .kind = "ralph", .parent = "phase", .created_ago = MINUTES(1), .iteration = 5 });
    world_add(w, "B",
              (struct given){ .kind = "phase", .parent = "spec", .created_ago = MINUTES(30) });
    world_add(w, "A",
              (struct given){ .kind = "ralph", .parent = "phase", .created_ago = MINUTES(5) });
    ASSERT_SCORE(w, "A", 135);
    ASSERT_SCORE(w, "B", 130);
    ASSERT_SCORE(w, "C", 111);
    world_decide(w);
    ASSERT_STARTED(w, "A", "B", "C");
}

TEST(f032_scenario_1_new_leaf_130_beats_old_branch_110) {
    WORLD(w, "loopr");
    add_finished_branch(w);
    world_add(w, "Y",
              (struct given){ .kind = "spec", .parent = "plan", .created_ago = MINUTES(40) });
    world_add(w, "X", (struct given){ .kind = "ralph", .parent = "phase" });
    ASSERT_SCORE(w, "X", 130);
    ASSERT_SCORE(w, "Y", 110);
    world_decide(w);
    ASSERT_STARTED(w, "X", "Y");
}

TEST(f032_scenario_2_new_leaf_130_beats_very_old_plan_90) {
    WORLD(w, "loopr");
    add_finished_branch(w);
    world_add(w, "A", (struct given){ .kind = "plan", .created_ago = MINUTES(55) });
    world_add(w, "B", (struct given){ .kind = "ralph", .parent = "phase" });
    ASSERT_SCORE(w, "A", 90);
    ASSERT_SCORE(w, "B", 130);
    world_decide(w);
    ASSERT_STARTED(w, "B", "A");
}

TEST(f032_scenario_3_fresh_140_beats_struggling_110) {
    WORLD(w, "loopr");
    add_finished_branch(w);
    world_add(w, "X",
              (struct given){
                  .kind = "ralph", .parent = "phase", .created_ago = MINUTES(10), .iteration = 7 });
    world_add(w, "Y",
              (struct given){ .kind = "ralph", .parent = "phase", .created_ago = MINUTES(10) });
    ASSERT_SCORE(w, "X", 110);
    ASSERT_SCORE(w, "Y", 140);
    world_decide(w);
    ASSERT_STARTED(w, "Y", "X");
}

TEST(f032_scenario_4_older_sibling_135_beats_132) {
    WORLD(w, "loopr");
    add_finished_branch(w);
    world_add(w, "005",
              (struct given){ .kind = "ralph", .parent = "phase", .created_ago = MINUTES(2) });
    world_add(w, "004",
              (struct given){ .kind = "ralph", .parent = "phase", .created_ago = MINUTES(5) });
    ASSERT_SCORE(w, "004", 135);
    ASSERT_SCORE(w, "005", 132);
    world_decide(w);
    ASSERT_STARTED(w, "004", "005");
}

TEST(f032_tests_of_the_document_105_and_100_against_90) {
    WORLD(w, "loopr");
    world_add(w, "five minutes", (struct given){ .kind = "ralph", .created_ago = MINUTES(5) });
    world_add(w, "young ralph", (struct given){ .kind = "ralph" });
    world_add(w, "old plan", (struct given){ .kind = "plan", .created_ago = HOURS(1) });
    world_add(w, "older plan", (struct given){ .kind = "plan", .created_ago = HOURS(2) });
    ASSERT_SCORE(w, "five minutes", 105);
    ASSERT_SCORE(w, "young ralph", 100);
    ASSERT_SCORE(w, "old plan", 90);
    ASSERT_SCORE(w, "older plan", 90);
    world_decide(w);
    ASSERT_STARTED(w, "five minutes", "young ralph", "older plan", "old plan");
}

TEST(f032_f034_tree_40_70_100_130_runs_depth_first) {
    WORLD(w, "loopr");
    world_set(w, "limits.runs", "1");
    world_add(w, "A", (struct given){ .kind = "plan" });
    world_add(w, "A1", (struct given){ .kind = "spec", .parent = "A" });
    world_add(w, "A1a", (struct given){ .kind = "phase", .parent = "A1" });
    world_add(w, "A1a1", (struct given){ .kind = "ralph", .parent = "A1a" });
    world_add(w, "A1b", (struct given){ .kind = "phase", .parent = "A1" });
    world_add(w, "A2", (struct given){ .kind = "spec", .parent = "A" });
    world_add(w, "B", (struct given){ .kind = "plan" });
    ASSERT_SCORE(w, "A", 40);
    ASSERT_SCORE(w, "A1", 70);
    ASSERT_SCORE(w, "A1a", 100);
    ASSERT_SCORE(w, "A1a1", 130);
    ASSERT_SCORE(w, "A1b", 100);
    ASSERT_SCORE(w, "A2", 70);
    ASSERT_SCORE(w, "B", 40);
    const char *order[] = { "A", "A1", "A1a", "A1a1", "A1b", "A2", "B" };
    world_decide(w);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        ASSERT_STARTED(w, order[i]);
        world_ends(w, order[i], OUTCOME_OK);
    }
}

TEST(f138_every_number_of_the_score_is_a_setting) {
    WORLD(w, "loopr");
    world_add(w, "top", (struct given){ .kind = "plan" });
    world_add(w, "leaf",
              (struct given){
                  .kind = "ralph", .parent = "top", .created_ago = MINUTES(10), .iteration = 4 });
    ASSERT_SCORE(w, "leaf", 100 + 10 + 10 - 15);
    world_set(w, "kinds.ralph.base", "200");
    ASSERT_SCORE(w, "leaf", 200 + 10 + 10 - 15);
    world_set(w, "score.age_per_minute", "3");
    ASSERT_SCORE(w, "leaf", 200 + 30 + 10 - 15);
    world_set(w, "score.age_max", "7");
    ASSERT_SCORE(w, "leaf", 200 + 7 + 10 - 15);
    world_set(w, "score.per_depth", "25");
    ASSERT_SCORE(w, "leaf", 200 + 7 + 25 - 15);
    world_set(w, "score.per_retry", "9");
    ASSERT_SCORE(w, "leaf", 200 + 7 + 25 - 27);
    world_set(w, "score.retry_max", "11");
    ASSERT_SCORE(w, "leaf", 200 + 7 + 25 - 11);
    world_set(w, "kinds.plan.base", "45");
    ASSERT_SCORE(w, "top", 45);
}

/* --- the order ------------------------------------------------------------------------------- */

TEST(f033_older_first_in_equal_score) {
    WORLD(w, "loopr");
    world_add(w, "younger", (struct given){ .kind = "ralph", .created_ago = SECONDS(10) });
    world_add(w, "older", (struct given){ .kind = "ralph", .created_ago = SECONDS(20) });
    world_add(w, "oldest", (struct given){ .kind = "ralph", .created_ago = SECONDS(59) });
    world_decide(w);
    ASSERT_STARTED(w, "oldest", "older", "younger");
}

TEST(f036_arrival_decides_and_nothing_else) {
    WORLD(w, "conductor");
    world_set(w, "limits.roots", "4");
    world_add(w, "first", (struct given){ .priority = 900 });
    world_add(w, "second", (struct given){ .created_ago = HOURS(5) });
    world_add(w, "third", (struct given){ .priority = 1, .kind = "plan" });
    world_add(w, "fourth", (struct given){ .iteration = 9, .project = "other" });
    world_decide(w);
    ASSERT_STARTED(w, "first", "second", "third", "fourth");
}

TEST(f037_oldest_of_each_flow_and_no_flow_stops_another) {
    WORLD(w, "agency");
    world_set(w, "limits.runs", "3");
    world_add(w, "review young", (struct given){ .kind = "review", .phase = "r2" });
    world_add(w, "implement young",
              (struct given){ .kind = "implement", .phase = "i2", .created_ago = MINUTES(1) });
    world_add(w, "implement old",
              (struct given){ .kind = "implement", .phase = "i1", .created_ago = MINUTES(9) });
    world_add(w, "review old",
              (struct given){ .kind = "review", .phase = "r1", .created_ago = MINUTES(5) });
    world_decide(w);
    ASSERT_STARTED(w, "implement old", "review old");
    ASSERT_BLOCKED(w, "implement young", "lease:kind:implement");
    ASSERT_BLOCKED(w, "review young", "lease:kind:review");
    world_ends(w, "review old", OUTCOME_OK);
    ASSERT_STARTED(w, "review young");
}

TEST(f041_lower_priority_first_then_arrival) {
    WORLD(w, "agent-queue");
    world_add(w, "normal 1", (struct given){ .priority = 100 });
    world_add(w, "normal 2", (struct given){ .priority = 100, .created_ago = HOURS(1) });
    world_add(w, "urgent", (struct given){ .priority = 1 });
    world_add(w, "later", (struct given){ .priority = 200 });
    world_decide(w);
    ASSERT_STARTED(w, "urgent", "normal 1", "normal 2", "later");
}

TEST(f041_priority_changes_while_it_waits) {
    WORLD(w, "agent-queue");
    world_set(w, "limits.runs", "0");
    world_add(w, "a", (struct given){ .priority = 10 });
    world_add(w, "b", (struct given){ .priority = 20 });
    world_decide(w);
    struct fact promote = { .kind = FACT_PRIORITY, .task = world_number(w, "b"), .priority = 5 };
    assert_int_equal(world_apply(w, &promote), 0);
    world_set(w, "limits.runs", "2");
    world_decide(w);
    ASSERT_STARTED(w, "b", "a");
}

/* A queue with something of everything, and the text of all orders of a few turns. */
static void play_mixed_history(struct world *w, struct strbuf *out) {
    static const char *const kinds[] = { "plan", "spec", "phase", "ralph" };
    world_set(w, "limits.runs", "5");
    for (int i = 0; i < 40; i++)
        world_add(w, world_text(w, "task %d", i),
                  (struct given){ .project = i % 3 ? "web" : "api",
                                  .kind = kinds[i % 4],
                                  .limiter = i % 5 ? "account" : NULL,
                                  .parallel = i % 7 ? YES : NO,
                                  .created_ago = MINUTES(i * 13 % 60),
                                  .priority = 100 + i % 2 });
    for (int turn = 0; turn < 30; turn++) {
        world_decide(w);
        for (size_t i = 0; i < w->order_count; i++) {
            order_print(&w->orders[i], core_symbols(w->core), out);
            strbuf_putc(out, '\n');
        }
        world_pass(w, SECONDS(40));
        if (w->started > 0)
            world_end(w, world_name(w, w->starts[w->start_count - 1]),
                      turn % 3 ? OUTCOME_OK : OUTCOME_FAILED, 100 * turn);
    }
}

TEST(f044_same_facts_same_orders_byte_for_byte) {
    static const char *const presets[] = { "sluice", "loopr", "agent-queue" };
    for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
        WORLD(one, presets[i]);
        WORLD(two, presets[i]);
        _cleanup_(strbuf_finish) struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
        play_mixed_history(one, &first);
        play_mixed_history(two, &second);
        assert_true(first.length > 1000);
        assert_string_equal(strbuf_text(&first), strbuf_text(&second));
    }
}

TEST(f044_deciding_again_changes_nothing) {
    WORLD(w, "agent-queue");
    world_set(w, "limits.runs", "1");
    world_add(w, "a", (struct given){ 0 });
    world_add(w, "b", (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "a");
    world_decide(w);
    assert_int_equal(w->order_count, 0);
}

TEST(f141_pending_filtered_sorted_cut_to_the_free_places) {
    WORLD(w, "loopr");
    world_set(w, "limits.runs", "3");
    world_add(w, "running", (struct given){ .kind = "ralph", .state = TASK_RUNNING });
    world_add(w, "not runnable", (struct given){ .kind = "ralph", .parent = "nowhere" });
    world_add(w, "third", (struct given){ .kind = "spec" });
    world_add(w, "second", (struct given){ .kind = "phase" });
    world_add(w, "first", (struct given){ .kind = "ralph" });
    world_decide(w);
    ASSERT_STARTED(w, "first", "second");
    ASSERT_BLOCKED(w, "not runnable", "parent");
    ASSERT_BLOCKED(w, "third", "lease:runs");
}

TEST(f162_struggling_loops_sink_and_never_drop_out) {
    WORLD(w, "loopr");
    world_set(w, "limits.runs", "1");
    world_add(w, "struggling", (struct given){ .kind = "ralph" });
    world_decide(w);
    for (int i = 0; i < 500; i++) {
        ASSERT_STARTED(w, "struggling");
        world_ends(w, "struggling", OUTCOME_INVALID);
    }
    ASSERT_SCORE(w, "struggling", 70);
    world_add(w, "healthy", (struct given){ .kind = "ralph" });
    world_ends(w, "struggling", OUTCOME_INVALID);
    ASSERT_STARTED(w, "healthy");
    world_ends(w, "healthy", OUTCOME_OK);
    ASSERT_STARTED(w, "struggling");
}

/* --- traps ----------------------------------------------------------------------------------- */

TEST(t11_ids_are_no_order_arrival_is) {
    WORLD(w, "agent-queue");
    world_add(w, "zebra", (struct given){ 0 });
    world_add(w, "apple", (struct given){ 0 });
    world_add(w, "mango", (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "zebra", "apple", "mango");
}

static void set_iteration_0(struct task_spec *spec) {
    spec->iteration = 0;
}

TEST(t12_iteration_0_is_refused_so_no_task_gains_by_it) {
    WORLD(w, "loopr");
    assert_true(world_try_add(w, "t", (struct given){ .kind = "ralph" }, set_iteration_0) < 0);
    world_add(w, "t", (struct given){ .kind = "ralph" });
    ASSERT_SCORE(w, "t", 100);
}

TEST(t13_plan_without_parent_is_not_stopped_by_one) {
    WORLD(w, "loopr");
    world_add(w, "plan", (struct given){ .kind = "plan", .created_ago = MINUTES(50) });
    ASSERT_SCORE(w, "plan", 90);
    world_decide(w);
    ASSERT_STARTED(w, "plan");
}

TEST(t14_age_counts_from_creation_waiting_from_readiness) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "0");
    world_add(w, "held", (struct given){ .kind = "ralph" });
    world_hold(w, "held", 0);
    world_pass(w, HOURS(2));
    world_apply_kind(w, FACT_RELEASE, "held");
    ASSERT_SCORE(w, "held", 150);
    assert_int_equal(world_view(w, "held").waited, 0);
    assert_false(world_view(w, "held").overdue);
}
