/* live_snapshot.h: the queue as it is now, in a file that `sluice plan` and `sluice sim` read (snapshot/write.h).
 *
 * The loop copies the core, and a thread writes the copy into HOME/snapshots. One at a time. What a daemon left there
 * when it died is removed when the next one starts. */
#pragma once

#include "engine/engine.h"

/* The file is the caller's: it unlinks it. NULL: there is none, with a sentence. */
typedef void (*live_snapshot_ready)(void *ctx, const char *path, const struct error *err);
/* -EFBIG: the queue is too large to be copied; -EBUSY: another one is being written; both with a sentence. */
int engine_snapshot(struct engine *engine, bool anonymous, live_snapshot_ready ready, void *ctx,
                    struct error *err);
