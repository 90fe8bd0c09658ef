/* maintenance.c: the store's own work (checkpoints, its reserve, a backup) between commits. The
 * store requests its next call, so an idle daemon has no timer when there is nothing to do. */
#include "engine/engine_internal.h"

struct maintenance {
    struct loop_timer *timer;
    time_ms last_commit; /* monotonic */
};

PART_STATE(maintenance, struct maintenance, maintenance_of)

static void maintain(struct engine *e, time_ms idle) {
    loop_timer_set(e->loop, maintenance_of(e)->timer,
                   time_add(loop_now_steady(e->loop), store_maintain(e->store, idle)));
}

static void maintain_after_commit(struct engine *e) {
    if (store_batch_count(e->turn.batch) == 0)
        return;
    maintenance_of(e)->last_commit = loop_now_steady(e->loop);
    maintain(e, 0);
}

static void maintenance_due(void *ctx) {
    struct engine *e = ctx;
    if (!e->committing && e->broken.code == 0)
        maintain(e, loop_now_steady(e->loop) - maintenance_of(e)->last_commit);
}

void engine_backup(struct engine *e, const char *path, store_copied done, void *ctx) {
    store_backup(e->store, path, done, ctx);
    loop_timer_set(e->loop, maintenance_of(e)->timer, loop_now_steady(e->loop));
}

void engine_backup_cancel(struct engine *e) {
    store_backup_cancel(e->store);
}

static void maintenance_init(struct engine *e) {
    maintenance_of(e)->timer = loop_timer_new(e->loop, maintenance_due, e);
}

static void maintenance_free(struct engine *e) {
    loop_timer_free(e->loop, maintenance_of(e)->timer);
    if (e->store)
        engine_backup_cancel(e);
}

const struct engine_part maintenance_part = {
    .state_size = sizeof(struct maintenance),
    .at = { [STEP_INIT] = maintenance_init,
            [STEP_CARRY_OUT] = maintain_after_commit,
            [STEP_FREE] = maintenance_free },
};
