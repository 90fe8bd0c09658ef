/* cmd_project.c: where tasks belong: list, show, add, set, pause, resume, delete.
 *
 * The settings of a project are checked by the daemon against the settings table; here only
 * KEY=VALUE is taken apart. */
#include "base/money.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/full_path.h"
#include "cli/names.h"
#include "cli/print_task.h"
#include "os/clock.h"

static const char *state_of(const json_t *project) {
    if (ask_is(project, "pause_reason", "section_removed"))
        return "paused, section removed";
    if (ask_true(project, "paused"))
        return "paused";
    return json_is_false(json_object_get(project, "active")) ? "inactive" : "active";
}

static void put_state(const json_t *project, struct strbuf *out) {
    strbuf_puts(out, state_of(project));
}

static const struct name_list list = {
    "/v1/projects",
    "no project yet; 'sluice project add NAME' makes one\n",
    { { "NAME", "name" },
      { "PREFIX", "prefix" },
      { "WEIGHT", "weight", NAME_NUMBER },
      { "SHARE", "share", NAME_PERCENT },
      { "TARGET", "target", NAME_PERCENT },
      { "TOKENS", "tokens", NAME_NUMBER },
      { "READY", "ready", NAME_NUMBER },
      { "RUNNING", "running", NAME_NUMBER },
      { "STATE", .put = put_state } },
};

static void show_line(struct strbuf *out, const char *name, const char *value) {
    strbuf_printf(out, "  %-12s ", name);
    sanitize_line(*value ? value : "-", out);
    strbuf_putc(out, '\n');
}

static void show_workspaces(const json_t *p, struct strbuf *out) {
    const json_t *paths = json_object_get(p, "workspaces");
    bool is_pool = strcmp(ask_text(p, "workspace_mode", "pool"), "pool") == 0;
    if (!is_pool) {
        show_line(out, "workspaces", ask_text(p, "workspace_mode", ""));
        show_line(out, "merge", ask_text(p, "merge", "none"));
    }
    ASK_EACH(item, paths) {
        const char *task = ask_text(item, "task", NULL);
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        strbuf_printf(&text, "%s  %s", ask_text(item, "path", "?"), task ? task : "free");
        if (is_pool)
            show_line(out, "workspace", strbuf_text(&text));
    }
}

static void show_money(const json_t *p, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf used = STRBUF_INIT;
    int64_t unknown = ask_int(p, "unknown_cost_runs", 0);
    double spent = ask_real(p, "usd", 0);
    bool limited = json_is_number(json_object_get(p, "budget_usd"));
    if (!limited && spent <= 0)
        return;
    show_line(out, "budget_usd", cell_cap(p, "budget_usd").text);
    money_put(&used, (int64_t)(spent * (double)MONEY_DOLLAR + 0.5));
    if (unknown > 0)
        strbuf_printf(&used, " (and %lld run%s of unknown cost)", (long long)unknown,
                      unknown == 1 ? "" : "s");
    show_line(out, "usd", strbuf_text(&used));
}

static void show_project(const json_t *p, struct strbuf *out) {
    sanitize_line(ask_text(p, "name", ""), out);
    strbuf_printf(out, " (%s", state_of(p));
    print_paused_by(out, p, clock_read());
    strbuf_puts(out, ")\n");
    show_line(out, "prefix", ask_text(p, "prefix", ""));
    show_line(out, "path", ask_text(p, "path", ""));
    show_line(out, "weight", cell_number(p, "weight").text);
    show_line(out, "max_running", cell_cap(p, "max_running").text);
    show_line(out, "budget", cell_cap(p, "budget").text);
    show_line(out, "tokens", cell_number(p, "tokens").text);
    show_money(p, out);
    show_line(out, "share", cell_percent(p, "share").text);
    show_line(out, "target", cell_percent(p, "target").text);
    if (ask_true(p, "coordination"))
        show_line(out, "coordination", "yes: its tasks are never slung");
    show_line(out, "ready", cell_number(p, "ready").text);
    show_line(out, "running", cell_number(p, "running").text);
    if (ask_int(p, "external", 0) > 0)
        show_line(out, "external", cell_number(p, "external").text);
    show_workspaces(p, out);
    const char *state;
    json_t *count;
    json_object_foreach(json_object_get(p, "counts"), state, count) {
        if (json_integer_value(count) > 0)
            strbuf_printf(out, "  %-12s %" JSON_INTEGER_FORMAT "\n", state,
                          json_integer_value(count));
    }
}

static int show_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_named(&ask, call, "/v1/projects/", "");
    if (ask_ended(call, &ask, &code))
        return code;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    show_project(ask.answer, &out);
    output_rest(&out);
    return CMD_OK;
}

