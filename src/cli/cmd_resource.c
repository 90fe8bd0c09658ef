/* cmd_resource.c: commands on agents, groups, hosts, limiters, projects and tokens.
 *
 * Lists and verbs are tables; two run functions read them from `data`. */
#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/money.h"
#include "base/number.h"
#include "base/time_ms.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/print_task.h"
#include "os/clock.h"

/* A column of a list: the member `key` of each item, formatted by `kind` or by `put`. */
enum cell_kind { CELL_TEXT, CELL_SPAN, CELL_BOOL, CELL_WORDS, CELL_NUMBER, CELL_PERCENT, CELL_CAP };
struct column {
    const char *title; /* NULL ends a list */
    const char *key;
    enum cell_kind kind;                                 /* right-aligned from CELL_NUMBER on */
    void (*put)(const json_t *item, struct strbuf *out); /* or NULL */
    const char *yes, *no;                                /* of CELL_BOOL */
};

struct resource_list {
    const char *path;  /* "/v1/groups" */
    const char *empty; /* printed if there are no rows; with its newline */
    struct column columns[10];
    void (*note)(const json_t *item, struct strbuf *out); /* lines after the table; or NULL */
};

/* One request per name on the command line, in order. Stops at the first failure; completed
 * requests are printed. With --json: the daemon's answer, or a list of answers. */
struct resource_verb {
    const char *before, *after; /* POST BEFORE name AFTER */
    const char *did, *already;  /* "cleared", "is open already" */
};

struct listing {
    const struct resource_list *list;
    struct rows rows;
    struct strbuf notes;
    time_ms now; /* from the first answer: the command may have waited for a failover */
};

/* Space-separated. */
static void put_words(const json_t *words, struct strbuf *out) {
    ASK_EACH(word, words) {
        const char *text = json_string_value(word);
        strbuf_printf(out, "%s%s", out->length > 0 ? " " : "", text ? text : "?");
    }
}

static void put_cell(const struct column *column, const json_t *item, time_ms now,
                     struct strbuf *out) {
    enum cell_kind kind = column->kind;
    if (column->put)
        column->put(item, out);
    else if (kind == CELL_WORDS)
        put_words(json_object_get(item, column->key), out);
    else if (kind == CELL_BOOL)
        strbuf_puts(out, ask_true(item, column->key) ? column->yes : column->no);
    else
        strbuf_puts(out, kind == CELL_NUMBER    ? cell_number(item, column->key).text
                         : kind == CELL_PERCENT ? cell_percent(item, column->key).text
                         : kind == CELL_CAP     ? cell_cap(item, column->key).text
                         : kind == CELL_SPAN    ? cell_span(item, column->key, now).text
                                                : ask_text(item, column->key, ""));
}

static void add_row(void *ctx, const json_t *item) {
    struct listing *l = ctx;
    struct strbuf texts[ARRAY_SIZE(l->list->columns)] = { 0 };
    const char *cells[ARRAY_SIZE(texts)];
    if (l->now == 0)
        l->now = clock_read();
    for (size_t i = 0; i < l->rows.column_count; i++) {
        put_cell(&l->list->columns[i], item, l->now, &texts[i]);
        cells[i] = strbuf_text(&texts[i]);
    }
    rows_add(&l->rows, cells);
    for (size_t i = 0; i < l->rows.column_count; i++)
        strbuf_finish(&texts[i]);
    if (l->list->note)
        l->list->note(item, &l->notes);
}

/* Unchanged if there is one page; otherwise the pages merged. */
static int print_json(struct ask *ask, const char *path) {
    int code = ask_get(ask, path);
    if (code != CMD_OK)
        return code;
    if (!ask_text(ask->answer, "next", NULL))
        return ask_print(ask);
    json_t *all = json_pack("{s:[], s:n}", "items", "next");
    code = ask_pages(ask, path, SIZE_MAX, ask_append, json_object_get(all, "items"));
    if (code == CMD_OK)
        return ask_print_json(all);
    json_decref(all);
    return code;
}

