/* test_loopback.c: what is accepted over TCP, and that other clients learn nothing.
 *
 * One loop serves the listener and watches its client, so nothing here waits but for what must come. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/loopback.h"
#include "base/alloc.h"
#include "base/strbuf.h"
#include "harness/patience.h"
#include "harness/test.h"
#include "os/loop.h"

struct fixture {
    struct loop *loop;
    struct loopback *loopback;
    struct strbuf taken; /* bodies, each with a newline */
    struct strbuf got;   /* what the client has read */
    bool closed, late;
    int refuse; /* what `take` answers */
};

static bool knows(void *ctx, const char *path) {
    (void)ctx;
    return strcmp(path, "/secret/v1/metrics") == 0;
}

static int take(void *ctx, const char *path, const char *body, size_t size, struct error *err) {
    struct fixture *d = ctx;
    assert_true(knows(ctx, path));
    if (d->refuse)
        return error_set(err, d->refuse, "that is no body");
    strbuf_add(&d->taken, body, size);
    strbuf_putc(&d->taken, '\n');
    return 0;
}

static struct fixture *open_listener(const struct loopback_options *given) {
    struct fixture *d = xcalloc(1, sizeof(*d));
    struct loopback_options options = *given;
    struct error err = { 0 };
    assert_int_equal(loop_new(&d->loop, &err), 0);
    options.address = options.address ? options.address : "127.0.0.1:0";
    options.knows = knows;
    options.take = take;
    options.ctx = d;
    if (loopback_new(d->loop, &options, &d->loopback, &err) < 0)
        fail_msg("%s", err.text);
    return d;
}

static void close_listener(struct fixture **fixture) {
    struct fixture *d = *fixture;
    loopback_free(d->loopback);
    loop_free(d->loop);
    strbuf_finish(&d->taken);
    strbuf_finish(&d->got);
    free(d);
}

#define FIXTURE(name, ...)                                                                         \
    _cleanup_(close_listener) struct fixture *name =                                               \
        open_listener(&(struct loopback_options){ .ctx = NULL, __VA_ARGS__ })

/* --- the client ------------------------------------------------------------------------------ */

