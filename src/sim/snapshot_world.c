/* snapshot_world.c: a snapshot as a world of the player. Not in player.c, which a test links without
 * a core. */
#include "sim/player.h"

static void world_hint(const void *ctx, task_id task, struct sim_hint *ret) {
    snapshot_hint(ctx, task, ret);
}

void world_from_snapshot(struct snapshot *snapshot, struct sim_world *ret_world) {
    struct core_counts counts;
    core_count(snapshot_core(snapshot), &counts);
    *ret_world = (struct sim_world){
        .core = snapshot_core(snapshot),
        .task_count = snapshot_task_count(snapshot),
        .now = snapshot_now(snapshot),
        .runs_cap = counts.runs_cap,
        .ctx = snapshot,
        .name = snapshot_names(snapshot).name,
        .hint = world_hint,
        .coming = snapshot_coming(snapshot),
    };
}
