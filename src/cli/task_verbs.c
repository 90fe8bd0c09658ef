/* task_verbs.c: commands that change tasks: they take ids and print one line per task.
 *
 * A plain verb is a row of the table at VERB. The daemon applies a request to all tasks or none.
 * With --all, tasks are listed and then sent in batches. Some may have changed in between, and the
 * daemon refuses their batch; so a refused batch is split until that task is alone and is skipped.
 *
 * Printed:   web-3 canceled        web-4 is canceled already
 *
 *            web-5 retried: ready  (a state that the verb does not imply) */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/time_ms.h"
#include "cli/formula_find.h"
#include "cli/request.h"
#include "cli/submit.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/moment.h"

struct task_verb {
    const char *op;      /* last part of the path: POST /v1/tasks/OP */
    const char *did;     /* printed after the id: "canceled" */
    const char *pending; /* while the task still runs; or NULL */
    const char *already; /* instead of "is STATE already"; or NULL */
    /* For --all: the default states, and those that --state may name; NULL: no --all. */
    const char *all, *may;
    time_ms timeout; /* for the answer; 0: default */
};

#define MERGE_TIMEOUT HOURS(24) /* for an answer that waits for a merge and its checks */

#define BATCH        500     /* tasks in one request */
#define LIST_MOST    2000000 /* more than a queue can hold */
#define PRIORITY_MAX 1000000 /* the daemon's limit */
#define MESSAGE_MAX  (1u << 20)

struct work {
    const struct task_verb *verb;
    struct request req;
    json_t *extra; /* members of every request besides "tasks" */
    json_t *ids;
    json_t *done;  /* items of the answers */
    bool deferred; /* the queue was full for some */
};

static void work_finish(struct work *w) {
    request_finish(&w->req);
    json_decref(w->extra);
    json_decref(w->ids);
    json_decref(w->done);
}

/* Tasks `from` to before `to`. 0, or the errno of the refusal. */
static int send_batch(struct work *w, size_t from, size_t to) {
    json_t *tasks = json_array(), *body = json_copy(w->extra);
    for (size_t i = from; i < to; i++)
        json_array_append(tasks, json_array_get(w->ids, i));
    json_object_set_new(body, "tasks", tasks);
    char path[64];
    (void)snprintf(path, sizeof(path), "/v1/tasks/%s", w->verb->op);
    int r = request_try_post(&w->req, body, path);
    if (r == 0)
        json_array_extend(w->done, json_object_get(w->req.answer, "tasks"));
    if (r == 0 && get_text(w->req.answer, "warning", NULL))
        cmd_warn("%s", get_text(w->req.answer, "warning", ""));
    w->deferred = w->deferred || (r == 0 && get_int(w->req.answer, "deferred", 0) > 0);
    return r;
}

static int send_all(struct work *w, size_t from, size_t to) {
    int r = send_batch(w, from, to);
    if (r != EBUSY && r != ENOENT)
        return r;
    if (to - from == 1) {
        cmd_warn("%s (left out)", w->req.err.text);
        return 0;
    }
    size_t middle = from + (to - from) / 2;
    r = send_all(w, from, middle);
    return r ? r : send_all(w, middle, to);
}

/* Is each word of the comma-separated list `states` in the list verb->may? */
static int check_states(const struct cmd_call *call, const struct task_verb *verb,
                        const char *states) {
    for (;; states++) {
        size_t length = strcspn(states, ","), n;
        const char *may = verb->may;
        while ((n = strcspn(may, ",")) != length || strncmp(may, states, n) != 0) {
            if (!may[n])
                return cmd_usage_error(call->cmd,
                                       "option '--state': expected some of %s, got '%.*s'",
                                       verb->may, (int)length, states);
            may += n + 1;
        }
        states += length;
        if (!*states)
            return CMD_OK;
    }
}

/* By number, which is never the external id of another task. */
static void collect(void *ctx, const json_t *item) {
    struct work *w = ctx;
    const char *id = get_text(item, "id", NULL), *dash = id ? strrchr(id, '-') : NULL;
    char number[32];
    if (!id)
        return;
    (void)snprintf(number, sizeof(number), "#%.30s", dash ? dash + 1 : id);
    json_array_append_new(w->ids, json_text(number));
}

