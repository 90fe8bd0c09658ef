/* fake_executor.h: an executor that starts no process.
 *
 * Replaces src/executor in a test: it is linked first. A run that the engine starts
 * stays live until the test ends it. */
#pragma once

#include "executor/executor.h"

/* A run of the executor that was created last. */
struct fake_run {
    struct run_key key;
    char folder[200];
    char token[40]; /* SLUICE_TOKEN of its environment, or "" */
    bool live, stopped, killed;
};
const struct fake_run *fake_run_find(task_id task); /* the last run of the task, or NULL */
bool fake_run_is_in_slurm(task_id task);
size_t fake_runs_started(void);

/* Sets the result of executor_clean. */
void fake_cgroups_left(size_t removed, size_t kept);

void fake_run_starts(task_id task); /* reports that the command has started */
void fake_run_ends(task_id task, int exit_code);
