/* http_parser.h: bytes in, one HTTP/1.1 request at a time out. Pure: no system call, no clock.
 *
 * Life:  http_parser_init → feed → … → http_parser_next → feed → … → http_parser_finish
 * Steps: HTTP_HEAD ─► HTTP_GOT_HEAD ─take_body─► HTTP_BODY ─► HTTP_COMPLETE ─next─► HTTP_HEAD
 *        Feeding stops at GOT_HEAD, so that the caller can refuse before a body is read, and at
 *        COMPLETE; remaining bytes belong to the body or to the next request. BROKEN is final:
 *        answer with its status and close, because the start of the next request is unknown.
 * Split: the result does not depend on how the bytes are split.
 * Lifetime: pointers in a request are valid until http_parser_next.
 *
 * A strict subset. Refused, although some servers accept it: a bare CR or LF, NUL and other control
 * characters, folded lines, a space before the colon, an empty line before the request, absolute
 * targets, Content-Length with Transfer-Encoding or twice, Host twice or missing, a second header
 * of a kind that has one value, chunk extensions, trailers, transfer codings other than chunked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define HTTP_HEAD_MAX    ((size_t)16 * 1024)
#define HTTP_HEADERS_MAX 64
#define HTTP_URL_MAX     ((size_t)4 * 1024)

enum http_step { HTTP_HEAD, HTTP_GOT_HEAD, HTTP_BODY, HTTP_COMPLETE, HTTP_BROKEN };

struct http_header {
    const char *name;  /* in lower case */
    const char *value; /* without leading and trailing spaces; may be "" */
};

struct http_request {
    const char *method; /* as sent: methods are in upper case */
    const char *path;   /* as sent, percent signs checked; begins with '/', or is "*" */
    const char *query;  /* after the '?', as sent; or NULL */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t header_count;
    bool old;        /* HTTP/1.0: answer without chunks, then close */
    bool keep_alive; /* the client wants to continue */
    bool has_body;   /* a non-empty body follows */
    bool expects_continue;
    bool chunked;
    uint64_t content_length; /* 0 when chunked */
    struct strbuf body;      /* complete at HTTP_COMPLETE */
};

struct http_parser {
    enum http_step step;
    struct http_request request;
    int status;          /* of HTTP_BROKEN: 400, 413, 414, 417, 431, 501 or 505 */
    const char *problem; /* of HTTP_BROKEN: an error message */
    /* Private members. */
    struct strbuf head;
    size_t line_start, lines;
    size_t body_max;
    uint64_t left; /* remaining bytes of the body or the chunk */
    unsigned chunk_step, chunk_digits;
};

void http_parser_init(struct http_parser *parser);
void http_parser_finish(struct http_parser *parser);

/* Returns the number of bytes consumed; none at GOT_HEAD, COMPLETE and BROKEN. */
size_t http_parser_feed(struct http_parser *parser, const char *bytes, size_t size);
/* At GOT_HEAD: accepts a body of at most `max` bytes. Goes to BODY, COMPLETE or BROKEN (413). */
void http_parser_take_body(struct http_parser *parser, size_t max);
void http_parser_next(struct http_parser *parser);
/* Empties a buffer for the next request; a large one is freed. */
void http_buffer_empty(struct strbuf *buf);
bool http_parser_is_fresh(const struct http_parser *parser);

const char *http_request_header(const struct http_request *request, const char *name);
/* Is `word` (lower case) one of the comma-separated words of the value, ignoring parameters? */
bool http_value_has(const char *value, const char *word);
