/* http_head.c: what does the head of a request say?
 *
 * Works on a complete head (every line ends in CR LF, no control characters inside), in place: lines
 * become texts. A header that decides about framing or trust may come once only: of two values one
 * program would believe the first and another the second. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "api/http_internal.h"
#include "base/macros.h"

#define METHOD_MAX 16

/* Headers with one value: a second one is refused. */
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

static bool is_token_char(char c) {
    return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
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

static void parse_target(struct http_parser *parser, char *target) {
    struct http_request *request = &parser->request;
    bool star = strcmp(target, "*") == 0 && strcmp(request->method, "OPTIONS") == 0;
    if (strlen(target) > HTTP_URL_MAX) {
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
    if (!request->old && strcmp(version, "HTTP/1.1") != 0)
        http_parser_break(parser, strncmp(version, "HTTP/", 5) == 0 ? 505 : 400,
                          "the version is not HTTP/1.1");
    else
        parse_target(parser, target);
}

/* --- headers --------------------------------------------------------------------------------- */

static bool is_second(const struct http_request *request, const char *name) {
    bool single = false;
    for (size_t i = 0; i < ARRAY_SIZE(single_headers) && !single; i++)
        single = strcmp(single_headers[i], name) == 0;
    return single && http_request_header(request, name);
}

static void parse_header(struct http_parser *parser, char *line) {
    struct http_request *request = &parser->request;
    char *colon = line;
    for (; is_token_char(*colon); colon++)
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
    if (is_second(request, line)) {
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

void http_head_parse(struct http_parser *parser) {
    char *line = parser->head.text;
    bool first = true;
    while (parser->step == HTTP_HEAD && *line != '\r') {
        char *end = strchr(line, '\r'); /* each line ends in CR LF: the feeding saw to it */
        *end = '\0';
        if (first)
            parse_request_line(parser, line);
        else
            parse_header(parser, line);
        first = false;
        line = end + 2;
    }
    if (parser->step == HTTP_HEAD)
        parse_meaning(parser);
    if (parser->step == HTTP_HEAD)
        parser->step = HTTP_GOT_HEAD;
}
