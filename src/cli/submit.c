/* submit.c: one row per option: its member, and how its words are read.
 *
 * Paths are made absolute here, because the daemon lives in another folder, and variables are read here,
 * because it has another environment. */
#include "cli/submit.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/money.h"
#include "base/number.h"
#include "cli/client.h"
#include "cli/full_path.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/moment.h"

#define PROMPT_MAX                                                                                 \
    (1u << 20) /* far above what the daemon takes, so that it says what is too much */

enum how {
    AS_TEXT,
    AS_NUMBER,
    AS_SECONDS,
    AS_DOLLARS,
    AS_TRUE,
    AS_LIST, /* repeated, or with commas */
    AS_PATH,
    AS_VARIABLES,
    AS_CHECKS,
    AS_META,
    AS_PAIR, /* KEY=VALUE, a member of an object */
    AS_MOMENT,
    AS_DELAY,
    AS_SERIAL,
    AS_NOTHING, /* read elsewhere */
};

struct row {
    const char *option, *member;
    enum how how;
};

/* clang-format off */
static const struct row rows[] = {
    { "project",      "project",        AS_TEXT },
    { "kind",         "kind",           AS_TEXT },
    { "agent",        "agent",          AS_TEXT },
    { "prompt",       "prompt",         AS_NOTHING },
    { "prompt-file",  "prompt",         AS_NOTHING },
    { "title",        "title",          AS_TEXT },
    { "priority",     "priority",       AS_NUMBER },
    { "parent",       "parent",         AS_TEXT },
    { "parent-gate",  "parent_gate",    AS_TEXT },
    { "after",        "depends_on",     AS_LIST },
    { "artifact",     "artifact",       AS_TEXT },
    { "spawn",        "spawn",          AS_TEXT },
    { "serial",       "serial",         AS_SERIAL },
    { "parallel",     "parallelizable", AS_TRUE },
    { "workspace",    "workspace",      AS_TEXT },
    { "base-branch",  "base_branch",    AS_TEXT },
    { "merge",        "merge",          AS_TEXT },
    { "resource",     "resources",      AS_LIST },
    { "limiter",      "limiter",        AS_TEXT },
    { "until",        "until",          AS_TEXT },
    { "check",        "checks",         AS_CHECKS },
    { "failover",     "failover",       AS_TEXT },
    { "resume",       "resume",         AS_TEXT },
    { "retries",      "retries",        AS_NUMBER },
    { "tokens",       "tokens",         AS_NUMBER },
    { "usd",          "usd",            AS_DOLLARS },
    { "run-tokens",   "run_tokens",     AS_NUMBER },
    { "run-usd",      "run_usd",        AS_DOLLARS },
    { "on-budget",    "on_budget",      AS_TEXT },
    { "timeout",      "timeout_s",      AS_SECONDS },
    { "idle-timeout", "idle_timeout_s", AS_SECONDS },
    { "grace",        "grace_s",        AS_SECONDS },
    { "stop-signal",  "stop_signal",    AS_TEXT },
    { "executor",     "executor",       AS_TEXT },
    { "slurm",        "slurm",          AS_PAIR },
    { "sandbox",      "sandbox",        AS_TEXT },
    { "env",          "env",            AS_VARIABLES },
    { "cwd",          "cwd",            AS_NOTHING },
    { "stdin",        "stdin",          AS_PATH },
    { "memory",       "memory_mb",      AS_NUMBER },
    { "processes",    "processes",      AS_NUMBER },
    { "nice",         "nice",           AS_NUMBER },
    { "review",       "review",         AS_TRUE },
    { "not-before",   "not_before",     AS_MOMENT },
    { "in",           "not_before",     AS_DELAY },
    { "external-id",  "external_id",    AS_TEXT },
    { "meta",         "meta",           AS_META },
    { "hold",         "hold",           AS_TRUE },
};
/* clang-format on */

const char *const submit_batch_options[][2] = {
    { "group", "group" },
    { "draft", "draft" },
    { "force", "force" },
    { NULL },
};

const char *submit_task_option(const struct cmd_call *call, const char *but) {
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (cmd_has(call, rows[i].option) && !(but && strcmp(rows[i].option, but) == 0))
            return rows[i].option;
    return NULL;
}

/* --- values ---------------------------------------------------------------------------------- */

static int bad_value(const struct row *row, struct error *err) {
    return error_prefix(err, "option '--%s'", row->option);
}

/* JSON is UTF-8; file names and words of the command line need not be. */
static int put_text(json_t *object, const char *member, const char *text, struct error *err) {
    json_t *value = json_string(text);
    if (!value)
        return error_set(err, -EINVAL, "'%.200s' is not UTF-8, which tasks must be", text);
    json_object_set_new(object, member, value);
    return 0;
}

static int append_text(json_t *array, const char *text, size_t length, struct error *err) {
    json_t *value = json_stringn(text, length);
    if (!value)
        return error_set(err, -EINVAL, "'%.200s' is not UTF-8, which tasks must be", text);
    json_array_append_new(array, value);
    return 0;
}

