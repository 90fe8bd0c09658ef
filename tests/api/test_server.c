/* test_server.c: requests become calls, calls become answers, in order. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api_fixture.h"
#include "harness/patience.h"
#include "harness/test.h"

#define POST(path, size)                                                                           \
    "POST " path " HTTP/1.1\r\nHost: sluice\r\nContent-Type: application/json\r\n"                 \
    "Content-Length: " size "\r\n"

TEST(an_operation_is_asked_and_answered) {
    API(api);
    ANSWER(answer);
    api_once(api, GET("/v1/echo?text=hi&number=3"), 200, &answer);
    assert_string_equal(strbuf_text(&answer.body), "{\"op\":\"echo\",\"key\":\"\",\"caller\":\"\","
                                                   "\"params\":{\"number\":3,\"text\":\"hi\"}}\n");
    ASSERT_HAS(answer.head.text, "HTTP/1.1 200 OK\r\n");
    ASSERT_HAS(answer.head.text, "Content-Type: application/json\r\n");
    ASSERT_HAS(answer.head.text, "Cache-Control: no-store\r\n");
    ASSERT_HAS(answer.head.text, "X-Content-Type-Options: nosniff\r\n");
    ASSERT_HAS_NOT(answer.head.text, "Connection: close");
}

TEST(a_post_brings_body_key_and_caller) {
    API(api);
    ANSWER(answer);
    api_once(api,
             POST("/v1/echo", "9") "Idempotency-Key: key-1234\r\nX-Sluice-Run: web-17.2\r\n\r\n"
                                   "{\"a\": 1}\n",
             200, &answer);
    assert_string_equal(strbuf_text(&answer.body),
                        "{\"op\":\"echo_post\",\"key\":\"key-1234\",\"caller\":\"web-17.2\","
                        "\"params\":{\"a\":1}}\n");
}

TEST(an_answer_that_was_given_before_says_so) {
    API(api);
    ANSWER(answer);
    static const char text[] = POST("/v1/once", "2") "Idempotency-Key: key-5678\r\n\r\n{}";
    api_once(api, text, 200, &answer);
    ASSERT_HAS_NOT(answer.head.text, "Idempotent-Replay");
    api_once(api, text, 200, &answer);
    ASSERT_HAS(answer.head.text, "Idempotent-Replay: true\r\n");
    assert_string_equal(strbuf_text(&answer.body), "{\"count\":1}\n");
}

TEST(metrics_are_plain_text) {
    API(api);
    ANSWER(answer);
    api_once(api, GET("/metrics"), 200, &answer);
    ASSERT_HAS(answer.head.text, "Content-Type: text/plain; version=0.0.4");
    ASSERT_HAS(strbuf_text(&answer.body), "sluice_up 1\n");
}

/* The operation does not know who asks; the server adds what it counts itself. */
TEST(f132_metrics_include_the_server) {
    API(api);
    ANSWER(answer);
    int stream = api_connect(api);
    api_send(stream,
             "GET /v1/events HTTP/1.1\r\nHost: sluice\r\nAccept: text/event-stream\r\n\r\n");
    API_WAIT_STAT(api, event_streams, 1);
    api_once(api, GET("/none"), 404, &answer);
    API_WAIT_STAT(api, connections, 1);
    api_once(api, GET("/metrics"), 200, &answer);
    const char *text = strbuf_text(&answer.body);
    ASSERT_HAS(text, "# HELP sluice_http_connections Connections of clients.\n"
                     "# TYPE sluice_http_connections gauge\nsluice_http_connections 2\n");
    ASSERT_HAS(text, "\nsluice_http_connections_limit 256\n");
    ASSERT_HAS(text, "\nsluice_http_streams{of=\"events\"} 1\n");
    ASSERT_HAS(text, "\nsluice_http_streams{of=\"log\"} 0\n");
    ASSERT_HAS(text, "# TYPE sluice_http_connections_total counter\n"
                     "sluice_http_connections_total 3\n");
    ASSERT_HAS(text, "\nsluice_http_connections_refused_total 0\n");
    ASSERT_HAS(text, "\nsluice_http_errors_total{of=\"client\"} 1\n");
    ASSERT_HAS(text, "\nsluice_http_errors_total{of=\"server\"} 0\n");
    ASSERT_HAS(text, "\nsluice_http_requests_total ");
    ASSERT_HAS(text, "\nsluice_http_timeouts_total 0\n");
    ASSERT_HAS(text, "\nsluice_http_streams_dropped_total 0\n");
    close(stream);
}

/* --- refusals ------------------------------------------------------------------------------------ */

#define H                "Host: sluice\r\n"
#define EMPTY_POST(path) "POST " path " HTTP/1.1\r\n" H

