/* postgres_link.c: a connection that never makes the daemon wait.
 *
 * Statements go into libpq's buffer and are sent as the socket takes them; results are counted, not
 * numbered: the server answers in the order of what it was sent. The socket is also watched when nothing is
 * expected, so that a lost connection is known at once, and a server that says nothing for too long is
 * treated like a lost one: whether it has committed, nobody can say.
 *
 * Only the start, the load and tools wait (pg_link_run, pg_link_wait), and with a deadline.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "store/postgres_link.h"

/* --- connecting ---------------------------------------------------------------------------------- */

/* "terminating connection due to administrator command" comes like this, before the end. */
static void take_notice(void *ctx, const PGresult *result) {
    struct pg_link *link = ctx;
    char line[300];
    pg_one_line(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY), line);
    (void)snprintf(link->last_words, sizeof(link->last_words), "%.199s", line);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (link->log && severity && strcmp(severity, "WARNING") == 0)
        link->log(link->log_ctx, line);
}

/* `address`: of those that the name of the host has; "": any. */
static int begin(struct pg_link *link, const struct pg_place *place, const char *address,
                 struct error *err) {
    /* What the URL says counts more than what stands before it, and less than what stands behind. A host that
     * has gone is known within 3 s, on both sides (pg_session_sql). */
    const char *const names[] = { "fallback_application_name",
                                  "keepalives_idle",
                                  "keepalives_interval",
                                  "keepalives_count",
                                  "tcp_user_timeout",
                                  "target_session_attrs",
                                  "dbname",
                                  "hostaddr",
                                  "client_encoding",
                                  NULL };
    const char *url = place->hosts ? place->hosts[link->host].conninfo : place->url;
    const char *const values[] = { "sluice", "1",     "1",
                                   "2",      "3000",  place->hosts ? "read-write" : "any",
                                   url,      address, "UTF8",
                                   NULL };
    _Static_assert(ARRAY_SIZE(names) == ARRAY_SIZE(values), "a parameter has no value");
    link->place = place;
    link->patience = place->answer_timeout;
    if (!link->guard)
        link->guard = xcalloc(1, sizeof(*link->guard));
    link->pg = PQconnectStartParams(names, values, 1);
    if (!link->pg || PQstatus(link->pg) == CONNECTION_BAD)
        return pg_connect_error(link, err);
    (void)PQsetNoticeReceiver(link->pg, take_notice, link);
    return 0;
}

int pg_link_begin(struct pg_link *link, const struct pg_place *place, struct error *err) {
    return begin(link, place, "", err);
}

int pg_link_is_late(const struct pg_link *link, struct error *err) {
    return error_set(err, -ETIMEDOUT,
                     "PostgreSQL at '%s' does not answer: is the address right, and does the "
                     "server run?",
                     link->place->shown);
}

/* Unlike libpq also behind one that lets nobody in: those who repair a server say so with its pg_hba.conf. */
bool pg_link_next(struct pg_link *link, struct error *err) {
    const struct pg_place *place = link->place;
    if (link->host + 1 == place->host_count) {
        if (place->hosts)
            (void)error_prefix(err, "%zu hosts were tried, the last one was '%s'",
                               place->host_count, place->hosts[link->host].shown);
        return false;
    }
    PQfinish(link->pg);
    link->pg = NULL;
    link->last_words[0] = '\0';
    link->host++;
    return true;
}

int pg_link_go_on(struct pg_link *link, unsigned *ret_events, struct error *err) {
    switch (PQconnectPoll(link->pg)) {
    case PGRES_POLLING_OK:
        if (PQsetnonblocking(link->pg, 1) != 0)
            return pg_connect_error(link, err);
        link->up = true;
        return 0;
    case PGRES_POLLING_READING:
        *ret_events = LOOP_READ;
        return 1;
    case PGRES_POLLING_WRITING:
        *ret_events = LOOP_WRITE;
        return 1;
    case PGRES_POLLING_FAILED:
    case PGRES_POLLING_ACTIVE:
        break;
    }
    return pg_connect_error(link, err);
}

