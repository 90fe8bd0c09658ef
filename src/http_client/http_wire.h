/* http_wire.h: one connection to an HTTP server, as bytes: the request goes out, the answer comes
 * in.
 *
 * Life:   HTTP_WIRE_INIT → http_wire_connect, http_wire_start_tls → http_wire_send →
 *         http_wire_read_head → http_wire_take_body, http_wire_read … → the next request, or
 *         http_wire_finish
 * Waits:  the socket does not block, and each wait has a deadline of the steady clock: a server
 *         that hangs costs its caller no more than that. Only the lookup of a name takes as long as
 *         the C library wants.
 * Strict: any program may be listening there. What is not exactly the head of an answer is refused,
 *         with its first byte if possible, and its size is limited. */
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
    BODY_LAST,       /* the empty line behind the last chunk */
    BODY_TO_END,     /* until the connection closes */
    BODY_DONE,
};

struct http_wire {
    int fd;               /* -1: not connected */
    struct http_tls *tls; /* or NULL */
    int cancel;           /* every wait ends with -ECANCELED when this is readable; -1: none */
    int reader;           /* a wait for bytes ends with -EPIPE when this has hung up; -1: none */
    struct strbuf in;     /* read, and taken up to `in_taken` */
    size_t in_taken;

    /* The last answer. */
    int status;
    bool keep_alive;
    struct strbuf head; /* its lines, each a text of its own */
    struct {
        const char *name, *value;
    } headers[HTTP_HEADERS_MAX];
    size_t header_count;
    enum http_body body;
    uint64_t left;
};

#define HTTP_WIRE_INIT                                                                             \
    { .fd = -1, .cancel = -1, .reader = -1 }

/* To the socket of the URL, or to its host and port: each address of the host gets its part of the
 * time. 0 or a negative errno, with *ret_why in words. */
int http_wire_connect(struct http_wire *wire, const struct http_url *url, time_ms deadline,
                      const char **ret_why);
/* Over the connection that is there. -ECONNREFUSED: the other side does not begin, within 5 s. */
int http_wire_start_tls(struct http_wire *wire, const struct http_tls_peer *peer, time_ms deadline,
                        struct error *err);
void http_wire_close(struct http_wire *wire);  /* it may be connected again */
void http_wire_finish(struct http_wire *wire); /* usable with _cleanup_ */

/* -EPIPE: the other side does not take any more; it may have answered nevertheless. */
int http_wire_send(struct http_wire *wire, const char *bytes, size_t size, time_ms deadline);
/* Waits for bytes: how many came; 0: the end; -ETIMEDOUT, -EINTR, -ECONNRESET, -ECANCELED,
 * -EPIPE. */
int http_wire_read(struct http_wire *wire, time_ms deadline);
/* Reads up to the body of the final answer: 0; -EPROTO: that was not HTTP; or as http_wire_read,
 * but -ECONNRESET for the end, and again after -EINTR. */
int http_wire_read_head(struct http_wire *wire, time_ms deadline);
const char *http_wire_header(const struct http_wire *wire, const char *name); /* or NULL */

/* Takes bytes of a body: 0 goes on, 1: it has enough, <0: an error. */
typedef int (*http_sink)(void *ctx, const char *bytes, size_t size);
/* Gives what has been read to the sink. 0: more is needed; 1: the body is complete; 2: the sink
 * returned 1; <0: the sink's error, or -EPROTO. */
int http_wire_take_body(struct http_wire *wire, http_sink sink, void *ctx);
/* The other side has closed. 0: this was the end of the body; -ECONNRESET: it was not. */
int http_wire_take_end(struct http_wire *wire);

/* Pure, for its tests: the head of an answer at the beginning of `bytes`. 1: complete, and
 * *ret_size is where the body begins; 0: more must come; -EPROTO: it is none. */
int http_head_check(const char *bytes, size_t size, int *ret_status, size_t *ret_size);
