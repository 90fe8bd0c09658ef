/* launch_sandbox.c: which sandbox does a run get, and which words make it?
 *
 * The task decides, then its project, its agent, `tasks` (config/run_settings.h). What `auto` means was found out when the
 * daemon started. Whatever cannot be made is an error, and the run a failed launch. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "config/run_settings.h"
#include "engine/executors_internal.h"
#include "engine/iteration.h"
#include "engine/launch_box.h"
#include "engine/sandboxes_internal.h"
#include "engine/workspace.h"
#include "os/home.h"

char *box_text(struct launch_box *box, const char *format, ...) {
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    char *copy = arena_strdup(box->arena, strbuf_text(&text));
    strbuf_finish(&text);
    return copy;
}

/* --- which -------------------------------------------------------------------------------------- */

static const char *const *words_of(struct launch_box *box, const json_t *list) {
    size_t count = json_array_size(list), used = 0, index;
    const char **words = arena_alloc(box->arena, (count + 1) * sizeof(*words));
    json_t *word;
    json_array_foreach(list, index, word) if (json_is_string(word)) words[used++] =
        json_string_value(word);
    return words;
}

static const char *choice_of(struct launch_box *box) {
    const json_t *wrap = json_object_get(box->task, "wrap");
    const char *own = json_string_value(json_object_get(box->task, "sandbox"));
    if (json_array_size(wrap) > 0) {
        box->wrap = words_of(box, wrap);
        return "wrap";
    }
    return own ? own : config_sandbox(box->e->config, box->project, box->run->agent, &box->wrap);
}

int launch_box_choose(struct launch_box *box, struct error *err) {
    const json_t *inside = json_object_get(box->task, "inside");
    const char *least = json_string_value(json_object_get(inside, "sandbox"));
    const char *choice = choice_of(box);
    bool is_here = box->run->executor == EXECUTOR_LOCAL;
    if (strcmp(choice, "auto") == 0)
        choice = box->run->agent && is_here ? sandboxes_automatic(box->e) : "none";
    if (least && strcmp(choice, "none") == 0) { /* a run in a sandbox has added it */
        choice = least;
        if (strcmp(least, "wrap") == 0 && !box->wrap)
            return error_set(
                err, -EPERM,
                "a run behind 'wrap' has added this task, and neither its project, its "
                "agent nor 'tasks' has one");
    }
    box->kind = sandbox_kind_find(choice);
    if (box->kind == SANDBOX_KIND_MAX)
        return error_set(err, -EINVAL, "there is no sandbox '%.60s'", choice);
    return 0;
}

/* --- where it works ----------------------------------------------------------------------------- */

/* Without symbolic links, in the arena; NULL with errno. */
static char *real_path(struct launch_box *box, const char *path) {
    char full[PATH_MAX];
    return realpath(path, full) ? arena_strdup(box->arena, full) : NULL;
}

static const char *root_of(struct launch_box *box, const char *cwd) {
    const char *branch, *base;
    const char *workspace = workspace_path(box->e, box->run->task, &branch, &base);
    const json_t *inside = json_object_get(box->task, "inside");
    const char *given = json_string_value(json_object_get(inside, "root"));
    const struct engine_project *project = engine_find_project(box->e, box->project);
    if (workspace)
        return workspace;
    if (given && sandbox_is_inside(given, cwd))
        return given;
    if (project && project->path && sandbox_is_inside(project->path, cwd))
        return project->path;
    return given ? given : cwd; /* outside of all that: refused */
}

/* A folder around one of these would show what a sandbox is there to hide. */
static int check_root(const struct launch_box *box, struct error *err) {
    const char *const *folders = sandbox_private_folders(), *own = sandboxes_home(box->e);
    const char *inside = sandbox_is_inside(box->root, box->user) ? box->user
                         : sandbox_is_inside(box->root, own)     ? own
                                                                 : NULL;
    const char *what = inside ? "it is a home directory" : "other programs use it";
    for (; !inside && *folders; folders++)
        if (sandbox_is_inside(box->root, *folders))
            inside = *folders;
    if (!inside)
        return 0;
    bool is_same = strcmp(inside, box->root) == 0;
    return error_set(err, -EINVAL,
                     "'%.80s' cannot be the workspace of a run in a sandbox: %s%.80s%s; choose "
                     "another folder (--cwd), or --sandbox none",
                     box->root, is_same ? "" : "it contains '", is_same ? what : inside,
                     is_same ? "" : "'");
}

