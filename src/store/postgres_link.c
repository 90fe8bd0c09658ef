/* postgres_link.c: a non-blocking connection.
 *
 * Statements go into libpq's buffer and are sent as the socket accepts them. Results are counted,
 * not numbered: the server answers in order. The socket is also watched when nothing is expected,
 * so that a lost connection is noticed immediately. A server that is silent for too long is treated
 * like a lost one: whether it has committed is unknown.
 *
 * Only startup, loading and tools block (pg_link_run, pg_link_wait), with a deadline. */
#include "store/postgres_link.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "os/clock.h"

/* --- servers, schemas and locks of a URL ----------------------------------------------------- */

/* Parses a URL into servers, schema and lock.
 *
 * The URL is libpq's, with everything that libpq supports (hosts, TLS, password files, services).
 * Two parameters are ours and are removed before libpq sees it. The displayed form never has a
 * password.
 *
 * Several hosts are split the way libpq does it, so that each has its own connect_timeout: in
 * non-blocking mode, libpq does not say how long it has been trying which host. */

#define SCHEMA_DEFAULT          "sluice"
#define ANSWER_TIMEOUT_DEFAULT  SECONDS(30)
#define ANSWER_TIMEOUT_MAX      600
#define CONNECT_TIMEOUT_DEFAULT SECONDS(10)
#define LATE_MS                 SECONDS(2) /* of a timer: this process was not running */

