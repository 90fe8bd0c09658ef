/* http_parser.c: where does a request end?
 *
 * The head is collected byte by byte until its empty line, and every byte that could make two
 * programs disagree about where a line ends (a bare CR or LF, NUL) is refused on the way; only then
 * is it taken apart, as a whole, by http_head.c. So the outcome cannot depend on how the bytes were
 * cut into pieces, and the part that knows HTTP never sees a half line. */
#include "api/http_parser.h"

#include <assert.h>
#include <string.h>

#include "api/http_internal.h"
#include "base/number.h"

/* The longest request line: method, target, version. */
#define LINE_MAX_ (HTTP_URL_MAX + 64)
/* A larger buffer is given back after its request. */
#define KEEP_MAX         ((size_t)64 * 1024)
#define CHUNK_DIGITS_MAX 8

enum { CHUNK_SIZE, CHUNK_SIZE_LF, CHUNK_DATA, CHUNK_CR, CHUNK_LF, CHUNK_END_CR, CHUNK_END_LF };

void http_parser_init(struct http_parser *parser) {
    memset(parser, 0, sizeof(*parser));
}

void http_parser_finish(struct http_parser *parser) {
    strbuf_finish(&parser->head);
    strbuf_finish(&parser->request.body);
}

void http_parser_break(struct http_parser *parser, int status, const char *problem) {
    parser->step = HTTP_BROKEN;
    parser->status = status;
    parser->problem = problem;
}

static void forget(struct strbuf *buf) {
    if (buf->capacity > KEEP_MAX)
        strbuf_finish(buf);
    else
        strbuf_clear(buf);
}

void http_parser_next(struct http_parser *parser) {
    assert(parser->step == HTTP_COMPLETE);
    struct strbuf head = parser->head, body = parser->request.body;
    forget(&head);
    forget(&body);
    memset(parser, 0, sizeof(*parser));
    parser->head = head;
    parser->request.body = body;
}

bool http_parser_is_fresh(const struct http_parser *parser) {
    return parser->step == HTTP_HEAD && parser->head.length == 0;
}

/* --- the head -------------------------------------------------------------------------------- */

static const char *bad_byte(char c, char before) {
    if (before == '\r' && c != '\n')
        return "a CR without LF in the head";
    if (c == '\n' && before != '\r')
        return "an LF without CR in the head";
    if (((unsigned char)c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f)
        return "a control character in the head";
    return NULL;
}

static void end_line(struct http_parser *parser) {
    size_t length = parser->head.length - 2 - parser->line_start;
    parser->line_start = parser->head.length;
    if (length == 0) {
        if (parser->lines == 0)
            http_parser_break(parser, 400, "an empty line before the request");
        else
            http_head_parse(parser);
    } else if (parser->lines++ > HTTP_HEADERS_MAX) { /* with the request line */
        http_parser_break(parser, 431, "more than 64 headers");
    }
}

static void take_head_byte(struct http_parser *parser, char c) {
    const struct strbuf *head = &parser->head;
    const char *problem = bad_byte(c, head->length > 0 ? head->text[head->length - 1] : 0);
    if (problem) {
        http_parser_break(parser, 400, problem);
        return;
    }
    if (head->length == parser->line_start && parser->lines > 0 && (c == ' ' || c == '\t')) {
        http_parser_break(parser, 400, "a folded header line");
        return;
    }
    strbuf_putc(&parser->head, c);
    if (parser->lines == 0 && head->length > LINE_MAX_)
        http_parser_break(parser, 414, "the target is longer than 4 KiB");
    else if (head->length > HTTP_HEAD_MAX)
        http_parser_break(parser, 431, "the head is longer than 16 KiB");
    else if (c == '\n')
        end_line(parser);
}

/* --- the body -------------------------------------------------------------------------------- */

void http_parser_take_body(struct http_parser *parser, size_t max) {
    assert(parser->step == HTTP_GOT_HEAD);
    const struct http_request *request = &parser->request;
    parser->body_max = max;
    parser->left = request->content_length;
    parser->chunk_step = CHUNK_SIZE;
    if (request->content_length > max)
        http_parser_break(parser, 413, "the body is too large");
    else
        parser->step = request->has_body ? HTTP_BODY : HTTP_COMPLETE;
}

/* Bytes of the body up to the end of `left`. */
static size_t take_data(struct http_parser *parser, const char *bytes, size_t size) {
    size_t part = size < parser->left ? size : (size_t)parser->left;
    strbuf_add(&parser->request.body, bytes, part);
    parser->left -= part;
    return part;
}

static void take_size_byte(struct http_parser *parser, char c) {
    int digit = number_hex_digit(c);
    if (digit >= 0 && parser->chunk_digits < CHUNK_DIGITS_MAX) {
        parser->left = parser->left * 16 + (unsigned)digit;
        parser->chunk_digits++;
    } else if (c == '\r' && parser->chunk_digits > 0) {
        parser->chunk_step = CHUNK_SIZE_LF;
    } else {
        http_parser_break(parser, 400, "a chunk without a plain hexadecimal size");
    }
}

/* The size line is complete. */
static void begin_chunk(struct http_parser *parser) {
    parser->chunk_digits = 0;
    if (parser->left > parser->body_max - parser->request.body.length)
        http_parser_break(parser, 413, "the body is too large");
    else
        parser->chunk_step = parser->left > 0 ? CHUNK_DATA : CHUNK_END_CR;
}

static void take_chunk_byte(struct http_parser *parser, char c) {
    unsigned step = parser->chunk_step;
    bool wants_cr = step == CHUNK_CR || step == CHUNK_END_CR;
    if (step == CHUNK_SIZE) {
        take_size_byte(parser, c);
    } else if (c != (wants_cr ? '\r' : '\n')) {
        http_parser_break(parser, 400,
                          step == CHUNK_END_CR ? "a trailer behind the last chunk"
                                               : "a chunk that does not end in CR LF");
    } else if (wants_cr) {
        parser->chunk_step = step + 1;
    } else if (step == CHUNK_SIZE_LF) {
        begin_chunk(parser);
    } else if (step == CHUNK_LF) {
        parser->chunk_step = CHUNK_SIZE;
    } else {
        parser->step = HTTP_COMPLETE;
    }
}

static size_t take_body_bytes(struct http_parser *parser, const char *bytes, size_t size) {
    if (parser->request.chunked && parser->chunk_step != CHUNK_DATA) {
        take_chunk_byte(parser, *bytes);
        return 1;
    }
    size_t taken = take_data(parser, bytes, size);
    if (parser->left == 0 && parser->request.chunked)
        parser->chunk_step = CHUNK_CR;
    else if (parser->left == 0)
        parser->step = HTTP_COMPLETE;
    return taken;
}

size_t http_parser_feed(struct http_parser *parser, const char *bytes, size_t size) {
    size_t taken = 0;
    while (taken < size && parser->step == HTTP_HEAD)
        take_head_byte(parser, bytes[taken++]);
    while (taken < size && parser->step == HTTP_BODY)
        taken += take_body_bytes(parser, bytes + taken, size - taken);
    return taken;
}
