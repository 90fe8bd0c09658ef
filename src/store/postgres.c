/* postgres.c: opens a store in a PostgreSQL server, for one daemon at a time.
 *
 * Connect → check the server → lock → schema → rights → epoch + 1 → prepare statements. The lock
 * belongs to the writing connection: losing the connection loses the lock, and no other process can
 * get it earlier. Every commit checks the epoch anyway, because a pooler between us and the server
 * may share one session between two programs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "store/postgres_internal.h"

#define CLOSE_PATIENCE SECONDS(5)
#define SIZE_EVERY     MINUTES(1)

static bool is_read_only(const struct pg_store *store) {
    return store->options.use == STORE_USE_READ;
}

/* --- waiting for the store ------------------------------------------------------------------- */

/* The lock is tried four times a second over a separate connection, which becomes the writer's once
 * it has the lock. Waiting inside the server (pg_advisory_lock) would wake a little sooner, but a
 * waiting statement holds a snapshot: while a standby waits, perhaps for weeks, the server could
 * not vacuum, and the one row that every commit of the active daemon updates would get slower and
 * slower. */

#define TRY_EVERY     250
#define HOLDER_EVERY  4  /* tries of the lock: once a second */
#define HOLDER_SELDOM 60 /* failed reads of the holder would fill the server's log */
#define HOLDER_WITHIN SECONDS(2)

enum step { STEP_CONNECT, STEP_SESSION, STEP_LOCK, STEP_HOLDER, STEP_MINE };

struct pg_await {
    struct store_await base;
    struct pg_target target;
    struct pg_link link;
    struct loop *loop;
    struct loop_watch *watch; /* while connecting */
    struct loop_timer *timer;
    enum step step;
    unsigned holder_in; /* tries until the holder is queried */
    bool is_known;      /* `who` is valid */
    char who[STORE_WHO_MAX];
    store_is_free free;
    void *ctx;
    bool is_over; /* `free` was called */
};

/* Last: the callback may open the store with it, or cancel it. */
static void finish(struct pg_await *a, int r, const struct error *err) {
    if (a->is_over)
        return;
    a->is_over = true;
    loop_timer_clear(a->loop, a->timer);
    a->free(a->ctx, r, err);
}

/* Also if the connection is lost; ctx: struct pg_await. */
static void fail(void *ctx, const struct error *err) {
    struct error why = *err;
    finish(ctx, why.code, &why);
}

static void unwatch(struct pg_await *a) {
    loop_unwatch(a->loop, a->watch);
    a->watch = NULL;
}

/* --- session and lock ------------------------------------------------------------------------ */

static void send_query(struct pg_await *a) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    if (a->step == STEP_SESSION)
        pg_session_sql(&a->link, &sql);
    else if (a->step == STEP_HOLDER)
        pg_session_holder_sql(&a->target, &sql);
    else
        pg_session_lock_sql(&a->target, &sql);
    pg_link_send_text(&a->link, sql.text);
    pg_link_sync(&a->link);
}

/* Without the right to read it, and just after the store is opened, the holder is unknown. */
static void keep_holder(struct pg_await *a, const PGresult *result) {
    bool good = PQresultStatus(result) == PGRES_TUPLES_OK;
    bool named = good && PQntuples(result) == 1;
    (void)snprintf(a->who, sizeof(a->who), "%s", named ? PQgetvalue(result, 0, 0) : "");
    a->is_known = true;
    a->holder_in = good ? HOLDER_EVERY : HOLDER_SELDOM;
}

static void answered(void *ctx, const PGresult *result) {
    struct pg_await *a = ctx;
    struct error err = { 0 };
    if (a->step == STEP_HOLDER) {
        keep_holder(a, result);
        return;
    }
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        pg_result_error(&a->target, "wait for the store", result, &err);
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
    if (a->is_over)
        return;
    if (a->step == STEP_MINE) {
        finish(a, 0, NULL);
    } else if (a->step == STEP_SESSION) {
        a->step = STEP_LOCK;
        send_query(a);
    } else if (a->step == STEP_LOCK && a->holder_in == 0) {
        a->step = STEP_HOLDER;
        send_query(a);
    } else {
        a->step = STEP_LOCK;
        a->holder_in--;
        loop_timer_set(a->loop, a->timer, clock_read_steady() + TRY_EVERY);
    }
}

