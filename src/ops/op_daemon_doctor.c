/* op_daemon_doctor.c: problems of this machine, and how to fix them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/data_folder.h"
#include "engine/executors.h"
#include "engine/run_token.h"
#include "engine/sandboxes.h"
#include "engine/worktrees.h"
#include "executor/executor.h"
#include "ops/print.h"
#include "os/files.h"

#define FSYNC_SUSPECT_US 20 /* no disk is faster than this when it really writes */
#define FSYNC_SLOW_US    50000
#define FILES_WANTED     1024

struct check {
    const char *name;
    bool ok;
    bool mild; /* a warning only: nothing stops, is lost or is exposed */
    char text[400];
    const char *fix; /* a line for a shell: a command, or a comment; NULL: nothing to do */
    char fix_text[512];
};

_printf_(2, 3) static void set_text(struct check *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(c->text, sizeof(c->text), format, args);
    va_end(args);
}

_printf_(2, 3) static void set_fix(struct check *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(c->fix_text, sizeof(c->fix_text), format, args);
    va_end(args);
    c->fix = c->fix_text;
}

static void check_disk(struct op_call *call, struct check *c) {
    struct engine_host_values host;
    engine_host(call->engine, &host);
    int64_t floor_mb = config_number(engine_config(call->engine), "store.min_free_mb", NULL);
    c->ok = host.disk_free_mb < 0 || host.disk_free_mb >= floor_mb;
    set_text(c, "%" PRId64 " MB free; below %" PRId64 " MB no new tasks are accepted",
             host.disk_free_mb, floor_mb);
    c->fix = c->ok ? NULL : "# free disk space, or lower store.min_free_mb";
}

static void check_store(struct op_call *call, struct check *c) {
    struct store_info store;
    store_info(engine_store(call->engine), &store);
    bool memory = strcmp(store.backend, "memory") == 0;
    c->ok = !store.broken && !memory;
    c->mild = memory; /* it was configured */
    set_text(c, "%s at '%.256s', %" PRIu64 " commits, slowest %.1f ms%s", store.backend,
             store.place, store.commits, (double)store.slowest_commit_us / 1000.0,
             store.broken ? "; it reported that a commit may be lost"
             : memory     ? "; everything is lost when the daemon stops"
                          : "");
    c->fix = store.broken ? "sluice down; sluice up"
             : memory     ? "sluice config unset store.url"
                          : NULL;
}

/* A commit that is too fast means that the disk does not really write. */
static void check_fsync(struct op_call *call, struct check *c) {
    struct store_info store;
    store_info(engine_store(call->engine), &store);
    bool memory = strcmp(store.backend, "memory") == 0;
    bool known = store.commits > 0 && store.last_commit_us > 0 && !memory;
    bool suspect = known && store.last_commit_us < FSYNC_SUSPECT_US;
    bool slow = known && store.last_commit_us > FSYNC_SLOW_US;
    c->ok = !suspect && !slow;
    if (!known)
        set_text(c, "nothing has been committed to disk yet");
    else
        set_text(c, "the last commit took %.2f ms%s", (double)store.last_commit_us / 1000.0,
                 suspect ? ": too fast for a disk that really writes data"
                 : slow  ? ": every submit waits for it"
                         : "");
    c->fix =
        suspect
            ? "# disable the disk's volatile write cache, or accept data loss when the power fails"
        : slow ? "# move the home to a faster disk"
               : NULL;
}

/* `danger`: what others can do. */
static void check_mode(const char *path, const char *what, const char *danger, struct check *c) {
    struct stat st;
    bool exists = stat(path, &st) == 0;
    c->ok = exists && (st.st_mode & 077) == 0;
    if (!exists) {
        set_text(c, "%s '%s' does not exist", what, path);
        c->fix = "sluice down && sluice up # creates it again";
        return;
    }
    set_text(c, "%s '%s' has mode %03o", what, path, (unsigned)(st.st_mode & 0777));
    if (!c->ok)
        set_fix(c, "chmod %s '%.400s' # other users can %s", S_ISDIR(st.st_mode) ? "700" : "600",
                path, danger);
}

