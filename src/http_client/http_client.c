/* http_client.c: sends one POST and reads its answer. */
#include "http_client/http_client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/strbuf.h"
#include "http_client/http_wire.h"
#include "os/clock.h"

#define DRAIN_MAX  ((size_t)64 * 1024)
#define DRAIN_FOR  500 /* ms to read the rest of an answer */
#define PROXY_PORT "1080"
#define DATE_SIZE  29u /* Sun, 06 Nov 1994 08:49:37 GMT */

/* --- URLs ------------------------------------------------------------------------------------- */

/* Accepts only what can be sent unchanged: nothing is decoded or guessed. */

void http_url_finish(struct http_url *url) {
    free(url->socket);
    free(url->host);
    free(url->port);
    free(url->authority);
    free(url->path);
    *url = (struct http_url){ 0 };
}

static int refuse_url(struct error *err, const char *why) {
    return error_set(err, -EINVAL,
                     "this URL %s; expected http://HOST[:PORT]/PATH, https://… or "
                     "unix:/SOCKET[:/PATH]",
                     why);
}

static int parse_unix(const char *text, struct http_url *url, struct error *err) {
    const char *colon = strchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    if (text[0] != '/' || size < 2)
        return refuse_url(err, "has no absolute path to a socket");
    if (colon && colon[1] != '/')
        return refuse_url(err, "has a path after the socket that does not begin with '/'");
    url->socket = xstrndup(text, size);
    url->authority = xstrdup("localhost");
    url->path = xstrdup(colon ? colon + 1 : "/");
    return 0;
}

/* HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT */
static int parse_authority(struct http_url *url, struct error *err) {
    const char *text = url->authority;
    if (strchr(text, '@'))
        return refuse_url(
            err, "contains a user name, which anyone who can read the configuration can see");
    const char *end = text[0] == '[' ? strchr(text, ']') : text + strcspn(text, ":");
    if (!end)
        return refuse_url(err, "has no ] after its address");
    size_t skip = text[0] == '[' ? 1 : 0;
    url->host = xstrndup(text + skip, (size_t)(end - text) - skip);
    end += skip;
    if (!*url->host)
        return refuse_url(err, "has no host");
    if (*end == '\0') {
        url->port = xstrdup(url->tls ? "443" : "80");
        return 0;
    }
    if (*end != ':')
        return refuse_url(err, "has something other than a port after its host");
    int64_t number = 0;
    url->port = xstrdup(end + 1);
    if (url->port[strspn(url->port, "0123456789")] || number_parse_int(url->port, &number, NULL) < 0
        || number < 1 || number > 65535)
        return refuse_url(err, "has no port from 1 to 65535 after its colon");
    return 0;
}

static int parse_tcp(const char *text, struct http_url *url, struct error *err) {
    struct strbuf path = STRBUF_INIT;
    size_t size = strcspn(text, "/?");
    url->authority = xstrndup(text, size);
    strbuf_printf(&path, "%s%s", text[size] == '/' ? "" : "/", text + size);
    url->path = strbuf_take(&path);
    return parse_authority(url, err);
}

int http_url_parse(const char *text, struct http_url *ret, struct error *err) {
    static const struct {
        const char *prefix;
        bool tls;
        int (*parse)(const char *text, struct http_url *url, struct error *err);
    } kinds[] = { { "http://", false, parse_tcp },
                  { "https://", true, parse_tcp },
                  { "unix:", false, parse_unix } };
    if (strlen(text) > HTTP_CLIENT_URL_MAX)
        return refuse_url(err, "is too long");
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
            return refuse_url(err, "has a blank or a non-ASCII character: write it as %XX");
    if (strchr(text, '#'))
        return refuse_url(err, "has a '#': the part after it is never sent");
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t size = strlen(kinds[i].prefix);
        if (strncmp(text, kinds[i].prefix, size) != 0)
            continue;
        struct http_url url = { .tls = kinds[i].tls };
        int r = kinds[i].parse(text + size, &url, err);
        if (r < 0)
            http_url_finish(&url);
        else
            *ret = url;
        return r;
    }
    return refuse_url(err, "has an unsupported scheme");
}

/* --- proxies ---------------------------------------------------------------------------------- */

/* Is the host this name, or a subdomain? */
static bool is_named(const char *host, const char *name, size_t size) {
    size_t length = strlen(host);
    if (size > 0 && *name == '.') { /* ".example.org" equals "example.org" */
        name++;
        size--;
    }
    if (size == 0 || size > length || strncasecmp(host + length - size, name, size) != 0)
        return false;
    return size == length || host[length - size - 1] == '.';
}

static bool is_excepted(const char *host, const char *list) {
    for (size_t size; *(list += strspn(list, ", ")); list += size) {
        size = strcspn(list, ", ");
        if ((size == 1 && *list == '*') || is_named(host, list, size))
            return true;
    }
    return false;
}

