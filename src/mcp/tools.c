/* tools.c: the table of tools, their schemas, and tool calls.
 *
 * A tool exposes an operation to an agent. Names, parameters, ranges and texts come from the
 * operation; only what should differ for agents is defined here (for example, adding one task needs
 * no list). The order is that of the table, so clients can cache the list.
 *
 * A failure inside a tool is a result that describes it: the model reads the message and can
 * correct itself. Protocol errors are for the client program: unknown tool, no arguments. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/nearest.h"
#include "mcp/mcp_internal.h"

#define STRUCTURED_SINCE "2025-06-18"

static bool tool_hides(const struct mcp_tool *tool, const char *name) {
    size_t length = strlen(name);
    for (const char *at = tool->hidden; at && *at;) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, name, size) == 0)
            return true;
        at += size + strspn(at + size, " ");
    }
    return false;
}

/* --- schemas --------------------------------------------------------------------------------- */

/* The path parameter `id` of an operation is called `task` in a tool. */
static const char *shown_name(const struct mcp_param *param) {
    return strcmp(param->name, "id") == 0 && strcmp(param->place, "path") == 0 ? "task"
                                                                               : param->name;
}

static void add_params(const struct mcp_tool *tool, const struct mcp_param *params,
                       json_t *properties, json_t *required) {
    for (; params->name; params++) {
        if (tool_hides(tool, params->name))
            continue;
        (void)json_object_set_new(properties, shown_name(params),
                                  json_loads(params->schema, 0, NULL));
        if (params->required)
            (void)json_array_append_new(required, json_string(shown_name(params)));
    }
}

static void add_text(json_t *properties, const char *name, const char *description) {
    (void)json_object_set_new(
        properties, name, json_pack("{s:s, s:s}", "type", "string", "description", description));
}

static void describe_task(const struct mcp_tool *tool, json_t *properties, json_t *required) {
    add_params(&(struct mcp_tool){ 0 }, tool->members, properties, required);
    add_params(tool, mcp_op_find(tool->op)->params, properties, required);
}

static void describe_children(const struct mcp_tool *tool, json_t *properties, json_t *required) {
    json_t *members = json_object(), *none = json_array();
    add_params(&(struct mcp_tool){ 0 }, tool->members, members, none);
    json_decref(none);
    json_t *children = json_pack("{s:s, s:i, s:s, s:{s:s, s:o, s:b}}", "type", "array", "minItems",
                                 1, "description", "the tasks to add, all or none", "items", "type",
                                 "object", "properties", members, "additionalProperties", 0);
    (void)json_object_set_new(properties, "children", children);
    add_text(properties, "parent",
             "the task they belong to; inside a run its own task when not given");
    (void)json_array_append_new(required, json_string("children"));
}

/* The default is the caller's own task. */
static void describe_own(const struct mcp_tool *tool, json_t *properties, json_t *required) {
    json_t *all = json_array();
    add_params(tool, mcp_op_find(tool->op)->params, properties, all);
    size_t i;
    json_t *name;
    json_array_foreach(all, i, name) {
        if (strcmp(json_string_value(name), "task") != 0)
            (void)json_array_append(required, name);
    }
    json_decref(all);
    add_text(properties, "task", "the task it is about; inside a run its own task when not given");
}

static void describe_post(const struct mcp_tool *tool, json_t *properties, json_t *required) {
    describe_own(tool, properties, required);
    add_text(properties, "project", "a project instead of a task");
}

/* --- arguments to parameters ----------------------------------------------------------------- */

static void move(json_t *from, const char *name, json_t *to, const char *new_name) {
    json_t *value = json_object_get(from, name);
    if (!value)
        return;
    (void)json_object_set(to, new_name, value);
    (void)json_object_del(from, name);
}