static void check_socket(struct op_call *call, struct check *c) {
    check_mode(engine_socket_path(call->engine), "the socket", "control the daemon", c);
}

/* The runs' socket, and /proc, which identifies peers. */
static void check_run_socket(struct op_call *call, struct check *c) {
    check_mode(engine_run_socket_path(call->engine), "the socket of the runs", "act as a run", c);
    if (c->ok && access("/proc/self/stat", R_OK) < 0) {
        c->ok = false;
        set_text(
            c, "/proc is not mounted: a run that connects to the owner's socket is not recognized");
        c->fix = "sudo mount -t proc proc /proc";
    }
}

static void check_home(struct op_call *call, struct check *c) {
    check_mode(engine_home(call->engine), "the home", "read prompts and logs", c);
}

/* Locking was tested at startup; whether other hosts see the lock cannot be tested here. */
static void check_run_folders(struct op_call *call, struct check *c) {
    const char *path = engine_runs_folder(call->engine);
    const char *shared = file_system_of(path);
    check_mode(path, "the folder of the runs", "read prompts and logs", c);
    if (!c->ok || !shared)
        return;
    c->ok = false;
    c->mild = true;
    set_text(c,
             "'%s' is on %s: if other hosts do not see a lock, they take a live run for a dead one "
             "of the same host name",
             path, shared);
    c->fix = "# mount it with server-side locks (nfs: without nolock and local_lock), and set a "
             "different daemon.host on every host";
}

static void check_shim(struct op_call *call, struct check *c) {
    const char *path = engine_shim_path(call->engine);
    c->ok = access(path, X_OK) == 0;
    set_text(c, "'%s' %s", path, c->ok ? "found" : "cannot be executed: no task can run");
    c->fix = c->ok ? NULL : "# install the package of Sluice again: sluice-shim is missing";
}

static void check_files(struct op_call *call, struct check *c) {
    (void)call;
    struct rlimit limit = { 0 };
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    c->ok = limit.rlim_cur >= FILES_WANTED;
    set_text(c, "limit of open files: %llu", (unsigned long long)limit.rlim_cur);
    c->fix = c->ok ? NULL : "sluice down; ulimit -n 4096 && sluice up";
}

/* Includes what a sandbox does not prevent. */
static void check_sandbox(struct op_call *call, struct check *c) {
    struct engine_sandboxes s;
    engine_sandboxes(call->engine, &s);
    const char *usual = config_text(engine_config(call->engine), "tasks.sandbox", NULL);
    c->ok = s.why == NULL || strcmp(usual, "none") == 0;
    if (!c->ok) {
        set_text(c, "auto is none, so agents run without a sandbox: %s", s.why);
        c->fix = s.is_missing
                     ? "sudo apt install bubblewrap && sluice down && sluice up # or accept "
                       "it: sluice config set tasks.sandbox=none"
                     : "# let your user create namespaces (docs/guide/sandbox.md), then restart "
                       "the daemon, or: sluice config set tasks.sandbox=none";
        return;
    }
    if (s.why) {
        set_text(c, "tasks.sandbox is none: agents run without a sandbox");
        return;
    }
    set_text(c, "auto is %s%s", s.automatic,
             s.is_scoped ? ""
                         : "; this kernel (before 6.12) lets runs with network access connect to "
                           "abstract sockets");
}

/* Runs of one user are not isolated from each other, although it may look so. */
static void check_isolation(struct op_call *call, struct check *c) {
    (void)call;
    bool root = geteuid() == 0;
    c->ok = !root;
    set_text(c,
             "runs have the daemon's user (uid %u)%s: without a sandbox a run can read the "
             "database and, in /proc, the environment of other runs, tokens included; the owner's "
             "socket refuses processes of runs, but not another program of the same user that a "
             "run makes send the request",
             (unsigned)geteuid(), root ? ", which is root" : "");
    c->fix = root ? "# run the daemon as a dedicated unprivileged user"
                  : "# run untrusted work under a daemon of another user, with hidepid=2 on /proc, "
                    "or in a namespace without this home";
}

