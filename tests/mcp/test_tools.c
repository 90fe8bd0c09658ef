/* test_tools.c: tools are the operations, and what they are called with reaches them. */
#include "kit.h"

#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/test.h"
#include "mcp/mcp_internal.h"

static void call(struct kit *k, const char *tool, const char *arguments) {
    _cleanup_(strbuf_finish) struct strbuf params = STRBUF_INIT;
    strbuf_printf(&params, "\"name\":\"%s\",\"arguments\":%s", tool, arguments);
    kit_modern(k, 1, "tools/call", strbuf_text(&params));
}

/* The message of a result with isError. */
static const char *failed(struct kit *k) {
    const json_t *m = kit_answer_of(k);
    if (!kit_true(m, "result|isError"))
        fail_msg("expected a result with isError, got %s", json_dumps(m, 0));
    return kit_text(m, "result|content|0|text");
}

/* --- the table ------------------------------------------------------------------------------- */

TEST(every_tool_is_an_operation_and_in_order) {
    for (const struct mcp_tool *t = mcp_tools; t->name; t++) {
        if (!mcp_op_find(t->op))
            fail_msg("tool '%s' names the operation '%s', which is not there", t->name, t->op);
        if (t[1].name && strcmp(t->name, t[1].name) >= 0)
            fail_msg("tool '%s' stands before '%s'", t->name, t[1].name);
        for (const char *at = t->hidden; at && *at;) {
            char name[64] = "";
            size_t size = strcspn(at, " ");
            assert_true(size < sizeof(name));
            memcpy(name, at, size);
            if (!mcp_param_find(mcp_op_find(t->op)->params, name))
                fail_msg("tool '%s' hides '%s', which is not there", t->name, name);
            at += size + strspn(at + size, " ");
        }
    }
}

static void check_schema(const char *text) {
    json_t *schema = json_loads(text, 0, NULL);
    if (!json_is_object(schema) || !json_is_string(json_object_get(schema, "description")))
        fail_msg("this is no schema: %s", text);
    json_decref(schema);
}

TEST(every_schema_of_the_catalog_is_one) {
    for (const struct mcp_op *op = mcp_ops; op->name; op++)
        for (const struct mcp_param *p = op->params; p->name; p++)
            check_schema(p->schema);
    const struct mcp_param *const lists[] = { mcp_queue_members, mcp_child_members };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (const struct mcp_param *p = lists[i]; p->name; p++) {
            check_schema(p->schema);
            if (!strstr(p->schema, "\"type\""))
                fail_msg("member '%s' of a task has no type: op_catalog.c does not know how it is "
                         "written",
                         p->name);
        }
}

TEST(the_list_is_whole_and_the_same_each_time) {
    KIT(k);
    kit_modern(&k, 1, "tools/list", "");
    const json_t *first = kit_answer_of(&k);
    kit_modern(&k, 1, "tools/list", "");
    char *one = json_dumps(first, 0), *two = json_dumps(kit_answer_of(&k), 0);
    assert_string_equal(one, two);
    free(one);
    free(two);
    size_t i;
    json_t *tool;
    json_array_foreach(kit_at(first, "result|tools"), i, tool) {
        assert_true(strlen(kit_text(tool, "description")) > 10);
        ASSERT_TEXT(tool, "inputSchema|type", "object");
        assert_true(json_is_object(kit_at(tool, "inputSchema|properties")));
        assert_true(json_is_boolean(kit_at(tool, "annotations|readOnlyHint")));
    }
    assert_int_equal(i, 14);
}

/* --- calls ----------------------------------------------------------------------------------- */