static int prepare_task(const struct mcp *mcp, const struct mcp_tool *tool, json_t *params,
                        const char **op, struct error *err) {
    json_t *task = json_object();
    (void)mcp, (void)op, (void)err;
    for (const struct mcp_param *m = tool->members; m->name; m++)
        move(params, m->name, task, m->name);
    (void)json_object_set_new(params, "tasks", json_pack("[o]", task));
    return 0;
}

static int take_child(const struct mcp_tool *tool, json_t *child, const json_t *parent,
                      size_t index, struct error *err) {
    const char *name;
    json_t *value;
    if (!json_is_object(child))
        return error_set(err, -EINVAL, "child %zu must be an object", index + 1);
    json_object_foreach(child, name, value) {
        if (!mcp_param_find(tool->members, name))
            return error_set(err, -EINVAL, "child %zu: a child has no '%s'", index + 1,
                             utf8_quote(name).text);
    }
    if (!json_object_get(child, "parent"))
        (void)json_object_set(child, "parent", (json_t *)parent);
    if (!json_object_get(child, "parent_gate"))
        (void)json_object_set_new(child, "parent_gate", json_string("none"));
    return 0;
}

/* Children of a running task may start at once; that is their purpose. */
static int prepare_children(const struct mcp *mcp, const struct mcp_tool *tool, json_t *params,
                            const char **op, struct error *err) {
    (void)op;
    json_t *children = json_object_get(params, "children");
    if (!json_object_get(params, "parent") && mcp->task)
        (void)json_object_set_new(params, "parent", json_string(mcp->task));
    const json_t *parent = json_object_get(params, "parent");
    if (!json_is_string(parent))
        return error_set(err, -EINVAL, "this is not a run of Sluice: say whose children, 'parent'");
    if (!json_is_array(children) || json_array_size(children) == 0)
        return error_set(err, -EINVAL, "'children' must be a list of at least one task");
    json_t *tasks = json_array();
    (void)json_object_set_new(params, "tasks", tasks);
    size_t i;
    json_t *child;
    int r = 0;
    json_array_foreach(children, i, child) {
        json_t *task = json_is_object(child) ? json_copy(child) : json_null();
        (void)json_array_append_new(tasks, task);
        r = r < 0 ? r : take_child(tool, task, parent, i, err);
    }
    (void)json_object_del(params, "children");
    (void)json_object_del(params, "parent");
    return r;
}

static int prepare_post(const struct mcp *mcp, const struct mcp_tool *tool, json_t *params,
                        const char **op, struct error *err) {
    (void)tool;
    bool of_project = json_object_get(params, "project") != NULL;
    if (of_project && json_object_get(params, "task"))
        return error_set(err, -EINVAL, "give 'task' or 'project', not both");
    if (of_project)
        *op = "project.post";
    else if (!json_object_get(params, "task") && mcp->task)
        (void)json_object_set_new(params, "task", json_string(mcp->task));
    else if (!json_object_get(params, "task"))
        return error_set(err, -EINVAL, "this is not a run of Sluice: give 'task' or 'project'");
    move(params, "project", params, "name");
    return 0;
}

/* Sends the attempt, too, so that an orphaned process cannot report for a newer one. */
static int prepare_report(const struct mcp *mcp, const struct mcp_tool *tool, json_t *params,
                          const char **op, struct error *err) {
    (void)op;
    if (!json_object_get(params, "task") && mcp->task) {
        (void)json_object_set_new(params, "task", json_string(mcp->task));
        (void)json_object_set_new(params, "attempt", json_integer(mcp->attempt));
    } else if (!json_object_get(params, "task")) {
        return error_set(err, -EINVAL,
                         "this is not a run of Sluice: say which task reports, 'task'");
    }
    if (strcmp(tool->name, "report_done") == 0)
        (void)json_object_set_new(params, "done", json_true());
    return 0;
}