static int do_all(const struct cmd_call *call, struct work *w) {
    const char *states = cmd_value(call, "state");
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_puts(&path, "/v1/tasks?order=old&limit=1000");
    client_query(&path, "state", states ? states : w->verb->all);
    client_query(&path, "project", cmd_value(call, "project"));
    client_query(&path, "group", cmd_value(call, "group"));
    int code = states ? check_states(call, w->verb, states) : CMD_OK;
    if (code == CMD_OK)
        code = request_open(&w->req, REQUEST_START);
    if (code == CMD_OK)
        code = request_pages(&w->req, strbuf_text(&path), LIST_MOST, collect, w);
    size_t count = json_array_size(w->ids);
    for (size_t from = 0; code == CMD_OK && from < count; from += BATCH)
        if (send_all(w, from, count - from < BATCH ? count : from + BATCH) != 0)
            code = request_failed(&w->req);
    return code;
}

static int do_named(const struct cmd_call *call, struct work *w) {
    json_auto_t *ids = request_args(call, 0, call->arg_count);
    json_array_extend(w->ids, ids);
    int code = request_open(&w->req, REQUEST_START);
    if (code != CMD_OK)
        return code;
    if (w->verb->timeout > 0)
        client_set_timeout(w->req.client, w->verb->timeout);
    return send_batch(w, 0, call->arg_count) == 0 ? CMD_OK : request_failed(&w->req);
}

static void print_changed(const struct task_verb *verb, const json_t *item, struct strbuf *out) {
    const char *id = get_text(item, "id", "?"), *state = get_text(item, "state", "");
    const char *note = get_text(item, "note", NULL);
    if (member_is(item, "result", "deferred"))
        strbuf_printf(out, "%s deferred\n", id);
    else if (member_is(item, "result", "no_effect"))
        strbuf_printf(out, "%s keeps its place\n", id);
    else if (get_true(item, "already") && verb->already)
        strbuf_printf(out, "%s %s\n", id, verb->already);
    else if (get_true(item, "already"))
        strbuf_printf(out, "%s is %s already\n", id, state);
    else if (verb->pending && word_in(state, "starting running"))
        strbuf_printf(out, "%s %s%s%s\n", id, verb->pending, note ? ": " : "", note ? note : "");
    else if (*state && strcmp(state, verb->did) != 0)
        strbuf_printf(out, "%s %s: %s\n", id, verb->did, state);
    else
        strbuf_printf(out, "%s %s\n", id, verb->did);
}

static void print_done(const struct cmd_call *call, const struct work *w) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    if (call->json && call->arg_count > 0)
        (void)request_print(&w->req); /* one request: its answer unchanged */
    else if (call->json)
        (void)output_json(json_pack("{s:O}", "tasks", w->done));
    else if (json_array_size(w->done) == 0)
        strbuf_printf(&out, "nothing to %s\n", cmd_name(call->cmd));
    EACH_ITEM(item, call->json ? NULL : w->done) {
        print_changed(w->verb, item, &out);
        output_some(&out);
    }
}

/* Requires either IDs or --all. */
static int check_ids(const struct cmd_call *call, bool has_all) {
    bool all = has_all && cmd_has(call, "all");
    if (all && call->arg_count > 0)
        return cmd_usage_error(call->cmd, "'--all' and '%s' cannot be used together",
                               call->args[0]);
    if (has_all && !all && call->arg_count == 0)
        return cmd_usage_error(call->cmd, "'%s' needs the IDs of tasks, or --all",
                               cmd_name(call->cmd));
    return request_check_names(call, "an ID is empty");
}

/* Filters require --all. */
static int check_call(const struct cmd_call *call, const struct task_verb *verb) {
    static const char *const filters[] = { "project", "group", "state" };
    bool named = verb->all && !cmd_has(call, "all");
    int code = check_ids(call, verb->all);
    for (size_t i = 0; code == CMD_OK && named && i < ARRAY_SIZE(filters); i++)
        if (cmd_has(call, filters[i]))
            return cmd_usage_error(call->cmd, "option '--%s' needs --all", filters[i]);
    return code;
}

