/* write.h: the state of a core as a live snapshot, which snapshot_read turns into a core that
 * decides the same.
 *
 * The format is described in docs/snapshot.md. Written in pieces of about 64 KB: a million tasks
 * cost 8 MB beside the core. Everything that is a setting stands in `config`, so that --set of
 * `plan` and `sim` can change it; everything else is state. Titles, prompts and commands are not
 * known to a core, so they are never written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "core/core.h"

struct snapshot_source {
    struct core *core; /* symbols are added to it; else it stays as it is */
    const char *preset;
    /* Every name is replaced by a neutral one, the same for the same name: project-3, task-17. */
    bool anonymous;
    /* The id of a task, also of one that the core does not know: appended to `out`. NULL: task-17.
     * Must differ for different tasks. */
    void (*task_name)(const void *ctx, const struct core *core, task_id task, struct strbuf *out);
    const void *ctx;
};

/* Returns 0, or <0 to end the writing; that is then returned. */
typedef int (*snapshot_sink)(void *ctx, const char *bytes, size_t size);

/* -ERANGE: a number of the core is none that its setting may have; the message names the
 * setting. */
int snapshot_write(const struct snapshot_source *source, snapshot_sink sink, void *ctx,
                   struct error *err);
