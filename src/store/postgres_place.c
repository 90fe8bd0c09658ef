/* postgres_place.c: which server, which schema, which lock does a URL mean?
 *
 * The URL is libpq's, with everything that libpq knows (hosts, TLS, password files, services). Two
 * parameters are ours and are taken out before libpq sees it. What is shown to people never has a
 * password in it.
 *
 * Several hosts are taken apart as libpq does it, so that each has a connect_timeout of its own: who goes
 * through them by itself, without blocking, is not told by libpq how long it has been at which.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "store/postgres_link.h"

#define SCHEMA_USUAL          "sluice"
#define ANSWER_TIMEOUT_USUAL  SECONDS(30)
#define ANSWER_TIMEOUT_MOST   600
#define CONNECT_TIMEOUT_USUAL SECONDS(10)

static bool begins_with(const char *text, const char *begin) {
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* Lower case only: "Sluice" and "sluice" would be two schemas that look like one. */
static int take_schema(const char *value, size_t size, struct pg_place *place, struct error *err) {
    bool fine = size > 0 && size <= PG_SCHEMA_MAX && strncmp(value, "pg_", 3) != 0
                && strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_") >= size
                && strspn(value, "0123456789") == 0;
    if (!fine)
        return error_set(err, -EINVAL,
                         "'%.*s' is no name of a schema: use up to %u lower-case letters, digits "
                         "and underscores, as in '?schema=sluice'",
                         (int)(size < 60 ? size : 60), value, PG_SCHEMA_MAX);
    memcpy(place->schema, value, size);
    place->schema[size] = '\0';
    return 0;
}

static int take_timeout(const char *value, size_t size, struct pg_place *place, struct error *err) {
    char text[16];
    (void)snprintf(text, sizeof(text), "%.*s", (int)(size < 15 ? size : 15), value);
    int64_t seconds = 0;
    if (number_parse_int(text, &seconds, NULL) < 0 || seconds < 1 || seconds > ANSWER_TIMEOUT_MOST)
        return error_set(err, -EINVAL, "answer_timeout is '%s': give 1 to %d seconds", text,
                         ANSWER_TIMEOUT_MOST);
    place->answer_timeout = SECONDS(seconds);
    return 0;
}

/* libpq takes a name in which letters are written as %XX, too. */
static bool is_secret(const char *parameter, size_t size) {
    return begins_with(parameter, "password=") || begins_with(parameter, "sslpassword=")
           || memchr(parameter, '%',
                     strcspn(parameter, "=") < size ? strcspn(parameter, "=") : size);
}

/* Where libpq lets user and password end: at the first '@' before any '/', whatever stands before it. A '/' that should
 * have been written as %2F ends them for libpq, but not for those who look on. */
static const char *credentials_end(const char *host) {
    size_t size = strcspn(host, "@/");
    if (host[size] == '@')
        return memrchr(host, '@', size + 1 + strcspn(host + size + 1, "/?"));
    return memrchr(host, '@', strcspn(host, "?"));
}

