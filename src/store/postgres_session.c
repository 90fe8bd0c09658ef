/* postgres_session.c: is this a connection that can be trusted with what must not be lost?
 *
 * One statement makes every setting that could end a session or a statement by itself harmless, asks for a
 * commit that is on disk when it is answered, and brings what has to be known of the server. Plans never
 * depend on statistics: a table that was empty when a statement was planned may have a million rows now,
 * and each statement has one index that is right.
 *
 * The lock is the session's: it is free when its connection ends, whatever ended it, and not before.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "os/clock.h"
#include "store/postgres_link.h"

#define LOCK_PATIENCE 500
#define LOCK_PAUSE    20

/* --- sentences ----------------------------------------------------------------------------------- */

void pg_one_line(const char *text, char ret_line[300]) {
    (void)snprintf(ret_line, 300, "%s", text ? text : "it says nothing");
    size_t length = strlen(ret_line);
    while (length > 0 && strchr("\n\r .", ret_line[length - 1]))
        ret_line[--length] = '\0';
    char *to = ret_line;
    for (const char *c = ret_line; *c; c++) {
        char next = *c == '\n' || *c == '\t' ? ' ' : *c;
        if (next != ' ' || to == ret_line || to[-1] != ' ')
            *to++ = next;
    }
    *to = '\0';
}

int64_t pg_result_number(const PGresult *result, int row, int column) {
    int64_t number = 0;
    if (row < PQntuples(result) && column < PQnfields(result))
        (void)number_parse_int(PQgetvalue(result, row, column), &number, NULL);
    return number;
}

static int errno_of(const char *state) {
    static const struct {
        const char *state; /* or how it begins */
        int code;
    } codes[] = {
        { "23", -EEXIST },       { "53100", -ENOSPC },  { "53200", -ENOMEM },  { "42501", -EACCES },
        { "25006", -EROFS },     { "40", -EAGAIN },     { "55P03", -EAGAIN },  { "57014", -EAGAIN },
        { "XX", -EUCLEAN },      { "42P01", -EUCLEAN }, { "42703", -EUCLEAN }, { "28", -EACCES },
        { "57P0", -ECONNRESET },
    };
    for (size_t i = 0; state && i < ARRAY_SIZE(codes); i++)
        if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0)
            return codes[i].code;
    return -EIO;
}

int pg_result_error(const struct pg_place *place, const char *what, const PGresult *result,
                    struct error *err) {
    char line[300];
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    pg_one_line(text ? text : PQresultErrorMessage(result), line);
    int code = errno_of(PQresultErrorField(result, PG_DIAG_SQLSTATE));
    if (code == -ENOSPC)
        return error_set(err, code, "cannot %s: the disk of PostgreSQL at '%s' is full", what,
                         place->shown);
    return error_set(err, code, "cannot %s in PostgreSQL at '%s': %s", what, place->shown, line);
}

/* What a server has said of itself when it let us in (13 does not). */
static bool is_on(const PGconn *pg, const char *parameter) {
    const char *value = PQparameterStatus(pg, parameter);
    return value && strcmp(value, "on") == 0;
}

static int refuse_role(const struct pg_place *place, struct error *err) {
    return error_set(err, -EROFS,
                     "the sessions of this role at '%s' are read-only: ALTER ROLE … SET "
                     "default_transaction_read_only = off",
                     place->shown);
}

int pg_connect_error(const struct pg_link *link, struct error *err) {
    const struct pg_place *place = link->place;
    char line[300];
    pg_one_line(link->pg ? PQerrorMessage(link->pg) : "out of memory", line);
    if (link->up)
        return error_set(err, -ECONNRESET, "the connection to PostgreSQL at '%s' is lost: %s",
                         place->shown, line);
    if (link->pg && is_on(link->pg, "in_hot_standby")) /* the primary may come, or this may be it */
        return error_set(err, -ECONNREFUSED,
                         "PostgreSQL at '%s' is a standby server, which takes no writes: does the "
                         "primary run, and is it one of the hosts?",
                         place->shown);
    if (link->pg && is_on(link->pg, "default_transaction_read_only"))
        return refuse_role(place, err);
    if (link->pg && PQconnectionNeedsPassword(link->pg))
        return error_set(
            err, -EACCES,
            "PostgreSQL at '%s' wants a password: put it into ~/.pgpass (0600), or into "
            "the file that '?passfile=' names",
            place->shown);
    if (link->pg && PQconnectionUsedPassword(link->pg))
        return error_set(err, -EACCES,
                         "PostgreSQL at '%s' lets nobody in (%s): check the role, its password and "
                         "the database",
                         place->shown, line);
    return error_set(err, -ECONNREFUSED, "cannot reach PostgreSQL at '%s': %s", place->shown, line);
}

