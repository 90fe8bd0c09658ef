/* cmd_resource.c: commands on agents, groups, hosts, limiters, projects and tokens.
 *
 * Lists and verbs are tables (struct resource_list, struct resource_verb), requests whose answer is
 * printed are struct request_command; their run functions read them from `data`. */
#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/money.h"
#include "base/number.h"
#include "base/time_ms.h"
#include "cli/cmd.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "os/clock.h"

struct resource_list {
    const char *path;  /* "/v1/groups" */
    const char *empty; /* printed if there are no rows; with its newline */
    const struct column *columns;
    void (*note)(const json_t *item, struct strbuf *out); /* lines after the table; or NULL */
};

/* One request per name on the command line, in order. Stops at the first failure; completed
 * requests are printed. With --json: the daemon's answer, or a list of answers. */
struct resource_verb {
    const char *before;        /* POST BEFORE name AFTER */
    const char *after;         /* NULL: the name, if any, is a project in the body */
    const char *did, *already; /* "cleared", "is open already" */
};

struct listing {
    const struct resource_list *list;
    struct rows rows;
    struct strbuf notes;
    time_ms now; /* from the first answer: the command may have waited for a failover */
};

static void add_row(void *ctx, const json_t *item) {
    struct listing *l = ctx;
    if (l->now == 0)
        l->now = clock_read();
    rows_add_item(&l->rows, item, l->now);
    if (l->list->note)
        l->list->note(item, &l->notes);
}

/* Unchanged if there is one page; otherwise the pages merged. */
static int print_json(struct request *req, const char *path) {
    int code = request_get(req, path);
    if (code != CMD_OK || !get_text(req->answer, "next", NULL))
        return code == CMD_OK ? request_print(req) : code;
    json_auto_t *all = json_pack("{s:[], s:n}", "items", "next");
    code = request_pages(req, path, SIZE_MAX, request_append, json_object_get(all, "items"));
    return code == CMD_OK ? output_json(json_incref(all)) : code;
}

static int list_run(const struct cmd_call *call) {
    const struct resource_list *list = call->cmd->data;
    struct listing l = { .list = list, .rows = rows_new(list->columns) };
    _cleanup_(request_finish) struct request req = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    _cleanup_(freep) char *path = xasprintf("%s?limit=1000", list->path);
    if (call->json)
        return print_json(&req, path);
    int code = request_pages(&req, path, SIZE_MAX, add_row, &l);
    if (l.rows.count == 0)
        strbuf_puts(&out, list->empty);
    rows_print(&l.rows, &out);
    strbuf_puts(&out, strbuf_text(&l.notes));
    if (code == CMD_OK)
        output_rest(&out);
    strbuf_finish(&l.notes);
    rows_finish(&l.rows);
    return code;
}

/* Prints "NAME cleared", "the queue is paused already, by ann 2 h ago", or only "paused". */
static void print_done(const struct resource_verb *verb, const char *name, const json_t *answer,
                       struct strbuf *out) {
    bool already = get_true(answer, "already");
    sanitize_line(name ? name : already ? "the queue" : "", out);
    strbuf_printf(out, "%s%s", name || already ? " " : "", already ? verb->already : verb->did);
    if (already)
        print_paused_by(out, answer, clock_read());
    strbuf_putc(out, '\n');
}

/* The current run is recorded as the one that paused. */
static void name_the_run(struct request *req) {
    const char *run = cmd_env("SLUICE_RUN");
    for (const char *c = run; c && *c; c++)
        if (!isgraph((unsigned char)*c))
            run = NULL;
    client_set_run(req->client, run);
}

static int verb_run(const struct cmd_call *call) {
    const struct resource_verb *verb = call->cmd->data;
    _cleanup_(request_finish) struct request req = { 0 };
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    json_auto_t *answers = json_array();
    int code = request_check_names(call, verb->after ? "a name is empty"
                                                     : "the name of a project is empty");
    if (code == CMD_OK)
        code = request_open(&req, REQUEST_START);
    if (code == CMD_OK && !verb->after)
        name_the_run(&req);
    for (size_t i = 0; code == CMD_OK && (i == 0 || i < call->arg_count); i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        const char *name = call->arg_count > 0 ? call->args[i] : NULL;
        json_t *body = json_object();
        request_path(&path, verb->before, verb->after ? name : "", verb->after ? verb->after : "");
        set_text(body, "project", verb->after ? NULL : name);
        code = request_post(&req, body, strbuf_text(&path));
        if (code != CMD_OK)
            break;
        json_array_append(answers, req.answer);
        if (!call->json)
            print_done(verb, name, req.answer, &out);
    }
    if (call->json && json_array_size(answers) > 0)
        output_put_json(call->arg_count > 1 ? answers : json_array_get(answers, 0), &out);
    return code;
}