/* `body`: members of the request besides "tasks", or NULL; taken. */
static int task_verb_run(const struct cmd_call *call, const struct task_verb *verb, json_t *body) {
    _cleanup_(work_finish) struct work w = {
        .verb = verb,
        .extra = body ? body : json_object(),
        .ids = json_array(),
        .done = json_array(),
    };
    int code = check_call(call, verb);
    if (code == CMD_OK)
        code = call->arg_count > 0 ? do_named(call, &w) : do_all(call, &w);
    /* Changes before a failure are printed, too: they stay. */
    if (code == CMD_OK || json_array_size(w.done) > 0)
        print_done(call, &w);
    return code == CMD_OK && w.deferred ? CMD_REFUSED : code;
}

/* Verbs whose options are members of the request. */
static int plain_run(const struct cmd_call *call) {
    const char *reason = cmd_value(call, "reason");
    if (reason && !*reason)
        return cmd_usage_error(call->cmd, "option '--reason' is empty");
    json_t *body = json_object();
    request_take_members(call, body);
    return task_verb_run(call, call->cmd->data, body);
}

/* --priority N, or the front or back of the queue. */
static int priority_run(const struct cmd_call *call) {
    bool first = strcmp(cmd_name(call->cmd), "promote") == 0;
    int64_t priority = 0;
    int code = cmd_number(call, "priority", -PRIORITY_MAX, PRIORITY_MAX, &priority);
    if (code != CMD_OK)
        return code;
    return task_verb_run(call, call->cmd->data,
                         cmd_has(call, "priority")
                             ? json_pack("{s:I}", "priority", (json_int_t)priority)
                             : json_pack("{s:s}", "to", first ? "front" : "back"));
}

static int hold_run(const struct cmd_call *call) {
    const char *until = cmd_value(call, "until");
    if (!until)
        return task_verb_run(call, call->cmd->data, NULL);
    time_ms now = clock_read(), at;
    struct error err = { 0 };
    if (moment_parse(until, now, &at, &err) < 0)
        return cmd_usage_error(call->cmd, "option '--until': %s", err.text);
    if (at <= now)
        return cmd_usage_error(call->cmd, "option '--until': '%s' has passed", until);
    return task_verb_run(call, call->cmd->data, json_pack("{s:I}", "until", (json_int_t)at));
}

static int retry_run(const struct cmd_call *call) {
    json_auto_t *rules = json_array();
    const char *rule;
    for (size_t i = 0; (rule = cmd_value_at(call, "allow", i)); i++)
        json_array_append_new(rules, json_text(rule));
    json_t *body = json_pack("{s:O*}", "allow", json_array_size(rules) > 0 ? rules : NULL);
    request_take_members(call, body);
    return task_verb_run(call, call->cmd->data, body);
}

/* "-": from standard input. */
static int again_run(const struct cmd_call *call) {
    const char *message = cmd_value(call, "message");
    json_auto_t *body = json_object();
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    request_take_members(call, body);
    if (!message)
        return task_verb_run(call, call->cmd->data, json_incref(body));
    if (call->arg_count != 1)
        return cmd_usage_error(call->cmd, "'--message' is for one task");
    if (strcmp(message, "-") != 0)
        strbuf_puts(&text, message);
    else if (file_read_any("-", MESSAGE_MAX, &text, &err) < 0)
        return cmd_error(&err);
    message = strbuf_text(&text);
    if (strlen(message) != text.length)
        return cmd_usage_error(call->cmd, "the message has a NUL byte");
    if (message[strspn(message, " \t\r\n")] == '\0')
        return cmd_usage_error(call->cmd, "the message is empty");
    json_object_set_new(body, "message", json_text(message));
    return task_verb_run(call, call->cmd->data, json_incref(body));
}