static int print_table(struct ask *ask, const char *path, const struct resource_list *list) {
    struct output_column columns[ARRAY_SIZE(list->columns)] = { 0 };
    struct listing l = { .list = list, .rows = { columns } };
    for (size_t i = 0; i < ARRAY_SIZE(columns) && list->columns[i].title; i++)
        columns[l.rows.column_count++] =
            (struct output_column){ list->columns[i].title,
                                    .right = list->columns[i].kind >= CELL_NUMBER };
    int code = ask_pages(ask, path, SIZE_MAX, add_row, &l);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (l.rows.count == 0)
        strbuf_puts(&out, list->empty);
    rows_print(&l.rows, &out);
    strbuf_add(&out, strbuf_text(&l.notes), l.notes.length);
    strbuf_finish(&l.notes);
    if (code == CMD_OK)
        output_rest(&out);
    rows_finish(&l.rows);
    return code;
}

static int list_run(const struct cmd_call *call) {
    const struct resource_list *list = call->cmd->data;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s?limit=1000", list->path);
    int code = ask_open(&ask, ASK_RUNNING);
    if (code != CMD_OK)
        return code;
    return call->json ? print_json(&ask, strbuf_text(&path))
                      : print_table(&ask, strbuf_text(&path), list);
}

/* The text, or with --json the answers. */
static void print_answers(const struct cmd_call *call, const json_t *answers, struct strbuf *out) {
    if (call->json) {
        strbuf_clear(out);
        if (json_array_size(answers) > 0)
            ask_dump(call->arg_count > 1 ? answers : json_array_get(answers, 0), out);
    }
    output_rest(out);
}

static int verb_run(const struct cmd_call *call) {
    const struct resource_verb *verb = call->cmd->data;
    for (size_t i = 0; i < call->arg_count; i++)
        if (ask_name(call, call->args[i]) != CMD_OK)
            return CMD_USAGE;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    _cleanup_(client_answer_freep) json_t *answers = json_array();
    int code = CMD_OK;
    for (size_t i = 0; i < call->arg_count && code == CMD_OK; i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        ask_path(&path, verb->before, call->args[i], verb->after);
        code = ask_open_post(&ask, NULL, strbuf_text(&path));
        if (code != CMD_OK)
            break;
        json_array_append(answers, ask.answer);
        cmd_put_line(&out, "%s %s", call->args[i],
                     ask_true(ask.answer, "already") ? verb->already : verb->did);
    }
    print_answers(call, answers, &out);
    return code;
}

static void put_paused(struct strbuf *out, const char *project, bool pause, const json_t *answer) {
    bool already = ask_true(answer, "already");
    if (project)
        strbuf_printf(out, "%s ", project);
    else if (already)
        strbuf_puts(out, "the queue ");
    if (!pause) {
        strbuf_puts(out, already ? "is not paused\n" : "resumed\n");
    } else if (!already) {
        strbuf_puts(out, "paused; what runs goes on, nothing new starts\n");
    } else {
        strbuf_puts(out, "is paused already,");
        print_paused_by(out, answer, clock_read());
        strbuf_putc(out, '\n');
    }
}

/* The current run, recorded as the one that paused; or NULL. */
static const char *run_that_asks(void) {
    const char *run = getenv("SLUICE_RUN");
    for (const char *c = run; c && *c; c++)
        if (!isgraph((unsigned char)*c))
            return NULL;
    return run && *run ? run : NULL;
}

static int pause_run(const struct cmd_call *call) {
    bool pause = strcmp(cmd_name(call->cmd), "pause") == 0;
    for (size_t i = 0; i < call->arg_count; i++)
        if (!*call->args[i])
            return cmd_usage_error(call->cmd, "the name of a project is empty");
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    _cleanup_(client_answer_freep) json_t *answers = json_array();
    int code = ask_open(&ask, ASK_START);
    if (code == CMD_OK)
        client_set_run(ask.client, run_that_asks());
    size_t count = call->arg_count > 0 ? call->arg_count : 1;
    for (size_t i = 0; i < count && code == CMD_OK; i++) {
        const char *project = call->arg_count > 0 ? call->args[i] : NULL;
        json_t *body = json_object();
        if (project)
            json_object_set_new(body, "project", ask_string(project));
        code = ask_post(&ask, body, pause ? "/v1/pause" : "/v1/resume");
        if (code != CMD_OK)
            break;
        json_array_append(answers, ask.answer);
        put_paused(&out, project, pause, ask.answer);
    }
    print_answers(call, answers, &out);
    return code;
}