static const struct resource_verb pause_verb = {
    "/v1/pause", NULL, "paused; running tasks continue, nothing new starts", "is paused already,"
};
static const struct resource_verb resume_verb = { "/v1/resume", NULL, "resumed", "is not paused" };
const struct cmd cmd_pause = { "pause", verb_run, 0, CMD_ANY_ARGS, .data = &pause_verb };
const struct cmd cmd_resume = { "resume", verb_run, 0, CMD_ANY_ARGS, .data = &resume_verb };

static void put_used(struct strbuf *out, const json_t *item, time_ms now) {
    (void)now;
    strbuf_puts(out, get_true(item, "named") ? cell_number(item, "used").text : "");
}

static void put_found(struct strbuf *out, const json_t *item, time_ms now) {
    (void)now;
    strbuf_puts(out, get_text(item, "found", get_text(item, "program", NULL) ? "not found" : ""));
}

static void put_command(struct strbuf *out, const json_t *item, time_ms now) {
    (void)now;
    join_texts(out, " ", json_object_get(item, "command"));
    strbuf_puts(out, out->length > 0 ? "" : get_text(item, "program", ""));
}

static void put_closed_until(struct strbuf *out, const json_t *item, time_ms now) {
    if (get_int(item, "closed_until", 0) > 0 || !print_off_hours(out, item, ", ", now))
        strbuf_puts(out, cell_when(item, "closed_until", now).text);
}

static const struct column agent_columns[] = {
    { "NAME", "name" },
    { "USED", .kind = CELL_NUMBER, .put = put_used },
    { "SLOTS", "slots", CELL_CAP },
    { "ADAPTER", "adapter" },
    { "LIMITER", "limiter" },
    { "FAILOVER", "failover", CELL_WORDS },
    { "CLOSED UNTIL", .put = put_closed_until },
    { "FOUND", .put = put_found },
    { "COMMAND", .put = put_command },
    { NULL },
};

/* An entry with its table, and the entry of a verb. */
#define LIST(words, ...)                                                                           \
    CMD_SUB(words, list_run, .data = &(const struct resource_list){ __VA_ARGS__ })
#define VERB(words, ...)                                                                           \
    CMD_SUB(words, verb_run, 1, CMD_ANY_ARGS, .data = &(const struct resource_verb){ __VA_ARGS__ })

const struct cmd cmd_agent = {
    "agent",
    .subs = CMD_LIST(VERB("agent clear", "/v1/agents/", "/clear", "cleared", "is open already"),
                     LIST("agent list", "/v1/agents", "there is no agent\n", agent_columns)),
};

/* "12 of 20". */
static void put_done(struct strbuf *out, const json_t *group, time_ms now) {
    int64_t total = get_int(group, "total", 0), open = get_int(group, "open", 0);
    (void)now;
    strbuf_printf(out, "%" PRId64 " of %" PRId64, total - open, total);
}

static const struct column group_columns[] = {
    { "NAME", "name" },
    { "OVER", .put = put_done },
    { "STATE", "closed", CELL_BOOL, .yes = "closed", .no = "open" },
    { "OWNED", "owned", CELL_BOOL, .yes = "yes", .no = "no" },
    { "CREATED", "created_at", CELL_WHEN },
    { NULL },
};

