/* test_model.c: the model says what the documents say, on examples worked out manually.
 *
 * The differential test shows that core and model agree; this shows that they do not agree on
 * something else than the rules. */

#include "base/macros.h"
#include "harness/test.h"
#include "model.h"

enum { PROJECT_A = 1, PROJECT_B, PLAN, SPEC, PHASE, RALPH, AGENT, LIMITER, RESOURCE };

#define NOW DAYS(1000)

/* --- a world in a few words ------------------------------------------------------------------- */

static void apply_fact(struct model *m, struct fact fact) {
    struct error err = { 0 };
    assert_int_equal(model_apply(m, &fact, &err), 0);
}

static void apply_clock(struct model *m, time_ms now) {
    apply_fact(m, (struct fact){ .kind = FACT_CLOCK, .now = now });
}

static void apply_policy(struct model *m, const struct policy *policy) {
    apply_fact(m, (struct fact){ .kind = FACT_POLICY, .policy = policy });
}

static void apply_project(struct model *m, sym id, int64_t weight_milli) {
    struct project_spec spec = { .id = id,
                                 .weight_milli = weight_milli,
                                 .max_running = UNLIMITED,
                                 .budget = UNLIMITED,
                                 .active = true,
                                 .workspaces = UNLIMITED,
                                 .review = UNLIMITED };
    apply_fact(m, (struct fact){ .kind = FACT_PROJECT, .project = spec });
}

static void apply_kind(struct model *m, sym id, int64_t base, amount cap) {
    struct kind_spec spec = { .id = id, .base = base, .max_running = cap };
    apply_fact(m, (struct fact){ .kind = FACT_KIND, .kind_spec = spec });
}

static void apply_ended(struct model *m, task_id task, uint32_t attempt, enum outcome outcome) {
    struct fact fact = { .kind = FACT_RUN_ENDED, .task = task, .attempt = attempt };
    fact.ended.outcome = outcome;
    fact.ended.tokens = -1;
    apply_fact(m, fact);
}

static struct task_spec task(task_id id, sym project, sym kind) {
    return (struct task_spec){ .id = id,
                               .project = project,
                               .kind = kind,
                               .priority = 100,
                               .created_at = NOW,
                               .ready_since = NOW,
                               .iteration = 1,
                               .state = TASK_WAITING,
                               .parallelizable = true,
                               .retry_max = -1 };
}

