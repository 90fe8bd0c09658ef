/* launch_sandbox.c: which sandbox a run gets, and its command line. The task decides, then its
 * project, its agent, `tasks` (config/run_settings.h). `auto` was resolved when the daemon started.
 * What cannot be created is an error: the launch fails. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/env_text.h"
#include "config/run_settings.h"
#include "engine/agents.h"
#include "engine/git/git_internal.h"
#include "engine/launch/launch_internal.h"
#include "engine/runs/runs_internal.h"
#include "engine/slurm/slurm_internal.h"
#include "os/files.h"
#include "os/home.h"
#include "os/log.h"
#include "os/outside.h"
#include "workspace/repository.h"

/* --- support on this machine ------------------------------------------------------------------ */

/* The trial at the start, and the sandboxes of live runs. */

#define TRIAL_MOST       SECONDS(10)
#define LANDLOCK_VERSION 1u /* LANDLOCK_CREATE_RULESET_VERSION */
#define SCOPES_SINCE     6

struct sandboxes {
    char *home;      /* of the daemon's user */
    bool works;      /* the trial of bubblewrap succeeded */
    bool is_missing; /* not installed */
    char why[256];   /* why it failed; "not tried" */
};

PART_STATE(sandboxes, struct sandboxes, sandboxes_of)

static char *find_home(const struct engine *e) {
    char names[16384], full[PATH_MAX];
    struct passwd user, *found = NULL;
    const char *home = env_find(daemon_env(e), "HOME");
    if (!home || *home != '/') {
        (void)getpwuid_r(geteuid(), &user, names, sizeof(names), &found);
        home = found && found->pw_dir && *found->pw_dir == '/' ? found->pw_dir : "/nonexistent";
    }
    return xstrdup(realpath(home, full) ? full : home);
}

static void sandboxes_init(struct engine *e) {
    struct sandboxes *s = sandboxes_of(e);
    s->home = find_home(e);
    (void)snprintf(s->why, sizeof(s->why), "it was not tried");
}

static void sandboxes_free(struct engine *e) {
    free(sandboxes_of(e)->home);
}

static const char *sandboxes_automatic(const struct engine *e) {
    return sandbox_kind_name(sandboxes_of(e)->works ? SANDBOX_BUBBLEWRAP : SANDBOX_NONE);
}

const char *sandboxes_home(const struct engine *e) {
    return sandboxes_of(e)->home;
}

/* --- the trial -------------------------------------------------------------------------------- */

/* A run without a task: all rules that need none. */
static int try_bubblewrap(struct engine *e, struct error *err) {
    struct arena arena = ARENA_INIT;
    struct live_run run = { .executor = EXECUTOR_LOCAL, .view = { .folder = ".trial" } };
    const char *const argv[] = { "true", NULL };
    const char *path = env_find(daemon_env(e), "PATH");
    const char *env[] = { NULL, NULL };
    struct launch_box box = { .e = e,
                              .run = &run,
                              .id = ".trial",
                              .project = ".trial",
                              .arena = &arena,
                              .kind = SANDBOX_BUBBLEWRAP,
                              .is_trial = true };
    struct run_spec spec = { .run = "trial", .command = { argv, TRIAL_MOST }, .env = env };
    env[0] = box_text(&box, "PATH=%s", path ? path : "/usr/bin:/bin");
    spec.cwd = box_text(&box, "%s/.trial", e->home);
    const char *folder = spec.cwd;
    int r = mkdir(folder, 0700) < 0 && errno != EEXIST ? error_set_errno(err, "make", folder) : 0;
    if (r == 0)
        r = launch_box_build(&box, &spec, err);
    if (r == 0)
        r = sandbox_trial(e->shim_path, &spec, err);
    (void)rmdir(folder);
    sandbox_plan_finish(&box.plan);
    arena_finish(&arena);
    free(run.sandbox);
    free(run.sandbox_root);
    return r;
}

void engine_try_sandbox(struct engine *e) {
    struct sandboxes *s = sandboxes_of(e);
    struct error err = { 0 };
    int r = try_bubblewrap(e, &err);
    s->works = r == 0;
    s->is_missing = r == -ENOENT;
    (void)snprintf(s->why, sizeof(s->why), "%.250s", s->works ? "" : err.text);
    if (s->works)
        log_info("sandbox: auto is bubblewrap");
    else
        log_warning("sandbox: auto is none, so agents run without one: %s", s->why);
}