/* Deleting a task keeps work that exists nowhere else. */
static void check_worktrees(struct op_call *call, struct check *c) {
    size_t count = engine_leftover_count(call->engine);
    const char *why = "";
    const char *path = count > 0 ? engine_leftover_at(call->engine, 0, &why) : "";
    c->ok = count == 0;
    size_t kept = engine_kept_worktrees(call->engine);
    if (count == 0 && kept == 0)
        set_text(c, "none is left over from deleted tasks");
    else if (count == 0)
        set_text(c,
                 "%zu of finished tasks %s kept: their work is not merged, or "
                 "retention.merged_days has not passed; 'sluice merge ID' merges it",
                 kept, kept == 1 ? "is" : "are");
    else
        set_text(c, "%zu belong%s to no task and %s kept: '%s' (%s)%s", count,
                 count == 1 ? "s" : "", count == 1 ? "is" : "are", path, why,
                 count > 1 ? ", …" : "");
    if (!c->ok)
        set_fix(
            c,
            "git worktree remove --force '%.200s' && rm '%.200s.json' # copy what you need first",
            path, path);
}

static void check_cgroups(struct op_call *call, struct check *c) {
    size_t kept, removed = executor_clean(engine_executor(call->engine), &kept);
    c->ok = true;
    if (removed == 0 && kept == 0)
        set_text(c, "none is left over from stopped daemons");
    else
        set_text(c, "from stopped daemons: %zu removed, %zu with live runs", removed, kept);
}

static void check_settings(struct op_call *call, struct check *c) {
    bool wait = config_max_wait_has_no_effect(engine_config(call->engine));
    bool tick = config_tick_has_no_effect(engine_config(call->engine));
    c->ok = !wait && !tick;
    set_text(
        c, "%s",
        wait   ? "'max_wait_s' has no effect: 'order' is also set and does not contain 'overdue'"
        : tick ? "'pace.tick_s' has no effect: 'pace.batch' is unlimited, so a tick limits nothing"
               : "every setting in the file has an effect");
    if (wait)
        c->fix = "sluice config unset max_wait_s # or add 'overdue' to 'order'";
    else if (tick)
        c->fix = "sluice config unset pace.tick_s # or set 'pace.batch', the starts per tick";
}

/* The file exists, and no other user can read it. */
static bool secret_file_is_good(const char *pattern, const char *owner, const struct config *config,
                                struct check *c, size_t *count) {
    const char *path = config_text(config, pattern, owner);
    if (!*path)
        return true;
    ++*count;
    _cleanup_(freep) char *what =
        xasprintf("%.*s.%s.env_file", (int)strcspn(pattern, "."), pattern, owner);
    check_mode(path, what, "read it", c);
    if (!c->ok && !c->fix)
        set_fix(c, "install -m 600 /dev/null '%.400s' # then write NAME=VALUE lines to it", path);
    return c->ok;
}

/* Commands and credentials are only tested by a launch. */
static void check_secrets(struct op_call *call, struct check *c) {
    const struct config *config = engine_config(call->engine);
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; good && i < config_agent_count(config); i++)
        good = secret_file_is_good("agents.A.env_file", config_agent_name(config, i), config, c,
                                   &count);
    for (size_t i = 0; good && i < config_project_count(config); i++)
        good = secret_file_is_good("projects.P.env_file", config_project_name(config, i), config, c,
                                   &count);
    c->ok = good;
    if (good && count == 0)
        set_text(c, "no agent or project has an env_file");
    else if (good)
        set_text(c, "%zu env_file, readable by their owner only", count);
}

