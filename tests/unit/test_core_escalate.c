/* test_core_escalate.c: stronger agents after verified failures, and never otherwise (docs/internals/rules.md §5). */
#include "core/core.h"
#include "core_facts.h"
#include "harness/test.h"

enum { STRONG = RESOURCE + 1, STRONGEST, STRONG_ACCOUNT };

static struct core *core_with_agents(void) {
    static const char *const names[] = { "strong", "strongest", "strong's" };
    struct core *core = core_with_a_world(false);
    struct policy policy;
    policy_default(&policy);
    policy.retry[RETRY_UNFINISHED] = (struct retry_policy){ .max = 20, .factor_milli = 1000 };
    policy.retry[RETRY_FAILED] = (struct retry_policy){ .max = 20, .factor_milli = 1000 };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        symbol_intern(core_symbols(core), names[i], strlen(names[i]));
    apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
    apply_fact(core,
               (struct fact){ .kind = FACT_LIMITER,
                              .limiter = { .id = STRONG_ACCOUNT, .policy = policy.limiter } });
    apply_fact(core, (struct fact){ .kind = FACT_AGENT,
                                    .agent = { .id = AGENT,
                                               .slots = UNLIMITED,
                                               .limiter = LIMITER,
                                               .escalate = { 0, STRONG },
                                               .escalate_count = 2,
                                               .escalate_after = 2 } });
    apply_fact(core,
               (struct fact){ .kind = FACT_AGENT,
                              .agent = { .id = STRONG, .slots = 1, .limiter = STRONG_ACCOUNT } });
    apply_fact(core, (struct fact){ .kind = FACT_AGENT, .agent = { .id = STRONGEST, .slots = 1 } });
    return core;
}

static void add_like(struct core *core, task_id id, struct task_spec more) {
    struct error err = { 0 };
    struct task_spec spec = row(id, TASK_WAITING);
    spec.agent = AGENT;
    spec.until = UNTIL_VALIDATE;
    spec.bound = more.bound;
    spec.limiter = more.limiter;
    spec.review = more.review;
    spec.escalation = more.escalation;
    struct fact fact = { .kind = FACT_TASK_ADDED, .spec = &spec };
    if (core_apply(core, &fact, &err) < 0)
        fail_msg("%s", err.text);
}

/* Starts the task and ends its run; the last escalation order of that is in `ret`, or step 0. */
static void end(struct core *core, task_id id, enum outcome outcome, struct order *ret) {
    struct task_view t;
    size_t count = 0;
    (void)core_decide(core, &count);
    assert_true(core_task(core, id, &t));
    assert_int_equal(t.state, TASK_STARTING);
    struct fact fact = { .kind = FACT_RUN_ENDED, .task = id, .attempt = t.attempt };
    fact.ended.outcome = outcome;
    fact.ended.tokens = fact.ended.money = -1;
    fact.ended.output = true;
    assert_int_equal(apply_fact(core, fact), 0);
    const struct order *orders = core_decide(core, &count);
    *ret = (struct order){ 0 };
    for (size_t i = 0; i < count; i++) {
        if (orders[i].kind == ORDER_ESCALATE)
            *ret = orders[i];
        if (orders[i].kind != ORDER_START)
            continue;
        /* A started successor is refused, so that each call begins the same way. */
        (void)apply_fact(core, (struct fact){ .kind = FACT_ORDER_REFUSED,
                                              .task = orders[i].task,
                                              .attempt = orders[i].attempt });
    }
}

static void expect(const struct core *core, task_id id, sym agent, unsigned step, unsigned failed) {
    struct task_spec spec;
    assert_true(core_task_spec(core, id, &spec));
    assert_int_equal(spec.agent, agent);
    assert_int_equal(spec.escalation.step, step);
    assert_int_equal(spec.escalation.failed, failed);
}

