/* test_core_failover.c: which agent takes over the tasks of an agent whose account is limited (docs/internals/rules.md §2). */
#include <errno.h>

#include "core/core.h"
#include "core_facts.h"
#include "harness/test.h"

enum { OTHER = RESOURCE + 1, THIRD, OTHER_ACCOUNT, THIRD_ACCOUNT };

static void apply_agent(struct core *core, struct agent_spec spec) {
    struct error err = { 0 };
    struct fact fact = { .kind = FACT_AGENT, .agent = spec };
    if (core_apply(core, &fact, &err) < 0)
        fail_msg("%s", err.text);
}

/* `agent` fails over to `other`, then `third`; each has its own account. */
static struct core *core_with_three_agents(void) {
    static const char *const names[] = { "other", "third", "other's", "third's" };
    struct core *core = core_with_a_world(false);
    struct policy policy;
    policy_default(&policy);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        symbol_intern(core_symbols(core), names[i], strlen(names[i]));
    for (sym l = OTHER_ACCOUNT; l <= THIRD_ACCOUNT; l++)
        apply_fact(core, (struct fact){ .kind = FACT_LIMITER,
                                        .limiter = { .id = l, .policy = policy.limiter } });
    apply_agent(core, (struct agent_spec){ .id = AGENT,
                                           .slots = 1,
                                           .limiter = LIMITER,
                                           .failover = { OTHER, THIRD },
                                           .failover_count = 2 });
    apply_agent(core, (struct agent_spec){ .id = OTHER, .slots = 1, .limiter = OTHER_ACCOUNT });
    apply_agent(core, (struct agent_spec){ .id = THIRD, .slots = 1, .limiter = THIRD_ACCOUNT });
    return core;
}

static void add_like(struct core *core, task_id id, struct task_spec spec) {
    struct error err = { 0 };
    struct task_spec whole = row(id, TASK_WAITING);
    whole.agent = AGENT;
    whole.bound = spec.bound;
    whole.limiter = spec.limiter;
    struct fact fact = { .kind = FACT_TASK_ADDED, .spec = &whole };
    if (core_apply(core, &fact, &err) < 0)
        fail_msg("%s", err.text);
}

static void end(struct core *core, task_id id, enum outcome outcome, time_ms reset_at) {
    struct task_view t;
    assert_true(core_task(core, id, &t));
    struct fact fact = { .kind = FACT_RUN_ENDED, .task = id, .attempt = t.attempt };
    fact.ended.outcome = outcome;
    fact.ended.tokens = -1;
    fact.ended.reset_at = reset_at;
    fact.ended.output = true;
    assert_int_equal(apply_fact(core, fact), 0);
}

/* The start order for this task in this decision, or NULL. */
static const struct order *decide(struct core *core, task_id id) {
    size_t count = 0;
    const struct order *orders = core_decide(core, &count);
    for (size_t i = 0; i < count; i++)
        if (orders[i].kind == ORDER_START && orders[i].task == id)
            return &orders[i];
    return NULL;
}

static void expect_start(struct core *core, task_id id, sym agent, sym limiter) {
    const struct order *o = decide(core, id);
    assert_non_null(o);
    assert_int_equal(o->agent, agent);
    assert_int_equal(o->limiter, limiter);
}

static void expect_used(const struct core *core, enum lease_kind kind, sym name, amount used) {
    amount is = -1, cap = -1;
    assert_true(core_lease(core, kind, name, &is, &cap));
    assert_int_equal(is, used);
}

static void clock_at(struct core *core, time_ms at) {
    apply_fact(core, (struct fact){ .kind = FACT_CLOCK, .now = at });
}

/* Task 1 has hit the rate limit of `agent`, and is the first to run elsewhere. */
static struct core *core_with_a_limit(time_ms until) {
    struct core *core = core_with_three_agents();
    add_like(core, 1, (struct task_spec){ 0 });
    expect_start(core, 1, AGENT, LIMITER);
    end(core, 1, OUTCOME_LIMITED, until);
    return core;
}

TEST(an_open_agent_is_never_passed_over) {
    struct core *core = core_with_three_agents();
    struct verdict v;
    add_like(core, 1, (struct task_spec){ 0 });
    add_like(core, 2, (struct task_spec){ 0 });
    expect_start(core, 1, AGENT, LIMITER);
    assert_null(decide(core, 2)); /* being full is not a reason to fail over */
    assert_true(core_blocked(core, 2, &v));
    assert_int_equal(v.lease, LEASE_AGENT);
    assert_int_equal(v.key, AGENT);
    core_free(core);
}

