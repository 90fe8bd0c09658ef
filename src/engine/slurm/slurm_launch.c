/* slurm_launch.c: what Slurm needs to know about a run.
 *
 * Resources come from the task, else from the current settings of its project, its agent or
 * `tasks`. Only the partition was chosen when the task was added. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/number.h"
#include "config/run_settings.h"
#include "engine/recovery/recovery_internal.h"
#include "engine/slurm/slurm_internal.h"

struct placing {
    const struct config *config;
    const json_t *task;
    const char *project, *agent;
    struct arena *arena;
};

static const char *place_value(const struct placing *p, const char *key) {
    const json_t *value = json_object_get(p->task, key);
    if (json_is_string(value))
        return json_string_value(value);
    if (!json_is_integer(value))
        return config_slurm_value(p->config, key, p->project, p->agent);
    return arena_printf(p->arena, "%" PRId64, (int64_t)json_integer_value(value));
}

void slurm_fill_spec(struct engine *e, const struct live_run *run, const json_t *task,
                     struct arena *arena, struct run_spec *spec) {
    char id[ENGINE_ID_MAX];
    if (run->executor != EXECUTOR_SLURM)
        return;
    const struct engine_project *project = project_of_task(e, run->task);
    struct placing p = { e->config, json_object_get(task, "slurm"), project ? project->name : NULL,
                         run->agent, arena };
    const char *cpus = place_value(&p, "cpus");
    spec->name = arena_strdup(arena, engine_task_id(e, run->task, id));
    spec->token = arena_printf(arena, "sluice:%s:%" PRIu64 ":%" PRIu32, store_name(e), run->task,
                               run->view.attempt);
    spec->place = (struct run_place){
        .partition = engine_partition(e, run->task),
        .account = place_value(&p, "account"),
        .qos = place_value(&p, "qos"),
        .gres = place_value(&p, "gres"),
        .constraint = place_value(&p, "constraint"),
        .extra = place_value(&p, "options"),
        .memory_bytes = spec->memory_max,
    };
    if (cpus)
        (void)number_parse_int(cpus, &spec->place.cpus, NULL); /* validated on submission */
}

const char *launch_address(const struct engine *e, const struct live_run *run,
                           struct arena *arena) {
    const char *const *words = NULL;
    size_t count = config_words(e->config, "slurm.address", NULL, &words);
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT;
    if (run->executor != EXECUTOR_SLURM || count == 0)
        return e->run_socket_path;
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&all, "%s%s", i ? "," : "", words[i]);
    return arena_strdup(arena, strbuf_text(&all));
}

/* The runs' socket is beside the owner's, which the addresses name; same name in each home. */
static void print_peer(const struct engine *e, const char *address, struct strbuf *out) {
    const char *own = strrchr(e->run_socket_path, '/'), *end = strrchr(address, '/');
    if (strncmp(address, "unix:/", 6) != 0 || !own)
        return;
    const char *begin = address + strlen("unix:");
    _cleanup_(freep) char *path = xasprintf("%.*s%s", (int)(end - begin), begin, own);
    if (strcmp(path, e->run_socket_path) != 0)
        strbuf_printf(out, "%sunix:%s", out->length ? "," : "", path);
}

const char *launch_peers(const struct engine *e, const struct live_run *run, struct arena *arena) {
    const char *const *words = NULL;
    size_t count = config_words(e->config, "daemon.addresses", NULL, &words);
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT;
    if (launch_address(e, run, arena) != e->run_socket_path)
        return NULL;
    for (size_t i = 0; i < count; i++)
        print_peer(e, words[i], &all);
    return all.length > 0 ? arena_strdup(arena, strbuf_text(&all)) : NULL;
}

const char *launch_ca(const struct engine *e, const struct live_run *run) {
    const char *file = config_text(e->config, "daemon.tls_ca", NULL);
    return run->executor == EXECUTOR_SLURM && *file ? file : NULL;
}
