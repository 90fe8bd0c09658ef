/* test_core_load.c: a core loads its rows. tests/model and tests/world check on random histories that a rebuilt core
 * is identical. */
#include <errno.h>

#include "core_facts.h"
#include "harness/test.h"

TEST(nothing_follows_from_rows_while_they_are_loaded) {
    struct core *core = core_with_a_world(true);
    size_t count = 1;
    const task_id on[] = { 3 };
    struct task_spec first = row(1, TASK_READY);
    first.depends_on = on;
    first.depends_on_count = 1;
    assert_int_equal(add(core, first), 0);
    struct task_spec older = row(2, TASK_DONE); /* of an earlier iteration */
    older.parent = 3;
    older.parent_iteration = 1;
    assert_int_equal(add(core, older), 0);
    struct task_spec parent = row(3, TASK_DONE);
    parent.iteration = 2;
    assert_int_equal(add(core, parent), 0);
    (void)core_decide(core, &count);
    assert_int_equal(count, 0);
    assert_true(apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 1 }) < 0);
    loaded(core);
    assert_int_equal(view(core, 1).state, TASK_READY);
    assert_int_equal(view(core, 2).state, TASK_DONE);
    (void)core_decide(core, &count);
    assert_int_equal(count, 1); /* the first starts; nothing else is announced */
    core_free(core);
}

TEST(a_task_that_names_a_later_one_keeps_its_wait) {
    struct core *core = core_with_a_world(true);
    const task_id on[] = { 2 };
    struct task_spec first = row(1, TASK_READY);
    first.depends_on = on;
    first.depends_on_count = 1;
    first.ready_since = NOW - MINUTES(10);
    add(core, first);
    add(core, row(2, TASK_DONE));
    loaded(core);
    assert_int_equal(view(core, 1).waited, MINUTES(10));
    core_free(core);
}

TEST(time_behind_a_closed_gate_does_not_count_after_a_restart) {
    struct core *core = core_with_a_world(true);
    apply_fact(core, (struct fact){ .kind = FACT_WAIT,
                                    .wait = { .project = PROJECT, .lost = MINUTES(40) } });
    struct task_spec first = row(1, TASK_READY);
    first.ready_since = NOW - HOURS(1); /* as of when the row was written */
    first.ready_clock = NOW - HOURS(1);
    add(core, first);
    loaded(core);
    assert_int_equal(view(core, 1).waited, MINUTES(20));
    core_free(core);
}

TEST(a_closed_gate_stays_closed_until_the_clock_says_otherwise) {
    struct core *core = core_with_a_world(true);
    apply_fact(core, (struct fact){ .kind = FACT_PAUSE });
    apply_fact(core,
               (struct fact){ .kind = FACT_WAIT,
                              .wait = { .project = PROJECT, .closed_since = NOW - MINUTES(5) } });
    struct task_spec first = row(1, TASK_READY);
    first.ready_clock = NOW - MINUTES(8);
    add(core, first);
    loaded(core);
    assert_int_equal(view(core, 1).waited, MINUTES(3));
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW + MINUTES(1) });
    apply_fact(core, (struct fact){ .kind = FACT_RESUME });
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW + MINUTES(2) });
    assert_int_equal(view(core, 1).waited, MINUTES(4));
    core_free(core);
}

TEST(what_a_stop_was_for_outlives_a_restart) {
    static const struct {
        enum stop_request stop;
        enum task_state becomes;
    } wishes[] = { { STOP_CANCEL, TASK_DONE }, /* success was first */
                   { STOP_INVALIDATE, TASK_INVALIDATED },
                   { STOP_ORPHAN, TASK_FAILED } };
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        struct core *core = core_with_a_world(true);
        struct task_spec first = row(1, TASK_RUNNING);
        first.phase = PHASE_STOPPING;
        first.stop = wishes[i].stop;
        add(core, first);
        loaded(core);
        end_run(core, 1, OUTCOME_OK);
        assert_int_equal(view(core, 1).state, wishes[i].becomes);
        core_free(core);
    }
}

TEST(a_run_that_was_stopped_while_validating_holds_no_limiter) {
    struct core *core = core_with_a_world(true);
    struct task_spec first = row(1, TASK_RUNNING), second = row(2, TASK_RUNNING), applied;
    first.agent = second.agent = AGENT;
    first.phase = PHASE_VALIDATING;
    first.stop = second.stop = STOP_CANCEL;
    second.phase = PHASE_STOPPING;
    add(core, first);
    add(core, second);
    loaded(core);
    assert_int_equal(view(core, 1).phase, PHASE_STOPPING);
    assert_int_equal(used(core, LEASE_LIMITER, LIMITER), 1);
    assert_true(core_task_spec(core, 1, &applied));
    assert_int_equal(applied.phase, PHASE_VALIDATING);
    assert_true(core_task_spec(core, 2, &applied));
    assert_int_equal(applied.phase, PHASE_STOPPING);
    core_free(core);
}