TEST(a_limit_sends_it_to_the_first_that_is_open) {
    struct core *core = core_with_a_limit(NOW + HOURS(1));
    struct task_view t;
    const struct order *o = decide(core, 1);
    assert_non_null(o);
    assert_int_equal(o->agent, OTHER);
    assert_int_equal(o->instead_of, AGENT);
    assert_int_equal(o->instead_until, NOW + HOURS(1));
    expect_used(core, LEASE_AGENT, OTHER, 1);
    expect_used(core, LEASE_LIMITER, OTHER_ACCOUNT, 1);
    expect_used(core, LEASE_AGENT, AGENT, 0);
    expect_used(core, LEASE_LIMITER, LIMITER, 0);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.agent, OTHER);
    add_like(core, 2, (struct task_spec){ 0 });
    expect_start(core, 2, THIRD, THIRD_ACCOUNT); /* the second has a slot, the first does not */
    core_free(core);
}

TEST(a_limit_met_elsewhere_counts_there) {
    struct core *core = core_with_a_limit(NOW + HOURS(1));
    struct limiter_view own, other;
    expect_start(core, 1, OTHER, OTHER_ACCOUNT);
    end(core, 1, OUTCOME_LIMITED, NOW + HOURS(2));
    assert_true(core_limiter(core, LIMITER, &own));
    assert_true(core_limiter(core, OTHER_ACCOUNT, &other));
    assert_int_equal(own.backoff_until, NOW + HOURS(1));
    assert_int_equal(other.backoff_until, NOW + HOURS(2));
    expect_start(core, 1, THIRD, THIRD_ACCOUNT);
    core_free(core);
}

static void expect_message(struct core *core, const struct verdict *v, const char *expected) {
    struct strbuf out = STRBUF_INIT;
    verdict_message(v, core_symbols(core), &(struct task_names){ 0 }, &out);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_finish(&out);
}

TEST(when_all_are_closed_it_waits_for_the_earliest) {
    struct core *core = core_with_a_limit(NOW + HOURS(3));
    struct verdict v;
    struct agent_state agents[FAILOVER_MAX + 1];
    expect_start(core, 1, OTHER, OTHER_ACCOUNT);
    end(core, 1, OUTCOME_CLOSED, 0);
    expect_start(core, 1, THIRD, THIRD_ACCOUNT);
    end(core, 1, OUTCOME_LIMITED, NOW + HOURS(2));
    assert_null(decide(core, 1));
    assert_true(core_blocked(core, 1, &v));
    assert_int_equal(v.gate, GATE_LIMITER);
    assert_int_equal(v.key, LIMITER);
    assert_int_equal(v.opens_at, NOW + HOURS(2));
    expect_message(core, &v,
                   "account 'limiter' is rate limited, and no agent it fails over to is open (2 "
                   "named)");
    assert_int_equal(core_next_wakeup(core), NOW + HOURS(2));
    assert_int_equal(core_task_agents(core, 1, agents), 3);
    assert_true(agents[0].limited && agents[1].closed && agents[2].limited);
    assert_int_equal(agents[0].opens_at, NOW + HOURS(3));
    assert_int_equal(agents[1].opens_at, TIME_NEVER);
    assert_int_equal(agents[2].agent, THIRD);
    clock_at(core, NOW + HOURS(2));
    expect_start(core, 1, THIRD, THIRD_ACCOUNT);
    core_free(core);
}

TEST(its_own_account_that_is_closed_is_to_be_cleared) {
    struct core *core = core_with_three_agents();
    struct verdict v;
    add_like(core, 1, (struct task_spec){ 0 });
    for (unsigned i = 0; i < 3; i++) {
        assert_non_null(decide(core, 1));
        end(core, 1, i == 2 ? OUTCOME_LIMITED : OUTCOME_CLOSED, NOW + HOURS(2));
    }
    assert_true(core_blocked(core, 1, &v));
    assert_int_equal(v.opens_at,
                     NOW + HOURS(2)); /* the third; but the reason is not a rate limit */
    expect_message(core, &v,
                   "account 'limiter' is closed, and no agent it fails over to is open (2 named); "
                   "clear it with: sluice limiter clear limiter");
    core_free(core);
}

TEST(it_comes_back_as_soon_as_its_own_is_open) {
    struct core *core = core_with_a_limit(NOW + HOURS(1));
    expect_start(core, 1, OTHER, OTHER_ACCOUNT);
    end(core, 1, OUTCOME_LOST, 0);
    clock_at(core, NOW + HOURS(1));
    expect_start(core, 1, AGENT, LIMITER); /* the probe */
    apply_agent(core, (struct agent_spec){ .id = AGENT,
                                           .slots = 5,
                                           .limiter = LIMITER,
                                           .failover = { OTHER },
                                           .failover_count = 1 });
    add_like(core, 2, (struct task_spec){ 0 });
    assert_null(decide(core, 2)); /* an account that is being probed is open */
    end(core, 1, OUTCOME_LIMITED, NOW + HOURS(2));
    expect_start(core, 2, OTHER, OTHER_ACCOUNT); /* the one that has waited longest */
    core_free(core);
}