static int put_number(json_t *task, const char *member, const char *text, struct error *err) {
    int64_t number;
    int r = number_parse_int(text, &number, err);
    if (r < 0)
        return r;
    json_object_set_new(task, member, json_integer(number));
    return 0;
}

static int put_seconds(json_t *task, const char *member, const char *text, struct error *err) {
    time_ms span;
    int r = number_parse_span(text, &span, err);
    if (r < 0)
        return r;
    json_object_set_new(task, member,
                        span % 1000 == 0 ? json_integer(span / 1000)
                                         : json_real((double)span / 1000));
    return 0;
}

static int put_dollars(json_t *task, const char *member, const char *text, struct error *err) {
    int64_t micro;
    int r = money_parse(text, &micro, err);
    if (r < 0)
        return r;
    json_object_set_new(task, member, json_real((double)micro / (double)MONEY_DOLLAR));
    return 0;
}

static int put_moment(json_t *task, const struct row *row, const char *text, struct error *err) {
    time_ms now = clock_read(), at = 0;
    int r = row->how == AS_DELAY ? number_parse_span(text, &at, err)
                                 : moment_parse(text, now, &at, err);
    if (r < 0)
        return r;
    json_object_set_new(task, row->member, json_integer(row->how == AS_DELAY ? now + at : at));
    return 0;
}

static int put_path(json_t *task, const char *member, const char *text, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    int r = full_path(text, &path, err);
    return r < 0 ? r : put_text(task, member, strbuf_text(&path), err);
}

/* --- values that may be repeated ------------------------------------------------------------- */

static int add_list(json_t *task, const char *member, const char *text, struct error *err) {
    json_t *list = json_object_get(task, member);
    if (!list)
        json_object_set_new(task, member, list = json_array());
    for (;;) {
        text += strspn(text, " ,");
        size_t length = strcspn(text, ",");
        size_t used = length;
        while (used > 0 && text[used - 1] == ' ')
            used--;
        if (used == 0)
            return 0;
        int r = append_text(list, text, used, err);
        if (r < 0)
            return r;
        text += length;
    }
}

static int add_variable(json_t *task, const char *member, const char *text, struct error *err) {
    const char *equals = strchr(text, '=');
    _cleanup_(freep) char *name = equals ? xstrndup(text, (size_t)(equals - text)) : xstrdup(text);
    const char *value = equals ? equals + 1 : getenv(name);
    if (!*name)
        return error_set(err, -EINVAL, "expected KEY=VALUE or KEY, got '%.200s'", text);
    if (!value)
        return error_set(err, -EINVAL, "'%.200s' is not set here; write %.200s=VALUE", name, name);
    json_t *env = json_object_get(task, member);
    if (!env)
        json_object_set_new(task, member, env = json_object());
    return put_text(env, name, value, err);
}

static int add_check(json_t *task, const char *member, const char *text, struct error *err) {
    json_t *checks = json_object_get(task, member);
    if (!checks)
        json_object_set_new(task, member, checks = json_array());
    json_t *command = *text ? json_string(text) : NULL;
    if (!command)
        return error_set(err, -EINVAL, "expected a command for the shell, got '%.200s'", text);
    json_array_append_new(checks, json_pack("[s,s,o]", "sh", "-c", command));
    return 0;
}

static int add_meta(json_t *task, const char *member, const char *text, struct error *err) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return error_set(err, -EINVAL, "expected KEY=VALUE, got '%.200s'", text);
    json_t *meta = json_object_get(task, member);
    if (!meta)
        json_object_set_new(task, member, meta = json_object());
    _cleanup_(freep) char *name = xstrndup(text, (size_t)(equals - text));
    json_t *value = json_loads(equals + 1, JSON_DECODE_ANY, NULL);
    if (!value)
        return put_text(meta, name, equals + 1, err);
    if (json_object_set_new(meta, name, value) < 0)
        return error_set(err, -EINVAL, "'%.200s' is not UTF-8, which tasks must be", text);
    return 0;
}

/* What it may be is said by the daemon. */
static int add_pair(json_t *task, const char *member, const char *text, struct error *err) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return error_set(err, -EINVAL, "expected KEY=VALUE, got '%.200s'", text);
    json_t *object = json_object_get(task, member);
    if (!object)
        json_object_set_new(task, member, object = json_object());
    _cleanup_(freep) char *name = xstrndup(text, (size_t)(equals - text));
    return put_text(object, name, equals + 1, err);
}

/* --- one option ------------------------------------------------------------------------------ */

