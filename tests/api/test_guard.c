/* test_guard.c: requests that are refused before routing, with and without a list of hosts. */
#include <stdio.h>
#include <string.h>

#include "api/guard.h"
#include "api/response.h"
#include "base/macros.h"
#include "harness/test.h"

static const char *const names[] = { "localhost:7700", "127.0.0.1:7700", "[::1]:7700", NULL };
static const struct guard socket_guard = { NULL };
static const struct guard tcp_listener = { names };

static int status_at(const struct guard *guard, const char *method, const char *path,
                     const char *lines) {
    char text[512];
    struct http_parser parser;
    http_parser_init(&parser);
    (void)snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\n%s\r\n", method, path, lines);
    http_parser_feed(&parser, text, strlen(text));
    if (parser.step != HTTP_GOT_HEAD)
        fail_msg("the test's request is none: %s", parser.problem);
    int status = guard_check(guard, &parser.request).status;
    http_parser_finish(&parser);
    return status;
}

static int status_of(const struct guard *guard, const char *method, const char *lines) {
    return status_at(guard, method, "/v1/tasks", lines);
}

static const char *const methods[] = { "GET",   "HEAD",   "POST",    "PUT",   "PATCH",
                                       "TRACE", "DELETE", "OPTIONS", "QUERY", "ANYTHING" };

TEST(hosts_are_compared_whole_on_every_method) {
    static const char *const foreign[] = {
        "localhost",
        "localhost:7701",
        "localhost:7700.evil.com",
        "evil.com",
        "127.0.0.1",
        "127.0.0.1:77001",
        "0.0.0.0:7700",
        "",
        "localhost.evil:7700",
        "xlocalhost:7700",
        "127.0.0.1.nip.io:7700",
        "*",
        "localhost:7700,evil",
        "[::1]",
        "127.1:7700",
        "user@localhost:7700",
    };
    for (size_t m = 0; m < ARRAY_SIZE(methods); m++)
        for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
            char lines[128];
            (void)snprintf(lines, sizeof(lines), "Host: %s\r\n", foreign[i]);
            if (status_of(&tcp_listener, methods[m], lines) != 403)
                fail_msg("Host '%s' was let in with %s", foreign[i], methods[m]);
        }
    assert_int_equal(status_of(&tcp_listener, "GET", "Host: LocalHost:7700\r\n"), 0);
    assert_int_equal(status_of(&tcp_listener, "GET", "Host: [::1]:7700\r\n"), 0);
    assert_int_equal(status_of(&socket_guard, "GET", "Host: anything.simple:80\r\n"), 0);
    assert_int_equal(status_of(&socket_guard, "GET", "Host:\r\n"), 0);
}

TEST(pages_of_other_sites_are_refused_on_every_method) {
    static const char *const lines[] = {
        "Origin: http://evil.com\r\n",       "Origin: null\r\n",
        "Origin: http://localhost:7700\r\n", "Origin: \r\n",
        "Sec-Fetch-Site: cross-site\r\n",    "Sec-Fetch-Site: same-site\r\n",
    };
    for (size_t m = 0; m < ARRAY_SIZE(methods); m++)
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
            char text[128];
            (void)snprintf(text, sizeof(text), "Host: localhost:7700\r\n%s", lines[i]);
            if (status_of(&tcp_listener, methods[m], text) != 403
                || status_of(&socket_guard, methods[m], text) != 403)
                fail_msg("'%s' was let in with %s", lines[i], methods[m]);
        }
    assert_int_equal(status_of(&socket_guard, "GET", "Host: a\r\nSec-Fetch-Site: none\r\n"), 0);
}

#define VISIT                                                                                      \
    "Host: localhost:7700\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"           \
    "Sec-Fetch-Dest: "

TEST(a_person_may_come_to_the_entrance_from_another_page) {
    static const struct guard guard = { .hosts = names, .entrance = "/" };
    assert_int_equal(status_at(&guard, "GET", "/", VISIT "document\r\n"), 0);
    assert_int_equal(status_at(&tcp_listener, "GET", "/", VISIT "document\r\n"), 403);
    assert_int_equal(status_at(&socket_guard, "GET", "/", VISIT "document\r\n"), 403);
    assert_int_equal(status_at(&guard, "GET", "/", VISIT "iframe\r\n"), 403);
    assert_int_equal(status_at(&guard, "POST", "/", VISIT "document\r\n"), 403);
    assert_int_equal(status_at(&guard, "GET", "/v1/tasks", VISIT "document\r\n"), 403);
    assert_int_equal(status_at(&guard, "GET", "/?code=x", VISIT "document\r\n"), 403);
    assert_int_equal(status_at(&guard, "GET", "/", VISIT "document\r\nOrigin: http://evil.com\r\n"),
                     403);
    assert_int_equal(status_at(&guard, "GET", "/",
                               "Host: localhost:7700\r\nSec-Fetch-Site: cross-site\r\n"
                               "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: document\r\n"),
                     403);
}

