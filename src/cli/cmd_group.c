/* cmd_group.c: tasks that are followed together. A group tracks; it never keeps anything from
 * starting. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/ask.h"
#include "cli/names.h"
#include "cli/print_task.h"

static const char *state_of(const json_t *group) {
    return ask_true(group, "closed") ? "closed" : "open";
}

/* "12 of 20". */
static struct print_text done_of(const json_t *group) {
    int64_t total = ask_int(group, "total", 0), open = ask_int(group, "open", 0);
    struct print_text ret;
    (void)snprintf(ret.text, sizeof(ret.text), "%" PRId64 " of %" PRId64, total - open, total);
    return ret;
}

static void put_done(const json_t *group, struct strbuf *out) {
    strbuf_puts(out, done_of(group).text);
}

static void put_state(const json_t *group, struct strbuf *out) {
    strbuf_puts(out, state_of(group));
}

static void put_owned(const json_t *group, struct strbuf *out) {
    strbuf_puts(out, ask_true(group, "owned") ? "yes" : "no");
}

static const struct name_list list = {
    "/v1/groups",
    "no group yet; 'sluice group add NAME' makes one\n",
    { { "NAME", "name" },
      { "OVER", .put = put_done },
      { "STATE", .put = put_state },
      { "OWNED", .put = put_owned },
      { "CREATED", "created_at", NAME_SPAN } },
};
static const struct name_verb close_verb = { "/v1/groups/", "/close", "closed",
                                             "is closed already" };

static int show_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_named(&ask, call, "/v1/groups/", "");
    if (ask_ended(call, &ask, &code))
        return code;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    sanitize_line(ask_text(ask.answer, "name", ""), &out);
    strbuf_printf(&out, " (%s%s): %s over", state_of(ask.answer),
                  ask_true(ask.answer, "owned") ? ", owned" : "", done_of(ask.answer).text);
    int64_t failed = ask_int(ask.answer, "failed", 0);
    if (failed > 0)
        strbuf_printf(&out, ", %" PRId64 " not done", failed);
    strbuf_putc(&out, '\n');
    struct output_column columns[] = { { "TASK" }, { "STATE" } };
    _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(ask.answer, "tasks"), i, item) {
        rows_add(&rows,
                 (const char *[]){ ask_text(item, "id", NULL), ask_text(item, "state", NULL) });
    }
    rows_print(&rows, &out);
    int64_t total = ask_int(ask.answer, "total", 0), shown = (int64_t)i;
    if (total > shown)
        strbuf_printf(&out, "  ... and %" PRId64 " more; 'sluice list --group %s' lists them\n",
                      total - shown, call->args[0]);
    output_rest(&out);
    return CMD_OK;
}

static int add_run(const struct cmd_call *call) {
    json_t *body = json_object();
    if (call->arg_count > 0) {
        if (ask_name(call, call->args[0]) != CMD_OK) {
            json_decref(body);
            return CMD_USAGE;
        }
        json_object_set_new(body, "name", ask_string(call->args[0]));
    }
    ask_take_members(call, body);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_post(&ask, body, "/v1/groups");
    if (ask_ended(call, &ask, &code))
        return code;
    return cmd_say("%s %s", ask_text(ask.answer, "name", "?"),
                   ask_true(ask.answer, "already") ? "is open already" : "added");
}

static const struct cmd_option add_options[] = {
    { "owned", 'o', NULL, "close it by hand only, not when all its tasks are over", "owned" },
    { NULL },
};

static const struct cmd group_add = { "group add", .options = add_options, .max_args = 1,
                                      .run = add_run };
static const struct cmd group_close = { "group close", .min_args = 1, .max_args = CMD_ANY_ARGS,
                                        .run = name_verb_run, .data = &close_verb };
static const struct cmd group_list = { "group list", .run = name_list_run, .data = &list };
static const struct cmd group_show = { "group show", .min_args = 1, .max_args = 1,
                                       .run = show_run };
const struct cmd cmd_group = { "group", .subs = CMD_LIST(&group_add, &group_close, &group_list,
                                                         &group_show) };