/* --- the session ---------------------------------------------------------------------------------- */

void pg_session_sql(const struct pg_link *link, struct strbuf *ret_sql) {
    static const struct {
        const char *name, *value;
        int since;
    } settings[] = {
        { "statement_timeout", "0", 0 },
        { "lock_timeout", "0", 0 },
        { "idle_in_transaction_session_timeout", "0", 0 },
        { "idle_session_timeout", "0", 140000 },
        { "transaction_timeout", "0", 170000 },
        { "client_connection_check_interval", "2000", 140000 },
        { "default_transaction_isolation", "read committed", 0 },
        { "tcp_keepalives_idle", "1", 0 },
        { "tcp_keepalives_interval", "1", 0 },
        { "tcp_keepalives_count", "2", 0 },
        { "tcp_user_timeout", "3000", 0 }, /* two more are for the standby: 5 s in all */
        { "plan_cache_mode", "force_generic_plan", 0 },
        { "enable_seqscan", "off", 0 },
        { "enable_hashjoin", "off", 0 },
        { "enable_mergejoin", "off", 0 },
        { "max_parallel_workers_per_gather", "0", 0 },
        { "jit", "off", 0 },
        { "bytea_output", "hex", 0 },
    };
    strbuf_printf(ret_sql, "SELECT set_config('search_path', '\"%s\", pg_temp', false)",
                  link->place->schema);
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
        if (PQserverVersion(link->pg) >= settings[i].since)
            strbuf_printf(ret_sql, ", set_config('%s', '%s', false)", settings[i].name,
                          settings[i].value);
    /* What waits for more stays. `local` and `remote_write` would be less than `on` where a second server shall have
     * every commit; without one they are the same. */
    strbuf_puts(
        ret_sql,
        ", set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
        " WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),"
        " current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,"
        " current_setting('full_page_writes') AS pages, pg_is_in_recovery() AS standby,"
        " current_setting('default_transaction_read_only') AS read_only,"
        " current_database() AS database");
}

static const char *field(const PGresult *result, const char *name) {
    int column = PQfnumber(result, name);
    return column < 0 || PQntuples(result) != 1 ? "" : PQgetvalue(result, 0, column);
}

int pg_session_check(const struct pg_link *link, const PGresult *result, struct error *err) {
    const char *shown = link->place->shown;
    int version = PQserverVersion(link->pg);
    if (version < PG_OLDEST_SERVER)
        return error_set(err, -ENOTSUP, "PostgreSQL at '%s' has version %d: use %d or newer", shown,
                         version / 10000, PG_OLDEST_SERVER / 10000);
    if (strcmp(field(result, "encoding"), "UTF8") != 0)
        return error_set(err, -ENOTSUP,
                         "database '%s' has the encoding %s: use one made with CREATE DATABASE … "
                         "ENCODING 'UTF8' TEMPLATE template0",
                         field(result, "database"), field(result, "encoding"));
    if (*field(result, "standby") == 't')
        return error_set(err, -EROFS,
                         "PostgreSQL at '%s' is a standby server, which takes no writes: name the "
                         "primary, or all of them: postgresql://A,B/DATABASE",
                         shown);
    if (strcmp(field(result, "read_only"), "on") == 0)
        return refuse_role(link->place, err);
    bool unsafe =
        strcmp(field(result, "fsync"), "on") != 0 || strcmp(field(result, "pages"), "on") != 0;
    if (unsafe && link->log)
        link->log(link->log_ctx,
                  "PostgreSQL runs with fsync or full_page_writes off: a power cut may lose or "
                  "spoil everything; switch both on in postgresql.conf");
    return 0;
}