TEST(arguments_reach_the_operation) {
    static const struct {
        const char *tool, *arguments, *op, *params;
    } rows[] = {
        { "status", "{}", "daemon.status", "{}" },
        { "task_status", "{\"task\":\"web-1\"}", "task.show", "{\"id\":\"web-1\"}" },
        { "why", "{\"task\":\"web-1\"}", "task.why", "{\"id\":\"web-1\"}" },
        { "task_cancel", "{\"tasks\":[\"web-1\"],\"now\":true}", "task.cancel",
          "{\"now\":true,\"tasks\":[\"web-1\"]}" },
        { "list_tasks", "{\"state\":\"all\",\"limit\":5,\"project\":null}", "task.list",
          "{\"limit\":5,\"state\":\"all\"}" },
        { "queue_task", "{\"prompt\":\"x\",\"agent\":\"claude\",\"group\":\"g\"}", "task.add",
          "{\"group\":\"g\",\"tasks\":[{\"agent\":\"claude\",\"prompt\":\"x\"}]}" },
        { "task_log", "{\"task\":\"1\",\"tail\":99999999}", "task.log",
          "{\"id\":\"1\",\"tail\":65536}" },
        { "task_log", "{\"task\":\"1\",\"tail\":10,\"stream\":\"err\"}", "task.log",
          "{\"id\":\"1\",\"stream\":\"err\",\"tail\":10}" },
        { "post_message", "{\"task\":\"web-1\",\"text\":\"hi\"}", "task.post",
          "{\"id\":\"web-1\",\"text\":\"hi\"}" },
        { "post_message", "{\"project\":\"web\",\"text\":\"hi\",\"type\":\"FACT\"}", "project.post",
          "{\"name\":\"web\",\"text\":\"hi\",\"type\":\"FACT\"}" },
        { "report_done", "{\"task\":\"web-1\"}", "run.report",
          "{\"done\":true,\"task\":\"web-1\"}" },
        { "ask_person", "{\"task\":\"web-1\",\"question\":\"Which?\"}", "task.ask",
          "{\"id\":\"web-1\",\"question\":\"Which?\"}" },
        { "report_usage", "{\"task\":\"web-1\",\"tokens_in\":5}", "run.report",
          "{\"task\":\"web-1\",\"tokens_in\":5}" },
        { "add_children",
          "{\"parent\":\"web-1\",\"children\":[{\"prompt\":\"x\",\"agent\":\"a\"}]}", "task.add",
          "{\"tasks\":[{\"agent\":\"a\",\"parent\":\"web-1\",\"parent_gate\":\"none\",\"prompt\":"
          "\"x\"}]}" },
    };
    KIT(k);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        call(&k, rows[i].tool, rows[i].arguments);
        if (k.ask_count != 1)
            fail_msg("%s %s was not asked: %s", rows[i].tool, rows[i].arguments, failed(&k));
        kit_asked(&k, rows[i].op, rows[i].params);
        kit_answer(&k, rows[i].op, "{\"ok\":true}");
        const json_t *m = kit_answer_of(&k);
        assert_true(kit_false(m, "result|isError"));
        assert_true(kit_true(m, "result|structuredContent|ok"));
        ASSERT_TEXT(m, "result|content|0|text", "{\"ok\":true}");
    }
}

TEST(inside_a_run_it_is_meant) {
    KIT(k, .run = "web-17.2");
    call(&k, "report_done", "{}");
    kit_asked(&k, "run.report", "{\"attempt\":2,\"done\":true,\"task\":\"web-17\"}");
    kit_answer(&k, "run.report", "{}");
    (void)kit_answer_of(&k);
    call(&k, "ask_person", "{\"question\":\"Which?\",\"choices\":[\"a\",\"b\"]}");
    kit_asked(
        &k, "task.ask",
        "{\"attempt\":2,\"choices\":[\"a\",\"b\"],\"id\":\"web-17\",\"question\":\"Which?\"}");
    kit_answer(&k, "task.ask", "{}");
    (void)kit_answer_of(&k);
    call(&k, "post_message", "{\"text\":\"hi\"}");
    kit_asked(&k, "task.post", "{\"id\":\"web-17\",\"text\":\"hi\"}");
    kit_answer(&k, "task.post", "{}");
    (void)kit_answer_of(&k);
    call(&k, "add_children",
         "{\"children\":[{\"prompt\":\"x\",\"parent_gate\":\"done\"},"
         "{\"prompt\":\"y\"}]}");
    kit_asked(&k, "task.add",
              "{\"tasks\":[{\"parent\":\"web-17\",\"parent_gate\":\"done\",\"prompt\":\"x\"},"
              "{\"parent\":\"web-17\",\"parent_gate\":\"none\",\"prompt\":\"y\"}]}");
    kit_answer(&k, "task.add", "{}");
    (void)kit_answer_of(&k);
}

