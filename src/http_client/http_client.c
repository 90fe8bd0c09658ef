/* http_client.c: one POST, and what was answered, or why nothing was. */
#include "http_client/http_client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "http_client/http_proxy.h"
#include "http_client/http_wire.h"
#include "os/clock.h"

#define DRAIN_MAX ((size_t)64 * 1024)
#define DRAIN_FOR 500 /* ms for the rest of an answer that is not needed */

static int fail(const struct http_url *url, const struct http_post *post, int code,
                const char *what, struct error *err) {
    const char *where = url->socket ? url->socket : url->authority;
    switch (-code) {
    case ETIMEDOUT:
        return error_set(err, code, "'%s' did not %s within %" PRId64 " ms", where, what,
                         post->timeout);
    case ECANCELED:
        return error_set(err, code, "given up, because the daemon ends");
    case ECONNRESET:
        return error_set(err, code, "'%s' closed the connection without an answer", where);
    case EPROTO:
        return error_set(err, code, "'%s' answered something that is no HTTP", where);
    default:
        return error_set(err, code, "'%s' did not %s: %s", where, what, strerror(-code));
    }
}

static int connect_to(struct http_wire *wire, const struct http_url *url,
                      const struct http_post *post, time_ms deadline, struct error *err) {
    const char *why = NULL;
    const struct http_tls_peer peer = { url->authority, url->host, post->ca, post->ca_setting };
    if (url->tls && post->proxy) {
        int r = http_proxy_connect(wire, post->proxy, url, deadline, err);
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
    return r == -EPIPE ? 0 : r; /* perhaps it has answered */
}

static int keep_text(void *ctx, const char *bytes, size_t size) {
    struct strbuf *text = ctx;
    strbuf_add(text, bytes, size);
    return text->length >= DRAIN_MAX;
}

/* A server that still writes its answer should come to its end. */
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
