/* partition.h: caps that follow the size of a Slurm partition (slurm.follow). A cap like any other,
 * on the key "slurm:PARTITION"; only its source differs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct config;
struct core;
struct engine;

/* The keys of partitions whose cap follows their size; NULL after the last. */
const char *engine_partition_at(const struct engine *engine, size_t index);
/* Why the cap of this key is what it is: "the partition 'gpu' has 8 CPUs …". False: it does not
 * follow, or another limit is lower. */
bool engine_partition_size(const struct engine *engine, const char *key, struct strbuf *out);

/* --- inside the engine ----------------------------------------------------------------------- */

/* Applies all caps to a core, this one or a copy, that is new or has a new configuration. */
void partitions_tell(const struct engine *e, const struct config *config, struct core *core);
/* A task needs a slot: refresh sizes that are older than slurm.follow_s. */
void partitions_ask(struct engine *e);
