/* submit_lists.c: `sluice add … ::: a b c`: one task for each row of the lists of inputs.
 *
 * Arguments and option values are expanded before they are read, so a task is checked as if the
 * user had typed it. Inputs are never parsed by a shell here: an argument stays an argument. All
 * tasks are built once before the first request, so that only the daemon can refuse a later one. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/inputs.h"
#include "cli/submit.h"
#include "os/files.h"

#define REQUEST_TASKS 10000u       /* the daemon's maximum */
#define REQUEST_BYTES (10u << 20)  /* it takes 16 MiB */
#define FILE_MAX      (256u << 20) /* of inputs */
#define PROMPT_MAX    (1u << 20)   /* as for a single task */

struct lists {
    const struct cmd_call *call;
    size_t word_count; /* arguments before the first list */
    struct inputs inputs;
    size_t rows;
    bool appends;  /* no placeholder takes the input: it is the last argument */
    bool by_stdin; /* a list has read standard input */

    /* The prompt file that was read last. */
    char *prompt_path;
    struct strbuf prompt;

    /* Of the current row: */
    struct arena arena;
    struct input_row row;
    const char **texts;

    size_t folders_missing;
    char *folder_missing; /* the first one */
    size_t first;         /* row of the first task of the current request */
};

static void lists_finish(struct lists *l) {
    inputs_finish(&l->inputs);
    freep(&l->prompt_path);
    strbuf_finish(&l->prompt);
    arena_finish(&l->arena);
    freep(&l->texts);
    freep(&l->folder_missing);
}

static size_t find_mark(const struct cmd_call *call, size_t from) {
    while (from < call->arg_count && !inputs_is_mark(call->args[from]))
        from++;
    return from;
}

bool submit_has_lists(const struct cmd_call *call) {
    return find_mark(call, 0) < call->arg_count || cmd_has(call, "arg-file")
           || cmd_has(call, "null");
}

/* --- reading the lists ------------------------------------------------------------------------ */

static int read_file(struct lists *l, const char *path, bool is_linked, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    bool is_stdin = strcmp(path, "-") == 0;
    if (is_stdin && l->by_stdin)
        return error_set(err, -EINVAL, "standard input can be only one list");
    l->by_stdin |= is_stdin;
    int r = inputs_begin(&l->inputs, is_stdin ? "standard input" : path, is_linked, err);
    if (r >= 0)
        r = file_read_any(path, FILE_MAX, &bytes, err);
    if (r >= 0)
        r = inputs_split(&l->inputs, strbuf_text(&bytes), bytes.length,
                         cmd_has(l->call, "null") ? '\0' : '\n', err);
    return r;
}

/* The words from the mark at `from` to the next one, which is the result. */
static int read_marked(struct lists *l, size_t from, size_t *ret_end, struct error *err) {
    const char *mark = l->call->args[from];
    bool is_linked = strchr(mark, '+'), is_file = strncmp(mark, "::::", 4) == 0;
    size_t end = *ret_end = find_mark(l->call, from + 1);
    int r = is_file ? 0 : inputs_begin(&l->inputs, mark, is_linked, err);
    if (is_file && end == from + 1)
        return error_set(err, -EINVAL, "'%s' needs a file; '-' is standard input", mark);
    for (size_t i = from + 1; r >= 0 && i < end; i++) {
        const char *word = l->call->args[i];
        if (is_file)
            r = read_file(l, word, is_linked, err);
        else
            inputs_add(&l->inputs, word, strlen(word));
    }
    return r;
}

static int read_lists(struct lists *l, struct error *err) {
    const char *path;
    int r = 0;
    l->word_count = find_mark(l->call, 0);
    for (size_t n = 0; r >= 0 && (path = cmd_value_at(l->call, "arg-file", n)); n++)
        r = read_file(l, path, false, err);
    for (size_t at = l->word_count; r >= 0 && at < l->call->arg_count;)
        r = read_marked(l, at, &at, err);
    if (r >= 0 && l->inputs.count == 0)
        r = error_set(err, -EINVAL, "'--null' needs a list of inputs: '--arg-file' or '::::'");
    return r;
}

/* --- templates -------------------------------------------------------------------------------- */

static bool has_prompt(const struct cmd_call *call) {
    return cmd_has(call, "prompt") || cmd_has(call, "prompt-file");
}

/* The contents of the prompt file are the prompt of every task, placeholders included. They are
 * read again only if the path differs. */