const struct cmd cmd_pause = { "pause", pause_run, 0, CMD_ANY_ARGS };
const struct cmd cmd_resume = { "resume", pause_run, 0, CMD_ANY_ARGS };

static void put_used(const json_t *item, struct strbuf *out) {
    strbuf_puts(out, ask_true(item, "named") ? cell_number(item, "used").text : "");
}

static void put_found(const json_t *item, struct strbuf *out) {
    strbuf_puts(out, ask_text(item, "found", ask_text(item, "program", NULL) ? "not found" : ""));
}

static void put_command(const json_t *item, struct strbuf *out) {
    put_words(json_object_get(item, "command"), out);
    strbuf_puts(out, out->length > 0 ? "" : ask_text(item, "program", ""));
}

static const struct resource_list agents = {
    "/v1/agents",
    "there is no agent\n",
    { { "NAME", "name" },
      { "USED", .kind = CELL_NUMBER, .put = put_used },
      { "SLOTS", "slots", CELL_CAP },
      { "ADAPTER", "adapter" },
      { "LIMITER", "limiter" },
      { "FAILOVER", "failover", CELL_WORDS },
      { "CLOSED UNTIL", "closed_until", CELL_SPAN },
      { "FOUND", .put = put_found },
      { "COMMAND", .put = put_command } },
};
static const struct resource_verb agent_clear_verb = { "/v1/agents/", "/clear", "cleared",
                                                       "is open already" };

static const struct cmd agent_clear = { "agent clear", verb_run, 1, CMD_ANY_ARGS,
                                        .data = &agent_clear_verb };
static const struct cmd agent_list = { "agent list", list_run, 0, 0, .data = &agents };
const struct cmd cmd_agent = { "agent", .subs = CMD_LIST(&agent_clear, &agent_list) };

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

static const struct resource_list groups = {
    "/v1/groups",
    "no group yet; 'sluice group add NAME' makes one\n",
    { { "NAME", "name" },
      { "OVER", .put = put_done },
      { "STATE", "closed", CELL_BOOL, .yes = "closed", .no = "open" },
      { "OWNED", "owned", CELL_BOOL, .yes = "yes", .no = "no" },
      { "CREATED", "created_at", CELL_SPAN } },
};
static const struct resource_verb group_close_verb = { "/v1/groups/", "/close", "closed",
                                                       "is closed already" };

static int group_show_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_named(&ask, call, "/v1/groups/", "");
    if (ask_ended(call, &ask, &code))
        return code;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    char failed[48] = "";
    if (ask_int(ask.answer, "failed", 0) > 0)
        (void)snprintf(failed, sizeof(failed), ", %" PRId64 " not done",
                       ask_int(ask.answer, "failed", 0));
    cmd_put_line(&out, "%s (%s%s): %s over%s", ask_text(ask.answer, "name", ""),
                 ask_true(ask.answer, "closed") ? "closed" : "open",
                 ask_true(ask.answer, "owned") ? ", owned" : "", done_of(ask.answer).text, failed);
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

static int group_add_run(const struct cmd_call *call) {
    if (call->arg_count > 0 && ask_name(call, call->args[0]) != CMD_OK)
        return CMD_USAGE;
    json_t *body = json_object();
    if (call->arg_count > 0)
        json_object_set_new(body, "name", ask_string(call->args[0]));
    ask_take_members(call, body);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_post(&ask, body, "/v1/groups");
    if (ask_ended(call, &ask, &code))
        return code;
    return cmd_print_line("%s %s", ask_text(ask.answer, "name", "?"),
                          ask_true(ask.answer, "already") ? "is open already" : "added");
}