/* A run asks about its own task, for the attempt that it is. */
static int prepare_ask(const struct mcp *mcp, const struct mcp_tool *tool, json_t *params,
                       const char **op, struct error *err) {
    (void)tool, (void)op;
    bool is_own = !json_object_get(params, "task");
    if (is_own && !mcp->task)
        return error_set(err, -EINVAL, "this is not a run of Sluice: say which task asks, 'task'");
    if (is_own) {
        (void)json_object_set_new(params, "task", json_string(mcp->task));
        (void)json_object_set_new(params, "attempt", json_integer(mcp->attempt));
    }
    return 0;
}

/* --- the table ------------------------------------------------------------------------------- */

/* clang-format off */
const struct mcp_tool mcp_tools[] = {
    { .name = "add_children", .title = "Add subtasks", .op = "task.add",
      .text = "Add tasks below a task that runs, such as your own: they are scheduled beside it, within "
              "the limits of the run. All are added or none. Give each a `prompt` and an `agent`; wait for "
              "them with task_wait.",
      .members = mcp_child_members,
      .describe = describe_children, .prepare = prepare_children },
    { .name = "ask_person", .title = "Ask a person", .op = "task.ask",
      .text = "Ask the person responsible for this task. Use it when you cannot go on without a decision or "
              "information that only a person has. Then end your turn at once: the task waits without using a "
              "slot, and the answer is your next prompt in this session. With `wait_s` the call waits for the "
              "answer; if the time is over first, end your turn.",
      .hidden = "attempt id",
      .describe = describe_own, .prepare = prepare_ask },
    { .name = "list_tasks", .title = "List tasks", .op = "task.list", .hints = HINT_READS },
    { .name = "pick_candidate", .title = "Pick a candidate", .op = "task.pick",
      .text = "Pick one of the candidates of a task that was added with `best_of`. A run picks only if it was "
              "started to choose: its `id` is its own task, and it ends its turn then.",
      .hints = HINT_REPEATS },
    { .name = "post_message", .title = "Post a message", .op = "task.post",
      .text = "Write a message on the bus of a task or of a project, where people and other agents read it.",
      .hidden = "links parents",
      .describe = describe_post, .prepare = prepare_post },
    { .name = "queue_task", .title = "Queue a task", .op = "task.add",
      .text = "Queue one task: a `prompt` for an `agent`, or a command (`argv`). It is on disk when this "
              "answers, and starts when the limits allow it. The answer has its id and whether it was "
              "started or queued. With an `external_id` that the project has already, the task that is "
              "there is told.",
      .hidden = "tasks draft", .members = mcp_queue_members,
      .describe = describe_task, .prepare = prepare_task },
    { .name = "report_done", .title = "Report that a task is finished", .op = "run.report",
      .text = "Say from inside a run that its task is finished. Needed when the task is repeated until it "
              "is done (`until: done`); harmless otherwise.",
      .hidden = "attempt cost_usd done rate_limited_s task tokens tokens_in tokens_out",
      .hints = HINT_REPEATS, .describe = describe_own, .prepare = prepare_report },
    { .name = "report_usage", .title = "Report tokens and cost", .op = "run.report",
      .text = "Tell what a run has used so far in all: tokens, cost, or that its provider said to wait. "
              "Numbers only rise, so repeating a report is harmless.",
      .hidden = "attempt done task",
      .hints = HINT_REPEATS, .describe = describe_own, .prepare = prepare_report },
    { .name = "status", .title = "Status of the scheduler", .op = "daemon.status", .hints = HINT_READS },
    { .name = "task_cancel", .title = "Cancel tasks", .op = "task.cancel",
      .hints = HINT_DESTROYS | HINT_REPEATS },
    { .name = "task_log", .title = "Read the log of a task", .op = "task.log",
      .text = "The end of what a run printed, at most 64 KiB; of its last attempt unless `attempt` is "
              "given.",
      .hidden = "follow offset err_offset", .hints = HINT_READS },
    { .name = "task_status", .title = "Show a task", .op = "task.show", .hints = HINT_READS },
    { .name = "task_wait", .title = "Wait for tasks", .op = "task.show",
      .text = "Wait until tasks have ended (done, failed, canceled or invalidated), at most `timeout_s` "
              "seconds. Answers at once when they have. `ended` is false when the time was over first: "
              "call it again to go on waiting; or when a task has `needs_person`: it is held or a draft, and "
              "a person must do something. Inside a run the tasks below it may use its place meanwhile.",
      .hints = HINT_READS, .describe = wait_describe, .begin = wait_begin },
    { .name = "why", .title = "Why does a task not run?", .op = "task.why", .hints = HINT_READS },
    { .name = NULL },
};
/* clang-format on */