static int read_prompt(struct lists *l, const char *path, struct error *err) {
    if (l->prompt_path && strcmp(l->prompt_path, path) == 0)
        return 0;
    if (strcmp(path, "-") == 0 && l->by_stdin)
        return error_set(err, -EINVAL, "standard input is a list; it cannot be the prompt, too");
    freep(&l->prompt_path);
    strbuf_clear(&l->prompt);
    int r = file_read_any(path, PROMPT_MAX, &l->prompt, err);
    if (r < 0)
        return r;
    if (strlen(strbuf_text(&l->prompt)) != l->prompt.length)
        return error_set(err, -EINVAL, "'%.200s' is not text: it contains a NUL byte", path);
    l->prompt_path = xstrdup(path);
    return 0;
}

/* Options that only label a task: an input in them is not yet used. */
static bool is_label(const struct cmd_option *option) {
    return word_in(option->member, "title meta external_id");
}

static int check_options(struct lists *l, bool *ret_found, struct error *err) {
    for (size_t i = 0; i < l->call->given_count; i++) {
        const struct cmd_given *given = &l->call->given[i];
        bool found = false;
        if (!given->option->member || !given->value)
            continue;
        if (input_template_check(given->value, l->inputs.count, &found, err) < 0)
            return error_prefix(err, "option '--%s'", given->option->name);
        *ret_found |= found && !is_label(given->option);
        bool is_path = strcmp(given->option->name, "prompt-file") == 0;
        if (is_path && !found) /* a path with placeholders: each file is checked later */
            if (read_prompt(l, given->value, err) < 0
                || input_template_check(strbuf_text(&l->prompt), l->inputs.count, ret_found, err)
                       < 0)
                return err->code;
    }
    return 0;
}

static int check_templates(struct lists *l, struct error *err) {
    const struct cmd_call *call = l->call;
    bool found = false;
    if (l->word_count == 0 && !has_prompt(call) && !cmd_has(call, "agent"))
        return error_set(err, -EINVAL,
                         "there is no command to run; to run each input as a shell command, write "
                         "'-- sh -c {}' before the list");
    int r = check_options(l, &found, err);
    for (size_t i = 0; r >= 0 && i < l->word_count; i++)
        r = input_template_check(call->args[i], l->inputs.count, &found, err);
    l->appends = !found;
    return r;
}

/* --- one task --------------------------------------------------------------------------------- */

static const char *expand(struct lists *l, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    input_template_expand(text, &l->row, &out);
    return arena_strndup(&l->arena, strbuf_text(&out), out.length);
}

/* A word that is only `{}` becomes an argument for each list. */
static void expand_word(struct lists *l, const char *word, struct cmd_call *out) {
    struct input_row all = l->row;
    if (!input_template_is_each(word)) {
        out->args[out->arg_count++] = expand(l, word);
        return;
    }
    for (size_t i = 0; i < all.count; i++) {
        l->row = (struct input_row){ &all.texts[i], 1, all.number };
        out->args[out->arg_count++] = expand(l, word);
    }
    l->row = all;
}

/* The input is appended to a prompt as a word. */
static const char *expand_prompt(struct lists *l, const char *text) {
    if (!l->appends)
        return expand(l, text);
    size_t length = strlen(text);
    bool blank = length == 0 || text[length - 1] == ' ' || text[length - 1] == '\n';
    return expand(l, arena_printf(&l->arena, "%s%s{}", text, blank ? "" : " "));
}

static int expand_given(struct lists *l, struct cmd_given *given, struct error *err) {
    static const struct cmd_option prompt = { "prompt", 0, "TEXT", "", "prompt" };
    const char *name = given->option->name;
    if (!given->option->member || !given->value)
        return 0;
    bool is_file = strcmp(name, "prompt-file") == 0;
    if (!is_file) {
        given->value =
            strcmp(name, "prompt") == 0 ? expand_prompt(l, given->value) : expand(l, given->value);
        return 0;
    }
    bool found = false, conflict = cmd_has(l->call, "prompt") || l->word_count > 0;
    given->value = expand(l, given->value);
    if (conflict) /* submit_task says what is wrong */
        return 0;
    int r = read_prompt(l, given->value, err);
    if (r >= 0)
        r = input_template_check(strbuf_text(&l->prompt), l->inputs.count, &found, err);
    if (r >= 0)
        *given = (struct cmd_given){ &prompt, expand_prompt(l, strbuf_text(&l->prompt)) };
    return r;
}

