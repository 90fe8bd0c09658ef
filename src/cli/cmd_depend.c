/* cmd_depend.c: changes what a task depends on. The daemon replaces the complete list, so --add and --drop read
 * it first. */
#include <string.h>

#include "cli/ask.h"
#include "cli/client.h"

static bool has_id(const json_t *list, const char *id) {
    ASK_EACH(item, list) {
        if (strcmp(json_string_value(item) ? json_string_value(item) : "", id) == 0)
            return true;
    }
    return false;
}

static json_t *named(const struct cmd_call *call) {
    json_t *list = json_array();
    for (size_t i = 1; i < call->arg_count; i++)
        if (!has_id(list, call->args[i]))
            json_array_append_new(list, ask_string(call->args[i]));
    return list;
}

/* What it depends on now, with or without those that are named. */
static int changed(const struct cmd_call *call, struct ask *ask, json_t **list) {
    json_t *names = *list, *result = json_array();
    int code = ask_open_named(ask, call, "/v1/tasks/", "");
    ASK_EACH(item, code == CMD_OK ? json_object_get(ask->answer, "depends_on") : NULL) {
        if (json_is_string(item) && !has_id(names, json_string_value(item)))
            json_array_append(result, item);
    }
    if (cmd_has(call, "add"))
        json_array_extend(result, names);
    json_decref(names);
    *list = result;
    return code;
}

static int check(const struct cmd_call *call) {
    bool none = cmd_has(call, "none"), change = cmd_has(call, "add") || cmd_has(call, "drop");
    if (cmd_has(call, "add") && cmd_has(call, "drop"))
        return cmd_usage_error(call->cmd, "'--add' and '--drop' cannot be used together");
    if (none && (change || call->arg_count > 1))
        return cmd_usage_error(call->cmd, "'--none' takes only the task");
    if (!none && call->arg_count < 2)
        return cmd_usage_error(call->cmd, "name the tasks it depends on, or use '--none'");
    for (size_t i = 0; i < call->arg_count; i++) {
        int code = ask_name(call, call->args[i]);
        if (code != CMD_OK)
            return code;
    }
    return CMD_OK;
}

static void print_result(const json_t *task, const json_t *list) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    size_t i;
    json_t *item;
    sanitize_line(ask_text(task, "id", "?"), &out);
    strbuf_puts(&out, json_array_size(list) > 0 ? " depends on " : " depends on nothing");
    json_array_foreach(list, i, item) {
        strbuf_puts(&out, i ? ", " : "");
        sanitize_line(json_string_value(item), &out);
    }
    strbuf_printf(&out, ": %s\n", ask_text(task, "state", "?"));
    output_rest(&out);
}

static int cmd_depend_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = check(call);
    if (code != CMD_OK)
        return code;
    json_t *list = named(call);
    bool change = cmd_has(call, "add") || cmd_has(call, "drop");
    code = change ? changed(call, &ask, &list) : ask_open(&ask, ASK_START);
    if (code == CMD_OK)
        code = ask_post(
            &ask, json_pack("{s:o,s:O}", "task", ask_string(call->args[0]), "depends_on", list),
            "/v1/tasks/depends");
    if (code == CMD_OK && call->json)
        code = ask_print(&ask);
    else if (code == CMD_OK)
        print_result(json_array_get(json_object_get(ask.answer, "tasks"), 0), list);
    json_decref(list);
    return code;
}

static const struct cmd_option depend_options[] = {
    { "add", 0, NULL, "keep what it depends on now, and add these" },
    { "drop", 0, NULL, "keep what it depends on now, except these" },
    { "none", 0, NULL, "it depends on nothing" },
    { NULL },
};

const struct cmd cmd_depend = { "depend", .options = depend_options, .min_args = 1,
                                .max_args = CMD_ANY_ARGS, .run = cmd_depend_run };
