/* json_stream.c: feeds a file to yajl in large chunks.
 *
 * yajl reports how many bytes of the current chunk it has consumed: the end of the current token.
 * The beginning is found by searching backward, only when a position is needed. Lines are counted
 * from the last position, so the file is scanned once. */
#include "snapshot/json_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/alloc.h"

#define CHUNK ((size_t)256 * 1024)

struct json_stream {
    yajl_handle yajl;
    json_handler handler;
    void *ctx;
    const char *name;
    struct error *err;
    int result; /* of the handler, if it was negative */
    unsigned depth;
    bool any; /* a token was seen */
    const struct json_token *token;

    char *chunk;
    size_t size;
    uint64_t chunk_offset; /* of chunk[0] in the file */
    uint64_t last_token;   /* chunk_offset when the last token came */

    uint64_t seen; /* lines are counted up to here */
    uint64_t line, line_offset;
};

/* Counts lines up to chunk[at]. */
static void count_lines(struct json_stream *s, size_t at) {
    uint64_t target = s->chunk_offset + at;
    if (target <= s->seen)
        return;
    const char *p = s->chunk + (s->seen - s->chunk_offset), *end = s->chunk + at;
    while ((p = memchr(p, '\n', (size_t)(end - p)))) {
        p++;
        s->line++;
        s->line_offset = s->chunk_offset + (uint64_t)(p - s->chunk);
    }
    s->seen = target;
}

static struct json_position position_at(struct json_stream *s, size_t at) {
    count_lines(s, at);
    uint64_t offset = s->chunk_offset + at;
    return (struct json_position){ s->line,
                                   offset > s->line_offset ? offset - s->line_offset + 1 : 1 };
}