#define OWN_AGENT_OPTION                                                                           \
    { "own-agent", 0, NULL, "of an escalated task: begin with its own agent again", "own_agent" }
#define ALL_OPTIONS                                                                                \
    { "all", 'a', NULL, "every task that this can be done to, instead of IDs" },                   \
        { "project", 'p', "PROJECT", "with --all: only those of this project" },                   \
        { "group", 'g', "GROUP", "with --all: only those of this group" }, {                       \
        "state", 0, "STATE", "with --all: only those in this state; may be a list with commas"     \
    }

static const struct cmd_option all_options[] = { ALL_OPTIONS, { NULL } };
static const struct cmd_option release_options[] = {
    { "all", 'a', NULL, "every held task, instead of IDs" },
    { "project", 'p', "PROJECT", "with --all: only those of this project" },
    { "group", 'g', "GROUP", "with --all: only those of this group" },
    { "message", 'm', "TEXT", "of a task that was taken over: what its agent is told", "message" },
    { NULL },
};
static const struct cmd_option reason_options[] = {
    { "reason", 'm', "TEXT", "why, for the history and for the next iteration", "reason" },
    { NULL },
};
static const struct cmd_option priority_options[] = {
    { "priority", 'p', "N", "give them this priority instead; lower goes first" },
    { NULL },
};

/* clang-format off */
#define VERB(name, options, run_, least, ...) \
    const struct cmd cmd_##name = { #name, run_, least, CMD_ANY_ARGS, options, &(const struct task_verb){ __VA_ARGS__ } };

VERB(again, CMD_OPTIONS({ "message", 'm', "TEXT", "continue its session with this prompt; - is stdin" },
                        OWN_AGENT_OPTION), again_run, 1,
     .op = "again", .did = "again")
VERB(approve, reason_options, plain_run, 1, .op = "approve", .did = "approved", .timeout = MERGE_TIMEOUT)
VERB(cancel, CMD_OPTIONS({ "now", 0, NULL, "kill the runs at once, without grace", "now" }, ALL_OPTIONS), plain_run, 0,
     .op = "cancel", .did = "canceled", .pending = "is being stopped",
     .all = "waiting,ready,starting,running,held", .may = "draft,waiting,ready,starting,running,held")
VERB(clear, all_options, plain_run, 0, .op = "clear", .did = "cleared", .all = "waiting,ready,held", .may = "waiting,ready,held")
VERB(close, reason_options, plain_run, 1, .op = "close", .did = "closed", .timeout = MERGE_TIMEOUT)
VERB(delete, all_options, plain_run, 0, .op = "delete", .did = "deleted",
     .all = "done,failed,canceled,invalidated", .may = "draft,done,failed,canceled,invalidated")
VERB(demote, priority_options, priority_run, 1, .op = "priority", .did = "demoted", .already = "is at the back already")
VERB(hold, CMD_OPTIONS({ "until", 'u', "WHEN", "let them go by themselves at this time" }), hold_run, 1,
     .op = "hold", .did = "held")
VERB(promote, priority_options, priority_run, 1, .op = "priority", .did = "promoted", .already = "is at the front already")
VERB(reject, reason_options, plain_run, 1, .op = "reject", .did = "rejected")
VERB(release, release_options, plain_run, 0, .op = "release", .did = "released", .all = "held", .may = "held")
VERB(retry, CMD_OPTIONS({ "allow", 0, "RULE", "let the agent do this from now on, in these tasks alone; may be repeated" },
                        OWN_AGENT_OPTION, ALL_OPTIONS), retry_run, 0,
     .op = "retry", .did = "retried", .all = "failed", .may = "failed,canceled")
/* clang-format on */

/* "web-17 merged into 'main' at 1f0c1e0a8c6c" */
static void print_merged(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    static const char *const words[][2] = { { "already", "is merged already: " },
                                            { "empty", "has no changes: " },
                                            { "failed", "is not merged: " },
                                            { "conflict", "is not merged: " } };
    (void)call;
    EACH_ITEM(task, json_object_get(answer, "tasks")) {
        const char *result = get_text(task, "result", "?"), *before = "";
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
            if (strcmp(words[i][0], result) == 0)
                before = words[i][1];
        cmd_put_line(out, "%s %s%s", get_text(task, "id", "?"), before,
                     get_text(task, "message", result));
    }
}

