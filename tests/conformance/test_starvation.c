/* test_starvation.c: does everything start one day?
 *
 * Row 35 and trap T1: the age boost of document 000 ends at 50, so a stream of leaves keeps a plan
 * waiting for ever, and so does whatever needs two full keys while others need one of them. In the
 * default `max_wait` ends both: an overdue task goes first, and reserves the places it lacks. */
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

static bool has_started(const struct world *w, const char *task) {
    for (size_t i = 0; i < w->start_count; i++)
        if (strcmp(world_name(w, w->starts[i]), task) == 0)
            return true;
    return false;
}

/* --- a plan behind a stream of leaves -------------------------------------------------------- */

/* The default preset has no kinds. */
static void define_kinds(struct world *w) {
    world_set(w, "kinds.plan.base", "40");
    world_set(w, "kinds.ralph.base", "100");
}

/* One slot. Every minute a leaf ends and a new one has come. When does the plan start? */
static time_ms wait_of_plan(struct world *w, time_ms patience) {
    world_set(w, "limits.runs", "1");
    world_add(w, "leaf 0", (struct given){ .kind = "ralph" });
    world_decide(w);
    time_ms begin = w->now;
    world_add(w, "plan", (struct given){ .kind = "plan" });
    for (int i = 1; w->now < begin + patience; i++) {
        world_add(w, world_text(w, "leaf %d", i), (struct given){ .kind = "ralph" });
        world_pass(w, MINUTES(1));
        world_ends(w, world_name(w, w->starts[w->start_count - 1]), OUTCOME_OK);
        if (has_started(w, "plan"))
            return w->now - begin;
    }
    return TIME_NEVER;
}

TEST(f035_t01_age_boost_lets_a_stream_of_leaves_starve_a_plan) {
    WORLD(w, "loopr");
    assert_int_equal(wait_of_plan(w, DAYS(2)), TIME_NEVER);
    ASSERT_SCORE(w, "plan", 90);
    ASSERT_BLOCKED(w, "plan", "lease:runs");
}

TEST(f035_t01_max_wait_ends_the_starvation_of_a_plan) {
    WORLD(w, "sluice");
    define_kinds(w);
    assert_int_equal(wait_of_plan(w, DAYS(2)), HOURS(1));
}

TEST(f035_t01_max_wait_is_a_setting_of_every_preset) {
    static const char *const presets[] = { "loopr", "conductor", "gastown", "agency" };
    for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
        WORLD(w, presets[i]);
        world_set(w, "max_wait_s", "1200");
        assert_true(config_policy(w->config)->order & ORDER_BY_OVERDUE);
    }
    WORLD(w, "loopr");
    world_set(w, "max_wait_s", "1200");
    assert_int_equal(wait_of_plan(w, DAYS(2)), MINUTES(20));
}

/* The configured order decides. */
TEST(f035_an_order_without_overdue_is_what_it_says) {
    WORLD(w, "loopr");
    world_set(w, "order", "score, created_at, seq");
    world_set(w, "max_wait_s", "1200");
    assert_true(config_max_wait_has_no_effect(w->config));
    assert_int_equal(wait_of_plan(w, DAYS(2)), TIME_NEVER);
}

TEST(f035_without_max_wait_the_default_starves_too) {
    WORLD(w, "sluice");
    define_kinds(w);
    world_set(w, "max_wait_s", "never");
    assert_int_equal(wait_of_plan(w, DAYS(2)), TIME_NEVER);
}

TEST(f035_time_in_which_nothing_may_start_is_not_waiting) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "0");
    world_add(w, "task", (struct given){ 0 });
    world_pass(w, MINUTES(30));
    world_pause(w);
    world_pass(w, HOURS(10));
    world_resume(w);
    assert_int_equal(world_view(w, "task").waited, MINUTES(30));
    world_pass(w, MINUTES(30) - 1);
    assert_false(world_view(w, "task").overdue);
    world_pass(w, 1);
    assert_true(world_view(w, "task").overdue);
}

/* --- a task that needs two full keys ---------------------------------------------------------- */

#define RUN_LENGTH MINUTES(10)

/* Two streams, each on one key, half a run apart: the two keys are never free together. */
struct streams {
    struct given left, right;
    const char *last_left, *last_right;
    int count;
};