void engine_sandboxes(const struct engine *e, struct engine_sandboxes *ret) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
    *ret = (struct engine_sandboxes){
        .automatic = sandboxes_automatic(e),
        .why = sandboxes_of(e)->works ? NULL : sandboxes_of(e)->why,
        .is_missing = sandboxes_of(e)->is_missing,
        .is_scoped = version >= SCOPES_SINCE,
    };
}

/* --- live runs -------------------------------------------------------------------------------- */

const char *engine_run_sandbox(const struct engine *e, task_id task, const char **ret_root) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    struct live_run *run = run_find(e, task);
    bool is_adopted = run && !run->sandbox && !run->sandbox_asked;
    if (is_adopted)
        run->sandbox_asked = true;
    if (is_adopted && run_read_spec(e, run, &read, NULL) == 0) {
        run->sandbox = xstrdup(read->spec.sandbox ? read->spec.sandbox : "none");
        run->sandbox_root = read->spec.sandbox_root ? xstrdup(read->spec.sandbox_root) : NULL;
    }
    if (ret_root)
        *ret_root = run ? run->sandbox_root : NULL;
    return run ? run->sandbox : NULL;
}

const char *engine_sandbox_applied(const char *applied) {
    if (!applied || !*applied)
        return NULL;
    for (int kind = SANDBOX_NONE + 1; kind < SANDBOX_KIND_MAX; kind++) {
        const char *name = sandbox_kind_name((enum sandbox_kind)kind);
        size_t length = strlen(name);
        for (const char *at = applied; (at = strstr(at, name)); at += length)
            if ((at == applied || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
                return name;
    }
    return sandbox_kind_name(SANDBOX_NONE);
}

_Static_assert(ENGINE_SANDBOX_KINDS == SANDBOX_KIND_MAX, "a kind is not counted");

void engine_count_sandboxes(const struct engine *e, const char *ret_names[ENGINE_SANDBOX_KINDS],
                            int64_t ret_counts[ENGINE_SANDBOX_KINDS]) {
    for (int kind = 0; kind < SANDBOX_KIND_MAX; kind++) {
        ret_names[kind] = sandbox_kind_name((enum sandbox_kind)kind);
        ret_counts[kind] = 0;
    }
    for (size_t i = 0; i < run_count(e); i++) {
        const char *name = engine_run_sandbox(e, run_live_at(e, i)->task, NULL);
        for (int kind = 0; name && kind < SANDBOX_KIND_MAX; kind++)
            ret_counts[kind] += strcmp(ret_names[kind], name) == 0;
    }
}

const struct engine_part sandboxes_part = {
    .state_size = sizeof(struct sandboxes),
    .at = { [STEP_INIT] = sandboxes_init, [STEP_FREE] = sandboxes_free },
};

/* --- paths ------------------------------------------------------------------------------------ */

/* What a run in a sandbox sees of this machine. The system, read-only. Of the home directory only
 * listed paths (sandbox/sandbox.c, the agent's own paths, the settings): a deny-list would
 * never be complete, and a socket can be used through a read-only mount. Of Sluice's folders only
 * what belongs to its task. */

#define ANCESTORS_MOST 16u

/* Without symbolic links, in the arena; NULL with errno. */
static char *real_path(struct launch_box *box, const char *path) {
    char full[PATH_MAX];
    return realpath(path, full) ? arena_strdup(box->arena, full) : NULL;
}

/* A rule for an existing path; a link shows its target. False: it does not exist. */
static bool box_show(struct launch_box *box, enum sandbox_access access, const char *path) {
    char full[PATH_MAX];
    if (!realpath(path, full))
        return false;
    sandbox_add(&box->plan, access, path, full);
    return true;
}

/* In a hidden folder, makes `path` a link to `full`. */
static void box_link(struct launch_box *box, const char *path, const char *full) {
    if (strcmp(path, full) != 0)
        sandbox_add(&box->plan, SANDBOX_LINK, path, full);
}

/* Hides the target of a link; the link itself stays visible. */
static void box_hide(struct launch_box *box, const char *path) {
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

/* --- the system ------------------------------------------------------------------------------- */

static void box_add_system(struct launch_box *box) {
    char full[PATH_MAX];
    struct stat st;
    for (const char *const *path = sandbox_private_folders; *path; path++)
        if (lstat(*path, &st) == 0 && S_ISDIR(st.st_mode))
            sandbox_add(&box->plan, SANDBOX_EMPTY, *path, NULL);
    for (const char *const *path = sandbox_shown_in_run; *path; path++)
        (void)box_show(box, SANDBOX_READ, *path);
    if (realpath("/etc/resolv.conf", full)) /* often a link into /run */
        show_if_hidden(box, full);
}

/* --- the home directory ----------------------------------------------------------------------- */

static void add_home(struct launch_box *box, const char *home) {
    struct stat st;
    if (stat(home, &st) == 0 && S_ISDIR(st.st_mode))
        sandbox_add(&box->plan, SANDBOX_EMPTY, home, NULL);
    for (const char *const *path = sandbox_tools_at_home; *path; path++)
        (void)box_show(box, SANDBOX_READ, box_text(box, "%s/%s", home, *path));
}

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* Programs find their libraries beside their folder: for …/node-22/bin all of …/node-22 is shown;
 * for ~/bin, ~/.local/bin and what is in /tmp only the folder. */
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

/* The program and its link target. A node package is one folder. */
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

/* Runs call `sluice`, also as their MCP server. It may be in a hidden folder that PATH does not
 * have: a build in the home directory. Beside the shim, or in bin if the shim is in libexec. */
static void show_sluice(struct launch_box *box) {
    static const char *const folders[] = { "", "../../bin/" };
    const char *shim = box->e->shim_path, *slash = strrchr(shim, '/');
    char full[PATH_MAX];
    for (size_t i = 0; slash && i < ARRAY_SIZE(folders); i++)
        if (realpath(box_text(box, "%.*s/%ssluice", (int)(slash - shim), shim, folders[i]), full))
            show_program(box, full);
}

static void box_add_home(struct launch_box *box, const struct run_spec *spec) {
    const char *path = run_spec_variable(spec, "PATH"), *own = sandboxes_home(box->e);
    add_home(box, own);
    if (strcmp(own, box->user) != 0)
        add_home(box, box->user);
    if (path)
        show_path(box, path);
    show_sluice(box);
    if (box->run->agent) {
        _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, found = STRBUF_INIT;
        engine_agent_program(box->e, box->run->agent, &program, &found);
        show_program(box, strbuf_text(&found));
    }
    if (box->adapter && box->adapter->client) /* a program of ours */
        show_program(box, spec->command.argv[0]);
    if (box->is_inside) /* else its command would choose what is shown */
        return;
    show_program(box, spec->command.argv[0]);
    for (size_t i = 0; i < spec->check_count; i++)
        show_program(box, spec->checks[i].argv[0]);
}

static int box_add_caches(struct launch_box *box, struct error *err) {
    int r = 0;
    for (const char *const *name = sandbox_caches_at_home; !box->is_trial && r == 0 && *name;
         name++) {
        char *path = box_text(box, "%s/%s", box->user, *name);
        char *source = box_text(box, "%s/caches/%s/%s", box->data, box->project, *name);
        /* Below a read-only folder the mount point must already exist. */
        if (!is_hidden(box, path) && access(path, F_OK) < 0)
            continue;
        r = folders_make(source, 0, err);
        if (r == 0)
            sandbox_add_optional(&box->plan, SANDBOX_WRITE, path,
                                 source); /* people delete caches */
    }
    return r;
}

/* --- the agent -------------------------------------------------------------------------------- */

static void box_add_agent(struct launch_box *box, const struct run_spec *spec) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    const struct agent_path_context place = { box->user, spec->cwd, run_spec_lookup,
                                              (void *)(uintptr_t)spec };
    const struct agent_adapter *agent = box->adapter; /* behind its client, if it has one */
    const char *const *words = NULL;
    if (!box->adapter)
        return;
    if (box->adapter->client
        && config_words(box->e->config, "agents.A.command", box->run->agent, &words) > 0)
        agent = agent_adapter_of_command(words);
    for (const struct agent_path *one = agent_paths(agent); one->path; one++) {
        strbuf_clear(&path);
        agent_path_resolve(agent, one, &place, &path);
        const char *text = strbuf_text(&path);
        if (one->use == AGENT_PATH_KEEP) /* one that cannot be created is lost with the run */
            (void)folders_make(text, 0, NULL);
        (void)box_show(box, one->use == AGENT_PATH_READ ? SANDBOX_READ : SANDBOX_WRITE, text);
    }
}

/* --- the settings ----------------------------------------------------------------------------- */

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
        return; /* what does not exist cannot be shown */
    /* In its workspace a run may have put a link where the next one looks. */
    if (sandbox_is_inside(box->root, path) && strcmp(full, path) != 0)
        (void)error_set(&l->err, -EPERM, "sandbox_%s: '%.120s' is a symbolic link, or behind one",
                        l->list, path);
    else if (strcmp(l->list, "hide") == 0)
        box_hide(box, path);
    else
        (void)box_show(box, strcmp(l->list, "write") == 0 ? SANDBOX_WRITE : SANDBOX_READ, path);
}

static int box_add_settings(struct launch_box *box, struct error *err) {
    static const char *const lists[] = { "read", "write", "hide" };
    struct listing l = { .box = box };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        l.list = lists[i];
        config_sandbox_paths(box->e->config, lists[i], box->project, box->run->agent, add_setting,
                             &l);
    }
    return l.err.code < 0 ? error_set(err, l.err.code, "%s", l.err.text) : 0;
}