/* 1: ready, 0: not before the deadline. */
static int wait_for(int fd, short events, time_ms deadline) {
    for (;;) {
        time_ms left = deadline - clock_read_steady();
        struct pollfd poller = { .fd = fd, .events = events };
        int n = poll(&poller, 1, left > 0 ? (int)left : 0);
        if (n > 0 || (n < 0 && errno != EINTR))
            return 1; /* an error is found by whoever reads */
        if (n == 0 && left <= 0)
            return 0;
    }
}

static int connect_host(struct pg_link *link, const struct pg_place *place, const char *address,
                        time_ms patience, struct error *err) {
    time_ms deadline = clock_read_steady() + patience;
    int r = begin(link, place, address, err);
    unsigned events = LOOP_WRITE;
    while (r >= 0) {
        if (!wait_for(PQsocket(link->pg), events == LOOP_WRITE ? POLLOUT : POLLIN, deadline))
            return pg_link_is_late(link, err);
        r = pg_link_go_on(link, &events, err);
        if (r == 0)
            return 0;
    }
    return r;
}

int pg_link_connect(struct pg_link *link, const struct pg_place *place, time_ms patience,
                    struct error *err) {
    int r;
    do
        r = connect_host(link, place, "", patience, err);
    while (r < 0 && pg_link_next(link, err));
    return r;
}

/* A name may have several addresses. Where the URL names one host, all of them are taken for one server. */
int pg_link_connect_beside(struct pg_link *link, const struct pg_link *other, time_ms patience,
                           struct error *err) {
    const char *address = other->place->hosts ? PQhostaddr(other->pg) : NULL;
    link->host = other->host;
    return connect_host(link, other->place, address ? address : "", patience, err);
}

static void stop_watching(struct pg_link *link) {
    if (!link->loop)
        return;
    loop_unwatch(link->loop, link->watch);
    loop_timer_free(link->loop, link->timer);
    link->watch = NULL;
    link->timer = NULL;
}

struct pg_guard *pg_guard_enter(struct pg_link *link) {
    link->guard->depth++;
    return link->guard;
}

bool pg_guard_leave(struct pg_guard *guard) {
    bool gone = guard->gone;
    if (--guard->depth == 0 && gone)
        free(guard);
    return gone;
}

static void drop_guard(struct pg_link *link) {
    if (link->guard && link->guard->depth == 0)
        free(link->guard);
    else if (link->guard)
        link->guard->gone = true;
    link->guard = NULL;
}

void pg_link_close(struct pg_link *link) {
    stop_watching(link);
    drop_guard(link);
    PQfinish(link->pg); /* accepts NULL */
    *link = (struct pg_link){ 0 };
}

void pg_link_abandon(struct pg_link *link) {
    link->dead = true;
    stop_watching(link);
}

void pg_link_move(struct pg_link *link, const struct pg_place *place, struct pg_link *ret_link) {
    assert(link->expected == 0);
    stop_watching(link);
    drop_guard(link);
    *ret_link = (struct pg_link){ .place = place,
                                  .pg = link->pg,
                                  .host = link->host,
                                  .patience = place->answer_timeout,
                                  .up = true,
                                  .guard = xcalloc(1, sizeof(struct pg_guard)) };
    (void)PQsetNoticeReceiver(ret_link->pg, take_notice, ret_link);
    *link = (struct pg_link){ 0 };
}

/* --- the end of a connection ----------------------------------------------------------------------- */

/* From the loop or from pg_link_wait alone: whoever is told may close the link. */
static void lose(struct pg_link *link, int code, const char *why) {
    if (link->dead)
        return;
    link->dead = true;
    stop_watching(link);
    char line[300];
    pg_one_line(why, line);
    struct error err = { 0 };
    error_set(
        &err, code,
        "the connection to PostgreSQL is lost (%s%s%s): what it was doing may be done or not, "
        "the next start finds out",
        line, *link->last_words ? "; " : "", link->last_words);
    if (link->lost)
        link->lost(link->ctx, &err);
}