/* --- listing --------------------------------------------------------------------------------- */

/* Operation texts begin in lower case and have no full stop. */
static json_t *description(const struct mcp_tool *tool) {
    const struct mcp_op *op = mcp_op_find(tool->op);
    if (tool->text)
        return json_string(tool->text);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_putc(&text, (char)toupper((unsigned char)op->summary[0]));
    strbuf_printf(&text, "%s.%s%s", op->summary + 1, op->text ? " " : "", op->text ? op->text : "");
    return json_string(strbuf_text(&text));
}

static json_t *annotations(const struct mcp_tool *tool) {
    bool reads = tool->hints & HINT_READS;
    json_t *hints = json_pack("{s:s, s:b, s:b}", "title", tool->title, "readOnlyHint", reads,
                              "openWorldHint", 0);
    if (!reads) {
        (void)json_object_set_new(hints, "destructiveHint",
                                  json_boolean(tool->hints & HINT_DESTROYS));
        (void)json_object_set_new(hints, "idempotentHint",
                                  json_boolean(tool->hints & HINT_REPEATS));
    }
    return hints;
}

static void tool_describe(const struct mcp_tool *tool, json_t *properties, json_t *required) {
    if (tool->describe)
        tool->describe(tool, properties, required);
    else
        add_params(tool, mcp_op_find(tool->op)->params, properties, required);
}

static json_t *input_schema(const struct mcp_tool *tool) {
    json_t *properties = json_object(), *required = json_array();
    tool_describe(tool, properties, required);
    json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (json_array_size(required) > 0)
        (void)json_object_set(schema, "required", required);
    json_decref(required);
    (void)json_object_set_new(schema, "additionalProperties", json_false());
    return schema;
}

void tools_list(struct mcp_request *request) {
    if (request_refuses_cursor(request))
        return;
    json_t *list = json_array();
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++)
        (void)json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", tool->name, "title", tool->title,
                            "description", description(tool), "inputSchema", input_schema(tool),
                            "annotations", annotations(tool)));
    request_cacheable(request, json_pack("{s:o}", "tools", list), LIST_TTL_MS, "public");
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Takes `text` and `structured`, which may be NULL. */
static void finish(struct mcp_request *request, json_t *text, json_t *structured, bool failed) {
    json_t *result = json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text", text,
                               "isError", failed);
    if (json_is_object(structured) && strcmp(request->version, STRUCTURED_SINCE) >= 0)
        (void)json_object_set(result, "structuredContent", structured);
    json_decref(structured);
    request_result(request, result);
}

void tools_fail(struct mcp_request *request, const char *format, ...) {
    char text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    finish(request, message_text(text, strlen(text)), NULL, true);
}

void tools_done(struct mcp_request *request, json_t *value) {
    finish(request, message_dump(value), value, false);
}

static void answered(struct mcp_request *request, size_t index, const struct mcp_reply *reply) {
    (void)index;
    if (reply->code < 0 && reply->index >= 0 && strcmp(request->tool->name, "add_children") == 0)
        tools_fail(request, "child %lld: %s", (long long)reply->index + 1, reply->message);
    else if (reply->code < 0)
        tools_fail(request, "%s", reply->message);
    else if (reply->bytes)
        finish(request, message_text(reply->bytes, reply->size), NULL, false);
    else
        tools_done(request, json_incref(reply->value));
}

