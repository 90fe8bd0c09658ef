/* postgres_await.c: when is the store free, and who has it?
 *
 * The lock is tried four times a second over a connection of its own, which becomes the writer's when it has
 * it. To wait inside the server (pg_advisory_lock) would wake a little sooner, but a statement that waits
 * holds a snapshot: for as long as a standby stands by, perhaps for weeks, the server could clean up
 * nothing, and the one row that every commit of the active daemon writes would get slower and slower.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "store/postgres_internal.h"

#define TRY_EVERY     250
#define HOLDER_EVERY  4  /* tries of the lock: once a second */
#define HOLDER_SELDOM 60 /* who may not read it fills the log of the server with refusals */
#define HOLDER_WITHIN SECONDS(2)

enum step { STEP_CONNECT, STEP_SESSION, STEP_LOCK, STEP_HOLDER, STEP_MINE };

struct pg_await {
    struct store_await base;
    struct pg_place place;
    struct pg_link link;
    struct loop *loop;
    struct loop_watch *watch; /* while it connects */
    struct loop_timer *timer;
    enum step step;
    unsigned holder_in; /* tries, until it is asked who has it */
    bool heard;         /* `who` is its answer */
    char who[STORE_WHO_MAX];
    store_is_free free;
    void *ctx;
    bool told;
};

static void stop(struct pg_await *a) {
    loop_unwatch(a->loop, a->watch);
    loop_timer_free(a->loop, a->timer);
    a->watch = NULL;
    a->timer = NULL;
}

/* Last: whoever is called may open the store with it, or cancel it. */
static void tell(struct pg_await *a, int r, const struct error *err) {
    if (a->told)
        return;
    a->told = true;
    loop_timer_clear(a->loop, a->timer);
    a->free(a->ctx, r, err);
}

static void fail(struct pg_await *a, const struct error *err) {
    struct error why = *err;
    tell(a, why.code, &why);
}

/* --- the session, then the lock, again and again --------------------------------------------------------- */

static void ask(struct pg_await *a) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    if (a->step == STEP_SESSION)
        pg_session_sql(&a->link, &sql);
    else if (a->step == STEP_HOLDER)
        pg_session_holder_sql(&a->place, &sql);
    else
        pg_session_lock_sql(&a->place, &sql);
    pg_link_ask(&a->link, sql.text);
    pg_link_sync(&a->link);
}

/* Without the right to read it, and in the first moment of a store, the holder has no name. */
static void hear_holder(struct pg_await *a, const PGresult *result) {
    bool good = PQresultStatus(result) == PGRES_TUPLES_OK;
    bool named = good && PQntuples(result) == 1;
    (void)snprintf(a->who, sizeof(a->who), "%s", named ? PQgetvalue(result, 0, 0) : "");
    a->heard = true;
    a->holder_in = good ? HOLDER_EVERY : HOLDER_SELDOM;
}

static void answered(void *ctx, const PGresult *result) {
    struct pg_await *a = ctx;
    struct error err = { 0 };
    if (a->step == STEP_HOLDER) {
        hear_holder(a, result);
        return;
    }
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        pg_result_error(&a->place, "wait for the store", result, &err);
        fail(a, &err);
        return;
    }
    if (a->step == STEP_SESSION) {
        if (pg_session_check(&a->link, result, &err) < 0)
            fail(a, &err);
        return;
    }
    if (*PQgetvalue(result, 0, 0) == 't')
        a->step = STEP_MINE;
}

static void synced(void *ctx) {
    struct pg_await *a = ctx;
    if (a->told)
        return;
    if (a->step == STEP_MINE) {
        tell(a, 0, NULL);
    } else if (a->step == STEP_SESSION) {
        a->step = STEP_LOCK;
        ask(a);
    } else if (a->step == STEP_LOCK && a->holder_in == 0) {
        a->step = STEP_HOLDER;
        ask(a);
    } else {
        a->step = STEP_LOCK;
        a->holder_in--;
        loop_timer_set(a->loop, a->timer, clock_read_steady() + TRY_EVERY);
    }
}

static void has_lost(void *ctx, const struct error *err) {
    fail(ctx, err);
}

/* --- connecting ------------------------------------------------------------------------------------------ */

static void begin_session(struct pg_await *a) {
    struct error err = { 0 };
    loop_unwatch(a->loop, a->watch);
    a->watch = NULL;
    loop_timer_clear(a->loop, a->timer);
    a->step = STEP_SESSION;
    a->link.result = answered;
    a->link.synced = synced;
    a->link.lost = has_lost;
    a->link.ctx = a;
    if (pg_link_pipeline(&a->link, &err) < 0 || pg_link_watch(&a->link, a->loop, &err) < 0)
        fail(a, &err);
    else
        ask(a);
}

