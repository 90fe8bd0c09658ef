/* cmd_schedule.c: commands on schedules. `add` builds the task as `sluice add` does, and the daemon
 * stores it in the configuration. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/cmd.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "cli/submit.h"
#include "os/clock.h"
#include "os/moment.h"

/* --- list and show ---------------------------------------------------------------------------- */

static void put_times(struct strbuf *out, const json_t *s, time_ms now) {
    const char *cron = get_text(s, "cron", NULL), *at = get_text(s, "at", NULL);
    (void)now;
    if (cron)
        strbuf_puts(out, cron);
    else if (at)
        strbuf_printf(out, "at %s", at);
    else
        strbuf_printf(out, "every %s", output_span(get_int(s, "every", 0)).text);
}

static void put_state(struct strbuf *out, const json_t *s, time_ms now) {
    (void)now;
    strbuf_puts(out, get_true(s, "paused")             ? "paused"
                     : get_text(s, "error", NULL)      ? "refused"
                     : get_int(s, "next_due", -1) <= 0 ? "over"
                                                       : "active");
}

static const struct column schedule_columns[] = {
    { "NAME", "name" },
    { "WHEN", .put = put_times },
    { "NEXT", "next_at", CELL_WHEN },
    { "LAST", "last_due", CELL_WHEN },
    { "TASK", "last_task" },
    { "FIRED", "fired", CELL_NUMBER },
    { "SKIPPED", "skipped", CELL_NUMBER },
    { "STATE", .put = put_state },
    { NULL },
};

struct listing {
    struct rows rows;
    time_ms now;
};

static void add_row(void *ctx, const json_t *item) {
    struct listing *l = ctx;
    rows_add_item(&l->rows, item, l->now);
}

static int list_run(const struct cmd_call *call) {
    static const char path[] = "/v1/schedules?limit=1000";
    _cleanup_(request_finish) struct request req = { 0 };
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    if (call->json) {
        json_auto_t *all = json_pack("{s:[], s:n}", "items", "next");
        int r = request_pages(&req, path, SIZE_MAX, request_append, json_object_get(all, "items"));
        return r == CMD_OK ? output_json(json_incref(all)) : r;
    }
    struct listing l = { .rows = rows_new(schedule_columns), .now = clock_read() };
    int code = request_pages(&req, path, SIZE_MAX, add_row, &l);
    if (code == CMD_OK && l.rows.count == 0)
        strbuf_puts(&out, "no schedule yet; 'sluice schedule add NAME' adds one\n");
    if (code == CMD_OK)
        rows_print(&l.rows, &out);
    rows_finish(&l.rows);
    return code;
}

static void show_line(struct strbuf *out, const char *name, const char *value) {
    if (value && *value)
        cmd_put_line(out, "  %-10s %s", name, value);
}

static const char *time_or(const json_t *s, const char *member, const char *otherwise,
                           struct print_text *buffer) {
    time_ms at = get_int(s, member, -1);
    *buffer = at > 0 ? cell_time(at) : print_format("%s", otherwise);
    return buffer->text;
}

