/* sandboxes.c: the trial at the start, and what is known of live runs. */
#include "engine/sandboxes.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/agents.h"
#include "engine/launch_box.h"
#include "engine/sandboxes_internal.h"
#include "executor/sandbox_trial.h"
#include "os/log.h"

#define TRIAL_MOST       SECONDS(10)
#define LANDLOCK_VERSION 1u /* LANDLOCK_CREATE_RULESET_VERSION */
#define SCOPES_SINCE     6

struct sandboxes {
    char *home;      /* the home directory of the daemon's user */
    bool works;      /* the trial of bubblewrap has succeeded */
    bool is_missing; /* it is not installed */
    char why[256];   /* it has not; "not tried" */
};

static struct sandboxes *sandboxes_of(const struct engine *e) {
    return e->part[PART_sandboxes];
}

static const char *variable(const struct engine *e, const char *name) {
    size_t length = strlen(name);
    for (char *const *pair = e->options.environment; pair && *pair; pair++)
        if (strncmp(*pair, name, length) == 0 && (*pair)[length] == '=')
            return *pair + length + 1;
    return NULL;
}

static char *find_home(const struct engine *e) {
    char names[16384], full[PATH_MAX];
    struct passwd user, *found = NULL;
    const char *home = variable(e, "HOME");
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

const char *sandboxes_automatic(const struct engine *e) {
    return sandbox_kind_name(sandboxes_of(e)->works ? SANDBOX_BUBBLEWRAP : SANDBOX_NONE);
}

const char *sandboxes_home(const struct engine *e) {
    return sandboxes_of(e)->home;
}

bool sandboxes_find_program(const struct engine *e, const char *name, struct strbuf *out) {
    const char *path = variable(e, "PATH");
    if (strchr(name, '/')) {
        strbuf_puts(out, name);
        return *name == '/' && access(name, X_OK) == 0;
    }
    return engine_find_in_path(path ? path : "/usr/local/bin:/usr/bin:/bin", name, out);
}

/* --- the trial ------------------------------------------------------------------------------------ */

/* A run without a task: all rules that need none. */
static int try_bubblewrap(struct engine *e, struct error *err) {
    struct arena arena = ARENA_INIT;
    struct live_run run = { .executor = EXECUTOR_LOCAL, .view = { .folder = ".trial" } };
    const char *const argv[] = { "true", NULL };
    const char *path = variable(e, "PATH");
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
    launch_box_finish(&box);
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

/* --- live runs ------------------------------------------------------------------------------------ */

/* One that an earlier daemon has launched: its shim was told. */
static void read_run(const struct engine *e, struct live_run *run) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    run->sandbox_asked = true;
    if (run_read_spec(e, run, &read, NULL) < 0)
        return;
    run->sandbox = xstrdup(read->spec.sandbox ? read->spec.sandbox : "none");
    run->sandbox_root = read->spec.sandbox_root ? xstrdup(read->spec.sandbox_root) : NULL;
}

const char *engine_run_sandbox(const struct engine *e, task_id task, const char **ret_root) {
    struct live_run *run = run_find(e, task);
    if (run && !run->sandbox && !run->sandbox_asked)
        read_run(e, run);
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
    .name = "sandboxes",
    .state_size = sizeof(struct sandboxes),
    .at = { [STEP_INIT] = sandboxes_init, [STEP_FREE] = sandboxes_free },
};
