/* test_core_waiting.c: the number of tasks that wait at each gate, maintained without a scan. The random histories of
 * tests/model check the counts after every fact. */
#include "core_facts.h"

#include <stdlib.h>

#include "core/core.h"
#include "core/state.h"
#include "harness/test.h"

/* The count at one gate. */
struct asked {
    struct core *core;
    const char *code;
    int64_t count;
};

static void add_up(void *ctx, const struct verdict *first, int64_t more) {
    struct asked *a = ctx;
    struct strbuf code = STRBUF_INIT;
    verdict_code(first, core_symbols(a->core), &code);
    if (!a->code || strcmp(strbuf_text(&code), a->code) == 0)
        a->count += more;
    strbuf_finish(&code);
}

/* Number of tasks that wait at the gate `code`; NULL: at all gates. */
static int64_t waiting_at(struct core *core, const char *code) {
    struct asked a = { .core = core, .code = code };
    assert_true(core_waiting_by_gate(core, SIZE_MAX, add_up, &a));
    return a.count;
}

static bool counts_all_with(struct core *core, size_t max) {
    struct asked a = { .core = core };
    return core_waiting_by_gate(core, max, add_up, &a);
}

static void decide(struct core *core) {
    size_t count;
    (void)core_decide(core, &count);
}

static void add_many(struct core *core, task_id first, task_id count, struct task_spec like) {
    for (task_id i = 0; i < count; i++) {
        like.id = first + i;
        assert_int_equal(add(core, like), 0);
    }
}

static void resource_has(struct core *core, amount cap) {
    assert_int_equal(
        apply_fact(core, (struct fact){ .kind = FACT_RESOURCE, .resource = { RESOURCE, cap } }), 0);
}

TEST(a_thousand_alike_are_one_difference) {
    struct core *core = core_with_a_world(false);
    add_many(core, 1, 1008, row(1, TASK_WAITING));
    decide(core); /* 8 slots for runs */
    assert_true(counts_all_with(core, 1));
    assert_int_equal(waiting_at(core, "lease:runs"), 1000);
    assert_int_equal(waiting_at(core, NULL), 1000);
    apply_fact(core, (struct fact){ .kind = FACT_PAUSE });
    assert_int_equal(waiting_at(core, "paused"), 1000);
    core_free(core);
}

TEST(too_few_differences_are_reported) {
    struct core *core = core_with_a_world(false);
    struct task_spec urgent = row(1, TASK_WAITING);
    urgent.priority = -1;
    add_many(core, 1, 10, urgent);
    add_many(core, 11, 10, row(1, TASK_WAITING));
    assert_false(counts_all_with(core, 1));
    assert_true(counts_all_with(core, 2));
    core_free(core);
}

TEST(nothing_is_complete_while_rows_are_loaded) {
    struct core *core = core_with_a_world(true);
    add_many(core, 1, 10, row(1, TASK_WAITING));
    assert_false(counts_all_with(core, SIZE_MAX));
    loaded(core);
    assert_true(counts_all_with(core, SIZE_MAX));
    core_free(core);
}

TEST(what_a_task_names_for_itself_counts_where_it_stops) {
    struct core *core = core_with_a_world(false);
    struct task_spec in_workspace = row(1, TASK_WAITING), with_resource = row(1, TASK_WAITING);
    const sym resource = RESOURCE;
    in_workspace.workspace = WORKSPACE;
    with_resource.resources = &resource;
    with_resource.resource_count = 1;
    resource_has(core, 1);
    add_many(core, 1, 4, in_workspace);
    add_many(core, 5, 3, with_resource);
    decide(core); /* one of each */
    assert_int_equal(waiting_at(core, "lease:workspace:workspace"), 3);
    assert_int_equal(waiting_at(core, "lease:resource:resource"), 2);
    assert_int_equal(waiting_at(core, NULL), 5);
    resource_has(core, 0);
    end_run(core, 1, OUTCOME_OK);
    assert_int_equal(waiting_at(core, "lease:workspace:workspace"), 0);
    assert_int_equal(waiting_at(core, NULL), 2); /* nothing blocks the others: they start now */
    core_free(core);
}