static void print_schedule(const struct cmd_call *call, const json_t *s, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf state = STRBUF_INIT, times = STRBUF_INIT;
    struct print_text text;
    put_state(&state, s, 0);
    put_times(&times, s, 0);
    cmd_put_line(out, "%s (%s)", get_text(s, "name", call->args[0]), strbuf_text(&state));
    show_line(out, "when", strbuf_text(&times));
    show_line(out, "timezone", get_text(s, "timezone", "of the system"));
    show_line(out, "task", get_text(s, "task", NULL));
    show_line(out, "file", get_text(s, "file", NULL));
    show_line(out, "formula", get_text(s, "formula", NULL));
    if (get_text(s, "backup", NULL)) {
        show_line(out, "backup", get_text(s, "backup", NULL));
        cmd_put_line(out, "  %-10s %" PRId64, "keep", get_int(s, "keep", 0));
        show_line(out, "last", get_text(s, "last_backup", NULL));
    }
    show_line(out, "overlap", get_text(s, "overlap", NULL));
    show_line(out, "catch_up", get_text(s, "catch_up", NULL));
    show_line(out, "next",
              time_or(s, "next_at", get_true(s, "paused") ? "paused" : "never", &text));
    show_line(out, "last", time_or(s, "last_due", "never", &text));
    show_line(out, "last task", get_text(s, "last_task", NULL));
    show_line(out, "error", get_text(s, "error", NULL));
    cmd_put_line(out, "  %-10s %" PRId64, "fired", get_int(s, "fired", 0));
    cmd_put_line(out, "  %-10s %" PRId64, "skipped", get_int(s, "skipped", 0));
    EACH_ITEM(skip, json_object_get(s, "skips")) {
        int64_t count = get_int(skip, "count", 0);
        struct print_text first = cell_time(get_int(skip, "first", 0));
        struct print_text last = cell_time(get_int(skip, "last", 0));
        cmd_put_line(out, "    %s%s%s: %" PRId64 ", %s", first.text, count > 1 ? " to " : "",
                     count > 1 ? last.text : "", count, get_text(skip, "reason", "?"));
    }
}

static int add_count(const struct cmd_call *call, struct strbuf *path) {
    int64_t count = 10;
    int code = cmd_number(call, "count", 1, 1000, &count);
    strbuf_printf(path, "?count=%" PRId64, count);
    return code;
}

static void print_next(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    EACH_ITEM(at, json_object_get(answer, "due")) {
        cmd_put_line(out, "%s", cell_time(json_integer_value(at)).text);
    }
    if (json_array_size(json_object_get(answer, "due")) == 0)
        cmd_put_line(out, "%s is never due again", call->args[0]);
    if (get_true(answer, "paused"))
        cmd_warn("'%s' is paused: it adds nothing until 'sluice schedule resume'", call->args[0]);
}

/* --- add -------------------------------------------------------------------------------------- */

/* Options and the settings of schedules.NAME that they set. */
static const char *const settings_of_options[][2] = {
    { "cron", "cron" },       { "every", "every" },       { "timezone", "timezone" },
    { "overlap", "overlap" }, { "catch-up", "catch_up" }, { "catch-up-max", "catch_up_max_s" },
    { "jitter", "jitter_s" }, { "keep", "keep" },         { NULL },
};

/* A date is read in the time zone of the schedule, by the daemon; 18:30 and 2h are local. */
static int take_at(const struct cmd_call *call, json_t *body) {
    const char *text = cmd_value(call, "at");
    struct error err = { 0 };
    char utc[40];
    struct tm tm;
    time_ms at;
    if (!text)
        return CMD_OK;
    if (strspn(text, "0123456789") == 4 && text[4] == '-') {
        set_text(body, "at", text);
        return CMD_OK;
    }
    if (moment_parse(text, clock_read(), &at, &err) < 0)
        return cmd_usage_error(call->cmd, "option '--at': %s", err.text);
    time_t seconds = (time_t)((at + 999) / 1000);
    (void)gmtime_r(&seconds, &tm);
    (void)strftime(utc, sizeof(utc), "%Y-%m-%dT%H:%M:%SZ", &tm);
    set_text(body, "at", utc);
    return CMD_OK;
}

static const char *const sources[] = { "file", "formula", "backup" };

/* `option`: --file, --formula or --backup, a path. */
static int take_path(const struct cmd_call *call, const char *option, json_t *body) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct error err = { 0 };
    bool is_file = strcmp(option, "backup") != 0;
    for (const struct cmd_option *o = call->cmd->options; o->name; o++)
        if (o->member && cmd_has(call, o->name))
            return cmd_usage_error(call->cmd, "option '--%s' cannot be used with --%s%s", o->name,
                                   option, is_file ? "; write it into the file instead" : "");
    if (call->arg_count > 1)
        return cmd_usage_error(call->cmd, "unexpected argument '%s' with --%s", call->args[1],
                               option);
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        if (cmd_has(call, sources[i]) && strcmp(sources[i], option) != 0)
            return cmd_usage_error(call->cmd, "--%s and --%s cannot be used together", option,
                                   sources[i]);
    if (cmd_absolute_path(cmd_value(call, option), &path, &err) < 0)
        return cmd_error(&err);
    set_text(body, option, strbuf_text(&path));
    return CMD_OK;
}

