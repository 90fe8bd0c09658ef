/* test_http_client.c: a POST returns an answer or an error before its deadline.
 *
 * The server is a thread that accepts one connection and behaves as the test specifies. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/patience.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "http_client/http_client.h"
#include "http_client/http_wire.h"
#include <arpa/inet.h>

/* --- URLs ------------------------------------------------------------------------------------ */

static void expect_url(const char *text, const char *host, const char *port, const char *path) {
    struct http_url url = { 0 };
    struct error err = { 0 };
    if (http_url_parse(text, &url, &err) < 0)
        fail_msg("'%s': %s", text, err.text);
    assert_string_equal(url.host, host);
    assert_string_equal(url.port, port);
    assert_string_equal(url.path, path);
    http_url_finish(&url);
}

TEST(urls_are_taken_apart) {
    expect_url("http://example.org", "example.org", "80", "/");
    expect_url("http://example.org:8080/a/b?c=d", "example.org", "8080", "/a/b?c=d");
    expect_url("http://example.org?c=d", "example.org", "80", "/?c=d");
    expect_url("https://example.org/hook", "example.org", "443", "/hook");
    expect_url("http://[::1]:9/x", "::1", "9", "/x");
    expect_url("http://[::1]", "::1", "80", "/");
}

TEST(a_unix_url_has_a_socket_and_perhaps_a_path) {
    struct http_url url = { 0 };
    assert_int_equal(http_url_parse("unix:/run/hook.sock:/v1/x", &url, NULL), 0);
    assert_string_equal(url.socket, "/run/hook.sock");
    assert_string_equal(url.path, "/v1/x");
    http_url_finish(&url);
    assert_int_equal(http_url_parse("unix:/run/hook.sock", &url, NULL), 0);
    assert_string_equal(url.path, "/");
    http_url_finish(&url);
}

TEST(an_invalid_url_is_refused_with_a_message) {
    static const char *const bad[] = { "",
                                       "example.org",
                                       "ftp://example.org",
                                       "http://",
                                       "http:///x",
                                       "http://user:secret@example.org/",
                                       "http://example.org/a b",
                                       "http://example.org/\r\nX: y",
                                       "http://example.org/#part",
                                       "http://example.org:0/",
                                       "http://example.org:65536/",
                                       "http://example.org:x/",
                                       "http://[::1",
                                       "http://[::1]x",
                                       "unix:hook.sock",
                                       "unix:/",
                                       "unix:/run/x:y" };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct http_url url = { 0 };
        struct error err = { 0 };
        if (http_url_parse(bad[i], &url, &err) != -EINVAL)
            fail_msg("'%s' was taken for a URL", bad[i]);
        assert_true(strlen(err.text) > 20);
        assert_null(url.authority);
    }
}

/* --- heads ----------------------------------------------------------------------------------- */

static int head(const char *text, int *ret_status) {
    size_t size = 0;
    return http_head_check(text, strlen(text), ret_status, &size);
}

TEST(only_a_whole_head_is_an_answer) {
    static const char text[] = "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\nbody";
    const size_t whole = strlen(text) - strlen("body");
    (void)state;
    for (size_t size = 0; size <= strlen(text); size++) {
        int status = -1;
        size_t body = 0;
        int r = http_head_check(text, size, &status, &body);
        assert_int_equal(r, size >= whole);
        if (r == 1)
            assert_int_equal(body, whole);
        assert_int_equal(status, r == 1 ? 204 : -1);
    }
}

static time_ms retry_after(const char *value) {
    return http_retry_after(value, strlen(value), /* now= */ SECONDS(784111777)); /* as below */
}

TEST(retry_after_is_seconds_or_a_date_up_to_an_hour) {
    static const char *const nothing[] = { "",
                                           " ",
                                           "-1",
                                           "1.5",
                                           "soon",
                                           "7 s",
                                           "Sun, 06 Nov 1994 08:49:37 GMT", /* now */
                                           "Sun, 06 Nov 1994 08:49:36 GMT", /* over */
                                           "Sun, 06 Nov 1994 08:49:47 CET",
                                           "Sun, 06 Xxx 1994 08:49:47 GMT",
                                           "Sun, 06 Nov 1994 08:4a:47 GMT",
                                           "Sunday, 06-Nov-94 08:49:47 GMT", /* obsolete */
                                           "%header{retry-after}" };
    (void)state;
    assert_int_equal(retry_after("7"), SECONDS(7));
    assert_int_equal(retry_after(" 120\t"), SECONDS(120));
    assert_int_equal(retry_after("Sun, 06 Nov 1994 08:49:47 GMT"), SECONDS(10));
    assert_int_equal(retry_after("Sun, 06 Nov 2094 08:49:47 GMT"), HOURS(1));
    assert_int_equal(retry_after("3601"), HOURS(1));
    assert_int_equal(retry_after("999999999999999999999999"), HOURS(1));
    for (size_t i = 0; i < ARRAY_SIZE(nothing); i++)
        if (retry_after(nothing[i]) != 0)
            fail_msg("taken for a time: '%s'", nothing[i]);
}

