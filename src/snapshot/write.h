/* write.h: writes the state of a core as a live snapshot. snapshot_read turns it into a core that
 * decides the same.
 *
 * docs/reference/snapshot.md describes the format. Written in pieces of about 64 KB: a million
 * tasks cost 8 MB besides the core. All settings are in `config`, so that --set of `plan` and `sim`
 * can change them. A core does not know titles, prompts and commands, so they are never written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "core/core.h"

struct coming;

struct snapshot_source {
    struct core *core; /* not changed, except that symbols may be added */
    const char *preset;
    /* Replaces each name by a neutral one: project-3, task-17. */
    bool anonymous;
    /* Appends the unique id of a task, which the core need not know. NULL: task-17. */
    void (*task_name)(const void *ctx, const struct core *core, task_id task, struct strbuf *out);
    const void *ctx;
    /* Hours and tasks that schedules will add; or NULL. */
    const struct coming *coming;
};

/* Returns 0, or <0 to stop; snapshot_write then returns it. */
typedef int (*snapshot_sink)(void *ctx, const char *bytes, size_t size);

/* -ERANGE: a value of the core is outside the range of its setting, which the message names. */
int snapshot_write(const struct snapshot_source *source, snapshot_sink sink, void *ctx,
                   struct error *err);