/* The words after the name are the command or the prompt. */
static int take_task(const struct cmd_call *call, json_t *body) {
    struct cmd_call rest = *call;
    struct error err = { 0 };
    json_auto_t *task = NULL;
    rest.args++;
    rest.arg_count--;
    if (submit_task(&rest, &task, &err) < 0)
        return cmd_usage_error(call->cmd, "%s", err.text);
    _cleanup_(freep) char *text = json_dumps(task, JSON_COMPACT);
    set_text(body, "task", text);
    return CMD_OK;
}

static int take_source(const struct cmd_call *call, json_t *body) {
    const char *var;
    json_t *vars = json_array();
    for (size_t i = 0; (var = cmd_value_at(call, "var", i)); i++)
        json_array_append_new(vars, json_text(var));
    if (json_array_size(vars) > 0) {
        _cleanup_(freep) char *text = json_dumps(vars, JSON_COMPACT);
        set_text(body, "vars", text);
    }
    json_decref(vars);
    if (cmd_has(call, "var") && !cmd_has(call, "formula"))
        return cmd_usage_error(call->cmd, "--var needs --formula, which has the variables");
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        if (cmd_has(call, sources[i]))
            return take_path(call, sources[i], body);
    return take_task(call, body);
}

static int add_run(const struct cmd_call *call) {
    _cleanup_(request_finish) struct request req = { 0 };
    json_auto_t *body = json_object();
    int code = request_check_name(call, call->args[0]);
    set_text(body, "name", call->args[0]);
    request_take_options(call, settings_of_options, body);
    if (cmd_has(call, "paused"))
        json_object_set_new(body, "paused", json_true());
    if (code == CMD_OK)
        code = take_at(call, body);
    if (code == CMD_OK)
        code = take_source(call, body);
    if (code == CMD_OK)
        code = request_post(&req, json_incref(body), "/v1/schedules");
    if (request_ended(call, &req, &code))
        return code;
    time_ms next = get_int(req.answer, "next_at", -1);
    return next > 0 ? cmd_print_line("%s added; next at %s", call->args[0], cell_time(next).text)
                    : cmd_print_line("%s added, paused", call->args[0]);
}