TEST(an_answer_that_is_not_http_is_refused) {
    static const char *const bad[] = { "SSH-2.0-OpenSSH\r\n",
                                       "HTTP/2 200 OK\r\n\r\n",
                                       "HTTP/1.1 20 OK\r\n\r\n",
                                       "HTTP/1.1 2000 OK\r\n\r\n",
                                       "HTTP/1.1 999 OK\r\n\r\n",
                                       "HTTP/1.1 200 OK\nA: b\n\n",
                                       "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
                                       "HTTP/1.1 200 \x01\r\n\r\n",
                                       "\r\n\r\n" };
    int status = 0;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (head(bad[i], &status) != -EPROTO)
            fail_msg("taken for an answer: '%s'", bad[i]);
    assert_int_equal(head("HTTP/1.0 500\r\n\r\n", &status), 1);
    assert_int_equal(status, 500);
}

/* --- a server -------------------------------------------------------------------------------- */

enum act { ACT_ANSWER, ACT_HANG, ACT_CLOSE };

struct server {
    enum act act;
    const char *answer;
    int listener;
    char url[128];
    char folder[SCRATCH_PATH]; /* of its Unix socket; "" for TCP */
    struct strbuf got;
    char behind;            /* the first byte after the request */
    void *(*serve)(void *); /* NULL: determined by `act` */
    int stop[2];
    pthread_t thread;
};

static bool is_whole(const struct strbuf *got) {
    const char *body = strstr(strbuf_text(got), "\r\n\r\n");
    const char *length = strstr(strbuf_text(got), "Content-Length: ");
    return body && length
           && strlen(body + 4) >= (size_t)strtoul(length + strlen("Content-Length: "), NULL, 10);
}

static void *serve(void *ctx) {
    struct server *s = ctx;
    char bytes[4096];
    int fd = accept(s->listener, NULL, NULL);
    while (!is_whole(&s->got)) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n <= 0)
            break;
        strbuf_add(&s->got, bytes, (size_t)n);
    }
    if (s->act == ACT_ANSWER)
        (void)!write(fd, s->answer, strlen(s->answer));
    while (s->act == ACT_HANG && read(fd, bytes, sizeof(bytes)) > 0)
        continue;
    close(fd);
    return NULL;
}

static void server_open(struct server *s, bool tcp) {
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    socklen_t size = sizeof(in);
    s->listener = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (tcp) {
        assert_int_equal(bind(s->listener, (struct sockaddr *)&in, sizeof(in)), 0);
        assert_int_equal(getsockname(s->listener, (struct sockaddr *)&in, &size), 0);
        snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d/hook?a=b", ntohs(in.sin_port));
    } else {
        scratch_make(s->folder, "hook");
        snprintf(un.sun_path, sizeof(un.sun_path), "%s/hook.sock", s->folder);
        assert_int_equal(bind(s->listener, (struct sockaddr *)&un, sizeof(un)), 0);
        snprintf(s->url, sizeof(s->url), "unix:%s:/hook?a=b", un.sun_path);
    }
    assert_int_equal(listen(s->listener, 4), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, s->serve ? s->serve : serve, s), 0);
}

static void server_close(struct server *s) {
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    close(s->listener);
    if (*s->folder)
        scratch_remove(s->folder);
    strbuf_finish(&s->got);
}

static const char *proxy; /* of subsequent posts */

static int post(const char *text, time_ms timeout, int cancel, struct http_answer *ret,
                struct error *err) {
    static const char *const headers[] = { "Content-Type: application/json", "X-One: 1", NULL };
    static const char body[] = "{\"a\":1}";
    _cleanup_(http_url_finish) struct http_url url = { 0 };
    struct http_post request = {
        .headers = headers, .body = body, .size = strlen(body), .timeout = timeout, .cancel = cancel
    };
    request.proxy = proxy;
    assert_int_equal(http_url_parse(text, &url, err), 0);
    return http_client_post(&url, &request, ret, err);
}

/* --- exchanges ------------------------------------------------------------------------------- */

