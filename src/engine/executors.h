/* executors.h: which executor runs a task: this machine, or Slurm.
 *
 * The executor is part of the task. A task in Slurm needs a slot on the key of its partition,
 * "slurm:gpu", which is unlimited unless a limit is set or follows the partition (slurm.follow).
 * Its run row names the executor, so the next daemon asks the right one about the run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "core/model.h"

#define SLURM_KEY          "slurm:" /* followed by the partition */
#define SLURM_NO_PARTITION "*"      /* Slurm's default partition */

enum executor_kind {
    EXECUTOR_LOCAL,
    EXECUTOR_SLURM,
    EXECUTOR_KIND_MAX,
};
const char *executor_kind_name(enum executor_kind kind); /* "local", "slurm" */
enum executor_kind executor_kind_of(const char *name);   /* unknown names are local */

struct engine;

enum executor_kind engine_executor_kind(const struct engine *engine, task_id task);
/* The partition it was given; NULL: not in Slurm, or the default partition. */
const char *engine_partition(const struct engine *engine, task_id task);

/* For a live run in Slurm: what it waits for, or where it runs. False: nothing to report. */
bool engine_executor_activity(const struct engine *engine, task_id task, struct strbuf *out);
/* Whether the run of this token is on another machine, where it cannot reach our socket. False: not
 * a live run, or local. */
bool engine_run_is_remote(const struct engine *engine, const char *token);

/* --- partitions ------------------------------------------------------------------------------- */

/* Caps that follow the size of a Slurm partition (slurm.follow). A cap like any other,
 * on the key "slurm:PARTITION"; only its source differs. */

/* The keys of partitions whose cap follows their size; NULL after the last. */
const char *engine_partition_at(const struct engine *engine, size_t index);
/* Why the cap of this key is what it is: "the partition 'gpu' has 8 CPUs …". False: it does not
 * follow, or another limit is lower. */
bool engine_partition_size(const struct engine *engine, const char *key, struct strbuf *out);

/* --- checks of Slurm -------------------------------------------------------------------------- */

/* Checks on request whether everything that runs in Slurm need is there. Runs Slurm's
 * own commands beside the loop, each for a few seconds at most; results are cached for ten seconds.
 * Changes nothing. */

struct slurm_finding {
    const char *name;
    bool ok;
    bool mild; /* if not ok: only a warning, nothing is blocked by it */
    char text[400];
    const char *fix; /* NULL: nothing to do */
};

typedef void (*engine_slurm_checked)(void *ctx);
/* True: the findings can be read now; false: `checked` is called once, from the loop. */
bool engine_check_slurm(struct engine *engine, engine_slurm_checked checked, void *ctx);
/* NULL after the last. */
const struct slurm_finding *engine_slurm_finding(const struct engine *engine, size_t index);