static int add_tasks(const struct cmd_call *call, json_t *body) {
    json_object_set_new(body, "tasks", request_args(call, 0, call->arg_count));
    return CMD_OK;
}

static int merge_exit_code(const json_t *answer) {
    int code = CMD_OK;
    EACH_ITEM(task, json_object_get(answer, "tasks")) {
        if (member_is(task, "result", "conflict"))
            return CMD_REFUSED;
        if (member_is(task, "result", "failed"))
            code = CMD_FAILED;
    }
    return code;
}

const struct cmd cmd_merge = {
    "merge",
    REQUEST_COMMAND("/v1/tasks/merge", .is_post = true, .timeout = MERGE_TIMEOUT, .body = add_tasks,
                    .print = print_merged, .exit_code = merge_exit_code),
    .min_args = 1, .max_args = CMD_ANY_ARGS,
    .options = CMD_OPTIONS(
        { "into", 0, "BRANCH", "merge into this branch instead of the one that the task came from",
          "into" },
        { "dry-run", 'n', NULL, "change nothing; say whether there would be conflicts", "dry_run" },
        { "no-checks", 0, NULL, "do not run the checks of the task again after a rebase",
          "no_checks" })
};

static bool has_id(const json_t *list, const char *id) {
    EACH_ITEM(item, list) {
        if (strcmp(json_string_value(item) ? json_string_value(item) : "", id) == 0)
            return true;
    }
    return false;
}

/* Reads the dependencies, and adds or removes those that are named. */
static int read_and_change(const struct cmd_call *call, struct request *req, json_t **list) {
    json_t *names = *list, *result = json_array();
    int code = request_named(req, call, NULL, "/v1/tasks/", "");
    EACH_ITEM(item, code == CMD_OK ? json_object_get(req->answer, "depends_on") : NULL) {
        if (json_is_string(item) && !has_id(names, json_string_value(item)))
            json_array_append(result, item);
    }
    if (cmd_has(call, "add"))
        json_array_extend(result, names);
    json_decref(names);
    *list = result;
    return code;
}

static int check_depend(const struct cmd_call *call) {
    bool none = cmd_has(call, "none"), change = cmd_has(call, "add") || cmd_has(call, "drop");
    if (cmd_has(call, "add") && cmd_has(call, "drop"))
        return cmd_usage_error(call->cmd, "'--add' and '--drop' cannot be used together");
    if (none && (change || call->arg_count > 1))
        return cmd_usage_error(call->cmd, "'--none' takes only the task");
    if (!none && call->arg_count < 2)
        return cmd_usage_error(call->cmd, "name the tasks it depends on, or use '--none'");
    return request_check_names(call, "a name is empty");
}

static int cmd_depend_run(const struct cmd_call *call) {
    _cleanup_(request_finish) struct request req = { 0 };
    int code = check_depend(call);
    if (code != CMD_OK)
        return code;
    json_t *list = json_array();
    for (size_t i = 1; i < call->arg_count; i++)
        if (!has_id(list, call->args[i]))
            json_array_append_new(list, json_text(call->args[i]));
    bool change = cmd_has(call, "add") || cmd_has(call, "drop");
    code = change ? read_and_change(call, &req, &list) : CMD_OK;
    if (code == CMD_OK)
        code = request_post(
            &req, json_pack("{s:o,s:O}", "task", json_text(call->args[0]), "depends_on", list),
            "/v1/tasks/depends");
    _cleanup_(strbuf_finish) struct strbuf ids = STRBUF_INIT;
    join_texts(&ids, ", ", list);
    json_decref(list);
    if (request_ended(call, &req, &code))
        return code;
    const json_t *task = json_array_get(json_object_get(req.answer, "tasks"), 0);
    return cmd_print_line("%s depends on %s: %s", get_text(task, "id", "?"),
                          ids.length > 0 ? strbuf_text(&ids) : "nothing",
                          get_text(task, "state", "?"));
}

