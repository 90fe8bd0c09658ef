/* import_beads.c: imports the output of `bd ready --json`.
 *
 * The file has a list of issues, or an object with one. A bead belongs to the project whose prefix
 * its id has. Beads of coordination projects, and types that are not work, are skipped. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/import.h"
#include "cli/program.h"
#include "cli/request.h"
#include "os/files.h"

#define BEADS_MAX (16u << 20)
#define DEPTH_MAX 200 /* of dependencies; beyond it, in file order */

static int run_bd(struct strbuf *out, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    static const char *const argv[] = { "bd", "ready", "--json", "--limit", "0", NULL };
    int status = 0;
    if (daemon_find_in_path("bd", &path) < 0)
        return error_set(err, -ENOENT,
                         "there is no program 'bd' in PATH; give a file: bd ready --json > FILE");
    int r = program_run(strbuf_text(&path), argv, PROGRAM_TAKE_OUTPUT, out, &status, err);
    if (r == 0 && status != 0)
        r = error_set(err, -EIO, "'bd ready --json' ended with code %d", status);
    if (r == 0 && out->length >= PROGRAM_OUTPUT_MAX)
        r = error_set(err, -EINVAL, "'bd ready --json' prints too much; give it as a file");
    return r;
}

static int read_issues(const char *file, json_t **ret_root, const json_t **ret_issues,
                       struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *name = !file ? "bd ready --json" : strcmp(file, "-") == 0 ? "stdin" : file;
    json_error_t problem;
    int r = file ? file_read_any(file, BEADS_MAX, &text, err) : run_bd(&text, err);
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

struct beads {
    struct import *import;
    const json_t *issues;
    json_t *projects;  /* the daemon's; empty with --project */
    json_t *positions; /* id → position in `issues` */
    json_t *reasons;   /* id → why it is skipped, or "" */
    json_t *known;     /* of import_known */
    struct request *req;
};

/* The project with the longest matching prefix of the id; NULL: none. */
static const json_t *project_of(const json_t *projects, const char *id) {
    const json_t *found = NULL;
    size_t longest = 0;
    EACH_ITEM(project, projects) {
        const char *prefix = get_text(project, "prefix", "");
        size_t size = strlen(prefix);
        if (size <= longest || strncmp(prefix, id, size) != 0 || id[size] != '-')
            continue;
        found = project;
        longest = size;
    }
    return found;
}

/* The task of an earlier import of the bead, as "#17"; NULL: none. */
static const char *known_task(struct beads *b, const char *id) {
    const json_t *known = import_known(b->req, b->known, cmd_value(b->import->call, "project"), id);
    return get_text(known, "ref", NULL);
}

struct link {
    const char *id, *type;
};

static struct link read_link(const json_t *dependency) {
    if (json_is_string(dependency))
        return (struct link){ json_string_value(dependency), "blocks" };
    const char *id = get_text(dependency, "depends_on_id", get_text(dependency, "id", ""));
    return (struct link){ id, get_text(dependency, "type",
                                       get_text(dependency, "dependency_type", "blocks")) };
}

static const char *parent_of(const json_t *bead) {
    const char *parent = get_text(bead, "parent", get_text(bead, "parent_id", ""));
    EACH_ITEM(dependency, json_object_get(bead, "dependencies")) {
        struct link link = read_link(dependency);
        if (!*parent && strcmp(link.type, "parent-child") == 0)
            parent = link.id;
    }
    return parent;
}

/* Another bead as a reference: its name in this import, or its existing task. NULL: neither. */
static const char *reference(struct beads *b, const char *id) {
    const char *reason = json_string_value(json_object_get(b->reasons, id));
    return reason && !*reason ? id : known_task(b, id);
}

static bool is_closed(const struct beads *b, const char *id) {
    const json_t *position = json_object_get(b->positions, id);
    const json_t *bead = json_array_get(b->issues, (size_t)json_integer_value(position));
    const char *status = get_text(position ? bead : NULL, "status", "open");
    return word_in(status, "closed tombstone");
}

static void add_parent(struct beads *b, const json_t *bead, json_t *task) {
    const char *parent = parent_of(bead), *named = *parent ? reference(b, parent) : NULL;
    if (!*parent)
        return;
    json_object_set_new(json_object_get(task, "meta"), "parent", json_text(parent));
    if (!named) {
        cmd_warn("%s: its parent '%s' is neither imported nor known here; kept as meta.parent",
                 get_text(bead, "id", "?"), parent);
        return;
    }
    json_object_set_new(task, "parent", json_text(named));
    json_object_set_new(task, "parent_gate",
                        json_text("none")); /* it contains, but does not block */
}

static void add_dependencies(struct beads *b, const json_t *bead, json_t *task) {
    json_auto_t *needs = json_array();
    EACH_ITEM(dependency, json_object_get(bead, "dependencies")) {
        struct link link = read_link(dependency);
        const char *named =
            *link.id && strcmp(link.type, "blocks") == 0 ? reference(b, link.id) : NULL;
        if (named)
            json_array_append_new(needs, json_text(named));
        else if (*link.id && strcmp(link.type, "blocks") == 0 && !is_closed(b, link.id))
            cmd_warn("%s: '%s', which it depends on, is neither imported nor known here; kept as "
                     "meta.dependencies",
                     get_text(bead, "id", "?"), link.id);
    }
    if (json_array_size(needs) > 0)
        json_object_set(task, "depends_on", needs);
    if (json_array_size(json_object_get(bead, "dependencies")) > 0)
        json_object_set(json_object_get(task, "meta"), "dependencies",
                        json_object_get(bead, "dependencies"));
}

void import_bead_prompt(const json_t *bead, struct strbuf *out) {
    static const char *const parts[][2] = { { "description", "" },
                                            { "design", "Design:\n" },
                                            { "acceptance_criteria", "Acceptance criteria:\n" },
                                            { "notes", "Notes:\n" } };
    strbuf_puts(out, get_text(bead, "title", ""));
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const char *part = get_text(bead, parts[i][0], "");
        if (*part)
            strbuf_printf(out, "\n\n%s%s", parts[i][1], part);
    }
}

