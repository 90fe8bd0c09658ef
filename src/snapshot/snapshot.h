/* snapshot.h: reads a complete queue from a JSON file into a core.
 *
 * docs/reference/snapshot.md describes the format. The file is read as a stream, never as a tree: a
 * million tasks cost the memory of the core plus their ids. Only the file is read, never the user's
 * own configuration: first the preset it names (or `sluice`), then its `config`, then `overrides`,
 * then its members.
 *
 * Life:  snapshot_read → use snapshot_core → snapshot_free
 * Errors are one message with the position (line and column, or the task's id). */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "config/config.h"
#include "core/core.h"

struct coming;
struct snapshot;

/* KEY=VALUE pairs that are set after the file's `config`. */
struct snapshot_options {
    const char *const *overrides;
    size_t override_count;
};

int snapshot_read(FILE *in, const char *name, const struct snapshot_options *options,
                  struct snapshot **ret, struct error *err);
struct snapshot *snapshot_free(struct snapshot *snapshot); /* returns NULL */

/* All facts are applied, its clock is at the snapshot's `now`, and nothing is decided yet. */
struct core *snapshot_core(struct snapshot *snapshot);
/* What happens to it from now on; its hours are applied. */
struct coming *snapshot_coming(struct snapshot *snapshot);
const struct config *snapshot_config(const struct snapshot *snapshot);
time_ms snapshot_now(const struct snapshot *snapshot);

/* Listed tasks have the numbers 1 .. count, in the order of the file. */
size_t snapshot_task_count(const struct snapshot *snapshot);
/* The id in the file, also of tasks that are only referred to. Borrowed. */
const char *snapshot_task_name(const struct snapshot *snapshot, task_id task);
struct task_names snapshot_names(const struct snapshot *snapshot);
/* 0: no such id. */
task_id snapshot_find(const struct snapshot *snapshot, const char *name);

/* How `sim` runs a task: from the task's "sim" object, else its kind's in the top-level "sim", else
 * that of "*" there, else the built-in one. Values of a range are drawn from the seed. */
struct sim_hint {
    time_ms duration_min, duration_max;
    int64_t tokens_min, tokens_max; /* -1: the run reports none */
    int64_t money;                  /* millionths of a dollar; -1: the run reports no cost */
    int64_t failure_milli;          /* probability of a failed attempt, in thousandths */
    int64_t limited_milli;          /* probability of ending by a rate limit */
};
void snapshot_hint(const struct snapshot *snapshot, task_id task, struct sim_hint *ret);
uint64_t snapshot_seed(const struct snapshot *snapshot); /* top-level sim.seed; 1 if absent */