TEST(bad_arguments_are_reported_to_the_model) {
    static const char *const rows[][3] = {
        { "task_status", "{}", "argument 'task' of task_status is missing" },
        { "task_status", "{\"task\":null}", "argument 'task' of task_status is missing" },
        { "task_status", "{\"taks\":\"web-1\"}",
          "task_status has no argument 'taks'; did you mean 'task'?" },
        { "queue_task", "{\"promt\":\"x\"}",
          "queue_task has no argument 'promt'; did you mean 'prompt'?" },
        { "queue_task", "{\"nice\":5}", "queue_task has no argument 'nice'" },
        { "report_done", "{}", "this is not a run of Sluice: say which task reports, 'task'" },
        { "ask_person", "{\"question\":\"x\"}",
          "this is not a run of Sluice: say which task asks, 'task'" },
        { "ask_person", "{}", "argument 'question' of ask_person is missing" },
        { "post_message", "{\"text\":\"x\"}",
          "this is not a run of Sluice: give 'task' or 'project'" },
        { "post_message", "{\"text\":\"x\",\"task\":\"a-1\",\"project\":\"a\"}",
          "give 'task' or 'project', not both" },
        { "add_children", "{\"children\":[{}]}",
          "this is not a run of Sluice: say whose children, 'parent'" },
        { "add_children", "{\"parent\":\"a-1\",\"children\":[]}",
          "'children' must be a list of at least one task" },
        { "add_children", "{\"parent\":\"a-1\",\"children\":[7]}", "child 1 must be an object" },
        { "add_children", "{\"parent\":\"a-1\",\"children\":[{},{\"argv\":[\"sh\"]}]}",
          "child 2: a child has no 'argv'" },
    };
    KIT(k);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        call(&k, rows[i][0], rows[i][1]);
        assert_string_equal(failed(&k), rows[i][2]);
    }
}

TEST(a_refusal_of_the_operation_is_a_result) {
    KIT(k);
    call(&k, "task_cancel", "{\"tasks\":[\"web-9\"]}");
    kit_refuse(&k, "task.cancel", -ENOENT, "there is no task 'web-9'", false);
    assert_string_equal(failed(&k), "there is no task 'web-9'");
}

TEST(no_such_tool_is_an_error) {
    KIT(k);
    call(&k, "task_statsu", "{}");
    const json_t *m = kit_answer_of(&k);
    ASSERT_INT(m, "error|code", -32602);
    ASSERT_TEXT(m, "error|message", "unknown tool 'task_statsu'; did you mean task_status");
    call(&k, "\\u001b[31m", "{}");
    ASSERT_TEXT(kit_answer_of(&k), "error|message", "unknown tool '?[31m'");
    call(&k, "status", "[]");
    ASSERT_INT(kit_answer_of(&k), "error|code", -32602);
    kit_modern(&k, 1, "tools/call", "\"arguments\":{}");
    ASSERT_INT(kit_answer_of(&k), "error|code", -32602);
}

/* A log may hold anything; what goes out is text without what steers a terminal. */
TEST(a_log_becomes_text) {
    static const char bytes[] = "a\r\n\033[31mred\tb\0\0\xff\xc2\x9b\xe2\x82\xac";
    KIT(k);
    call(&k, "task_log", "{\"task\":\"1\"}");
    kit_bytes(&k, "task.log", bytes, sizeof(bytes) - 1);
    const json_t *m = kit_answer_of(&k);
    ASSERT_TEXT(m, "result|content|0|text",
                "a\n\xef\xbf\xbd[31mred\tb\xef\xbf\xbd\xef\xbf\xbd\xe2\x82\xac");
    call(&k, "task_log", "{\"task\":\"1\"}");
    kit_bytes(&k, "task.log", "", 0);
    ASSERT_TEXT(kit_answer_of(&k), "result|content|0|text", "");
}