/* --- Sluice's own folders --------------------------------------------------------------------- */

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

/* It works with what its ancestors have written. */
static void add_ancestors(struct launch_box *box) {
    struct task_spec spec;
    char id[ENGINE_ID_MAX];
    task_id at = box->run->task;
    for (unsigned level = 0;
         level < ANCESTORS_MOST && core_task_spec(box->e->core, at, &spec) && spec.parent != 0;
         level++, at = spec.parent) {
        char *path = box_text(box, "%s/tasks/%s/iterations", box->data,
                              engine_task_id(box->e, spec.parent, id));
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
    const char *usage = box->adapter ? box->adapter->usage_file_name : NULL;
    if (usage)
        (void)unlink(box_text(box, "%s/%s", own, usage)); /* of an earlier run */
    add_ancestors(box);
    sandbox_add_optional(&box->plan, SANDBOX_READ, all, NULL);
    sandbox_add_optional(&box->plan, SANDBOX_WRITE, artifacts, NULL);
    /* Here the folder of all markers is the task's own. */
    sandbox_add_optional(&box->plan, SANDBOX_WRITE, box_text(box, "%s/done", box->data), own);
    return 0;
}

/* The messages of its project; the file is created with the first one. */
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

static void add_sockets(struct launch_box *box, const struct run_spec *spec) {
    const char *lists[] = { run_spec_variable(spec, "SLUICE_SOCKET"),
                            run_spec_variable(spec, "SLUICE_PEERS") };
    char full[PATH_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (const char *at = lists[i] ? lists[i] : ""; *at; at += *at == ',') {
            size_t length = strcspn(at, ",");
            char *path = box_text(box, "%.*s", (int)length, at);
            char *begin = strncmp(path, "unix:", 5) == 0 ? path + 5 : path;
            char *slash = strrchr(begin, '/');
            if (*begin == '/' && slash > begin) {
                *slash = '\0';
                if (realpath(begin, full))
                    sandbox_add(&box->plan, SANDBOX_READ, full, NULL);
            }
            at += length;
        }
}

static int box_add_sluice(struct launch_box *box, const struct run_spec *spec, struct error *err) {
    const char *run = box->plan.run;
    static const char *const endings[] = { "", "-wal", "-shm" };
    const char *url = config_text(box->e->config, "store.url", NULL);
    hide_homes(box);
    for (size_t i = 0; *url == '/' && i < ARRAY_SIZE(endings); i++)
        box_hide(box, box_text(box, "%s%s", url, endings[i]));
    int r = box->is_trial ? 0 : add_task_folders(box, err);
    if (r < 0)
        return r;
    if (!box->is_trial)
        add_bus(box);
    add_sockets(box, spec);
    /* Created with the folder of the run, just before its shim starts. */
    sandbox_add_optional(&box->plan, SANDBOX_WRITE, box_text(box, "%s/tmp", run), NULL);
    if (spec->prompt)
        sandbox_add_optional(&box->plan, SANDBOX_READ, box_text(box, "%s/prompt", run), NULL);
    if (is_hidden(box, box->root)) /* a worktree: its rule came before that of its home */
        sandbox_add(&box->plan, SANDBOX_WRITE, box->root, NULL);
    return 0;
}

/* --- git -------------------------------------------------------------------------------------- */

/* What a run in a sandbox may change of a repository. In its own worktree: its index. Objects,
 * branches and settings are a private copy, from which the commits of its branch are imported after
 * the run (worktree_import.c). In a checkout or a clone: nothing of .git. The list sandbox_write
 * can override this. */

/* The repository of a worktree has a file that points back to it. A run can write the worktree's
 * side, but not the other. */
static bool points_back(struct launch_box *box, const char *git_dir, const char *git_file) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    char full[PATH_MAX];
    return repository_read_line(box_text(box, "%s/gitdir", git_dir), &line) == 0
           && realpath(strbuf_text(&line), full) && strcmp(full, git_file) == 0;
}

static void add_checkout(struct launch_box *box) {
    struct repository_checkout checkout;
    if (repository_find(box->root, &checkout) < 0)
        return;
    const char *top = strbuf_text(&checkout.top), *common = strbuf_text(&checkout.common_dir);
    const char *git = box_text(box, "%s/.git", top);
    const char *git_dir = real_path(box, strbuf_text(&checkout.git_dir));
    bool is_subfolder = strcmp(top, box->root) != 0;
    if (*top && git_dir && (strcmp(git_dir, git) == 0 || points_back(box, git_dir, git))) {
        if (is_subfolder)
            sandbox_add(&box->plan, SANDBOX_READ, top, NULL);
        sandbox_add(&box->plan, SANDBOX_READ, common, NULL);
        sandbox_add(&box->plan, SANDBOX_READ, git, NULL);
        if (is_subfolder)
            sandbox_add(&box->plan, SANDBOX_WRITE, box->root, NULL);
    }
    repository_checkout_finish(&checkout);
}

static void show_alternate(void *ctx, const char *path) {
    (void)box_show(ctx, SANDBOX_READ, path);
}

/* Mounts a private common folder (workspace/private_git.h); the rest shows the original. */
static int show_private(struct launch_box *box, const char *common, const char *branch,
                        struct error *err) {
    const char *own = private_git_path(box->data, box->id, box->arena);
    int r = private_git_is_there(own) ? 0 : private_git_make(own, common, branch, err);
    if (r < 0)
        return r;
    sandbox_add(&box->plan, SANDBOX_WRITE, common, box_text(box, "%s/common", own));
    for (const char *const *name = private_git_shown; *name; name++)
        (void)box_show(box, SANDBOX_READ, box_text(box, "%s/%s", common, *name));
    sandbox_add(&box->plan, SANDBOX_READ, box_text(box, "%s/shared", own),
                box_text(box, "%s/objects", common));
    private_git_each_alternate(common, show_alternate, box);
    return 0;
}

/* The daemon's git reads them outside the sandbox. Create missing ones, or the run could. */
static int close_settings(struct launch_box *box, const char *git_dir, struct error *err) {
    static const char *const names[] = { "commondir", "gitdir", "config.worktree" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *path = box_text(box, "%s/%s", git_dir, names[i]);
        _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY, NULL, err);
        if (fd == -ENOENT)
            fd = outside_create(AT_FDCWD, path, err);
        if (fd < 0)
            return fd;
        sandbox_add(&box->plan, SANDBOX_READ, path, NULL);
    }
    return 0;
}