/* A workspace is free for the task that has locked it, and so is a reservation for its task. */
TEST(a_task_with_a_reserved_slot_is_counted_once) {
    struct core *core = core_with_a_world(false);
    struct task_spec holder = row(1, TASK_WAITING), overdue = row(2, TASK_WAITING);
    const sym resource = RESOURCE;
    resource_has(core, 1);
    holder.resources = overdue.resources = &resource;
    holder.resource_count = overdue.resource_count = 1;
    assert_int_equal(add(core, holder), 0);
    decide(core);
    overdue.workspace = WORKSPACE;
    overdue.ready_since = NOW - DAYS(1);
    apply_fact(core,
               (struct fact){ .kind = FACT_WORKSPACE, .workspace = { WORKSPACE, .locked_by = 2 } });
    assert_int_equal(add(core, overdue), 0);
    decide(core);
    assert_int_not_equal(core->claim.task, 0);
    assert_int_equal(waiting_at(core, "lease:resource:resource"), 1);
    assert_int_equal(waiting_at(core, "lease:workspace:workspace"), 0);
    core_free(core);
}

TEST(a_task_with_a_failed_dependency_is_counted_until_the_retry) {
    struct core *core = core_with_a_world(false);
    struct core_counts counts;
    const task_id both[] = { 1, 2 };
    struct task_spec user = row(3, TASK_WAITING);
    user.depends_on = both;
    user.depends_on_count = 2;
    apply_fact(core, (struct fact){ .kind = FACT_PAUSE });
    assert_int_equal(add(core, row(1, TASK_WAITING)), 0);
    assert_int_equal(add(core, row(2, TASK_WAITING)), 0);
    assert_int_equal(add(core, user), 0);
    for (task_id first = 1; first <= 2; first++) { /* any of them */
        apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = first });
        core_count(core, &counts);
        assert_int_equal(counts.hopeless, 1);
        apply_fact(core, (struct fact){ .kind = FACT_RETRY, .task = first });
        core_count(core, &counts);
        assert_int_equal(counts.hopeless, 0);
    }
    core_free(core);
}

TEST(a_task_with_a_failed_parent_is_counted_until_the_retry) {
    struct core *core = core_with_a_world(false);
    struct core_counts counts;
    const task_id other = 2;
    struct task_spec child = row(3, TASK_WAITING), beside = row(4, TASK_WAITING);
    child.parent = beside.parent = 1;
    beside.parent_gate = PARENT_NONE;
    struct task_spec both = child;
    both.id = 5;
    both.depends_on = &other;
    both.depends_on_count = 1;
    apply_fact(core, (struct fact){ .kind = FACT_PAUSE });
    assert_int_equal(add(core, row(1, TASK_WAITING)), 0);
    assert_int_equal(add(core, row(2, TASK_WAITING)), 0);
    assert_int_equal(add(core, child), 0);
    assert_int_equal(add(core, beside), 0);
    assert_int_equal(add(core, both), 0);
    apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 1 });
    core_count(core, &counts);
    assert_int_equal(counts.hopeless, 2);
    task_id waiters[4];
    assert_int_equal(core_task_waiters(core, 1, waiters, 4), 2);
    assert_true(waiters[0] == 3 && waiters[1] == 5);
    apply_fact(core, (struct fact){ .kind = FACT_RETRY, .task = 1 });
    core_count(core, &counts);
    assert_int_equal(counts.hopeless, 0);
    core_free(core);
}