static void clear_result(PGresult **result) {
    PQclear(*result);
}

int pg_session_begin(struct pg_link *link, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    _cleanup_(clear_result) PGresult *result = NULL;
    pg_session_sql(link, &sql);
    int r = pg_link_run(link, "begin a session", sql.text, &result, err);
    return r < 0 ? r : pg_session_check(link, result, err);
}

/* --- the lock ------------------------------------------------------------------------------------- */

void pg_session_lock_sql(const struct pg_place *place, struct strbuf *ret_sql) {
    strbuf_printf(ret_sql, "SELECT pg_try_advisory_lock(%d, %" PRId32 ")", PG_LOCK_CLASS,
                  place->lock);
}

static void print_lock_row(const struct pg_place *place, struct strbuf *out) {
    strbuf_printf(out,
                  " FROM pg_locks l"
                  " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = %u AND l.objid = %u"
                  " AND l.objsubid = 2 AND l.database ="
                  " (SELECT oid FROM pg_database WHERE datname = current_database())",
                  (unsigned)PG_LOCK_CLASS, (unsigned)place->lock);
}

/* What the holder said of itself is in the table, if it has come so far: its process must be the one that
 * has the lock. */
void pg_session_holder_sql(const struct pg_place *place, struct strbuf *ret_sql) {
    strbuf_printf(ret_sql,
                  "SELECT s.holder FROM \"%s\".store s WHERE s.holder_pid IN (SELECT l.pid",
                  place->schema);
    print_lock_row(place, ret_sql);
    strbuf_putc(ret_sql, ')');
}

int pg_session_holder(struct pg_link *link, bool *ret_held, char ret_who[STORE_WHO_MAX],
                      struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    _cleanup_(clear_result) PGresult *locks = NULL, *told = NULL;
    strbuf_printf(&sql, "SELECT l.pid, to_regclass('\"%s\".store') IS NOT NULL",
                  link->place->schema);
    print_lock_row(link->place, &sql);
    int r = pg_link_run(link, "ask who has the store", sql.text, &locks, err);
    if (r < 0)
        return r;
    *ret_held = PQntuples(locks) > 0;
    ret_who[0] = '\0';
    if (!*ret_held || *PQgetvalue(locks, 0, 1) != 't')
        return 0;
    strbuf_clear(&sql);
    pg_session_holder_sql(link->place, &sql);
    if (pg_link_run(link, "ask who has the store", sql.text, &told, NULL) == 0
        && PQntuples(told) == 1)
        (void)snprintf(ret_who, STORE_WHO_MAX, "%s", PQgetvalue(told, 0, 0));
    return 0; /* without the right to read it, or in its first moment, it stays nameless */
}

/* -EBUSY: somebody has it. */
static int try_lock(struct pg_link *link, const char *sql, struct error *err) {
    _cleanup_(clear_result) PGresult *result = NULL;
    int r = pg_link_run(link, "lock the store", sql, &result, err);
    return r < 0 ? r : *PQgetvalue(result, 0, 0) == 't' ? 0 : -EBUSY;
}

int pg_session_lock(struct pg_link *link, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    pg_session_lock_sql(link->place, &sql);
    /* The server needs a moment to see that a program has died: whoever starts it again comes sooner. */
    time_ms deadline = clock_read_steady() + LOCK_PATIENCE;
    int r;
    while ((r = try_lock(link, sql.text, err)) == -EBUSY && clock_read_steady() < deadline)
        (void)poll(NULL, 0, LOCK_PAUSE);
    if (r != -EBUSY)
        return r;
    bool held = false;
    char who[STORE_WHO_MAX] = "";
    (void)pg_session_holder(link, &held, who, NULL);
    return error_set(err, -EBUSY,
                     "store '%s' is in use by %s: end that one first, or wait for it with "
                     "daemon.standby",
                     link->place->shown, *who ? who : "another program");
}