static int add_worktree(struct launch_box *box, const char *branch, struct error *err) {
    _cleanup_(worktree_record_finish) struct worktree_record record = { 0 };
    char git_dir[PATH_MAX], common[PATH_MAX];
    int r = worktree_record_read(box->e->data, box->id, &record, err);
    if (r < 0)
        return r;
    r = worktree_find(box->root, &record);
    if (r == -EPERM)
        return error_set(err, -EPERM, WORKTREE_REPLACED, box->root);
    if (r < 0 || !realpath(record.git_dir, git_dir) || !realpath(record.common_dir, common))
        return error_set(err, -EUCLEAN, "'%.120s' is not a worktree any more", box->root);
    r = show_private(box, common, branch, err);
    if (r < 0)
        return r;
    sandbox_add(&box->plan, SANDBOX_WRITE, git_dir, NULL);
    sandbox_add(&box->plan, SANDBOX_READ, box_text(box, "%s/.git", box->root), NULL);
    return close_settings(box, git_dir, err);
}

/* --- kind ------------------------------------------------------------------------------------- */

const char *const *json_words(const json_t *list, struct arena *arena) {
    size_t count = json_array_size(list), used = 0;
    const char **words = arena_alloc(arena, (count + 1) * sizeof(*words));
    for (size_t i = 0; i < count; i++)
        if (json_is_string(json_array_get(list, i)))
            words[used++] = json_string_value(json_array_get(list, i));
    return count > 0 ? words : NULL;
}