/* A task that names no folder works in that of its artifacts: the one that it has otherwise is Sluice's own. */
static const char *folder_of(struct launch_box *box, const char *cwd) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    if (strcmp(cwd, box->e->data) != 0)
        return cwd;
    iteration_path(box->e, box->id, box->run->iteration, ITERATION_ARTIFACTS, &path);
    return arena_strdup(box->arena, strbuf_text(&path));
}

static int find_folders(struct launch_box *box, struct run_spec *spec, struct error *err) {
    spec->cwd = folder_of(box, spec->cwd);
    const char *cwd = real_path(box, spec->cwd);
    if (!cwd)
        return error_set_errno(err, "enter folder", spec->cwd);
    const char *given = root_of(box, spec->cwd), *home = box_variable(spec, "HOME");
    box->root = real_path(box, given);
    if (!box->root)
        return error_set_errno(err, "open", given);
    if (!sandbox_is_inside(box->root, cwd))
        return error_set(err, -EINVAL,
                         "'%.80s' is not in '%.80s', which is all that the run may change",
                         spec->cwd, box->root);
    home = home && *home == '/' ? home : sandboxes_home(box->e);
    char *user = real_path(box, home), *data = real_path(box, box->e->data);
    box->user = user ? user : arena_strdup(box->arena, home);
    box->data = data ? data : box->e->data;
    box->is_inside = json_object_get(box->task, "inside") != NULL;
    box_link(box, given, box->root); /* SLUICE_WORKSPACE names it like this */
    spec->cwd = cwd;
    const char *prepares = spec->prepare_cwd ? real_path(box, spec->prepare_cwd) : NULL;
    if (spec->prepare_cwd && !prepares)
        return error_set_errno(err, "enter folder", spec->prepare_cwd);
    spec->prepare_cwd = prepares;
    return check_root(box, err);
}

/* --- the daemon's socket -------------------------------------------------------------------------- */

/* "unix:/a/run.sock,unix:/b/run.sock": each in its folder. Addresses of other kinds stay. */
static const char *into_folders(struct launch_box *box, const char *list) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    for (const char *at = list; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        const char *path = strncmp(at, "unix:", 5) == 0 ? at + 5 : at;
        char *one = box_text(box, "%.*s", (int)(at + length - path), path);
        strbuf_printf(&out, "%s%.*s", out.length ? "," : "", (int)(path - at), at);
        if (*one == '/')
            home_shared_socket(one, &out);
        else
            strbuf_puts(&out, one);
        at += length;
    }
    return arena_strdup(box->arena, strbuf_text(&out));
}

static bool is_confined(const struct launch_box *box) {
    return box->kind == SANDBOX_BUBBLEWRAP || box->kind == SANDBOX_PODMAN;
}

const char *launch_box_socket(struct launch_box *box) {
    const char *address = launch_address(box->e, box->run, box->arena);
    return is_confined(box) ? into_folders(box, address) : address;
}

const char *launch_box_peers(struct launch_box *box) {
    const char *peers = launch_peers(box->e, box->run, box->arena);
    return peers && is_confined(box) ? into_folders(box, peers) : peers;
}

/* --- words -------------------------------------------------------------------------------------- */

/* In the daemon's own PATH: that of a task would choose what runs outside the sandbox. */
static int find_program(struct launch_box *box, struct error *err) {
    const char *name = box->kind == SANDBOX_BUBBLEWRAP ? "bwrap"
                       : box->kind == SANDBOX_PODMAN   ? "podman"
                                                       : box->wrap[0];
    _cleanup_(strbuf_finish) struct strbuf found = STRBUF_INIT;
    if (!sandboxes_find_program(box->e, name, &found))
        return error_set(
            err, -ENOENT,
            "cannot create the sandbox: there is no program '%.80s' in the daemon's PATH%s", name,
            box->kind == SANDBOX_BUBBLEWRAP ? "; install bubblewrap" : "");
    box->plan.program = arena_strdup(box->arena, strbuf_text(&found));
    return 0;
}