TEST(a_retry_waits_no_longer_for_what_was_deleted) {
    struct core *core = core_with_a_world(false);
    const task_id on[] = { 1, 2 };
    struct task_spec user = row(3, TASK_WAITING);
    user.depends_on = on;
    user.depends_on_count = 2;
    apply_fact(core, (struct fact){ .kind = FACT_PAUSE });
    assert_int_equal(add(core, row(1, TASK_WAITING)), 0);
    assert_int_equal(add(core, row(2, TASK_WAITING)), 0);
    assert_int_equal(add(core, user), 0);
    apply_fact(core, (struct fact){ .kind = FACT_DELETE, .task = 1 });
    apply_fact(core, (struct fact){ .kind = FACT_RETRY, .task = 3 });
    task_id left[2] = { 0 };
    assert_int_equal(core_task_depends(core, 3, left, 2), 1);
    assert_int_equal(left[0], 2);
    core_free(core);
}

static void note_head(void *ctx, task_id task) {
    struct strbuf *heads = ctx;
    strbuf_printf(heads, " %u", (unsigned)task);
}

static void expect_heads(struct core *core, size_t each, size_t lacking, const char *expected) {
    struct strbuf heads = STRBUF_INIT;
    core_each_queue_head(core, each, lacking, note_head, &heads);
    assert_string_equal(strbuf_text(&heads), expected);
    strbuf_finish(&heads);
}

/* A class for each priority, and one list for each rare key that has refused tasks of it. */
TEST(every_gate_has_a_head) {
    struct core *core = core_with_a_world(false);
    struct task_spec late = row(1, TASK_WAITING), named = row(1, TASK_WAITING);
    const sym resource = RESOURCE;
    resource_has(core, 0);
    named.resources = &resource;
    named.resource_count = 1;
    apply_fact(core, (struct fact){ .kind = FACT_PAUSE });
    add_many(core, 1, 3, row(1, TASK_WAITING));
    late.priority = 7;
    add_many(core, 4, 2, late);
    expect_heads(core, 1, 9, " 1 4");
    expect_heads(core, 2, 9, " 1 2 4 5");
    apply_fact(core, (struct fact){ .kind = FACT_RESUME });
    add_many(core, 6, 2, named);
    decide(core); /* all but those that name it */
    expect_heads(core, 1, 9, " 6");
    core_free(core);
}

TEST(a_task_with_a_failed_dependency_is_not_a_head) {
    struct core *core = core_with_a_world(false);
    const task_id failed = 1, missing = 77;
    struct task_spec hopeless = row(2, TASK_WAITING), waits = row(3, TASK_WAITING);
    hopeless.depends_on = &failed;
    waits.depends_on = &missing;
    hopeless.depends_on_count = waits.depends_on_count = 1;
    assert_int_equal(add(core, row(1, TASK_FAILED)), 0);
    assert_int_equal(add(core, hopeless), 0);
    assert_int_equal(add(core, waits), 0);
    expect_heads(core, 1, 9, " 3");
    expect_heads(core, 1, 0, "");
    core_free(core);
}

static bool is_among(const task_id *tasks, size_t count, task_id wanted) {
    for (size_t i = 0; i < count; i++)
        if (tasks[i] == wanted)
            return true;
    return false;
}

TEST(the_first_of_each_class_are_listed_and_no_more) {
    struct core *core = core_with_a_world(false);
    struct task_spec urgent = row(1, TASK_READY);
    urgent.priority = -1;
    apply_fact(core, (struct fact){ .kind = FACT_PAUSE });
    add_many(core, 1, 500, row(1, TASK_READY));
    add_many(core, 501, 500, urgent);
    task_id applied[100];
    size_t count = core_waiting_first(core, 3, applied, 100);
    assert_true(count <= 4 * 2 * 3);
    for (task_id i = 0; i < 3; i++)
        assert_true(is_among(applied, count, 1 + i) && is_among(applied, count, 501 + i));
    assert_false(is_among(applied, count, 4));
    assert_int_equal(core_waiting_first(core, 100, applied, 100),
                     100); /* too many: the same as core_waiting */
    assert_true(is_among(applied, 100, 1) && is_among(applied, 100, 501));
    core_free(core);
}
