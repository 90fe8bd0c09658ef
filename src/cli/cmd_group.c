/* cmd_group.c: tasks that are followed together. A group tracks; it never keeps anything from
 * starting. */
#include "cli/cmd.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/ask.h"
#include "cli/cell.h"
#include "cli/name_list.h"
#include "cli/name_verb.h"
#include "cli/sanitize.h"

static const char *state_of(const json_t *group) {
    return ask_true(group, "closed") ? "closed" : "open";
}

/* "12 of 20". */
static struct cell done_of(const json_t *group) {
    int64_t total = ask_int(group, "total", 0), open = ask_int(group, "open", 0);
    struct cell ret;
    (void)snprintf(ret.text, sizeof(ret.text), "%" PRId64 " of %" PRId64, total - open, total);
    return ret;
}

static void add_row(struct rows *rows, const json_t *group, time_ms now) {
    rows_add(rows, (const char *[]){
                       ask_text(group, "name", NULL),
                       done_of(group).text,
                       state_of(group),
                       ask_true(group, "owned") ? "yes" : "no",
                       cell_span(group, "created_at", now).text,
                   });
}

static int list_run(const struct cmd_call *call) {
    struct output_column columns[] = {
        { "NAME" }, { "OVER" }, { "STATE" }, { "OWNED" }, { "CREATED" },
    };
    return name_list_run(call, &(struct name_list){
                                   .path = "/v1/groups",
                                   .none = "no group yet; 'sluice group add NAME' makes one\n",
                                   .columns = columns,
                                   .column_count = ARRAY_SIZE(columns),
                                   .add = add_row,
                               });
}

static int show_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_named(&ask, call, "/v1/groups/", "");
    if (code != CMD_OK || call->json)
        return code == CMD_OK ? ask_print(&ask) : code;
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
    ask_take_options(call, (const char *const[][2]){ { "owned", "owned" }, { NULL } }, body);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_post(&ask, body, "/v1/groups");
    if (code != CMD_OK)
        return code;
    if (call->json)
        return ask_print(&ask);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    strbuf_printf(&out, "%s %s\n", ask_text(ask.answer, "name", "?"),
                  ask_true(ask.answer, "already") ? "is open already" : "added");
    output_rest(&out);
    return CMD_OK;
}

static int close_run(const struct cmd_call *call) {
    static const struct name_verb verb = {
        .before = "/v1/groups/",
        .after = "/close",
        .did = "closed",
        .already = "is closed already",
    };
    return name_verb_run(call, &verb);
}

static const struct cmd_option add_options[] = {
    { "owned", 'o', NULL, "close it by hand only, not when all its tasks are over" },
    { NULL },
};

static const struct cmd group_add = { "group add", .options = add_options, .max_args = 1,
                                      .run = add_run };

static const struct cmd group_close = { "group close", .min_args = 1, .max_args = CMD_ANY_ARGS,
                                        .run = close_run };

static const struct cmd group_list = { "group list", .run = list_run };

static const struct cmd group_show = { "group show", .min_args = 1, .max_args = 1,
                                       .run = show_run };

const struct cmd cmd_group = { "group", .subs = CMD_LIST(&group_add, &group_close, &group_list,
                                                         &group_show) };
