/* launch_paths.c: what does a run in a sandbox see of this machine?
 *
 * The system, read-only. Of the home directory what is listed (sandbox/usual_paths.c, the agent's own paths, the
 * settings): a list of what must be hidden would never be complete, and a socket can be used through a read-only mount.
 * Of Sluice's folders what belongs to its own task. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/run_settings.h"
#include "engine/agents.h"
#include "engine/iteration.h"
#include "engine/launch_box.h"
#include "engine/sandboxes_internal.h"
#include "os/files.h"

#define ANCESTORS_MOST 16u

const char *box_variable(const struct run_spec *spec, const char *name) {
    size_t length = strlen(name);
    for (const char *const *pair = spec->env; pair && *pair; pair++)
        if (strncmp(*pair, name, length) == 0 && (*pair)[length] == '=')
            return *pair + length + 1;
    return NULL;
}

static const char *variable_of(void *ctx, const char *name) {
    return box_variable(ctx, name);
}

bool box_show(struct launch_box *box, enum sandbox_access access, const char *path) {
    char full[PATH_MAX];
    if (!realpath(path, full))
        return false;
    sandbox_add(&box->plan, access, path, full);
    return true;
}

void box_link(struct launch_box *box, const char *path, const char *full) {
    if (strcmp(path, full) != 0)
        sandbox_add(&box->plan, SANDBOX_LINK, path, full);
}

/* What is hidden is what a link leads to; the link itself stays, where it can be seen. */
void box_hide(struct launch_box *box, const char *path) {
    char full[PATH_MAX];
    struct stat st;
    if (!realpath(path, full) || stat(full, &st) < 0)
        return;
    sandbox_add(&box->plan, S_ISDIR(st.st_mode) ? SANDBOX_CLOSED : SANDBOX_BLANK, full, NULL);
    box_link(box, path, full);
}

static bool is_hidden(const struct launch_box *box, const char *path) {
    return sandbox_is_hidden(&box->plan, path);
}

static void show_if_hidden(struct launch_box *box, const char *path) {
    if (is_hidden(box, path))
        (void)box_show(box, SANDBOX_READ, path);
}

/* --- the system ----------------------------------------------------------------------------------- */

void box_add_system(struct launch_box *box) {
    char full[PATH_MAX];
    struct stat st;
    for (const char *const *path = sandbox_private_folders(); *path; path++)
        if (lstat(*path, &st) == 0 && S_ISDIR(st.st_mode))
            sandbox_add(&box->plan, SANDBOX_EMPTY, *path, NULL);
    for (const char *const *path = sandbox_shown_in_run(); *path; path++)
        (void)box_show(box, SANDBOX_READ, *path);
    if (realpath("/etc/resolv.conf", full)) /* often a link to somewhere in /run */
        show_if_hidden(box, full);
}

/* --- the home directory --------------------------------------------------------------------------- */

static void add_home(struct launch_box *box, const char *home) {
    struct stat st;
    if (stat(home, &st) == 0 && S_ISDIR(st.st_mode))
        sandbox_add(&box->plan, SANDBOX_EMPTY, home, NULL);
    for (const char *const *path = sandbox_tools_at_home(); *path; path++)
        (void)box_show(box, SANDBOX_READ, box_text(box, "%s/%s", home, *path));
}

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* Programs find their libraries beside their folder: of …/node-22/bin all of …/node-22 is shown; of ~/bin, ~/.local/bin and
 * what is in /tmp the folder alone. */
static void show_program_folder(struct launch_box *box, const char *given) {
    char folder[PATH_MAX];
    if (!realpath(given, folder) || !is_hidden(box, folder))
        return;
    char *above = box_text(box, "%s", folder);
    char *slash = strrchr(above, '/');
    if (ends_with(folder, "/bin") && slash > above) {
        *slash = '\0';
        bool is_wide = sandbox_is_inside(above, box->user) || ends_with(above, "/.local");
        if (!is_wide && sandbox_is_inside(box->user, above) && box_show(box, SANDBOX_READ, above))
            return;
    }
    (void)box_show(box, SANDBOX_READ, folder);
}

static void show_path(struct launch_box *box, const char *path) {
    for (const char *at = path; *at; at += *at == ':') {
        size_t length = strcspn(at, ":");
        if (length > 1 && *at == '/')
            show_program_folder(box, box_text(box, "%.*s", (int)length, at));
        at += length;
    }
}

/* Its first word, and what that leads to. A package of node is one folder. */
static void show_program(struct launch_box *box, const char *program) {
    char full[PATH_MAX];
    if (*program != '/' || !realpath(program, full))
        return;
    show_if_hidden(box, program);
    if (!is_hidden(box, full))
        return;
    char *package = strstr(full, "/node_modules/");
    if (package)
        package[strlen("/node_modules")] = '\0';
    (void)box_show(box, SANDBOX_READ, full);
}

