/* test_part_costs.c: what a run is likely to cost, without the rest of the engine. */
#include <string.h>

#include "engine/agents/agents_internal.h"
#include "engine/budget/budget_internal.h"
#include "harness/test.h"
#include "part_kit.h"

#define DOLLAR INT64_C(1000000)

/* Instead of agents/usage.c: a dollar for each token of "opus"; other models have no price. */
int64_t usage_price(const struct engine *e, const char *model, const struct agent_usage *used) {
    (void)e;
    return strcmp(model, "opus") == 0 ? (used->in + used->out) * DOLLAR : -1;
}

static struct run_cost run(const char *model, int64_t in, int64_t out, int64_t usd) {
    return (struct run_cost){ "web", "claude", model, { in, out, -1, usd } };
}

static void learn(struct part_kit *kit, struct run_cost cost) {
    costs_learn(&kit->engine, &cost);
}

static int64_t expected(const struct part_kit *kit, const char *model) {
    struct run_cost cost = run(model, -1, -1, -1);
    return costs_expected(&kit->engine, &cost);
}

TEST(a_run_costs_what_runs_with_its_model_did) {
    struct part_kit kit;
    part_kit_new(&kit, &costs_part, PART_costs);
    assert_int_equal(expected(&kit, "haiku"), 0); /* nothing is known */
    learn(&kit, run("haiku", 10, 10, 2 * DOLLAR));
    learn(&kit, run("sonnet", 10, 10, 40 * DOLLAR));
    assert_int_equal(expected(&kit, "haiku"), 2 * DOLLAR);
    assert_int_equal(expected(&kit, "sonnet"), 40 * DOLLAR);
    learn(&kit, run("haiku", 10, 10, 10 * DOLLAR)); /* the newest has a weight of an eighth */
    assert_int_equal(expected(&kit, "haiku"), 3 * DOLLAR);
    learn(&kit, run("haiku", 10, 10, -1)); /* an unknown cost changes no mean */
    assert_int_equal(expected(&kit, "haiku"), 3 * DOLLAR);
    struct run_cost other = { "api", "claude", "haiku", { -1, -1, -1, -1 } };
    assert_int_equal(costs_expected(&kit.engine, &other), 0); /* another project */
    other = (struct run_cost){ "web", "codex", "haiku", { -1, -1, -1, -1 } };
    assert_int_equal(costs_expected(&kit.engine, &other), 0); /* another agent */
    part_kit_free(&kit);
}

TEST(a_model_without_ended_runs_costs_its_price_for_the_usual_tokens) {
    struct part_kit kit;
    part_kit_new(&kit, &costs_part, PART_costs);
    assert_int_equal(expected(&kit, "opus"), 0); /* how many tokens is not known */
    learn(&kit, run("haiku", 3, 1, DOLLAR));
    assert_int_equal(expected(&kit, "opus"), 4 * DOLLAR);
    learn(&kit, run("sonnet", 5, 3, DOLLAR));
    assert_int_equal(expected(&kit, "opus"), 6 * DOLLAR);
    assert_int_equal(expected(&kit, "fable"), 0); /* no price */
    learn(&kit, run("opus", 2, 1, 5 * DOLLAR));
    assert_int_equal(expected(&kit, "opus"), 5 * DOLLAR);
    part_kit_free(&kit);
}
