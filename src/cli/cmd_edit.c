/* cmd_edit.c: changes a task that does not run, with options or in an editor.
 *
 * Before the editor opens, the daemon is asked whether the task can be edited: by an edit that
 * changes nothing. The text that comes back is sent with the version that was read. A text that the
 * daemon does not accept stays in its file, whose path is printed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/program.h"
#include "cli/request.h"
#include "os/files.h"

#define TEXT_MAX (1u << 20)

struct editing {
    struct request req;
    json_t *body;
    char folder[4096];   /* of the file; "": none */
    char *path;          /* of the file; NULL: none */
    struct strbuf shown; /* what the editor was given */
    bool is_command;
};

static void editing_finish(struct editing *e) {
    request_finish(&e->req);
    json_decref(e->body);
    free(e->path);
    strbuf_finish(&e->shown);
}

/* --- the request ----------------------------------------------------------------------------- */

static int send_edit(const struct cmd_call *call, struct editing *e) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    request_path(&path, "/v1/tasks/", call->args[0], "/edit");
    return request_try_post(&e->req, json_incref(e->body), strbuf_text(&path));
}

static int print_answer(const struct cmd_call *call, const struct editing *e) {
    const json_t *answer = e->req.answer;
    if (call->json)
        return request_print(&e->req);
    return cmd_print_line("%s %s: %s", get_text(answer, "id", "?"),
                          get_true(answer, "already") ? "is unchanged" : "edited",
                          get_text(answer, "state", "?"));
}

/* --- without an editor ----------------------------------------------------------------------- */

static int take_prompt(const struct cmd_call *call, json_t *body) {
    const char *text = cmd_value(call, "prompt"), *file = cmd_value(call, "prompt-file");
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf prompt = STRBUF_INIT;
    if (!text && !file)
        return CMD_OK;
    if (text && file)
        return cmd_usage_error(call->cmd, "'--prompt' and '--prompt-file' cannot be used together");
    if (file && file_read_any(file, TEXT_MAX, &prompt, &err) < 0)
        return cmd_error(&err);
    strbuf_puts(&prompt, text ? text : "");
    const char *given = strbuf_text(&prompt);
    if (strlen(given) != prompt.length)
        return cmd_usage_error(call->cmd, "'%.200s' is not a text file: it has a NUL byte", file);
    if (given[strspn(given, " \t\r\n")] == '\0')
        return cmd_usage_error(call->cmd, "the prompt is empty");
    json_object_set_new(body, "prompt", json_text(given));
    return CMD_OK;
}

static int take_checks(const struct cmd_call *call, json_t *body) {
    json_auto_t *checks = json_array();
    const char *check;
    for (size_t i = 0; (check = cmd_value_at(call, "check", i)); i++)
        json_array_append_new(checks, json_text(check));
    if (json_array_size(checks) > 0 && cmd_has(call, "no-checks"))
        return cmd_usage_error(call->cmd, "'--check' and '--no-checks' cannot be used together");
    if (json_array_size(checks) > 0 || cmd_has(call, "no-checks"))
        json_object_set(body, "checks", checks);
    return CMD_OK;
}

static int take_options(const struct cmd_call *call, json_t *body) {
    int64_t priority = 0;
    int code = cmd_number(call, "priority", -1000000, 1000000, &priority);
    if (code == CMD_OK)
        code = take_prompt(call, body);
    if (code == CMD_OK)
        code = take_checks(call, body);
    if (code != CMD_OK)
        return code;
    request_take_members(call, body);
    if (cmd_has(call, "priority"))
        json_object_set_new(body, "priority", json_integer(priority));
    if (call->arg_count > 1)
        json_object_set_new(body, "argv", request_args(call, 1, call->arg_count));
    return CMD_OK;
}

/* --- the editor ------------------------------------------------------------------------------ */

static const char *editor_of(void) {
    const char *editor = cmd_env("VISUAL") ? cmd_env("VISUAL") : cmd_env("EDITOR");
    return editor ? editor : isatty(STDIN_FILENO) ? "vi" : NULL;
}

/* A prompt as it is, a command as a JSON list with one word per line. */
static int show_text(struct editing *e) {
    json_t *spec = json_object_get(e->req.answer, "spec"), *argv = json_object_get(spec, "argv");
    const char *prompt = get_text(spec, "prompt", "");
    e->is_command = argv != NULL;
    if (e->is_command) {
        char *text = json_dumps(argv, JSON_INDENT(2));
        strbuf_printf(&e->shown, "%s\n", text);
        free(text);
    } else {
        strbuf_printf(&e->shown, "%s\n", prompt);
    }
    e->body = json_pack("{s:I}", "version", (json_int_t)get_int(e->req.answer, "version", 0));
    return json_object_set_new(e->body, e->is_command ? "argv" : "prompt",
                               e->is_command ? json_incref(argv) : json_text(prompt));
}

static int write_file(struct editing *e, struct error *err) {
    const char *base = cmd_env("TMPDIR");
    (void)snprintf(e->folder, sizeof(e->folder), "%.4000s/sluice-edit-XXXXXX",
                   base ? base : "/tmp");
    if (!mkdtemp(e->folder))
        return error_set_errno(err, "create", e->folder);
    e->path = xasprintf("%s/%s.%s", e->folder, get_text(e->req.answer, "id", "task"),
                        e->is_command ? "json" : "md");
    return file_write_any(e->path, strbuf_text(&e->shown), e->shown.length, err);
}

