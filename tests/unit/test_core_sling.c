/* test_core_sling.c: what a sling may specify, and how groups are counted. */
#include <errno.h>
#include <stdio.h>

#include "core_facts.h"
#include "harness/test.h"

#define GROUP 3

static void add_to(struct core *core, task_id id, enum task_state state, uint32_t group) {
    struct task_spec spec = row(id, state);
    spec.group = group;
    struct error err = { 0 };
    struct fact fact = { .kind = FACT_TASK_ADDED, .spec = &spec };
    if (core_apply(core, &fact, &err) < 0)
        fail_msg("%s", err.text);
}

static int sling(struct core *core, task_id id, struct sling_spec reported) {
    return apply_fact(core, (struct fact){ .kind = FACT_SLING, .task = id, .sling = reported });
}

/* The orders about groups since the last call: "close", "open", or both in order. */
static const char *group_orders(struct core *core) {
    static char text[64];
    size_t count = 0;
    const struct order *orders = core_decide(core, &count);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        if (orders[i].kind == ORDER_GROUP)
            strcat(text, orders[i].to == TASK_DONE ? "close " : "open ");
    return text;
}

static void expect_group(const struct core *core, uint32_t group, uint32_t total, uint32_t open,
                         uint32_t failed) {
    struct group_view view = core_group(core, group);
    assert_int_equal(view.total, total);
    assert_int_equal(view.open, open);
    assert_int_equal(view.failed, failed);
}

TEST(f146_a_sling_names_agent_and_account) {
    struct core *core = core_with_a_world(false);
    struct task_view t;
    add_to(core, 1, TASK_DRAFT, 0);
    assert_int_equal(sling(core, 1, (struct sling_spec){ .renames = true, .agent = AGENT }), 0);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.agent, AGENT);
    assert_int_equal(t.limiter, LIMITER); /* the agent's */
    apply_fact(core, (struct fact){ .kind = FACT_CLEAR, .task = 1 });
    assert_int_equal(sling(core, 1, (struct sling_spec){ 0 }), 0);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.agent, AGENT); /* it was not given */
    apply_fact(core, (struct fact){ .kind = FACT_CLEAR, .task = 1 });
    assert_int_equal(sling(core, 1, (struct sling_spec){ .renames = true }), 0);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.agent, 0);
    assert_int_equal(t.limiter, 0);
    core_free(core);
}

TEST(f098_a_name_that_no_one_knows_changes_nothing) {
    struct core *core = core_with_a_world(false);
    struct task_view t;
    add_to(core, 1, TASK_DRAFT, 0);
    struct sling_spec reported = { .renames = true, .agent = WORKSPACE, .group = GROUP };
    assert_int_equal(sling(core, 1, reported), -ENOENT);
    assert_true(core_task(core, 1, &t));
    assert_int_equal(t.state, TASK_DRAFT);
    expect_group(core, GROUP, 0, 0, 0);
    core_free(core);
}

TEST(f103_a_sling_puts_a_task_into_a_group) {
    struct core *core = core_with_a_world(false);
    add_to(core, 1, TASK_DRAFT, 0);
    add_to(core, 2, TASK_DRAFT, 1);
    assert_int_equal(sling(core, 1, (struct sling_spec){ .group = GROUP }), 0);
    assert_int_equal(sling(core, 2, (struct sling_spec){ .group = GROUP }), 0);
    expect_group(core, GROUP, 2, 2, 0);
    expect_group(core, 1, 0, 0, 0);                                         /* moved */
    assert_int_equal(sling(core, 2, (struct sling_spec){ .group = 1 }), 1); /* not a draft */
    expect_group(core, GROUP, 2, 2, 0);
    core_free(core);
}

TEST(f148_a_group_closes_opens_and_counts_what_failed) {
    struct core *core = core_with_a_world(false);
    add_to(core, 1, TASK_HELD, GROUP);
    add_to(core, 2, TASK_HELD, GROUP);
    (void)group_orders(core);
    apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 1 });
    assert_string_equal(group_orders(core), "");
    expect_group(core, GROUP, 2, 1, 1);
    apply_fact(core, (struct fact){ .kind = FACT_CANCEL, .task = 2 });
    assert_string_equal(group_orders(core), "close ");
    expect_group(core, GROUP, 2, 0, 2);
    apply_fact(core, (struct fact){ .kind = FACT_PAUSE });
    apply_fact(core, (struct fact){ .kind = FACT_RETRY, .task = 2 });
    assert_string_equal(group_orders(core), "open ");
    expect_group(core, GROUP, 2, 1, 1);
    apply_fact(core, (struct fact){ .kind = FACT_DELETE, .task = 2 });
    assert_string_equal(group_orders(core), "close ");
    expect_group(core, GROUP, 1, 0, 1);
    add_to(core, 3, TASK_DRAFT, 0);
    assert_int_equal(sling(core, 3, (struct sling_spec){ .group = GROUP }), 0);
    assert_string_equal(group_orders(core), "open ");
    expect_group(core, GROUP, 2, 1, 1);
    core_free(core);
}

/* "4 2 ": its members, or its drafts, in reverse order of joining. */
static const char *members(const struct core *core, uint32_t group, bool drafts) {
    static char text[64];
    task_id ids[8];
    size_t count = core_group_members(core, group, drafts, ids, 8);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d ", (int)ids[i]);
    return text;
}

TEST(f148_a_group_knows_its_members_and_its_drafts) {
    struct core *core = core_with_a_world(false);
    for (task_id id = 1; id <= 4; id++)
        add_to(core, id, id == 2 ? TASK_HELD : TASK_DRAFT, GROUP);
    add_to(core, 5, TASK_DRAFT, 1);
    assert_string_equal(members(core, GROUP, false), "4 3 2 1 ");
    assert_string_equal(members(core, GROUP, true), "4 3 1 ");
    apply_fact(core, (struct fact){ .kind = FACT_DELETE, .task = 3 }); /* from the middle */
    assert_string_equal(members(core, GROUP, false), "4 2 1 ");
    apply_fact(core, (struct fact){ .kind = FACT_DELETE, .task = 4 }); /* the last */
    assert_int_equal(sling(core, 5, (struct sling_spec){ .group = GROUP }), 0);
    assert_string_equal(members(core, GROUP, false), "5 2 1 ");
    assert_string_equal(members(core, GROUP, true), "1 ");
    assert_string_equal(members(core, 1, false), "");
    apply_fact(core, (struct fact){ .kind = FACT_CLEAR, .task = 5 });
    assert_string_equal(members(core, GROUP, true), "5 1 ");
    struct core *copy = core_copy(core);
    apply_fact(core, (struct fact){ .kind = FACT_DELETE, .task = 1 }); /* the first */
    assert_string_equal(members(core, GROUP, false), "5 2 ");
    assert_string_equal(members(copy, GROUP, false), "5 2 1 ");
    assert_string_equal(members(core, 99, false), "");
    core_free(copy);
    core_free(core);
}
