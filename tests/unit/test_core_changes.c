/* test_core_changes.c: the core reports which rows are dirty and which tasks are needed, and drops keys that
 * no task names. */
#include "core_facts.h"
#include "harness/test.h"

struct noted {
    task_id tasks[8], rewired[8];
    size_t task_count, rewired_count, usage_count;
    struct usage_spec usage;
    sym agent, limiter;
    struct wait_spec wait;
};

static void note_task(void *ctx, task_id task) {
    struct noted *n = ctx;
    n->tasks[n->task_count++] = task;
}

static void note_depends(void *ctx, task_id task) {
    struct noted *n = ctx;
    n->rewired[n->rewired_count++] = task;
}

static void note_agent(void *ctx, sym agent) {
    ((struct noted *)ctx)->agent = agent;
}

static void note_limiter(void *ctx, sym limiter) {
    ((struct noted *)ctx)->limiter = limiter;
}

static void note_usage(void *ctx, const struct usage_spec *added) {
    struct noted *n = ctx;
    n->usage = *added;
    n->usage_count++;
}

static void note_wait(void *ctx, const struct wait_spec *wait) {
    ((struct noted *)ctx)->wait = *wait;
}

static struct noted take(struct core *core) {
    struct noted n = { 0 };
    core_take_changes(core, &(struct core_changes){ .task = note_task,
                                                    .depends = note_depends,
                                                    .agent = note_agent,
                                                    .limiter = note_limiter,
                                                    .usage = note_usage,
                                                    .wait = note_wait,
                                                    .ctx = &n });
    return n;
}

static struct core *watched_core(void) {
    struct core *core = core_with_a_world(false);
    core_watch(core);
    (void)take(core);
    return core;
}

TEST(each_changed_row_is_named_once) {
    struct core *core = watched_core();
    size_t count;
    add(core, row(1, TASK_WAITING));
    (void)core_decide(core, &count); /* and it starts */
    struct noted n = take(core);
    assert_int_equal(n.task_count, 1);
    assert_int_equal(n.tasks[0], 1);
    assert_int_equal(n.rewired_count, 1);
    assert_int_equal(n.usage_count, 1);
    assert_int_equal(n.usage.starts, 1);
    assert_int_equal(take(core).task_count, 0);
    apply_fact(core, (struct fact){ .kind = FACT_ORDER_REFUSED, .task = 1, .attempt = 1 });
    n = take(core);
    assert_int_equal(n.task_count, 1);
    assert_int_equal(n.rewired_count, 0);
    assert_int_equal(n.usage.starts, -1); /* undone */
    core_free(core);
}

TEST(a_forgotten_dependency_makes_the_rows_of_its_dependents_dirty) {
    struct core *core = watched_core();
    const task_id on[] = { 1 };
    struct task_spec user = row(2, TASK_FAILED);
    user.depends_on = on;
    user.depends_on_count = 1;
    add(core, row(1, TASK_DONE));
    add(core, user);
    (void)take(core);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_FORGET, .task = 1 }), 0);
    struct noted n = take(core);
    assert_int_equal(n.task_count, 2);
    assert_int_equal(n.rewired_count, 1);
    assert_int_equal(n.rewired[0], 2);
    assert_int_equal(core_task_depends(core, 2, NULL, 0), 0);
    core_free(core);
}

TEST(a_forgotten_parent_unblocks_its_children_and_their_rows_are_dirty) {
    struct core *core = watched_core();
    struct task_spec child = row(2, TASK_FAILED), applied;
    child.parent = 1;
    add(core, row(1, TASK_DONE));
    add(core, child);
    (void)take(core);
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_FORGET, .task = 1 }), 0);
    assert_int_equal(take(core).task_count, 2);
    assert_true(core_task_spec(core, 2, &applied));
    assert_int_equal(applied.parent_gate, PARENT_NONE);
    apply_fact(core, (struct fact){ .kind = FACT_RETRY, .task = 2 });
    assert_int_equal(view(core, 2).state, TASK_READY);
    core_free(core);
}

TEST(a_stronger_stop_request_makes_a_row_dirty_without_an_order) {
    struct core *core = watched_core();
    struct task_spec child = row(2, TASK_RUNNING), applied;
    child.parent = 1;
    child.parent_gate = PARENT_NONE;
    size_t count;
    add(core, row(1, TASK_FAILED));
    add(core, child);
    apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 2 });
    (void)core_decide(core, &count);
    (void)take(core);
    apply_fact(core, (struct fact){ .kind = FACT_DELETE, .task = 1 });
    (void)core_decide(core, &count);
    assert_int_equal(count, 0);
    struct noted n = take(core);
    assert_int_equal(n.task_count, 2);
    assert_true(core_task_spec(core, 2, &applied));
    assert_int_equal(applied.stop, STOP_ORPHAN);
    core_free(core);
}