static bool begins_with(const char *text, const char *begin) {
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* Lower case only: "Sluice" and "sluice" would be two schemas that look the same. */
static int parse_schema(const char *value, size_t size, struct pg_target *target,
                        struct error *err) {
    bool fine = size > 0 && size <= PG_SCHEMA_MAX && strncmp(value, "pg_", 3) != 0
                && strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_") >= size
                && strspn(value, "0123456789") == 0;
    if (!fine)
        return error_set(err, -EINVAL,
                         "'%.*s' is not a name of a schema: use up to %u lower-case letters, "
                         "digits and underscores, as in '?schema=sluice'",
                         (int)(size < 60 ? size : 60), value, PG_SCHEMA_MAX);
    memcpy(target->schema, value, size);
    target->schema[size] = '\0';
    return 0;
}

static int parse_timeout(const char *value, size_t size, struct pg_target *target,
                         struct error *err) {
    char text[16];
    (void)snprintf(text, sizeof(text), "%.*s", (int)(size < 15 ? size : 15), value);
    int64_t seconds = 0;
    if (number_parse_int(text, &seconds, NULL) < 0 || seconds < 1 || seconds > ANSWER_TIMEOUT_MAX)
        return error_set(err, -EINVAL, "answer_timeout is '%s': give 1 to %d seconds", text,
                         ANSWER_TIMEOUT_MAX);
    target->answer_timeout = SECONDS(seconds);
    return 0;
}

/* libpq also accepts parameter names with %XX escapes. */
static bool is_secret(const char *parameter, size_t size) {
    return begins_with(parameter, "password=") || begins_with(parameter, "sslpassword=")
           || memchr(parameter, '%',
                     strcspn(parameter, "=") < size ? strcspn(parameter, "=") : size);
}

/* Where libpq ends user and password: at the first '@' before any '/'. A '/' that should have been
 * written as %2F ends them for libpq, but not for a reader. */
static const char *credentials_end(const char *host) {
    size_t size = strcspn(host, "@/");
    if (host[size] == '@')
        return memrchr(host, '@', size + 1 + strcspn(host + size + 1, "/?"));
    return memrchr(host, '@', strcspn(host, "?"));
}

/* Everything after '?', without our parameters, and in `shown` without secrets. */
static int split_query(const char *query, struct strbuf *url, struct strbuf *shown,
                       struct pg_target *target, struct error *err) {
    char before = '?', shown_before = '?';
    while (*query) {
        size_t size = strcspn(query, "&");
        const char *value = memchr(query, '=', size);
        size_t value_size = value ? size - (size_t)(++value - query) : 0;
        bool ours = true;
        int r = 0;
        if (value && begins_with(query, "schema="))
            r = parse_schema(value, value_size, target, err);
        else if (value && begins_with(query, "answer_timeout="))
            r = parse_timeout(value, value_size, target, err);
        else
            ours = false;
        if (r < 0)
            return r;
        if (!ours) {
            strbuf_putc(url, before);
            strbuf_add(url, query, size);
            before = '&';
        }
        if (!is_secret(query, size)) {
            strbuf_putc(shown, shown_before);
            strbuf_add(shown, query, size);
            shown_before = '&';
        }
        query += size + (query[size] == '&');
    }
    return 0;
}

/* libpq's message is more specific, but may quote text from the position of a password. */
static int refuse(const char *text, const struct pg_target *target, struct error *err) {
    bool names_parameter = text && strstr(text, "query parameter");
    size_t size = !text ? 0 : names_parameter ? strcspn(text, "\n") : strcspn(text, ":\"\n");
    return error_set(err, -EINVAL,
                     "store.url '%s' cannot be read (%.*s): write "
                     "postgresql://USER@HOST:PORT/DATABASE",
                     target->shown, (int)size, text ? text : "");
}

/* --- several hosts --------------------------------------------------------------------------- */

static size_t count_pieces(const char *list) {
    size_t count = *list ? 1 : 0;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

/* The piece between two commas. A single piece applies to all. */
static const char *piece_of(const char *list, size_t index, size_t *ret_size) {
    for (const char *comma; index > 0 && (comma = strchr(list, ',')); index--)
        list = comma + 1;
    *ret_size = strcspn(list, ",");
    return list;
}

static const char *value_of(const PQconninfoOption *options, const char *keyword) {
    for (; options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0 && options->val)
            return options->val;
    return "";
}

/* A piece may be empty: libpq then uses its default, ignoring the environment. */
static char *conninfo_of(const PQconninfoOption *options, size_t index) {
    struct strbuf out = STRBUF_INIT;
    for (const PQconninfoOption *o = options; o->keyword; o++) {
        bool is_list = strcmp(o->keyword, "host") == 0 || strcmp(o->keyword, "hostaddr") == 0
                       || strcmp(o->keyword, "port") == 0;
        if (!o->val)
            continue;
        size_t size = strlen(o->val);
        const char *value = is_list ? piece_of(o->val, index, &size) : o->val;
        strbuf_printf(&out, "%s='", o->keyword);
        for (size_t i = 0; i < size; i++) {
            if (value[i] == '\'' || value[i] == '\\')
                strbuf_putc(&out, '\\');
            strbuf_putc(&out, value[i]);
        }
        strbuf_puts(&out, "' ");
    }
    return strbuf_take(&out);
}

static char *shown_of(const PQconninfoOption *options, size_t index) {
    struct strbuf out = STRBUF_INIT;
    size_t size = 0, port_size = 0;
    const char *host = piece_of(value_of(options, "host"), index, &size);
    if (size == 0)
        host = piece_of(value_of(options, "hostaddr"), index, &size);
    const char *port = piece_of(value_of(options, "port"), index, &port_size);
    if (size == 0)
        strbuf_puts(&out, "(default)");
    else if (*host != '/' && memchr(host, ':', size))
        strbuf_printf(&out, "[%.*s]", (int)size, host);
    else
        strbuf_add(&out, host, size);
    if (port_size > 0)
        strbuf_printf(&out, ":%.*s", (int)port_size, port);
    return strbuf_take(&out);
}

static void split_hosts(const PQconninfoOption *options, struct pg_target *target) {
    size_t names = count_pieces(value_of(options, "host"));
    size_t addresses = count_pieces(value_of(options, "hostaddr"));
    size_t ports = count_pieces(value_of(options, "port"));
    size_t count = addresses ? addresses : names;
    if (count < 2 || (names && names != count) || (ports > 1 && ports != count))
        return; /* libpq reports the mismatch */
    target->hosts = xcalloc(count, sizeof(*target->hosts));
    target->host_count = count;
    for (size_t i = 0; i < count; i++)
        target->hosts[i] =
            (struct pg_host){ .conninfo = conninfo_of(options, i), .shown = shown_of(options, i) };
}

/* --- the complete URL ------------------------------------------------------------------------ */

static int parse_conninfo(struct pg_target *target, struct error *err) {
    char *text = NULL;
    PQconninfoOption *options = PQconninfoParse(target->url, &text);
    int r = options ? 0 : refuse(text, target, err);
    int64_t seconds = 0;
    if (options && number_parse_int(value_of(options, "connect_timeout"), &seconds, NULL) == 0
        && seconds > 0)
        target->connect_timeout = SECONDS(seconds < 2 ? 2 : seconds < 3600 ? seconds : 3600);
    if (options)
        split_hosts(options, target);
    PQconninfoFree(options);
    PQfreemem(text);
    return r;
}

/* FNV-1a. Must never change: a daemon of another version must use the same lock. */
static int32_t lock_of(const char *schema) {
    uint32_t hash = 2166136261u;
    for (; *schema; schema++)
        hash = (hash ^ (unsigned char)*schema) * 16777619u;
    return (int32_t)hash;
}

/* "me:a/b@here": for libpq the host is "me", and its message would quote "a" as an invalid port. */
static int refuse_slash(const char *host, const char *at, const char *colon,
                        const struct pg_target *target, struct error *err) {
    const char *slash = at ? memchr(host, '/', (size_t)(at - host)) : NULL;
    if (!slash || !colon || colon > slash || colon + 1 + strspn(colon + 1, "0123456789") == slash)
        return 0;
    return error_set(err, -EINVAL,
                     "store.url '%s' cannot be read: write '/' in a password as %%2F, or put the "
                     "password into ~/.pgpass (0600)",
                     target->shown);
}

int pg_target_parse(const char *url, struct pg_target *ret_target, struct error *err) {
    struct pg_target target = { .answer_timeout = ANSWER_TIMEOUT_DEFAULT,
                                .connect_timeout = CONNECT_TIMEOUT_DEFAULT,
                                .host_count = 1,
                                .schema = SCHEMA_DEFAULT };
    _cleanup_(strbuf_finish) struct strbuf ours = STRBUF_INIT;
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    const char *slashes = strstr(url, "://");
    const char *host = slashes ? slashes + strlen("://") : url;
    const char *at = credentials_end(host);
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    const char *query = strchr(at ? at : host, '?');
    size_t base = query ? (size_t)(query - url) : strlen(url);
    strbuf_add(&ours, url, base);
    strbuf_add(&shown, url, colon ? (size_t)(colon - url) : base);
    if (colon)
        strbuf_add(&shown, at, base - (size_t)(at - url));
    int r = split_query(query ? query + 1 : "", &ours, &shown, &target, err);
    if (r < 0)
        return r;
    target.url = strbuf_take(&ours);
    target.shown = strbuf_take(&shown);
    target.lock = lock_of(target.schema);
    r = refuse_slash(host, at, colon, &target, err);
    if (r == 0)
        r = parse_conninfo(&target, err);
    if (r < 0) {
        pg_target_finish(&target);
        return r;
    }
    *ret_target = target;
    return 0;
}

void pg_target_finish(struct pg_target *target) {
    for (size_t i = 0; target->hosts && i < target->host_count; i++) {
        free(target->hosts[i].conninfo);
        free(target->hosts[i].shown);
    }
    free(target->hosts);
    free(target->url);
    free(target->shown);
    *target = (struct pg_target){ 0 };
}

/* --- sessions -------------------------------------------------------------------------------- */

/* Sets up a session that can be trusted with data that must not be lost.
 *
 * One statement disables every setting that could end a session or a statement by itself, requests
 * commits that are on disk when they are confirmed, and returns the required facts about the
 * server. Plans never depend on statistics: a table that was empty when a statement was planned may
 * have a million rows now, and each statement has exactly one right index.
 *
 * The lock belongs to the session: it is released when the connection ends, for any reason, and not
 * before. */

#define LOCK_PATIENCE 500
#define LOCK_PAUSE    20

/* --- messages -------------------------------------------------------------------------------- */

/* The server's message, as one line without libpq's decoration. */
static void pg_one_line(const char *text, char ret_line[300]) {
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
        const char *state; /* or its prefix */
        int code;
    } codes[] = {
        { "23", -EEXIST },       { "53100", -ENOSPC },  { "53", -ENOMEM },     { "42501", -EACCES },
        { "25006", -EROFS },     { "40", -EAGAIN },     { "55P03", -EAGAIN },  { "57014", -EAGAIN },
        { "XX", -EUCLEAN },      { "42P01", -EUCLEAN }, { "42703", -EUCLEAN }, { "28", -EACCES },
        { "57P0", -ECONNRESET },
    };
    for (size_t i = 0; state && i < ARRAY_SIZE(codes); i++)
        if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0)
            return codes[i].code;
    return -EIO;
}

