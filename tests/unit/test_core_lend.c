/* test_core_lend.c: which slots a waiting run lends, how they are returned, and what survives a restart.
 * tests/model and tests/world check lending on random histories. */
#include "core_facts.h"
#include "harness/test.h"

/* One run at a time; a waiting parent (1) with a limiter, its child 2, and 3, a child of 2. */
static struct core *family(bool loading) {
    struct core *core = core_with_a_world(loading);
    struct policy policy;
    policy_default(&policy);
    policy.runs = 1;
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy }), 0);
    return core;
}

static struct task_spec child_spec(task_id id, task_id parent, enum task_state state) {
    struct task_spec spec = row(id, state);
    spec.parent = parent;
    spec.parent_gate = PARENT_NONE;
    spec.limiter = LIMITER;
    spec.started_at = task_state_is_live(state) ? NOW : 0;
    return spec;
}

static int phase(struct core *core, task_id task, enum run_phase to) {
    return apply_fact(
        core, (struct fact){ .kind = FACT_RUN_PHASE, .task = task, .attempt = 1, .phase = to });
}

static size_t decide(struct core *core) {
    size_t count, starts = 0;
    const struct order *orders = core_decide(core, &count);
    for (size_t i = 0; i < count; i++)
        starts += orders[i].kind == ORDER_START;
    return starts;
}

static amount runs_held(const struct core *core) {
    return used(core, LEASE_RUNS, 0);
}

/* A chain: 1 lends to 2, which lends to 3. */
static struct core *chain(void) {
    struct core *core = family(false);
    assert_int_equal(add(core, child_spec(1, 0, TASK_RUNNING)), 0);
    assert_int_equal(add(core, child_spec(2, 1, TASK_WAITING)), 0);
    assert_int_equal(phase(core, 1, PHASE_WAITING), 0);
    assert_int_equal(decide(core), 1);
    assert_int_equal(add(core, child_spec(3, 2, TASK_WAITING)), 0);
    assert_int_equal(phase(core, 2, PHASE_WAITING), 0);
    assert_int_equal(decide(core), 1);
    assert_int_equal(view(core, 3).lender, 2);
    return core;
}

TEST(a_run_works_and_waits_by_turns) {
    struct core *core = family(false);
    assert_int_equal(add(core, child_spec(1, 0, TASK_RUNNING)), 0);
    assert_int_equal(phase(core, 1, PHASE_WORKING), 1); /* it does */
    assert_int_equal(phase(core, 1, PHASE_WAITING), 0);
    assert_int_equal(phase(core, 1, PHASE_WAITING), 1);
    assert_int_equal(phase(core, 1, PHASE_WORKING), 0);
    assert_int_equal(phase(core, 1, PHASE_WAITING), 0);
    assert_int_equal(phase(core, 1, PHASE_VALIDATING), 0);
    assert_int_equal(phase(core, 1, PHASE_WAITING), 1); /* and not any more */
    assert_int_equal(phase(core, 1, PHASE_DRAINING), 1);
    core_free(core);
}

TEST(a_run_that_was_ordered_to_stop_lends_no_more) {
    struct core *core = family(false);
    assert_int_equal(add(core, child_spec(1, 0, TASK_RUNNING)), 0);
    assert_int_equal(add(core, child_spec(2, 1, TASK_WAITING)), 0);
    assert_int_equal(phase(core, 1, PHASE_WAITING), 0);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 1 }), 0);
    assert_int_equal(decide(core), 0);
    assert_int_equal(phase(core, 1, PHASE_WAITING), 1);
    core_free(core);
}

/* The limiter of 3 belongs to 1: 2 validates and no longer needs it. */
TEST(a_limiter_passes_a_run_that_validates) {
    struct core *core = chain();
    assert_int_equal(phase(core, 2, PHASE_VALIDATING), 0);
    assert_int_equal(used(core, LEASE_LIMITER, LIMITER), 1);
    assert_int_equal(phase(core, 3, PHASE_VALIDATING), 0);
    assert_int_equal(used(core, LEASE_LIMITER, LIMITER), 1); /* 1 has it again */
    assert_int_equal(phase(core, 1, PHASE_VALIDATING), 0);
    assert_int_equal(used(core, LEASE_LIMITER, LIMITER), 0);
    assert_int_equal(runs_held(core), 1);
    core_free(core);
}

TEST(an_unneeded_limiter_is_free) {
    struct core *core = chain();
    assert_int_equal(phase(core, 1, PHASE_VALIDATING), 0);
    assert_int_equal(phase(core, 2, PHASE_VALIDATING), 0);
    assert_int_equal(used(core, LEASE_LIMITER, LIMITER), 1); /* 3 calls a model */
    end_run(core, 3, OUTCOME_FAILED);
    assert_int_equal(used(core, LEASE_LIMITER, LIMITER), 0);
    assert_int_equal(runs_held(core), 1);
    core_free(core);
}