TEST(only_kept_slots_are_taken_again) {
    struct core *core = core_with_a_world(true);
    struct task_spec rejected = row(1, TASK_WAITING), held = row(2, TASK_HELD);
    rejected.review = held.review = true;
    rejected.keeps = KEEP_TASK | KEEP_ROOTS; /* the rejection has released its review slot */
    held.hold = HOLD_REVIEW;
    held.keeps = KEEP_ALL;
    add(core, rejected);
    add(core, held);
    loaded(core);
    assert_int_equal(used(core, LEASE_ROOTS, 0), 2);
    assert_int_equal(used(core, LEASE_REVIEW, PROJECT), 1);
    core_free(core);
}

TEST(a_start_that_is_refused_after_a_restart_leaves_no_trace) {
    struct core *core = core_with_a_world(true);
    apply_fact(core, (struct fact){ .kind = FACT_USAGE,
                                    .usage = { .project = PROJECT, .starts = 1, .at = NOW } });
    struct task_spec first = row(1, TASK_STARTING);
    first.ready_since = NOW - MINUTES(7);
    first.review = true;
    add(core, first);
    loaded(core);
    assert_int_equal(used(core, LEASE_REVIEW, PROJECT), 1);
    assert_int_equal(
        apply_fact(core, (struct fact){ .kind = FACT_ORDER_REFUSED, .task = 1, .attempt = 1 }), 0);
    struct share_view share;
    assert_true(core_share(core, PROJECT, &share));
    assert_int_equal(share.starts, 0);
    assert_int_equal(used(core, LEASE_REVIEW, PROJECT), 0);
    assert_int_equal(view(core, 1).attempt, 0);
    assert_int_equal(view(core, 1).waited, MINUTES(7));
    core_free(core);
}

TEST(draining_ends_when_it_would_have) {
    struct core *core = core_with_a_world(true);
    struct task_spec parent = row(1, TASK_RUNNING), child = row(2, TASK_RUNNING);
    parent.phase = PHASE_DRAINING;
    parent.not_before = NOW + SECONDS(3);
    child.parent = 1;
    child.parent_iteration = 1;
    child.parent_gate = PARENT_NONE;
    add(core, parent);
    add(core, child);
    loaded(core);
    size_t count;
    (void)core_decide(core, &count);
    assert_int_equal(view(core, 1).phase, PHASE_DRAINING);
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW + SECONDS(3) });
    (void)core_decide(core, &count);
    assert_int_equal(view(core, 1).reason, REASON_DRAIN_TIMEOUT);
    core_free(core);
}

TEST(agents_and_limiters_are_as_they_were_left) {
    struct core *core = core_new();
    symbol_intern(core_symbols(core), "project", 7);
    symbol_intern(core_symbols(core), "limiter", 7);
    symbol_intern(core_symbols(core), "agent", 5);
    apply_fact(core, (struct fact){ .kind = FACT_LOADING });
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW });
    struct limiter_spec l = { .id = LIMITER,
                              .policy = { .max_running = 10, .initial = 1000, .max = 60000 },
                              .hits = 3,
                              .backoff_until = NOW + 1000,
                              .in_backoff = true,
                              .backoff_since = NOW - 5000,
                              .last_hit = NOW - 4000 };
    struct agent_spec a = { .id = AGENT,
                            .slots = UNLIMITED,
                            .launch_failures = 4,
                            .openings = 2,
                            .closed_until = NOW + 7000 };
    apply_fact(core, (struct fact){ .kind = FACT_LIMITER, .limiter = l });
    apply_fact(core, (struct fact){ .kind = FACT_AGENT, .agent = a });
    loaded(core);
    struct limiter_spec l2;
    struct agent_spec a2;
    assert_true(core_limiter_spec(core, LIMITER, &l2));
    assert_true(core_agent_spec(core, AGENT, &a2));
    assert_int_equal(l2.hits, 3);
    assert_true(l2.in_backoff);
    assert_int_equal(l2.backoff_since, NOW - 5000);
    assert_int_equal(l2.last_hit, NOW - 4000);
    assert_int_equal(a2.launch_failures, 4);
    assert_int_equal(a2.openings, 2);
    assert_int_equal(a2.closed_until, NOW + 7000);
    core_free(core);
}

TEST(the_clock_of_a_limiter_that_is_deleted_is_ignored) {
    struct core *core = core_with_a_world(true);
    assert_int_equal(
        apply_fact(core, (struct fact){ .kind = FACT_WAIT,
                                        .wait = { .project = PROJECT, .limiter = RESOURCE } }),
        1);
    core_free(core);
}

TEST(a_run_whose_limiter_is_deleted_has_that_of_its_task) {
    struct core *core = core_with_a_world(true);
    struct task_spec first = row(1, TASK_RUNNING);
    first.agent = AGENT;
    first.run_limiter = RESOURCE; /* no limiter has that name */
    assert_int_equal(add(core, first), 0);
    loaded(core);
    assert_int_equal(used(core, LEASE_LIMITER, LIMITER), 1);
    core_free(core);
}