static int connect_to(const struct fixture *d) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    address.sin_port = htons((uint16_t)atoi(strrchr(loopback_address(d->loopback), ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Until the client has the end of an answer, or its connection ends. */
static void has_come(void *ctx, int fd, unsigned events) {
    struct fixture *d = ctx;
    char bytes[4096];
    (void)events;
    ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0)
        strbuf_add(&d->got, bytes, (size_t)n);
    d->closed = n == 0 || (n < 0 && errno != EAGAIN);
    const char *text = strbuf_text(&d->got);
    if (d->closed || (d->got.length > 2 && strchr("}\n", text[d->got.length - 1])))
        loop_stop(d->loop);
}

static void give_up(void *ctx) {
    struct fixture *d = ctx;
    d->late = true;
    loop_stop(d->loop);
}

static void wait_for(struct fixture *d, int fd) {
    struct loop_watch *watch = NULL;
    struct loop_timer *timer = loop_timer_new(d->loop, give_up, d);
    assert_int_equal(loop_watch(d->loop, fd, LOOP_READ, has_come, d, &watch), 0);
    loop_timer_set(d->loop, timer, loop_now_steady(d->loop) + patience_ms());
    assert_int_equal(loop_run(d->loop, NULL), 0);
    loop_unwatch(d->loop, watch);
    loop_timer_free(d->loop, timer);
    if (d->late)
        fail_msg("nothing came; so far: '%s'", strbuf_text(&d->got));
}

static void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The status of the answer; 0: the connection was closed without one. */
static int ask(struct fixture *d, int fd, const char *text) {
    int status = 0;
    strbuf_clear(&d->got);
    say(fd, text);
    wait_for(d, fd);
    if (d->got.length > 0)
        assert_int_equal(sscanf(strbuf_text(&d->got), "HTTP/1.1 %d ", &status), 1);
    return status;
}

static int ask_alone(struct fixture *d, const char *text) {
    int fd = connect_to(d);
    int status = ask(d, fd, text);
    close(fd);
    return status;
}

/* `more`: headers, each with its end. */
static char *request(const struct fixture *d, const char *line, const char *more,
                     const char *body) {
    struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %zu\r\n\r\n%s", line,
                  loopback_address(d->loopback), more, strlen(body), body);
    return strbuf_take(&text);
}

#define JSON "Content-Type: application/json\r\n"
#define GOOD "POST /secret/v1/metrics"

/* --- rules ----------------------------------------------------------------------------------- */

TEST(a_post_to_a_known_path_is_taken_and_answered) {
    FIXTURE(d);
    (void)state;
    _cleanup_(freep) char *first = request(d, GOOD, JSON, "{\"a\":1}");
    _cleanup_(freep) char *second =
        request(d, GOOD, "Content-Type: Application/JSON; charset=utf-8\r\n", "{}");
    int fd = connect_to(d);
    assert_int_equal(ask(d, fd, first), 200);
    assert_non_null(strstr(strbuf_text(&d->got), "\r\n\r\n{}"));
    assert_int_equal(ask(d, fd, second), 200); /* the connection stays */
    assert_string_equal(strbuf_text(&d->taken), "{\"a\":1}\n{}\n");
    close(fd);
}

TEST(a_body_may_come_in_chunks_and_in_pieces) {
    static const char body[] = "4\r\n{\"ab\r\n3\r\n\":1\r\n1\r\n}\r\n0\r\n\r\n";
    FIXTURE(d);
    (void)state;
    _cleanup_(strbuf_finish) struct strbuf head = STRBUF_INIT;
    strbuf_printf(&head, GOOD " HTTP/1.1\r\nHost: %s\r\n" JSON "Transfer-Encoding: chunked\r\n\r\n",
                  loopback_address(d->loopback));
    int fd = connect_to(d);
    for (const char *c = strbuf_text(&head); *c; c++)
        assert_int_equal(send(fd, c, 1, MSG_NOSIGNAL), 1);
    assert_int_equal(ask(d, fd, body), 200);
    assert_string_equal(strbuf_text(&d->taken), "{\"ab\":1}\n");
    close(fd);
}

/* Whatever is wrong, the answer is the same, to the byte. */
TEST(everything_else_is_refused_alike) {
    FIXTURE(d);
    (void)state;
    static const char *const lines[] = {
        "POST /wrong/v1/metrics",
        "POST /secret/v1/traces",
        "POST /v1/metrics",
        "POST /",
        "GET /secret/v1/metrics",
        "DELETE /secret/v1/metrics",
        "PUT /secret/v1/metrics",
        "OPTIONS *",
        "POST /secret/v1/metrics?a=1",
        "GET /v1/status",
        "GET /metrics",
        "POST /v1/shutdown",
        "POST /mcp",
        "GET /",
    };
    _cleanup_(strbuf_finish) struct strbuf first = STRBUF_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        _cleanup_(freep) char *text = request(d, lines[i], JSON, "");
        if (ask_alone(d, text) != 404)
            fail_msg("'%s' was answered with: %s", lines[i], strbuf_text(&d->got));
        if (i == 0)
            strbuf_puts(&first, strbuf_text(&d->got));
        assert_string_equal(strbuf_text(&d->got), strbuf_text(&first));
    }
    assert_int_equal(ask_alone(d, "nonsense\r\n\r\n"), 404);
    assert_int_equal(ask_alone(d, "POST http://x/ HTTP/1.1\r\nHost: x\r\n\r\n"), 404);
    assert_int_equal(d->taken.length, 0);
}

TEST(web_pages_and_other_names_of_this_machine_are_refused) {
    FIXTURE(d);
    (void)state;
    _cleanup_(freep) char *page = request(d, GOOD, JSON "Origin: http://127.0.0.1\r\n", "{}");
    _cleanup_(freep) char *site = request(d, GOOD, JSON "Sec-Fetch-Site: cross-site\r\n", "{}");
    assert_int_equal(ask_alone(d, page), 404);
    assert_int_equal(ask_alone(d, site), 404);
    assert_int_equal(
        ask_alone(d, GOOD " HTTP/1.1\r\nHost: evil.example\r\n" JSON "Content-Length: 2\r\n\r\n{}"),
        404);
    assert_int_equal(d->taken.length, 0);
}