json_t *import_bead_priority(double priority) {
    return json_integer(100 + 10 * ((priority < 0 ? 0 : priority > 4 ? 4 : (int)priority) - 2));
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
    const char *status = get_text(bead, "status", "open");
    const json_t *project = project_of(b->projects, get_text(bead, "id", ""));
    if (!word_in(type, "task bug feature chore"))
        return "its type is not work: only task, bug, feature and chore";
    if (word_in(status, "closed tombstone"))
        return "it is closed";
    if (get_true(project, "coordination"))
        return "its project only coordinates (projects.P.coordination)";
    if (word_in(status, "in_progress hooked") && !cmd_has(b->import->call, "force"))
        return "it is already being worked on; use --force to import it anyway";
    return NULL;
}

/* A bead that waits for a skipped but open one would start too early. */
static const char *blocked_by(const struct beads *b, const json_t *bead) {
    EACH_ITEM(dependency, json_object_get(bead, "dependencies")) {
        struct link link = read_link(dependency);
        const char *reason = json_string_value(json_object_get(b->reasons, link.id));
        if (reason && *reason && strcmp(link.type, "blocks") == 0 && !is_closed(b, link.id)
            && !known_task((struct beads *)b, link.id))
            return link.id;
    }
    return NULL;
}

static const char *type_of(const json_t *bead) {
    return get_text(bead, "issue_type", get_text(bead, "type", "task"));
}

/* Decided before the first bead is added, because beads refer to each other. */
static void decide_skips(struct beads *b) {
    size_t i;
    json_t *bead;
    json_array_foreach(b->issues, i, bead) {
        const char *id = get_text(bead, "id", ""), *why = why_skipped(b, bead, type_of(bead));
        json_object_set_new(b->positions, id, json_integer((json_int_t)i));
        json_object_set_new(b->reasons, id, json_text(why ? why : ""));
    }
    for (bool changed = true; changed;) {
        changed = false;
        json_array_foreach(b->issues, i, bead) {
            const char *id = get_text(bead, "id", "");
            const char *reason = json_string_value(json_object_get(b->reasons, id));
            const char *blocker = *reason ? NULL : blocked_by(b, bead);
            if (!blocker)
                continue;
            _cleanup_(freep) char *why =
                xasprintf("it depends on '%s', which is not imported", blocker);
            json_object_set_new(b->reasons, id, json_text(why));
            changed = true;
        }
    }
}