TEST(a_row_says_how_what_is_configured_was_left) {
    struct core *core = core_with_a_world(true); /* the configuration has set both */
    struct fact limiter = { .kind = FACT_LIMITER };
    assert_true(core_limiter_spec(core, LIMITER, &limiter.limiter));
    limiter.limiter.hits = 3;
    limiter.limiter.backoff_until = NOW + MINUTES(7);
    struct fact agent = { .kind = FACT_AGENT };
    assert_true(core_agent_spec(core, AGENT, &agent.agent));
    agent.agent.openings = 2;
    agent.agent.closed_until = NOW + HOURS(1);
    assert_int_equal(apply_fact(core, limiter), 0);
    assert_int_equal(apply_fact(core, agent), 0);
    loaded(core);
    limiter.limiter.hits = 0; /* later it is a change of the configuration, which keeps them */
    limiter.limiter.backoff_until = 0;
    agent.agent.closed_until = 0;
    assert_int_equal(apply_fact(core, limiter), 0);
    assert_int_equal(apply_fact(core, agent), 0);
    struct limiter_view seen;
    struct agent_spec left;
    assert_true(core_limiter(core, LIMITER, &seen));
    assert_int_equal(seen.hits, 3);
    assert_int_equal(seen.backoff_until, NOW + MINUTES(7));
    assert_true(core_agent_spec(core, AGENT, &left));
    assert_int_equal(left.openings, 2);
    assert_int_equal(left.closed_until, NOW + HOURS(1));
    core_free(core);
}

static void paced(struct core *core, amount batch) {
    struct policy policy;
    policy_default(&policy);
    policy.pace.batch = batch;
    policy.pace.tick = MINUTES(3);
    apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
}

static size_t starts_of(struct core *core) {
    size_t count, starts = 0;
    const struct order *orders = core_decide(core, &count);
    for (size_t i = 0; i < count; i++)
        starts += orders[i].kind == ORDER_START;
    return starts;
}

TEST(a_claim_is_loaded_for_a_task_that_is_ready) {
    struct fact claim = { .kind = FACT_CLAIM, .claim = { .task = 1, .leases = 1u << LEASE_RUNS } };
    struct core *core = core_with_a_world(true);
    assert_int_equal(apply_fact(core, claim), 0);
    add(core, row(1, TASK_DONE)); /* nothing is reserved for it */
    add(core, row(2, TASK_WAITING));
    loaded(core);
    assert_int_equal(apply_fact(core, claim), -EBUSY);
    assert_int_equal(starts_of(core), 1);
    core_free(core);
}

TEST(f057_a_restart_begins_no_tick) {
    struct core *core = core_with_a_world(true);
    struct fact pace = { .kind = FACT_PACE,
                         .pace = { .ticking = true,
                                   .tick_began = NOW - MINUTES(1),
                                   .tick_starts = 1,
                                   .started = true,
                                   .last_start = NOW - MINUTES(1) } };
    paced(core, 1);
    assert_int_equal(apply_fact(core, pace), 0);
    add(core, row(1, TASK_WAITING));
    add(core, row(2, TASK_WAITING));
    loaded(core);
    assert_int_equal(starts_of(core), 0);
    struct verdict v;
    assert_true(core_blocked(core, 1, &v));
    assert_int_equal(v.gate, GATE_PACE);
    assert_int_equal(v.opens_at, NOW + MINUTES(2));
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = NOW + MINUTES(2) });
    assert_int_equal(starts_of(core), 1);
    assert_int_equal(core_pace(core).tick_began, NOW + MINUTES(2));
    core_free(core);
}

TEST(a_pace_that_is_not_in_force_any_more_is_forgotten) {
    struct core *core = core_with_a_world(true);
    struct fact pace = { .kind = FACT_PACE,
                         .pace = { .ticking = true, .tick_began = NOW, .tick_starts = 1 } };
    assert_int_equal(apply_fact(core, pace), 0); /* the row is older than the policy */
    add(core, row(1, TASK_WAITING));
    loaded(core);
    paced(core, 1);
    assert_int_equal(starts_of(core), 1);
    assert_true(apply_fact(core, pace) < 0); /* nothing is loaded now */
    core_free(core);
}

TEST(only_a_new_core_loads_rows) {
    struct core *core = core_with_a_world(false);
    struct fact wait = { .kind = FACT_WAIT, .wait = { .project = PROJECT } };
    assert_true(apply_fact(core, (struct fact){ .kind = FACT_LOADED }) < 0);
    assert_true(apply_fact(core, wait) < 0);
    add(core, row(1, TASK_WAITING));
    assert_true(apply_fact(core, (struct fact){ .kind = FACT_LOADING }) < 0);
    core_free(core);
}

TEST(groups_are_not_announced_again) {
    struct core *core = core_with_a_world(true);
    struct task_spec done = row(1, TASK_DONE), open = row(2, TASK_HELD);
    done.group = open.group = 7;
    open.hold = HOLD_PERSON;
    add(core, done);
    add(core, open);
    loaded(core);
    size_t count;
    (void)core_decide(core, &count);
    struct group_view group = core_group(core, 7);
    assert_int_equal(count, 0);
    assert_int_equal(group.open, 1);
    assert_int_equal(group.total, 2);
    core_free(core);
}
