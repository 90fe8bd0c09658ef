/* cmd_add.c: hands work to the daemon.
 *
 * The answer comes when the tasks are on disk. A batch (a file) is taken whole or not at all; what is
 * wrong with it is told by the line of the file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/agent_warning.h"
#include "cli/ask.h"
#include "cli/formula_find.h"
#include "cli/submit.h"
#include "taskfile/taskfile.h"

/* --- what to ask ----------------------------------------------------------------------------- */

static int check_file_call(const struct cmd_call *call) {
    const char *option = submit_task_option(call, NULL);
    if (option)
        return cmd_usage_error(call->cmd, "option '--%s' does not go with --file: write it there",
                               option);
    if (call->arg_count > 0)
        return cmd_usage_error(call->cmd, "'%s' does not go with --file", call->args[0]);
    return CMD_OK;
}

/* --- what came back -------------------------------------------------------------------------- */

static void print_task_line(const json_t *task, struct strbuf *out) {
    const char *result = ask_text(task, "result", "queued"), *name = ask_text(task, "name", NULL);
    int64_t position = ask_int(task, "queue_position", 0);
    sanitize_line(ask_text(task, "id", "?"), out);
    strbuf_printf(out, " %s", result);
    if (ask_true(task, "already"))
        strbuf_printf(out, ": %s", ask_text(task, "state", "?"));
    else if (strcmp(result, "queued") == 0 && position > 0)
        strbuf_printf(out, ", position %lld", (long long)position);
    if (name) {
        strbuf_puts(out, " (");
        sanitize_line(name, out);
        strbuf_putc(out, ')');
    }
    strbuf_putc(out, '\n');
}

static void print_answer(const json_t *answer) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    ASK_EACH(task, json_object_get(answer, "tasks")) {
        print_task_line(task, &out);
        output_some(&out);
    }
    output_rest(&out);
    const char *warning = ask_text(answer, "warning", NULL);
    if (warning)
        cmd_warn("%s", warning);
}

/* Under `agency` adding what is there already is a refusal, as its document has it. */
static int code_of_already(struct ask *ask) {
    bool already = false;
    ASK_EACH(task, json_object_get(ask->answer, "tasks")) {
        already |= ask_true(task, "already");
    }
    if (!already || ask_try_get(ask, "/v1/config") != 0)
        return CMD_OK;
    return ask_is(ask->answer, "preset", "agency") ? CMD_REFUSED : CMD_OK;
}

/* Where the tasks were written. */
struct source {
    const struct taskfile *file;
    const struct formula *formula;
};

/* The sentence of a refusal, with the place in the file where there is one. */
static int refused(const struct cmd_call *call, struct ask *ask, const struct source *source) {
    if (source && source->file && ask->index >= 0)
        taskfile_locate(source->file, (size_t)ask->index, &ask->err);
    if (source && source->formula && ask->index >= 0)
        formula_locate(source->formula, (size_t)ask->index, &ask->err);
    /* A name in a task that nobody knows is a mistake in the task. */
    bool unknown = ask_was_answered(ask) && ask->err.code == -ENOENT;
    int code = ask_refused(call, ask);
    return unknown ? CMD_USAGE : code;
}

static int send(const struct cmd_call *call, json_t *body, const struct source *source) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_START);
    if (code != CMD_OK) {
        json_decref(body);
        return code;
    }
    json_t *agents = agent_warning_names(json_object_get(body, "tasks"));
    if (ask_try_post(&ask, body, "/v1/tasks") != 0) {
        json_decref(agents);
        return refused(call, &ask, source);
    }
    if (call->json)
        (void)ask_print(&ask);
    else
        print_answer(ask.answer);
    code = code_of_already(&ask);
    agent_warning_print(&ask, agents);
    return code;
}

/* --- formulas -------------------------------------------------------------------------------- */