/* --- connecting ------------------------------------------------------------------------------ */

static void begin_session(struct pg_await *a) {
    struct error err = { 0 };
    unwatch(a);
    loop_timer_clear(a->loop, a->timer);
    a->step = STEP_SESSION;
    a->link.result = answered;
    a->link.synced = synced;
    a->link.lost = fail;
    a->link.ctx = a;
    if (pg_link_pipeline(&a->link, &err) < 0 || pg_link_watch(&a->link, a->loop, &err) < 0)
        fail(a, &err);
    else
        send_query(a);
}

static void is_await_ready(void *ctx, int fd, unsigned events);

/* libpq may use another socket for another address. */
static int watch(struct pg_await *a, unsigned events, struct error *err) {
    unwatch(a);
    int r = loop_watch(a->loop, PQsocket(a->link.pg), events, is_await_ready, a, &a->watch);
    return r < 0 ? error_set(err, r, "cannot watch the connection to PostgreSQL: %s", strerror(-r))
                 : 0;
}

static int try_host(struct pg_await *a, struct error *err) {
    loop_timer_set(a->loop, a->timer, clock_read_steady() + a->target.connect_timeout);
    int r = pg_link_begin(&a->link, &a->target, "", err);
    return r < 0 ? r : watch(a, LOOP_WRITE, err);
}

/* `r`: the result of the previous host. */
static int try_next(struct pg_await *a, int r, struct error *err) {
    unwatch(a);
    while (r < 0 && pg_link_next(&a->link, err))
        r = try_host(a, err);
    return r;
}

static void is_await_ready(void *ctx, int fd, unsigned events) {
    (void)fd;
    (void)events;
    struct pg_await *a = ctx;
    struct error err = { 0 };
    unsigned wanted = 0;
    unwatch(a); /* the next attempt may close its socket */
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
        send_query(a);
        return;
    }
    struct error err = { 0 };
    if (try_next(a, pg_link_is_late(&a->link, &err), &err) < 0)
        fail(a, &err);
}

static void pg_await_cancel(struct store_await *base) {
    struct pg_await *a = (struct pg_await *)base;
    unwatch(a);
    loop_timer_free(a->loop, a->timer);
    pg_link_close(&a->link);
    pg_target_finish(&a->target);
    free(a);
}

static int pg_await(struct loop *loop, const char *url, store_is_free free, void *ctx,
                    struct store_await **ret_await, struct error *err) {
    struct pg_await *a = xcalloc(1, sizeof(*a));
    *a = (struct pg_await){ .loop = loop, .free = free, .ctx = ctx };
    int r = pg_target_parse(url, &a->target, err);
    if (r >= 0) {
        a->timer = loop_timer_new(loop, is_due, a);
        r = try_host(a, err);
        if (r < 0)
            r = try_next(a, r, err);
    }
    if (r < 0) { /* only the caller learns of it; it has no handle yet */
        pg_await_cancel(&a->base);
        return r;
    }
    *ret_await = &a->base;
    return 0;
}

static void pg_await_take(struct store_await *base, struct pg_target *ret_target,
                          struct pg_link *ret_link) {
    struct pg_await *a = (struct pg_await *)base;
    pg_link_leave_pipeline(&a->link);
    *ret_target = a->target;
    a->target = (struct pg_target){ 0 };
    pg_link_move(&a->link, ret_target, ret_link);
    pg_await_cancel(base);
}

/* --- the holder ------------------------------------------------------------------------------ */

static int pg_await_holder(struct store_await *base, char ret_who[STORE_WHO_MAX]) {
    const struct pg_await *a = (const struct pg_await *)base;
    if (!a->is_known)
        return -EAGAIN;
    memcpy(ret_who, a->who, sizeof(a->who));
    return 0;
}