TEST(a_refusal_does_not_wait_for_the_body) {
    FIXTURE(d);
    (void)state;
    _cleanup_(strbuf_finish) struct strbuf head = STRBUF_INIT;
    strbuf_printf(&head,
                  "POST /wrong HTTP/1.1\r\nHost: %s\r\n" JSON "Content-Length: 900000\r\n\r\n",
                  loopback_address(d->loopback));
    int fd = connect_to(d);
    assert_int_equal(ask(d, fd, strbuf_text(&head)), 404);
    wait_for(d, fd);
    assert_true(d->closed);
    close(fd);
}

TEST(a_client_that_knows_the_path_learns_what_is_wrong) {
    FIXTURE(d, .body_max = 100);
    (void)state;
    _cleanup_(freep) char *type = request(d, GOOD, "Content-Type: application/x-protobuf\r\n", "x");
    _cleanup_(freep) char *none = request(d, GOOD, "", "{}");
    _cleanup_(freep) char *packed = request(d, GOOD, JSON "Content-Encoding: gzip\r\n", "x");
    _cleanup_(strbuf_finish) struct strbuf long_body = STRBUF_INIT;
    strbuf_repeat(&long_body, "x", 101);
    _cleanup_(freep) char *large = request(d, GOOD, JSON, strbuf_text(&long_body));
    _cleanup_(freep) char *bad = request(d, GOOD, JSON, "{}");
    assert_int_equal(ask_alone(d, type), 415);
    assert_non_null(strstr(strbuf_text(&d->got), "http/json"));
    assert_int_equal(ask_alone(d, none), 415);
    assert_int_equal(ask_alone(d, packed), 415);
    assert_int_equal(ask_alone(d, large), 413);
    d->refuse = -EINVAL;
    assert_int_equal(ask_alone(d, bad), 400);
    assert_non_null(strstr(strbuf_text(&d->got), "that is no body"));
    d->refuse = -EAGAIN;
    assert_int_equal(ask_alone(d, bad), 429);
    d->refuse = -ENOENT; /* its run has ended meanwhile */
    assert_int_equal(ask_alone(d, bad), 404);
}

TEST(a_client_that_is_slow_or_silent_is_closed) {
    FIXTURE(d, .request_timeout = 30, .idle_timeout = 60);
    (void)state;
    int slow = connect_to(d), silent = connect_to(d);
    assert_int_equal(ask(d, slow, "POST /secr"), 0);
    assert_true(d->closed);
    wait_for(d, silent);
    assert_true(d->closed);
    close(slow);
    close(silent);
}

TEST(idle_connections_make_room_for_others) {
    FIXTURE(d, .connections_max = 2);
    (void)state;
    _cleanup_(freep) char *text = request(d, GOOD, JSON, "{}");
    int idle = connect_to(d);
    assert_int_equal(ask(d, idle, text), 200);
    int busy = connect_to(d);
    say(busy, "POST /secret/v1");
    assert_int_equal(ask_alone(d, text), 200); /* the third */
    wait_for(d, idle);
    assert_true(d->closed);
    close(idle);
    close(busy);
}

TEST(only_addresses_of_this_machine_are_listened_on) {
    static const char *const addresses[] = {
        "0.0.0.0:0", "127.0.0.2:0", "localhost:0",  "[::]:0",         "127.0.0.1", "127.0.0.1:",
        "",          ":4318",       "127.0.0.1:-1", "127.0.0.1:65536"
    };
    struct loop *loop = NULL;
    (void)state;
    assert_int_equal(loop_new(&loop, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        struct loopback_options options = { .address = addresses[i], .knows = knows, .take = take };
        struct loopback *loopback = NULL;
        struct error err = { 0 };
        assert_int_equal(loopback_new(loop, &options, &loopback, &err), -EINVAL);
        assert_non_null(strstr(err.text, "example: 127.0.0.1:4318"));
    }
    loop_free(loop);
}

TEST(a_port_that_is_taken_is_an_error) {
    FIXTURE(d);
    (void)state;
    struct loopback_options options = { .address = loopback_address(d->loopback),
                                        .knows = knows,
                                        .take = take };
    struct loopback *loopback = NULL;
    struct error err = { 0 };
    assert_int_equal(loopback_new(d->loop, &options, &loopback, &err), -EADDRINUSE);
    assert_non_null(strstr(err.text, "cannot listen on '127.0.0.1:"));
}