int pg_result_error(const struct pg_target *target, const char *what, const PGresult *result,
                    struct error *err) {
    char line[300];
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    pg_one_line(text ? text : PQresultErrorMessage(result), line);
    int code = errno_of(PQresultErrorField(result, PG_DIAG_SQLSTATE));
    if (code == -ENOSPC)
        return error_set(err, code, "cannot %s: the disk of PostgreSQL at '%s' is full", what,
                         target->shown);
    return error_set(err, code, "cannot %s in PostgreSQL at '%s': %s", what, target->shown, line);
}

/* A parameter the server reported on connecting (13 does not). */
static bool is_on(const PGconn *pg, const char *parameter) {
    const char *value = PQparameterStatus(pg, parameter);
    return value && strcmp(value, "on") == 0;
}

static int refuse_role(const struct pg_target *target, struct error *err) {
    return error_set(err, -EROFS,
                     "the sessions of this role at '%s' are read-only: ALTER ROLE … SET "
                     "default_transaction_read_only = off",
                     target->shown);
}

int pg_connect_error(const struct pg_link *link, struct error *err) {
    const struct pg_target *target = link->target;
    char line[300];
    pg_one_line(link->pg ? PQerrorMessage(link->pg) : "out of memory", line);
    if (link->up)
        return error_set(err, -ECONNRESET, "the connection to PostgreSQL at '%s' is lost: %s",
                         target->shown, line);
    /* A primary may appear, or this may become it. */
    if (link->pg && is_on(link->pg, "in_hot_standby"))
        return error_set(err, -ECONNREFUSED,
                         "PostgreSQL at '%s' is a standby server, which takes no writes: does the "
                         "primary run, and is it one of the hosts?",
                         target->shown);
    if (link->pg && is_on(link->pg, "default_transaction_read_only"))
        return refuse_role(target, err);
    if (link->pg && PQconnectionNeedsPassword(link->pg))
        return error_set(
            err, -EACCES,
            "PostgreSQL at '%s' wants a password: put it into ~/.pgpass (0600), or into "
            "the file that '?passfile=' names",
            target->shown);
    if (link->pg && PQconnectionUsedPassword(link->pg))
        return error_set(err, -EACCES,
                         "PostgreSQL at '%s' refused the login (%s): check the role, its password "
                         "and the database",
                         target->shown, line);
    return error_set(err, -ECONNREFUSED, "cannot reach PostgreSQL at '%s': %s", target->shown,
                     line);
}