static const struct {
    const char *what, *text;
    int status;
    const char *has; /* in the head or the body */
} refusals[] = {
    { "an unknown path", GET("/v2/echo"), 404, "\"code\":\"not_found\"" },
    { "a path with more", GET("/v1/echo/"), 404, "\"message\":" },
    { "another method", EMPTY_POST("/metrics") "\r\n", 405, "Allow: GET, HEAD\r\n" },
    { "another method there", GET("/v1/once"), 405, "Allow: POST\r\n" },
    { "OPTIONS", "OPTIONS /v1/echo HTTP/1.1\r\n" H "\r\n", 405, "Allow: GET, HEAD, POST\r\n" },
    { "OPTIONS of everything", "OPTIONS * HTTP/1.1\r\n" H "\r\n", 405, "bad_method" },
    { "DELETE", "DELETE /v1/echo HTTP/1.1\r\n" H "\r\n", 405, "Allow:" },
    { "a method nobody knows", "BREW /v1/echo HTTP/1.1\r\n" H "\r\n", 405, "Allow:" },
    { "an Origin", "GET /v1/echo HTTP/1.1\r\n" H "Origin: http://localhost\r\n\r\n", 403,
      "refused" },
    { "the Origin null", "GET /v1/echo HTTP/1.1\r\n" H "Origin: null\r\n\r\n", 403, "refused" },
    { "an empty Origin", "GET /v1/echo HTTP/1.1\r\n" H "Origin:\r\n\r\n", 403, "refused" },
    { "an Origin with any method", "DELETE / HTTP/1.1\r\n" H "Origin: a\r\n\r\n", 403, "refused" },
    { "another site", "GET /v1/echo HTTP/1.1\r\n" H "Sec-Fetch-Site: cross-site\r\n\r\n", 403,
      "refused" },
    { "an odd Host", "GET /v1/echo HTTP/1.1\r\nHost: a/b\r\n\r\n", 403, "refused" },
    { "a form",
      EMPTY_POST("/v1/echo") "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: "
                             "3\r\n\r\na=b",
      415, "application/json" },
    { "a body without a type", EMPTY_POST("/v1/echo") "Content-Length: 2\r\n\r\n{}", 415,
      "bad_type" },
    { "almost the type",
      EMPTY_POST("/v1/echo") "Content-Type: application/jsonp\r\nContent-Length: 2\r\n\r\n{}", 415,
      "bad_type" },
    { "a GET with a body",
      "GET /v1/echo HTTP/1.1\r\n" H "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
      400, "only a POST" },
    { "a body that is not a JSON object", POST("/v1/echo", "3") "\r\n{,}", 400,
      "not a JSON object" },
    { "a bad query", GET("/v1/echo?text"), 400, "without a value" },
    { "a parameter that is missing", GET("/v1/fail"), 400, "'code' is missing" },
    { "a short key", EMPTY_POST("/v1/once") "Idempotency-Key: 1234567\r\n\r\n", 400, "8 to 128" },
    { "a key with a space", EMPTY_POST("/v1/once") "Idempotency-Key: 1234 5678\r\n\r\n", 400,
      "8 to 128" },
    { "a caller that is no run", "GET /v1/echo HTTP/1.1\r\n" H "X-Sluice-Run: web 17\r\n\r\n", 400,
      "X-Sluice-Run" },
    { "what the operation refuses", GET("/v1/fail?code=ENOENT"), 404, "it failed with 'ENOENT'" },
    { "what it puts off", GET("/v1/fail?code=EAGAIN"), 429, "\"code\":\"deferred\"" },
    { "what it does not know", GET("/v1/fail?code=EIO"), 503, "outcome_unknown" },
};

TEST(refusals_are_json_and_leave_the_connection_usable_unless_a_body_comes) {
    API(api);
    ANSWER(answer);
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        int fd = api_connect(api);
        api_ask(fd, refusals[i].text, refusals[i].status, &answer);
        ASSERT_HAS(answer.head.text, "Content-Type: application/json\r\n");
        strbuf_add(&answer.head, answer.body.text, answer.body.length);
        ASSERT_HAS(answer.head.text, refusals[i].has);
        if (strstr(answer.head.text, "Connection: close"))
            api_expect_closed(fd);
        else
            api_ask(fd, GET("/v1/echo"), 200, &answer);
        close(fd);
    }
}

TEST(head_is_get_without_its_body) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    api_send(fd, "HEAD /v1/big?size=4711 HTTP/1.1\r\n" H "\r\n"
                 "HEAD /none HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
    api_read_all(fd, &text);
    ASSERT_HAS(text.text, "HTTP/1.1 200 OK\r\n");
    ASSERT_HAS(text.text, "Content-Length: 47");
    ASSERT_HAS(text.text, "HTTP/1.1 404 Not Found\r\n");
    assert_true(text.length < 1000);
    ASSERT_HAS_NOT(text.text, "error");
    close(fd);
}