static void add(struct model *m, struct task_spec spec) {
    apply_fact(m, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
}

/* All of docs/internals/rules.md without pace, limits and waiting; tests add what they are about. */
static struct policy plain_policy(void) {
    struct policy p;
    policy_default(&p);
    p.order = 0x7f;
    p.runs = p.roots = UNLIMITED;
    p.max_wait = TIME_NEVER;
    p.pace.batch = UNLIMITED;
    p.pace.spawn_delay = p.pace.tick = 0;
    p.host.disk_min_mb = p.host.memory_min_mb = p.host.load_max_milli = 0;
    return p;
}

static struct model *world(const struct policy *policy) {
    struct model *m = model_new();
    apply_clock(m, NOW);
    apply_policy(m, policy);
    apply_project(m, PROJECT_A, 1000);
    apply_kind(m, PLAN, 40, UNLIMITED);
    apply_kind(m, SPEC, 60, UNLIMITED);
    apply_kind(m, PHASE, 80, UNLIMITED);
    apply_kind(m, RALPH, 100, UNLIMITED);
    return m;
}

/* The starts of one decision, in order. */
struct starts {
    struct order list[64];
    size_t count;
};

static struct starts decide(struct model *m) {
    struct starts starts = { .count = 0 };
    size_t count;
    const struct order *orders = model_decide(m, &count);
    for (size_t i = 0; i < count; i++)
        if (orders[i].kind == ORDER_START)
            starts.list[starts.count++] = orders[i];
    return starts;
}

static bool has_started(const struct starts *starts, task_id task) {
    for (size_t i = 0; i < starts->count; i++)
        if (starts->list[i].task == task)
            return true;
    return false;
}

static struct model_view look_at(struct model *m, task_id id) {
    for (size_t i = 0; i < model_task_count(m); i++)
        if (model_task_at(m, i).id == id)
            return model_task_at(m, i);
    return (struct model_view){ 0 };
}

/* --- document 000 ----------------------------------------------------------------------------- */

/* A chain of `depth` finished parents, and below it the task. */
static int32_t score_of(sym kind, int64_t minutes, unsigned depth, uint32_t iteration) {
    struct policy policy = plain_policy();
    _cleanup_(model_freep) struct model *m = world(&policy);
    for (unsigned i = 1; i <= depth; i++) {
        struct task_spec parent = task(i, PROJECT_A, 0);
        parent.parent = i - 1;
        parent.state = TASK_DONE;
        add(m, parent);
    }
    struct task_spec spec = task(depth + 1, PROJECT_A, kind);
    spec.parent = depth;
    spec.iteration = iteration;
    spec.created_at = NOW - MINUTES(minutes);
    add(m, spec);
    struct starts starts = decide(m);
    assert_int_equal(starts.count, 1);
    return starts.list[0].score;
}

TEST(golden_scores_of_document_000) {
    assert_int_equal(score_of(RALPH, 5, 3, 1), 135);
    assert_int_equal(score_of(PHASE, 30, 2, 1), 130);
    assert_int_equal(score_of(RALPH, 1, 3, 5), 111);
    assert_int_equal(score_of(PLAN, 50, 0, 1), 90);
    assert_int_equal(score_of(PLAN, 500, 0, 1), 90);
    assert_int_equal(score_of(RALPH, 10, 3, 7), 110);
    assert_int_equal(score_of(RALPH, 10, 3, 1), 140);
    assert_int_equal(score_of(RALPH, 2, 3, 1), 132);
    assert_int_equal(score_of(RALPH, 0, 3, 100), 100);
    assert_int_equal(score_of(PLAN, 0, 0, 1), 40);
    assert_int_equal(score_of(SPEC, 0, 1, 1), 70);
    assert_int_equal(score_of(PHASE, 0, 2, 1), 100);
    assert_int_equal(score_of(RALPH, 0, 3, 1), 130);
}

TEST(a_parent_that_is_not_there_counts_once) {
    struct policy policy = plain_policy();
    _cleanup_(model_freep) struct model *m = world(&policy);
    struct task_spec spec = task(2, PROJECT_A, RALPH);
    spec.parent = 1;
    spec.parent_gate = PARENT_NONE;
    add(m, spec);
    assert_int_equal(look_at(m, 2).depth, 1);
}

/* --- document 004 ----------------------------------------------------------------------------- */

/* Weights 3 and 1, 1000 and 500 tokens, 20 tasks each, 20 places. */
static struct model *two_projects(struct policy *policy) {
    policy->runs = 20;
    struct model *m = world(policy);
    apply_project(m, PROJECT_A, 3000);
    apply_project(m, PROJECT_B, 1000);
    for (task_id id = 1; id <= 40; id++)
        add(m, task(id, id % 2 ? PROJECT_B : PROJECT_A, 0));
    return m;
}

static void apply_usage(struct model *m, sym project, int64_t tokens) {
    struct fact fact = { .kind = FACT_USAGE };
    fact.usage.project = project;
    fact.usage.tokens = tokens;
    fact.usage.starts = fact.usage.completions = 1;
    fact.usage.at = NOW;
    apply_fact(m, fact);
}

static size_t count_of(const struct starts *starts, sym project) {
    size_t n = 0;
    for (size_t i = 0; i < starts->count; i++)
        n += starts->list[i].project == project;
    return n;
}

TEST(the_round_of_document_004_gives_20_to_0) {
    struct policy policy = plain_policy();
    policy.order = ORDER_BY_GUARANTEE | ORDER_BY_DEFICIT | ORDER_BY_POSITION | ORDER_BY_PRIORITY;
    policy.fair = FAIR_DOCUMENT;
    policy.guarantee = GUARANTEE_COMPLETION;
    _cleanup_(model_freep) struct model *m = two_projects(&policy);
    apply_usage(m, PROJECT_A, 1000);
    apply_usage(m, PROJECT_B, 500);
    struct starts starts = decide(m);
    assert_int_equal(count_of(&starts, PROJECT_A), 20);
    assert_int_equal(count_of(&starts, PROJECT_B), 0);
}

TEST(with_reservations_the_round_gives_15_to_5) {
    struct policy policy = plain_policy();
    policy.fair = FAIR_RESERVE;
    policy.guarantee = GUARANTEE_START;
    _cleanup_(model_freep) struct model *m = two_projects(&policy);
    struct starts starts = decide(m);
    assert_int_equal(count_of(&starts, PROJECT_A), 15);
    assert_int_equal(count_of(&starts, PROJECT_B), 5);
}

TEST(the_guarantee_comes_before_the_share) {
    struct policy policy = plain_policy();
    policy.fair = FAIR_DOCUMENT;
    policy.guarantee = GUARANTEE_COMPLETION;
    _cleanup_(model_freep) struct model *m = two_projects(&policy);
    apply_usage(m, PROJECT_A, 0);
    struct starts starts = decide(m);
    assert_int_equal(count_of(&starts, PROJECT_B), 20);
}

/* --- the claim -------------------------------------------------------------------------------- */

/* Task 9 needs the resource and a place of its kind. Others need one of the two, and are better. */
static void apply_rivals(struct model *m, task_id id) {
    struct task_spec by_kind = task(id, PROJECT_A, PLAN);
    struct task_spec by_resource = task(id + 1, PROJECT_A, 0);
    sym resource = RESOURCE;
    by_kind.priority = by_resource.priority = 1;
    by_kind.ready_since = by_resource.ready_since = NOW + MINUTES(10);
    by_resource.resources = &resource;
    by_resource.resource_count = 1;
    add(m, by_kind);
    add(m, by_resource);
}

static struct model *crossroads(struct policy *policy) {
    struct model *m = world(policy);
    apply_kind(m, PLAN, 40, 1);
    struct fact fact = { .kind = FACT_RESOURCE };
    fact.resource.id = RESOURCE;
    fact.resource.cap = 1;
    apply_fact(m, fact);
    apply_rivals(m, 1);
    struct starts first = decide(m);
    assert_int_equal(first.count, 2);

    sym resource = RESOURCE;
    struct task_spec both = task(9, PROJECT_A, PLAN);
    both.resources = &resource;
    both.resource_count = 1;
    add(m, both);
    apply_clock(m, NOW + MINUTES(10));
    apply_rivals(m, 11);
    return m;
}

TEST(an_overdue_task_that_needs_two_places_gets_them_one_by_one) {
    struct policy policy = plain_policy();
    policy.order = ORDER_BY_OVERDUE | ORDER_BY_PRIORITY;
    policy.max_wait = MINUTES(5);
    _cleanup_(model_freep) struct model *m = crossroads(&policy);

    struct starts starts = decide(m); /* reserves the resource */
    assert_int_equal(starts.count, 0);
    apply_ended(m, 2, 1, OUTCOME_OK);
    starts = decide(m); /* the resource stays free for it; it reserves the kind */
    assert_int_equal(starts.count, 0);
    struct model_block block;
    assert_true(model_blocked(m, 12, &block));
    assert_int_equal(block.lease, LEASE_RESOURCE);
    apply_ended(m, 1, 1, OUTCOME_OK);
    starts = decide(m);
    assert_int_equal(starts.count, 1);
    assert_true(has_started(&starts, 9));
}

TEST(without_max_wait_it_is_beaten_for_ever) {
    struct policy policy = plain_policy();
    policy.order = ORDER_BY_PRIORITY;
    _cleanup_(model_freep) struct model *m = crossroads(&policy);
    apply_ended(m, 2, 1, OUTCOME_OK);
    struct starts starts = decide(m);
    assert_true(has_started(&starts, 12));
    apply_ended(m, 1, 1, OUTCOME_OK);
    starts = decide(m);
    assert_true(has_started(&starts, 11));
}

/* --- waiting ---------------------------------------------------------------------------------- */

TEST(time_behind_a_pause_does_not_count_as_waiting) {
    struct policy policy = plain_policy();
    policy.runs = 0;
    _cleanup_(model_freep) struct model *m = world(&policy);
    add(m, task(1, PROJECT_A, 0));
    apply_clock(m, NOW + MINUTES(1));
    apply_fact(m, (struct fact){ .kind = FACT_PAUSE });
    apply_clock(m, NOW + MINUTES(11));
    apply_fact(m, (struct fact){ .kind = FACT_RESUME });
    apply_clock(m, NOW + MINUTES(12));
    assert_int_equal(look_at(m, 1).waited, MINUTES(2));
}

/* --- families --------------------------------------------------------------------------------- */

TEST(a_new_iteration_invalidates_children_and_a_deleted_parent_fails_them) {
    struct policy policy = plain_policy();
    _cleanup_(model_freep) struct model *m = world(&policy);
    struct task_spec parent = task(1, PROJECT_A, 0), child = task(2, PROJECT_A, 0);
    struct task_spec grandchild = task(3, PROJECT_A, 0), other = task(4, PROJECT_A, 0);
    parent.state = TASK_DONE;
    child.parent = other.parent = 1;
    grandchild.parent = 2;
    other.parent_gate = PARENT_NONE;
    add(m, parent);
    add(m, child);
    add(m, grandchild);
    add(m, other);
    apply_fact(m, (struct fact){ .kind = FACT_AGAIN, .task = 1 });
    assert_int_equal(look_at(m, 2).state, TASK_INVALIDATED);
    assert_int_equal(look_at(m, 3).state, TASK_INVALIDATED);
    assert_int_equal(look_at(m, 4).state, TASK_READY);
    apply_fact(m, (struct fact){ .kind = FACT_DELETE, .task = 1 });
    assert_int_equal(look_at(m, 4).state, TASK_FAILED);
    assert_int_equal(look_at(m, 1).id, 0);
}

TEST(a_refused_order_leaves_no_trace) {
    struct policy policy = plain_policy();
    policy.runs = 1;
    policy.pace.batch = 1;
    policy.pace.tick = HOURS(1);
    _cleanup_(model_freep) struct model *m = world(&policy);
    add(m, task(1, PROJECT_A, 0));
    struct starts starts = decide(m);
    assert_int_equal(starts.count, 1);
    apply_clock(m, NOW + MINUTES(1));
    apply_fact(m, (struct fact){ .kind = FACT_ORDER_REFUSED, .task = 1, .attempt = 1 });
    assert_int_equal(look_at(m, 1).attempt, 0);
    assert_int_equal(look_at(m, 1).waited, MINUTES(1));
    assert_int_equal(model_share(m, PROJECT_A).starts, 0);
    assert_int_equal(model_share(m, PROJECT_A).reserved, 0);
    starts = decide(m); /* the tick still has its one start */
    assert_int_equal(starts.count, 1);
}

/* --- limiter ---------------------------------------------------------------------------------- */

TEST(after_a_backoff_one_run_goes_alone_and_then_more_and_more) {
    struct policy policy = plain_policy();
    struct limiter_spec limiter = { .id = LIMITER };
    limiter.policy = (struct limiter_policy){ .max_running = 10,
                                              .initial = SECONDS(5),
                                              .max = SECONDS(120),
                                              .recovery = SECONDS(30),
                                              .probe = true };
    _cleanup_(model_freep) struct model *m = world(&policy);
    apply_fact(m, (struct fact){ .kind = FACT_LIMITER, .limiter = limiter });
    for (task_id id = 1; id <= 25; id++) {
        struct task_spec spec = task(id, PROJECT_A, 0);
        spec.limiter = LIMITER;
        add(m, spec);
    }
    struct starts starts = decide(m);
    assert_int_equal(starts.count, 10);
    for (task_id id = 1; id <= 10; id++)
        apply_ended(m, id, 1, OUTCOME_LIMITED); /* one hit: all were started before it */
    assert_int_equal(model_backoff_until(m, LIMITER), NOW + SECONDS(5));
    apply_clock(m, NOW + SECONDS(5));
    starts = decide(m);
    assert_int_equal(starts.count, 1);
    apply_ended(m, starts.list[0].task, starts.list[0].attempt, OUTCOME_OK);
    apply_clock(m, NOW + SECONDS(20));
    starts = decide(m); /* 10 · 15 s / 30 s */
    assert_int_equal(starts.count, 5);
    apply_clock(m, NOW + SECONDS(35));
    starts = decide(m);
    assert_int_equal(starts.count, 5);
}