TEST(agents_limiters_and_clocks_are_named_when_they_change) {
    struct core *core = watched_core();
    struct task_spec first = row(1, TASK_RUNNING), second = row(2, TASK_RUNNING);
    first.agent = second.agent = AGENT;
    add(core, first);
    add(core, second);
    (void)take(core);
    end_run(core, 1, OUTCOME_LAUNCH);
    assert_int_equal(take(core).agent, AGENT);
    end_run(core, 2, OUTCOME_LIMITED);
    struct noted n = take(core);
    assert_int_equal(n.limiter, LIMITER);
    assert_int_equal(n.wait.project, PROJECT); /* the wait of its tasks does not count now */
    assert_int_equal(n.wait.closed_since, NOW);
    assert_int_equal(take(core).wait.project, 0);
    core_free(core);
}

struct moved {
    int64_t before, after; /* tokens added to the old bucket and to the new one */
};

static void note_moved(void *ctx, const struct usage_spec *added) {
    struct moved *m = ctx;
    if (added->at == NOW - MINUTES(20))
        m->before += added->tokens;
    if (added->at == NOW - HOURS(1))
        m->after += added->tokens;
}

TEST(a_window_of_another_length_moves_what_was_written) {
    struct core *core = watched_core();
    struct policy policy;
    struct moved moved = { 0 };
    policy_default(&policy); /* a day: buckets of five minutes */
    apply_fact(core, (struct fact){
                         .kind = FACT_USAGE,
                         .usage = { .project = PROJECT, .tokens = 500, .at = NOW - MINUTES(20) } });
    (void)take(core);
    policy.fair_window = 288 * HOURS(1);
    apply_fact(core, (struct fact){ .kind = FACT_POLICY, .policy = &policy });
    core_take_changes(core, &(struct core_changes){ .usage = note_moved, .ctx = &moved });
    assert_int_equal(moved.before, -500);
    assert_int_equal(moved.after, 500);
    core_free(core);
}

TEST(loaded_rows_are_not_dirty) {
    struct core *core = core_with_a_world(true);
    core_watch(core);
    add(core, row(1, TASK_DONE));
    add(core, row(2, TASK_READY));
    loaded(core);
    assert_int_equal(take(core).task_count, 0);
    core_free(core);
}

/* --- needed tasks, and keys ------------------------------------------------------------------- */

TEST(a_finished_task_of_an_open_group_is_needed) {
    struct core *core = core_with_a_world(false);
    struct task_spec done = row(1, TASK_DONE), open = row(2, TASK_HELD);
    done.group = open.group = 3;
    add(core, done);
    add(core, open);
    assert_true(core_is_needed(core, 1));
    assert_true(apply_fact(core, (struct fact){ .kind = FACT_FORGET, .task = 1 }) < 0);
    apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 2 });
    assert_false(core_is_needed(core, 1));
    assert_int_equal(apply_fact(core, (struct fact){ .kind = FACT_FORGET, .task = 1 }), 0);
    assert_false(core_is_needed(core, 1));
    core_free(core);
}

TEST(a_finished_task_is_needed_by_those_that_name_it) {
    struct core *core = core_with_a_world(false);
    const task_id on[] = { 1 };
    struct task_spec user = row(3, TASK_HELD), child = row(4, TASK_HELD);
    user.depends_on = on;
    user.depends_on_count = 1;
    child.parent = 2;
    add(core, row(1, TASK_DONE));
    add(core, row(2, TASK_DONE));
    add(core, user);
    add(core, child);
    assert_true(core_is_needed(core, 1));
    assert_true(core_is_needed(core, 2));
    assert_false(core_is_needed(core, 3));
    apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 3 });
    apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 4 });
    assert_false(core_is_needed(core, 1));
    assert_false(core_is_needed(core, 2));
    core_free(core);
}

static uint32_t key_count(const struct core *core) {
    struct core_counts counts;
    core_count(core, &counts);
    return counts.keys;
}

TEST(keys_that_no_task_names_any_more_are_removed) {
    struct core *core = core_with_a_world(false);
    const sym resources[] = { RESOURCE };
    uint32_t before = key_count(core);
    struct task_spec first = row(1, TASK_WAITING);
    first.workspace = WORKSPACE;
    first.resources = resources;
    first.resource_count = 1;
    first.parallelizable = false;
    add(core, first);
    assert_int_equal(key_count(core), before + 3);
    apply_fact(core, (struct fact){ .kind = FACT_WORKSPACE,
                                    .workspace = { .id = WORKSPACE, .locked = true } });
    apply_fact(core, (struct fact){ .kind = FACT_DELETE, .task = 1 });
    assert_int_equal(key_count(core), before + 1); /* it is locked externally */
    apply_fact(core, (struct fact){ .kind = FACT_WORKSPACE, .workspace = { .id = WORKSPACE } });
    assert_int_equal(key_count(core), before);
    apply_fact(core, (struct fact){ .kind = FACT_RESOURCE, .resource = { RESOURCE, 2 } });
    add(core, first);
    apply_fact(core, (struct fact){ .kind = FACT_DELETE, .task = 1 });
    assert_int_equal(key_count(core), before + 1); /* its cap was set */
    core_free(core);
}