static void stream_goes_on(struct world *w, struct streams *s, bool left) {
    const char **last = left ? &s->last_left : &s->last_right;
    const char *next = world_text(w, "%s %d", left ? "left" : "right", ++s->count);
    world_add(w, next, left ? s->left : s->right);
    if (*last && task_state_is_live(world_view(w, *last).state))
        world_end(w, *last, OUTCOME_OK, 10000);
    world_decide(w);
    /* whichever of its waiting tasks was started is the next to end */
    for (size_t i = 0; i < w->started; i++) {
        const char *name = world_name(w, world_start(w, i)->task);
        if (name[0] == (left ? 'l' : 'r'))
            *last = name;
    }
}

/* How long until "both" starts; its own needs are in it. */
static time_ms wait_of_both(struct world *w, struct streams s, struct given both,
                            time_ms patience) {
    stream_goes_on(w, &s, true);
    world_pass(w, RUN_LENGTH / 2);
    stream_goes_on(w, &s, false);
    world_add(w, "both", both);
    time_ms begin = w->now;
    for (bool left = true; w->now < begin + patience; left = !left) {
        world_pass(w, RUN_LENGTH / 2);
        stream_goes_on(w, &s, left);
        if (has_started(w, "both"))
            return w->now - begin;
    }
    return TIME_NEVER;
}

static time_ms wait_for_two_resources(const char *max_wait) {
    WORLD(w, "sluice");
    world_set(w, "max_wait_s", max_wait);
    world_set(w, "limits.resource.gpu", "1");
    world_set(w, "limits.resource.db", "1");
    struct streams s = { .left = { .needs = { "gpu" } }, .right = { .needs = { "db" } } };
    return wait_of_both(w, s, (struct given){ .needs = { "gpu", "db" } }, DAYS(2));
}

TEST(f035_task_that_needs_two_resources_starves_without_max_wait) {
    assert_int_equal(wait_for_two_resources("never"), TIME_NEVER);
}

TEST(f035_reservation_starts_a_task_that_needs_two_resources) {
    time_ms waited = wait_for_two_resources("3600");
    assert_in_range(waited, HOURS(1), HOURS(1) + 2 * RUN_LENGTH);
}

static time_ms wait_for_resource_and_kind(const char *max_wait) {
    WORLD(w, "sluice");
    world_set(w, "max_wait_s", max_wait);
    world_set(w, "limits.resource.gpu", "1");
    world_set(w, "kinds.review.max_running", "1");
    struct streams s = { .left = { .needs = { "gpu" } }, .right = { .kind = "review" } };
    return wait_of_both(w, s, (struct given){ .needs = { "gpu" }, .kind = "review" }, DAYS(2));
}

TEST(f035_task_that_needs_resource_and_kind_starves_without_max_wait) {
    assert_int_equal(wait_for_resource_and_kind("never"), TIME_NEVER);
}

TEST(f035_reservation_starts_a_task_that_needs_resource_and_kind) {
    time_ms waited = wait_for_resource_and_kind("3600");
    assert_in_range(waited, HOURS(1), HOURS(1) + 2 * RUN_LENGTH);
}

static time_ms wait_for_workspace_and_account(const char *max_wait) {
    WORLD(w, "sluice");
    world_set(w, "max_wait_s", max_wait);
    world_set(w, "limiters.account.max_running", "1");
    struct streams s = { .left = { .workspace = "tree" }, .right = { .limiter = "account" } };
    return wait_of_both(w, s, (struct given){ .workspace = "tree", .limiter = "account" }, DAYS(2));
}

TEST(f035_task_that_needs_workspace_and_account_starves_without_max_wait) {
    assert_int_equal(wait_for_workspace_and_account("never"), TIME_NEVER);
}

TEST(f035_reservation_starts_a_task_that_needs_workspace_and_account) {
    time_ms waited = wait_for_workspace_and_account("3600");
    assert_in_range(waited, HOURS(1), HOURS(1) + 2 * RUN_LENGTH);
}

TEST(f035_also_when_the_stream_belongs_to_another_project) {
    WORLD(w, "sluice");
    world_set(w, "limits.resource.gpu", "1");
    world_set(w, "limits.resource.db", "1");
    struct streams s = { .left = { .needs = { "gpu" }, .project = "rich" },
                         .right = { .needs = { "db" }, .project = "rich" } };
    time_ms waited =
        wait_of_both(w, s, (struct given){ .needs = { "gpu", "db" }, .project = "poor" }, DAYS(2));
    assert_in_range(waited, HOURS(1), HOURS(1) + 2 * RUN_LENGTH);
}

/* --- what a reservation costs ------------------------------------------------------------------ */