/* Everything behind '?', without what is ours, and in `shown` without what is secret. */
static int split_query(const char *query, struct strbuf *url, struct strbuf *shown,
                       struct pg_place *place, struct error *err) {
    char before = '?', shown_before = '?';
    while (*query) {
        size_t size = strcspn(query, "&");
        const char *value = memchr(query, '=', size);
        size_t value_size = value ? size - (size_t)(++value - query) : 0;
        bool ours = true;
        int r = 0;
        if (value && begins_with(query, "schema="))
            r = take_schema(value, value_size, place, err);
        else if (value && begins_with(query, "answer_timeout="))
            r = take_timeout(value, value_size, place, err);
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

/* libpq knows more, but may quote what stands where a password should. */
static int refuse(const char *text, const struct pg_place *place, struct error *err) {
    bool names_parameter = text && strstr(text, "query parameter");
    size_t size = !text ? 0 : names_parameter ? strcspn(text, "\n") : strcspn(text, ":\"\n");
    return error_set(err, -EINVAL,
                     "store.url '%s' cannot be read (%.*s): write "
                     "postgresql://USER@HOST:PORT/DATABASE",
                     place->shown, (int)size, text ? text : "");
}

/* --- several hosts ------------------------------------------------------------------------------------ */

static size_t count_pieces(const char *list) {
    size_t count = *list ? 1 : 0;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

/* What is between two commas. One piece is for all. */
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

static void put_option(struct strbuf *out, const char *keyword, const char *value, size_t size) {
    strbuf_printf(out, "%s='", keyword);
    for (size_t i = 0; i < size; i++) {
        if (value[i] == '\'' || value[i] == '\\')
            strbuf_putc(out, '\\');
        strbuf_putc(out, value[i]);
    }
    strbuf_puts(out, "' ");
}

/* A piece may be empty: then libpq takes what is usual, and nothing of the environment. */
static char *conninfo_of(const PQconninfoOption *options, size_t index) {
    struct strbuf out = STRBUF_INIT;
    for (const PQconninfoOption *o = options; o->keyword; o++) {
        bool list = strcmp(o->keyword, "host") == 0 || strcmp(o->keyword, "hostaddr") == 0
                    || strcmp(o->keyword, "port") == 0;
        size_t size = o->val ? strlen(o->val) : 0;
        if (o->val && list) {
            const char *piece = piece_of(o->val, index, &size);
            put_option(&out, o->keyword, piece, size);
        } else if (o->val) {
            put_option(&out, o->keyword, o->val, size);
        }
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

static void split_hosts(const PQconninfoOption *options, struct pg_place *place) {
    size_t names = count_pieces(value_of(options, "host"));
    size_t addresses = count_pieces(value_of(options, "hostaddr"));
    size_t ports = count_pieces(value_of(options, "port"));
    size_t count = addresses ? addresses : names;
    if (count < 2 || (names && names != count) || (ports > 1 && ports != count))
        return; /* libpq says what does not fit */
    place->hosts = xcalloc(count, sizeof(*place->hosts));
    place->host_count = count;
    for (size_t i = 0; i < count; i++)
        place->hosts[i] =
            (struct pg_host){ .conninfo = conninfo_of(options, i), .shown = shown_of(options, i) };
}

/* --- the whole ---------------------------------------------------------------------------------------- */

static int ask_libpq(struct pg_place *place, struct error *err) {
    char *text = NULL;
    PQconninfoOption *options = PQconninfoParse(place->url, &text);
    int r = options ? 0 : refuse(text, place, err);
    for (PQconninfoOption *o = options; o && o->keyword; o++) {
        if (!o->val)
            continue;
        int64_t seconds = 0;
        if (strcmp(o->keyword, "connect_timeout") == 0
            && number_parse_int(o->val, &seconds, NULL) == 0 && seconds > 0)
            place->connect_timeout = SECONDS(seconds < 2 ? 2 : seconds < 3600 ? seconds : 3600);
    }
    if (options)
        split_hosts(options, place);
    PQconninfoFree(options);
    PQfreemem(text);
    return r;
}

/* FNV-1a. Never to be changed: a daemon of another version must look for the same lock. */
static int32_t lock_of(const char *schema) {
    uint32_t hash = 2166136261u;
    for (; *schema; schema++)
        hash = (hash ^ (unsigned char)*schema) * 16777619u;
    return (int32_t)hash;
}

/* "me:a/b@here": for libpq the host is "me", and it would tell everybody that "a" is no port. */
static int refuse_slash(const char *host, const char *at, const char *colon,
                        const struct pg_place *place, struct error *err) {
    const char *slash = at ? memchr(host, '/', (size_t)(at - host)) : NULL;
    if (!slash || !colon || colon > slash || colon + 1 + strspn(colon + 1, "0123456789") == slash)
        return 0;
    return error_set(err, -EINVAL,
                     "store.url '%s' cannot be read: write '/' in a password as %%2F, or put the "
                     "password into ~/.pgpass (0600)",
                     place->shown);
}

int pg_place_parse(const char *url, struct pg_place *ret_place, struct error *err) {
    struct pg_place place = { .answer_timeout = ANSWER_TIMEOUT_USUAL,
                              .connect_timeout = CONNECT_TIMEOUT_USUAL,
                              .host_count = 1,
                              .schema = SCHEMA_USUAL };
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
    int r = split_query(query ? query + 1 : "", &ours, &shown, &place, err);
    if (r < 0)
        return r;
    place.url = strbuf_take(&ours);
    place.shown = strbuf_take(&shown);
    place.lock = lock_of(place.schema);
    r = refuse_slash(host, at, colon, &place, err);
    if (r == 0)
        r = ask_libpq(&place, err);
    if (r < 0) {
        pg_place_finish(&place);
        return r;
    }
    *ret_place = place;
    return 0;
}

void pg_place_finish(struct pg_place *place) {
    for (size_t i = 0; place->hosts && i < place->host_count; i++) {
        free(place->hosts[i].conninfo);
        free(place->hosts[i].shown);
    }
    free(place->hosts);
    free(place->url);
    free(place->shown);
    *place = (struct pg_place){ 0 };
}