static void is_ready(void *ctx, int fd, unsigned events);

/* libpq may take another socket for another address. */
static int watch(struct pg_await *a, unsigned events, struct error *err) {
    loop_unwatch(a->loop, a->watch);
    a->watch = NULL;
    int r = loop_watch(a->loop, PQsocket(a->link.pg), events, is_ready, a, &a->watch);
    return r < 0 ? error_set(err, r, "cannot watch the connection to PostgreSQL: %s", strerror(-r))
                 : 0;
}

static int try_host(struct pg_await *a, struct error *err) {
    loop_timer_set(a->loop, a->timer, clock_read_steady() + a->place.connect_timeout);
    int r = pg_link_begin(&a->link, &a->place, err);
    return r < 0 ? r : watch(a, LOOP_WRITE, err);
}

/* `r`: what came of the one before. */
static int try_next(struct pg_await *a, int r, struct error *err) {
    loop_unwatch(a->loop, a->watch);
    a->watch = NULL;
    while (r < 0 && pg_link_next(&a->link, err))
        r = try_host(a, err);
    return r;
}

static void is_ready(void *ctx, int fd, unsigned events) {
    (void)fd;
    (void)events;
    struct pg_await *a = ctx;
    struct error err = { 0 };
    unsigned wanted = 0;
    loop_unwatch(a->loop, a->watch); /* its socket may be closed by what follows */
    a->watch = NULL;
    int r = pg_link_go_on(&a->link, &wanted, &err);
    if (r == 0) {
        begin_session(a);
        return;
    }
    if (r > 0)
        r = watch(a, wanted, &err);
    if (r < 0 && try_next(a, r, &err) < 0)
        fail(a, &err);
}

static void is_due(void *ctx) {
    struct pg_await *a = ctx;
    if (a->step != STEP_CONNECT) {
        ask(a);
        return;
    }
    struct error err = { 0 };
    if (try_next(a, pg_link_is_late(&a->link, &err), &err) < 0)
        fail(a, &err);
}

int pg_await(struct loop *loop, const char *url, store_is_free free, void *ctx,
             struct store_await **ret_await, struct error *err) {
    struct pg_await *a = xcalloc(1, sizeof(*a));
    *a = (struct pg_await){ .loop = loop, .free = free, .ctx = ctx };
    int r = pg_place_parse(url, &a->place, err);
    if (r >= 0) {
        a->timer = loop_timer_new(loop, is_due, a);
        r = try_host(a, err);
        if (r < 0)
            r = try_next(a, r, err);
    }
    if (r < 0) { /* nobody is told but the caller, who has no handle yet */
        pg_await_cancel(&a->base);
        return r;
    }
    *ret_await = &a->base;
    return 0;
}

void pg_await_cancel(struct store_await *base) {
    struct pg_await *a = (struct pg_await *)base;
    stop(a);
    pg_link_close(&a->link);
    pg_place_finish(&a->place);
    free(a);
}

void pg_await_take(struct store_await *base, struct pg_place *ret_place, struct pg_link *ret_link) {
    struct pg_await *a = (struct pg_await *)base;
    pg_link_leave_pipeline(&a->link);
    *ret_place = a->place;
    a->place = (struct pg_place){ 0 };
    pg_link_move(&a->link, ret_place, ret_link);
    pg_await_cancel(base);
}

/* --- who has it ------------------------------------------------------------------------------------------ */

int pg_await_holder(struct store_await *base, char ret_who[STORE_WHO_MAX]) {
    const struct pg_await *a = (const struct pg_await *)base;
    if (!a->heard)
        return -EAGAIN;
    memcpy(ret_who, a->who, sizeof(a->who));
    return 0;
}

int pg_holder(const char *url, char ret_who[STORE_WHO_MAX], struct error *err) {
    struct pg_place place = { 0 };
    struct pg_link link = { 0 };
    bool held = false;
    int r = pg_place_parse(url, &place, err);
    if (r < 0)
        return r;
    time_ms deadline = clock_read_steady() + HOLDER_WITHIN;
    /* One that is frozen may not have all of it. */
    r = pg_link_connect(&link, &place, HOLDER_WITHIN / (time_ms)place.host_count, err);
    link.patience = (deadline - clock_read_steady()) / 2;
    if (r >= 0)
        r = pg_session_holder(&link, &held, ret_who, err);
    pg_link_close(&link);
    pg_place_finish(&place);
    return r;
}