static int pg_holder(const char *url, char ret_who[STORE_WHO_MAX], struct error *err) {
    _cleanup_(pg_target_finish) struct pg_target target = { 0 };
    _cleanup_(pg_link_close) struct pg_link link = { 0 };
    bool held = false;
    int r = pg_target_parse(url, &target, err);
    if (r < 0)
        return r;
    time_ms deadline = clock_read_steady() + HOLDER_WITHIN;
    /* An unresponsive host must not use up all of it. */
    r = pg_link_connect(&link, &target, HOLDER_WITHIN / (time_ms)target.host_count, err);
    link.patience = (deadline - clock_read_steady()) / 2;
    return r < 0 ? r : pg_session_holder(&link, &held, ret_who, err);
}

/* --- results --------------------------------------------------------------------------------- */

/* Whichever connection is lost, the store stops answering: results of the other would answer
 * callers that were already notified. The callback may close the store. */
static void has_lost(void *ctx, const struct error *err) {
    struct pg_store *store = ctx;
    struct error why = *err;
    struct pg_guard *guard = pg_guard_enter(&store->writer);
    pg_link_abandon(&store->writer);
    pg_link_abandon(&store->reader);
    store_break(&store->base, &why);
    store->commit.batch = NULL;
    if (store->base.in_flight)
        store_finish_commit(&store->base, STORE_UNKNOWN, &why);
    while (!guard->is_freed && !QUEUE_IS_EMPTY(&store->pending))
        pg_query_end_first(store, &why);
    (void)pg_guard_leave(guard);
}

/* Same as a lost connection. */
static void pg_give_up(struct store *base, const struct error *why) {
    has_lost(base, why);
}

/* --- opening --------------------------------------------------------------------------------- */

static void note_prepared(void *ctx, const PGresult *result) {
    struct pg_store *store = ctx;
    if (PQresultStatus(result) == PGRES_FATAL_ERROR && !store->opening.code)
        pg_result_error(&store->target, "prepare statements", result, &store->opening);
}

static void note_lost(void *ctx, const struct error *err) {
    ((struct pg_store *)ctx)->opening = *err;
}

/* Prepares all statements in one round trip, blocking; afterwards the loop delivers results. */
static int prepare(struct pg_store *store, struct pg_link *link, enum statement first,
                   enum statement end, struct error *err) {
    link->result = note_prepared;
    link->lost = note_lost;
    link->ctx = store;
    int r = pg_link_pipeline(link, err);
    if (r < 0)
        return r;
    pg_statements_prepare(link, first, end);
    pg_link_sync(link);
    pg_link_wait(link);
    if (store->opening.code)
        return error_set(err, store->opening.code, "%s", store->opening.text);
    bool writes = link == &store->writer;
    link->result = writes ? pg_commit_result : pg_query_result;
    link->synced = writes ? pg_commit_synced : NULL;
    link->lost = has_lost;
    return store->options.loop ? pg_link_watch(link, store->options.loop, err) : 0;
}

/* Read-only use takes the epoch as it is. */
static int begin_epoch(struct pg_store *store, struct store_report *report, struct error *err) {
    _cleanup_(pg_result_free) PGresult *result = NULL;
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    _cleanup_(strbuf_finish) struct strbuf holder = STRBUF_INIT; /* may contain arbitrary bytes */
    const char *who = store->options.who ? store->options.who : "";
    utf8_clean(who, strlen(who), &holder);
    if (is_read_only(store))
        strbuf_puts(&sql, "SELECT epoch, last_task, last_event, clean FROM store WHERE $1 = $1");
    else
        strbuf_printf(&sql,
                      "UPDATE store n SET epoch = greatest(n.epoch, %" PRIu64
                      ") + 1, clean = false,"
                      " holder = $1, holder_pid = pg_backend_pid(),"
                      " last_task = greatest(n.last_task, (SELECT max(number) FROM task)),"
                      " last_event = greatest(n.last_event, (SELECT max(seq) FROM event))"
                      " FROM (SELECT clean AS was_clean FROM store) o"
                      " RETURNING n.epoch, n.last_task, n.last_event, o.was_clean",
                      store->options.epoch_above);
    int r = pg_link_run_with(&store->writer, "begin", sql.text, strbuf_text(&holder), &result, err);
    if (r < 0)
        return r;
    if (PQntuples(result) != 1)
        return pg_damaged(&store->base, "table store has no row", err);
    store->epoch = pg_result_number(result, 0, 0);
    store->base.last = (struct store_numbers){ (uint64_t)pg_result_number(result, 0, 1),
                                               (uint64_t)pg_result_number(result, 0, 2) };
    report->epoch = (uint64_t)store->epoch;
    report->was_unclean = *PQgetvalue(result, 0, 3) != 't';
    return 0;
}