const char *http_proxy_find(const struct http_url *url,
                            const char *(*variable)(const void *ctx, const char *name),
                            const void *ctx) {
    static const char *const exceptions[] = { "no_proxy", "NO_PROXY" };
    static const char *const names[] = { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" };
    for (size_t i = 0; i < ARRAY_SIZE(exceptions); i++) {
        const char *list = variable(ctx, exceptions[i]);
        if (list && *list && is_excepted(url->host, list))
            return NULL;
    }
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = variable(ctx, names[i]);
        if (value && *value)
            return value;
    }
    return NULL;
}

static void add_base64(struct strbuf *out, const char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < size; at += 3) {
        uint32_t three = 0;
        for (size_t i = 0; i < 3; i++)
            three = three << 8 | (at + i < size ? (unsigned char)bytes[at + i] : 0);
        for (size_t i = 0; i < 4; i++)
            strbuf_putc(out, at + i > size ? '=' : digits[three >> (18 - 6 * i) & 63]);
    }
}

/* Decodes %XX. */
static void add_decoded(struct strbuf *out, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        int high = text[i] == '%' && i + 2 < size ? number_hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? number_hex_digit(text[i + 2]) : -1;
        strbuf_putc(out, low >= 0 ? (char)(high * 16 + low) : text[i]);
        i += low >= 0 ? 2 : 0;
    }
}

/* "[http://][USER:PASSWORD@]HOST[:PORT][/]" */
static int parse_proxy(const char *proxy, struct http_url *ret, struct strbuf *who,
                       struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *scheme = strstr(proxy, "://"), *rest = scheme ? scheme + 3 : proxy;
    const char *at = strrchr(rest, '@');
    if (scheme && strncasecmp(proxy, "http://", 7) != 0)
        return error_set(err, -ENOTSUP, "the proxy for https is '%.*s': only http is supported",
                         (int)(rest - proxy), proxy);
    if (at)
        add_decoded(who, rest, (size_t)(at - rest));
    rest = at ? at + 1 : rest;
    size_t host = strcspn(rest, "/");
    bool has_port = host > 0 && memrchr(rest, ':', host) && rest[host - 1] != ']';
    strbuf_printf(&text, "http://%.*s%s", (int)host, rest, has_port ? "" : ":" PROXY_PORT);
    int r = http_url_parse(strbuf_text(&text), ret, err);
    return r < 0 ? error_prefix(err, "the proxy for https") : 0;
}

/* Afterwards the wire is connected to the host and port of the URL. The proxy protocol is plain
 * HTTP: the tunneled data is encrypted. */
static int connect_through(struct http_wire *wire, const char *text, const struct http_url *url,
                           time_ms deadline, struct error *err) {
    _cleanup_(http_url_finish) struct http_url proxy = { 0 };
    _cleanup_(strbuf_finish) struct strbuf who = STRBUF_INIT, out = STRBUF_INIT;
    const char *why = NULL;
    int r = parse_proxy(text, &proxy, &who, err);
    if (r < 0)
        return r;
    r = http_wire_connect(wire, &proxy, deadline, &why);
    if (r < 0)
        return error_set(err, r, "the proxy '%s' could not be reached: %s", proxy.authority, why);
    const char *left = strchr(url->host, ':') ? "[" : "", *right = *left ? "]" : "";
    strbuf_printf(&out, "CONNECT %s%s%s:%s HTTP/1.1\r\nHost: %s%s%s:%s\r\n", left, url->host, right,
                  url->port, left, url->host, right, url->port);
    if (who.length > 0) {
        strbuf_puts(&out, "Proxy-Authorization: Basic ");
        add_base64(&out, who.text, who.length);
        strbuf_puts(&out, "\r\n");
    }
    strbuf_puts(&out, "\r\n");
    r = http_wire_send(wire, out.text, out.length, deadline);
    r = r < 0 && r != -EPIPE ? r : http_wire_read_head(wire, deadline);
    if (r < 0)
        return error_set(err, r, "the proxy '%s' %s", proxy.authority,
                         r == -EPROTO ? "does not speak HTTP" : strerror(-r));
    if (wire->status >= 300 || wire->in.length > wire->in_taken)
        return error_set(err, -ECONNREFUSED, "the proxy '%s' refused the connection: status %d",
                         proxy.authority, wire->status);
    return 0;
}

/* --- Retry-After ------------------------------------------------------------------------------ */

/* Seconds, or a date in the current format; its two obsolete forms are not parsed. The result is
 * bounded, and an invalid value is ignored. */

/* `size` digits; -1: invalid. */
static int digits(const char *text, size_t size) {
    int number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = 10 * number + (text[i] - '0');
    }
    return number;
}

/* A point in time, of DATE_SIZE characters; -1: invalid. */
static time_ms read_date(const char *text) {
    static const char form[] = "..., .. ... .... ..:..:.. GMT";
    _Static_assert(sizeof(form) - 1 == DATE_SIZE, "the form is not as long as a date");
    char copy[DATE_SIZE + 1] = "";
    struct tm day = { 0 };
    memcpy(copy, text, DATE_SIZE);
    for (size_t i = 0; i < DATE_SIZE; i++)
        if ((form[i] != '.' && form[i] != copy[i]) || (form[i] == '.' && copy[i] == ' '))
            return -1;
    const char *end = strptime(copy + strlen("..., "), "%d %b %Y %H:%M:%S", &day);
    if (!end || strcmp(end, " GMT") != 0 || day.tm_year < 70)
        return -1;
    return (time_ms)timegm(&day) * 1000;
}

