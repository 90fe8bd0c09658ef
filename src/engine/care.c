/* care.c: the store's own work (checkpoints, its reserve, a backup) between commits.
 *
 * The store says when it wants to be called again; an idle daemon therefore has no timer once the
 * store has nothing left to do. */
#include "engine/care_internal.h"

static void look(struct engine *e, time_ms idle) {
    time_ms span = store_maintain(e->store, idle);
    if (span == TIME_NEVER)
        loop_timer_clear(e->loop, e->care_timer);
    else
        loop_timer_set(e->loop, e->care_timer, loop_now_steady(e->loop) + span);
}

void care_after_commit(struct engine *e) {
    e->commit_steady = loop_now_steady(e->loop);
    look(e, 0);
}

void care_due(void *ctx) {
    struct engine *e = ctx;
    if (!e->committing && e->broken.code == 0)
        look(e, loop_now_steady(e->loop) - e->commit_steady);
}

void engine_backup(struct engine *e, const char *path, store_copied done, void *ctx) {
    store_backup(e->store, path, done, ctx);
    loop_timer_set(e->loop, e->care_timer, loop_now_steady(e->loop));
}

void engine_backup_cancel(struct engine *e) {
    store_backup_cancel(e->store);
}
