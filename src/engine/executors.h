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