const struct cmd cmd_depend = {
    "depend", cmd_depend_run, 1, CMD_ANY_ARGS,
    CMD_OPTIONS({ "add", 0, NULL, "keep what it depends on now, and add these" },
                { "drop", 0, NULL, "keep what it depends on now, except these" },
                { "none", 0, NULL, "it depends on nothing" })
};

static const struct task_verb sling_verb = {
    .op = "sling",
    .did = "slung",
    .all = "draft",
    .may = "draft",
};

/* "web-17", "17", "#17". */
static bool looks_like_id(const char *word) {
    size_t length = strlen(word), digits = 0;
    while (digits < length && isdigit((unsigned char)word[length - digits - 1]))
        digits++;
    return digits > 0 && (digits == length || word[length - digits - 1] == '-');
}

/* 1: the last argument is a project; 0: it is not; <0: negative exit code. */
static int ends_in_project(const struct cmd_call *call, struct request *req) {
    const char *last = call->arg_count > 1 ? call->args[call->arg_count - 1] : NULL;
    if (!last || !*last || looks_like_id(last) || cmd_has(call, "project"))
        return 0;
    int r = request_try_named(req, "/v1/projects/", last, "");
    return r == 0 ? 1 : r == ENOENT && request_was_answered(req) ? 0 : -request_failed(req);
}

/* --meta, --var and --on, stored with the tasks. */
static int take_meta(const struct cmd_call *call, json_t *body) {
    json_auto_t *meta = json_object(), *vars = json_object();
    const char *pair;
    int code = CMD_OK;
    for (size_t n = 0; code == CMD_OK && (pair = cmd_value_at(call, "meta", n)); n++)
        code = request_add_pair(call, pair, meta);
    for (size_t n = 0; code == CMD_OK && (pair = cmd_value_at(call, "var", n)); n++)
        code = request_add_pair(call, pair, vars);
    if (json_object_size(vars) > 0)
        json_object_set(meta, "vars", vars);
    set_text(meta, "formula", cmd_value(call, "on"));
    if (json_object_size(meta) > 0)
        json_object_set(body, "meta", meta);
    return code;
}

static int check_sling(const struct cmd_call *call) {
    bool all = cmd_has(call, "all");
    int code = check_ids(call, true);
    static const char *const alone[] = { "on", "owned", "no-group", "dry-run" };
    for (size_t i = 0; code == CMD_OK && all && i < ARRAY_SIZE(alone); i++)
        if (cmd_has(call, alone[i]))
            return cmd_usage_error(call->cmd, "option '--%s' cannot be used with --all", alone[i]);
    if (code == CMD_OK && cmd_has(call, "account") && cmd_has(call, "limiter"))
        return cmd_usage_error(call->cmd, "'--account' and '--limiter' are the same");
    return code;
}

static void print_slung(bool dry, const json_t *task, struct strbuf *out) {
    const char *result = get_text(task, "result", "slung"), *group = get_text(task, "group", NULL);
    const char *id = get_text(task, "id", "?"), *from = get_text(task, "moved_from", NULL);
    if (strcmp(result, "skipped") == 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (strcmp(result, "already") == 0)
        strbuf_printf(&text, "is %s already", get_text(task, "state", "?"));
    else if (strcmp(result, "deferred") == 0)
        strbuf_puts(&text, dry ? "would be deferred" : "deferred");
    else
        strbuf_printf(&text, "%s%s%s%s",
                      dry ? "would be slung" : "slung: ", dry ? "" : get_text(task, "state", "?"),
                      group ? ", in " : "", group ? group : "");
    cmd_put_line(out, "%s%s%s %s", from ? from : "", from ? " moved: " : "", id,
                 strbuf_text(&text));
}

/* CMD_REFUSED if a guard skipped all of them, or if some were deferred. */
static int print_all_slung(const struct cmd_call *call, const json_t *answer) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    const json_t *tasks = json_object_get(answer, "tasks");
    const char *group = get_text(answer, "group", NULL),
               *warning = get_text(answer, "warning", NULL);
    bool dry = cmd_has(call, "dry-run");
    size_t count = json_array_size(tasks), skipped = 0, deferred = 0;
    EACH_ITEM(task, tasks) {
        if (member_is(task, "result", "skipped")) {
            skipped++;
            cmd_warn("%s skipped: %s", get_text(task, "id", "?"), get_text(task, "why", "?"));
        }
        deferred += member_is(task, "result", "deferred");
        print_slung(dry, task, &out);
    }
    if (count == 0)
        strbuf_puts(&out, "nothing to sling\n");
    if (call->json)
        (void)output_json(json_pack("{s:O, s:s?, s:b, s:i, s:s?}", "tasks", tasks, "group", group,
                                    "dry_run", dry, "deferred", (int)deferred, "warning", warning));
    else
        output_rest(&out);
    if (warning)
        cmd_warn("%s", warning);
    return deferred > 0 || (skipped > 0 && skipped == count) ? CMD_REFUSED : CMD_OK;
}