/* --- the session ----------------------------------------------------------------------------- */

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
        { "tcp_user_timeout", "3000", 0 }, /* two more for the standby: 5 s in total */
        { "plan_cache_mode", "force_generic_plan", 0 },
        { "enable_seqscan", "off", 0 },
        { "enable_hashjoin", "off", 0 },
        { "enable_mergejoin", "off", 0 },
        { "max_parallel_workers_per_gather", "0", 0 },
        { "jit", "off", 0 },
        { "bytea_output", "hex", 0 },
    };
    strbuf_printf(ret_sql, "SELECT set_config('search_path', '\"%s\", pg_temp', false)",
                  link->target->schema);
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
        if (PQserverVersion(link->pg) >= settings[i].since)
            strbuf_printf(ret_sql, ", set_config('%s', '%s', false)", settings[i].name,
                          settings[i].value);
    /* Stronger settings stay. `local` and `remote_write` would be weaker than `on` if a second
     * server must have every commit; without one they are the same. */
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
    const char *shown = link->target->shown;
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
        return refuse_role(link->target, err);
    bool unsafe =
        strcmp(field(result, "fsync"), "on") != 0 || strcmp(field(result, "pages"), "on") != 0;
    if (unsafe && link->log)
        link->log(link->log_ctx,
                  "PostgreSQL runs with fsync or full_page_writes off: a power cut may lose or "
                  "spoil everything; switch both on in postgresql.conf");
    return 0;
}

