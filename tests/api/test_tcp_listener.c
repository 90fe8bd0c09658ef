/* test_tcp_listener.c: the TCP listener: which clients are refused, for every path and method.
 *
 * Numbers in names are the rows of known break-ins into servers of this kind: 1 and 2 no token by default; 3 and 5 any
 * Host; 4 any Origin; 6 a method forgotten; 7 CORS taken for authentication; 8 an upgrade past the check; 9 rights that the
 * client states; 11 the workload's own token; 12 Host compared with Origin; 13 the name checked under a token; 14 a prefix
 * compared. Row 10 is in tests/ops/test_access.c, row 15 in test_server.c (folders that others may write to). */
#include "api_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_ops.h"
#include "harness/test.h"

#define AUTH "Authorization: Bearer " FAKE_TOKEN "\r\n"
#define JSON "Content-Type: application/json\r\n"

static const char *const methods[] = { "GET",    "HEAD",  "POST",    "PUT",     "PATCH",
                                       "DELETE", "TRACE", "OPTIONS", "CONNECT", "QUERY" };
static const char *const paths[] = { "/",           "/healthz",        "/v1/echo",    "/v1/events",
                                     "/v1/session", "/v1/wait",        "/metrics",    "/mcp",
                                     "/nowhere",    "/v1/tasks/1/log", "/v1/shutdown" };

/* --- a client -------------------------------------------------------------------------------------- */

static unsigned port; /* of the server of this test */

static void listen_tcp(struct api *api, void *arg) {
    struct error err = { 0 };
    if (server_listen_tcp(api->server, arg, &err) < 0)
        fail_msg("%s", err.text);
    const char *url = server_url(api->server);
    assert_non_null(url);
    port = (unsigned)strtoul(strrchr(url, ':') + 1, NULL, 10);
}

static void open_listener(struct api *api) {
    static const char *const hosts[] = { "sluice.example", NULL };
    struct server_tcp tcp = { .address = "127.0.0.1:0", .hosts = hosts };
    api_do(api, listen_tcp, &tcp);
}

static int dial(void) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* "%P" in `lines` is the port. */
static void print_request(struct strbuf *out, const char *method, const char *path,
                          const char *lines) {
    strbuf_printf(out, "%s %s HTTP/1.1\r\nConnection: close\r\n", method, path);
    for (; *lines; lines++) {
        bool mark = strncmp(lines, "%P", 2) == 0;
        if (mark)
            strbuf_printf(out, "%u", port);
        else
            strbuf_putc(out, *lines);
        lines += mark;
    }
    strbuf_puts(out, "\r\n");
}

static void ask_raw(const char *text, size_t size, struct strbuf *answer) {
    int fd = dial();
    api_send_bytes(fd, text, size);
    api_read_all(fd, answer);
    close(fd);
}

static int status_in(const struct strbuf *answer) {
    return answer->length > 12 ? (int)strtol(answer->text + 9, NULL, 10) : 0;
}

/* The complete answer, head and body. */
static int ask(const char *method, const char *path, const char *lines, struct strbuf *answer) {
    _cleanup_(strbuf_finish) struct strbuf request = STRBUF_INIT;
    print_request(&request, method, path, lines);
    strbuf_clear(answer);
    ask_raw(strbuf_text(&request), request.length, answer);
    return status_in(answer);
}

static int status_of(const char *method, const char *path, const char *lines) {
    _cleanup_(strbuf_finish) struct strbuf answer = STRBUF_INIT;
    return ask(method, path, lines, &answer);
}

#define OWN "Host: 127.0.0.1:%P\r\n"

/* All methods on all paths, with these lines: the status must be one of the two. */
static void all_are(const char *lines, int status, int or_else) {
    for (size_t m = 0; m < ARRAY_SIZE(methods); m++)
        for (size_t p = 0; p < ARRAY_SIZE(paths); p++) {
            int got = status_of(methods[m], paths[p], lines);
            if (got != status && got != or_else)
                fail_msg("%s %s with '%s' was answered with %d, not with %d", methods[m], paths[p],
                         lines, got, status);
        }
}

/* --- break-ins ------------------------------------------------------------------------------------- */