TEST(each_step_comes_after_its_failures) {
    struct core *core = core_with_agents();
    struct order o;
    add_like(core, 1, (struct task_spec){ 0 });
    end(core, 1, OUTCOME_INVALID, &o);
    assert_int_equal(o.step, 0);
    expect(core, 1, AGENT, 0, 1);
    end(core, 1, OUTCOME_UNFINISHED, &o);
    assert_int_equal(o.step, 1); /* the same agent, another model */
    assert_int_equal(o.agent, AGENT);
    assert_int_equal(o.reason, REASON_ITERATE);
    assert_int_equal(o.failures, 2);
    end(core, 1, OUTCOME_INVALID, &o);
    end(core, 1, OUTCOME_INVALID, &o);
    assert_int_equal(o.step, 2);
    assert_int_equal(o.agent, STRONG);
    assert_int_equal(o.instead_of, AGENT);
    assert_int_equal(o.reason, REASON_VALIDATION);
    for (int i = 0; i < 5; i++) { /* there is no step left: nothing is counted */
        end(core, 1, OUTCOME_INVALID, &o);
        assert_int_equal(o.step, 0);
        expect(core, 1, STRONG, 2, 0);
    }
    core_free(core);
}

TEST(only_verified_failures_count) {
    static const enum outcome others[] = { OUTCOME_LIMITED, OUTCOME_LOST,   OUTCOME_LAUNCH,
                                           OUTCOME_TIMEOUT, OUTCOME_FAILED, OUTCOME_NEW_SESSION };
    struct escalation_spec list = { .agents = { STRONG }, .count = 1, .after = 1 };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct core *core = core_with_agents();
        struct order o;
        add_like(core, 1, (struct task_spec){ .escalation = list });
        end(core, 1, others[i], &o);
        assert_int_equal(o.step, 0);
        expect(core, 1, AGENT, 0, 0);
        core_free(core);
    }
}

TEST(the_new_agent_is_counted) {
    struct core *core = core_with_agents();
    struct escalation_spec list = { .agents = { STRONG }, .count = 1, .after = 1 };
    amount used = -1, cap = -1;
    struct order o;
    size_t count;
    add_like(core, 1, (struct task_spec){ .escalation = list });
    end(core, 1, OUTCOME_INVALID, &o);
    (void)core_decide(core, &count);
    assert_true(core_lease(core, LEASE_AGENT, STRONG, &used, &cap));
    assert_int_equal(used, 1);
    assert_true(core_lease(core, LEASE_LIMITER, STRONG_ACCOUNT, &used, &cap));
    assert_int_equal(used, 1);
    assert_true(core_lease(core, LEASE_LIMITER, LIMITER, &used, &cap));
    assert_int_equal(used, 0);
    core_free(core);
}

TEST(a_step_stays_until_a_request) {
    struct core *core = core_with_agents();
    struct escalation_spec list = { .agents = { STRONG }, .count = 1, .after = 1 };
    struct order o;
    add_like(core, 1, (struct task_spec){ .escalation = list });
    end(core, 1, OUTCOME_INVALID, &o);
    apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 1 });
    apply_fact(core, (struct fact){ .kind = FACT_RETRY, .task = 1 });
    expect(core, 1, STRONG, 1, 0);
    end(core, 1, OUTCOME_OK, &o);
    apply_fact(core, (struct fact){ .kind = FACT_AGAIN, .task = 1 });
    expect(core, 1, STRONG, 1, 0);
    apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 1 });
    apply_fact(core, (struct fact){ .kind = FACT_RETRY, .task = 1, .own_agent = true });
    expect(core, 1, AGENT, 0, 0);
    core_free(core);
}

TEST(a_rejection_counts) {
    struct core *core = core_with_agents();
    struct escalation_spec list = { .agents = { STRONGEST }, .count = 1, .after = 1 };
    struct order o;
    add_like(core, 1, (struct task_spec){ .escalation = list, .review = true });
    end(core, 1, OUTCOME_OK, &o);
    apply_fact(core, (struct fact){ .kind = FACT_REJECT, .task = 1 });
    expect(core, 1, STRONGEST, 1, 0);
    core_free(core);
}

TEST(a_bound_task_takes_no_list_of_its_agent) {
    struct core *core = core_with_agents();
    struct order o;
    add_like(core, 1, (struct task_spec){ .bound = true });
    for (int i = 0; i < 4; i++)
        end(core, 1, OUTCOME_INVALID, &o);
    expect(core, 1, AGENT, 0, 0);
    core_free(core);
}

TEST(a_limiter_of_its_own_stays) {
    struct core *core = core_with_agents();
    struct escalation_spec list = { .agents = { STRONG }, .count = 1, .after = 1 };
    struct task_view t;
    struct order o;
    add_like(core, 1, (struct task_spec){ .escalation = list, .limiter = LIMITER });
    end(core, 1, OUTCOME_INVALID, &o);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.agent, STRONG);
    assert_int_equal(t.limiter, LIMITER);
    core_free(core);
}