static const struct cmd_option group_add_options[] = {
    { "owned", 'o', NULL, "close it by hand only, not when all its tasks are over", "owned" },
    { NULL },
};

static const struct cmd group_add = { "group add", group_add_run, 0, 1, group_add_options };
static const struct cmd group_close = { "group close", verb_run, 1, CMD_ANY_ARGS,
                                        .data = &group_close_verb };
static const struct cmd group_list = { "group list", list_run, 0, 0, .data = &groups };
static const struct cmd group_show = { "group show", group_show_run, 1, 1 };
const struct cmd cmd_group = { "group", .subs = CMD_LIST(&group_add, &group_close, &group_list,
                                                         &group_show) };

static void put_host_state(const json_t *host, struct strbuf *out) {
    strbuf_puts(out, ask_true(host, "active")                ? "active"
                     : ask_int(host, "runs", 0) > 0          ? "unreachable"
                     : ask_int(host, "forgotten_at", -1) > 0 ? "forgotten"
                                                             : "away");
}

static const struct resource_list hosts = {
    "/v1/hosts",
    "",
    { { "HOST", "name" },
      { "STATE", .put = put_host_state },
      { "RUNS", "runs", CELL_NUMBER },
      { "SINCE", "unreachable_since", CELL_SPAN },
      { "FORGOTTEN", "forgotten_at", CELL_SPAN },
      { "BY", "forgotten_by" } },
};

static int host_forget_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_change(&ask, call, NULL, "/v1/hosts/", "/forget");
    if (ask_ended(call, &ask, &code))
        return code;
    int64_t runs = ask_int(ask.answer, "runs", 0);
    if (ask_true(ask.answer, "already"))
        return cmd_print_line("%s is forgotten already", call->args[0]);
    return cmd_print_line("%s forgotten: %lld run%s lost", call->args[0], (long long)runs,
                          runs == 1 ? " is" : "s are");
}

static const struct cmd host_forget = { "host forget", host_forget_run, 1, 1 };
static const struct cmd host_list = { "host list", list_run, 0, 0, .data = &hosts };
const struct cmd cmd_host = { "host", .subs = CMD_LIST(&host_forget, &host_list) };

/* The agent's message if its login or billing was refused. */
static void put_limiter_note(const json_t *item, struct strbuf *out) {
    const char *message = ask_text(item, "said", NULL), *fix = ask_text(item, "fix", NULL);
    if (!message && !fix)
        return;
    strbuf_puts(out, "\n");
    if (message)
        cmd_put_line(out, "%s needs a person: %s said: %s", ask_text(item, "name", "?"),
                     ask_text(item, "agent", "its agent"), message);
    else
        cmd_put_line(out, "%s needs a person", ask_text(item, "name", "?"));
    if (fix)
        cmd_put_line(out, "-> %s", fix);
}

static const struct resource_list limiters = {
    "/v1/limiters",
    "no limiter is configured; 'sluice config explain agents.A.limiter' tells how\n",
    { { "NAME", "name" },
      { "STATE", "state" },
      { "OPENS", "opens_at", CELL_SPAN },
      { "HITS", "hits", CELL_NUMBER },
      { "USED", "used", CELL_NUMBER },
      { "CAP", "cap", CELL_CAP },
      { "SUCCESS", "last_success", CELL_SPAN } },
    .note = put_limiter_note,
};
static const struct resource_verb limiter_clear_verb = { "/v1/limiters/", "/clear", "cleared",
                                                         "is open already" };

static const struct cmd limiter_clear = { "limiter clear", verb_run, 1, CMD_ANY_ARGS,
                                          .data = &limiter_clear_verb };
static const struct cmd limiter_list = { "limiter list", list_run, 0, 0, .data = &limiters };
const struct cmd cmd_limiter = { "limiter", .subs = CMD_LIST(&limiter_clear, &limiter_list) };

static const char *project_state(const json_t *project) {
    if (ask_is(project, "pause_reason", "section_removed"))
        return "paused, section removed";
    if (ask_true(project, "paused"))
        return "paused";
    return json_is_false(json_object_get(project, "active")) ? "inactive" : "active";
}

