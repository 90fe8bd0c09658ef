/* import_beads.c: what `bd ready --json` prints becomes tasks.
 *
 * Both shapes are read: a list of issues, and an object with one. A bead belongs to the project whose prefix its
 * id begins with; those of a project that only coordinates are left out, as are types that nobody works on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/ask.h"
#include "cli/import.h"
#include "cli/import_subs.h"
#include "cli/program.h"
#include "cli/sanitize.h"
#include "os/files.h"

#define BEADS_MAX (16u << 20)

/* What can be worked on. */
static bool is_slingable(const char *type) {
    static const char *const types[] = { "task", "bug", "feature", "chore" };
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

/* --- reading --------------------------------------------------------------------------------- */

static int find_bd(struct strbuf *out) {
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at; at += *at == ':') {
        size_t length = strcspn(at, ":");
        strbuf_clear(out);
        strbuf_add(out, at, length);
        strbuf_puts(out, "/bd");
        if (length > 0 && access(strbuf_text(out), X_OK) == 0)
            return 0;
        at += length;
    }
    return -ENOENT;
}

static int run_bd(struct strbuf *out, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    static const char *const argv[] = { "bd", "ready", "--json", "--limit", "0", NULL };
    int status = 0;
    if (find_bd(&path) < 0)
        return error_set(err, -ENOENT,
                         "there is no program 'bd' in PATH; give a file: bd ready --json > FILE");
    int r = program_run(strbuf_text(&path), argv, PROGRAM_TAKE_OUTPUT, out, &status, err);
    if (r == 0 && status != 0)
        r = error_set(err, -EIO, "'bd ready --json' ended with code %d", status);
    if (r == 0 && out->length >= PROGRAM_OUTPUT_MAX)
        r = error_set(err, -EINVAL, "'bd ready --json' prints too much; give it as a file");
    return r;
}

static int read_text(const char *file, struct strbuf *out, struct error *err) {
    if (!file)
        return run_bd(out, err);
    return file_read_any(file, BEADS_MAX, out, err);
}

static int read_issues(const char *file, json_t **ret_root, const json_t **ret_issues,
                       struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *name = !file ? "bd ready --json" : strcmp(file, "-") == 0 ? "stdin" : file;
    json_error_t problem;
    int r = read_text(file, &text, err);
    if (r < 0)
        return r;
    json_t *root = json_loadb(strbuf_text(&text), text.length, 0, &problem);
    if (!root)
        return error_set(err, -EINVAL, "%.160s:%d:%d: %s", name, problem.line, problem.column,
                         problem.text);
    const json_t *issues = json_is_object(root) ? json_object_get(root, "issues") : root;
    if (!json_is_array(issues)) {
        json_decref(root);
        return error_set(err, -EINVAL,
                         "%.160s: expected a list of issues, or an object with 'issues'", name);
    }
    *ret_root = root;
    *ret_issues = issues;
    return 0;
}

/* --- projects -------------------------------------------------------------------------------- */

struct beads {
    struct import *import;
    json_t *projects; /* of the daemon; empty with --project */
};

static void take_project(void *ctx, const json_t *item) {
    json_array_append(ctx, (json_t *)item);
}

/* The project whose prefix the id begins with; NULL: none. */
static const json_t *project_of(const json_t *projects, const char *id) {
    size_t i, size = strcspn(id, "-");
    json_t *project;
    json_array_foreach(projects, i, project) {
        const char *prefix = ask_text(project, "prefix", "");
        if (strlen(prefix) == size && strncmp(prefix, id, size) == 0)
            return project;
    }
    return NULL;
}

static int ask_projects(struct beads *b) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_START);
    return code != CMD_OK
               ? code
               : ask_pages(&ask, "/v1/projects?limit=1000", 1000000, take_project, b->projects);
}

/* --- one bead -------------------------------------------------------------------------------- */

static json_t *prompt_of(const json_t *bead) {
    static const char *const parts[] = { "description", "design", "acceptance_criteria", "notes" };
    static const char *const heads[] = { "", "Design:\n", "Acceptance criteria:\n", "Notes:\n" };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, ask_text(bead, "title", ""));
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const char *part = ask_text(bead, parts[i], "");
        if (*part)
            strbuf_printf(&text, "\n\n%s%s", heads[i], part);
    }
    return json_string(strbuf_text(&text));
}

