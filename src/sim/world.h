/* world.h: a snapshot as something that can be played. */
#pragma once

#include "sim/player.h"
#include "snapshot/snapshot.h"

/* The snapshot must outlive the world; its core is used up by the play. */
void world_from_snapshot(struct snapshot *snapshot, struct sim_world *ret_world);
