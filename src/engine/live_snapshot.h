/* live_snapshot.h: writes the current queue to a file for `sluice plan` and `sluice sim`
 * (snapshot/write.h). The loop copies the core, and a thread writes the copy to HOME/snapshots, one
 * at a time. Leftovers of a daemon that died are removed at the next start. */
#pragma once

#include "engine/engine.h"

/* The caller unlinks the file. NULL: failed, with a message. */
typedef void (*live_snapshot_ready)(void *ctx, const char *path, const struct error *err);
/* -EFBIG: the queue is too large to copy; -EBUSY: another one is being written. */
int engine_snapshot(struct engine *engine, bool anonymous, live_snapshot_ready ready, void *ctx,
                    struct error *err);