time_ms http_retry_after(const char *value, size_t size, time_ms now) {
    for (; size > 0 && (*value == ' ' || *value == '\t'); size--)
        value++;
    while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t'))
        size--;
    time_ms span = 0;
    size_t count = 0;
    while (count < size && digits(value + count, 1) >= 0)
        count++;
    if (size > 0 && count == size) /* more than six digits exceed any maximum */
        span = size > 6 ? HTTP_RETRY_AFTER_MAX : SECONDS(digits(value, size));
    else if (size == DATE_SIZE)
        span = read_date(value) - now;
    return time_max(0, time_min(span, HTTP_RETRY_AFTER_MAX));
}

/* --- the request ------------------------------------------------------------------------------ */

static int fail(const struct http_url *url, const struct http_post *post, int code,
                const char *what, struct error *err) {
    const char *where = url->socket ? url->socket : url->authority;
    switch (-code) {
    case ETIMEDOUT:
        return error_set(err, code, "'%s' did not %s within %" PRId64 " ms", where, what,
                         post->timeout);
    case ECANCELED:
        return error_set(err, code, "gave up because the daemon is stopping");
    case ECONNRESET:
        return error_set(err, code, "'%s' closed the connection without an answer", where);
    case EPROTO:
        return error_set(err, code, "'%s' sent a response that is not HTTP", where);
    default:
        return error_set(err, code, "'%s' did not %s: %s", where, what, strerror(-code));
    }
}

static int connect_to(struct http_wire *wire, const struct http_url *url,
                      const struct http_post *post, time_ms deadline, struct error *err) {
    const char *why = NULL;
    const struct http_tls_peer peer = { url->authority, url->host, post->ca, post->ca_setting };
    if (url->tls && post->proxy) {
        int r = connect_through(wire, post->proxy, url, deadline, err);
        return r < 0 ? r : http_wire_start_tls(wire, &peer, deadline, err);
    }
    int r = http_wire_connect(wire, url, deadline, &why);
    if (r == -ETIMEDOUT || r == -ECANCELED)
        return fail(url, post, r, "take a connection", err);
    if (r < 0)
        return error_set(err, r, "'%s' could not be reached: %s",
                         url->socket ? url->socket : url->authority, why);
    return url->tls ? http_wire_start_tls(wire, &peer, deadline, err) : 0;
}

static int send_request(struct http_wire *wire, const struct http_url *url,
                        const struct http_post *post, time_ms deadline) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    strbuf_printf(&out, "POST %s HTTP/1.1\r\nHost: %s\r\n", url->path, url->authority);
    for (const char *const *header = post->headers; header && *header; header++)
        strbuf_printf(&out, "%s\r\n", *header);
    strbuf_printf(&out, "Content-Length: %zu\r\nConnection: close\r\n\r\n", post->size);
    strbuf_add(&out, post->body, post->size);
    int r = http_wire_send(wire, out.text, out.length, deadline);
    return r == -EPIPE ? 0 : r; /* it may have answered */
}

static int keep_text(void *ctx, const char *bytes, size_t size) {
    struct strbuf *text = ctx;
    strbuf_add(text, bytes, size);
    return text->length >= DRAIN_MAX;
}

/* Lets a server finish writing its answer. */
static void read_body(struct http_wire *wire, time_ms deadline, struct http_answer *ret) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    time_ms until = time_min(deadline, clock_read_steady() + DRAIN_FOR);
    while (http_wire_take_body(wire, keep_text, &text) == 0 && http_wire_read(wire, until) > 0)
        continue;
    size_t at = 0;
    for (; at < text.length && at < HTTP_CLIENT_ANSWER_MAX; at++) {
        unsigned char c = (unsigned char)text.text[at];
        ret->text[at] = c >= 0x20 && c < 0x7f ? (char)c : ' ';
    }
    while (at > 0 && ret->text[at - 1] == ' ')
        at--;
    ret->text[at] = '\0';
}

int http_client_post(const struct http_url *url, const struct http_post *post,
                     struct http_answer *ret, struct error *err) {
    _cleanup_(http_wire_finish) struct http_wire wire = HTTP_WIRE_INIT;
    time_ms deadline = time_add(clock_read_steady(), post->timeout);
    wire.cancel = post->cancel;
    int r = connect_to(&wire, url, post, deadline, err);
    if (r < 0)
        return r;
    r = send_request(&wire, url, post, deadline);
    if (r < 0)
        return fail(url, post, r, "take the request", err);
    r = http_wire_read_head(&wire, deadline);
    if (r < 0)
        return fail(url, post, r, "answer", err);
    const char *later = http_wire_header(&wire, "retry-after");
    ret->status = wire.status;
    ret->retry_after = later ? http_retry_after(later, strlen(later), clock_read()) : 0;
    read_body(&wire, deadline, ret);
    return 0;
}
