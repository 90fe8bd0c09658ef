/* bus_keep.c: see bus_keep.h. What may have to wait for a lock is left to the poster. */
#include "daemon/bus_keep.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "bus/poster.h"
#include "engine/loops.h"
#include "os/loop.h"

#define LOOK_EVERY HOURS(1)

struct bus_keep {
    struct engine *engine;
    struct loop *loop;
    struct bus_poster *poster;
    struct loop_timer *timer;
};

static void look_later(struct bus_keep *k, time_ms span) {
    loop_timer_set(k->loop, k->timer, time_add(loop_now_steady(k->loop), span));
}

/* The wall, because messages have its time, whoever wrote them. */
static void look(void *ctx) {
    struct bus_keep *k = ctx;
    time_ms keep = config_number(engine_config(k->engine), "retention.days", NULL);
    for (size_t i = 0; keep != TIME_NEVER && i < engine_project_count(k->engine); i++)
        bus_retire_later(k->poster, engine_project_at(k->engine, i)->name,
                         loop_now(k->loop) - keep);
    look_later(k, LOOK_EVERY);
}

static void forgotten(void *ctx, const char *project, const char *id) {
    const struct bus_keep *k = ctx;
    bus_forget(k->poster, project, id);
}

struct bus_keep *bus_keep_new(struct engine *engine, struct loop *loop, struct bus_poster *poster) {
    struct bus_keep *k = xcalloc(1, sizeof(*k));
    *k = (struct bus_keep){ .engine = engine, .loop = loop, .poster = poster };
    k->timer = loop_timer_new(loop, look, k);
    look_later(k, 0); /* as soon as the loop runs */
    engine_set_forgotten(engine, forgotten, k);
    return k;
}

struct bus_keep *bus_keep_free(struct bus_keep *k) {
    if (!k)
        return NULL;
    loop_timer_free(k->loop, k->timer);
    free(k);
    return NULL;
}