int pg_session_begin(struct pg_link *link, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    _cleanup_(pg_result_free) PGresult *result = NULL;
    pg_session_sql(link, &sql);
    int r = pg_link_run(link, "begin a session", sql.text, &result, err);
    return r < 0 ? r : pg_session_check(link, result, err);
}

/* --- the lock -------------------------------------------------------------------------------- */

void pg_session_lock_sql(const struct pg_target *target, struct strbuf *ret_sql) {
    strbuf_printf(ret_sql, "SELECT pg_try_advisory_lock(%d, %" PRId32 ")", PG_LOCK_CLASS,
                  target->lock);
}

static void print_lock_row(const struct pg_target *target, struct strbuf *out) {
    strbuf_printf(out,
                  " FROM pg_locks l"
                  " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = %u AND l.objid = %u"
                  " AND l.objsubid = 2 AND l.database ="
                  " (SELECT oid FROM pg_database WHERE datname = current_database())",
                  (unsigned)PG_LOCK_CLASS, (unsigned)target->lock);
}

/* The holder's `who` is in the table, if it has got that far: its process must be the one that has
 * the lock. */
void pg_session_holder_sql(const struct pg_target *target, struct strbuf *ret_sql) {
    strbuf_printf(ret_sql,
                  "SELECT s.holder FROM \"%s\".store s WHERE s.holder_pid IN (SELECT l.pid",
                  target->schema);
    print_lock_row(target, ret_sql);
    strbuf_putc(ret_sql, ')');
}

int pg_session_holder(struct pg_link *link, bool *ret_held, char ret_who[STORE_WHO_MAX],
                      struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    _cleanup_(pg_result_free) PGresult *locks = NULL, *holder = NULL;
    strbuf_printf(&sql, "SELECT l.pid, to_regclass('\"%s\".store') IS NOT NULL",
                  link->target->schema);
    print_lock_row(link->target, &sql);
    int r = pg_link_run(link, "ask who has the store", sql.text, &locks, err);
    if (r < 0)
        return r;
    *ret_held = PQntuples(locks) > 0;
    ret_who[0] = '\0';
    if (!*ret_held || *PQgetvalue(locks, 0, 1) != 't')
        return 0;
    strbuf_clear(&sql);
    pg_session_holder_sql(link->target, &sql);
    if (pg_link_run(link, "ask who has the store", sql.text, &holder, NULL) == 0
        && PQntuples(holder) == 1)
        (void)snprintf(ret_who, STORE_WHO_MAX, "%s", PQgetvalue(holder, 0, 0));
    return 0; /* without the right to read it, or just after opening, it stays unknown */
}

/* -EBUSY: another session has it. */
static int try_lock(struct pg_link *link, const char *sql, struct error *err) {
    _cleanup_(pg_result_free) PGresult *result = NULL;
    int r = pg_link_run(link, "lock the store", sql, &result, err);
    return r < 0 ? r : *PQgetvalue(result, 0, 0) == 't' ? 0 : -EBUSY;
}

