/* test_lend.c: a parent that waits for its children, where places are few.
 *
 * Row T15. What the daemon does of it, with real processes: tests/daemon/test_lend.sh. */
#include "harness/test.h"
#include "harness/world.h"

static void phase(struct world *w, const char *task, enum run_phase to) {
    struct fact fact = { .kind = FACT_RUN_PHASE,
                         .task = world_number(w, task),
                         .attempt = world_view(w, task).attempt,
                         .phase = to };
    assert_int_equal(world_apply(w, &fact), 0);
}

static void waits(struct world *w, const char *task) {
    phase(w, task, PHASE_WAITING);
}

static void add_child(struct world *w, const char *task, const char *parent) {
    world_add(w, task, (struct given){ .parent = parent, .parent_gate = "none" });
}

/* A parent that runs in the only place there is, and a child that is ready. */
static struct world *one_place(const char *preset) {
    struct world *w = world_new(preset);
    world_set(w, "limits.runs", "1");
    world_add(w, "parent", (struct given){ 0 });
    world_decide(w);
    ASSERT_STARTED(w, "parent");
    world_apply_kind(w, FACT_RUN_STARTED, "parent");
    add_child(w, "child", "parent");
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "child", "lease:runs");
    return w;
}

TEST(t15_parent_that_waits_lends_its_place_to_its_child) {
    _cleanup_(world_freep) struct world *w = one_place("conductor");
    waits(w, "parent");
    world_decide(w);
    ASSERT_STARTED(w, "child");
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 1");
    assert_int_equal(world_start(w, 0)->lender, world_number(w, "parent"));
    world_ends(w, "child", OUTCOME_OK);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 1");
    phase(w, "parent", PHASE_WORKING);
    world_ends(w, "parent", OUTCOME_OK);
    ASSERT_STATE(w, "parent", TASK_DONE);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "0 of 1");
}

TEST(t15_chain_of_three_that_wait_ends_with_one_place) {
    _cleanup_(world_freep) struct world *w = one_place("sluice");
    waits(w, "parent");
    world_decide(w);
    ASSERT_STARTED(w, "child");
    world_apply_kind(w, FACT_RUN_STARTED, "child");
    add_child(w, "grandchild", "child");
    waits(w, "child");
    world_decide(w);
    ASSERT_STARTED(w, "grandchild");
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 1");
    world_ends(w, "grandchild", OUTCOME_OK);
    world_ends(w, "child", OUTCOME_OK);
    world_ends(w, "parent", OUTCOME_OK);
    ASSERT_STATE(w, "parent", TASK_DONE);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "0 of 1");
}

TEST(t15_slot_that_comes_back_is_no_other_tasks) {
    _cleanup_(world_freep) struct world *w = one_place("sluice");
    waits(w, "parent");
    world_decide(w);
    ASSERT_STARTED(w, "child");
    world_add(w, "urgent", (struct given){ .priority = 1 });
    phase(w, "parent", PHASE_WORKING);
    world_ends(w, "child", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
    ASSERT_BLOCKED(w, "urgent", "lease:runs");
    world_ends(w, "parent", OUTCOME_OK);
    ASSERT_STARTED(w, "urgent");
}

TEST(t15_one_place_one_child) {
    _cleanup_(world_freep) struct world *w = one_place("sluice");
    add_child(w, "second", "parent");
    waits(w, "parent");
    world_decide(w);
    ASSERT_STARTED(w, "child");
    ASSERT_BLOCKED(w, "second", "lease:runs");
    world_ends(w, "child", OUTCOME_FAILED); /* it waits for its retry; the next one has its turn */
    ASSERT_STARTED(w, "second");
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 1");
}

TEST(t15_nothing_is_lent_while_there_are_places) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "3");
    world_add(w, "parent", (struct given){ 0 });
    world_decide(w);
    world_apply_kind(w, FACT_RUN_STARTED, "parent");
    add_child(w, "child", "parent");
    world_add(w, "stranger", (struct given){ 0 });
    waits(w, "parent");
    world_decide(w);
    ASSERT_START_COUNT(w, 2);
    assert_int_equal(world_start(w, 0)->lender, 0);
    assert_int_equal(world_start(w, 1)->lender, 0);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "3 of 3");
}

TEST(t15_strangers_borrow_nothing) {
    _cleanup_(world_freep) struct world *w = one_place("sluice");
    world_apply_kind(w, FACT_CANCEL, "child");
    world_add(w, "stranger", (struct given){ .priority = 1 });
    waits(w, "parent");
    world_decide(w);
    ASSERT_NONE_STARTED(w);
}

TEST(t15_locks_are_not_lent) {
    WORLD(w, "sluice");
    world_set(w, "limits.runs", "1");
    world_add(w, "parent", (struct given){ .workspace = "desk" });
    world_decide(w);
    world_apply_kind(w, FACT_RUN_STARTED, "parent");
    world_add(w, "child",
              (struct given){ .parent = "parent", .parent_gate = "none", .workspace = "desk" });
    waits(w, "parent");
    world_decide(w);
    ASSERT_NONE_STARTED(w); /* its work lies there */
    ASSERT_BLOCKED(w, "child", "lease:workspace:desk");
}

TEST(t15_end_of_the_parent_leaves_the_place_to_its_child) {
    _cleanup_(world_freep) struct world *w = one_place("sluice");
    world_set(w, "drain_s", "0");
    world_add(w, "next", (struct given){ 0 });
    waits(w, "parent");
    world_decide(w);
    ASSERT_STARTED(w, "child");
    world_ends(w, "parent", OUTCOME_OK);
    ASSERT_NONE_STARTED(w);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 1");
    world_ends(w, "child", OUTCOME_OK);
    ASSERT_STARTED(w, "next");
}

TEST(t15_refused_order_gives_the_place_back_to_the_parent) {
    _cleanup_(world_freep) struct world *w = one_place("sluice");
    waits(w, "parent");
    world_decide(w);
    ASSERT_STARTED(w, "child");
    phase(w, "parent", PHASE_WORKING);
    world_add(w, "next", (struct given){ .priority = 1 });
    world_apply_kind(w, FACT_ORDER_REFUSED, "child");
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    ASSERT_STATE(w, "child", TASK_READY);
    ASSERT_PLACES(w, LEASE_RUNS, NULL, "1 of 1");
    assert_int_equal(world_view(w, "parent").borrower, 0);
}