/* 0 is the most urgent of five, 2 what nobody chose: 80 … 100 … 120. */
static json_t *priority_of(const json_t *bead) {
    int64_t priority = ask_int(bead, "priority", 2);
    return json_integer(100 + 10 * ((priority < 0 ? 0 : priority > 4 ? 4 : priority) - 2));
}

static int refuse(const struct beads *b, size_t index, const char *id, const char *why) {
    struct error err = { 0 };
    if (*id)
        error_set(&err, -EINVAL, "bead '%.100s': %s", id, why);
    else
        error_set(&err, -EINVAL, "bead %zu: %s", index + 1, why);
    return import_refuse(b->import, *id ? id : "?", &err);
}

static const char *why_skipped(const struct beads *b, const json_t *bead, const char *type) {
    const char *status = ask_text(bead, "status", "open");
    const json_t *project = project_of(b->projects, ask_text(bead, "id", ""));
    if (!is_slingable(type))
        return "nobody works on its type: only task, bug, feature and chore";
    if (strcmp(status, "closed") == 0 || strcmp(status, "tombstone") == 0)
        return "it is closed";
    if (ask_true(project, "coordination"))
        return "its project only coordinates (projects.P.coordination)";
    if ((strcmp(status, "in_progress") == 0 || strcmp(status, "hooked") == 0)
        && !cmd_has(b->import->call, "force"))
        return "somebody works on it already; --force imports it all the same";
    return NULL;
}

static int take_bead(const struct beads *b, const json_t *bead, size_t index) {
    _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT;
    const char *id = ask_text(bead, "id", "");
    const char *type = ask_text(bead, "issue_type", ask_text(bead, "type", "task"));
    if (!*id)
        return refuse(b, index, "", "it has no 'id'");
    const char *why = why_skipped(b, bead, type);
    if (why) {
        import_skip(b->import, id, why);
        return CMD_OK;
    }
    sanitize_line(ask_text(bead, "title", ""), &title);
    if (title.length == 0)
        return refuse(b, index, id, "it has no 'title'");
    const json_t *project = project_of(b->projects, id);
    if (!project && !cmd_has(b->import->call, "project"))
        return refuse(b, index, id, "no project has the prefix of its id; give --project");
    json_t *meta = json_pack("{s:s, s:s}", "bead", id, "type", type);
    if (json_object_get(bead, "labels"))
        json_object_set(meta, "labels", json_object_get(bead, "labels"));
    json_t *task =
        json_pack("{s:s, s:s, s:o, s:o, s:o}", "external_id", id, "title", strbuf_text(&title),
                  "prompt", prompt_of(bead), "priority", priority_of(bead), "meta", meta);
    if (!cmd_has(b->import->call, "project"))
        json_object_set(task, "project", json_object_get(project, "name"));
    import_add(b->import, id, task);
    return CMD_OK;
}

static int beads_run(const struct cmd_call *call) {
    _cleanup_(import_finish) struct import im = { 0 };
    struct beads b = { .import = &im };
    struct error err = { 0 };
    json_t *root = NULL;
    const json_t *issues = NULL;
    if (!cmd_has(call, "agent"))
        return cmd_usage_error(call->cmd, "who shall be told the beads? give --agent");
    if (read_issues(call->arg_count > 0 ? call->args[0] : NULL, &root, &issues, &err) < 0)
        return cmd_error(&err);
    import_init(&im, call);
    b.projects = json_array();
    int code = ask_projects(&b);
    for (size_t i = 0; code == CMD_OK && i < json_array_size(issues); i++)
        code = take_bead(&b, json_array_get(issues, i), i);
    json_decref(b.projects);
    json_decref(root);
    return code == CMD_OK ? import_send(&im) : code;
}

static const struct cmd_option options[] = {
    IMPORT_OPTIONS,
    { NULL },
};

const struct cmd import_beads = {
    .name = "beads",
    .usage = "import beads [OPTIONS] --agent NAME [FILE|-]",
    .summary = "add what 'bd ready --json' prints",
    .text =
        "Reads a file, the standard input (-), or runs 'bd ready --json'. The id becomes the\n"
        "external id, so importing again adds what is new; title and description the prompt,\n"
        "priority 0 to 4 the priority 80 to 120. The project is that whose prefix the id has,\n"
        "or --project. Types other than task, bug, feature and chore are skipped with a warning.\n",
    .examples = "bd ready --json | sluice import beads --agent claude -\n"
                "sluice import beads --agent claude --project web ready.json\n",
    .options = options,
    .max_args = 1,
    .run = beads_run,
};