TEST(what_is_no_http_gets_a_400_behind_the_answers_before_and_the_end) {
    API(api);
    ANSWER(answer);
    int fd = api_connect(api);
    api_send(fd, GET("/v1/wait") "GET /v1/echo HTTP/1.1\nHost: a\n\n" GET("/v1/echo"));
    api_wait_for_calls(api, 1);
    api_release(api);
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 200);
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 400);
    ASSERT_HAS(answer.head.text, "Connection: close\r\n");
    ASSERT_HAS(answer.body.text,
               "{\"error\":{\"code\":\"bad_request\",\"message\":\"an LF without CR");
    api_expect_closed(fd);
    close(fd);
}

/* --- connections --------------------------------------------------------------------------------- */

TEST(old_clients_and_close_end_the_connection) {
    API(api);
    ANSWER(answer);
    static const char *const texts[] = { "GET /metrics HTTP/1.0\r\n\r\n",
                                         "GET /metrics HTTP/1.1\r\n" H "Connection: close\r\n\r\n",
                                         "GET /none HTTP/1.1\r\n" H "Connection: close\r\n\r\n" };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        int fd = api_connect(api);
        api_ask(fd, texts[i], i < 2 ? 200 : 404, &answer);
        ASSERT_HAS(answer.head.text, "Connection: close\r\n");
        api_expect_closed(fd);
        close(fd);
    }
}

TEST(answers_leave_in_the_order_of_their_requests) {
    API(api);
    ANSWER(answer);
    int fd = api_connect(api);
    api_send(fd, GET("/v1/wait") GET("/v1/echo?text=two") GET("/v1/wait") GET("/v1/none")
                     GET("/v1/echo?text=five"));
    api_wait_for_calls(api, 2);
    api_release(api); /* answers the last one first */
    static const char *const has[] = { "waited", "two", "waited", "not_found", "five" };
    for (size_t i = 0; i < ARRAY_SIZE(has); i++) {
        api_read_answer(fd, &answer);
        ASSERT_HAS(answer.body.text, has[i]);
    }
    close(fd);
}

TEST(one_connection_has_a_bounded_number_of_calls_in_flight) {
    API(api);
    ANSWER(answer);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    strbuf_repeat(&text, GET("/v1/wait"), 100);
    api_send(fd, text.text);
    for (size_t left = 100; left > 0;) {
        size_t now = left < 32 ? left : 32;
        api_wait_for_calls(api, now);
        api_release(api);
        for (size_t i = 0; i < now; i++)
            api_read_answer(fd, &answer);
        left -= now;
    }
    close(fd);
}

TEST(a_client_that_does_not_read_stops_its_own_requests_only) {
    API(api);
    ANSWER(answer);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int greedy = api_connect(api), other = api_connect(api);
    strbuf_repeat(&text, GET("/v1/big?size=1000000"), 50);
    api_send(greedy, text.text);
    api_ask(other, GET("/v1/echo"), 200, &answer);
    for (size_t i = 0; i < 50; i++) {
        api_read_answer(greedy, &answer);
        assert_int_equal(answer.body.length, 1000000);
    }
    close(greedy);
    close(other);
}

TEST(a_client_that_disconnects_abandons_its_calls) {
    API(api);
    int fd = api_connect(api);
    api_send(fd, GET("/v1/wait") GET("/v1/wait"));
    api_wait_for_calls(api, 2);
    close(fd);
    api_wait_for_abandoned(api, 2);
    API_WAIT_STAT(api, connections, 0);
    assert_int_equal(api_waiting(api), 0);
}

TEST(a_client_that_has_only_finished_sending_gets_its_answers) {
    API(api);
    ANSWER(answer);
    int fd = api_connect(api);
    api_send(fd, GET("/v1/wait") GET("/v1/echo?text=last"));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    api_wait_for_calls(api, 1);
    api_release(api);
    api_read_answer(fd, &answer);
    api_read_answer(fd, &answer);
    ASSERT_HAS(answer.body.text, "last");
    api_expect_closed(fd);
    close(fd);
}

TEST(a_client_that_finished_sending_and_then_disconnects_is_noticed) {
    API(api);
    int fd = api_connect(api);
    api_send(fd, GET("/v1/wait"));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    api_wait_for_calls(api, 1);
    close(fd);
    api_wait_for_abandoned(api, 1);
}

struct parallel {
    struct api *api;
    char name[8];
    unsigned good;
};

static void *ask_twenty_times(void *ctx) {
    struct parallel *p = ctx;
    char text[128], expected[32];
    int fd = api_connect(p->api);
    (void)snprintf(text, sizeof(text), "GET /v1/echo?text=%s HTTP/1.1\r\n" H "\r\n", p->name);
    (void)snprintf(expected, sizeof(expected), "\"text\":\"%s\"", p->name);
    for (int i = 0; i < 20; i++) {
        ANSWER(answer);
        api_send(fd, text);
        api_read_answer(fd, &answer);
        p->good += answer.status == 200 && strstr(answer.body.text, expected);
    }
    close(fd);
    return NULL;
}