TEST(r1_r2_nothing_is_asked_without_a_token) {
    API(api, .refusal_delay = 1);
    open_listener(api);
    static const char *const bad[] = {
        OWN,
        OWN "Authorization: Bearer\r\n",
        OWN "Authorization: Basic " FAKE_TOKEN "\r\n",
        OWN "Authorization: " FAKE_TOKEN "\r\n",
        OWN "Authorization: Bearer sl_abcdefghij_012345678901234567890123456789012345678901x\r\n",
        OWN "Authorization: Bearer " FAKE_TOKEN "0\r\n",
        OWN "Cookie: token=" FAKE_TOKEN "\r\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(status_of("GET", "/v1/echo", bad[i]), 401);
        assert_int_equal(status_of("HEAD", "/v1/echo", bad[i]), 401);
        assert_int_equal(status_of("POST", "/v1/shutdown", bad[i]), 401);
        assert_int_equal(status_of("GET", "/v1/events", bad[i]), 401);
        assert_int_equal(status_of("GET", "/metrics", bad[i]), 401);
        assert_int_equal(status_of("GET", "/nowhere", bad[i]), 401);
        assert_int_equal(status_of("GET", "/v1/echo?token=" FAKE_TOKEN, bad[i]), 401);
    }
    assert_int_equal(
        status_of("POST", "/mcp", OWN JSON "Accept: application/json, text/event-stream\r\n"), 401);
    assert_int_equal(status_of("GET", "/v1/echo", OWN AUTH), 200);
    assert_false(api_stop_asked(api));
}