static void print_group(const struct cmd_call *call, const json_t *group, struct strbuf *out) {
    static const struct column columns[] = { { "TASK", "id" }, { "STATE", "state" }, { NULL } };
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT, done = STRBUF_INIT;
    _cleanup_(rows_finish) struct rows rows = rows_new(columns);
    int64_t failed = get_int(group, "failed", 0), total = get_int(group, "total", 0);
    put_done(&done, group, 0);
    strbuf_printf(&line, "%s (%s%s): %s over", get_text(group, "name", ""),
                  get_true(group, "closed") ? "closed" : "open",
                  get_true(group, "owned") ? ", owned" : "", strbuf_text(&done));
    if (failed > 0)
        strbuf_printf(&line, ", %" PRId64 " not done", failed);
    cmd_put_line(out, "%s", strbuf_text(&line));
    EACH_ITEM(task, json_object_get(group, "tasks")) {
        rows_add_item(&rows, task, 0);
        total--;
    }
    rows_print(&rows, out);
    if (total > 0)
        strbuf_printf(out, "  ... and %" PRId64 " more; 'sluice list --group %s' lists them\n",
                      total, call->args[0]);
}

static int take_group_name(const struct cmd_call *call, json_t *body) {
    set_text(body, "name", call->arg_count > 0 ? call->args[0] : NULL);
    return request_check_names(call, "a name is empty");
}

static void print_added_group(const struct cmd_call *call, const json_t *answer,
                              struct strbuf *out) {
    (void)call;
    cmd_put_line(out, "%s %s", get_text(answer, "name", "?"),
                 get_true(answer, "already") ? "is open already" : "added");
}

static const struct cmd group_add = {
    "group add",
    REQUEST_COMMAND("/v1/groups", .is_post = true, .body = take_group_name,
                    .print = print_added_group),
    .max_args = 1,
    .options =
        CMD_OPTIONS({ "owned", 'o', NULL,
                      "close it only manually, not when all its tasks are finished", "owned" })
};
const struct cmd cmd_group = {
    "group",
    .subs = CMD_LIST(&group_add,
                     VERB("group close", "/v1/groups/", "/close", "closed", "is closed already"),
                     LIST("group list", "/v1/groups",
                          "no group yet; 'sluice group add NAME' makes one\n", group_columns),
                     CMD_SUB("group show", REQUEST_COMMAND("/v1/groups/", "", .print = print_group),
                             .min_args = 1, .max_args = 1)),
};

static void put_host_state(struct strbuf *out, const json_t *host, time_ms now) {
    (void)now;
    strbuf_puts(out, get_true(host, "active")                ? "active"
                     : get_int(host, "runs", 0) > 0          ? "unreachable"
                     : get_int(host, "forgotten_at", -1) > 0 ? "forgotten"
                                                             : "away");
}

static const struct column host_columns[] = {
    { "HOST", "name" },
    { "STATE", .put = put_host_state },
    { "RUNS", "runs", CELL_NUMBER },
    { "SINCE", "unreachable_since", CELL_WHEN },
    { "FORGOTTEN", "forgotten_at", CELL_WHEN },
    { "BY", "forgotten_by" },
    { NULL },
};

static void print_forgotten(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    int64_t runs = get_int(answer, "runs", 0);
    if (get_true(answer, "already"))
        cmd_put_line(out, "%s is forgotten already", call->args[0]);
    else
        cmd_put_line(out, "%s forgotten: %" PRId64 " run%s lost", call->args[0], runs,
                     runs == 1 ? " is" : "s are");
}

const struct cmd cmd_host = {
    "host", .subs = CMD_LIST(CMD_SUB("host forget",
                                     REQUEST_COMMAND("/v1/hosts/", "/forget", .is_post = true,
                                                     .print = print_forgotten),
                                     .min_args = 1, .max_args = 1),
                             LIST("host list", "/v1/hosts", "", host_columns))
};

/* The agent's message if its login or billing was refused. */
static void put_limiter_note(const json_t *item, struct strbuf *out) {
    const char *message = get_text(item, "said", NULL), *fix = get_text(item, "fix", NULL);
    if (!message && !fix)
        return;
    strbuf_puts(out, "\n");
    if (message)
        cmd_put_line(out, "%s needs a person: %s said: %s", get_text(item, "name", "?"),
                     get_text(item, "agent", "its agent"), message);
    else
        cmd_put_line(out, "%s needs a person", get_text(item, "name", "?"));
    if (fix)
        cmd_put_line(out, "-> %s", fix);
}

