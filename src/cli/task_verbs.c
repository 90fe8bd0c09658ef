/* task_verbs.c: the commands that do one thing to some tasks: ids in, one line per task out.
 *
 * With --all the tasks are first listed and then named in pieces. Between the two some may have
 * changed, and a piece with one such task is refused as a whole; so a refused piece is cut in two
 * until the task stands alone, which is then left out. Nobody asked for it by name. */
#include "cli/task_verb.h"

#include <errno.h>
#include <string.h>

#include "cli/ask.h"
#include "os/clock.h"
#include "os/moment.h"

#define PIECE        500     /* tasks in one question */
#define LIST_MOST    2000000 /* more than a queue can hold */
#define PRIORITY_MAX 1000000 /* as the daemon takes it */

struct work {
    const struct task_verb *verb;
    struct ask ask;
    json_t *extra; /* members of every question besides "tasks" */
    json_t *ids;
    json_t *done;  /* items of the answers */
    bool deferred; /* the queue has no room for some */
};

static void work_finish(struct work *w) {
    ask_finish(&w->ask);
    json_decref(w->extra);
    json_decref(w->ids);
    json_decref(w->done);
}

/* Tasks number `from` to before `to`. 0, or the errno of the refusal. */
static int send_piece(struct work *w, size_t from, size_t to) {
    json_t *tasks = json_array(), *body = json_copy(w->extra);
    for (size_t i = from; i < to; i++)
        json_array_append(tasks, json_array_get(w->ids, i));
    json_object_set_new(body, "tasks", tasks);
    char path[64];
    (void)snprintf(path, sizeof(path), "/v1/tasks/%s", w->verb->op);
    int r = ask_try_post(&w->ask, body, path);
    if (r == 0)
        json_array_extend(w->done, json_object_get(w->ask.answer, "tasks"));
    if (r == 0 && ask_text(w->ask.answer, "warning", NULL))
        cmd_warn("%s", ask_text(w->ask.answer, "warning", ""));
    w->deferred = w->deferred || (r == 0 && ask_int(w->ask.answer, "deferred", 0) > 0);
    return r;
}

static int send_all(struct work *w, size_t from, size_t to) {
    int r = send_piece(w, from, to);
    if (r != EBUSY && r != ENOENT)
        return r;
    if (to - from == 1) {
        cmd_warn("%s (left out)", w->ask.err.text);
        return 0;
    }
    size_t middle = from + (to - from) / 2;
    r = send_all(w, from, middle);
    return r ? r : send_all(w, middle, to);
}

/* --- --all ----------------------------------------------------------------------------------- */

/* Is the word of `length` bytes in a list with commas? */
static bool list_has(const char *list, const char *word, size_t length) {
    for (;;) {
        size_t n = strcspn(list, ",");
        if (n == length && strncmp(list, word, n) == 0)
            return true;
        if (!list[n])
            return false;
        list += n + 1;
    }
}

static int check_states(const struct cmd_call *call, const struct task_verb *verb,
                        const char *states) {
    for (const char *at = states;; at++) {
        size_t length = strcspn(at, ",");
        if (!list_has(verb->may, at, length))
            return cmd_usage_error(call->cmd, "option '--state': expected some of %s, got '%.*s'",
                                   verb->may, (int)length, at);
        at += length;
        if (!*at)
            return CMD_OK;
    }
}

/* By its number, which is never the external id of another task. */
static void collect(void *ctx, const json_t *item) {
    struct work *w = ctx;
    const char *id = ask_text(item, "id", NULL), *dash = id ? strrchr(id, '-') : NULL;
    char number[32];
    if (!id)
        return;
    (void)snprintf(number, sizeof(number), "#%.30s", dash ? dash + 1 : id);
    json_array_append_new(w->ids, ask_string(number));
}

static int find_all(const struct cmd_call *call, struct work *w) {
    const char *states = cmd_value(call, "state");
    int code = states ? check_states(call, w->verb, states) : CMD_OK;
    if (code != CMD_OK)
        return code;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_puts(&path, "/v1/tasks?order=old&limit=1000");
    client_query(&path, "state", states ? states : w->verb->all);
    client_query(&path, "project", cmd_value(call, "project"));
    client_query(&path, "group", cmd_value(call, "group"));
    code = ask_open(&w->ask, ASK_START);
    return code != CMD_OK ? code : ask_pages(&w->ask, strbuf_text(&path), LIST_MOST, collect, w);
}