static void put_project_state(const json_t *project, struct strbuf *out) {
    strbuf_puts(out, project_state(project));
}

static const struct resource_list projects = {
    "/v1/projects",
    "no project yet; 'sluice project add NAME' makes one\n",
    { { "NAME", "name" },
      { "PREFIX", "prefix" },
      { "WEIGHT", "weight", CELL_NUMBER },
      { "SHARE", "share", CELL_PERCENT },
      { "TARGET", "target", CELL_PERCENT },
      { "TOKENS", "tokens", CELL_NUMBER },
      { "READY", "ready", CELL_NUMBER },
      { "RUNNING", "running", CELL_NUMBER },
      { "STATE", .put = put_project_state } },
};

static void show_line(struct strbuf *out, const char *name, const char *value) {
    cmd_put_line(out, "  %-12s %s", name, *value ? value : "-");
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
    strbuf_printf(out, " (%s", project_state(p));
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

static int project_show_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_named(&ask, call, "/v1/projects/", "");
    if (ask_ended(call, &ask, &code))
        return code;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    show_project(ask.answer, &out);
    output_rest(&out);
    return CMD_OK;
}

static int make_path_absolute(json_t *body) {
    const char *path = ask_text(body, "path", "");
    if (!*path)
        return CMD_OK;
    _cleanup_(strbuf_finish) struct strbuf absolute = STRBUF_INIT;
    struct error err = { 0 };
    if (cmd_absolute_path(path, &absolute, &err) < 0)
        return cmd_error(&err);
    json_object_set_new(body, "path", ask_string(strbuf_text(&absolute)));
    return CMD_OK;
}

static int project_add_run(const struct cmd_call *call) {
    int code = ask_name(call, call->args[0]);
    if (code != CMD_OK)
        return code;
    _cleanup_(client_answer_freep) json_t *body =
        json_pack("{s:o}", "name", ask_string(call->args[0]));
    ask_take_members(call, body);
    code = make_path_absolute(body);
    if (code != CMD_OK)
        return code;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    code = ask_open_post(&ask, json_incref(body), "/v1/projects");
    if (ask_ended(call, &ask, &code))
        return code;
    const char *prefix = ask_text(ask.answer, "prefix", NULL);
    return cmd_print_line("%s added%s%s%s", ask_text(ask.answer, "name", call->args[0]),
                          prefix ? "; its tasks are called " : "", prefix ? prefix : "",
                          prefix ? "-N" : "");
}

static int project_set_run(const struct cmd_call *call) {
    int code = ask_name(call, call->args[0]);
    _cleanup_(client_answer_freep) json_t *body = json_object();
    for (size_t i = 1; i < call->arg_count && code == CMD_OK; i++)
        code = ask_add_pair(call, call->args[i], body);
    if (code == CMD_OK)
        code = make_path_absolute(body);
    if (code != CMD_OK)
        return code;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    code = ask_open_change(&ask, call, json_incref(body), "/v1/projects/", "/set");
    if (ask_ended(call, &ask, &code))
        return code;
    const char *key;
    json_t *value;
    json_object_foreach(body, key, value) {
        (void)cmd_print_line("%s %s=%s", call->args[0], key, json_string_value(value));
    }
    return CMD_OK;
}

static int project_delete_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    json_t *body = json_pack("{s:b}", "cancel", cmd_has(call, "cancel"));
    int code = ask_open_change(&ask, call, body, "/v1/projects/", "/delete");
    if (ask_ended(call, &ask, &code))
        return code;
    int64_t canceled = ask_int(ask.answer, "canceled", 0);
    if (canceled == 0)
        return cmd_print_line("%s deleted", call->args[0]);
    return cmd_print_line("%s deleted; %" PRId64 " task%s canceled", call->args[0], canceled,
                          canceled == 1 ? "" : "s");
}

static const struct cmd_option project_delete_options[] = {
    { "cancel", 0, NULL, "cancel its unfinished tasks, and stop what runs" },
    { NULL },
};