#define FORM                                                                                       \
    "Host: localhost:7700\r\nContent-Length: 2\r\n"                                                \
    "Content-Type: application/x-www-form-urlencoded\r\n"

TEST(a_link_is_opened_from_another_page_and_takes_its_own_form_alone) {
    static const char *const origins[] = { "http://localhost:7700", NULL };
    static const struct guard guard = { .hosts = names, .origins = origins, .link = "/answer/" };
    assert_int_equal(status_at(&guard, "GET", "/answer/x", VISIT "document\r\n"), 0);
    assert_int_equal(status_at(&guard, "GET", "/answer/x", VISIT "iframe\r\n"), 403);
    assert_int_equal(status_at(&guard, "GET", "/answerx", VISIT "document\r\n"), 403);
    assert_int_equal(status_at(&guard, "GET", "/answer/x?y=z", VISIT "document\r\n"), 403);
    assert_int_equal(status_at(&guard, "POST", "/answer/x", VISIT "document\r\n"), 403);
    assert_int_equal(status_at(&guard, "POST", "/answer/x", FORM), 0);
    assert_int_equal(
        status_at(&guard, "POST", "/answer/x", FORM "Origin: http://localhost:7700\r\n"), 0);
    assert_int_equal(status_at(&guard, "POST", "/answer/x", FORM "Origin: http://evil.com\r\n"),
                     403);
    assert_int_equal(status_at(&guard, "POST", "/answer/x", FORM "Origin: null\r\n"), 403);
    assert_int_equal(status_at(&guard, "POST", "/answer/x", FORM "Sec-Fetch-Site: same-site\r\n"),
                     403);
    assert_int_equal(status_at(&guard, "POST", "/v1/tasks", FORM), 415);
    assert_int_equal(status_at(&guard, "POST", "/v1/answer/x", FORM), 415);
    assert_int_equal(status_at(&tcp_listener, "POST", "/answer/x", FORM), 415);
}

TEST(only_three_methods_are_known) {
    for (size_t m = 0; m < ARRAY_SIZE(methods); m++)
        assert_int_equal(status_of(&socket_guard, methods[m], "Host: a\r\n"), m < 3 ? 0 : 405);
}

#define TYPED(type) "Host: a\r\nContent-Length: 2\r\nContent-Type: " type "\r\n"

TEST(a_body_is_json_and_says_so) {
    assert_int_equal(status_of(&socket_guard, "POST", TYPED("application/json")), 0);
    assert_int_equal(status_of(&socket_guard, "POST", TYPED("Application/JSON ;charset=utf-8")), 0);
    static const char *const others[] = {
        TYPED("text/plain"),
        TYPED("application/x-www-form-urlencoded"),
        TYPED("multipart/form-data"),
        TYPED("application/jsonx"),
        TYPED("application/json, text/plain"),
        TYPED(""),
        TYPED("text/plain; application/json"),
        "Host: a\r\nContent-Length: 2\r\n",
        "Host: a\r\nTransfer-Encoding: chunked\r\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_int_equal(status_of(&socket_guard, "POST", others[i]), 415);
    assert_int_equal(status_of(&socket_guard, "GET", TYPED("application/json")), 400);
    assert_int_equal(status_of(&socket_guard, "POST", "Host: a\r\nContent-Length: 0\r\n"), 0);
}

TEST(an_answer_is_printed_byte_by_byte) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    response_print(&(struct response){ .status = 405,
                                       .type = "application/json",
                                       .allow = "GET",
                                       .headers = "X-A: 1\r\n",
                                       .body = "{}",
                                       .size = 2,
                                       .close = true },
                   &out);
    assert_string_equal(strbuf_text(&out),
                        "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/json\r\n"
                        "Content-Length: 2\r\nAllow: GET\r\nCache-Control: no-store\r\n"
                        "X-Content-Type-Options: nosniff\r\nX-A: 1\r\nConnection: close\r\n\r\n{}");
    strbuf_clear(&out);
    response_print_error("bad", "a \"quote\" and a line\n", &out);
    assert_string_equal(strbuf_text(&out), "{\"error\":{\"code\":\"bad\",\"message\":"
                                           "\"a \\\"quote\\\" and a line\\n\"}}\n");
    strbuf_clear(&out);
    response_print_chunk("0123456789abcdef!", 17, false, &out);
    response_print_chunk("", 0, false, &out);
    assert_string_equal(strbuf_text(&out), "11\r\n0123456789abcdef!\r\n0\r\n\r\n");
}