static const struct {
    const char *name;
    bool mild;
    void (*check)(struct op_call *call, struct check *c);
} checks[] = {
    { "disk", false, check_disk },          { "store", false, check_store },
    { "fsync", true, check_fsync },         { "home", false, check_home },
    { "socket", false, check_socket },      { "runs", false, check_run_socket },
    { "shim", false, check_shim },          { "files", true, check_files },
    { "sandbox", true, check_sandbox },     { "isolation", true, check_isolation },
    { "worktrees", true, check_worktrees }, { "cgroups", false, check_cgroups },
    { "settings", true, check_settings },   { "run-folders", false, check_run_folders },
    { "secrets", false, check_secrets },
};

/* clang-format off */
#define FEATURE(X) \
    X(json_put_string, "name", T_TEXT, "its name", "cgroup.kill", features[i].name) \
    X(json_put_bool, "there", T_BOOL, "it is available", NULL, features[i].there) \
    X(json_put_string, "instead", T_TEXT | T_NULL, "the fallback in use without it", NULL, features[i].instead) \
    X(json_put_string, "fix", T_TEXT | T_NULL, "how to get it", NULL, features[i].fix)
static const struct shape feature_shape = { "Feature", "an optional kernel feature", .members = SHAPE_ALL(FEATURE) };
/* clang-format on */

static void print_features(const struct executor_feature *features, size_t count,
                           struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_array_begin(&w);
    for (size_t i = 0; i < count; i++) {
        SHAPE_OBJECT_TO(FEATURE)
    }
    json_write_array_end(&w);
}

void op_print_kernel(const char *folder, struct strbuf *out) {
    const struct executor_feature *features = NULL;
    size_t count = executor_probe(folder, &features);
    print_features(features, count, out);
}

static const struct words words_level = { "Level",
                                          (const char *const[]){ "ok", "warning", "bad", NULL } };

/* clang-format off */
#define CHECK(X) \
    X(json_put_string, "name", T_TEXT, "its name", "disk", c->name) \
    X(json_put_bool, "ok", T_BOOL, "nothing must be fixed", NULL, c->ok || c->mild) \
    X(json_put_string, "level", T_WORD, "`warning`: nothing must be fixed; `bad`: must be fixed", &words_level, c->ok ? "ok" : c->mild ? "warning" : "bad") \
    X(json_put_string, "text", T_TEXT, "the finding", "90000 MB free; below 256 MB no new tasks are taken", c->text) \
    X(json_put_string, "fix", T_TEXT | T_NULL, "the fix", NULL, c->fix)
static const struct shape check_shape = { "Check", "a check", .members = SHAPE_ALL(CHECK) };
/* clang-format on */

static void print_check(struct json_writer *w, const struct check *c) {
    SHAPE_OBJECT(CHECK)
}

static int print_all(struct op_call *call) {
    const struct executor_feature *features = NULL;
    size_t count = executor_features(engine_executor(call->engine), &features);
    struct json_writer w = op_begin(call);
    _cleanup_(strbuf_finish) struct strbuf list = STRBUF_INIT;
    print_features(features, count, &list);
    print_json(&w, "features", strbuf_text(&list));
    json_put_array(&w, "checks");
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
        struct check c = { .name = checks[i].name, .mild = checks[i].mild };
        checks[i].check(call, &c);
        print_check(&w, &c);
    }
    const struct slurm_finding *f;
    for (size_t i = 0; (f = engine_slurm_finding(call->engine, i)); i++) {
        struct check c = { .name = f->name, .ok = f->ok, .mild = f->mild, .fix = f->fix };
        memcpy(c.text, f->text, sizeof(c.text));
        print_check(&w, &c);
    }
    json_write_array_end(&w);
    return op_end(&w);
}

static int run(struct op_call *call) {
    return op_wait_ready(call, engine_check_slurm, print_all);
}

const struct op op_daemon_doctor = {
    OP("daemon.doctor", "GET", "/v1/doctor", "check the machine and the daemon"),
    .text = "Where Slurm is used, it is checked, too.",
    .answers = ANSWERS({ "features", T_OBJECT | T_LIST, "kernel features", &feature_shape },
                       { "checks", T_OBJECT | T_LIST, "checks", &check_shape }),
    OP_READS(READ, NONE, run),
};
