/* executors.c: see executors.h. */
#include "engine/executors.h"

#include <string.h>

#include "base/macros.h"
#include "engine/engine_internal.h"

#define RESOURCES_MAX 16

static const char *const kind_names[] = {
    [EXECUTOR_LOCAL] = "local",
    [EXECUTOR_SLURM] = "slurm",
};
_Static_assert(ARRAY_SIZE(kind_names) == EXECUTOR_KIND_MAX, "an executor has no name");

const char *executor_kind_name(enum executor_kind kind) {
    return kind_names[kind];
}

/* --- where a task runs ----------------------------------------------------------------------- */

/* What is behind the colon; NULL: it is not in Slurm. */
static const char *slurm_place(const struct engine *e, task_id task) {
    sym resources[RESOURCES_MAX];
    size_t count = core_task_resources(e->core, task, resources, RESOURCES_MAX);
    for (size_t i = 0; i < count && i < RESOURCES_MAX; i++) {
        const char *name = symbol_name(core_symbols(e->core), resources[i]);
        if (strncmp(name, SLURM_KEY, strlen(SLURM_KEY)) == 0)
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