static const struct cmd_option add_options[] = {
    { "cron", 0, "EXPRESSION",
      "cron expression: minute, hour, day, month, day of the week: '0 2 * * 1-5'" },
    { "every", 0, "SPAN", "the time between two due times: 6h" },
    { "at", 0, "WHEN", "once: 2h, 18:30, '2027-01-31 18:30'" },
    { "timezone", 0, "ZONE", "of --cron and --at: Europe/Berlin" },
    { "overlap", 0, "skip|queue|replace",
      "what to do while its last task is unfinished; default skip" },
    { "catch-up", 0, "last|all|none", "what to do after downtime; default last" },
    { "catch-up-max", 0, "SPAN", "maximum age of a missed due time; never: any" },
    { "jitter", 0, "SPAN", "maximum random delay of each due time" },
    { "paused", 0, NULL, "add it paused" },
    { "file", 'f', "FILE", "add the tasks of this file at each due time" },
    { "formula", 0, "FILE", "add the steps of this formula at each due time" },
    { "var", 0, "NAME=VALUE", "a variable of --formula; repeatable" },
    { "backup", 0, "DIRECTORY", "write a backup to this directory at each due time" },
    { "keep", 0, "N", "number of backups to keep; default 7" },
    { "project", 'p', "NAME", "the project it belongs to", "project" },
    { "agent", 'a', "NAME", "pass the arguments to this agent as a prompt", "agent" },
    { "prompt", 0, "TEXT", "the prompt", "prompt" },
    { "prompt-file", 0, "FILE", "read the prompt from a file now", "prompt" },
    { "cwd", 'C', "FOLDER", "run it in this folder; -: that of its project", "cwd" },
    { "title", 't', "TEXT", "its title in lists", "title" },
    { "kind", 'k', "KIND", "its kind: base priority, caps, when it is finished", "kind" },
    { "priority", 'P', "N", "lower starts first; default 100", "priority" },
    { "check", 'c', "COMMAND", "a command that must succeed after it (sh -c); repeatable",
      "checks" },
    { "timeout", 0, "SPAN", "stop a run after this time: 90s, 30m, 2h", "timeout_s" },
    { "retries", 'r', "N", "number of retries after a failed run", "retries" },
    { "tokens", 0, "N", "maximum number of tokens of all its runs", "tokens" },
    { "usd", 0, "USD", "maximum cost in dollars of all its runs", "usd" },
    { "imports", 0, "PROJECT", "let it import into this project; repeatable", "imports" },
    { NULL },
};

/* --- the other verbs -------------------------------------------------------------------------- */

static void print_paused(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    time_ms next = get_int(answer, "next_at", -1);
    if (get_true(answer, "paused"))
        cmd_put_line(out, "%s paused", call->args[0]);
    else if (next > 0)
        cmd_put_line(out, "%s resumed; next at %s", call->args[0], cell_time(next).text);
    else
        cmd_put_line(out, "%s resumed; it is never due again", call->args[0]);
}

static void print_ran(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    (void)call;
    EACH_ITEM(id, json_object_get(answer, "tasks")) {
        cmd_put_line(out, "%s added", json_string_value(id));
    }
}

static void print_removed(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    (void)answer;
    cmd_put_line(out, "%s removed", call->args[0]);
}

static int set_run(const struct cmd_call *call) {
    int code = request_check_name(call, call->args[0]);
    _cleanup_(request_finish) struct request req = { 0 };
    json_auto_t *body = json_object();
    for (size_t i = 1; i < call->arg_count && code == CMD_OK; i++)
        code = request_add_pair(call, call->args[i], body);
    if (code == CMD_OK)
        code = request_named(&req, call, json_incref(body), "/v1/schedules/", "/set");
    if (request_ended(call, &req, &code))
        return code;
    EACH_MEMBER(key, value, body) {
        (void)cmd_print_line("%s %s=%s", call->args[0], key, json_string_value(value));
    }
    return CMD_OK;
}

#define POST(words, after_, print_)                                                                \
    CMD_SUB(words, REQUEST_COMMAND("/v1/schedules/", after_, .is_post = true, .print = (print_)),  \
            .min_args = 1, .max_args = 1)

const struct cmd cmd_schedule = {
    "schedule",
    .subs = CMD_LIST(
        CMD_SUB("schedule add", add_run, 1, CMD_ANY_ARGS, add_options),
        CMD_SUB("schedule list", list_run),
        CMD_SUB("schedule next",
                REQUEST_COMMAND("/v1/schedules/", "/next", .query = add_count, .print = print_next),
                .min_args = 1, .max_args = 1,
                .options = CMD_OPTIONS({ "count", 'n', "N", "number of due times; default 10" })),
        POST("schedule pause", "/pause", print_paused),
        POST("schedule remove", "/remove", print_removed),
        POST("schedule resume", "/resume", print_paused), POST("schedule run", "/run", print_ran),
        CMD_SUB("schedule set", set_run, 2, CMD_ANY_ARGS),
        CMD_SUB("schedule show", REQUEST_COMMAND("/v1/schedules/", "", .print = print_schedule),
                .min_args = 1, .max_args = 1)),
};
