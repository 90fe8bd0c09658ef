/* executors.h: who runs a task: this machine, or Slurm.
 *
 * Where a task runs is a part of the task: one that runs in Slurm needs a place on the key of its partition, "slurm:gpu",
 * which is without limit unless somebody sets one or lets it follow the partition (slurm.follow). Its run row names the
 * executor, so that the next daemon asks the right one what became of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "core/model.h"

#define SLURM_KEY          "slurm:" /* and the partition */
#define SLURM_NO_PARTITION "*"      /* none is named: Slurm's own default */

enum executor_kind {
    EXECUTOR_LOCAL,
    EXECUTOR_SLURM,
    EXECUTOR_KIND_MAX,
};
const char *executor_kind_name(enum executor_kind kind); /* "local", "slurm" */
enum executor_kind executor_kind_of(const char *name);   /* what is no other is local */

struct engine;

enum executor_kind engine_executor_kind(const struct engine *engine, task_id task);
/* The partition that it was given; NULL: it is not in Slurm, or in the default one. */
const char *engine_partition(const struct engine *engine, task_id task);

/* Of a live run in Slurm: what it waits for, or where it is. False: there is nothing to say. */
bool engine_executor_activity(const struct engine *engine, task_id task, struct strbuf *out);
/* Whose token this is runs on another machine, where it has no socket of ours. False: of no run that lives, or here. */
bool engine_run_is_remote(const struct engine *engine, const char *token);