/* What a sandbox program of the configuration gets is the environment of the command. */
static int check_environment(const struct launch_box *box, struct error *err) {
    const char *name;
    json_t *value;
    _cleanup_(strbuf_finish) struct strbuf pair = STRBUF_INIT;
    json_object_foreach(json_object_get(box->task, "env"), name, value) {
        strbuf_clear(&pair);
        strbuf_printf(&pair, "%s=", name);
        if (sandbox_is_unsafe_variable(strbuf_text(&pair)))
            return error_set(err, -EPERM,
                             "a task with 'wrap' cannot set '%.60s': its sandbox would read it",
                             name);
    }
    return 0;
}

static int add_rules(struct launch_box *box, const struct run_spec *spec, struct error *err) {
    box_add_system(box);
    box_add_home(box, spec);
    int r = box_add_caches(box, err);
    sandbox_add(&box->plan, SANDBOX_WRITE, box->root, NULL);
    if (r == 0)
        r = box_add_repository(box, err);
    box_add_agent(box, spec);
    if (r == 0)
        r = box_add_settings(box, err);
    return r == 0 ? box_add_sluice(box, spec, err) : r;
}

/* podman needs to know its user's own folders. */
static const char *const *own_environment(struct launch_box *box) {
    static const char *const names[] = { "PATH=", "HOME=", "XDG_RUNTIME_DIR=", "USER=", "LANG=" };
    const char **env = arena_alloc(box->arena, (ARRAY_SIZE(names) + 1) * sizeof(*env));
    size_t count = 0;
    for (size_t i = 0; box->kind == SANDBOX_PODMAN && i < ARRAY_SIZE(names); i++)
        for (char *const *pair = box->e->options.environment; pair && *pair; pair++)
            if (strncmp(*pair, names[i], strlen(names[i])) == 0) {
                env[count++] = *pair;
                break;
            }
    return env;
}

static void take_words(struct launch_box *box, const struct strbuf *text, size_t count,
                       struct run_spec *spec) {
    const char **words = arena_alloc(box->arena, (count + 1) * sizeof(*words));
    char *word = arena_alloc(box->arena, text->length + 1);
    memcpy(word, strbuf_text(text), text->length);
    for (size_t i = 0; i < count; i++, word += strlen(word) + 1)
        words[i] = word;
    spec->wrap = words;
}

static void note_run(struct launch_box *box) {
    free(box->run->sandbox);
    free(box->run->sandbox_root);
    box->run->sandbox = xstrdup(sandbox_kind_name(box->kind));
    box->run->sandbox_root = box->root ? xstrdup(box->root) : NULL;
}

/* An agent is not closed for a folder that cannot be in a sandbox: tasks in other folders go on. One for which there is no
 * sandbox program at all is. */
int launch_box_build(struct launch_box *box, struct run_spec *spec, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    const struct config *config = box->e->config;
    size_t count = 0;
    sandbox_plan_init(&box->plan, box->kind);
    int r = box->kind == SANDBOX_NONE ? 0 : find_folders(box, spec, err);
    if (box->kind == SANDBOX_NONE || r < 0) {
        box->run->launch_cause = LAUNCH_CWD;
        note_run(box);
        return r;
    }
    box->plan.cwd = spec->cwd;
    box->plan.network = config_sandbox_network(config, box->project, box->run->agent);
    box->plan.is_root = geteuid() == 0;
    box->plan.image = config_sandbox_image(config, box->project, box->run->agent);
    box->plan.shim = box->e->shim_path;
    box->plan.wrap = box->wrap;
    box->plan.workspace = box->root;
    box->plan.home = box->e->home;
    box->plan.run = box_text(box, "%s/runs/%s", box->data, box->run->view.folder);
    r = find_program(box, err);
    if (r < 0) {
        box->run->launch_cause = LAUNCH_PROGRAM;
        return r;
    }
    r = box->kind == SANDBOX_WRAP ? check_environment(box, err) : add_rules(box, spec, err);
    if (r == 0)
        r = sandbox_build(&box->plan, &words, &count, &spec->enter, err);
    if (r < 0) {
        box->run->launch_cause = LAUNCH_SANDBOX;
        return r;
    }
    take_words(box, &words, count, spec);
    spec->wrap_env = own_environment(box);
    spec->sandbox = sandbox_kind_name(box->kind);
    spec->sandbox_root = box->root;
    note_run(box);
    return 0;
}

void launch_box_finish(struct launch_box *box) {
    sandbox_plan_finish(&box->plan);
}
