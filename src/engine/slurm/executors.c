/* executors.c: see executors.h. Slurm jobs outlive the daemon, its host and its store: ours are
 * recognized by a token that begins with the name of this store (recovery_internal.h). Whether
 * there were any is not stored: the rows of tasks and runs show it. */
#include "engine/executors.h"

#include <string.h>

#include "base/env_text.h"
#include "base/macros.h"
#include "engine/recovery/recovery_internal.h"
#include "engine/runs/runs_internal.h"
#include "engine/slurm/slurm_internal.h"
#include "executor/slurm.h"

#define RESOURCES_MAX     16
#define EXECUTORS_ENV_MAX 12

static const char *const kind_names[] = {
    [EXECUTOR_LOCAL] = "local",
    [EXECUTOR_SLURM] = "slurm",
};
_Static_assert(ARRAY_SIZE(kind_names) == EXECUTOR_KIND_MAX, "an executor has no name");

const char *executor_kind_name(enum executor_kind kind) {
    return kind_names[kind];
}

enum executor_kind executor_kind_of(const char *name) {
    return name && strcmp(name, kind_names[EXECUTOR_SLURM]) == 0 ? EXECUTOR_SLURM : EXECUTOR_LOCAL;
}

/* --- the executor of a task ------------------------------------------------------------------ */

static bool is_slurm_key(const char *name) {
    return strncmp(name, SLURM_KEY, strlen(SLURM_KEY)) == 0;
}

/* The part after the colon; NULL: not in Slurm. */
static const char *slurm_place(const struct engine *e, task_id task) {
    sym resources[RESOURCES_MAX];
    size_t count = core_task_resources(e->core, task, resources, RESOURCES_MAX);
    for (size_t i = 0; i < count && i < RESOURCES_MAX; i++) {
        const char *name = name_of(e, resources[i]);
        if (is_slurm_key(name))
            return name + strlen(SLURM_KEY);
    }
    return NULL;
}

enum executor_kind engine_executor_kind(const struct engine *e, task_id task) {
    return slurm_place(e, task) ? EXECUTOR_SLURM : EXECUTOR_LOCAL;
}

const char *engine_partition(const struct engine *e, task_id task) {
    const char *place = slurm_place(e, task);
    return place && strcmp(place, SLURM_NO_PARTITION) != 0 ? place : NULL;
}

bool engine_executor_activity(const struct engine *e, task_id task, struct strbuf *out) {
    const struct live_run *run = run_find(e, task);
    if (!run || run->executor != EXECUTOR_SLURM || !executors_of(e)->slurm)
        return false;
    return executor_describe_run(executors_of(e)->slurm, run_key_of(run), out);
}

bool engine_run_is_remote(const struct engine *e, const char *token) {
    uint32_t attempt;
    task_id task = engine_find_token(e, token, &attempt);
    const struct live_run *run = task ? run_find(e, task) : NULL;
    return run && (run->executor == EXECUTOR_SLURM || run->is_unreachable);
}

/* --- life ------------------------------------------------------------------------------------ */

static void executors_free(struct engine *e) {
    executor_free(e->executor);
    executor_free(executors_of(e)->slurm);
    slurm_check_free(e);
}

const char *slurm_programs(const struct engine *e) {
    const char *folder = config_text(e->config, "slurm.programs", NULL);
    return *folder ? folder : NULL;
}

/* Without SBATCH_* and SLURM_*: they would override the task. */
static void executors_environment(const struct engine *e,
                                  const char *ret_env[EXECUTORS_ENV_MAX + 1]) {
    static const char *const names[] = { "PATH", "HOME", "USER",       "LOGNAME",
                                         "LANG", "TZ",   "SLURM_CONF", "LD_LIBRARY_PATH" };
    _Static_assert(ARRAY_SIZE(names) <= EXECUTORS_ENV_MAX, "more variables than there is room for");
    ret_env[env_pick(daemon_env(e), names, ARRAY_SIZE(names), ret_env)] = NULL;
}

int slurm_query(struct engine *e, const char *const *words, struct helper_spec spec,
                helper_ended ended, void *ctx, struct helper_process **ret_helper) {
    const char *argv[SLURM_QUERY_WORDS + 1] = { NULL }, *env[EXECUTORS_ENV_MAX + 1];
    const char *folder = slurm_programs(e);
    _cleanup_(freep) char *path = folder ? xasprintf("%s/%s", folder, words[0]) : NULL;
    for (size_t i = 0; i < SLURM_QUERY_WORDS && words[i]; i++)
        argv[i] = words[i];
    if (path)
        argv[0] = path;
    executors_environment(e, env);
    spec.argv = argv;
    spec.env = env;
    return helper_start(e->loop, &spec, ended, ctx, ret_helper, NULL);
}

static int make_local(struct engine *e, struct error *err) {
    const char *host = config_text(e->config, "daemon.host", NULL);
    struct executor_options options = {
        .root = e->runs_folder,
        .host = *host ? host : NULL,
        .shim_path = e->shim_path,
        .use_cgroup = strcmp(config_text(e->config, "executor.cgroup", NULL), "off") != 0,
        .stores_ends = true,
    };
    struct executor_events events = run_end_events;
    events.ctx = e;
    return executor_local_new(e->loop, &options, &events, &e->executor, err);
}