static int take_bead(struct beads *b, const json_t *bead, size_t index) {
    _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT, prompt = STRBUF_INIT;
    const char *id = get_text(bead, "id", ""), *type = type_of(bead);
    if (!*id)
        return refuse(b, index, "", "it has no 'id'");
    const char *why = json_string_value(json_object_get(b->reasons, id));
    if (*why) {
        import_skip(b->import, id, why);
        return CMD_OK;
    }
    sanitize_line(get_text(bead, "title", ""), &title);
    if (title.length == 0)
        return refuse(b, index, id, "it has no 'title'");
    const json_t *project = project_of(b->projects, id);
    if (!project && !cmd_has(b->import->call, "project"))
        return refuse(b, index, id, "no project has the prefix of its id; give --project");
    json_t *meta = json_pack("{s:s, s:s}", "bead", id, "type", type);
    if (json_object_get(bead, "labels"))
        json_object_set(meta, "labels", json_object_get(bead, "labels"));
    import_bead_prompt(bead, &prompt);
    json_t *task =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "name", id, "external_id", id, "title",
                  strbuf_text(&title), "prompt", strbuf_text(&prompt), "priority",
                  import_bead_priority((double)get_int(bead, "priority", 2)), "meta", meta);
    add_parent(b, bead, task);
    add_dependencies(b, bead, task);
    if (!cmd_has(b->import->call, "project"))
        json_object_set(task, "project", json_object_get(project, "name"));
    import_add(b->import, id, task);
    return CMD_OK;
}

/* Dependencies come first: with --keep-going beads are added in batches. */
static int take_after_needs(struct beads *b, json_t *taken, size_t index, unsigned depth) {
    const json_t *bead = json_array_get(b->issues, index);
    const char *id = get_text(bead, "id", ""), *parent = parent_of(bead);
    if (*id && json_object_get(taken, id))
        return CMD_OK;
    json_object_set_new(taken, id, json_true());
    json_t *position = json_object_get(b->positions, parent);
    int code = CMD_OK;
    if (position && depth < DEPTH_MAX)
        code = take_after_needs(b, taken, (size_t)json_integer_value(position), depth + 1);
    EACH_ITEM(dependency, json_object_get(bead, "dependencies")) {
        position = json_object_get(b->positions, read_link(dependency).id);
        if (code == CMD_OK && position && depth < DEPTH_MAX)
            code = take_after_needs(b, taken, (size_t)json_integer_value(position), depth + 1);
    }
    return code == CMD_OK ? take_bead(b, bead, index) : code;
}

static int beads_run(const struct cmd_call *call) {
    _cleanup_(import_finish) struct import im = { 0 };
    _cleanup_(request_finish) struct request req = { 0 };
    json_auto_t *root = NULL, *projects = json_array(), *positions = json_object();
    json_auto_t *reasons = json_object(), *known = json_object(), *taken = json_object();
    struct beads b = { .import = &im,
                       .projects = projects,
                       .positions = positions,
                       .reasons = reasons,
                       .known = known,
                       .req = &req };
    struct error err = { 0 };
    if (!cmd_has(call, "agent"))
        return cmd_usage_error(call->cmd, "--agent is required");
    if (read_issues(call->arg_count > 0 ? call->args[0] : NULL, &root, &b.issues, &err) < 0)
        return cmd_error(&err);
    import_init(&im, call);
    int code = request_open(&req, REQUEST_START);
    if (code == CMD_OK)
        code = request_pages(&req, "/v1/projects?limit=1000", 1000000, request_append, projects);
    if (code == CMD_OK)
        decide_skips(&b);
    for (size_t i = 0; code == CMD_OK && i < json_array_size(b.issues); i++)
        code = take_after_needs(&b, taken, i, 0);
    return code == CMD_OK ? import_send(&im) : code;
}

static const struct cmd_option options[] = { IMPORT_OPTIONS, { NULL } };

const struct cmd import_beads = { "import beads", beads_run, 0, 1, options };
