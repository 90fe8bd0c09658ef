/* disk.h: what a daemon has on disk of its core: the rows that were old when it wrote last.
 *
 * disk_commit writes exactly what core_take_changes names, so a row that should have been named and
 * was not is found by the next restart. The configuration is not here: it is in a file. */
#pragma once

#include "../model/rebuild.h"
#include "names.h"

struct disk {
    struct stored_task *tasks; /* by number; spec.id 0: none */
    size_t task_count, task_capacity;
    struct agent_spec agents[AGENTS + 1];
    struct limiter_spec limiters[LIMITERS + 1];
    struct usage_spec *usage;
    size_t usage_count, usage_capacity;
    struct wait_spec waits[(PROJECTS + 1) * (LIMITERS + 1) * (AGENTS + 1)];
    size_t wait_count;
    struct pace_spec pace;
    task_id *reporting; /* since the last commit */
    size_t reporting_count, reporting_capacity;
    struct core *core; /* while it is written */
    task_id rewired;
};

void disk_finish(struct disk *disk);
/* A run has reported: its own row is written then, not its task's. */
void disk_note_tokens(struct disk *disk, task_id task);
void disk_commit(struct disk *disk, struct core *core);

/* A new core from the rows. NULL: one was refused. `old`: for what the configuration says. */
struct core *disk_rebuild(const struct disk *disk, const struct core *old,
                          void (*observe)(void *ctx, const struct fact *fact), void *ctx,
                          struct error *err);
