/* test_core.c: the small pure parts of the core, each on its own. */
#include <stdlib.h>
#include <string.h>

#include "core_facts.h"

#include "core/action.h"
#include "core/core.h"
#include "core/policy.h"
#include "core/state_style.h"
#include "core/task_graph.h"
#include "harness/test.h"

TEST(every_value_of_every_enum_has_its_own_name) {
#define CHECK(max, function, type)                                                                 \
    for (int i = 0; i < (max); i++) {                                                              \
        assert_non_null(function((type)i));                                                        \
        for (int j = 0; j < i; j++)                                                                \
            assert_string_not_equal(function((type)i), function((type)j));                         \
    }
    CHECK(TASK_STATE_MAX, task_state_name, enum task_state)
    CHECK(HOLD_MAX, hold_name, enum hold)
    CHECK(PHASE_MAX, run_phase_name, enum run_phase)
    CHECK(STOP_REQUEST_MAX, stop_request_name, enum stop_request)
    CHECK(UNTIL_MAX, until_name, enum until)
    CHECK(PARENT_GATE_MAX, parent_gate_name, enum parent_gate)
    CHECK(OUTCOME_MAX, outcome_name, enum outcome)
    CHECK(RETRY_CLASS_MAX, retry_class_name, enum retry_class)
    CHECK(LEASE_KIND_MAX, lease_kind_name, enum lease_kind)
    CHECK(GATE_MAX, gate_name, enum gate)
    CHECK(REASON_MAX, reason_name, enum reason)
    CHECK(FACT_KIND_MAX, fact_kind_name, enum fact_kind)
#undef CHECK
}

static void check_color(const char *color) {
    assert_int_equal(strlen(color), 7);
    assert_int_equal(color[0], '#');
    assert_int_equal(strspn(color + 1, "0123456789abcdef"), 6);
}

TEST(every_state_has_a_symbol_of_its_own) {
    for (int i = 0; i < TASK_STATE_MAX; i++) {
        const struct state_style *a = state_style((enum task_state)i);
        assert_true(a->symbol && a->ascii && a->outline && a->solid);
        assert_int_equal(strlen(a->ascii), 1);
        assert_true(*a->outline);
        assert_int_equal(a->color8 < 0, a->color256 < 0);
        check_color(a->light);
        check_color(a->dark);
        for (int j = 0; j < i; j++) {
            const struct state_style *b = state_style((enum task_state)j);
            assert_string_not_equal(a->symbol, b->symbol);
            assert_string_not_equal(a->ascii, b->ascii);
            /* An unknown state is never drawn. */
            assert_true(j == TASK_ABSENT || strcmp(a->outline, b->outline) != 0
                        || strcmp(a->solid, b->solid) != 0 || a->dashed != b->dashed);
        }
    }
}

TEST(states_are_found_by_name_and_fill_boxes) {
    for (int i = 0; i < TASK_STATE_MAX; i++) {
        assert_int_equal(task_state_find(task_state_name((enum task_state)i)), i);
        for (int dark = 0; dark < 2; dark++)
            check_color(state_fill((enum task_state)i, dark).text);
    }
    assert_int_equal(task_state_find("no such state"), TASK_ABSENT);
    assert_string_equal(state_fill(TASK_DONE, false).text, "#d0e4de");
}

/* The table of docs/internals/rules.md, written a second time as text. */
TEST(only_the_listed_transitions_are_legal) {
    static const struct {
        enum task_state from;
        const char *to;
    } rows[] = {
        { TASK_DRAFT, "waiting failed canceled invalidated absent" },
        { TASK_WAITING, "ready held draft done failed canceled invalidated absent" },
        { TASK_READY, "waiting starting held draft done failed canceled invalidated absent" },
        { TASK_STARTING, "running waiting held done failed canceled invalidated" },
        { TASK_RUNNING, "running waiting held done failed canceled invalidated" },
        { TASK_HELD, "held waiting draft done failed canceled invalidated absent" },
        { TASK_DONE, "waiting invalidated absent" },
        { TASK_FAILED, "waiting absent" },
        { TASK_CANCELED, "waiting absent" },
        { TASK_INVALIDATED, "absent" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int to = 0; to < TASK_STATE_MAX; to++) {
            bool listed = strstr(rows[i].to, task_state_name((enum task_state)to)) != NULL;
            assert_int_equal(task_may_become(rows[i].from, (enum task_state)to), listed);
        }
    }
}

TEST(live_states_cannot_be_deleted_and_final_ones_do_not_start) {
    for (int s = 1; s < TASK_STATE_MAX; s++) {
        enum task_state from = (enum task_state)s;
        if (task_state_is_live(from))
            assert_false(task_may_become(from, TASK_ABSENT));
        assert_int_equal(task_may_become(from, TASK_STARTING), from == TASK_READY);
    }
}

