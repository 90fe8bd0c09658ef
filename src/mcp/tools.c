/* tools.c: one call of a tool, from its arguments to its result.
 *
 * What goes wrong inside a tool is a result that says so: the model that called it reads the sentence and
 * can do better. Errors of the protocol are for the program around it: no such tool, no arguments at all. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/nearest.h"
#include "mcp/mcp_internal.h"

#define STRUCTURED_SINCE "2025-06-18"

static const struct mcp_tool *find(const char *name) {
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++)
        if (strcmp(tool->name, name) == 0)
            return tool;
    return NULL;
}

/* `text` and `structured` are taken; `structured` may be NULL. */
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
    if (nearest.best)
        return error_set(err, -EINVAL, "%s has no argument '%s'; did you mean '%s'?", tool->name,
                         message_quote(name).text, nearest.best);
    return error_set(err, -EINVAL, "%s has no argument '%s'", tool->name, message_quote(name).text);
}

/* Only what the schema offers. Types and ranges are the operation's business: it says the same to
 * everybody. */
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

/* A copy without what is null: models write it for "not given". */
static json_t *given(const json_t *arguments) {
    json_t *copy = json_object();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)arguments, name, value) {
        if (!json_is_null(value))
            (void)json_object_set(copy, name, value);
    }
    return copy;
}

/* What the operation calls `id`. */
static void name_task(const struct mcp_op *op, json_t *params) {
    json_t *task = json_object_get(params, "task");
    if (!task || !mcp_param_find(op->params, "id") || mcp_param_find(op->params, "task"))
        return;
    (void)json_object_set(params, "id", task);
    (void)json_object_del(params, "task");
}

static void limit_log(const struct mcp_op *op, json_t *params) {
    const json_t *tail = json_object_get(params, "tail");
    if (op->bytes
        && (!tail || (json_is_integer(tail) && json_integer_value(tail) > (json_int_t)MCP_LOG_MAX)))
        (void)json_object_set_new(params, "tail", json_integer((json_int_t)MCP_LOG_MAX));
}

static void ask(struct mcp_request *request, json_t *params) {
    const struct mcp_tool *tool = request->tool;
    const char *name = tool->op;
    struct error err = { 0 };
    if (tool->prepare && tool->prepare(request->mcp, tool, params, &name, &err) < 0) {
        json_decref(params);
        tools_fail(request, "%s", err.text);
        return;
    }
    const struct mcp_op *op = mcp_op_find(name);
    name_task(op, params);
    limit_log(op, params);
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
    request->tool = find(name);
    if (!request->tool) {
        struct nearest nearest = nearest_to(name);
        for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++)
            nearest_offer(&nearest, tool->name);
        request_fail(request, RPC_PARAMS, NULL, "unknown tool '%s'%s%s", message_quote(name).text,
                     nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "");
        return;
    }
    if (arguments && !json_is_object(arguments)) {
        request_fail(request, RPC_PARAMS, NULL, "arguments must be an object");
        return;
    }
    json_t *params = given(arguments);
    if (check_names(request->tool, params, &err) < 0) {
        json_decref(params);
        tools_fail(request, "%s", err.text);
    } else if (request->tool->begin) {
        request->tool->begin(request, params);
    } else {
        ask(request, params);
    }
}
