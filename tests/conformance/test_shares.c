/* test_shares.c: the faults of document 004's shares, and their absence in the default.
 *
 * Rows 39, 46, 47 and the traps T9, T10. Under `agent-queue` the document's rules are kept, faults
 * included: 20:0 instead of 15:5, first place for ever for a project that only fails, shares
 * distorted by projects that are not active. Under `sluice` every prefix of the starts stays within
 * one run of the weights. */
#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

/* The first letter of a task is its project. */
static int starts_of(const struct world *w, char project) {
    int count = 0;
    for (size_t i = 0; i < w->start_count; i++)
        count += world_name(w, w->starts[i])[0] == project;
    return count;
}

static void set_weights_3_to_1(struct world *w) {
    world_set(w, "projects.A.weight", "3");
    world_set(w, "projects.B.weight", "1");
}

static void add_tasks(struct world *w, const char *project, int count) {
    for (int i = 0; i < count; i++)
        world_add(w, world_text(w, "%s%u", project, (unsigned)w->tasks.count + 1),
                  (struct given){ .project = project, .retries = -1 });
}

static void add_workers(struct world *w, int count) {
    for (int i = 1; i <= count; i++)
        world_worker(w, world_text(w, "worker %d", i), true);
}

/* Of n starts, 3n/4 of A: always within one run of it. */
static void assert_every_prefix_within_one_run_of_3_to_1(const struct world *w) {
    long a = 0;
    for (size_t i = 0; i < w->start_count; i++) {
        a += world_name(w, w->starts[i])[0] == 'A';
        long n = (long)i + 1;
        if (labs(4 * a - 3 * n) > 4)
            fail_msg("%ld of the first %ld starts are A's", a, n);
    }
}

/* Ends the runs in the order of their starts, one per step, and decides after each. */
static void play_one_end_per_step(struct world *w, int steps, time_ms step, int64_t tokens) {
    size_t ended = 0;
    world_decide(w);
    for (int i = 0; i < steps && ended < w->start_count; i++) {
        world_pass(w, step);
        world_end(w, world_name(w, w->starts[ended++]), OUTCOME_OK, tokens);
        world_decide(w);
    }
}

/* --- first fault: nothing is charged inside a round ------------------------------------------ */

TEST(f046_t10_document_gives_a_round_of_20_all_to_one_project) {
    WORLD(w, "agent-queue");
    set_weights_3_to_1(w);
    add_workers(w, 20);
    add_tasks(w, "A", 30);
    add_tasks(w, "B", 30);
    world_decide(w);
    assert_int_equal(starts_of(w, 'A'), 20);
    assert_int_equal(starts_of(w, 'B'), 0);
}

TEST(f046_t10_default_gives_a_round_of_20_as_15_to_5) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "20");
    set_weights_3_to_1(w);
    add_tasks(w, "A", 30);
    add_tasks(w, "B", 30);
    world_decide(w);
    ASSERT_START_COUNT(w, 20);
    assert_int_equal(starts_of(w, 'A'), 15);
    assert_int_equal(starts_of(w, 'B'), 5);
    assert_every_prefix_within_one_run_of_3_to_1(w);
}

TEST(f046_t10_default_gives_20_workers_15_to_5) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "unlimited");
    set_weights_3_to_1(w);
    add_workers(w, 20);
    add_tasks(w, "B", 30);
    add_tasks(w, "A", 30);
    world_decide(w);
    assert_int_equal(starts_of(w, 'A'), 15);
    assert_int_equal(starts_of(w, 'B'), 5);
    assert_every_prefix_within_one_run_of_3_to_1(w);
}

/* --- second fault: who only fails stays first ------------------------------------------------- */

/* One place; A's tasks fail for good, B's succeed. */
static void play_failing_project(struct world *w, int turns) {
    world_set(w, "limits.runs", "1");
    add_tasks(w, "A", turns + 5);
    add_tasks(w, "B", turns + 5);
    world_usage(w, "B", 10000, 1, 0); /* it did finish something */
    world_decide(w);
    for (int i = 0; i < turns; i++) {
        const char *task = world_name(w, w->starts[w->start_count - 1]);
        world_pass(w, MINUTES(1));
        world_end(w, task, task[0] == 'A' ? OUTCOME_FAILED : OUTCOME_OK, 10000);
        world_decide(w);
        ASSERT_START_COUNT(w, 1);
    }
}

TEST(f047_document_keeps_a_project_that_only_fails_first_for_ever) {
    WORLD(w, "agent-queue");
    play_failing_project(w, 200);
    assert_int_equal(starts_of(w, 'A'), 201);
    assert_int_equal(starts_of(w, 'B'), 0);
}

TEST(f047_default_gives_a_project_that_only_fails_its_share) {
    WORLD(w, "sluice");
    play_failing_project(w, 200);
    int a = starts_of(w, 'A'), b = starts_of(w, 'B');
    assert_in_range(a - b, 0, 2); /* B had one run before */
    assert_int_equal(a + b, 201);
}

/* --- third fault: tokens of projects that are not active --------------------------------------- */

/* A has had 90 % of what the two used, with a share of 75 %. C used much and is not active. */
static void set_up_bystander(struct world *w) {
    set_weights_3_to_1(w);
    world_set(w, "limits.runs", "1");
    world_set(w, "projects.C.active", "false");
    add_tasks(w, "A", 10);
    add_tasks(w, "B", 10);
    world_usage(w, "A", 900, 1, 0);
    world_usage(w, "B", 100, 1, 0);
    world_usage(w, "C", 9000, 1, 0);
    world_decide(w);
    ASSERT_START_COUNT(w, 1);
}