static const char *choice_of(struct launch_box *box) {
    const char *own = json_string_value(json_object_get(box->task, "sandbox"));
    box->wrap = json_words(json_object_get(box->task, "wrap"), box->arena);
    if (box->wrap)
        return "wrap";
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

/* --- working folder --------------------------------------------------------------------------- */

static const char *root_of(struct launch_box *box, const char *cwd) {
    const struct workspace_place *place = workspace_find(box->e, box->run->task);
    const json_t *inside = json_object_get(box->task, "inside");
    const char *given = json_string_value(json_object_get(inside, "root"));
    const struct engine_project *project = engine_find_project(box->e, box->project);
    if (place)
        return place->path;
    if (given && sandbox_is_inside(given, cwd))
        return given;
    if (project && project->path && sandbox_is_inside(project->path, cwd))
        return project->path;
    return given ? given : cwd; /* outside of all that: refused */
}

/* A root that contains one of these would show what a sandbox must hide. */
static int check_root(const struct launch_box *box, struct error *err) {
    const char *const *folders = sandbox_private_folders, *own = sandboxes_home(box->e);
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

static int find_folders(struct launch_box *box, struct run_spec *spec, struct error *err) {
    _cleanup_(freep) char *artifacts =
        iteration_path(box->e, box->id, box->run->iteration, ITERATION_ARTIFACTS);
    if (strcmp(spec->cwd, box->e->data) == 0) /* the default: the task has no folder */
        spec->cwd = arena_strdup(box->arena, artifacts);
    const char *cwd = real_path(box, spec->cwd);
    if (!cwd)
        return error_set_errno(err, "enter folder", spec->cwd);
    const char *given = root_of(box, spec->cwd), *home = run_spec_variable(spec, "HOME");
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
    box_link(box, given, box->root); /* as SLUICE_WORKSPACE names it */
    spec->cwd = cwd;
    const char *prepares = spec->prepare_cwd ? real_path(box, spec->prepare_cwd) : NULL;
    if (spec->prepare_cwd && !prepares)
        return error_set_errno(err, "enter folder", spec->prepare_cwd);
    spec->prepare_cwd = prepares;
    return check_root(box, err);
}

/* --- the daemon's socket ---------------------------------------------------------------------- */

/* "unix:/a/run.sock,unix:/b/run.sock": each in its folder. Other addresses stay. */
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

/* --- command line ----------------------------------------------------------------------------- */

/* An absolute path, or a name in the daemon's own PATH: that of a task would choose what runs
 * outside the sandbox. */
static int find_program(struct launch_box *box, struct error *err) {
    const char *path = env_find(daemon_env(box->e), "PATH");
    const char *name = box->kind == SANDBOX_BUBBLEWRAP ? "bwrap"
                       : box->kind == SANDBOX_PODMAN   ? "podman"
                                                       : box->wrap[0];
    _cleanup_(strbuf_finish) struct strbuf found = STRBUF_INIT;
    bool is_path = strchr(name, '/') != NULL;
    if (is_path ? *name != '/' || access(name, X_OK) != 0
                : !engine_find_in_path(path ? path : "/usr/local/bin:/usr/bin:/bin", name, &found))
        return error_set(
            err, -ENOENT,
            "cannot create the sandbox: there is no program '%.80s' in the daemon's PATH%s", name,
            box->kind == SANDBOX_BUBBLEWRAP ? "; install bubblewrap" : "");
    box->plan.program = arena_strdup(box->arena, is_path ? name : strbuf_text(&found));
    return 0;
}

/* A configured sandbox program gets the environment of the command. */
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
    const struct workspace_place *place = workspace_find(box->e, box->run->task);
    if (r == 0 && place && place->branch)
        r = add_worktree(box, place->branch, err);
    else if (r == 0)
        add_checkout(box);
    box_add_agent(box, spec);
    if (r == 0)
        r = box_add_settings(box, err);
    return r == 0 ? box_add_sluice(box, spec, err) : r;
}

/* podman needs its user's own folders. */
static const char *const *own_environment(struct launch_box *box) {
    static const char *const names[] = { "PATH", "HOME", "XDG_RUNTIME_DIR", "USER", "LANG" };
    const char **env = arena_alloc(box->arena, (ARRAY_SIZE(names) + 1) * sizeof(*env));
    if (box->kind == SANDBOX_PODMAN)
        (void)env_pick(daemon_env(box->e), names, ARRAY_SIZE(names), env);
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

/* A folder that cannot be sandboxed does not close the agent: tasks in other folders continue. A
 * missing sandbox program does. */
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