/* The call as if the user had typed it with the inputs of the current row; in the arena. */
static int expand_call(struct lists *l, struct cmd_call *out, struct error *err) {
    const struct cmd_call *call = l->call;
    size_t lists = l->inputs.count, most = (l->word_count + 1) * lists;
    *out = *call;
    out->args = arena_alloc(&l->arena, most * sizeof(*out->args));
    out->given = arena_alloc(&l->arena, (call->given_count + 1) * sizeof(*out->given));
    out->arg_count = 0;
    for (size_t i = 0; i < l->word_count; i++)
        expand_word(l, call->args[i], out);
    if (l->appends && !has_prompt(call))
        expand_word(l, "{}", out);
    int r = 0;
    for (size_t i = 0; r >= 0 && i < call->given_count; i++) {
        out->given[i] = call->given[i];
        r = expand_given(l, &out->given[i], err);
    }
    return r;
}

static void note_folder(struct lists *l, const struct cmd_call *call) {
    const char *folder = cmd_value(call, "cwd");
    if (!folder || strcmp(folder, "-") == 0 || access(folder, X_OK) == 0)
        return;
    if (l->folders_missing++ == 0)
        l->folder_missing = xstrdup(folder);
}

/* Is it also wrong without an input? Then no input is to blame. */
static bool is_wrong_anyway(const struct lists *l, const struct error *err) {
    struct cmd_call call = *l->call;
    struct error plain = { 0 };
    json_t *task = NULL;
    call.arg_count = l->word_count;
    int r = submit_task(&call, &task, &plain);
    json_decref(task);
    return r < 0 && strcmp(plain.text, err->text) == 0;
}

static int build_task(struct lists *l, size_t index, json_t **ret_task, struct error *err) {
    struct cmd_call call;
    arena_reset(&l->arena);
    inputs_row(&l->inputs, index, l->texts);
    l->row = (struct input_row){ l->texts, l->inputs.count, index + 1 };
    int r = expand_call(l, &call, err);
    if (r >= 0)
        r = submit_task(&call, ret_task, err);
    if (r < 0 && is_wrong_anyway(l, err))
        return r;
    if (r < 0)
        return error_prefix(err, "input %zu ('%.80s')", index + 1, l->texts[0]);
    note_folder(l, &call);
    return 0;
}

/* As many tasks from row `from` on as fit into a request; *ret_end: the next row. */
static int build_tasks(struct lists *l, size_t from, json_t **ret_tasks, size_t *ret_end,
                       struct error *err) {
    json_auto_t *tasks = json_array();
    size_t bytes = 0, at = from;
    for (; at < l->rows && at - from < REQUEST_TASKS && bytes < REQUEST_BYTES; at++) {
        json_t *task = NULL;
        int r = build_task(l, at, &task, err);
        if (r < 0)
            return r;
        bytes += json_dumpb(task, NULL, 0, JSON_COMPACT);
        json_array_append_new(tasks, task);
    }
    *ret_end = at;
    *ret_tasks = TAKE_PTR(tasks);
    return 0;
}

/* --- requests --------------------------------------------------------------------------------- */

/* Does the message quote the value of an option that is the same for all inputs? */
static bool names_option(const struct lists *l, const char *message) {
    for (size_t i = 0; i < l->call->given_count; i++) {
        const struct cmd_given *given = &l->call->given[i];
        bool found = false;
        if (!given->option->member || !given->value || !given->value[0]
            || input_template_check(given->value, l->inputs.count, &found, NULL) < 0 || found)
            continue;
        _cleanup_(freep) char *quoted = xasprintf("'%s'", given->value);
        if (strstr(message, quoted))
            return true;
    }
    return false;
}

/* For submit.locate: the input that the task was made from. */
static void locate_input(const void *ctx, size_t index, struct error *err) {
    const struct lists *l = ctx;
    struct error old = *err;
    const char *text = strncmp(old.text, "task ", 5) == 0 ? strstr(old.text, ": ") : NULL;
    if (names_option(l, old.text)) {
        (void)error_set(err, old.code, "%.500s", text ? text + 2 : old.text);
        return;
    }
    if (l->first + index >= l->rows)
        return;
    inputs_row(&l->inputs, l->first + index, l->texts);
    (void)error_set(err, old.code, "%.400s (input %zu, '%.60s')", old.text, l->first + index + 1,
                    l->texts[0]);
}

