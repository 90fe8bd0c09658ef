/* response.h: the bytes of an answer. Pure. Private to api/.
 *
 * Every answer has Cache-Control (no-store, unless it is a public file), X-Content-Type-Options:
 * nosniff, and either its length or chunked encoding. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

struct response {
    int status;
    const char *type;    /* Content-Type */
    const char *allow;   /* Allow: of a 405; or NULL */
    const char *cache;   /* Cache-Control; NULL: no-store */
    const char *headers; /* additional ones, each line with its CR LF; or NULL */
    const char *body;    /* of `size` bytes */
    size_t size;
    bool stream;    /* the body follows later, in chunks (or until the end, for HTTP/1.0) */
    bool old;       /* HTTP/1.0 */
    bool close;     /* the connection ends after it */
    bool head_only; /* the request was HEAD: omit the body */
};

void response_print(const struct response *response, struct strbuf *out);

/* The body of an error: {"error":{"code":word,"message":message}} and a newline. */
void response_print_error(const char *word, const char *message, struct strbuf *out);

/* One piece of a stream; size 0: its end. */
void response_print_chunk(const char *bytes, size_t size, bool old, struct strbuf *out);
/* What comes before and after the bytes of a chunk; returns the length of the head. */
#define RESPONSE_CHUNK_HEAD 24u
size_t response_frame_chunk(size_t size, bool old, char ret_head[RESPONSE_CHUNK_HEAD],
                            const char **ret_tail);