static const struct column limiter_columns[] = {
    { "NAME", "name" },
    { "STATE", "state" },
    { "OPENS", "opens_at", CELL_WHEN },
    { "HITS", "hits", CELL_NUMBER },
    { "USED", "used", CELL_NUMBER },
    { "CAP", "cap", CELL_CAP },
    { "SUCCESS", "last_success", CELL_WHEN },
    { "WINDOWS", .put = print_windows },
    { NULL },
};

static void print_limiter(const struct cmd_call *call, const json_t *limiter, struct strbuf *out) {
    _cleanup_(rows_finish) struct rows rows = rows_new(limiter_columns);
    (void)call;
    rows_add_item(&rows, limiter, clock_read());
    rows_print(&rows, out);
    put_limiter_note(limiter, out);
}

const struct cmd cmd_limiter = {
    "limiter",
    .subs = CMD_LIST(
        VERB("limiter clear", "/v1/limiters/", "/clear", "cleared", "is open already"),
        LIST("limiter list", "/v1/limiters",
             "no limiters are configured; see 'sluice config explain agents.A.limiter'\n",
             limiter_columns, put_limiter_note),
        CMD_SUB("limiter show", REQUEST_COMMAND("/v1/limiters/", "", .print = print_limiter),
                .min_args = 1, .max_args = 1)),
};

static void put_project_state(struct strbuf *out, const json_t *project, time_ms now) {
    bool paused = get_true(project, "paused"),
         inactive = json_is_false(json_object_get(project, "active"));
    if (!paused && !inactive && print_off_hours(out, project, ", opens ", now))
        return;
    strbuf_puts(out, member_is(project, "pause_reason", "section_removed")
                         ? "paused, section removed"
                     : paused   ? "paused"
                     : inactive ? "inactive"
                                : "active");
}

static const struct column project_columns[] = {
    { "NAME", "name" },
    { "PREFIX", "prefix" },
    { "WEIGHT", "weight", CELL_NUMBER },
    { "SHARE", "share", CELL_PERCENT },
    { "TARGET", "target", CELL_PERCENT },
    { "TOKENS", "tokens", CELL_NUMBER },
    { "READY", "ready", CELL_NUMBER },
    { "RUNNING", "running", CELL_NUMBER },
    { "STATE", .put = put_project_state },
    { NULL },
};

static void show_line(struct strbuf *out, const char *name, const char *value) {
    cmd_put_line(out, "  %-12s %s", name, *value ? value : "-");
}

static void show_workspaces(const json_t *p, struct strbuf *out) {
    bool is_pool = strcmp(get_text(p, "workspace_mode", "pool"), "pool") == 0;
    if (!is_pool) {
        show_line(out, "workspaces", get_text(p, "workspace_mode", ""));
        show_line(out, "merge", get_text(p, "merge", "none"));
    }
    EACH_ITEM(item, is_pool ? json_object_get(p, "workspaces") : NULL) {
        cmd_put_line(out, "  %-12s %s  %s", "workspace", get_text(item, "path", "?"),
                     get_text(item, "task", "free"));
    }
}

static void show_money(const json_t *p, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf used = STRBUF_INIT;
    int64_t unknown = get_int(p, "unknown_cost_runs", 0);
    double spent = get_real(p, "usd", 0);
    if (!json_is_number(json_object_get(p, "budget_usd")) && spent <= 0)
        return;
    show_line(out, "budget_usd", cell_cap(p, "budget_usd").text);
    money_put(&used, (int64_t)(spent * (double)MONEY_DOLLAR + 0.5));
    if (unknown > 0)
        strbuf_printf(&used, " (and %" PRId64 " run%s of unknown cost)", unknown,
                      unknown == 1 ? "" : "s");
    show_line(out, "usd", strbuf_text(&used));
}

/* "mon-fri 22:00-07:00 Europe/Berlin; closed, opens in 9 h". */
static void show_hours(const json_t *p, struct strbuf *out) {
    const json_t *hours = json_object_get(p, "hours");
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    if (!json_is_object(hours))
        return;
    const char *zone = get_text(hours, "timezone", "");
    strbuf_printf(&line, "%s%s%s; ", get_text(hours, "when", "?"), *zone ? " " : "", zone);
    print_hours_state(&line, hours, clock_read());
    show_line(out, "hours", strbuf_text(&line));
}