int pg_session_lock(struct pg_link *link, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    pg_session_lock_sql(link->target, &sql);
    /* The server needs a moment to notice that a program has died; a restart comes sooner. */
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
                     link->target->shown, *who ? who : "another program");
}
/* --- connecting ------------------------------------------------------------------------------ */

/* "terminating connection due to administrator command" arrives this way, before the end. */
static void receive_notice(void *ctx, const PGresult *result) {
    struct pg_link *link = ctx;
    char line[300];
    pg_one_line(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY), line);
    (void)snprintf(link->last_notice, sizeof(link->last_notice), "%.199s", line);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (link->log && severity && strcmp(severity, "WARNING") == 0)
        link->log(link->log_ctx, line);
}

int pg_link_begin(struct pg_link *link, const struct pg_target *target, const char *address,
                  struct error *err) {
    /* The URL overrides the parameters before it, and is overridden by those after it. A dead host
     * is detected within 3 s, on both sides (pg_session_sql). */
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
    const char *url = target->hosts ? target->hosts[link->host].conninfo : target->url;
    const char *const values[] = { "sluice", "1",     "1",
                                   "2",      "3000",  target->hosts ? "read-write" : "any",
                                   url,      address, "UTF8",
                                   NULL };
    _Static_assert(ARRAY_SIZE(names) == ARRAY_SIZE(values), "a parameter has no value");
    link->target = target;
    link->patience = target->answer_timeout;
    if (!link->guard)
        link->guard = xcalloc(1, sizeof(*link->guard));
    link->pg = PQconnectStartParams(names, values, 1);
    if (!link->pg || PQstatus(link->pg) == CONNECTION_BAD)
        return pg_connect_error(link, err);
    (void)PQsetNoticeReceiver(link->pg, receive_notice, link);
    return 0;
}

int pg_link_is_late(const struct pg_link *link, struct error *err) {
    return error_set(err, -ETIMEDOUT,
                     "PostgreSQL at '%s' does not answer: is the address right, and does the "
                     "server run?",
                     link->target->shown);
}

/* Unlike libpq, also continues after a host that rejects logins: administrators use pg_hba.conf to
 * take a server out of service. */
bool pg_link_next(struct pg_link *link, struct error *err) {
    const struct pg_target *target = link->target;
    if (link->host + 1 == target->host_count) {
        if (target->hosts)
            (void)error_prefix(err, "%zu hosts were tried, the last one was '%s'",
                               target->host_count, target->hosts[link->host].shown);
        return false;
    }
    PQfinish(link->pg);
    link->pg = NULL;
    link->last_notice[0] = '\0';
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
            return 1; /* the next read finds the error */
        if (n == 0 && left <= 0)
            return 0;
    }
}