/* The steps for one task, as the body of POST /v1/tasks. */
static int expand_for(const struct cmd_call *call, const json_t *task, const char *project,
                      struct formula **ret_formula, json_t **ret_body) {
    _cleanup_(formula_dirs_finish) struct formula_dirs dirs = { 0 };
    _cleanup_(formula_values_finish) struct formula_values values = { 0 };
    struct error err = { 0 };
    formula_values_offer(&values, "task", get_text(task, "id", ""));
    formula_values_offer(&values, "project", project);
    formula_values_offer(&values, "title", get_text(task, "title", ""));
    formula_values_offer(&values, "prompt", get_text(json_object_get(task, "spec"), "prompt", ""));
    int code = formula_values_take(call, &values);
    if (code != CMD_OK)
        return code;
    int r = formula_dirs_find(project, &dirs, &err);
    if (r >= 0)
        r = formula_find(&dirs, cmd_value(call, "on"), ret_formula, &err);
    if (r >= 0)
        r = formula_expand(*ret_formula, values.items, values.count, ret_body, &err);
    return r < 0 ? cmd_error(&err) : CMD_OK;
}

/* The steps are part of the sling request, so that all or nothing is applied. */
static int sling_on_formula(const struct cmd_call *call, struct request *req, json_t *body) {
    _cleanup_(formula_freep) struct formula *formula = NULL;
    json_auto_t *work = json_array();
    int code = CMD_OK;
    EACH_ITEM(id, json_object_get(body, "tasks")) {
        json_auto_t *steps = NULL;
        if (request_try_task(req, json_string_value(id)) != 0)
            code = request_failed(req);
        else if (member_is(req->answer, "state", "draft")) { /* others have no work to replace */
            formula_freep(&formula);
            formula = NULL;
            code = expand_for(call, req->answer,
                              get_text(body, "project", get_text(req->answer, "project", "")),
                              &formula, &steps);
            if (code == CMD_OK)
                json_array_append_new(work, json_pack("{s:O, s:s, s:O}", "task", id, "formula",
                                                      formula_name(formula), "steps",
                                                      json_object_get(steps, "tasks")));
        }
        if (code != CMD_OK)
            return code;
    }
    if (json_array_size(work) > 0)
        json_object_set(body, "work", work);
    if (request_try_post(req, json_incref(body), "/v1/tasks/sling") == 0)
        return CMD_OK;
    if (formula && req->index >= 0 && strncmp(req->err.text, "step ", 5) == 0)
        formula_locate(formula, (size_t)req->index, &req->err);
    return request_failed(req);
}

#define AGENTS_READ_MAX 20 /* tasks whose agent is looked up */