static int check_formula_call(const struct cmd_call *call) {
    /* The project is where the formula is looked for. */
    const char *option = submit_task_option(call, "project");
    if (option)
        return cmd_usage_error(call->cmd,
                               "option '--%s' does not go with --formula: write it there", option);
    if (cmd_has(call, "file"))
        return cmd_usage_error(call->cmd, "'--file' and '--formula' exclude each other");
    if (call->arg_count > 0)
        return cmd_usage_error(call->cmd, "'%s' does not go with --formula", call->args[0]);
    return CMD_OK;
}

static void put_project(json_t *body, const char *project) {
    ASK_EACH(task, json_object_get(body, "tasks")) {
        if (project && !json_object_get(task, "project"))
            json_object_set_new(task, "project", ask_string(project));
    }
}

static int add_formula(const struct cmd_call *call, const char *name) {
    _cleanup_(formula_places_finish) struct formula_places places = { 0 };
    _cleanup_(formula_values_finish) struct formula_values values = { 0 };
    _cleanup_(formula_freep) struct formula *formula = NULL;
    struct error err = { 0 };
    json_t *body = NULL;
    int code = check_formula_call(call);
    if (code == CMD_OK)
        code = formula_values_take(call, &values);
    if (code != CMD_OK)
        return code;
    int r = formula_places_find(cmd_value(call, "project"), &places, &err);
    if (r >= 0)
        r = formula_find(&places, name, &formula, &err);
    if (r >= 0)
        r = formula_expand(formula, values.items, values.count, &body, &err);
    if (r < 0)
        return cmd_error(&err);
    put_project(body, cmd_value(call, "project"));
    ask_take_options(call, submit_batch_options, body);
    return send(call, body, &(struct source){ .formula = formula });
}

static int add_file(const struct cmd_call *call, const char *path) {
    int code = check_file_call(call);
    if (code != CMD_OK)
        return code;
    struct error err = { 0 };
    _cleanup_(taskfile_freep) struct taskfile *file = NULL;
    if (taskfile_read(path, &file, &err) < 0)
        return cmd_error(&err);
    json_t *body = taskfile_body(file);
    ask_take_options(call, submit_batch_options, body);
    return send(call, body, &(struct source){ .file = file });
}

static int cmd_add_run(const struct cmd_call *call) {
    const char *file = cmd_value(call, "file"), *formula = cmd_value(call, "formula");
    if (formula)
        return add_formula(call, formula);
    if (cmd_has(call, "var"))
        return cmd_usage_error(call->cmd, "option '--var' needs --formula");
    if (file)
        return add_file(call, file);
    struct error err = { 0 };
    json_t *task = NULL;
    if (submit_task(call, &task, &err) < 0) {
        if (err.code == -EINVAL)
            return cmd_usage_error(call->cmd, "%s", err.text);
        return cmd_error(&err);
    }
    const char *folder = cmd_value(call, "cwd");
    if (folder && strcmp(folder, "-") != 0 && access(folder, X_OK) < 0)
        cmd_warn("there is no folder '%s' yet: without it, it cannot start", folder);
    json_t *body = json_pack("{s:[o]}", "tasks", task);
    ask_take_options(call, submit_batch_options, body);
    return send(call, body, NULL);
}

static const struct cmd_option add_options[] = {
    { "file", 'f', "FILE", "add the tasks of a YAML or JSON file; - is stdin" },
    { "formula", 'F', "NAME", "add the steps of this formula" },
    FORMULA_VAR_OPTION,
#define OPTION(member, name, letter, argument, text) { name, letter, argument, text },
#include "taskfile/task_members.inc"
    { "group", 'g', "NAME", "follow it together with others" },
    { "draft", 'D', NULL, "add it as a draft: it waits for 'sluice sling'" },
    { "force", 0, NULL, "add it although a guard says no" },
    { NULL },
};

const struct cmd cmd_add = { "add", .options = add_options, .max_args = CMD_ANY_ARGS,
                             .run = cmd_add_run };