TEST(a_post_goes_out_whole_and_its_answer_comes_back) {
    for (int tcp = 0; tcp < 2; tcp++) {
        struct server s = { .act = ACT_ANSWER,
                            .answer = "HTTP/1.1 100 Continue\r\n\r\n"
                                      "HTTP/1.1 500 Oops\r\nA: b\r\n\r\nno\x1b[31m such\nhook" };
        struct http_answer answer = { 0 };
        struct error err = { 0 };
        server_open(&s, tcp);
        if (post(s.url, patience_ms(), -1, &answer, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(answer.status, 500);
        assert_string_equal(answer.text, "no [31m such hook");
        assert_int_equal(pthread_join(s.thread, NULL), 0);
        const char *got = strbuf_text(&s.got);
        assert_int_equal(strncmp(got, "POST /hook?a=b HTTP/1.1\r\nHost: ", 31), 0);
        assert_non_null(strstr(got, "\r\nX-One: 1\r\n"));
        assert_non_null(strstr(got, "\r\nContent-Length: 7\r\n"));
        assert_string_equal(strstr(got, "\r\n\r\n") + 4, "{\"a\":1}");
        close(s.listener);
        if (*s.folder)
            scratch_remove(s.folder);
        strbuf_finish(&s.got);
    }
}

static void expect_failure(struct server *s, time_ms timeout, int code, const char *part) {
    struct http_answer answer = { .status = -7 };
    struct error err = { 0 };
    server_open(s, true);
    assert_int_equal(post(s->url, timeout, -1, &answer, &err), code);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
    assert_int_equal(answer.status, -7);
    server_close(s);
}

TEST(a_silent_server_times_out) {
    expect_failure(&(struct server){ .act = ACT_HANG }, 100, -ETIMEDOUT,
                   "did not answer within 100 ms");
}

TEST(an_early_close_is_not_an_answer) {
    expect_failure(&(struct server){ .act = ACT_CLOSE }, patience_ms(), -ECONNRESET,
                   "closed the connection without an answer");
    expect_failure(&(struct server){ .act = ACT_ANSWER, .answer = "HTTP/1.1 200 OK\r\nConte" },
                   patience_ms(), -ECONNRESET, "closed the connection without an answer");
}

TEST(another_protocol_is_no_acknowledgement) {
    expect_failure(&(struct server){ .act = ACT_ANSWER, .answer = "SSH-2.0-x\r\n" }, patience_ms(),
                   -EPROTO, "not HTTP");
}

TEST(an_endless_head_is_given_up) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, "HTTP/1.1 200 OK\r\nA: ");
    strbuf_repeat(&text, "x", 40000);
    expect_failure(&(struct server){ .act = ACT_ANSWER, .answer = strbuf_text(&text) },
                   patience_ms(), -EPROTO, "not HTTP");
}

TEST(an_unreachable_server_is_reported) {
    struct http_answer answer = { 0 };
    struct error err = { 0 };
    (void)state;
    assert_int_equal(post("unix:/nowhere/hook.sock", patience_ms(), -1, &answer, &err), -ENOENT);
    assert_non_null(strstr(err.text, "could not be reached"));
    assert_true(post("http://127.0.0.1:1/", patience_ms(), -1, &answer, &err) < 0);
    assert_non_null(strstr(err.text, "could not be reached"));
}

TEST(a_canceled_request_does_not_wait) {
    struct server s = { .act = ACT_HANG };
    struct http_answer answer = { 0 };
    struct error err = { 0 };
    uint64_t one = 1;
    int cancel = eventfd(0, EFD_CLOEXEC);
    (void)state;
    assert_int_equal(write(cancel, &one, sizeof(one)), sizeof(one));
    server_open(&s, true);
    assert_int_equal(post(s.url, TIME_NEVER, cancel, &answer, &err), -ECANCELED);
    server_close(&s);
    close(cancel);
}