TEST(a_chain_has_no_cycle_and_a_ring_has) {
    uint32_t *path = NULL;
    size_t length = 0;
    const uint32_t starts[] = { 0, 1, 2, 2 };
    const uint32_t chain[] = { 1, 2 };
    assert_false(cycle_find(starts, chain, 3, &path, &length));
    const uint32_t ring_starts[] = { 0, 1, 2, 3 };
    const uint32_t ring[] = { 1, 2, 0 };
    assert_true(cycle_find(ring_starts, ring, 3, &path, &length));
    assert_int_equal(length, 3);
    assert_int_equal(path[0], 0);
    assert_int_equal(path[2], 2);
    free(path);
}

TEST(a_cycle_is_printed_without_what_leads_to_it) {
    uint32_t *path = NULL;
    size_t length = 0;
    const uint32_t starts[] = { 0, 1, 2, 3, 4 };
    const uint32_t targets[] = { 1, 2, 3, 2 }; /* 0 → 1 → 2 ⇄ 3 */
    assert_true(cycle_find(starts, targets, 4, &path, &length));
    assert_int_equal(length, 2);
    assert_int_equal(path[0], 2);
    assert_int_equal(path[1], 3);
    free(path);
}

TEST(a_million_tasks_in_a_row_need_no_stack) {
    enum { COUNT = 1000000 };
    uint32_t *starts = malloc((COUNT + 1) * sizeof(*starts)), *targets = malloc(COUNT * 4);
    uint32_t *path = NULL;
    size_t length = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        starts[i] = i;
        targets[i] = i + 1; /* the last one points outside */
    }
    starts[COUNT] = COUNT;
    assert_false(cycle_find(starts, targets, COUNT, &path, &length));
    targets[COUNT - 1] = 0;
    assert_true(cycle_find(starts, targets, COUNT, &path, &length));
    assert_int_equal(length, COUNT);
    free(path);
    free(starts);
    free(targets);
}

TEST(f079_backoff_doubles_from_30_s_within_10_percent_and_ends_at_5_minutes) {
    struct policy policy;
    policy_default(&policy);
    const struct retry_policy *row = &policy.retry[RETRY_FAILED];
    static const time_ms middle[] = { SECONDS(30), SECONDS(60), SECONDS(120), SECONDS(240) };
    for (task_id task = 1; task <= 200; task++) {
        for (unsigned n = 1; n <= 4; n++) {
            time_ms delay = retry_delay(row, n, task, n);
            assert_in_range(delay, middle[n - 1] * 9 / 10, middle[n - 1] * 11 / 10);
        }
        assert_in_range(retry_delay(row, 5, task, 5), SECONDS(270), MINUTES(5));
        assert_in_range(retry_delay(row, 1000, task, 1000), SECONDS(270), MINUTES(5));
    }
}

TEST(f079_jitter_differs_between_tasks_and_not_between_replays) {
    struct policy policy;
    policy_default(&policy);
    const struct retry_policy *row = &policy.retry[RETRY_FAILED];
    unsigned different = 0;
    for (task_id task = 1; task <= 100; task++) {
        assert_int_equal(retry_delay(row, 1, task, 1), retry_delay(row, 1, task, 1));
        different += retry_delay(row, 1, task, 1) != retry_delay(row, 1, task + 1, 1);
    }
    assert_true(different > 90);
}

TEST(f071_limiter_backoff_doubles_up_to_its_maximum) {
    static const time_ms expected[] = { 2, 4, 8, 16, 32, 64, 64, 64 };
    for (unsigned n = 1; n <= 8; n++)
        assert_int_equal(backoff_doubled(SECONDS(2), n, SECONDS(64)), SECONDS(expected[n - 1]));
    assert_int_equal(backoff_doubled(SECONDS(2), 4000000000u, SECONDS(64)), SECONDS(64));
    assert_int_equal(backoff_doubled(0, 5, SECONDS(64)), 0);
}

TEST(a_chain_of_a_hundred_thousand_failures_falls_without_recursion) {
    enum { COUNT = 100000 };
    struct core *core = core_new();
    struct policy policy;
    policy_default(&policy);
    policy.dependency_fails = true;
    sym project = symbol_intern(core_symbols(core), "p", 1);
    const struct fact world[] = {
        { .kind = FACT_POLICY, .policy = &policy },
        { .kind = FACT_PROJECT,
          .project = { .id = project,
                       .weight_milli = 1000,
                       .max_running = UNLIMITED,
                       .budget = UNLIMITED,
                       .active = true,
                       .workspaces = UNLIMITED,
                       .review = UNLIMITED } },
    };
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(core_apply(core, &world[i], NULL), 0);
    for (task_id id = 1; id <= COUNT; id++) {
        task_id before = id - 1;
        struct task_spec spec = { .id = id,
                                  .project = project,
                                  .depends_on = &before,
                                  .depends_on_count = id > 1,
                                  .iteration = 1,
                                  .retry_max = -1,
                                  .state = TASK_WAITING,
                                  .parallelizable = true,
                                  .parent = id > 1 ? before : 0,
                                  .parent_gate = PARENT_NONE };
        assert_int_equal(
            core_apply(core, &(struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec }, NULL), 0);
    }
    assert_int_equal(core_apply(core, &(struct fact){ .kind = FACT_CANCEL, .task = 1 }, NULL), 0);
    struct core_counts counts;
    core_count(core, &counts);
    assert_int_equal(counts.by_state[TASK_FAILED], COUNT - 1);
    assert_int_equal(counts.by_state[TASK_CANCELED], 1);
    core_free(core);
}