static const struct cmd_option project_add_options[] = {
    { "prefix", 0, "PREFIX", "what its ids begin with; made from the name", "prefix" },
    { "path", 0, "FOLDER", "where its tasks run unless they say otherwise; must be there", "path" },
    { "weight", 'w', "N", "its share compared with the others'; 1", "weight" },
    { "max-running", 'm', "N", "most runs at once; unlimited", "max_running" },
    { "budget", 'b', "TOKENS", "tokens in the window; unlimited", "budget" },
    { NULL },
};

static const struct cmd project_add = { "project add", project_add_run, 1, 1, project_add_options };
static const struct cmd project_delete = { "project delete", project_delete_run, 1, 1,
                                           project_delete_options };
static const struct cmd project_list = { "project list", list_run, 0, 0, .data = &projects };
static const struct cmd project_pause = { "project pause", pause_run, 1, CMD_ANY_ARGS };
static const struct cmd project_resume = { "project resume", pause_run, 1, CMD_ANY_ARGS };
static const struct cmd project_set = { "project set", project_set_run, 2, CMD_ANY_ARGS };
static const struct cmd project_show = { "project show", project_show_run, 1, 1 };
const struct cmd cmd_project = {
    "project", .subs = CMD_LIST(&project_add, &project_delete, &project_list, &project_pause,
                                &project_resume, &project_set, &project_show)
};

static int take_expiry(const struct cmd_call *call, json_t *body) {
    const char *text = cmd_value(call, "expires");
    struct error err = { 0 };
    int64_t span = 0;
    if (!text || strcmp(text, "never") == 0)
        return CMD_OK;
    if (number_parse_span(text, &span, &err) < 0 || span < SECONDS(1))
        return cmd_usage_error(call->cmd, "--expires wants a time like 30d, 12h or never, not '%s'",
                               text);
    json_object_set_new(body, "expires_s", json_integer(span / SECONDS(1)));
    return CMD_OK;
}

static int token_add_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(client_answer_freep) json_t *body =
        json_pack("{s:o}", "name", ask_string(call->args[0]));
    ask_take_members(call, body);
    int code = take_expiry(call, body);
    if (code != CMD_OK)
        return code;
    code = ask_open_post(&ask, json_incref(body), "/v1/tokens");
    if (ask_ended(call, &ask, &code))
        return code;
    (void)cmd_print_line("%s", ask_text(ask.answer, "token", ""));
    cmd_warn("this token is shown once; 'sluice token revoke %s' ends it",
             ask_text(ask.answer, "id", "ID"));
    return CMD_OK;
}

static void put_expiry(const json_t *item, struct strbuf *out) {
    bool never = json_is_null(json_object_get(item, "expires_at"));
    strbuf_puts(out, never ? "never" : cell_span(item, "expires_at", clock_read()).text);
}

static const struct resource_list tokens = {
    "/v1/tokens",
    "there are no tokens; 'sluice token add' makes one\n",
    { { "NAME", "name" },
      { "ID", "id" },
      { "SCOPE", "scope" },
      { "KIND", "session", CELL_BOOL, .yes = "page", .no = "token" },
      { "MADE", "created_at", CELL_SPAN },
      { "USED", "used_at", CELL_SPAN },
      { "EXPIRES", .put = put_expiry } },
};
static const struct resource_verb token_revoke_verb = { "/v1/tokens/", "/revoke", "revoked",
                                                        "is revoked already" };

static const struct cmd_option token_add_options[] = {
    { "scope", 0, "SCOPE", "read (the default), submit or admin", "scope" },
    { "expires", 0, "TIME", "how long it is good for: 30d, 12h; never when not given" },
    { NULL },
};

static const struct cmd token_add = { "token add", token_add_run, 1, 1, token_add_options };
static const struct cmd token_list = { "token list", list_run, 0, 0, .data = &tokens };
static const struct cmd token_revoke = { "token revoke", verb_run, 1, CMD_ANY_ARGS,
                                         .data = &token_revoke_verb };
const struct cmd cmd_token = { "token", .subs = CMD_LIST(&token_add, &token_list, &token_revoke) };
