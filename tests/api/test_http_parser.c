/* test_http_parser.c: what is a request, and what is refused?
 *
 * Each case is fed whole and cut in two at every byte; the outcome must be the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http_parser.h"
#include "base/macros.h"
#include "harness/test.h"

#define BODY_MAX 64
#define HOST     "Host: sluice\r\n"

/* Feeds `size` bytes with a cut behind `cut`; returns how many were taken. */
static size_t feed(struct http_parser *parser, const char *bytes, size_t size, size_t cut) {
    size_t taken = 0;
    while (taken < size) {
        size_t end = taken < cut ? cut : size;
        size_t n = http_parser_feed(parser, bytes + taken, end - taken);
        taken += n;
        if (parser->step == HTTP_GOT_HEAD)
            http_parser_take_body(parser, BODY_MAX);
        else if (n == 0)
            break;
        if (parser->step == HTTP_COMPLETE || parser->step == HTTP_BROKEN)
            break;
    }
    return taken;
}

struct http_case {
    const char *what; /* the rule */
    const char *text;
    size_t size; /* 0: strlen(text) */
    int status;  /* 0: it is a request */
};

static size_t size_of(const struct http_case *c) {
    return c->size ? c->size : strlen(c->text);
}

static void check_case(const struct http_case *c, size_t cut) {
    struct http_parser parser;
    http_parser_init(&parser);
    size_t taken = feed(&parser, c->text, size_of(c), cut);
    int status = parser.step == HTTP_BROKEN ? parser.status : 0;
    if (status != c->status || (status == 0 && parser.step != HTTP_COMPLETE)
        || (status == 0 && taken != size_of(c)) || (status != 0 && !parser.problem))
        fail_msg("%s: expected %d, got status %d (%s), step %d, %zu of %zu bytes taken, cut at %zu",
                 c->what, c->status, status, parser.problem ? parser.problem : "-", parser.step,
                 taken, size_of(c), cut);
    http_parser_finish(&parser);
}

static void check_cases(const struct http_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t cut = 0; cut < size_of(&cases[i]); cut++)
            check_case(&cases[i], cut);
}