TEST(f035_reserved_place_stands_idle_for_others_and_says_for_whom) {
    WORLD(w, "sluice");
    world_set(w, "limits.resource.gpu", "1");
    world_set(w, "limits.resource.db", "1");
    world_add(w, "gpu user", (struct given){ .needs = { "gpu" } });
    world_add(w, "db user", (struct given){ .needs = { "db" } });
    world_decide(w);
    world_add(w, "both", (struct given){ .needs = { "gpu", "db" } });
    world_pass(w, HOURS(1));
    world_decide(w);
    world_add(w, "late", (struct given){ .needs = { "gpu" } });
    world_add(w, "other", (struct given){ 0 });
    world_ends(w, "gpu user", OUTCOME_OK);
    ASSERT_STARTED(w, "other"); /* nothing else is held back */
    ASSERT_BLOCKED(w, "late", "lease:resource:gpu");
    struct verdict verdict;
    assert_true(core_blocked(w->core, world_number(w, "late"), &verdict));
    assert_string_equal(world_name(w, verdict.about), "both");
    world_ends(w, "db user", OUTCOME_OK);
    ASSERT_STARTED(w, "both");
    world_ends(w, "both", OUTCOME_OK);
    ASSERT_STARTED(w, "late");
}

TEST(f035_reservation_is_dropped_with_its_task) {
    WORLD(w, "sluice");
    world_set(w, "limits.resource.gpu", "1");
    world_set(w, "limits.resource.db", "1");
    world_add(w, "gpu user", (struct given){ .needs = { "gpu" } });
    world_add(w, "db user", (struct given){ .needs = { "db" } });
    world_decide(w);
    world_add(w, "both", (struct given){ .needs = { "gpu", "db" } });
    world_pass(w, HOURS(1));
    world_decide(w);
    world_add(w, "late", (struct given){ .needs = { "gpu" } });
    world_ends(w, "gpu user", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
    world_apply_kind(w, FACT_CANCEL, "both");
    world_decide(w);
    ASSERT_STARTED(w, "late");
}

/* --- no task waits behind a reservation for ever--------------------------------------------- */

TEST(f035_task_that_waits_for_a_lock_from_outside_starves_no_one) {
    WORLD(w, "sluice");
    world_set(w, "limits.resource.gpu", "1");
    world_set(w, "limits.resource.db", "1");
    struct fact lock = { .kind = FACT_WORKSPACE };
    lock.workspace.id = world_sym(w, "tree");
    lock.workspace.locked = true; /* by a person, for days: no end of a run gives it back */
    assert_int_equal(world_apply(w, &lock), 0);
    world_add(w, "picky", (struct given){ .workspace = "tree" });
    world_decide(w);
    world_pass(w, HOURS(2));
    struct streams s = { .left = { .needs = { "gpu" } }, .right = { .needs = { "db" } } };
    time_ms waited = wait_of_both(w, s, (struct given){ .needs = { "gpu", "db" } }, DAYS(2));
    assert_in_range(waited, HOURS(1), HOURS(1) + 2 * RUN_LENGTH);
    ASSERT_BLOCKED(w, "picky", "lease:workspace:tree");
}

TEST(f035_reservation_and_root_place_do_not_wait_for_each_other) {
    WORLD(w, "sluice");
    world_set(w, "limits.roots", "1");
    world_set(w, "limits.resource.gpu", "1");
    world_add(w, "done root", (struct given){ .state = TASK_DONE });
    world_add(w, "user", (struct given){ .parent = "done root", .needs = { "gpu" } });
    world_decide(w);
    world_add(w, "claims", (struct given){ .needs = { "gpu" } });
    world_pass(w, HOURS(1));
    world_decide(w); /* it lacks the gpu, and reserves it */
    world_add(w, "root", (struct given){ 0 });
    world_decide(w);
    world_add(w, "child",
              (struct given){ .parent = "root", .parent_gate = "none", .needs = { "gpu" } });
    /* if the root has the root place it ends after its child, which needs the gpu; if not, nothing
     * stops the task that reserved it */
    world_ends(w, "user", OUTCOME_OK);
    if (w->started == 0)
        ASSERT_STARTED(w, "child, or claims");
}

TEST(f035_reservation_starts_a_task_that_needs_root_place_and_resource) {
    WORLD(w, "sluice");
    world_set(w, "limits.roots", "1");
    world_set(w, "limits.resource.gpu", "1");
    world_add(w, "done root", (struct given){ .state = TASK_DONE });
    struct streams s = { .right = { .parent = "done root", .needs = { "gpu" } } };
    time_ms waited = wait_of_both(w, s, (struct given){ .needs = { "gpu" } }, DAYS(2));
    assert_in_range(waited, HOURS(1), HOURS(1) + 3 * RUN_LENGTH);
}