TEST(the_answer_is_taken_apart) {
    struct server s = {
        .act = ACT_ANSWER,
        .answer = "HTTP/1.1 503 Later\r\nRETRY-after:\t 7 \r\nA: b\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n3\r\nno \r\n4\r\ntime\r\n0\r\n\r\n"
    };
    struct http_answer answer = { 0 };
    struct error err = { 0 };
    (void)state;
    server_open(&s, true);
    if (post(s.url, patience_ms(), -1, &answer, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(answer.status, 503);
    assert_int_equal(answer.retry_after, SECONDS(7));
    assert_string_equal(answer.text, "no time");
    server_close(&s);
}

/* A server that answers before it has read the request, and stops reading. */
static void *refuse_early(void *ctx) {
    struct server *s = ctx;
    char bytes[64];
    int fd = accept(s->listener, NULL, NULL);
    (void)!read(fd, bytes, sizeof(bytes));
    (void)!write(fd, s->answer, strlen(s->answer));
    while (read(s->stop[0], bytes, sizeof(bytes)) > 0)
        continue;
    close(fd);
    return NULL;
}

TEST(an_early_refusal_is_read_while_the_request_is_sent) {
    struct server s = { .serve = refuse_early,
                        .answer = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n" };
    const size_t size = (size_t)64 << 20;
    struct http_answer answer = { 0 };
    struct error err = { 0 };
    _cleanup_(http_url_finish) struct http_url url = { 0 };
    char *body = calloc(1, size);
    (void)state;
    assert_non_null(body);
    assert_int_equal(pipe2(s.stop, O_CLOEXEC), 0);
    server_open(&s, true);
    assert_int_equal(http_url_parse(s.url, &url, NULL), 0);
    struct http_post request = {
        .body = body, .size = size, .timeout = patience_ms(), .cancel = -1
    };
    if (http_client_post(&url, &request, &answer, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(answer.status, 413);
    close(s.stop[1]);
    server_close(&s);
    close(s.stop[0]);
    free(body);
}

/* --- proxies --------------------------------------------------------------------------------- */

static const char *find_in(const void *ctx, const char *name) {
    for (const char *const *pair = ctx; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

static void expect_proxy(const char *text, const char *const *environment, const char *wanted) {
    _cleanup_(http_url_finish) struct http_url url = { 0 };
    assert_int_equal(http_url_parse(text, &url, NULL), 0);
    const char *found = http_proxy_find(&url, find_in, environment);
    if (strcmp(found ? found : "none", wanted) != 0)
        fail_msg("%s: '%s' instead of '%s'", text, found ? found : "none", wanted);
}

TEST(the_environment_names_the_proxy) {
    static const char *const none[] = { "http_proxy", "a", "https_proxy", "", NULL };
    static const char *const all[] = { "ALL_PROXY", "all", "HTTPS_PROXY", "p", NULL };
    static const char *const some[] = { "https_proxy", "p", "no_proxy",
                                        "example.org, .corp,10.0.0.1,::1", NULL };
    static const char *const off[] = { "https_proxy", "p", "NO_PROXY", "*", NULL };
    (void)state;
    expect_proxy("https://a/", none, "none");
    expect_proxy("https://a/", all, "p");
    expect_proxy("https://a/", off, "none");
    expect_proxy("https://example.org/", some, "none");
    expect_proxy("https://www.EXAMPLE.org/", some, "none");
    expect_proxy("https://badexample.org/", some, "p");
    expect_proxy("https://example.org.net/", some, "p");
    expect_proxy("https://host.corp/", some, "none");
    expect_proxy("https://10.0.0.1/", some, "none");
    expect_proxy("https://110.0.0.1/", some, "p");
    expect_proxy("https://[::1]/", some, "none");
}

/* A proxy that records the bytes before the TLS handshake. */
static void *be_proxy(void *ctx) {
    struct server *s = ctx;
    char byte;
    int fd = accept(s->listener, NULL, NULL);
    while (!strstr(strbuf_text(&s->got), "\r\n\r\n") && read(fd, &byte, 1) == 1)
        strbuf_putc(&s->got, byte);
    (void)!write(fd, s->answer, strlen(s->answer));
    if (read(fd, &byte, 1) == 1)
        s->behind = byte;
    close(fd);
    return NULL;
}

static int post_through(struct server *s, const char *who, struct error *err) {
    struct http_answer answer = { 0 };
    char text[192];
    s->serve = be_proxy;
    server_open(s, true);
    char *end = strchr(s->url + strlen("http://"), '/');
    snprintf(text, sizeof(text), "http://%s%.*s/", who, (int)(end - s->url - 7), s->url + 7);
    proxy = text;
    int r = post("https://[2001:db8::1]:8443/hook", patience_ms(), -1, &answer, err);
    proxy = NULL;
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    close(s->listener);
    return r;
}

TEST(https_goes_through_a_proxy) {
    struct server s = { .answer = "HTTP/1.1 200 Connected\r\n\r\n" };
    struct error err = { 0 };
    (void)state;
    assert_int_equal(post_through(&s, "me:p%40ss@", &err), -EPROTO); /* it closes then */
    assert_string_equal(strbuf_text(&s.got), "CONNECT [2001:db8::1]:8443 HTTP/1.1\r\n"
                                             "Host: [2001:db8::1]:8443\r\n"
                                             "Proxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n");
    assert_int_equal(s.behind, 0x16); /* a handshake */
    strbuf_finish(&s.got);
}

TEST(a_proxy_may_refuse) {
    struct server s = { .answer = "HTTP/1.1 407 Who?\r\nContent-Length: 0\r\n\r\n" };
    struct http_answer answer = { 0 };
    struct error err = { 0 };
    (void)state;
    assert_int_equal(post_through(&s, "", &err), -ECONNREFUSED);
    assert_non_null(strstr(err.text, "refused the connection: status 407"));
    assert_null(strstr(strbuf_text(&s.got), "Authorization"));
    assert_int_equal(s.behind, 0);
    strbuf_finish(&s.got);
    proxy = "socks5://127.0.0.1:1";
    assert_int_equal(post("https://127.0.0.1:1/", patience_ms(), -1, &answer, &err), -ENOTSUP);
    proxy = NULL;
}