static int do_all(const struct cmd_call *call, struct work *w) {
    int code = find_all(call, w);
    if (code != CMD_OK)
        return code;
    size_t count = json_array_size(w->ids);
    for (size_t from = 0; from < count; from += PIECE) {
        size_t to = count - from < PIECE ? count : from + PIECE;
        if (send_all(w, from, to) != 0)
            return ask_failed(&w->ask);
    }
    return CMD_OK;
}

static int do_named(const struct cmd_call *call, struct work *w) {
    for (size_t i = 0; i < call->arg_count; i++)
        json_array_append_new(w->ids, ask_string(call->args[i]));
    int code = ask_open(&w->ask, ASK_START);
    if (code != CMD_OK)
        return code;
    if (w->verb->timeout > 0)
        client_set_timeout(w->ask.client, w->verb->timeout);
    return send_piece(w, 0, call->arg_count) == 0 ? CMD_OK : ask_failed(&w->ask);
}

/* --- telling --------------------------------------------------------------------------------- */

static void print_line(const struct task_verb *verb, const json_t *item, struct strbuf *out) {
    const char *id = ask_text(item, "id", "?"), *state = ask_text(item, "state", "");
    const char *note = ask_text(item, "note", NULL);
    if (ask_is(item, "result", "deferred"))
        strbuf_printf(out, "%s deferred\n", id);
    else if (ask_is(item, "result", "no_effect"))
        strbuf_printf(out, "%s keeps its place\n", id);
    else if (ask_true(item, "already") && verb->already)
        strbuf_printf(out, "%s %s\n", id, verb->already);
    else if (ask_true(item, "already"))
        strbuf_printf(out, "%s is %s already\n", id, state);
    else if (verb->pending && ask_is_word(state, "starting running"))
        strbuf_printf(out, "%s %s%s%s\n", id, verb->pending, note ? ": " : "", note ? note : "");
    else if (*state && strcmp(state, verb->did) != 0)
        strbuf_printf(out, "%s %s: %s\n", id, verb->did, state);
    else
        strbuf_printf(out, "%s %s\n", id, verb->did);
}

static void print_done(const struct cmd_call *call, const struct work *w) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (call->json && call->arg_count > 0) {
        (void)ask_print(&w->ask); /* one question: its answer as it is */
    } else if (call->json) {
        (void)ask_print_json(json_pack("{s:O}", "tasks", w->done));
    } else if (json_array_size(w->done) == 0) {
        strbuf_printf(&out, "nothing to %s\n", cmd_name(call->cmd));
    }
    ASK_EACH(item, w->done) {
        if (call->json)
            break;
        print_line(w->verb, item, &out);
        output_some(&out);
    }
    output_rest(&out);
}

/* Which tasks? Exactly one of IDs and --all; the filters belong to --all. */
static int check_call(const struct cmd_call *call, const struct task_verb *verb) {
    bool all = verb->all && cmd_has(call, "all");
    if (all && call->arg_count > 0)
        return cmd_usage_error(call->cmd, "'--all' and '%s' exclude each other", call->args[0]);
    if (!all && call->arg_count == 0 && verb->all)
        return cmd_usage_error(call->cmd, "'%s' needs the IDs of tasks, or --all",
                               cmd_name(call->cmd));
    static const char *const filters[] = { "project", "group", "state" };
    for (size_t i = 0; verb->all && !all && i < ARRAY_SIZE(filters); i++)
        if (cmd_has(call, filters[i]) && (!verb->alone || strcmp(filters[i], verb->alone) != 0))
            return cmd_usage_error(call->cmd, "option '--%s' needs --all", filters[i]);
    for (size_t i = 0; i < call->arg_count; i++)
        if (!*call->args[i])
            return cmd_usage_error(call->cmd, "an ID is empty");
    return CMD_OK;
}

int task_verb_run(const struct cmd_call *call, const struct task_verb *verb, json_t *body) {
    _cleanup_(work_finish) struct work w = {
        .verb = verb,
        .extra = body ? body : json_object(),
        .ids = json_array(),
        .done = json_array(),
    };
    int code = check_call(call, verb);
    if (code == CMD_OK)
        code = call->arg_count > 0 ? do_named(call, &w) : do_all(call, &w);
    /* What was done before a failure is told too: it stays done. */
    if (code == CMD_OK || json_array_size(w.done) > 0)
        print_done(call, &w);
    return code == CMD_OK && w.deferred ? CMD_REFUSED : code;
}