static void lose_connection(struct pg_link *link) {
    (void)PQisBusy(link->pg); /* reads what was said last, for take_notice */
    lose(link, -ECONNRESET, PQerrorMessage(link->pg));
}

/* Nothing can be sent any more. Whoever sends must not be called back from inside of it. */
static void doom(struct pg_link *link) {
    link->doomed = true;
    if (link->loop && !link->dead)
        loop_timer_set(link->loop, link->timer, clock_read_steady());
}

/* --- waiting for one answer ------------------------------------------------------------------------ */

int pg_link_poll(struct pg_link *link, time_ms deadline, struct error *err) {
    int unsent = PQflush(link->pg);
    if (unsent < 0)
        return pg_connect_error(link, err);
    short events = (short)(POLLIN | (unsent ? POLLOUT : 0));
    if (!wait_for(PQsocket(link->pg), events, deadline))
        return error_set(err, -ETIMEDOUT, "PostgreSQL at '%s' has not answered for %d s",
                         link->place->shown, (int)(link->patience / 1000));
    if (!PQconsumeInput(link->pg))
        return pg_connect_error(link, err);
    return 0;
}

/* All results of what was sent; the last one, or the first that is an error. */
static int collect(struct pg_link *link, const char *what, PGresult **ret_result,
                   struct error *err) {
    PGresult *kept = NULL;
    time_ms deadline = clock_read_steady() + link->patience;
    int r = 0;
    for (;;) {
        while (r >= 0 && PQisBusy(link->pg))
            r = pg_link_poll(link, deadline, err);
        PGresult *next = r >= 0 ? PQgetResult(link->pg) : NULL;
        if (!next)
            break;
        bool keep = !kept || PQresultStatus(kept) != PGRES_FATAL_ERROR;
        PQclear(keep ? kept : next);
        kept = keep ? next : kept;
    }
    ExecStatusType status = PQresultStatus(kept);
    if (r >= 0 && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        r = pg_result_error(link->place, what, kept, err);
    if (r < 0 || !ret_result) {
        PQclear(kept);
        return r;
    }
    *ret_result = kept;
    return 0;
}

int pg_link_run(struct pg_link *link, const char *what, const char *sql, PGresult **ret_result,
                struct error *err) {
    if (!PQsendQuery(link->pg, sql))
        return pg_connect_error(link, err);
    return collect(link, what, ret_result, err);
}

int pg_link_run_with(struct pg_link *link, const char *what, const char *sql, const char *value,
                     PGresult **ret_result, struct error *err) {
    if (!PQsendQueryParams(link->pg, sql, 1, NULL, &value, NULL, NULL, 0))
        return pg_connect_error(link, err);
    return collect(link, what, ret_result, err);
}

/* --- the pipeline ---------------------------------------------------------------------------------- */

static void is_ready(void *ctx, int fd, unsigned events);

static void is_silent(void *ctx) {
    struct pg_link *link = ctx;
    if (link->doomed)
        lose_connection(link);
    else
        lose(link, -ETIMEDOUT, "it has not answered in time");
}

int pg_link_pipeline(struct pg_link *link, struct error *err) {
    return PQenterPipelineMode(link->pg) ? 0 : pg_connect_error(link, err);
}

int pg_link_watch(struct pg_link *link, struct loop *loop, struct error *err) {
    link->loop = loop;
    link->timer = loop_timer_new(loop, is_silent, link);
    int r = loop_watch(loop, PQsocket(link->pg), LOOP_READ, is_ready, link, &link->watch);
    return r < 0 ? error_set(err, r, "cannot watch the connection to PostgreSQL: %s", strerror(-r))
                 : 0;
}

void pg_link_leave_pipeline(struct pg_link *link) {
    assert(link->expected == 0);
    (void)PQexitPipelineMode(link->pg); /* what follows would say so */
}

static void set_patience(struct pg_link *link) {
    if (!link->loop || link->dead || link->doomed)
        return;
    if (link->expected > 0)
        loop_timer_set(link->loop, link->timer, clock_read_steady() + link->patience);
    else
        loop_timer_clear(link->loop, link->timer);
}

static void flush(struct pg_link *link) {
    int unsent = PQflush(link->pg);
    if (unsent < 0)
        doom(link);
    else if (link->loop)
        loop_watch_change(link->loop, link->watch, LOOP_READ | (unsent ? LOOP_WRITE : 0));
}

void pg_link_prepare(struct pg_link *link, const char *name, const char *sql, const Oid *types,
                     int count) {
    if (link->dead || link->doomed)
        return;
    if (PQsendPrepare(link->pg, name, sql, count, types))
        link->expected++;
    else
        doom(link);
}

void pg_link_ask(struct pg_link *link, const char *sql) {
    if (link->dead || link->doomed)
        return;
    if (PQsendQueryParams(link->pg, sql, 0, NULL, NULL, NULL, NULL, 0))
        link->expected++;
    else
        doom(link);
}

void pg_link_send(struct pg_link *link, const char *name, const struct pg_values *values) {
    int formats[PG_VALUES_MAX];
    if (link->dead || link->doomed)
        return;
    for (int i = 0; i < values->count; i++)
        formats[i] = 1;
    if (PQsendQueryPrepared(link->pg, name, values->count, values->values, values->lengths, formats,
                            1))
        link->expected++;
    else
        doom(link);
}

void pg_link_flush(struct pg_link *link) {
    if (!link->dead && !link->doomed)
        flush(link);
}

void pg_link_sync(struct pg_link *link) {
    if (link->dead || link->doomed)
        return;
    if (!PQpipelineSync(link->pg)) {
        doom(link);
        return;
    }
    link->expected++;
    set_patience(link);
    flush(link);
}

/* The server ends the connection (it is being stopped, or somebody ends it), and says so in the place of whatever
 * was to come, which may be a sync. */
static bool is_farewell(const PGresult *result) {
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    return severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
}

/* Everything that has come. Whoever is called may send more, or close the link: false, it is gone. */
static bool take_results(struct pg_link *link) {
    struct pg_guard *guard = pg_guard_enter(link);
    bool empty = false; /* the last one was: behind each statement there is one */
    while (!guard->gone && !link->dead && link->expected > 0 && !PQisBusy(link->pg)) {
        PGresult *result = PQgetResult(link->pg);
        bool lost = PQstatus(link->pg) == CONNECTION_BAD || (!result && empty);
        empty = !result;
        if (lost) {
            lose_connection(link);
        } else if (result && is_farewell(result)) {
            lose(link, -ECONNRESET, PQresultErrorMessage(result));
        } else if (result) {
            link->expected--;
            if (PQresultStatus(result) == PGRES_PIPELINE_SYNC)
                link->synced(link->ctx);
            else
                link->result(link->ctx, result);
        }
        PQclear(result);
    }
    bool gone = pg_guard_leave(guard);
    if (!gone)
        set_patience(link);
    return !gone;
}

static void is_ready(void *ctx, int fd, unsigned events) {
    (void)fd;
    struct pg_link *link = ctx;
    if (events & LOOP_WRITE)
        flush(link);
    if (link->doomed || !PQconsumeInput(link->pg))
        lose_connection(link);
    else
        (void)take_results(link);
}

void pg_link_wait(struct pg_link *link) {
    struct error err = { 0 };
    time_ms deadline = clock_read_steady() + link->patience;
    while (!link->dead && (link->expected > 0 || link->doomed)) {
        size_t before = link->expected;
        int r = 0;
        if (link->doomed)
            r = pg_connect_error(link, &err);
        else if (PQisBusy(link->pg))
            r = pg_link_poll(link, deadline, &err);
        if (r < 0) {
            lose(link, r, err.text);
            return;
        }
        if (!take_results(link))
            return;
        if (link->expected != before)
            deadline = clock_read_steady() + link->patience;
    }
}