TEST(sixty_four_clients_are_served_at_once) {
    API(api);
    struct parallel clients[64];
    pthread_t threads[64];
    for (unsigned i = 0; i < 64; i++) {
        clients[i] = (struct parallel){ .api = api };
        (void)snprintf(clients[i].name, sizeof(clients[i].name), "c%u", i);
        assert_int_equal(pthread_create(&threads[i], NULL, ask_twenty_times, &clients[i]), 0);
    }
    for (unsigned i = 0; i < 64; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(clients[i].good, 20);
    }
    struct server_stats stats = api_stats(api);
    assert_int_equal(stats.requests, 64 * 20);
    assert_int_equal(stats.accepted, 64);
    assert_int_equal(stats.refused, 0);
}

/* --- bodies -------------------------------------------------------------------------------------- */

TEST(a_chunked_body_is_a_body) {
    API(api);
    ANSWER(answer);
    api_once(api,
             EMPTY_POST("/v1/echo") "Content-Type: application/json; charset=utf-8\r\n"
                                    "Transfer-Encoding: chunked\r\n\r\n"
                                    "4\r\n{\"a\"\r\n3\r\n:7}\r\n0\r\n\r\n",
             200, &answer);
    ASSERT_HAS(answer.body.text, "\"params\":{\"a\":7}");
}

TEST(a_client_that_expects_100_gets_it_or_the_reason) {
    API(api);
    ANSWER(answer);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    api_send(fd, GET("/v1/wait") POST("/v1/echo", "2") "Expect: 100-continue\r\n\r\n");
    api_wait_for_calls(api, 1);
    api_release(api);
    api_read_answer(fd, &answer); /* the one before comes first */
    api_read_until(fd, &text, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(text.length, strlen("HTTP/1.1 100 Continue\r\n\r\n"));
    api_ask(fd, "{}", 200, &answer);
    api_ask(fd, POST("/v1/none", "2") "Expect: 100-continue\r\n\r\n", 404, &answer);
    api_expect_closed(fd);
    close(fd);
}

TEST(a_body_that_is_too_large_is_refused_and_the_client_reads_why) {
    API(api, .body_max = 1000, .bulk_body_max = 3000000, .linger_timeout = patience_ms());
    ANSWER(answer);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, POST("/v1/echo", "2500000") "\r\n");
    strbuf_repeat(&text, "x", 2500000);
    api_once(api, text.text, 413, &answer); /* is sent completely */
    ASSERT_HAS(answer.body.text, "\"code\":\"too_large\"");
    strbuf_clear(&text);
    strbuf_puts(&text, POST("/v1/tasks", "2500000") "\r\n{\"tasks\":[1]");
    strbuf_repeat(&text, " ", 2500000 - strlen("{\"tasks\":[1]") - 1);
    strbuf_puts(&text, "}");
    api_once(api, text.text, 200, &answer);
    assert_string_equal(strbuf_text(&answer.body), "{\"count\":1}\n");
}

TEST(all_bodies_together_are_bounded) {
    API(api, .bodies_max = 5000);
    ANSWER(answer);
    int first = api_connect(api), second = api_connect(api);
    _cleanup_(strbuf_finish) struct strbuf part = STRBUF_INIT;
    strbuf_puts(&part, POST("/v1/tasks", "4000") "\r\n{\"tasks\":[]");
    strbuf_repeat(&part, " ", 2990);
    api_send(first, part.text);
    api_send(second, part.text);
    /* One of the two is over the limit, whichever is read last; the other is served. */
    struct pollfd pollers[] = { { .fd = first, .events = POLLIN },
                                { .fd = second, .events = POLLIN } };
    assert_true(poll(pollers, 2, patience_ms()) == 1);
    int refused = pollers[0].revents ? first : second, other = refused == first ? second : first;
    api_read_answer(refused, &answer);
    assert_int_equal(answer.status, 503);
    ASSERT_HAS(answer.body.text, "\"code\":\"busy\"");
    close(refused);
    API_WAIT_STAT(api, connections, 1);
    strbuf_clear(&part);
    strbuf_repeat(&part, " ", 4000 - strlen("{\"tasks\":[]") - 2990 - 1);
    strbuf_puts(&part, "}");
    api_ask(other, part.text, 200, &answer);
    close(other);
}

TEST(shutdown_reaches_the_daemon) {
    API(api);
    ANSWER(answer);
    assert_false(api_stop_asked(api));
    api_once(api, EMPTY_POST("/v1/shutdown") "\r\n", 200, &answer);
    assert_true(api_stop_asked(api));
}
