/* sqlite_await.c: when does another process of this machine let go of the file?
 *
 * The kernel has no way to be told that a lock is free but to wait for it, which would take a thread that cannot
 * be called back. So it is tried ten times a second, which costs one system call. The lock that was got is
 * the one that the store is opened with: nobody comes in between. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "os/loop.h"
#include "store/sqlite_internal.h"

#define LOOK_EVERY 100 /* ms */

struct sqlite_await {
    struct store_await base;
    struct loop *loop;
    struct loop_timer *timer;
    store_is_free free;
    void *ctx;
    struct place place;
};

static void look_later(struct sqlite_await *await, time_ms span) {
    loop_timer_set(await->loop, await->timer, time_add(loop_now_steady(await->loop), span));
}

static void look(void *ctx) {
    struct sqlite_await *await = ctx;
    struct error err = { 0 };
    int r = place_try_lock(&await->place, &err);
    if (r == -EAGAIN)
        look_later(await, LOOK_EVERY);
    else
        await->free(await->ctx, r, r < 0 ? &err : NULL);
}

int sqlite_await(struct loop *loop, const char *url, store_is_free free, void *ctx,
                 struct store_await **ret_await, struct error *err) {
    struct place place = PLACE_INIT;
    int r = place_find(url, &place, err);
    if (r < 0)
        return r;
    struct sqlite_await *await = xcalloc(1, sizeof(*await));
    *await = (struct sqlite_await){ .loop = loop, .free = free, .ctx = ctx, .place = place };
    await->timer = loop_timer_new(loop, look, await);
    look_later(await, 0);
    *ret_await = &await->base;
    return 0;
}

int sqlite_await_take(struct store_await *base, struct place *ret_place) {
    struct sqlite_await *await = (struct sqlite_await *)base;
    *ret_place = await->place;
    loop_timer_free(await->loop, await->timer);
    free(await);
    return 0;
}

void sqlite_await_cancel(struct store_await *base) {
    struct place place;
    (void)sqlite_await_take(base, &place);
    place_finish(&place);
}

int sqlite_await_holder(struct store_await *base, char ret_who[STORE_WHO_MAX]) {
    place_read_sign(&((struct sqlite_await *)base)->place, ret_who, STORE_WHO_MAX);
    return 0;
}

int sqlite_holder(const char *url, char ret_who[STORE_WHO_MAX], struct error *err) {
    struct place place = PLACE_INIT;
    int r = place_find(url, &place, err);
    if (r < 0)
        return r;
    place_read_sign(&place, ret_who, STORE_WHO_MAX);
    place_finish(&place);
    return 0;
}