TEST(a_limit_in_the_middle_of_a_run_frees_those_behind_it) {
    struct core *core = core_with_three_agents();
    add_like(core, 1, (struct task_spec){ 0 });
    add_like(core, 2, (struct task_spec){ 0 });
    expect_start(core, 1, AGENT, LIMITER);
    struct fact fact = { .kind = FACT_RUN_LIMITED, .task = 1, .attempt = 1 };
    fact.limited.reset_at = NOW + HOURS(1);
    assert_int_equal(apply_fact(core, fact), 0);
    expect_start(core, 2, OTHER, OTHER_ACCOUNT);
    core_free(core);
}

TEST(an_agent_that_cannot_be_launched_is_closed_too) {
    struct core *core = core_with_three_agents();
    struct policy policy;
    policy_default(&policy);
    policy.breaker.agent_max = 1;
    policy.breaker.reset = MINUTES(5);
    policy.retry[RETRY_LAUNCH].delay = 0;
    apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
    add_like(core, 1, (struct task_spec){ 0 });
    expect_start(core, 1, AGENT, LIMITER);
    /* Not for a run that failed before its first turn: that says nothing about the account. */
    struct fact early = { .kind = FACT_RUN_ENDED, .task = 1, .attempt = 1 };
    early.ended.outcome = OUTCOME_LAUNCH;
    early.ended.tokens = early.ended.money = -1;
    early.ended.before_agent = true;
    assert_int_equal(apply_fact(core, early), 0);
    expect_start(core, 1, AGENT, LIMITER);
    end(core, 1, OUTCOME_LAUNCH, 0);
    expect_start(core, 1, OTHER, OTHER_ACCOUNT);
    core_free(core);
}

TEST(a_bound_task_or_one_with_its_own_account_waits) {
    struct core *core = core_with_a_limit(NOW + HOURS(1));
    struct verdict v;
    struct agent_state agents[FAILOVER_MAX + 1];
    add_like(core, 2, (struct task_spec){ .bound = true });
    add_like(core, 3, (struct task_spec){ .limiter = LIMITER });
    expect_start(core, 1, OTHER, OTHER_ACCOUNT);
    for (task_id id = 2; id <= 3; id++) {
        assert_true(core_blocked(core, id, &v));
        assert_int_equal(v.gate, GATE_LIMITER);
        assert_int_equal(v.count, 0);
        assert_int_equal(core_task_agents(core, id, agents), 1);
    }
    core_free(core);
}

TEST(a_roster_hands_out_its_own_work) {
    struct core *core = core_with_a_limit(NOW + HOURS(1));
    for (sym a = OTHER; a <= THIRD; a++)
        apply_agent(core, (struct agent_spec){ .id = a, .slots = 1, .roster = true, .idle = true });
    assert_null(decide(core, 1));
    core_free(core);
}

TEST(time_counts_while_an_agent_could_take_the_task) {
    struct core *core = core_with_a_limit(NOW + HOURS(10));
    struct task_view t;
    apply_agent(core, (struct agent_spec){ .id = OTHER, .slots = 0, .limiter = OTHER_ACCOUNT });
    apply_agent(core, (struct agent_spec){ .id = THIRD, .slots = 0, .limiter = THIRD_ACCOUNT });
    clock_at(core, NOW + MINUTES(1));
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.waited, MINUTES(1)); /* others are open but full: the task waits */
    for (sym l = OTHER_ACCOUNT; l <= THIRD_ACCOUNT; l++) {
        sym agent = l - OTHER_ACCOUNT + OTHER;
        apply_agent(core, (struct agent_spec){ .id = agent, .slots = 1, .limiter = l });
        assert_non_null(decide(core, 1));
        end(core, 1, OUTCOME_CLOSED, 0);
    }
    clock_at(core, NOW + MINUTES(2));
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.waited, 0); /* no agent could run it */
    core_free(core);
}

TEST(adding_and_removing_a_failover_list_keeps_the_wait) {
    struct core *core = core_with_a_limit(NOW + HOURS(10));
    struct task_view t;
    struct agent_spec agent = { .id = AGENT, .slots = 1, .limiter = LIMITER };
    apply_agent(core, (struct agent_spec){ .id = OTHER, .slots = 0, .limiter = OTHER_ACCOUNT });
    apply_agent(core, (struct agent_spec){ .id = THIRD, .slots = 0, .limiter = THIRD_ACCOUNT });
    clock_at(core, NOW + MINUTES(1));
    apply_agent(core, agent);
    clock_at(core, NOW + MINUTES(3));
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.waited, MINUTES(1));
    agent.failover[agent.failover_count++] = OTHER;
    apply_agent(core, agent);
    clock_at(core, NOW + MINUTES(4));
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.waited, MINUTES(2));
    core_free(core);
}

TEST(no_agent_fails_over_to_itself) {
    struct core *core = core_with_three_agents();
    struct agent_spec spec = {
        .id = OTHER, .slots = 1, .failover = { OTHER }, .failover_count = 1
    };
    struct error err = { 0 };
    struct fact fact = { .kind = FACT_AGENT, .agent = spec };
    assert_int_equal(core_apply(core, &fact, &err), -EINVAL);
    assert_string_equal(err.text,
                        "agent 'other' cannot fail over to itself, and needs another agent");
    core_free(core);
}