static int connect_host(struct pg_link *link, const struct pg_target *target, const char *address,
                        time_ms patience, struct error *err) {
    time_ms deadline = clock_read_steady() + patience;
    int r = pg_link_begin(link, target, address, err);
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

int pg_link_connect(struct pg_link *link, const struct pg_target *target, time_ms patience,
                    struct error *err) {
    int r;
    do
        r = connect_host(link, target, "", patience, err);
    while (r < 0 && pg_link_next(link, err));
    return r;
}

/* A name may have several addresses. If the URL names one host, all of them count as one server. */
int pg_link_connect_beside(struct pg_link *link, const struct pg_link *other, time_ms patience,
                           struct error *err) {
    const char *address = other->target->hosts ? PQhostaddr(other->pg) : NULL;
    link->host = other->host;
    return connect_host(link, other->target, address ? address : "", patience, err);
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
    bool is_freed = guard->is_freed;
    if (--guard->depth == 0 && is_freed)
        free(guard);
    return is_freed;
}

static void drop_guard(struct pg_link *link) {
    if (link->guard && link->guard->depth == 0)
        free(link->guard);
    else if (link->guard)
        link->guard->is_freed = true;
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

void pg_link_move(struct pg_link *link, const struct pg_target *target, struct pg_link *ret_link) {
    assert(link->expected == 0);
    stop_watching(link);
    drop_guard(link);
    *ret_link = (struct pg_link){ .target = target,
                                  .pg = link->pg,
                                  .host = link->host,
                                  .patience = target->answer_timeout,
                                  .up = true,
                                  .guard = xcalloc(1, sizeof(struct pg_guard)) };
    (void)PQsetNoticeReceiver(ret_link->pg, receive_notice, ret_link);
    *link = (struct pg_link){ 0 };
}

/* --- the end of a connection ----------------------------------------------------------------- */

/* Only from the loop or from pg_link_wait: the callback may close the link. */
static void report_lost(struct pg_link *link, int code, const char *why) {
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
        line, *link->last_notice ? "; " : "", link->last_notice);
    if (link->lost)
        link->lost(link->ctx, &err);
}

static void report_lost_connection(struct pg_link *link) {
    (void)PQisBusy(link->pg); /* reads the last notice, for receive_notice */
    report_lost(link, -ECONNRESET, PQerrorMessage(link->pg));
}

/* Nothing can be sent any more. Senders must not be called back from within their own call. */
static void fail_later(struct pg_link *link) {
    link->failed = true;
    if (link->loop && !link->dead)
        loop_timer_set(link->loop, link->timer, clock_read_steady());
}

/* --- waiting for one answer ------------------------------------------------------------------ */

int pg_link_poll(struct pg_link *link, time_ms deadline, struct error *err) {
    int unsent = PQflush(link->pg);
    if (unsent < 0)
        return pg_connect_error(link, err);
    short events = (short)(POLLIN | (unsent ? POLLOUT : 0));
    if (!wait_for(PQsocket(link->pg), events, deadline))
        return error_set(err, -ETIMEDOUT, "PostgreSQL at '%s' has not answered for %d s",
                         link->target->shown, (int)(link->patience / 1000));
    if (!PQconsumeInput(link->pg))
        return pg_connect_error(link, err);
    return 0;
}

int pg_link_next_result(struct pg_link *link, time_ms deadline, PGresult **ret_result,
                        struct error *err) {
    while (PQisBusy(link->pg)) {
        int r = pg_link_poll(link, deadline, err);
        if (r < 0)
            return r;
    }
    *ret_result = PQgetResult(link->pg);
    return *ret_result != NULL;
}

/* All results of the statement; keeps the last one, or the first error. */
static int collect(struct pg_link *link, const char *what, PGresult **ret_result,
                   struct error *err) {
    PGresult *kept = NULL, *next = NULL;
    time_ms deadline = clock_read_steady() + link->patience;
    int r;
    while ((r = pg_link_next_result(link, deadline, &next, err)) > 0) {
        bool keep = !kept || PQresultStatus(kept) != PGRES_FATAL_ERROR;
        PQclear(keep ? kept : next);
        kept = keep ? next : kept;
    }
    ExecStatusType status = PQresultStatus(kept);
    if (r >= 0 && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        r = pg_result_error(link->target, what, kept, err);
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

/* --- the pipeline ---------------------------------------------------------------------------- */

static void is_ready(void *ctx, int fd, unsigned events);

static void set_patience(struct pg_link *link);

/* This process was stopped, or the machine was suspended: the answer may be in the socket already,
 * or the server has to go on first. */
static bool has_slept(const struct pg_link *link) {
    return clock_read_steady() - link->silent_at > LATE_MS;
}

static void is_silent(void *ctx) {
    struct pg_link *link = ctx;
    if (link->failed)
        report_lost_connection(link);
    else if (has_slept(link))
        set_patience(link);
    else
        report_lost(link, -ETIMEDOUT, "it has not answered in time");
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
    (void)PQexitPipelineMode(link->pg); /* the next command would report it */
}

static bool can_send(const struct pg_link *link) {
    return !link->dead && !link->failed;
}

static void set_patience(struct pg_link *link) {
    if (!link->loop || !can_send(link))
        return;
    link->silent_at = clock_read_steady() + link->patience;
    if (link->expected > 0)
        loop_timer_set(link->loop, link->timer, link->silent_at);
    else
        loop_timer_clear(link->loop, link->timer);
}

static void flush(struct pg_link *link) {
    int unsent = PQflush(link->pg);
    if (unsent < 0)
        fail_later(link);
    else if (link->loop)
        loop_watch_change(link->loop, link->watch, LOOP_READ | (unsent ? LOOP_WRITE : 0));
}

/* `accepted`: libpq has taken something that will have a result. */
static void expect_result(struct pg_link *link, int accepted) {
    if (accepted)
        link->expected++;
    else
        fail_later(link);
}

void pg_link_prepare(struct pg_link *link, const char *name, const char *sql, const Oid *types,
                     int count) {
    if (can_send(link))
        expect_result(link, PQsendPrepare(link->pg, name, sql, count, types));
}

void pg_link_send_text(struct pg_link *link, const char *sql) {
    if (can_send(link))
        expect_result(link, PQsendQueryParams(link->pg, sql, 0, NULL, NULL, NULL, NULL, 0));
}

void pg_link_send(struct pg_link *link, const char *name, const struct pg_values *values) {
    int formats[PG_VALUES_MAX];
    for (int i = 0; i < values->count; i++)
        formats[i] = 1;
    if (can_send(link))
        expect_result(link, PQsendQueryPrepared(link->pg, name, values->count, values->values,
                                                values->lengths, formats, 1));
}

void pg_link_flush(struct pg_link *link) {
    if (can_send(link))
        flush(link);
}

void pg_link_sync(struct pg_link *link) {
    if (!can_send(link))
        return;
    expect_result(link, PQpipelineSync(link->pg));
    if (can_send(link)) {
        set_patience(link);
        flush(link);
    }
}

/* The server is closing the connection (it is shutting down, or an administrator ended it), and
 * says so instead of the expected result, which may be a sync. */
static bool is_closing(const PGresult *result) {
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    return severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
}

/* Handles everything received. Callbacks may send more, or close the link: returns false then. */
static bool handle_results(struct pg_link *link) {
    struct pg_guard *guard = pg_guard_enter(link);
    bool empty = false; /* the last one was: each statement is followed by an empty result */
    while (!guard->is_freed && !link->dead && link->expected > 0 && !PQisBusy(link->pg)) {
        PGresult *result = PQgetResult(link->pg);
        bool lost = PQstatus(link->pg) == CONNECTION_BAD || (!result && empty);
        empty = !result;
        if (lost) {
            report_lost_connection(link);
        } else if (result && is_closing(result)) {
            report_lost(link, -ECONNRESET, PQresultErrorMessage(result));
        } else if (result) {
            link->expected--;
            if (PQresultStatus(result) != PGRES_PIPELINE_SYNC)
                link->result(link->ctx, result);
            else if (link->synced)
                link->synced(link->ctx);
        }
        PQclear(result);
    }
    if (pg_guard_leave(guard))
        return false;
    set_patience(link);
    return true;
}

static void is_ready(void *ctx, int fd, unsigned events) {
    (void)fd;
    struct pg_link *link = ctx;
    if (events & LOOP_WRITE)
        flush(link);
    if (link->failed || !PQconsumeInput(link->pg))
        report_lost_connection(link);
    else
        (void)handle_results(link);
}

void pg_link_wait(struct pg_link *link) {
    struct error err = { 0 };
    time_ms deadline = clock_read_steady() + link->patience;
    while (!link->dead && (link->expected > 0 || link->failed)) {
        size_t before = link->expected;
        int r = 0;
        if (link->failed)
            r = pg_connect_error(link, &err);
        else if (PQisBusy(link->pg))
            r = pg_link_poll(link, deadline, &err);
        if (r < 0) {
            report_lost(link, r, err.text);
            return;
        }
        if (!handle_results(link))
            return;
        if (link->expected != before)
            deadline = clock_read_steady() + link->patience;
    }
}