static int put_value(json_t *task, const struct row *row, const char *text, struct error *err) {
    switch (row->how) {
    case AS_TEXT:
        return put_text(task, row->member, text, err);
    case AS_NUMBER:
        return put_number(task, row->member, text, err);
    case AS_SECONDS:
        return put_seconds(task, row->member, text, err);
    case AS_DOLLARS:
        return put_dollars(task, row->member, text, err);
    case AS_LIST:
        return add_list(task, row->member, text, err);
    case AS_PATH:
        return put_path(task, row->member, text, err);
    case AS_VARIABLES:
        return add_variable(task, row->member, text, err);
    case AS_CHECKS:
        return add_check(task, row->member, text, err);
    case AS_META:
        return add_meta(task, row->member, text, err);
    case AS_PAIR:
        return add_pair(task, row->member, text, err);
    case AS_MOMENT:
    case AS_DELAY:
        return put_moment(task, row, text, err);
    case AS_SERIAL:
        json_object_set_new(task, "parallelizable", json_false());
        return put_text(task, row->member, text, err);
    case AS_TRUE:
    case AS_NOTHING:
        break;
    }
    return 0;
}

static int put_options(const struct cmd_call *call, json_t *task, struct error *err) {
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        if (row->how == AS_TRUE && cmd_has(call, row->option))
            json_object_set_new(task, row->member, json_true());
        const char *text;
        for (size_t n = 0; (text = cmd_value_at(call, row->option, n)); n++)
            if (put_value(task, row, text, err) < 0)
                return bad_value(row, err);
    }
    return 0;
}

/* --- what to run ----------------------------------------------------------------------------- */

static int read_prompt(const char *path, struct strbuf *out, struct error *err) {
    return file_read_any(path, PROMPT_MAX, out, err);
}

static int put_prompt(const struct cmd_call *call, json_t *task, struct error *err) {
    const char *file = cmd_value(call, "prompt-file"), *text = cmd_value(call, "prompt");
    _cleanup_(strbuf_finish) struct strbuf prompt = STRBUF_INIT;
    if (file && text)
        return error_set(err, -EINVAL, "'--prompt' and '--prompt-file' cannot be used together");
    if ((file || text) && call->arg_count > 0)
        return error_set(err, -EINVAL, "the prompt is in '%.200s', so '%.200s' is too much",
                         file ? file : "--prompt", call->args[0]);
    int r = file ? read_prompt(file, &prompt, err) : 0;
    if (r < 0)
        return r;
    strbuf_puts(&prompt, text ? text : "");
    for (size_t i = 0; i < call->arg_count; i++)
        strbuf_printf(&prompt, "%s%s", i > 0 ? " " : "", call->args[i]);
    if (strlen(strbuf_text(&prompt)) != prompt.length)
        return error_set(err, -EINVAL, "'%.200s' is no text: it has a NUL byte in it", file);
    if (prompt.length == 0)
        return error_set(err, -EINVAL, "the prompt for the agent%s%.200s%s is empty",
                         cmd_has(call, "agent") ? " '" : "",
                         cmd_has(call, "agent") ? cmd_value(call, "agent") : "",
                         cmd_has(call, "agent") ? "'" : "");
    return put_text(task, "prompt", strbuf_text(&prompt), err);
}

static int put_command(const struct cmd_call *call, json_t *task, struct error *err) {
    if (call->arg_count == 0 || !*call->args[0])
        return error_set(err, -EINVAL, "there is no command to run; write it behind --");
    json_t *argv = json_array();
    json_object_set_new(task, "argv", argv);
    int r = 0;
    for (size_t i = 0; i < call->arg_count && r >= 0; i++)
        r = append_text(argv, call->args[i], strlen(call->args[i]), err);
    return r;
}

/* A workspace is a folder already. The child of a run works where the run does. */
static int put_folder(const struct cmd_call *call, json_t *task, struct error *err) {
    const char *folder = cmd_value(call, "cwd");
    if (folder && strcmp(folder, "-") == 0)
        return 0;
    if (folder)
        return put_path(task, "cwd", folder, err);
    if (cmd_has(call, "workspace") || client_is_in_run())
        return 0;
    _cleanup_(freep) char *here = getcwd(NULL, 0);
    if (!here)
        return error_set(err, -errno, "this folder has no path: %s; give one with --cwd",
                         strerror(errno));
    return put_text(task, "cwd", here, err);
}

static bool is_prompt(const struct cmd_call *call) {
    return cmd_has(call, "agent") || cmd_has(call, "prompt") || cmd_has(call, "prompt-file");
}

int submit_task(const struct cmd_call *call, json_t **ret_task, struct error *err) {
    _cleanup_(client_answer_freep) json_t *task = json_object();
    if (cmd_has(call, "in") && cmd_has(call, "not-before"))
        return error_set(err, -EINVAL, "'--in' and '--not-before' exclude each other");
    if (cmd_has(call, "parallel") && cmd_has(call, "serial"))
        return error_set(err, -EINVAL, "'--parallel' and '--serial' exclude each other");
    int r = put_options(call, task, err);
    if (r >= 0)
        r = is_prompt(call) ? put_prompt(call, task, err) : put_command(call, task, err);
    if (r >= 0)
        r = put_folder(call, task, err);
    if (r < 0)
        return r;
    *ret_task = TAKE_PTR(task);
    return 0;
}