static void show_agent_program(struct launch_box *box) {
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, found = STRBUF_INIT;
    if (!box->run->agent)
        return;
    engine_agent_program(box->e, box->run->agent, &program, &found);
    show_program(box, strbuf_text(&found));
}

void box_add_home(struct launch_box *box, const struct run_spec *spec) {
    const char *path = box_variable(spec, "PATH"), *own = sandboxes_home(box->e);
    add_home(box, own);
    if (strcmp(own, box->user) != 0)
        add_home(box, box->user);
    if (path)
        show_path(box, path);
    show_agent_program(box);
    if (box->adapter && agent_adapter_client(box->adapter)) /* a program of ours */
        show_program(box, spec->command.argv[0]);
    if (box->is_inside) /* else its command would choose what is shown */
        return;
    show_program(box, spec->command.argv[0]);
    for (size_t i = 0; i < spec->check_count; i++)
        show_program(box, spec->checks[i].argv[0]);
}

int box_add_caches(struct launch_box *box, struct error *err) {
    int r = 0;
    for (const char *const *name = sandbox_caches_at_home(); !box->is_trial && r == 0 && *name;
         name++) {
        char *path = box_text(box, "%s/%s", box->user, *name);
        char *source = box_text(box, "%s/caches/%s/%s", box->data, box->project, *name);
        /* Below a folder that can only be read there must be a place for it already. */
        if (!is_hidden(box, path) && access(path, F_OK) < 0)
            continue;
        r = folders_make(source, 0, err);
        if (r == 0)
            sandbox_add_optional(&box->plan, SANDBOX_WRITE, path,
                                 source); /* people delete caches */
    }
    return r;
}

/* --- the agent ------------------------------------------------------------------------------------ */

void box_add_agent(struct launch_box *box, const struct run_spec *spec) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    const struct agent_place place = { box->user, spec->cwd, variable_of, (void *)(uintptr_t)spec };
    const struct agent_adapter *kin = box->adapter;
    const char *const *words = NULL;
    if (!box->adapter)
        return;
    if (agent_adapter_client(box->adapter)
        && config_words(box->e->config, "agents.A.command", box->run->agent, &words) > 0)
        kin = agent_adapter_behind(words);
    for (const struct agent_path *one = agent_paths(kin); one->path; one++) {
        strbuf_clear(&path);
        agent_path_resolve(kin, one, &place, &path);
        const char *text = strbuf_text(&path);
        if (one->use == AGENT_PATH_KEEP) /* one that cannot be made is gone with the run */
            (void)folders_make(text, 0, NULL);
        (void)box_show(box, one->use == AGENT_PATH_READ ? SANDBOX_READ : SANDBOX_WRITE, text);
    }
}

/* --- the settings --------------------------------------------------------------------------------- */

struct listing {
    struct launch_box *box;
    const char *list;
    struct error err;
};

static void add_setting(void *ctx, const char *text) {
    struct listing *l = ctx;
    struct launch_box *box = l->box;
    char full[PATH_MAX];
    char *path = *text == '/'                  ? box_text(box, "%s", text)
                 : strncmp(text, "~/", 2) == 0 ? box_text(box, "%s%s", box->user, text + 1)
                                               : box_text(box, "%s/%s", box->root, text);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    if (l->err.code < 0 || !realpath(path, full))
        return; /* what is not there cannot be shown */
    /* In its workspace a run may have put a link where this one looks next time. */
    if (sandbox_is_inside(box->root, path) && strcmp(full, path) != 0)
        (void)error_set(&l->err, -EPERM, "sandbox_%s: '%.120s' is a symbolic link, or behind one",
                        l->list, path);
    else if (strcmp(l->list, "hide") == 0)
        box_hide(box, path);
    else
        (void)box_show(box, strcmp(l->list, "write") == 0 ? SANDBOX_WRITE : SANDBOX_READ, path);
}

int box_add_settings(struct launch_box *box, struct error *err) {
    static const char *const lists[] = { "read", "write", "hide" };
    struct listing l = { .box = box };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        l.list = lists[i];
        config_sandbox_paths(box->e->config, lists[i], box->project, box->run->agent, add_setting,
                             &l);
    }
    return l.err.code < 0 ? error_set(err, l.err.code, "%s", l.err.text) : 0;
}

/* --- Sluice's own folders --------------------------------------------------------------------------- */

/* Of all daemons that this one knows. */
static void hide_homes(struct launch_box *box) {
    const struct engine *e = box->e;
    const char *const *words = NULL;
    size_t count = config_words(e->config, "daemon.addresses", NULL, &words);
    box_hide(box, e->home);
    box_hide(box, e->data);
    if (*e->config_file)
        box_hide(box, e->config_file);
    for (size_t i = 0; i < count; i++) {
        char *path = box_text(box, "%s", words[i]);
        char *slash = strrchr(path, '/');
        if (strncmp(path, "unix:/", 6) == 0 && slash > path + strlen("unix:")) {
            *slash = '\0';
            box_hide(box, path + strlen("unix:"));
        }
    }
}