static int make_slurm(struct engine *e, struct error *err) {
    const struct config *config = e->config;
    const char *shim = config_text(config, "slurm.shim", NULL);
    const char *host = config_text(config, "daemon.host", NULL);
    const char *env[EXECUTORS_ENV_MAX + 1];
    struct executor_slurm_options options = {
        .base = { .root = e->runs_folder,
                  .host = *host ? host : NULL,
                  .shim_path = *shim ? shim : e->shim_path },
        .programs = slurm_programs(e),
        .cluster = store_name(e),
        .env = env,
        .poll_busy = config_number(config, "slurm.poll_s", NULL),
        .poll_idle = config_number(config, "slurm.poll_idle_s", NULL),
        .submits_at_once = (uint32_t)config_number(config, "slurm.submits", NULL),
        .use_sacct = config_number(config, "slurm.accounting", NULL) != 0,
    };
    executors_environment(e, env);
    struct executor_events events = run_end_events;
    events.ctx = e;
    int r = executor_slurm_new(e->loop, &options, &events, &executors_of(e)->slurm, err);
    return r < 0 ? error_prefix(err, "cannot use Slurm") : 0;
}

struct executor *executor_of(struct engine *e, enum executor_kind kind, struct error *err) {
    if (kind == EXECUTOR_LOCAL)
        return e->executor;
    if (!executors_of(e)->slurm && make_slurm(e, err) < 0)
        return NULL;
    return executors_of(e)->slurm;
}

const char *executors_host(const struct engine *e, enum executor_kind kind) {
    const struct executor *slurm = kind == EXECUTOR_SLURM ? executors_of(e)->slurm : NULL;
    return executor_host(slurm ? slurm : e->executor);
}

/* --- one run --------------------------------------------------------------------------------- */

void executors_order(struct engine *e, struct live_run *run) {
    struct error err = { 0 }; /* the launch reports the error */
    run->executor = engine_executor_kind(e, run->task);
    if (run->executor == EXECUTOR_SLURM)
        partitions_query(e);
    const struct executor *ex = executor_of(e, run->executor, &err);
    run->boot_id = xstrdup(ex ? executor_boot_id(ex) : "");
    if (run->executor == EXECUTOR_LOCAL)
        run_proof_make(&run->proof);
}

int executors_launch(struct engine *e, struct live_run *run, const struct run_spec *spec,
                     struct error *err) {
    struct executor *ex = executor_of(e, run->executor, err);
    return ex ? executor_start(ex, run_key_of(run), run->view.folder, spec, err) : err->code;
}

int executors_stop(struct engine *e, struct run_key key, enum stop_how how) {
    const struct live_run *run = run_find_attempt(e, key);
    struct error err = { 0 };
    struct executor *ex = executor_of(e, run ? run->executor : EXECUTOR_LOCAL, &err);
    return ex ? executor_stop(ex, key, how) : err.code;
}

/* --- daemon start ---------------------------------------------------------------------------- */

/* Whether anything is or was in Slurm. Such a task has the key of its partition, even if, after a
 * restore, the rows do not know its run. */
static bool has_slurm(const struct engine *e) {
    const struct symbol_table *symbols = core_symbols(e->core);
    for (size_t i = 0; i < run_count(e); i++)
        if (run_live_at(e, i)->executor == EXECUTOR_SLURM)
            return true;
    for (sym name = 1; name <= symbols->count; name++)
        if (is_slurm_key(symbol_name(symbols, name)))
            return true;
    return false;
}

/* Creates every executor that rows or folders may need. */
static int executors_start(struct engine *e, struct error *err) {
    partitions_query(e);
    return !has_slurm(e) || executor_of(e, EXECUTOR_SLURM, err) ? 0 : err->code;
}

enum adopted executors_adopt(struct engine *e, enum executor_kind kind, struct run_key run,
                             const char *folder, const struct executor_known *known) {
    struct error err = { 0 };
    return executor_adopt(executor_of(e, kind, &err), run, folder, known);
}

int executors_sweep(struct engine *e, struct executor_sweep *sweep, struct error *err) {
    struct executors *x = executors_of(e);
    x->sweeping = EXECUTOR_LOCAL;
    int r = executor_sweep(e->executor, sweep, err);
    if (r < 0 || (!x->slurm && sweep->left == 0))
        return r;
    /* Folders of Slurm runs, but no rows: the store is not the one it was. */
    struct executor *slurm = executor_of(e, EXECUTOR_SLURM, err);
    x->sweeping = EXECUTOR_SLURM;
    return slurm ? executor_sweep(slurm, sweep, err) : err->code;
}

const struct engine_part executors_part = {
    .state_size = sizeof(struct executors),
    .at = { [STEP_FREE] = executors_free },
    .try = { [TRY_OPEN] = make_local, [TRY_START] = executors_start },
};
