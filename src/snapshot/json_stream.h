/* json_stream.h: reads JSON from a file, token by token, with the position of each.
 *
 * Memory does not grow with the file: nesting deeper than JSON_DEPTH_MAX is refused, and so are
 * JSON_QUIET_MAX bytes without a token (an unterminated string). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define JSON_DEPTH_MAX 32
#define JSON_QUIET_MAX (16u << 20)

enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER, /* text and length are the digits as written */
    JSON_TEXT,   /* not NUL-terminated */
    JSON_KEY,
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
    JSON_LIST_BEGIN,
    JSON_LIST_END,
};

struct json_token {
    enum json_kind kind;
    bool boolean;
    const char *text;
    size_t length;
};

struct json_position {
    uint64_t line, column; /* from 1; columns are bytes */
};

struct json_stream;

/* Returns 0, or <0 with a message in `err`, which gets the position as prefix. */
typedef int (*json_handler)(void *ctx, struct json_stream *stream, const struct json_token *token,
                            struct error *err);

/* Reads one JSON value to the end of the file. Errors: -EINVAL (or what the handler returned) and
 * `NAME:LINE:COLUMN: message`; -EIO when the file cannot be read. */
int json_stream_read(FILE *in, const char *name, json_handler handler, void *ctx,
                     struct error *err);

/* The beginning of the current token. */
struct json_position json_stream_position(struct json_stream *stream);
