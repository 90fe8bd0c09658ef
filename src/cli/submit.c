/* submit.c: the options of one task, read as the table of members says.
 *
 * Paths are made absolute here, because the daemon lives in another folder, and variables are read here,
 * because it has another environment. */
#include "cli/submit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/number.h"
#include "cli/client.h"
#include "os/clock.h"
#include "os/files.h"
#include "taskfile/task_member.h"

#define PROMPT_MAX                                                                                 \
    (1u << 20) /* far above what the daemon takes, so that it says what is too much */

static const struct row {
    const char *member, *option;
} rows[] = {
#define OPTION(member, option, ...) { #member, option },
#include "taskfile/task_members.inc"
};

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

static int not_text(const char *text, struct error *err) {
    return error_set(err, -EINVAL, "'%.200s' is not UTF-8, which tasks must be", text);
}

static int put_text(json_t *object, const char *member, const char *text, struct error *err) {
    return json_object_set_new(object, member, json_string(text)) < 0 ? not_text(text, err) : 0;
}

/* KEY=VALUE; of a variable KEY alone, which is passed on. The value of a member that may be anything is JSON, or a
 * text. */
static int put_pair(json_t *object, const struct task_member *m, const char *text,
                    struct error *err) {
    const char *equals = strchr(text, '=');
    bool is_env = m->kind == MEMBER_ENV;
    _cleanup_(freep) char *name = equals ? xstrndup(text, (size_t)(equals - text)) : xstrdup(text);
    if (!*name || (!equals && !is_env) || (m->kind == MEMBER_PAIRS && !equals[1]))
        return error_set(err, -EINVAL, "expected KEY=VALUE%s, got '%.200s'",
                         is_env ? " or KEY" : "", text);
    const char *value = equals ? equals + 1 : getenv(name);
    if (!value)
        return error_set(err, -EINVAL, "'%.200s' is not set here; write %.200s=VALUE", name, name);
    json_t *any = m->kind == MEMBER_OBJECT ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    if (!any)
        return put_text(object, name, value, err);
    return json_object_set_new(object, name, any) < 0 ? not_text(text, err) : 0;
}

/* What an option that may be repeated says, all of it. */
static int gather(const struct cmd_call *call, const char *option, const struct task_member *m,
                  json_t **ret_all, struct error *err) {
    bool is_list = m->kind == MEMBER_NAMES || m->kind == MEMBER_CHECKS;
    json_t *all = *ret_all = is_list ? json_array() : json_object();
    const char *text;
    int r = 0;
    for (size_t n = 0; r == 0 && (text = cmd_value_at(call, option, n)); n++)
        if (is_list)
            r = json_array_append_new(all, json_string(text)) < 0 ? not_text(text, err) : 0;
        else
            r = put_pair(all, m, text, err);
    return r;
}

static int read_option(const struct cmd_call *call, const struct row *row,
                       const struct task_source *source, json_t **ret_value, struct error *err) {
    const struct task_member *m = task_member_find(row->member);
    const char *text = cmd_value(call, row->option);
    if (m->kind == MEMBER_SWITCH)
        return task_member_parse(m, m->name, "true", source, ret_value, err);
    if (strcmp(row->option, "in") == 0) { /* digits alone are seconds, and no moment */
        time_ms span = 0;
        int r = number_parse_span(text, &span, err);
        *ret_value = json_integer(time_add(source->now, span));
        return r;
    }
    if (m->kind < MEMBER_NAMES)
        return task_member_parse(m, m->name, text, source, ret_value, err);
    json_t *all = NULL;
    int r = gather(call, row->option, m, &all, err);
    if (r == 0)
        r = task_member_check(m, m->name, all, source, ret_value, err);
    if (r == 0 && !*ret_value)
        *ret_value = json_incref(all);
    json_decref(all);
    return r;
}

static int put_options(const struct cmd_call *call, const struct task_source *source, json_t *task,
                       struct error *err) {
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        json_t *value = NULL;
        bool elsewhere = strcmp(row->member, "prompt") == 0 || strcmp(row->member, "cwd") == 0;
        if (elsewhere || !cmd_has(call, row->option))
            continue;
        int r = read_option(call, row, source, &value, err);
        if (r < 0) {
            json_decref(value);
            return error_prefix(err, "option '--%s'", row->option);
        }
        json_object_set_new(task, row->member, value);
    }
    if (cmd_has(call, "serial"))
        json_object_set_new(task, "parallelizable", json_false());
    return 0;
}

/* --- what to run ----------------------------------------------------------------------------- */

static int put_prompt(const struct cmd_call *call, json_t *task, struct error *err) {
    const char *file = cmd_value(call, "prompt-file"), *text = cmd_value(call, "prompt");
    _cleanup_(strbuf_finish) struct strbuf prompt = STRBUF_INIT;
    if (file && text)
        return error_set(err, -EINVAL, "'--prompt' and '--prompt-file' cannot be used together");
    if ((file || text) && call->arg_count > 0)
        return error_set(err, -EINVAL, "the prompt is in '%.200s', so '%.200s' is too much",
                         file ? file : "--prompt", call->args[0]);
    int r = file ? file_read_any(file, PROMPT_MAX, &prompt, err) : 0;
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
    for (size_t i = 0; i < call->arg_count; i++)
        if (json_array_append_new(argv, json_string(call->args[i])) < 0)
            return not_text(call->args[i], err);
    return 0;
}

/* A workspace is a folder already. The child of a run works where the run does. */
static int put_folder(const struct cmd_call *call, const struct task_source *source, json_t *task,
                      struct error *err) {
    const char *folder = cmd_value(call, "cwd");
    json_t *path = NULL;
    if (folder ? strcmp(folder, "-") == 0 : cmd_has(call, "workspace") || client_is_in_run())
        return 0;
    if (!folder && !source->folder)
        return error_set(err, -ENOENT, "this folder has no path; give one with --cwd");
    int r = task_member_parse(task_member_find("cwd"), "cwd", folder ? folder : source->folder,
                              source, &path, err);
    if (r < 0)
        return folder ? error_prefix(err, "option '--cwd'") : r;
    json_object_set_new(task, "cwd", path);
    return 0;
}

static bool is_prompt(const struct cmd_call *call) {
    return cmd_has(call, "agent") || cmd_has(call, "prompt") || cmd_has(call, "prompt-file");
}

int submit_task(const struct cmd_call *call, json_t **ret_task, struct error *err) {
    _cleanup_(client_answer_freep) json_t *task = json_object();
    if (cmd_has(call, "in") && cmd_has(call, "not-before"))
        return error_set(err, -EINVAL, "'--in' and '--not-before' cannot be used together");
    if (cmd_has(call, "parallel") && cmd_has(call, "serial"))
        return error_set(err, -EINVAL, "'--parallel' and '--serial' cannot be used together");
    _cleanup_(freep) char *here = getcwd(NULL, 0);
    struct task_source source = { .folder = here, .now = clock_read() };
    int r = put_options(call, &source, task, err);
    if (r >= 0)
        r = is_prompt(call) ? put_prompt(call, task, err) : put_command(call, task, err);
    if (r >= 0)
        r = put_folder(call, &source, task, err);
    if (r < 0)
        return r;
    *ret_task = TAKE_PTR(task);
    return 0;
}