static const struct http_case good[] = {
    { "the smallest one", "GET / HTTP/1.1\r\n" HOST "\r\n", 0, 0 },
    { "an old client needs no Host", "GET / HTTP/1.0\r\n\r\n", 0, 0 },
    { "a query", "GET /v1/tasks?state=open&limit=5 HTTP/1.1\r\n" HOST "\r\n", 0, 0 },
    { "an empty query", "GET /? HTTP/1.1\r\n" HOST "\r\n", 0, 0 },
    { "percent signs", "GET /v1/tasks/a%2Fb%20c HTTP/1.1\r\n" HOST "\r\n", 0, 0 },
    { "OPTIONS of everything", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 0, 0 },
    { "any method", "M-SEARCH / HTTP/1.1\r\n" HOST "\r\n", 0, 0 },
    { "spaces around a value", "GET / HTTP/1.1\r\nHost: \t sluice \t\r\n\r\n", 0, 0 },
    { "an empty value", "GET / HTTP/1.1\r\nHost:\r\nX-Empty:\r\n\r\n", 0, 0 },
    { "bytes above 127 in a value", "GET / HTTP/1.1\r\n" HOST "X-Name: \xC3\xA4\r\n\r\n", 0, 0 },
    { "headers that may come twice", "GET / HTTP/1.1\r\n" HOST "X-A: 1\r\nX-A: 2\r\n\r\n", 0, 0 },
    { "a body of nothing", "POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 0, 0 },
    { "a body", "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 0, 0 },
    { "leading zeros", "POST / HTTP/1.1\r\n" HOST "Content-Length: 0005\r\n\r\nhello", 0, 0 },
    { "the longest body",
      "POST / HTTP/1.1\r\n" HOST "Content-Length: 64\r\n\r\n"
      "0123456789012345678901234567890123456789012345678901234567890123",
      0, 0 },
    { "chunks",
      "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n00A\r\n, "
      "worlds!\n\r\n0\r\n\r\n",
      0, 0 },
    { "no chunk", "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 0, 0 },
    { "100-continue",
      "POST / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx", 0, 0 },
};

TEST(requests_are_accepted_wherever_they_are_cut) {
    check_cases(good, ARRAY_SIZE(good));
}

#define NUL_IN_NAME "GET / HTTP/1.1\r\nHo\0st: a\r\n\r\n"

static const struct http_case bad[] = {
    { "two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 0, 400 },
    { "no Host", "GET / HTTP/1.1\r\nX: y\r\n\r\n", 0, 400 },
    { "length and coding",
      "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 0,
      400 },
    { "coding and length",
      "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 0,
      400 },
    { "two lengths", "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 0,
      400 },
    { "the same length twice",
      "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 0, 400 },
    { "a list of lengths", "POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n", 0, 400 },
    { "a signed length", "POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n", 0, 400 },
    { "a negative length", "POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", 0, 400 },
    { "a hexadecimal length", "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x5\r\n\r\n", 0, 400 },
    { "an empty length", "POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", 0, 400 },
    { "a length behind 2^64",
      "POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551621\r\n\r\n", 0, 413 },
    { "a body that is too large", "POST / HTTP/1.1\r\n" HOST "Content-Length: 65\r\n\r\n", 0, 413 },
    { "two codings",
      "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      0, 400 },
    { "another coding", "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n", 0, 501 },
    { "a list of codings", "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 0,
      501 },
    { "coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 400 },
    { "a folded line", "GET / HTTP/1.1\r\n" HOST "X-A: 1\r\n 2\r\n\r\n", 0, 400 },
    { "a line folded with a tab", "GET / HTTP/1.1\r\n" HOST "X-A: 1\r\n\t2\r\n\r\n", 0, 400 },
    { "NUL in a name", NUL_IN_NAME, sizeof(NUL_IN_NAME) - 1, 400 },
    { "NUL in a value", "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 29, 400 },
    { "a control character", "GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n", 0, 400 },
    { "DEL", "GET / HTTP/1.1\r\nHost: a\x7f\r\n\r\n", 0, 400 },
    { "a bare LF", "GET / HTTP/1.1\nHost: a\n\n", 0, 400 },
    { "a bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", 0, 400 },
    { "a bare CR in a value", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 0, 400 },
    { "a bare CR in the path", "GET /\r HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "two CRs", "GET / HTTP/1.1\r\r\n" HOST "\r\n", 0, 400 },
    { "an empty line before it", "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "a space before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 0, 400 },
    { "no colon", "GET / HTTP/1.1\r\n" HOST "oops\r\n\r\n", 0, 400 },
    { "no name", "GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n", 0, 400 },
    { "a name with a bracket", "GET / HTTP/1.1\r\n" HOST "X(1): x\r\n\r\n", 0, 400 },
    { "a method in lower case", "get / HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "no method", " / HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "a long method", "ABCDEFGHIJKLMNOPQ / HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "no target", "GET HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "two spaces", "GET  / HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "a space in the target", "GET /a b HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "a tab in the target", "GET /a\tb HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "a space behind the version", "GET / HTTP/1.1 \r\n" HOST "\r\n", 0, 400 },
    { "an absolute target", "GET http://evil/ HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "an authority", "CONNECT evil:443 HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "GET of a star", "GET * HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "a fragment", "GET /#top HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "bytes above 127 in the target", "GET /\xC3\xA4 HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "half a percent sign", "GET /%4 HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "a percent sign without digits", "GET /%zz HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "an encoded NUL", "GET /a%00b HTTP/1.1\r\n" HOST "\r\n", 0, 400 },
    { "no version", "GET /\r\n" HOST "\r\n", 0, 400 },
    { "HTTP/2", "GET / HTTP/2.0\r\n" HOST "\r\n", 0, 505 },
    { "HTTP/1.2", "GET / HTTP/1.2\r\n" HOST "\r\n", 0, 505 },
    { "another protocol", "GET / GOPHER/1.1\r\n" HOST "\r\n", 0, 400 },
    { "junk", "\x16\x03\x01\x02\x00\x01\xfc", 7, 400 },
    { "another Expect", "POST / HTTP/1.1\r\n" HOST "Expect: cake\r\n\r\n", 0, 417 },
    { "two Origins", "GET / HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: b\r\n\r\n", 0, 400 },
    { "two keys",
      "POST / HTTP/1.1\r\n" HOST "Idempotency-Key: aaaaaaaa\r\nIdempotency-Key: bbbbbbbb\r\n\r\n",
      0, 400 },
};

TEST(what_two_programs_could_read_differently_is_refused) {
    check_cases(bad, ARRAY_SIZE(bad));
}

#define CHUNKED "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"

static const struct http_case bad_chunks[] = {
    { "no size", CHUNKED "\r\n", 0, 400 },
    { "a size that is no number", CHUNKED "x\r\n", 0, 400 },
    { "a signed size", CHUNKED "+5\r\nhello\r\n", 0, 400 },
    { "a size with 0x", CHUNKED "0x5\r\nhello\r\n", 0, 400 },
    { "a space behind the size", CHUNKED "5 \r\nhello\r\n", 0, 400 },
    { "an extension", CHUNKED "5;a=b\r\nhello\r\n", 0, 400 },
    { "too many digits", CHUNKED "000000005\r\nhello\r\n", 0, 400 },
    { "a bare LF behind the size", CHUNKED "5\nhello\r\n", 0, 400 },
    { "no CR LF behind the data", CHUNKED "5\r\nhello5\r\n", 0, 400 },
    { "a bare LF behind the data", CHUNKED "5\r\nhello\n", 0, 400 },
    { "a trailer", CHUNKED "0\r\nX-A: 1\r\n\r\n", 0, 400 },
    { "a bare LF at the end", CHUNKED "0\r\n\n", 0, 400 },
    { "a chunk that is too large", CHUNKED "41\r\n", 0, 413 },
    { "the largest size", CHUNKED "ffffffff\r\n", 0, 413 },
    { "chunks that are too large together",
      CHUNKED "20\r\n01234567890123456789012345678901\r\n21\r\n", 0, 413 },
};

TEST(bad_chunks_are_refused) {
    check_cases(bad_chunks, ARRAY_SIZE(bad_chunks));
}

/* --- limits ---------------------------------------------------------------------------------- */

static int status_of(const struct strbuf *text) {
    struct http_parser parser;
    http_parser_init(&parser);
    feed(&parser, text->text, text->length, 0);
    int status = parser.step == HTTP_BROKEN     ? parser.status
                 : parser.step == HTTP_COMPLETE ? 200
                                                : 0;
    http_parser_finish(&parser);
    return status;
}

static int status_of_target(size_t length) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, "GET /");
    strbuf_repeat(&text, "a", length - 1);
    strbuf_puts(&text, " HTTP/1.1\r\n" HOST "\r\n");
    return status_of(&text);
}

TEST(a_target_has_at_most_4_kib) {
    assert_int_equal(status_of_target(HTTP_URL_MAX), 200);
    assert_int_equal(status_of_target(HTTP_URL_MAX + 1), 414);
    assert_int_equal(status_of_target(HTTP_HEAD_MAX), 414); /* before the line has ended */
}

static int status_of_headers(unsigned count) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, "GET / HTTP/1.1\r\n" HOST);
    for (unsigned i = 1; i < count; i++)
        strbuf_printf(&text, "X-%u: y\r\n", i);
    strbuf_puts(&text, "\r\n");
    return status_of(&text);
}

TEST(there_are_at_most_64_headers) {
    assert_int_equal(status_of_headers(HTTP_HEADERS_MAX), 200);
    assert_int_equal(status_of_headers(HTTP_HEADERS_MAX + 1), 431);
}

static int status_of_head(size_t size) {
    static const char begin[] = "GET / HTTP/1.1\r\n" HOST "X: ", end[] = "\r\n\r\n";
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, begin);
    strbuf_repeat(&text, "a", size - strlen(begin) - strlen(end));
    strbuf_puts(&text, end);
    assert_int_equal(text.length, size);
    return status_of(&text);
}

TEST(a_head_has_at_most_16_kib) {
    assert_int_equal(status_of_head(HTTP_HEAD_MAX), 200);
    assert_int_equal(status_of_head(HTTP_HEAD_MAX + 1), 431);
}

/* --- what is in a request --------------------------------------------------------------------- */

TEST(a_request_has_its_parts) {
    static const char text[] =
        "POST /v1/tasks/a%20b?x=1&y=%3F HTTP/1.1\r\nHost: h\r\nContent-Type: "
        "application/json\r\nX-MiXed: Value\r\nContent-Length: 4\r\n\r\n{\"a\"";
    struct http_parser parser;
    http_parser_init(&parser);
    assert_int_equal(feed(&parser, text, sizeof(text) - 1, 0), sizeof(text) - 1);
    const struct http_request *request = &parser.request;
    assert_int_equal(parser.step, HTTP_COMPLETE);
    assert_string_equal(request->method, "POST");
    assert_string_equal(request->path, "/v1/tasks/a%20b");
    assert_string_equal(request->query, "x=1&y=%3F");
    assert_int_equal(request->header_count, 4);
    assert_string_equal(http_request_header(request, "host"), "h");
    assert_string_equal(http_request_header(request, "x-mixed"), "Value");
    assert_null(http_request_header(request, "x-other"));
    assert_string_equal(strbuf_text(&request->body), "{\"a\"");
    assert_true(request->keep_alive && request->has_body && !request->old && !request->chunked);
    http_parser_finish(&parser);
}

TEST(requests_follow_each_other_in_one_piece) {
    static const char text[] = "POST /1 HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab"
                               "GET /2 HTTP/1.1\r\n" HOST "\r\n" CHUNKED "3\r\nxyz\r\n0\r\n\r\n"
                               "GET /4 HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n";
    static const char *const paths[] = { "/1", "/2", "/", "/4" };
    static const char *const bodies[] = { "ab", "", "xyz", "" };
    struct http_parser parser;
    http_parser_init(&parser);
    size_t taken = 0;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        assert_true(http_parser_is_fresh(&parser));
        taken += feed(&parser, text + taken, sizeof(text) - 1 - taken, 0);
        assert_int_equal(parser.step, HTTP_COMPLETE);
        assert_string_equal(parser.request.path, paths[i]);
        assert_string_equal(strbuf_text(&parser.request.body), bodies[i]);
        assert_int_equal(parser.request.keep_alive, i < 3);
        http_parser_next(&parser);
    }
    assert_int_equal(taken, sizeof(text) - 1);
    http_parser_finish(&parser);
}

TEST(the_connection_header_decides_whether_to_go_on) {
    static const struct {
        const char *line;
        bool goes_on;
    } cases[] = {
        { "", true },
        { "Connection: keep-alive\r\n", true },
        { "Connection: close\r\n", false },
        { "Connection: Upgrade, CLOSE\r\n", false },
        { "Connection: upgrade\r\nConnection: close\r\n", false },
        { "Connection: closed\r\n", true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[200];
        struct http_parser parser;
        http_parser_init(&parser);
        (void)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" HOST "%s\r\n", cases[i].line);
        feed(&parser, text, strlen(text), 0);
        assert_int_equal(parser.step, HTTP_COMPLETE);
        assert_int_equal(parser.request.keep_alive, cases[i].goes_on);
        http_parser_finish(&parser);
    }
}

TEST(a_body_may_be_refused_before_it_is_read) {
    static const char head[] = "POST / HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\n";
    struct http_parser parser;
    http_parser_init(&parser);
    assert_int_equal(http_parser_feed(&parser, head, sizeof(head) - 1), sizeof(head) - 1);
    assert_int_equal(parser.step, HTTP_GOT_HEAD);
    assert_int_equal(http_parser_feed(&parser, "x", 1), 0); /* waits for the word */
    http_parser_take_body(&parser, 99);
    assert_int_equal(parser.step, HTTP_BROKEN);
    assert_int_equal(parser.status, 413);
    assert_int_equal(http_parser_feed(&parser, "x", 1), 0); /* for ever */
    http_parser_finish(&parser);
}

TEST(a_value_is_searched_word_by_word) {
    assert_true(http_value_has("text/event-stream", "text/event-stream"));
    assert_true(http_value_has("text/html, Text/Event-Stream;q=0.5", "text/event-stream"));
    assert_true(http_value_has(" ,, a ,b", "b"));
    assert_false(http_value_has("text/event-streams", "text/event-stream"));
    assert_false(http_value_has("a;b", "b"));
    assert_false(http_value_has("", "b"));
}