TEST(r3_r5_r13_r14_another_name_is_refused_even_with_a_token) {
    API(api);
    open_listener(api);
    static const char *const bad[] = {
        "Host: evil.example:%P\r\n" AUTH,   "Host: 127.0.0.1\r\n" AUTH,
        "Host: 127.0.0.1:%P.evil\r\n" AUTH, "Host: localhost.evil:%P\r\n" AUTH,
        "Host: 0.0.0.0:%P\r\n" AUTH,        "Host: *\r\n" AUTH,
        "Host: xsluice.example\r\n" AUTH,   "Host: sluice.example.evil\r\n" AUTH,
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        all_are(bad[i], 403, 0);
    static const char *const good[] = {
        OWN AUTH,
        "Host: LOCALHOST:%P\r\n" AUTH,
        "Host: [::1]:%P\r\n" AUTH,
        "Host: sluice.example\r\n" AUTH,
        "Host: sluice.example:%P\r\n" AUTH,
    };
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_int_equal(status_of("GET", "/v1/echo", good[i]), 200);
}

TEST(r4_r12_pages_of_others_are_refused_even_with_a_token) {
    API(api);
    open_listener(api);
    static const char *const bad[] = {
        OWN AUTH "Origin: http://evil.example\r\n",
        OWN AUTH "Origin: null\r\n",
        OWN AUTH "Origin: \r\n",
        OWN AUTH "Origin: http://127.0.0.1:%P.evil\r\n",
        OWN AUTH "Origin: http://127.0.0.1\r\n",
        OWN AUTH "Origin: https://127.0.0.1:%P\r\n",
        OWN AUTH "Origin: http://0.0.0.0:%P\r\n",
        OWN AUTH "Sec-Fetch-Site: cross-site\r\n",
        OWN AUTH "Sec-Fetch-Site: same-site\r\n",
        /* Both are the attacker's, and agree. */
        "Host: evil.example\r\n" AUTH "Origin: http://evil.example\r\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        all_are(bad[i], 403, 0);
    assert_int_equal(status_of("GET", "/v1/echo",
                               OWN AUTH "Origin: http://127.0.0.1:%P\r\n"
                                        "Sec-Fetch-Site: same-origin\r\n"),
                     200);
    assert_int_equal(status_of("GET", "/v1/echo",
                               "Host: sluice.example\r\n" AUTH
                               "Origin: https://sluice.example\r\n"),
                     200); /* behind a proxy that speaks TLS */
}

TEST(r6_no_method_is_forgotten) {
    API(api);
    open_listener(api);
    for (size_t m = 3; m < ARRAY_SIZE(methods); m++)
        for (size_t p = 0; p < ARRAY_SIZE(paths); p++) {
            int status = status_of(methods[m], paths[p], OWN AUTH);
            if (status != 405)
                fail_msg("%s %s was answered with %d", methods[m], paths[p], status);
        }
    /* What a form of another page can send. */
    assert_int_equal(status_of("POST", "/v1/shutdown",
                               OWN AUTH "Content-Type: text/plain\r\nContent-Length: 2\r\n"),
                     415);
    assert_false(api_stop_asked(api));
}

TEST(r7_there_is_no_cors) {
    API(api);
    open_listener(api);
    _cleanup_(strbuf_finish) struct strbuf answer = STRBUF_INIT;
    static const char *const lines[] = {
        OWN "Origin: http://127.0.0.1:%P\r\nAccess-Control-Request-Method: POST\r\n",
        OWN AUTH,
        OWN,
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        assert_int_equal(ask("OPTIONS", "/v1/echo", lines[i], &answer), 405);
        ASSERT_HAS_NOT(strbuf_text(&answer), "Access-Control");
        (void)ask("GET", "/v1/echo", lines[i], &answer);
        ASSERT_HAS_NOT(strbuf_text(&answer), "Access-Control");
        ASSERT_HAS_NOT(strbuf_text(&answer), "Set-Cookie");
    }
}

TEST(r8_an_upgrade_is_a_request_like_any_other) {
    API(api);
    open_listener(api);
    static const char upgrade[] = OWN "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    _cleanup_(strbuf_finish) struct strbuf lines = STRBUF_INIT;
    strbuf_printf(&lines, "%sOrigin: http://evil.example\r\n", upgrade);
    assert_int_equal(status_of("GET", "/v1/events", strbuf_text(&lines)), 403);
    assert_int_equal(status_of("GET", "/v1/events", upgrade), 401);
}

static void get_access(struct api *api, void *arg) {
    (void)api;
    *(struct op_access *)arg = fake.access;
}

TEST(r9_rights_are_those_of_the_token_whatever_the_request_says) {
    API(api);
    open_listener(api);
    _cleanup_(strbuf_finish) struct strbuf answer = STRBUF_INIT;
    struct op_access access;
    assert_int_equal(ask("GET", "/v1/echo?scope=admin",
                         OWN AUTH "X-Scope: admin\r\nX-Sluice-Run: web-1.1\r\n", &answer),
                     200);
    api_do(api, get_access, &access);
    assert_true(access.remote);
    assert_int_equal(access.scope, ACCESS_READ);
    assert_string_equal(access.id, "abcdefghij");
    /* Without a token, where none is needed: no rights at all. */
    assert_int_equal(status_of("GET", "/healthz", OWN), 200);
    api_do(api, get_access, &access);
    assert_true(access.remote);
    assert_int_equal(access.scope, ACCESS_NONE);
    assert_string_equal(access.id, "");
}

TEST(r11_the_token_of_a_run_is_none_here) {
    API(api);
    open_listener(api);
    assert_int_equal(status_of("GET", "/v1/echo",
                               OWN "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n"),
                     401);
}

static void put_in_slurm(struct api *api, void *arg) {
    (void)api;
    fake.in_slurm = *(bool *)arg;
}

static void get_token(struct api *api, void *arg) {
    (void)api;
    memcpy(arg, fake.token, sizeof(fake.token));
}

/* It can only use TCP: Slurm has put it on another machine. */
TEST(r11_but_that_of_a_run_in_slurm_has_the_rights_of_a_run) {
    API(api);
    open_listener(api);
    static const char lines[] = OWN "Authorization: Bearer " FAKE_RUN_TOKEN "\r\n";
    struct op_access access;
    char token[sizeof(fake.token)];
    bool in_slurm = true;
    api_do(api, put_in_slurm, &in_slurm);
    assert_int_equal(status_of("GET", "/v1/echo", lines), 200);
    api_do(api, get_token, token);
    api_do(api, get_access, &access);
    assert_string_equal(token, FAKE_RUN_TOKEN); /* by which the operations know whom to bound */
    assert_true(access.remote);
    assert_int_equal(access.scope, ACCESS_NONE);
    /* It is not the connection that has the right, but the request. */
    assert_int_equal(status_of("GET", "/v1/echo", OWN AUTH), 200);
    api_do(api, get_token, token);
    assert_string_equal(token, "");
    in_slurm = false; /* it has ended */
    api_do(api, put_in_slurm, &in_slurm);
    assert_int_equal(status_of("GET", "/v1/echo", lines), 401);
}

TEST(the_owners_socket_takes_no_token_of_the_tcp_listener) {
    API(api);
    ANSWER(answer);
    api_once(api, "GET /v1/echo HTTP/1.1\r\nHost: sluice\r\n" AUTH "\r\n", 403, &answer);
}

/* --- guessing -------------------------------------------------------------------------------------- */

TEST(only_a_client_that_guesses_waits) {
    API(api, .refusal_delay = HOURS(1));
    open_listener(api);
    for (int i = 0; i < 10; i++)
        assert_int_equal(status_of("GET", "/v1/echo", OWN), 401);
    _cleanup_(strbuf_finish) struct strbuf request = STRBUF_INIT;
    print_request(&request, "GET", "/v1/echo", OWN);
    int guess = dial();
    api_send(guess, strbuf_text(&request));
    API_WAIT_STAT(api, requests, 11);
    assert_int_equal(status_of("GET", "/v1/echo", OWN AUTH), 200); /* from the same address */
    char byte;
    assert_int_equal(recv(guess, &byte, 1, MSG_DONTWAIT), -1); /* still nothing */
    close(guess);
    ANSWER(answer);
    api_once(api, GET("/v1/echo"), 200, &answer); /* nor at the owner's socket */
}

TEST(a_late_refusal_comes) {
    API(api, .refusal_delay = 1);
    open_listener(api);
    for (int i = 0; i < 15; i++)
        assert_int_equal(status_of("GET", "/v1/echo", OWN), 401);
}

#define FORM OWN "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 6\r\n"

static int post_form(const char *path, const char *lines, struct strbuf *answer) {
    _cleanup_(strbuf_finish) struct strbuf request = STRBUF_INIT;
    print_request(&request, "POST", path, lines);
    strbuf_puts(&request, "text=a");
    strbuf_clear(answer);
    ask_raw(strbuf_text(&request), request.length, answer);
    return status_in(answer);
}

TEST(an_answer_link_is_a_page_without_a_token) {
    API(api);
    open_listener(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    assert_int_equal(ask("GET", "/answer/good", OWN, &text), 200);
    static const char *const headers[] = {
        "Content-Type: text/html; charset=utf-8\r\n",
        "Cache-Control: no-store\r\n",
        "Referrer-Policy: same-origin\r\n",
        "X-Frame-Options: DENY\r\n",
        "X-Content-Type-Options: nosniff\r\n",
        ("Content-Security-Policy: default-src 'none'; form-action 'self'; base-uri 'none'; "
         "frame-ancestors 'none'\r\n"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
        if (!strstr(strbuf_text(&text), headers[i]))
            fail_msg("the header '%s' is missing in: %s", headers[i], strbuf_text(&text));
    assert_int_equal(status_of("HEAD", "/answer/good", OWN), 200);
    assert_int_equal(post_form("/answer/good", FORM, &text), 200);
    assert_non_null(strstr(strbuf_text(&text), "<p>text=a</p>"));
    assert_int_equal(post_form("/answer/good", FORM "Origin: http://evil.example\r\n", &text), 403);
    assert_int_equal(post_form("/v1/echo", FORM AUTH, &text), 415);
    assert_int_equal(post_form("/answer/bad", FORM, &text), 404);
    assert_non_null(strstr(strbuf_text(&text), "<p>this link is not valid</p>"));
}

TEST(a_wrong_answer_link_is_a_guess) {
    API(api, .refusal_delay = HOURS(1));
    open_listener(api);
    for (int i = 0; i < 10; i++)
        assert_int_equal(status_of(i % 2 ? "HEAD" : "GET", "/answer/bad", OWN), 404);
    _cleanup_(strbuf_finish) struct strbuf request = STRBUF_INIT;
    print_request(&request, "GET", "/answer/bad", OWN);
    int guess = dial();
    api_send(guess, strbuf_text(&request));
    API_WAIT_STAT(api, requests, 11);
    assert_int_equal(status_of("GET", "/answer/good", OWN), 200);
    char byte;
    assert_int_equal(recv(guess, &byte, 1, MSG_DONTWAIT), -1); /* still nothing */
    close(guess);
}

TEST(a_wrong_code_is_a_guess_and_the_right_one_gets_a_token) {
    API(api, .refusal_delay = 1);
    open_listener(api);
    _cleanup_(strbuf_finish) struct strbuf answer = STRBUF_INIT, request = STRBUF_INIT;
    print_request(&request, "POST", "/v1/session", OWN JSON "Content-Length: 15\r\n");
    size_t head = request.length;
    for (int i = 0; i < 12; i++) {
        request.length = head;
        strbuf_puts(&request, "{\"code\":\"0000\"}");
        strbuf_clear(&answer);
        ask_raw(strbuf_text(&request), request.length, &answer);
        assert_int_equal(status_in(&answer), 401);
    }
    request.length = head;
    strbuf_puts(&request, "{\"code\":\"1234\"}");
    strbuf_clear(&answer);
    ask_raw(strbuf_text(&request), request.length, &answer);
    assert_int_equal(status_in(&answer), 200);
    ASSERT_HAS(strbuf_text(&answer), FAKE_TOKEN);
}

/* --- streams --------------------------------------------------------------------------------------- */

static int follow(struct strbuf *text) {
    _cleanup_(strbuf_finish) struct strbuf request = STRBUF_INIT;
    int fd = dial();
    print_request(&request, "GET", "/v1/events", OWN AUTH "Accept: text/event-stream\r\n");
    api_send(fd, strbuf_text(&request));
    api_read_until(fd, text, ":\n\n");
    return fd;
}

static void end_access(struct api *api, void *arg) {
    fake.access_ended = true;
    server_access_ended(api->server, arg);
}

TEST(a_stream_ends_with_its_token) {
    API(api);
    open_listener(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = follow(&text);
    api_event(api, 1, "seen");
    api_read_until(fd, &text, "seen");
    api_do(api, end_access, (void *)"otherotherx");
    assert_int_equal(api_stats(api).event_streams, 1); /* of another token */
    api_do(api, end_access, (void *)"abcdefghij");
    api_read_all(fd, &text);
    close(fd);
    assert_int_equal(status_of("GET", "/v1/echo", OWN AUTH), 401);
}

static void set_left(struct api *api, void *arg) {
    (void)api;
    fake.access_left = *(time_ms *)arg;
}

TEST(a_stream_does_not_outlive_what_it_came_in_by) {
    API(api);
    open_listener(api);
    time_ms left = 50;
    api_do(api, set_left, &left);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = follow(&text);
    api_read_all(fd, &text); /* ends by itself */
    close(fd);
    API_WAIT_STAT(api, connections, 0);
}

TEST(a_follower_that_disconnects_is_removed_at_once) {
    API(api, .comment_every = HOURS(1));
    open_listener(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = follow(&text);
    API_WAIT_STAT(api, event_streams, 1);
    close(fd);
    API_WAIT_STAT(api, event_streams, 0);
}

/* --- bounds ---------------------------------------------------------------------------------------- */

TEST(one_address_has_so_many_connections_and_the_owner_always_one) {
    API(api, .connections_max = 16, .peer_max = 3);
    open_listener(api);
    int open[4];
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        open[i] = dial();
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    api_read_all(open[3], &text);
    assert_int_equal(status_in(&text), 503);
    ANSWER(answer);
    api_once(api, GET("/v1/echo"), 200, &answer);
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        close(open[i]);
}

TEST(a_head_that_does_not_end_is_not_waited_for) {
    API(api, .head_timeout = 50);
    open_listener(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = dial();
    api_send(fd, "GET /v1/echo HTTP/1.1\r\nHost: ");
    api_read_all(fd, &text);
    assert_int_equal(status_in(&text), 408);
    close(fd);
}

TEST(a_body_that_does_not_come_is_not_waited_for) {
    API(api, .body_timeout = 50);
    open_listener(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, request = STRBUF_INIT;
    print_request(&request, "POST", "/v1/echo", OWN AUTH JSON "Content-Length: 100\r\n");
    int fd = dial();
    api_send(fd, strbuf_text(&request));
    api_read_all(fd, &text);
    assert_int_equal(status_in(&text), 408);
    close(fd);
}

TEST(who_may_not_add_tasks_sends_no_large_bodies) {
    API(api);
    open_listener(api);
    assert_int_equal(status_of("POST", "/v1/tasks", OWN AUTH JSON "Content-Length: 2000000\r\n"),
                     413);
}

/* --- where it listens ------------------------------------------------------------------------------ */

struct refusal {
    struct server_tcp tcp;
    int code;
};

static void try_listen(struct api *api, void *arg) {
    struct refusal *refusal = arg;
    struct error err = { 0 };
    refusal->code = server_listen_tcp(api->server, &refusal->tcp, &err);
    assert_true(refusal->code < 0 && err.text[0]);
}

TEST(other_machines_need_tls) {
    API(api);
    open_listener(api);
    static const char *const bad[] = { "0.0.0.0:0",   "[::]:0",          "192.0.2.1:0",
                                       "127.0.0.2:0", "localhost:0",     "7878",
                                       "127.0.0.1:",  "127.0.0.1:99999", "" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct refusal refusal = { .tcp = { .address = bad[i] } };
        api_do(api, try_listen, &refusal);
        assert_int_equal(refusal.code, i < 4 ? -EPERM : -EINVAL);
    }
    struct refusal refusal = { .tcp = { .address = "0.0.0.0:0", .certificate = "/nonexistent" } };
    api_do(api, try_listen, &refusal);
    assert_int_equal(refusal.code, -ENOENT);
    /* The old listener continues. */
    assert_int_equal(status_of("GET", "/v1/echo", OWN AUTH), 200);
}

static void close_listener(struct api *api, void *arg) {
    (void)arg;
    server_close_tcp(api->server);
    assert_null(server_url(api->server));
}

TEST(a_closed_listener_has_no_connections) {
    API(api);
    open_listener(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = follow(&text);
    api_do(api, close_listener, NULL);
    api_read_all(fd, &text);
    close(fd);
    open_listener(api); /* and can be opened again */
    assert_int_equal(status_of("GET", "/v1/echo", OWN AUTH), 200);
}