static int load_names(struct pg_store *store, struct error *err) {
    _cleanup_(pg_result_free) PGresult *result = NULL;
    int r =
        pg_link_run(&store->writer, "read", "SELECT id, text FROM name ORDER BY id", &result, err);
    if (r < 0)
        return r;
    for (int i = 0; i < PQntuples(result); i++)
        if (!names_read(&store->names, pg_result_number(result, i, 0), PQgetvalue(result, i, 1)))
            return pg_damaged(&store->base, "the table of names has a gap", err);
    names_learn(&store->names);
    return 0;
}

static int connect_writer(struct pg_store *store, struct store_await *awaited, const char *url,
                          struct error *err) {
    struct pg_link *link = &store->writer;
    if (awaited) {
        pg_await_take(awaited, &store->target, link);
        return 0;
    }
    int r = pg_target_parse(url, &store->target, err);
    if (r < 0)
        return r;
    r = pg_link_connect(link, &store->target, store->target.connect_timeout, err);
    if (r >= 0)
        r = pg_session_begin(link, err);
    return r < 0 ? r : pg_session_lock(link, err);
}

/* Only the second connection logs warnings about the server, once. */
static int connect_reader(struct pg_store *store, struct error *err) {
    store->writer.log = store->reader.log = store->options.log;
    store->writer.log_ctx = store->reader.log_ctx = store->options.ctx;
    int r =
        pg_link_connect_beside(&store->reader, &store->writer, store->target.connect_timeout, err);
    if (r >= 0)
        r = pg_session_begin(&store->reader, err);
    return r < 0 ? r : prepare(store, &store->reader, STATEMENT_WRITES, STATEMENT_MAX, err);
}

static int open_schema(struct pg_store *store, const struct pg_schema *schema,
                       struct store_report *report, struct error *err) {
    uint32_t version = 0;
    int r = pg_schema_inspect(&store->writer, schema->version, &version, err);
    if (r < 0)
        return r;
    if (is_read_only(store) && version == 0)
        return error_set(err, -ENOENT, "there is no store at '%s'", store->target.shown);
    if (is_read_only(store) && version < schema->version)
        return error_set(err, -EPROTO,
                         "store '%s' has the older version %" PRIu32
                         ": start the daemon once, which makes it %" PRIu32,
                         store->target.shown, version, schema->version);
    report->created = version == 0;
    report->migrated_from = version < schema->version ? version : 0;
    if (report->migrated_from && store->options.progress)
        store->options.progress(store->options.ctx, "migrating", 0);
    r = pg_schema_migrate(&store->writer, schema, version, err);
    return r < 0 ? r : pg_schema_check_rights(&store->writer, err);
}

static void store_free(struct pg_store **pointer) {
    struct pg_store *store = *pointer;
    if (!store)
        return;
    while (!QUEUE_IS_EMPTY(&store->pending))
        pg_query_end_first(store, NULL);
    pg_link_close(&store->reader);
    pg_link_close(&store->writer); /* the lock last */
    pg_write_finish(store);
    names_finish(&store->names);
    pg_target_finish(&store->target);
    free(store);
}

static void refresh_size(struct pg_store *store) {
    store->bytes_at = clock_read_steady();
    store->bytes_commits = store->base.commits;
    pg_query_size(store);
}

int pg_open_as(const struct pg_schema *schema, const struct store_options *options,
               struct store **ret_store, struct store_report *ret_report, struct error *err) {
    _cleanup_(store_free) struct pg_store *store = xcalloc(1, sizeof(*store));
    store->options = *options;
    names_init(&store->names);
    int r = connect_writer(store, options->awaited, options->url, err);
    if (r >= 0)
        r = open_schema(store, schema, ret_report, err);
    if (r >= 0)
        r = load_names(store, err);
    if (r >= 0)
        r = begin_epoch(store, ret_report, err);
    if (r >= 0)
        r = prepare(store, &store->writer, 0, STATEMENT_WRITES, err);
    if (r >= 0)
        r = connect_reader(store, err);
    if (r < 0)
        return r;
    /* The caller's strings, and the consumed handle. */
    store->options.url = store->options.who = NULL;
    store->options.awaited = NULL;
    refresh_size(store);
    *ret_store = &TAKE_PTR(store)->base;
    return 0;
}

