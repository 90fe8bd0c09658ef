/* http_parser.c: finds the end of a request and parses its head.
 *
 * The head is collected byte by byte up to its empty line. Every byte on which parsers could
 * disagree about line ends (a bare CR or LF, NUL) is refused immediately; only then is the complete
 * head parsed. So the result cannot depend on how the bytes were split, and the HTTP parser never
 * sees a partial line. */
#include "api/http_parser.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "base/number.h"

/* --- a complete head ------------------------------------------------------------------------- */

/* Works in place: lines become strings. A header that affects framing or trust may occur only once:
 * with two values, one program would use the first and another the second. */

#define METHOD_MAX 16

/* Headers that may occur only once. */
static const char *const single_headers[] = {
    "accept", "authorization",  "content-length",    "content-type",
    "expect", "host",           "idempotency-key",   "last-event-id",
    "origin", "sec-fetch-site", "transfer-encoding", "x-sluice-run",
};

const char *http_request_header(const struct http_request *request, const char *name) {
    for (size_t i = 0; i < request->header_count; i++)
        if (strcmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

bool http_value_has(const char *value, const char *word) {
    size_t length = strlen(word);
    while (*value) {
        value += strspn(value, ", \t");
        size_t size = strcspn(value, ",; \t");
        if (size == length && strncasecmp(value, word, length) == 0)
            return true;
        value += strcspn(value, ",");
    }
    return false;
}

/* `problem` must be a string constant. */
static void http_parser_break(struct http_parser *parser, int status, const char *problem) {
    parser->step = HTTP_BROKEN;
    parser->status = status;
    parser->problem = problem;
}

/* --- the request line ------------------------------------------------------------------------ */

static bool is_target(const char *target) {
    for (const char *c = target; *c; c++) {
        if (*c <= ' ' || (unsigned char)*c >= 0x7f || *c == '#')
            return false;
        if (*c != '%')
            continue;
        if (!isxdigit((unsigned char)c[1]) || !isxdigit((unsigned char)c[2])
            || (c[1] == '0' && c[2] == '0'))
            return false;
    }
    return true;
}

static void parse_request_line(struct http_parser *parser, char *line) {
    struct http_request *request = &parser->request;
    size_t length = 0;
    while (isupper((unsigned char)line[length]) || line[length] == '-')
        length++;
    char *target = line + length;
    char *version = strrchr(line, ' ');
    if (length == 0 || length > METHOD_MAX || *target != ' ' || version == target) {
        http_parser_break(parser, 400, "the first line is not METHOD PATH HTTP/1.1");
        return;
    }
    *target++ = '\0';
    *version++ = '\0';
    request->method = line;
    request->old = strcmp(version, "HTTP/1.0") == 0;
    bool star = strcmp(target, "*") == 0 && strcmp(request->method, "OPTIONS") == 0;
    if (!request->old && strcmp(version, "HTTP/1.1") != 0) {
        http_parser_break(parser, strncmp(version, "HTTP/", 5) == 0 ? 505 : 400,
                          "the version is not HTTP/1.1");
    } else if (strlen(target) > HTTP_URL_MAX) {
        http_parser_break(parser, 414, "the target is longer than 4 KiB");
    } else if ((target[0] != '/' && !star) || !is_target(target)) {
        http_parser_break(parser, 400, "the target is no path with percent-encoded characters");
    } else {
        char *mark = strchr(target, '?');
        if (mark)
            *mark++ = '\0';
        request->path = target;
        request->query = mark;
    }
}

static void parse_header(struct http_parser *parser, char *line) {
    struct http_request *request = &parser->request;
    char *colon = line;
    for (; isalnum((unsigned char)*colon) || (*colon && strchr("!#$%&'*+-.^_`|~", *colon)); colon++)
        *colon = (char)tolower((unsigned char)*colon);
    if (colon == line || *colon != ':') {
        http_parser_break(parser, 400, "a header line is not NAME: VALUE");
        return;
    }
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t length = strlen(value);
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        value[--length] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(single_headers); i++)
        if (strcmp(single_headers[i], line) == 0 && http_request_header(request, line)) {
            http_parser_break(parser, 400, "a header that may come once comes twice");
            return;
        }
    request->headers[request->header_count++] = (struct http_header){ line, value };
}

/* --- what the headers mean for the bytes ------------------------------------------------------ */

static void parse_length(struct http_parser *parser, const char *text) {
    uint64_t length = 0;
    if (!*text || text[strspn(text, "0123456789")]) {
        http_parser_break(parser, 400, "Content-Length is not a number");
        return;
    }
    for (; *text; text++)
        if (__builtin_mul_overflow(length, 10, &length)
            || __builtin_add_overflow(length, (uint64_t)(*text - '0'), &length)) {
            http_parser_break(parser, 413, "the body is too large");
            return;
        }
    parser->request.content_length = length;
    parser->request.has_body = length > 0;
}

static void parse_framing(struct http_parser *parser) {
    struct http_request *request = &parser->request;
    const char *length = http_request_header(request, "content-length");
    const char *coding = http_request_header(request, "transfer-encoding");
    if (length && coding) {
        http_parser_break(parser, 400, "Content-Length together with Transfer-Encoding");
    } else if (coding && request->old) {
        http_parser_break(parser, 400, "Transfer-Encoding in HTTP/1.0");
    } else if (coding && strcasecmp(coding, "chunked") != 0) {
        http_parser_break(parser, 501, "a Transfer-Encoding other than chunked");
    } else if (coding) {
        request->chunked = request->has_body = true;
    } else if (length) {
        parse_length(parser, length);
    }
}

static void parse_meaning(struct http_parser *parser) {
    struct http_request *request = &parser->request;
    const char *expect = http_request_header(request, "expect");
    if (!http_request_header(request, "host") && !request->old) {
        http_parser_break(parser, 400, "no Host header");
        return;
    }
    if (expect && strcasecmp(expect, "100-continue") != 0) {
        http_parser_break(parser, 417, "an Expect header other than 100-continue");
        return;
    }
    parse_framing(parser);
    request->expects_continue = expect && request->has_body && !request->old;
    request->keep_alive = !request->old;
    for (size_t i = 0; i < request->header_count; i++)
        if (strcmp(request->headers[i].name, "connection") == 0
            && http_value_has(request->headers[i].value, "close"))
            request->keep_alive = false;
}

static void parse_head(struct http_parser *parser) {
    char *line = parser->head.text;
    for (void (*parse)(struct http_parser *, char *) = parse_request_line;
         parser->step == HTTP_HEAD && *line != '\r'; parse = parse_header) {
        /* http_parser_feed has ensured that each line ends in CR LF. */
        char *end = strchr(line, '\r');
        *end = '\0';
        parse(parser, line);
        line = end + 2;
    }
    if (parser->step == HTTP_HEAD)
        parse_meaning(parser);
    if (parser->step == HTTP_HEAD)
        parser->step = HTTP_GOT_HEAD;
}

/* The longest request line: method, target, version. */
#define LINE_MAX_ (HTTP_URL_MAX + 64)
/* Larger buffers are freed after their request. */
#define KEEP_MAX         ((size_t)64 * 1024)
#define CHUNK_DIGITS_MAX 8

enum { CHUNK_SIZE, CHUNK_SIZE_LF, CHUNK_DATA, CHUNK_CR, CHUNK_LF, CHUNK_END_CR, CHUNK_END_LF };

void http_parser_init(struct http_parser *parser) {
    *parser = (struct http_parser){ 0 };
}

void http_parser_finish(struct http_parser *parser) {
    strbuf_finish(&parser->head);
    strbuf_finish(&parser->request.body);
}

void http_buffer_empty(struct strbuf *buf) {
    if (buf->capacity > KEEP_MAX)
        strbuf_finish(buf);
    else
        strbuf_clear(buf);
}

void http_parser_next(struct http_parser *parser) {
    assert(parser->step == HTTP_COMPLETE);
    struct strbuf head = parser->head, body = parser->request.body;
    http_buffer_empty(&head);
    http_buffer_empty(&body);
    *parser = (struct http_parser){ .head = head, .request.body = body };
}

bool http_parser_is_fresh(const struct http_parser *parser) {
    return parser->step == HTTP_HEAD && parser->head.length == 0;
}

static const char *bad_byte(char c, char before) {
    if (before == '\r' && c != '\n')
        return "a CR without LF in the head";
    if (c == '\n' && before != '\r')
        return "an LF without CR in the head";
    if (((unsigned char)c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f)
        return "a control character in the head";
    return NULL;
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
    else if (c == '\n') {
        size_t length = parser->head.length - 2 - parser->line_start;
        parser->line_start = parser->head.length;
        if (length == 0) {
            if (parser->lines == 0)
                http_parser_break(parser, 400, "an empty line before the request");
            else
                parse_head(parser);
        } else if (parser->lines++ > HTTP_HEADERS_MAX) { /* including the request line */
            http_parser_break(parser, 431, "more than 64 headers");
        }
    }
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

static void take_chunk_byte(struct http_parser *parser, char c) {
    unsigned step = parser->chunk_step;
    bool wants_cr = step == CHUNK_CR || step == CHUNK_END_CR;
    if (step == CHUNK_SIZE) {
        int digit = number_hex_digit(c);
        if (digit >= 0 && parser->chunk_digits < CHUNK_DIGITS_MAX) {
            parser->left = parser->left * 16 + (unsigned)digit;
            parser->chunk_digits++;
        } else if (c == '\r' && parser->chunk_digits > 0) {
            parser->chunk_step = CHUNK_SIZE_LF;
        } else {
            http_parser_break(parser, 400, "a chunk without a plain hexadecimal size");
        }
    } else if (c != (wants_cr ? '\r' : '\n')) {
        http_parser_break(parser, 400,
                          step == CHUNK_END_CR ? "a trailer behind the last chunk"
                                               : "a chunk that does not end in CR LF");
    } else if (wants_cr) {
        parser->chunk_step = step + 1;
    } else if (step == CHUNK_SIZE_LF) {
        parser->chunk_digits = 0;
        if (parser->left > parser->body_max - parser->request.body.length)
            http_parser_break(parser, 413, "the body is too large");
        else
            parser->chunk_step = parser->left > 0 ? CHUNK_DATA : CHUNK_END_CR;
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
    size_t taken = size < parser->left ? size : (size_t)parser->left;
    strbuf_add(&parser->request.body, bytes, taken);
    parser->left -= taken;
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