/* --- arguments ------------------------------------------------------------------------------- */

static int refuse_unknown(const struct mcp_tool *tool, const json_t *properties, const char *name,
                          struct error *err) {
    struct nearest nearest = nearest_to(name);
    const char *known;
    json_t *schema;
    json_object_foreach((json_t *)properties, known, schema) {
        nearest_offer(&nearest, known);
    }
    return error_set(err, -EINVAL, "%s has no argument '%s'%s%s%s", tool->name,
                     utf8_quote(name).text, nearest.best ? "; did you mean '" : "",
                     nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

/* Accepts only names in the schema. The operation checks types and ranges, with the same messages
 * for every client. */
static int check_names(const struct mcp_tool *tool, const json_t *arguments, struct error *err) {
    json_t *properties = json_object(), *required = json_array();
    tool_describe(tool, properties, required);
    int r = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)arguments, name, value) {
        if (r == 0 && !json_object_get(properties, name))
            r = refuse_unknown(tool, properties, name, err);
    }
    size_t i;
    json_array_foreach(required, i, value) {
        if (r == 0 && !json_object_get(arguments, json_string_value(value)))
            r = error_set(err, -EINVAL, "argument '%s' of %s is missing", json_string_value(value),
                          tool->name);
    }
    json_decref(properties);
    json_decref(required);
    return r;
}

/* A copy without nulls: models write null for "not given". */
static json_t *without_nulls(const json_t *arguments) {
    json_t *copy = json_object();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)arguments, name, value) {
        if (!json_is_null(value))
            (void)json_object_set(copy, name, value);
    }
    return copy;
}

static void call_operation(struct mcp_request *request, json_t *params) {
    const struct mcp_tool *tool = request->tool;
    const char *name = tool->op;
    struct error err = { 0 };
    if (tool->prepare && tool->prepare(request->mcp, tool, params, &name, &err) < 0) {
        json_decref(params);
        tools_fail(request, "%s", err.text);
        return;
    }
    const struct mcp_op *op = mcp_op_find(name);
    if (mcp_param_find(op->params, "id") && !mcp_param_find(op->params, "task"))
        move(params, "task", params, "id");
    const json_t *tail = json_object_get(params, "tail");
    if (op->bytes
        && (!tail || (json_is_integer(tail) && json_integer_value(tail) > (json_int_t)MCP_LOG_MAX)))
        (void)json_object_set_new(params, "tail", json_integer((json_int_t)MCP_LOG_MAX));
    request_ask(request, name, params, 0, answered);
}

void tools_call(struct mcp_request *request) {
    const char *name = json_string_value(json_object_get(request->params, "name"));
    const json_t *arguments = json_object_get(request->params, "arguments");
    struct error err = { 0 };
    if (!name) {
        request_fail(request, RPC_PARAMS, NULL, "tools/call needs the name of a tool");
        return;
    }
    struct nearest nearest = nearest_to(name);
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++) {
        nearest_offer(&nearest, tool->name);
        if (strcmp(tool->name, name) == 0)
            request->tool = tool;
    }
    if (!request->tool) {
        request_fail(request, RPC_PARAMS, NULL, "unknown tool '%s'%s%s", utf8_quote(name).text,
                     nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "");
        return;
    }
    if (arguments && !json_is_object(arguments)) {
        request_fail(request, RPC_PARAMS, NULL, "arguments must be an object");
        return;
    }
    json_t *params = without_nulls(arguments);
    if (check_names(request->tool, params, &err) < 0) {
        json_decref(params);
        tools_fail(request, "%s", err.text);
    } else if (request->tool->begin) {
        request->tool->begin(request, params);
    } else {
        call_operation(request, params);
    }
}