TEST(a_task_cannot_come_to_wait_for_its_own_child) {
    struct core *core = core_new();
    sym project = symbol_intern(core_symbols(core), "p", 1);
    struct fact fact = { .kind = FACT_PROJECT,
                         .project = { .id = project,
                                      .max_running = UNLIMITED,
                                      .active = true,
                                      .budget = UNLIMITED,
                                      .workspaces = UNLIMITED,
                                      .review = UNLIMITED } };
    assert_int_equal(core_apply(core, &fact, NULL), 0);
    for (task_id id = 1; id <= 3; id++) { /* 1 ← 2 ← 3, where 3 may start beside 2 */
        struct task_spec spec = { .id = id,
                                  .project = project,
                                  .iteration = 1,
                                  .retry_max = -1,
                                  .state = TASK_DRAFT,
                                  .parallelizable = true,
                                  .parent = id - 1,
                                  .parent_gate = id == 3 ? PARENT_NONE : PARENT_DONE };
        assert_int_equal(
            core_apply(core, &(struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec }, NULL), 0);
    }
    const task_id child = 2, grandchild = 3;
    fact = (struct fact){ .kind = FACT_DEPENDENCIES, .task = 1, .dependencies = { &child, 1 } };
    assert_true(core_apply(core, &fact, NULL) < 0);
    fact =
        (struct fact){ .kind = FACT_DEPENDENCIES, .task = 2, .dependencies = { &grandchild, 1 } };
    assert_int_equal(core_apply(core, &fact, NULL), 0);
    core_free(core);
}

/* Without any task or name, every fact is refused, ignored or harmless; no kind of fact is missing. */
TEST(every_fact_has_a_function) {
    struct policy policy;
    policy_default(&policy);
    struct task_spec spec = { 0 };
    for (int kind = 0; kind < FACT_KIND_MAX; kind++) {
        struct core *core = core_new();
        struct fact fact = { .kind = (enum fact_kind)kind };
        if (kind == FACT_POLICY)
            fact.policy = &policy;
        if (kind == FACT_TASK_ADDED)
            fact.spec = &spec;
        struct error err = { 0 };
        int r = core_apply(core, &fact, &err);
        assert_true(r == 0 || r == 1 || (r < 0 && err.text[0]));
        size_t count;
        (void)core_decide(core, &count);
        assert_int_equal(count, 0);
        core_free(core);
    }
    struct core *core = core_new();
    assert_true(core_apply(core, &(struct fact){ .kind = FACT_KIND_MAX }, NULL) < 0);
    core_free(core);
}

static struct core *core_with_a_task(enum task_state state, enum hold hold) {
    struct core *core = core_with_a_world(true);
    struct task_spec spec = row(1, state);
    spec.hold = hold;
    assert_int_equal(add(core, spec), 0);
    loaded(core);
    return core;
}

/* Actions that are offered are possible, and the core applies them. A retry of a held task is a clear and a sling. */
static void check_actions(enum task_state state, enum hold hold) {
    uint32_t in = task_situation(state, hold);
    for (const struct task_action *a = task_actions; a->name; a++) {
        struct core *core = core_with_a_task(state, hold);
        bool clears = a->fact == FACT_RETRY && state == TASK_HELD;
        struct fact fact = { .kind = clears ? FACT_CLEAR : a->fact, .task = 1 };
        int r = core_apply(core, &fact, NULL);
        if ((a->offered & in) && !(a->from & in))
            fail_msg("%s of a %s task is offered and not possible", a->name,
                     task_state_name(state));
        if ((a->from & in) && r != 0)
            fail_msg("%s of a %s task (%s) is refused", a->name, task_state_name(state),
                     hold_name(hold));
        if ((a->from & in) && (a->already & in))
            fail_msg("%s of a %s task is possible and done already", a->name,
                     task_state_name(state));
        core_free(core);
    }
}

TEST(every_action_that_a_state_allows_is_applied) {
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        if (s != TASK_HELD)
            check_actions((enum task_state)s, HOLD_NONE);
    for (int h = HOLD_PERSON; h < HOLD_MAX; h++)
        check_actions(TASK_HELD, (enum hold)h);
    for (const struct task_action *a = task_actions; a[1].name; a++)
        assert_true(strcmp(a[0].name, a[1].name) < 0);
}