TEST(a_run_that_ends_in_the_middle_of_a_chain_leaves_no_gap) {
    struct core *core = chain();
    end_run(core, 2, OUTCOME_FAILED);
    assert_int_equal(view(core, 3).lender, 1);
    assert_int_equal(view(core, 1).borrower, 3);
    assert_int_equal(runs_held(core), 1);
    end_run(core, 3, OUTCOME_FAILED);
    assert_int_equal(runs_held(core), 1); /* 1 has it again; it is not lost */
    assert_int_equal(view(core, 1).borrower, 0);
    end_run(core, 1, OUTCOME_FAILED);
    assert_int_equal(runs_held(core), 0);
    core_free(core);
}

TEST(the_first_run_that_ends_leaves_its_slots_to_the_borrower) {
    struct core *core = chain();
    end_run(core, 1, OUTCOME_FAILED);
    assert_int_equal(runs_held(core), 1);
    assert_int_equal(view(core, 2).lender, 0);
    end_run(core, 3, OUTCOME_FAILED);
    assert_int_equal(runs_held(core), 1);
    end_run(core, 2, OUTCOME_FAILED);
    assert_int_equal(runs_held(core), 0);
    core_free(core);
}

/* A pause by the user applies to borrowers, too. */
TEST(nothing_is_lent_where_nothing_may_start) {
    struct core *core = family(false);
    struct policy policy;
    policy_default(&policy);
    policy.runs = 0;
    assert_int_equal(add(core, child_spec(1, 0, TASK_RUNNING)), 0);
    assert_int_equal(add(core, child_spec(2, 1, TASK_WAITING)), 0);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy }), 0);
    assert_int_equal(phase(core, 1, PHASE_WAITING), 0);
    assert_int_equal(decide(core), 0);
    core_free(core);
}

/* Two waiting runs hold two slots of a cap that is now one: each would wait for the other forever. */
TEST(a_lowered_cap_stops_no_borrower) {
    struct core *core = family(false);
    assert_int_equal(add(core, child_spec(1, 0, TASK_RUNNING)), 0);
    assert_int_equal(add(core, child_spec(2, 0, TASK_RUNNING)), 0);
    assert_int_equal(add(core, child_spec(3, 1, TASK_WAITING)), 0);
    assert_int_equal(add(core, child_spec(4, 2, TASK_WAITING)), 0);
    assert_int_equal(phase(core, 1, PHASE_WAITING), 0);
    assert_int_equal(phase(core, 2, PHASE_WAITING), 0);
    assert_int_equal(decide(core), 2);
    assert_int_equal(view(core, 3).lender, 1);
    assert_int_equal(view(core, 4).lender, 2);
    assert_int_equal(runs_held(core), 2);
    core_free(core);
}

/* --- rows ------------------------------------------------------------------------------------ */

static struct core *applied(const struct core *old, task_id last) {
    struct core *core = family(true);
    for (task_id id = 1; id <= last; id++) {
        struct task_spec spec;
        assert_true(core_task_spec(old, id, &spec));
        assert_int_equal(add(core, spec), 0);
    }
    loaded(core);
    return core;
}

TEST(a_restart_restores_every_lent_slot) {
    struct core *old = chain();
    struct core *core = applied(old, 3);
    core_free(old);
    assert_int_equal(runs_held(core), 1);
    assert_int_equal(used(core, LEASE_LIMITER, LIMITER), 1);
    assert_int_equal(view(core, 1).borrower, 2);
    assert_int_equal(view(core, 2).borrower, 3);
    end_run(core, 3, OUTCOME_FAILED);
    end_run(core, 2, OUTCOME_FAILED);
    assert_int_equal(runs_held(core), 1);
    end_run(core, 1, OUTCOME_FAILED);
    assert_int_equal(runs_held(core), 0);
    core_free(core);
}

/* The row names a task that cannot be its lender: then it has its own slots. */
TEST(an_impossible_loan_is_ignored) {
    static const struct {
        enum task_state state;
        enum run_phase phase;
        task_id parent, lender;
    } rows[] = {
        { TASK_DONE, PHASE_WORKING, 1, 1 },     /* not live */
        { TASK_RUNNING, PHASE_DRAINING, 1, 1 }, /* it holds nothing */
        { TASK_RUNNING, PHASE_WORKING, 0, 1 },  /* not an ancestor */
        { TASK_RUNNING, PHASE_WORKING, 1, 7 },  /* unknown */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct core *core = family(true);
        struct task_spec lender = child_spec(1, 0, rows[i].state), borrower;
        lender.phase = rows[i].phase;
        lender.not_before = rows[i].phase == PHASE_DRAINING ? NOW + MINUTES(1) : 0;
        assert_int_equal(add(core, lender), 0);
        borrower = child_spec(2, rows[i].parent, TASK_RUNNING);
        borrower.lender = rows[i].lender;
        borrower.borrowed = LEND_ALL;
        assert_int_equal(add(core, borrower), 0);
        loaded(core);
        assert_int_equal(view(core, 2).lender, 0);
        bool both = rows[i].state == TASK_RUNNING && rows[i].phase == PHASE_WORKING;
        assert_int_equal(runs_held(core), both ? 2 : 1);
        core_free(core);
    }
}

TEST(slots_that_do_not_exist_are_refused) {
    struct core *core = family(true);
    struct task_spec spec = child_spec(1, 0, TASK_RUNNING);
    spec.borrowed = LEND_ALL + 1;
    assert_true(add(core, spec) < 0);
    core_free(core);
}
