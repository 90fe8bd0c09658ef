/* snapshot_world.c: a snapshot as a world of the player, so that the player needs only a core. */
#include "sim/player.h"

static const char *world_name(const void *ctx, task_id task) {
    return snapshot_task_name(ctx, task);
}

static void world_hint(const void *ctx, task_id task, struct sim_hint *ret) {
    snapshot_hint(ctx, task, ret);
}

static const struct core *core_of(const void *ctx) {
    return snapshot_core((struct snapshot *)(uintptr_t)ctx); /* only read */
}

static enum until world_until(const void *ctx, task_id task) {
    struct task_view view;
    return core_task(core_of(ctx), task, &view) ? view.until : UNTIL_EXIT;
}

static int64_t world_weight(const void *ctx, sym project) {
    struct share_view view;
    return core_share(core_of(ctx), project, &view) && view.open ? view.weight_milli : -1;
}

void world_from_snapshot(struct snapshot *snapshot, struct sim_world *ret_world) {
    struct core *core = snapshot_core(snapshot);
    struct core_counts counts;
    core_count(core, &counts);
    *ret_world = (struct sim_world){
        .core = core,
        .task_count = snapshot_task_count(snapshot),
        .now = snapshot_now(snapshot),
        .runs_cap = counts.runs_cap,
        .ctx = snapshot,
        .name = world_name,
        .hint = world_hint,
        .until = world_until,
        .weight = world_weight,
    };
}
