/* cmd_add.c: submits one task from the options, one per input of a list, or the tasks of a file or
 * formula.
 *
 * The answer comes when the tasks are on disk. A file is added completely or not at all. Paths and
 * variables are resolved here, because the daemon has another working directory and environment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/number.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/daemon.h"
#include "cli/formula_find.h"
#include "cli/preflight.h"
#include "cli/request.h"
#include "cli/submit.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/home.h"
#include "taskfile/task_member.h"
#include "taskfile/taskfile.h"

/* far above the daemon's limit, so that the daemon reports the error */
#define PROMPT_MAX (1u << 20)

const char *const submit_batch_options[][2] = {
    { "group", "group" },
    { "draft", "draft" },
    { "force", "force" },
    { NULL },
};

static int not_text(const char *text, struct error *err) {
    return error_set(err, -EINVAL, "'%.200s' is not UTF-8, which tasks must be", text);
}

static int put_text(json_t *object, const char *member, const char *text, struct error *err) {
    return json_object_set_new(object, member, json_string(text)) < 0 ? not_text(text, err) : 0;
}

/* KEY=VALUE; for an environment variable also KEY alone, which passes it on. If a member accepts
 * any value, it is JSON or a text. */
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

static int read_option(const struct cmd_call *call, const struct cmd_option *option,
                       const struct task_source *source, json_t **ret_value, struct error *err) {
    const struct task_member *m = task_member_find(option->member);
    const char *text = cmd_value(call, option->name);
    if (m->kind == MEMBER_SWITCH)
        return task_member_parse(m, m->name, "true", source, ret_value, err);
    if (strcmp(option->name, "in") == 0) { /* plain digits are seconds here, not a time */
        time_ms span = 0;
        int r = number_parse_span(text, &span, err);
        *ret_value = json_integer(time_add(source->now, span));
        return r;
    }
    if (m->kind < MEMBER_NAMES)
        return task_member_parse(m, m->name, text, source, ret_value, err);
    json_auto_t *all = NULL;
    int r = gather(call, option->name, m, &all, err);
    if (r == 0)
        r = task_member_check(m, m->name, all, source, ret_value, err);
    if (r == 0 && !*ret_value)
        *ret_value = json_incref(all);
    return r;
}

/* The three options of a gate set one member. */
static int put_gate(const struct cmd_call *call, const struct task_source *source, json_t *task,
                    struct error *err) {
    static const char *const options[][2] = { { "gate", "run" },
                                              { "gate-every", "every_s" },
                                              { "gate-timeout", "timeout_s" } };
    json_auto_t *gate = json_object();
    json_t *other = NULL;
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(options); i++)
        if (cmd_has(call, options[i][0]))
            r = put_text(gate, options[i][1], cmd_value(call, options[i][0]), err);
    if (r < 0 || json_object_size(gate) == 0)
        return r;
    if (!cmd_has(call, "gate"))
        return error_set(err, -EINVAL, "option '--%s' needs '--gate'",
                         cmd_has(call, "gate-every") ? "gate-every" : "gate-timeout");
    r = task_member_check(task_member_find("gate"), "gate", gate, source, &other, err);
    if (r < 0)
        return error_prefix(err, "option '--gate'");
    json_object_set_new(task, "gate", other ? other : json_incref(gate));
    return 0;
}

static int put_options(const struct cmd_call *call, const struct task_source *source, json_t *task,
                       struct error *err) {
    for (const struct cmd_option *o = call->cmd->options; o->name; o++) {
        json_t *value = NULL;
        bool elsewhere = !o->member || word_in(o->member, "prompt cwd gate");
        if (elsewhere || !cmd_has(call, o->name))
            continue;
        int r = read_option(call, o, source, &value, err);
        if (r < 0) {
            json_decref(value);
            return error_prefix(err, "option '--%s'", o->name);
        }
        json_object_set_new(task, o->member, value);
    }
    if (cmd_has(call, "serial"))
        json_object_set_new(task, "parallelizable", json_false());
    return put_gate(call, source, task, err);
}

