/* partition.h: the places of a partition of Slurm, where they follow its size (slurm.follow).
 *
 * A cap like any other, on the key "slurm:PARTITION"; only who says it is another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct config;
struct core;
struct engine;

/* The keys of partitions whose places follow their size, one after the other; NULL: no more. */
const char *engine_partition_at(const struct engine *engine, size_t index);
/* Why the cap of this key is what it is: "the partition 'gpu' has 8 CPUs …". False: it does not follow, or something else is
 * less. */
bool engine_partition_size(const struct engine *engine, const char *key, struct strbuf *out);

/* --- inside the engine ----------------------------------------------------------------------- */

/* A core, this one or a copy, is told all caps: it is new, or the configuration is. */
void partitions_tell(const struct engine *e, const struct config *config, struct core *core);
/* Somebody needs a place: what is known must not be older than slurm.follow_s. */
void partitions_ask(struct engine *e);