/* The given agent, or those of the slung tasks. */
static void warn_of_agents(const struct cmd_call *call, struct request *req, const json_t *slung) {
    json_auto_t *tasks = json_array();
    const char *agent = cmd_value(call, "agent");
    if (agent)
        json_array_append_new(tasks, json_pack("{s:o}", "agent", json_text(agent)));
    for (size_t i = 0; !agent && i < json_array_size(slung) && i < AGENTS_READ_MAX; i++) {
        const json_t *task = json_array_get(slung, i);
        if (strcmp(get_text(task, "result", "slung"), "slung") == 0
            && request_try_task(req, get_text(task, "id", "")) == 0)
            json_array_append(tasks, req->answer);
    }
    agent_warning_print(req, agent_warning_names(tasks));
}

static int sling_named(const struct cmd_call *call, json_t *body) {
    _cleanup_(request_finish) struct request req = { 0 };
    int code = request_open(&req, REQUEST_START);
    int ends = code == CMD_OK ? ends_in_project(call, &req) : -code;
    if (ends < 0)
        return -ends;
    size_t count = call->arg_count - (size_t)ends;
    set_text(body, "project", ends ? call->args[count] : cmd_value(call, "project"));
    set_text(body, "group", cmd_value(call, "group"));
    json_object_set_new(body, "tasks", request_args(call, 0, count));
    if (cmd_has(call, "on")) {
        code = sling_on_formula(call, &req, body);
    } else {
        json_object_set_new(body, "partial", json_true());
        if (request_try_post(&req, json_incref(body), "/v1/tasks/sling") != 0)
            code = request_refused(call, &req);
    }
    if (code != CMD_OK)
        return code;
    code = print_all_slung(call, req.answer);
    json_auto_t *slung = json_incref(json_object_get(req.answer, "tasks"));
    if (!cmd_has(call, "dry-run"))
        warn_of_agents(call, &req, slung);
    return code;
}

static int cmd_sling_run(const struct cmd_call *call) {
    int code = check_sling(call);
    if (code != CMD_OK)
        return code;
    json_auto_t *body = json_object();
    request_take_members(call, body);
    code = take_meta(call, body);
    if (code == CMD_OK && cmd_has(call, "all")) {
        json_object_set_new(body, "no_group", json_true()); /* they come in batches */
        json_object_set_new(body, "partial", json_true());
        set_text(body, "project", cmd_value(call, "project"));
        _cleanup_(request_finish) struct request req = { 0 };
        code = task_verb_run(call, &sling_verb, json_incref(body));
        if (code == CMD_OK && cmd_has(call, "agent") && request_open(&req, REQUEST_TRY) == CMD_OK)
            warn_of_agents(call, &req, NULL);
        return code;
    }
    return code == CMD_OK ? sling_named(call, body) : code;
}

static const struct cmd_option sling_options[] = {
    { "on", 0, "FORMULA", "let the steps of this formula do the work of each task" },
    FORMULA_VAR_OPTION,
    { "force", 'f', NULL, "override the guards: another project, another group, at work", "force" },
    { "dry-run", 'n', NULL, "only say what would be slung", "dry_run" },
    { "group", 'g', "GROUP", "the group that follows them; with --all: only drafts of it" },
    { "owned", 'o', NULL, "the group that is made is closed only manually", "owned" },
    { "no-group", 0, NULL, "make no group for them", "no_group" },
    { "agent", 0, "NAME", "who runs them, instead of the agent they name", "agent" },
    { "account", 0, "NAME", "the provider account they use; the same as --limiter", "limiter" },
    { "limiter", 0, "NAME", "the provider account they use", "limiter" },
    { "merge", 'm', "none|local|direct|mr", "what happens to their successful work", "merge" },
    { "base-branch", 'b', "BRANCH", "the branch they start from", "base_branch" },
    { "no-merge", 0, NULL, "leave their work on its branch; the same as --merge none", "no_merge" },
    { "args", 0, "TEXT", "put this behind the prompt of each", "args" },
    { "meta", 0, "KEY=VALUE", "anything to keep with them; repeatable" },
    { "all", 'a', NULL, "every draft, instead of IDs; makes no group" },
    { "project", 'p', "PROJECT", "the project they are for; with --all only its drafts" },
    { NULL },
};

const struct cmd cmd_sling = { "sling", cmd_sling_run, 0, CMD_ANY_ARGS, sling_options };