TEST(f039_t09_document_lets_inactive_projects_distort_the_shares) {
    WORLD(w, "agent-queue");
    set_up_bystander(w);
    assert_int_equal(starts_of(w, 'A'), 1); /* 900 of 10,000 is "below 75 %" */
}

TEST(f039_t09_default_compares_only_the_projects_that_compete) {
    WORLD(w, "sluice");
    set_up_bystander(w);
    assert_int_equal(starts_of(w, 'B'), 1);
}

/* --- 3:1, whatever happens --------------------------------------------------------------------- */

TEST(f047_default_keeps_every_prefix_within_one_run_over_many_turns) {
    static const char *const places[] = { "1", "2", "3", "4", "7", "8", "20" };
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        WORLD(w, "sluice");
        world_set(w, "limits.runs", places[i]);
        set_weights_3_to_1(w);
        add_tasks(w, "B", 150);
        add_tasks(w, "A", 450);
        play_one_end_per_step(w, 500, SECONDS(1), 10000);
        assert_true(w->start_count > 500);
        assert_every_prefix_within_one_run_of_3_to_1(w);
    }
}

/* As play_one_end_per_step, but any live run may be the next to end. */
static void play_ends_in_any_order(struct world *w, int steps, int64_t tokens) {
    uint32_t random = 12345;
    world_decide(w);
    for (int i = 0; i < steps; i++) {
        size_t at;
        do {
            random = random * 1664525 + 1013904223;
            at = (random >> 8) % w->start_count;
        } while (!task_state_is_live(world_view(w, world_name(w, w->starts[at])).state));
        world_pass(w, SECONDS(10));
        world_end(w, world_name(w, w->starts[at]), OUTCOME_OK, tokens);
        world_decide(w);
    }
}

TEST(f047_default_keeps_3_to_1_whichever_run_ends_first) {
    static const char *const places[] = { "2", "5", "12" };
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        WORLD(w, "sluice");
        world_set(w, "limits.runs", places[i]);
        set_weights_3_to_1(w);
        add_tasks(w, "B", 100);
        add_tasks(w, "A", 300);
        play_ends_in_any_order(w, 300, 10000);
        assert_every_prefix_within_one_run_of_3_to_1(w);
    }
}

TEST(f047_default_keeps_3_to_1_when_everything_is_overdue) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "4");
    set_weights_3_to_1(w);
    add_tasks(w, "B", 100); /* B's are the older ones: by age alone they would all go first */
    world_pass(w, MINUTES(30));
    add_tasks(w, "A", 300);
    world_add(w, "A last", (struct given){ .project = "A" });
    play_one_end_per_step(w, 300, MINUTES(3), 10000); /* 15 h of backlog, max_wait 1 h */
    assert_true(world_view(w, "A last").overdue);
    assert_every_prefix_within_one_run_of_3_to_1(w);
}

TEST(f047_default_keeps_3_to_1_when_overdue_tasks_reserve_places) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "4");
    world_set(w, "limits.resource.gpu", "2");
    set_weights_3_to_1(w);
    for (int i = 1; i <= 200; i++) {
        world_add(w, world_text(w, "B-%d", i),
                  (struct given){ .project = "B", .needs = { "gpu" } });
        world_add(w, world_text(w, "A-%d", i),
                  (struct given){ .project = "A", .needs = { "gpu" } });
    }
    play_one_end_per_step(w, 250, MINUTES(3), 10000);
    assert_true(w->start_count >= 250);
    assert_every_prefix_within_one_run_of_3_to_1(w);
}

TEST(f047_default_keeps_3_to_1_when_the_window_moves_on) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "4");
    set_weights_3_to_1(w);
    add_tasks(w, "B", 200);
    add_tasks(w, "A", 600);
    play_one_end_per_step(w, 600, MINUTES(10), 10000); /* 100 h, window 24 h */
    assert_every_prefix_within_one_run_of_3_to_1(w);
}

TEST(f047_default_keeps_3_to_1_whatever_a_run_costs) {
    static const int64_t tokens[] = { 100, 2500, 40000, 1000000 }; /* estimated at first: 10,000 */
    static const char *const places[] = { "1", "2", "4", "8", "20" };
    for (size_t i = 0; i < 2 * ARRAY_SIZE(tokens) * ARRAY_SIZE(places); i++) {
        WORLD(w, "sluice");
        world_set(w, "limits.runs", places[i / 2 % ARRAY_SIZE(places)]);
        set_weights_3_to_1(w);
        add_tasks(w, "B", 100);
        add_tasks(w, "A", 300);
        int64_t cost = tokens[i / 2 / ARRAY_SIZE(places)];
        if (i % 2)
            play_ends_in_any_order(w, 200, cost);
        else
            play_one_end_per_step(w, 200, SECONDS(30), cost);
        assert_every_prefix_within_one_run_of_3_to_1(w);
    }
}

TEST(f047_default_charges_a_run_that_reports_nothing_its_estimate) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "3");
    set_weights_3_to_1(w);
    add_tasks(w, "B", 200);
    add_tasks(w, "A", 600);
    play_one_end_per_step(w, 400, SECONDS(30), -1);
    assert_every_prefix_within_one_run_of_3_to_1(w);
}

TEST(f047_default_gives_a_newcomer_its_share_at_once) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "1");
    set_weights_3_to_1(w);
    add_tasks(w, "A", 300);
    play_one_end_per_step(w, 40, MINUTES(1), 10000);
    assert_int_equal(starts_of(w, 'A'), 41); /* alone, it has everything */
    add_tasks(w, "B", 300);
    world_ends(w, world_name(w, w->starts[40]), OUTCOME_OK);
    ASSERT_START_COUNT(w, 1);
    assert_int_equal(starts_of(w, 'B'), 1); /* at once: it is owed its share of the window */
}