static void print_project(const struct cmd_call *call, const json_t *p, struct strbuf *out) {
    (void)call;
    sanitize_line(get_text(p, "name", ""), out);
    strbuf_puts(out, " (");
    put_project_state(out, p, clock_read());
    print_paused_by(out, p, clock_read());
    strbuf_puts(out, ")\n");
    show_line(out, "prefix", get_text(p, "prefix", ""));
    show_line(out, "path", get_text(p, "path", ""));
    show_line(out, "weight", cell_number(p, "weight").text);
    show_line(out, "max_running", cell_cap(p, "max_running").text);
    show_line(out, "budget", cell_cap(p, "budget").text);
    show_line(out, "tokens", cell_number(p, "tokens").text);
    show_money(p, out);
    show_hours(p, out);
    show_line(out, "share", cell_percent(p, "share").text);
    show_line(out, "target", cell_percent(p, "target").text);
    if (get_true(p, "coordination"))
        show_line(out, "coordination", "yes: its tasks are never slung");
    show_line(out, "ready", cell_number(p, "ready").text);
    show_line(out, "running", cell_number(p, "running").text);
    if (get_int(p, "external", 0) > 0)
        show_line(out, "external", cell_number(p, "external").text);
    show_workspaces(p, out);
    EACH_MEMBER(state, count, json_object_get(p, "counts")) {
        if (json_integer_value(count) > 0)
            strbuf_printf(out, "  %-12s %" JSON_INTEGER_FORMAT "\n", state,
                          json_integer_value(count));
    }
}

static int make_path_absolute(json_t *body) {
    const char *path = get_text(body, "path", "");
    _cleanup_(strbuf_finish) struct strbuf absolute = STRBUF_INIT;
    struct error err = { 0 };
    if (!*path)
        return CMD_OK;
    if (cmd_absolute_path(path, &absolute, &err) < 0)
        return cmd_error(&err);
    set_text(body, "path", strbuf_text(&absolute));
    return CMD_OK;
}

static int take_project(const struct cmd_call *call, json_t *body) {
    int code = request_check_name(call, call->args[0]);
    set_text(body, "name", call->args[0]);
    return code == CMD_OK ? make_path_absolute(body) : code;
}

static void print_added_project(const struct cmd_call *call, const json_t *answer,
                                struct strbuf *out) {
    const char *prefix = get_text(answer, "prefix", NULL);
    cmd_put_line(out, "%s added%s%s%s", get_text(answer, "name", call->args[0]),
                 prefix ? "; its tasks are called " : "", prefix ? prefix : "", prefix ? "-N" : "");
}

static int project_set_run(const struct cmd_call *call) {
    int code = request_check_name(call, call->args[0]);
    _cleanup_(request_finish) struct request req = { 0 };
    json_auto_t *body = json_object();
    for (size_t i = 1; i < call->arg_count && code == CMD_OK; i++)
        code = request_add_pair(call, call->args[i], body);
    if (code == CMD_OK)
        code = make_path_absolute(body);
    if (code == CMD_OK)
        code = request_named(&req, call, json_incref(body), "/v1/projects/", "/set");
    if (request_ended(call, &req, &code))
        return code;
    EACH_MEMBER(key, value, body) {
        (void)cmd_print_line("%s %s=%s", call->args[0], key, json_string_value(value));
    }
    return CMD_OK;
}

static void print_deleted_project(const struct cmd_call *call, const json_t *answer,
                                  struct strbuf *out) {
    int64_t canceled = get_int(answer, "canceled", 0);
    if (canceled == 0)
        cmd_put_line(out, "%s deleted", call->args[0]);
    else
        cmd_put_line(out, "%s deleted; %" PRId64 " task%s canceled", call->args[0], canceled,
                     canceled == 1 ? "" : "s");
}