/* The opening quote of the string whose closing quote is chunk[end - 1]. */
static size_t text_begin(const char *chunk, size_t end) {
    size_t at = end > 0 ? end - 1 : 0;
    while (at > 0) {
        at--;
        if (chunk[at] != '"')
            continue;
        size_t slashes = 0;
        while (slashes < at && chunk[at - 1 - slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return at;
    }
    return at;
}

static size_t token_begin(const struct json_stream *s) {
    size_t end = yajl_get_bytes_consumed(s->yajl), length = 1;
    switch (s->token->kind) {
    case JSON_TEXT:
    case JSON_KEY:
        return text_begin(s->chunk, end);
    case JSON_NUMBER:
        length = s->token->length;
        break;
    case JSON_NULL:
        length = 4;
        break;
    case JSON_BOOL:
        length = s->token->boolean ? 4 : 5;
        break;
    case JSON_OBJECT_BEGIN:
    case JSON_OBJECT_END:
    case JSON_LIST_BEGIN:
    case JSON_LIST_END:
        break;
    }
    return end > length ? end - length : 0;
}

struct json_position json_stream_position(struct json_stream *stream) {
    return position_at(stream, token_begin(stream));
}

static int prefix_position(struct json_stream *s, struct json_position position) {
    return error_prefix(s->err, "%s:%llu:%llu", s->name, (unsigned long long)position.line,
                        (unsigned long long)position.column);
}

static int pass_on(struct json_stream *s, const struct json_token *token) {
    s->token = token;
    s->any = true;
    s->last_token = s->chunk_offset;
    if (token->kind == JSON_OBJECT_END || token->kind == JSON_LIST_END)
        s->depth--;
    int r = 0;
    if (token->kind == JSON_OBJECT_BEGIN || token->kind == JSON_LIST_BEGIN)
        if (++s->depth > JSON_DEPTH_MAX)
            r = error_set(s->err, -EINVAL, "nested deeper than %d levels", JSON_DEPTH_MAX);
    if (r == 0)
        r = s->handler(s->ctx, s, token, s->err);
    if (r < 0) {
        s->result = r;
        (void)prefix_position(s, json_stream_position(s));
        return 0;
    }
    return 1;
}

#define DEFINE_CALLBACK(name, token_kind)                                                          \
    static int name(void *ctx) {                                                                   \
        return pass_on(ctx, &(struct json_token){ .kind = (token_kind) });                         \
    }
DEFINE_CALLBACK(on_null, JSON_NULL)
DEFINE_CALLBACK(on_map_begin, JSON_OBJECT_BEGIN)
DEFINE_CALLBACK(on_map_end, JSON_OBJECT_END)
DEFINE_CALLBACK(on_list_begin, JSON_LIST_BEGIN)
DEFINE_CALLBACK(on_list_end, JSON_LIST_END)

static int on_boolean(void *ctx, int value) {
    return pass_on(ctx, &(struct json_token){ .kind = JSON_BOOL, .boolean = value != 0 });
}

static int on_number(void *ctx, const char *text, size_t length) {
    return pass_on(ctx, &(struct json_token){ JSON_NUMBER, false, text, length });
}

static int on_string(void *ctx, const unsigned char *text, size_t length) {
    return pass_on(ctx, &(struct json_token){ JSON_TEXT, false, (const char *)text, length });
}

static int on_key(void *ctx, const unsigned char *text, size_t length) {
    return pass_on(ctx, &(struct json_token){ JSON_KEY, false, (const char *)text, length });
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map_begin,
    .yajl_map_key = on_key,
    .yajl_end_map = on_map_end,
    .yajl_start_array = on_list_begin,
    .yajl_end_array = on_list_end,
};

/* yajl does not check the result of malloc. */
static void *memory_malloc(void *ctx, size_t size) {
    (void)ctx;
    return xmalloc(size);
}

static void *memory_realloc(void *ctx, void *old, size_t size) {
    (void)ctx;
    return xrealloc(old, size);
}

static void memory_free(void *ctx, void *memory) {
    (void)ctx;
    free(memory);
}

/* The first line of yajl's message, without "lexical error: " or "parse error: ". */
static int syntax_error(struct json_stream *s) {
    unsigned char *message = yajl_get_error(s->yajl, 0, NULL, 0);
    const char *text = message ? (const char *)message : "not JSON";
    const char *colon = strstr(text, "error: ");
    if (colon)
        text = colon + strlen("error: ");
    int length = (int)strcspn(text, "\n");
    size_t at = yajl_get_bytes_consumed(s->yajl);
    if (strncmp(text, "premature EOF", 13) == 0)
        (void)error_set(s->err, -EINVAL, s->any ? "the file ends too early" : "the file is empty");
    else if (strncmp(text, "trailing garbage", 16) == 0)
        (void)error_set(s->err, -EINVAL, "something follows the end of the snapshot");
    else
        (void)error_set(s->err, -EINVAL, "not JSON: %.*s", length, text);
    if (message)
        yajl_free_error(s->yajl, message);
    return prefix_position(s, position_at(s, at > s->size ? s->size : at > 0 ? at - 1 : 0));
}

static int read_all(struct json_stream *s, FILE *in) {
    for (;;) {
        s->chunk_offset += s->size;
        s->size = fread(s->chunk, 1, CHUNK, in);
        if (s->size == 0)
            break;
        yajl_status status = yajl_parse(s->yajl, (const unsigned char *)s->chunk, s->size);
        if (status == yajl_status_client_canceled)
            return s->result;
        if (status != yajl_status_ok)
            return syntax_error(s);
        count_lines(s, s->size);
        if (s->chunk_offset - s->last_token > JSON_QUIET_MAX) {
            (void)error_set(s->err, -EINVAL, "more than %u MB without a value",
                            JSON_QUIET_MAX >> 20);
            return prefix_position(s, position_at(s, s->size));
        }
    }
    if (ferror(in)) {
        int code = errno > 0 ? errno : EIO;
        return error_set(s->err, -EIO, "cannot read '%s': %s", s->name, strerror(code));
    }
    yajl_status status = yajl_complete_parse(s->yajl);
    if (status == yajl_status_client_canceled)
        return s->result;
    return status == yajl_status_ok ? 0 : syntax_error(s);
}

int json_stream_read(FILE *in, const char *name, json_handler handler, void *ctx,
                     struct error *err) {
    struct json_stream s = {
        .handler = handler,
        .ctx = ctx,
        .name = name,
        .err = err,
        .line = 1,
    };
    yajl_alloc_funcs memory = { memory_malloc, memory_realloc, memory_free, NULL };
    s.yajl = yajl_alloc(&callbacks, &memory, &s);
    s.chunk = xmalloc(CHUNK);
    errno = 0;
    int r = read_all(&s, in);
    free(s.chunk);
    yajl_free(s.yajl);
    return r;
}