static void hide_store(struct launch_box *box) {
    static const char *const endings[] = { "", "-wal", "-shm" };
    const char *url = config_text(box->e->config, "store.url", NULL);
    for (size_t i = 0; *url == '/' && i < ARRAY_SIZE(endings); i++)
        box_hide(box, box_text(box, "%s%s", url, endings[i]));
}

/* What those above it have written is what it is to work with. */
static void add_ancestors(struct launch_box *box) {
    struct task_spec told;
    char id[ENGINE_ID_MAX];
    task_id at = box->run->task;
    for (unsigned level = 0;
         level < ANCESTORS_MOST && core_task_spec(box->e->core, at, &told) && told.parent != 0;
         level++, at = told.parent) {
        char *path = box_text(box, "%s/tasks/%s/iterations", box->data,
                              engine_task_id(box->e, told.parent, id));
        if (access(path, F_OK) == 0)
            sandbox_add_optional(&box->plan, SANDBOX_READ, path, NULL);
    }
}

static int add_task_folders(struct launch_box *box, struct error *err) {
    char *task = box_text(box, "%s/tasks/%s", box->data, box->id);
    char *own = box_text(box, "%s/" ITERATION_OWN, task);
    char *all = box_text(box, "%s/iterations", task);
    char *artifacts =
        box_text(box, "%s/%03" PRIu32 "/" ITERATION_ARTIFACTS, all, box->run->iteration);
    int r = folders_make(own, 0, err);
    if (r < 0)
        return r;
    const char *usage = box->adapter ? agent_usage_file_name(box->adapter) : NULL;
    if (usage)
        (void)unlink(box_text(box, "%s/%s", own, usage)); /* of an earlier run */
    add_ancestors(box);
    sandbox_add_optional(&box->plan, SANDBOX_READ, all, NULL);
    sandbox_add_optional(&box->plan, SANDBOX_WRITE, artifacts, NULL);
    /* The folder of all markers is its own here. */
    sandbox_add_optional(&box->plan, SANDBOX_WRITE, box_text(box, "%s/done", box->data), own);
    return 0;
}

/* The messages of its project; that file is there with the first of them. */
static void add_bus(struct launch_box *box) {
    char *folder = box_text(box, "%s/bus/%s", box->data, box->project);
    char *file = box_text(box, "%s.md", folder);
    struct stat st;
    if (folders_make(folder, 0, NULL) < 0)
        return;
    (void)mknod(file, S_IFREG | 0600, 0);
    if (lstat(folder, &st) == 0 && S_ISDIR(st.st_mode))
        sandbox_add_optional(&box->plan, SANDBOX_WRITE, folder, NULL);
    if (lstat(file, &st) == 0 && S_ISREG(st.st_mode))
        sandbox_add_optional(&box->plan, SANDBOX_WRITE, file, NULL);
}

static void show_folder(struct launch_box *box, const char *path) {
    char full[PATH_MAX];
    if (realpath(path, full))
        sandbox_add(&box->plan, SANDBOX_READ, full, NULL);
}

static void add_sockets(struct launch_box *box, const struct run_spec *spec) {
    const char *lists[] = { box_variable(spec, "SLUICE_SOCKET"),
                            box_variable(spec, "SLUICE_PEERS") };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (const char *at = lists[i] ? lists[i] : ""; *at; at += *at == ',') {
            size_t length = strcspn(at, ",");
            char *path = box_text(box, "%.*s", (int)length, at);
            char *begin = strncmp(path, "unix:", 5) == 0 ? path + 5 : path;
            char *slash = strrchr(begin, '/');
            if (*begin == '/' && slash > begin) {
                *slash = '\0';
                show_folder(box, begin);
            }
            at += length;
        }
}

int box_add_sluice(struct launch_box *box, const struct run_spec *spec, struct error *err) {
    const char *run = box->plan.run;
    hide_homes(box);
    hide_store(box);
    int r = box->is_trial ? 0 : add_task_folders(box, err);
    if (r < 0)
        return r;
    if (!box->is_trial)
        add_bus(box);
    add_sockets(box, spec);
    /* Made with the folder of the run, just before its shim starts. */
    sandbox_add_optional(&box->plan, SANDBOX_WRITE, box_text(box, "%s/tmp", run), NULL);
    if (spec->prompt)
        sandbox_add_optional(&box->plan, SANDBOX_READ, box_text(box, "%s/prompt", run), NULL);
    if (is_hidden(box, box->root)) /* a worktree: the rule for it was before that for its home */
        sandbox_add(&box->plan, SANDBOX_WRITE, box->root, NULL);
    return 0;
}