static int put_prompt(const struct cmd_call *call, json_t *task, struct error *err) {
    const char *file = cmd_value(call, "prompt-file"), *text = cmd_value(call, "prompt");
    _cleanup_(strbuf_finish) struct strbuf prompt = STRBUF_INIT;
    if (file && text)
        return error_set(err, -EINVAL, "'--prompt' and '--prompt-file' cannot be used together");
    if ((file || text) && call->arg_count > 0)
        return error_set(err, -EINVAL,
                         "the prompt is given with '%.200s'; unexpected argument '%.200s'",
                         file ? file : "--prompt", call->args[0]);
    int r = file ? file_read_any(file, PROMPT_MAX, &prompt, err) : 0;
    if (r < 0)
        return r;
    strbuf_puts(&prompt, text ? text : "");
    for (size_t i = 0; i < call->arg_count; i++)
        strbuf_printf(&prompt, "%s%s", i > 0 ? " " : "", call->args[i]);
    if (strlen(strbuf_text(&prompt)) != prompt.length)
        return error_set(err, -EINVAL, "'%.200s' is not a text file: it contains a NUL byte", file);
    if (prompt.length == 0)
        return error_set(err, -EINVAL, "the prompt for the agent%s%.200s%s is empty",
                         cmd_has(call, "agent") ? " '" : "",
                         cmd_has(call, "agent") ? cmd_value(call, "agent") : "",
                         cmd_has(call, "agent") ? "'" : "");
    return put_text(task, "prompt", strbuf_text(&prompt), err);
}

static int put_command(const struct cmd_call *call, json_t *task, struct error *err) {
    if (call->arg_count == 0 || !*call->args[0])
        return error_set(err, -EINVAL, "no command given; write it after --");
    json_t *argv = json_array();
    json_object_set_new(task, "argv", argv);
    for (size_t i = 0; i < call->arg_count; i++)
        if (json_array_append_new(argv, json_string(call->args[i])) < 0)
            return not_text(call->args[i], err);
    return 0;
}

/* A workspace determines the folder. A child works in the folder of its run. */
static int put_folder(const struct cmd_call *call, const struct task_source *source, json_t *task,
                      struct error *err) {
    const char *folder = cmd_value(call, "cwd");
    json_t *path = NULL;
    if (folder ? strcmp(folder, "-") == 0 : cmd_has(call, "workspace") || client_is_in_run())
        return 0;
    if (!folder && !source->folder)
        return error_set(err, -ENOENT, "the current folder no longer exists; give one with --cwd");
    int r = task_member_parse(task_member_find("cwd"), "cwd", folder ? folder : source->folder,
                              source, &path, err);
    if (r < 0)
        return folder ? error_prefix(err, "option '--cwd'") : r;
    json_object_set_new(task, "cwd", path);
    return 0;
}

int submit_task(const struct cmd_call *call, json_t **ret_task, struct error *err) {
    json_auto_t *task = json_object();
    if (cmd_has(call, "in") && cmd_has(call, "not-before"))
        return error_set(err, -EINVAL, "'--in' and '--not-before' cannot be used together");
    if (cmd_has(call, "parallel") && cmd_has(call, "serial"))
        return error_set(err, -EINVAL, "'--parallel' and '--serial' cannot be used together");
    _cleanup_(freep) char *here = getcwd(NULL, 0);
    struct task_source source = { .folder = here, .now = clock_read() };
    int r = put_options(call, &source, task, err);
    if (r >= 0)
        r = cmd_has(call, "agent") || cmd_has(call, "agents") || cmd_has(call, "prompt")
                    || cmd_has(call, "prompt-file")
                ? put_prompt(call, task, err)
                : put_command(call, task, err);
    if (r >= 0)
        r = put_folder(call, &source, task, err);
    if (r < 0)
        return r;
    *ret_task = TAKE_PTR(task);
    return 0;
}

/* `source`: "file" or "formula". `but`: a task option that is allowed with it; or NULL. */
static int check_alone(const struct cmd_call *call, const char *source, const char *but) {
    for (const struct cmd_option *o = call->cmd->options; o->name; o++)
        if (o->member && cmd_has(call, o->name) && !(but && strcmp(o->name, but) == 0))
            return cmd_usage_error(
                call->cmd, "option '--%s' cannot be used with --%s; write it into the file instead",
                o->name, source);
    if (call->arg_count > 0)
        return cmd_usage_error(call->cmd, "unexpected argument '%s' with --%s", call->args[0],
                               source);
    if (submit_has_lists(call))
        return cmd_usage_error(call->cmd, "lists of inputs cannot be used with --%s", source);
    return CMD_OK;
}

/* For submit.locate. */
static void locate_in_file(const void *file, size_t index, struct error *err) {
    (void)taskfile_locate(file, index, err);
}

static void locate_in_formula(const void *formula, size_t index, struct error *err) {
    (void)formula_locate(formula, index, err);
}