static const struct cmd project_add = {
    "project add",
    REQUEST_COMMAND("/v1/projects", .is_post = true, .body = take_project,
                    .print = print_added_project),
    .min_args = 1, .max_args = 1,
    .options = CMD_OPTIONS(
        { "prefix", 0, "PREFIX", "the prefix of its task ids; default: derived from the name",
          "prefix" },
        { "path", 0, "FOLDER", "the default folder of its tasks; must exist", "path" },
        { "weight", 'w', "N", "its weight compared with other projects; default 1", "weight" },
        { "max-running", 'm', "N", "maximum number of concurrent runs; default unlimited",
          "max_running" },
        { "budget", 'b', "TOKENS", "tokens in the window; default unlimited", "budget" })
};
static const struct cmd project_delete = {
    "project delete",
    REQUEST_COMMAND("/v1/projects/", "/delete", .is_post = true, .print = print_deleted_project),
    .min_args = 1, .max_args = 1,
    .options = CMD_OPTIONS(
        { "cancel", 0, NULL, "cancel its unfinished tasks and stop its runs", "cancel" })
};
const struct cmd cmd_project = {
    "project",
    .subs = CMD_LIST(&project_add, &project_delete,
                     LIST("project list", "/v1/projects",
                          "no project yet; 'sluice project add NAME' makes one\n", project_columns),
                     CMD_SUB("project pause", verb_run, 1, CMD_ANY_ARGS, .data = &pause_verb),
                     CMD_SUB("project resume", verb_run, 1, CMD_ANY_ARGS, .data = &resume_verb),
                     CMD_SUB("project set", project_set_run, 2, CMD_ANY_ARGS),
                     CMD_SUB("project show",
                             REQUEST_COMMAND("/v1/projects/", "", .print = print_project),
                             .min_args = 1, .max_args = 1)),
};

static int take_token(const struct cmd_call *call, json_t *body) {
    const char *text = cmd_value(call, "expires");
    int64_t span = 0;
    set_text(body, "name", call->args[0]);
    if (!text || strcmp(text, "never") == 0)
        return CMD_OK;
    if (number_parse_span(text, &span, NULL) < 0 || span < SECONDS(1))
        return cmd_usage_error(
            call->cmd, "option '--expires': expected a time like 30d, 12h or never, got '%s'",
            text);
    json_object_set_new(body, "expires_s", json_integer(span / SECONDS(1)));
    return CMD_OK;
}

static void print_added_token(const struct cmd_call *call, const json_t *answer,
                              struct strbuf *out) {
    (void)call;
    cmd_put_line(out, "%s", get_text(answer, "token", ""));
    cmd_warn("this token is shown only once; to revoke it: sluice token revoke %s",
             get_text(answer, "id", "ID"));
}

static void put_expiry(struct strbuf *out, const json_t *item, time_ms now) {
    bool never = json_is_null(json_object_get(item, "expires_at"));
    strbuf_puts(out, never ? "never" : cell_when(item, "expires_at", now).text);
}

static const struct column token_columns[] = {
    { "NAME", "name" },
    { "ID", "id" },
    { "SCOPE", "scope" },
    { "KIND", "session", CELL_BOOL, .yes = "page", .no = "token" },
    { "MADE", "created_at", CELL_WHEN },
    { "USED", "used_at", CELL_WHEN },
    { "EXPIRES", .put = put_expiry },
    { NULL },
};

static const struct cmd token_add = {
    "token add",
    REQUEST_COMMAND("/v1/tokens", .is_post = true, .body = take_token, .print = print_added_token),
    .min_args = 1, .max_args = 1,
    .options = CMD_OPTIONS({ "scope", 0, "SCOPE", "read (the default), submit or admin", "scope" },
                           { "expires", 0, "TIME", "lifetime: 30d, 12h; default: never expires" })
};
const struct cmd cmd_token = {
    "token",
    .subs =
        CMD_LIST(&token_add,
                 LIST("token list", "/v1/tokens",
                      "there are no tokens; 'sluice token add' makes one\n", token_columns),
                 VERB("token revoke", "/v1/tokens/", "/revoke", "revoked", "is revoked already")),
};

static const struct column question_columns[] = {
    { "TASK", "task" },
    { "ASKED", "asked_at", CELL_WHEN },
    { "DEADLINE", "deadline", CELL_WHEN },
    { "CHOICES", "choices", CELL_WORDS },
    { "QUESTION", "question" },
    { NULL },
};

static const struct resource_list question_list = { "/v1/questions", "no open questions\n",
                                                    question_columns };
const struct cmd cmd_questions = { "questions", list_run, .data = &question_list };
