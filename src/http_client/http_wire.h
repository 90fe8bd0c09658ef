/* http_wire.h: one client connection to an HTTP server.
 *
 *   Life:   HTTP_WIRE_INIT → http_wire_connect, http_wire_start_tls → http_wire_send →
 *           http_wire_read_head → http_wire_take_body, http_wire_read … → the next request, or
 *           http_wire_finish
 *   Waits:  the socket is non-blocking, and each wait has a deadline on the steady clock, which
 *           bounds the cost of a server that hangs. Only a name lookup takes as long as the C
 *           library does.
 *   Strict: any program may be listening there. Anything but a valid head is refused, at its first
 *           byte if possible, and its size is limited. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"
#include "http_client/http_tls.h"

#define HTTP_HEADERS_MAX 128
#define HTTP_HEAD_MAX    ((size_t)16 * 1024)

struct http_url;

enum http_body {
    BODY_LENGTH,     /* `left` more bytes */
    BODY_CHUNK_SIZE, /* in a size line */
    BODY_CHUNK,      /* `left` more bytes of a chunk */
    BODY_CHUNK_END,  /* its CR LF */
    BODY_LAST,       /* the empty line after the last chunk */
    BODY_TO_END,     /* until the connection closes */
    BODY_DONE,
};

struct http_wire {
    int fd;               /* -1: not connected */
    struct http_tls *tls; /* or NULL */
    int cancel;           /* every wait ends with -ECANCELED when this is readable; -1: none */
    int reader;           /* a wait for bytes ends with -EPIPE when this has hung up; -1: none */
    struct strbuf in;     /* bytes read; consumed up to `in_taken` */
    size_t in_taken;

    /* The last answer. */
    int status;
    bool keep_alive;
    struct strbuf head; /* its lines, each NUL-terminated */
    struct {
        const char *name, *value;
    } headers[HTTP_HEADERS_MAX];
    size_t header_count;
    enum http_body body;
    uint64_t left;
};

#define HTTP_WIRE_INIT                                                                             \
    { .fd = -1, .cancel = -1, .reader = -1 }

/* Connects to the socket of the URL, or to its host and port: each address of the host gets a share
 * of the time. 0 or a negative errno, with a message in *ret_why. */
int http_wire_connect(struct http_wire *wire, const struct http_url *url, time_ms deadline,
                      const char **ret_why);
/* On the current connection. -ECONNREFUSED: the peer does not begin within 5 s. */
int http_wire_start_tls(struct http_wire *wire, const struct http_tls_peer *peer, time_ms deadline,
                        struct error *err);
void http_wire_close(struct http_wire *wire);  /* it may be connected again */
void http_wire_finish(struct http_wire *wire); /* usable with _cleanup_ */

/* -EPIPE: the peer stopped reading; it may still have answered. */
int http_wire_send(struct http_wire *wire, const char *bytes, size_t size, time_ms deadline);
/* Waits for bytes: returns the size; 0: end; -ETIMEDOUT, -EINTR, -ECONNRESET, -ECANCELED,
 * -EPIPE. */
int http_wire_read(struct http_wire *wire, time_ms deadline);
/* Reads up to the body of the final answer: 0; -EPROTO: not HTTP; or as http_wire_read, but
 * -ECONNRESET for the end. Call again after -EINTR. */
int http_wire_read_head(struct http_wire *wire, time_ms deadline);
const char *http_wire_header(const struct http_wire *wire, const char *name); /* or NULL */

/* Consumes bytes of a body: 0: continue, 1: enough, <0: an error. */
typedef int (*http_sink)(void *ctx, const char *bytes, size_t size);
/* Passes the bytes read to the sink. 0: more is needed; 1: the body is complete; 2: the sink
 * returned 1; <0: the sink's error, or -EPROTO. */
int http_wire_take_body(struct http_wire *wire, http_sink sink, void *ctx);
/* The peer has closed. 0: the body was complete; -ECONNRESET: it was not. */
int http_wire_take_end(struct http_wire *wire);

/* Pure, for its tests: the head of an answer at the start of `bytes`. 1: complete, and *ret_size
 * is where the body begins; 0: incomplete; -EPROTO: invalid. */
int http_head_check(const char *bytes, size_t size, int *ret_status, size_t *ret_size);