/* Takes `body`. */
static int send_once(struct submit *submit, json_t *body) {
    int code = submit_open(submit);
    if (code == CMD_OK)
        code = submit_send(submit, body);
    else
        json_decref(body);
    return submit_end(submit, code);
}

static int add_formula(const struct cmd_call *call, const char *name) {
    _cleanup_(formula_dirs_finish) struct formula_dirs dirs = { 0 };
    _cleanup_(formula_values_finish) struct formula_values values = { 0 };
    _cleanup_(formula_freep) struct formula *formula = NULL;
    struct error err = { 0 };
    json_t *body = NULL;
    if (cmd_has(call, "file"))
        return cmd_usage_error(call->cmd, "'--file' and '--formula' cannot be used together");
    int code = check_alone(call, "formula", "project"); /* determines where to search */
    if (code == CMD_OK)
        code = formula_values_take(call, &values);
    if (code != CMD_OK)
        return code;
    int r = formula_dirs_find(cmd_value(call, "project"), &dirs, &err);
    if (r >= 0)
        r = formula_find(&dirs, name, &formula, &err);
    if (r >= 0)
        r = formula_expand(formula, values.items, values.count, &body, &err);
    if (r < 0)
        return cmd_error(&err);
    EACH_ITEM(task, json_object_get(body, "tasks")) {
        if (!json_object_get(task, "project"))
            set_text(task, "project", cmd_value(call, "project"));
    }
    request_take_options(call, submit_batch_options, body);
    struct submit submit = { .call = call, .locate = locate_in_formula, .ctx = formula };
    return send_once(&submit, body);
}

static int add_file(const struct cmd_call *call, const char *path) {
    int code = check_alone(call, "file", NULL);
    if (code != CMD_OK)
        return code;
    struct error err = { 0 };
    _cleanup_(taskfile_freep) struct taskfile *file = NULL;
    if (taskfile_read(path, &file, &err) < 0)
        return cmd_error(&err);
    json_t *body = taskfile_body(file);
    request_take_options(call, submit_batch_options, body);
    struct submit submit = { .call = call, .locate = locate_in_file, .ctx = file };
    return send_once(&submit, body);
}

static int cmd_add_run(const struct cmd_call *call) {
    const char *file = cmd_value(call, "file"), *formula = cmd_value(call, "formula");
    if (formula)
        return add_formula(call, formula);
    if (cmd_has(call, "var"))
        return cmd_usage_error(call->cmd, "option '--var' needs --formula");
    if (file)
        return add_file(call, file);
    if (submit_has_lists(call))
        return submit_lists(call);
    struct error err = { 0 };
    json_t *task = NULL;
    if (submit_task(call, &task, &err) < 0) {
        if (err.code == -EINVAL)
            return cmd_usage_error(call->cmd, "%s", err.text);
        return cmd_error(&err);
    }
    const char *folder = cmd_value(call, "cwd");
    if (folder && strcmp(folder, "-") != 0 && access(folder, X_OK) < 0)
        cmd_warn("folder '%s' does not exist yet; the task cannot start without it", folder);
    json_t *body = json_pack("{s:[o]}", "tasks", task);
    request_take_options(call, submit_batch_options, body);
    struct submit submit = { .call = call };
    return send_once(&submit, body);
}

static const struct cmd_option add_options[] = {
#define SECTION(title)                               CMD_HEADING(title),
#define OPTION(member, name, letter, argument, text) { name, letter, argument, text, #member },
#include "taskfile/task_members.inc"
    CMD_HEADING("Several tasks at once"),
    { "file", 'f', "FILE", "add the tasks of a YAML or JSON file; - is stdin" },
    { "formula", 'F', "NAME", "add the steps of this formula" },
    FORMULA_VAR_OPTION,
    { "arg-file", 0, "FILE", "a list of inputs, one per line; - is stdin; repeatable" },
    { "null", '0', NULL, "inputs in files are separated by NUL, not by line ends" },
    CMD_HEADING("How it is added"),
    { "group", 'g', "NAME", "add it to this group" },
    { "draft", 'D', NULL, "add it as a draft: it waits for 'sluice sling'" },
    { "force", 0, NULL, "override the guards" },
    { "dry-run", 'n', NULL, "print what would be added, and add nothing" },
    { NULL },
};

const struct cmd cmd_add = { "add", cmd_add_run, 0, CMD_ANY_ARGS, add_options };