static int pg_open(const struct store_options *options, struct store **ret_store,
                   struct store_report *ret_report, struct error *err) {
    return pg_open_as(&pg_schema, options, ret_store, ret_report, err);
}

/* A broken store is left as it is. Otherwise records a clean shutdown. */
static void pg_close(struct store *base) {
    struct pg_store *store = (struct pg_store *)base;
    struct pg_link *link = &store->writer;
    if (base->broken.code == 0 && link->expected == 0) {
        _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
        if (!is_read_only(store))
            strbuf_printf(&sql,
                          "UPDATE store SET clean = true, holder = '', holder_pid = 0"
                          " WHERE epoch = %" PRId64 "; ",
                          store->epoch);
        strbuf_printf(&sql, "SELECT pg_advisory_unlock(%d, %" PRId32 ")", PG_LOCK_CLASS,
                      store->target.lock);
        link->patience = CLOSE_PATIENCE;
        pg_link_leave_pipeline(link);
        (void)pg_link_run(link, "close", sql.text, NULL, NULL);
    }
    store_free(&store);
}

/* --- maintenance ----------------------------------------------------------------------------- */

/* The server does vacuum and checkpoints. The size may be a minute old. */
static time_ms pg_maintain(struct store *base, time_ms idle_ms) {
    (void)idle_ms;
    struct pg_store *store = (struct pg_store *)base;
    if (base->commits == store->bytes_commits)
        return TIME_NEVER;
    time_ms age = clock_read_steady() - store->bytes_at;
    if (age < SIZE_EVERY)
        return SIZE_EVERY - age;
    refresh_size(store);
    return TIME_NEVER;
}

static int pg_backup_begin(struct store *base, const char *path, struct error *err) {
    const struct pg_store *store = (const struct pg_store *)base;
    return error_set(
        err, -ENOTSUP,
        "a store in PostgreSQL is copied by its own tools: 'pg_dump --schema=%s -Fc -f "
        "%s DATABASE', or into a file of SQLite: 'sluice store copy'",
        store->target.schema, path);
}

static int pg_restore(const char *url, const char *path, char ret_kept[512], struct error *err) {
    _cleanup_(pg_target_finish) struct pg_target target = { 0 };
    ret_kept[0] = '\0';
    int r = pg_target_parse(url, &target, err);
    if (r < 0)
        return r;
    return error_set(err, -ENOTSUP,
                     "a store in PostgreSQL is restored by its own tools: drop the schema '%s', "
                     "then 'pg_restore -d DATABASE %s'",
                     target.schema, path);
}

static void pg_show(const char *url, char ret_shown[STORE_SHOWN_MAX]) {
    _cleanup_(pg_target_finish) struct pg_target target = { 0 };
    bool known = pg_target_parse(url, &target, NULL) == 0;
    (void)snprintf(ret_shown, STORE_SHOWN_MAX, "%s", known ? target.shown : "postgresql://");
}

static void pg_info(const struct store *base, struct store_info *ret) {
    const struct pg_store *store = (const struct pg_store *)base;
    ret->place = store->target.shown;
    ret->bytes = store->bytes;
}

const struct store_backend postgres_backend = {
    .name = "postgresql",
    .open = pg_open,
    .show = pg_show,
    .summary = pg_summary,
    .close = pg_close,
    .load = pg_load,
    .ahead = pg_commit_ahead,
    .commit = pg_commit,
    .query = pg_query,
    .maintain = pg_maintain,
    .backup_begin = pg_backup_begin,
    .restore = pg_restore,
    .info = pg_info,
    .give_up = pg_give_up,
    .await = pg_await,
    .await_cancel = pg_await_cancel,
    .await_holder = pg_await_holder,
    .holder = pg_holder,
};