static void remove_file(struct editing *e) {
    (void)unlink(e->path); /* an editor may leave a backup beside it, and then the folder stays */
    (void)rmdir(e->folder);
}

/* CMD_OK: it has ended with 0. */
static int run_editor(const struct editing *e, const char *editor) {
    struct error err = { 0 };
    int status = 0;
    _cleanup_(freep) char *script = xasprintf("%s \"$1\"", editor);
    const char *const argv[] = { "sh", "-c", script, "sh", e->path, NULL };
    if (program_run("/bin/sh", argv, PROGRAM_TAKE_NOTHING, NULL, &status, &err) < 0)
        return cmd_fail(&err);
    if (status == 0)
        return CMD_OK;
    cmd_warn("the editor '%s' ended with %d: nothing was changed", editor, status);
    return CMD_FAILED;
}

/* Puts the text into the request: 1 if it is a new one, 0 if not; <0 with a message. */
static int take_text(struct editing *e, const struct strbuf *text, struct error *err) {
    const char *now = strbuf_text(text);
    if (strcmp(now, strbuf_text(&e->shown)) == 0)
        return 0;
    if (strlen(now) != text->length)
        return error_set(err, -EINVAL, "the text contains a NUL byte: nothing was changed");
    if (now[strspn(now, " \t\r\n")] == '\0')
        return error_set(err, -EINVAL, "the text is empty: nothing was changed");
    if (!e->is_command) { /* without the newline that the file ends with */
        size_t size = text->length - (now[text->length - 1] == '\n');
        _cleanup_(freep) char *prompt = xstrndup(now, size);
        json_object_set_new(e->body, "prompt", json_text(prompt));
        return 1;
    }
    json_error_t problem;
    json_t *argv = json_loads(now, 0, &problem);
    if (!json_is_array(argv)) {
        json_decref(argv);
        return error_set(err, -EINVAL,
                         "the command must be a JSON list of words, as [\"make\", \"test\"]: "
                         "nothing was changed");
    }
    json_object_set_new(e->body, "argv", argv);
    return 1;
}

/* The file stays if it has a text that was not stored. */
static int read_back(const struct cmd_call *call, struct editing *e, int code) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = file_read_any(e->path, TEXT_MAX, &text, &err);
    if (r == 0)
        r = take_text(e, &text, &err);
    if (r < 0 && code == CMD_OK)
        code = cmd_error(&err);
    if (r > 0 && code == CMD_OK && send_edit(call, e) != 0)
        code = request_refused(call, &e->req);
    if (r == 0 || code == CMD_OK)
        remove_file(e);
    else
        cmd_warn("your text is in %s", e->path);
    return code == CMD_OK ? print_answer(call, e) : code;
}

static int edit_text(const struct cmd_call *call, struct editing *e) {
    struct error err = { 0 };
    const char *editor = editor_of();
    if (!editor)
        return cmd_usage_error(call->cmd,
                               "no editor is set: set EDITOR, or use '--prompt' or another option");
    int code = request_open(&e->req, REQUEST_START);
    if (code != CMD_OK)
        return code;
    if (request_try_task(&e->req, call->args[0]) != 0)
        return request_refused(call, &e->req);
    (void)show_text(e);
    if (write_file(e, &err) < 0)
        return cmd_fail(&err);
    if (send_edit(call, e) != 0) { /* changes nothing: can it be edited? */
        remove_file(e);
        return request_refused(call, &e->req);
    }
    return read_back(call, e, run_editor(e, editor));
}

static int edit_run(const struct cmd_call *call) {
    _cleanup_(editing_finish) struct editing e = { .shown = STRBUF_INIT };
    int code = request_check_name(call, call->args[0]);
    if (code == CMD_OK && call->given_count == 0 && call->arg_count == 1)
        return edit_text(call, &e);
    e.body = json_object();
    if (code == CMD_OK)
        code = take_options(call, e.body);
    if (code == CMD_OK)
        code = request_open(&e.req, REQUEST_START);
    if (code != CMD_OK)
        return code;
    return send_edit(call, &e) == 0 ? print_answer(call, &e) : request_refused(call, &e.req);
}

const struct cmd cmd_edit = {
    "edit", edit_run, 1, CMD_ANY_ARGS,
    CMD_OPTIONS(
        { "prompt", 'p', "TEXT", "the new prompt" },
        { "prompt-file", 0, "FILE", "read the new prompt from a file; - is stdin" },
        { "title", 't', "TEXT", "the title in lists; empty: the beginning of the prompt", "title" },
        { "priority", 'P', "N", "lower starts first" },
        { "timeout", 0, "SPAN", "stop a run after this time: 90s, 30m, 2h", "timeout_s" },
        { "idle-timeout", 0, "SPAN", "stop a run that prints nothing for this time",
          "idle_timeout_s" },
        { "check", 'c', "COMMAND", "replace its checks with this command (sh -c); repeatable" },
        { "no-checks", 0, NULL, "remove its checks" })
};