/* --- the commands ---------------------------------------------------------------------------- */

/* Those whose options are members of the question. */
static int plain_run(const struct cmd_call *call) {
    const char *reason = cmd_value(call, "reason");
    if (reason && !*reason)
        return cmd_usage_error(call->cmd, "option '--reason' is empty");
    json_t *body = json_object();
    ask_take_members(call, body);
    return task_verb_run(call, call->cmd->data, body);
}

/* With --priority N that number; else to the front or the back of the queue. */
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
    json_t *rules = json_array(), *body = json_object();
    const char *rule;
    for (size_t i = 0; (rule = cmd_value_at(call, "allow", i)); i++)
        json_array_append_new(rules, ask_string(rule));
    if (json_array_size(rules) > 0)
        json_object_set(body, "allow", rules);
    json_decref(rules);
    return task_verb_run(call, call->cmd->data, body);
}

/* The options of a verb with --all. */
#define ALL_OPTIONS                                                                                \
    { "all", 'a', NULL, "every task that this can be done to, instead of IDs" },                   \
        { "project", 'p', "PROJECT", "with --all: only those of this project" },                   \
        { "group", 'g', "GROUP", "with --all: only those of this group" }, {                       \
        "state", 0, "STATE", "with --all: only those in this state; may be a list with commas"     \
    }

static const struct cmd_option all_options[] = { ALL_OPTIONS, { NULL } };
static const struct cmd_option cancel_options[] = {
    { "now", 0, NULL, "kill the runs at once, without grace", "now" },
    ALL_OPTIONS,
    { NULL },
};
static const struct cmd_option retry_options[] = {
    { "allow", 0, "RULE",
      "let the agent do this from now on, in these tasks alone; may be repeated" },
    ALL_OPTIONS,
    { NULL },
};
static const struct cmd_option release_options[] = {
    { "all", 'a', NULL, "every held task, instead of IDs" },
    { "project", 'p', "PROJECT", "with --all: only those of this project" },
    { "group", 'g', "GROUP", "with --all: only those of this group" },
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
static const struct cmd_option hold_options[] = {
    { "until", 'u', "WHEN", "let them go by themselves at this time" },
    { NULL },
};

/* clang-format off */
#define VERB(name, options, run_, least, ...) \
    const struct cmd cmd_##name = { #name, options, .min_args = least, .max_args = CMD_ANY_ARGS, .run = run_, \
                                    .data = &(const struct task_verb){ __VA_ARGS__ } };

VERB(again, NULL, plain_run, 1, .op = "again", .did = "again")
VERB(approve, reason_options, plain_run, 1, .op = "approve", .did = "approved", .timeout = TASK_VERB_MERGE_TIMEOUT)
VERB(cancel, cancel_options, plain_run, 0, .op = "cancel", .did = "canceled", .pending = "is being stopped",
     .all = "waiting,ready,starting,running,held", .may = "draft,waiting,ready,starting,running,held")
VERB(clear, all_options, plain_run, 0, .op = "clear", .did = "cleared", .all = "waiting,ready,held", .may = "waiting,ready,held")
VERB(close, reason_options, plain_run, 1, .op = "close", .did = "closed", .timeout = TASK_VERB_MERGE_TIMEOUT)
VERB(delete, all_options, plain_run, 0, .op = "delete", .did = "deleted",
     .all = "done,failed,canceled,invalidated", .may = "draft,done,failed,canceled,invalidated")
VERB(demote, priority_options, priority_run, 1, .op = "priority", .did = "demoted", .already = "is at the back already")
VERB(hold, hold_options, hold_run, 1, .op = "hold", .did = "held")
VERB(promote, priority_options, priority_run, 1, .op = "priority", .did = "promoted", .already = "is at the front already")
VERB(reject, reason_options, plain_run, 1, .op = "reject", .did = "rejected")
VERB(release, release_options, plain_run, 0, .op = "release", .did = "released", .all = "held", .may = "held")
VERB(retry, retry_options, retry_run, 0, .op = "retry", .did = "retried", .all = "failed", .may = "failed,canceled")
/* clang-format on */
