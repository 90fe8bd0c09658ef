/* fuzz_http.c: arbitrary bytes as the requests of one connection.
 *
 * Beyond not crashing: the outcome is the same if the bytes arrive one by one, a refused request has a
 * status and a message, and an accepted request has the guarantees of http_parser.h. */
#include <assert.h>
#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/guard.h"
#include "api/http_parser.h"

#define BODY_MAX 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Feeds pieces of at most `piece` bytes until a request is complete or refused. */
static size_t feed(struct http_parser *parser, const char *bytes, size_t size, size_t piece) {
    size_t taken = 0;
    while (taken < size) {
        size_t part = size - taken < piece ? size - taken : piece;
        size_t n = http_parser_feed(parser, bytes + taken, part);
        assert(n <= part);
        taken += n;
        if (parser->step == HTTP_GOT_HEAD)
            http_parser_take_body(parser, BODY_MAX);
        if (parser->step == HTTP_COMPLETE || parser->step == HTTP_BROKEN)
            break;
    }
    return taken;
}

static void check_request(const struct http_request *request) {
    assert(isupper((unsigned char)request->method[0]) || request->method[0] == '-');
    assert(request->path[0] == '/' || strcmp(request->path, "*") == 0);
    assert(!strpbrk(request->path, " ?#\r\n") && strlen(request->path) <= HTTP_URL_MAX);
    assert(request->header_count <= HTTP_HEADERS_MAX && request->body.length <= BODY_MAX);
    assert(request->old || http_request_header(request, "host"));
    assert(!request->chunked || !http_request_header(request, "content-length"));
    assert(request->chunked || request->body.length == request->content_length);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        assert(header->name[0] && !strpbrk(header->name, " \t:\r\n"));
        assert(!strpbrk(header->value, "\r\n"));
        for (const char *c = header->name; *c; c++)
            assert(!isupper((unsigned char)*c));
    }
    static const char *const hosts[] = { "localhost:7700", "127.0.0.1:7700", NULL };
    struct guard_verdict open = guard_check(&(struct guard){ NULL }, request);
    struct guard_verdict strict = guard_check(&(struct guard){ hosts }, request);
    assert(open.status == 0 || (open.word && open.message));
    assert(open.status == 0 || strict.status != 0); /* a list of hosts never permits more */
}

static void check_same(const struct http_request *a, const struct http_request *b) {
    assert(strcmp(a->method, b->method) == 0 && strcmp(a->path, b->path) == 0);
    assert(a->header_count == b->header_count && a->body.length == b->body.length);
    assert(a->body.length == 0 || memcmp(a->body.text, b->body.text, a->body.length) == 0);
    assert(a->keep_alive == b->keep_alive && a->has_body == b->has_body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data;
    struct http_parser whole, single;
    http_parser_init(&whole);
    http_parser_init(&single);
    for (size_t at = 0; at < size;) {
        size_t taken = feed(&whole, bytes + at, size - at, size);
        assert(feed(&single, bytes + at, size - at, 1) == taken);
        assert(whole.step == single.step && whole.status == single.status);
        at += taken;
        if (whole.step == HTTP_BROKEN)
            assert(whole.status >= 400 && whole.problem && whole.problem == single.problem);
        if (whole.step != HTTP_COMPLETE)
            break;
        check_request(&whole.request);
        check_same(&whole.request, &single.request);
        http_parser_next(&whole);
        http_parser_next(&single);
    }
    http_parser_finish(&whole);
    http_parser_finish(&single);
    return 0;
}
