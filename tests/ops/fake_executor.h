/* fake_executor.h: runs that are only said to happen.
 *
 * Stands in the place of src/executor in a test: no process is started, nothing is watched. A run that was
 * ordered is "started" until the test says how it ended. Linked before the real one, it wins. */
#pragma once

#include "executor/executor.h"

/* Of the executor that was made last. */
struct fake_run {
    struct run_key key;
    char folder[200];
    char token[40]; /* SLUICE_TOKEN of its environment; "": it has none */
    bool live, stopped, killed;
};
const struct fake_run *fake_run_find(task_id task); /* the last one of that task, or NULL */
bool fake_run_is_in_slurm(task_id task);
size_t fake_runs_started(void);

/* What executor_clean finds. */
void fake_cgroups_left(size_t removed, size_t kept);

void fake_run_starts(task_id task); /* its command was seen */
void fake_run_ends(task_id task, int exit_code);