/* --- changing -------------------------------------------------------------------------------- */

/* The daemon lives in another folder: a path is sent whole. */
static int fix_path(json_t *body) {
    const char *path = ask_text(body, "path", "");
    if (!*path)
        return CMD_OK;
    _cleanup_(strbuf_finish) struct strbuf whole = STRBUF_INIT;
    struct error err = { 0 };
    if (full_path(path, &whole, &err) < 0)
        return cmd_error(&err);
    json_object_set_new(body, "path", ask_string(strbuf_text(&whole)));
    return CMD_OK;
}

static int add_run(const struct cmd_call *call) {
    int code = ask_name(call, call->args[0]);
    if (code != CMD_OK)
        return code;
    json_t *body = json_pack("{s:o}", "name", ask_string(call->args[0]));
    ask_take_members(call, body);
    code = fix_path(body);
    if (code != CMD_OK) {
        json_decref(body);
        return code;
    }
    _cleanup_(ask_finish) struct ask ask = { 0 };
    code = ask_open_post(&ask, body, "/v1/projects");
    if (ask_ended(call, &ask, &code))
        return code;
    const char *prefix = ask_text(ask.answer, "prefix", NULL);
    return cmd_say("%s added%s%s%s", ask_text(ask.answer, "name", call->args[0]),
                   prefix ? "; its tasks are called " : "", prefix ? prefix : "",
                   prefix ? "-N" : "");
}

static int set_run(const struct cmd_call *call) {
    int code = ask_name(call, call->args[0]);
    if (code != CMD_OK)
        return code;
    json_t *body = json_object();
    for (size_t i = 1; i < call->arg_count && code == CMD_OK; i++)
        code = ask_add_pair(call, call->args[i], body);
    if (code == CMD_OK)
        code = fix_path(body);
    if (code != CMD_OK) {
        json_decref(body);
        return code;
    }
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    const char *key;
    json_t *value;
    json_object_foreach(body, key, value) {
        strbuf_printf(&out, "%s %s=%s\n", call->args[0], key, json_string_value(value));
    }
    _cleanup_(ask_finish) struct ask ask = { 0 };
    code = ask_open_change(&ask, call, body, "/v1/projects/", "/set");
    if (ask_ended(call, &ask, &code))
        return code;
    output_rest(&out);
    return CMD_OK;
}

static int delete_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    json_t *body = json_pack("{s:b}", "cancel", cmd_has(call, "cancel"));
    int code = ask_open_change(&ask, call, body, "/v1/projects/", "/delete");
    if (ask_ended(call, &ask, &code))
        return code;
    int64_t canceled = ask_int(ask.answer, "canceled", 0);
    if (canceled == 0)
        return cmd_say("%s deleted", call->args[0]);
    return cmd_say("%s deleted; %" PRId64 " task%s canceled", call->args[0], canceled,
                   canceled == 1 ? "" : "s");
}

static const struct cmd_option delete_options[] = {
    { "cancel", 0, NULL, "cancel its unfinished tasks, and stop what runs" },
    { NULL },
};

static const struct cmd_option add_options[] = {
    { "prefix", 0, "PREFIX", "what its ids begin with; made from the name", "prefix" },
    { "path", 0, "FOLDER", "where its tasks run unless they say otherwise; must be there", "path" },
    { "weight", 'w', "N", "its share compared with the others'; 1", "weight" },
    { "max-running", 'm', "N", "most runs at once; unlimited", "max_running" },
    { "budget", 'b', "TOKENS", "tokens in the window; unlimited", "budget" },
    { NULL },
};

static const struct cmd project_add = { "project add", .options = add_options, .min_args = 1,
                                        .max_args = 1, .run = add_run };
static const struct cmd project_delete = { "project delete", .options = delete_options,
                                           .min_args = 1, .max_args = 1, .run = delete_run };
static const struct cmd project_list = { "project list", .run = name_list_run, .data = &list };
static const struct cmd project_pause = { "project pause", .min_args = 1, .max_args = CMD_ANY_ARGS,
                                          .run = pause_run };
static const struct cmd project_resume = { "project resume", .min_args = 1,
                                           .max_args = CMD_ANY_ARGS, .run = pause_run };
static const struct cmd project_set = { "project set", .min_args = 2, .max_args = CMD_ANY_ARGS,
                                        .run = set_run };
static const struct cmd project_show = { "project show", .min_args = 1, .max_args = 1,
                                         .run = show_run };
const struct cmd cmd_project = {
    "project", .subs = CMD_LIST(&project_add, &project_delete, &project_list, &project_pause,
                                &project_resume, &project_set, &project_show)
};
