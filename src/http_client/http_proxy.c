/* http_proxy.c: which proxy, if any, and the way through it (CONNECT).
 *
 * The variables are those of curl and many others. Proxies are spoken to in plain HTTP: what goes through is encrypted. */
#include "http_client/http_proxy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "http_client/http_wire.h"

#define PROXY_PORT "1080"

/* --- which ----------------------------------------------------------------------------------- */

/* Is the host this name, or below it? */
static bool is_named(const char *host, const char *name, size_t size) {
    size_t length = strlen(host);
    if (size > 0 && *name == '.') { /* ".example.org" is the same as "example.org" */
        name++;
        size--;
    }
    if (size == 0 || size > length || strncasecmp(host + length - size, name, size) != 0)
        return false;
    return size == length || host[length - size - 1] == '.';
}

static bool is_excepted(const char *host, const char *list) {
    for (const char *at = list; *at;) {
        at += strspn(at, ", ");
        size_t size = strcspn(at, ", ");
        if ((size == 1 && *at == '*') || is_named(host, at, size))
            return true;
        at += size;
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

/* --- through it ------------------------------------------------------------------------------ */

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

/* %XX is a byte. */
static void add_decoded(struct strbuf *out, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned code = 0;
        bool is_encoded = text[i] == '%' && i + 2 < size && isxdigit((unsigned char)text[i + 1])
                          && isxdigit((unsigned char)text[i + 2])
                          && sscanf(text + i + 1, "%2x", &code) == 1;
        strbuf_putc(out, is_encoded ? (char)code : text[i]);
        i += is_encoded ? 2 : 0;
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

static int refuse(const struct http_url *proxy, int code, const char *why, struct error *err) {
    return error_set(err, code, "the proxy '%s' %s", proxy->authority, why);
}

int http_proxy_connect(struct http_wire *wire, const char *text, const struct http_url *url,
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
        return refuse(&proxy, r, r == -EPROTO ? "does not speak HTTP" : strerror(-r), err);
    if (wire->status >= 300 || wire->in.length > wire->in_taken)
        return error_set(err, -ECONNREFUSED, "the proxy '%s' refused the connection: status %d",
                         proxy.authority, wire->status);
    return 0;
}