/* Without --group the first request makes a group, which all of them belong to. */
static json_t *make_body(const struct lists *l, json_t *tasks, const char *group) {
    json_t *body = json_pack("{s:o}", "tasks", tasks);
    request_take_options(l->call, submit_batch_options, body);
    if (group && !cmd_has(l->call, "group"))
        set_text(body, "group", group);
    else if (!cmd_has(l->call, "group") && !client_is_in_run() && !cmd_has(l->call, "dry-run"))
        json_object_set_new(body, "new_group", json_true());
    return body;
}

static void report_group(const struct lists *l, const char *group) {
    if (group && !cmd_has(l->call, "group") && !l->call->json)
        cmd_warn("group %s; 'sluice logs --group %s' prints their output", group, group);
}

/* `tasks`: those of the first request, which end before row `end`; taken. */
static int send_all(struct lists *l, json_t *tasks, size_t end) {
    struct submit submit = { .call = l->call, .locate = locate_input, .ctx = l };
    _cleanup_(freep) char *group = NULL;
    struct error err = { 0 };
    int code = submit_open(&submit);
    while (code == CMD_OK && tasks) {
        code = submit_send(&submit, make_body(l, TAKE_PTR(tasks), group));
        if (code != CMD_OK)
            break;
        const char *name = get_text(submit.req.answer, "group", NULL);
        if (!group && name)
            group = xstrdup(name);
        l->first = end;
        if (l->first < l->rows && build_tasks(l, l->first, &tasks, &end, &err) < 0)
            code = cmd_error(&err);
    }
    json_decref(tasks);
    if (code != CMD_OK && l->first > 0 && !cmd_has(l->call, "dry-run"))
        cmd_warn("the tasks of the inputs 1 to %zu were added; those of the inputs %zu to %zu were "
                 "not",
                 l->first, l->first + 1, l->rows);
    code = submit_end(&submit, code);
    report_group(l, group);
    return code;
}

/* Builds every task; keeps those of the first request. */
static int build_all(struct lists *l, json_t **ret_tasks, size_t *ret_end, struct error *err) {
    json_auto_t *first = NULL;
    size_t first_end = 0;
    for (size_t from = 0, end; from < l->rows; from = end) {
        json_auto_t *tasks = NULL;
        int r = build_tasks(l, from, &tasks, &end, err);
        if (r < 0)
            return r;
        if (from == 0) {
            first = TAKE_PTR(tasks);
            first_end = end;
        }
    }
    *ret_tasks = TAKE_PTR(first);
    *ret_end = first_end;
    return 0;
}

static int nothing_to_add(const struct lists *l) {
    const char *name = "";
    for (size_t i = l->inputs.count; i > 0; i--)
        if (l->inputs.lists[i - 1].count == 0)
            name = l->inputs.lists[i - 1].name;
    cmd_warn("no inputs in '%s': nothing was added", name);
    return l->call->json ? output_json(json_pack("{s:[], s:n}", "tasks", "group")) : CMD_OK;
}

static void warn_of_rows(const struct lists *l, size_t unused) {
    if (unused > 0)
        cmd_warn("linked lists differ in length: %zu input%s not used", unused,
                 unused == 1 ? " is" : "s are");
    if (l->folders_missing == 1)
        cmd_warn("folder '%s' does not exist yet; its task cannot start without it",
                 l->folder_missing);
    else if (l->folders_missing > 1)
        cmd_warn("%zu folders do not exist yet, '%s' and others; their tasks cannot start without "
                 "them",
                 l->folders_missing, l->folder_missing);
}

int submit_lists(const struct cmd_call *call) {
    _cleanup_(lists_finish) struct lists l = { .call = call };
    json_t *tasks = NULL;
    struct error err = { 0 };
    size_t unused = 0, end = 0;
    int r = read_lists(&l, &err);
    if (r >= 0)
        r = check_templates(&l, &err);
    if (r >= 0)
        r = inputs_count(&l.inputs, &l.rows, &unused, &err);
    if (r >= 0 && l.rows == 0)
        return nothing_to_add(&l);
    l.texts = xcalloc(l.inputs.count + 1, sizeof(*l.texts));
    if (r >= 0)
        r = build_all(&l, &tasks, &end, &err);
    if (r == -EINVAL || r == -E2BIG)
        return cmd_usage_error(call->cmd, "%s", err.text);
    if (r < 0)
        return cmd_error(&err);
    warn_of_rows(&l, unused);
    return send_all(&l, tasks, end);
}
