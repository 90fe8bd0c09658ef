/* test_client.c: the command line's client asks once and gets one answer, whatever breaks.
 *
 * Against the real server with fake operations, and against a script where the server must
 * misbehave. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api_fixture.h"
#include "cli/client.h"
#include "fake_ops.h"
#include "harness/client_get.h"
#include "harness/scratch.h"
#include "harness/test.h"

static struct client *open_client(struct api *api) {
    struct client *client = NULL;
    struct error err = { 0 };
    if (client_open(api->path, NULL, &client, &err) < 0)
        fail_msg("cannot open: %s", err.text);
    return client;
}

#define CLIENT(name, api) _cleanup_(client_closep) struct client *name = open_client(api)
#define JSON(name)        json_auto_t *name = NULL

static json_int_t number_at(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

/* --- calls --------------------------------------------------------------------------------------- */

TEST(a_call_has_status_answer_and_headers) {
    API(api);
    CLIENT(client, api);
    JSON(answer);
    struct error err = { 0 };
    assert_int_equal(
        client_call(client, "POST", "/v1/echo", json_pack("{s:i}", "a", 7), &answer, &err), 200);
    assert_int_equal(number_at(json_object_get(answer, "params"), "a"), 7);
    assert_int_equal(strlen(json_string_value(json_object_get(answer, "key"))), 32);
    assert_int_equal(client_status(client), 200);
    assert_string_equal(client_header(client, "content-TYPE"), "application/json");
    assert_null(client_header(client, "x-none"));
    ASSERT_HAS(client_text(client), "\"params\":{\"a\":7}");
    assert_int_equal(api_stats(api).connections, 1);
}

/* --- of a run on another machine ------------------------------------------------------------------ */

static void open_listener(struct api *api, void *arg) {
    struct server_tcp tcp = { .address = "127.0.0.1:0" };
    struct error err = { 0 };
    if (server_listen_tcp(api->server, &tcp, &err) < 0)
        fail_msg("%s", err.text);
    (void)snprintf(arg, 64, "%s", server_url(api->server));
    fake.in_slurm = true; /* whose token is FAKE_RUN_TOKEN */
}

static void get_token(struct api *api, void *arg) {
    (void)api;
    memcpy(arg, fake.token, sizeof(fake.token));
}

/* Nothing listens on port 1: where several daemons may have the store, one of the addresses is enough. */
TEST(a_run_in_slurm_asks_at_its_addresses_with_its_token) {
    API(api);
    struct error err = { 0 };
    char url[64], places[160], token[sizeof(fake.token)];
    api_do(api, open_listener, url);
    (void)snprintf(places, sizeof(places), "http://127.0.0.1:1,%s", url);
    assert_int_equal(setenv("SLUICE_SOCKET", places, 1), 0);
    assert_int_equal(setenv("SLUICE_TOKEN", FAKE_RUN_TOKEN, 1), 0);
    struct client *client = NULL;
    int r = client_open(places, NULL, &client, &err);
    if (r < 0)
        fail_msg("cannot open: %s", err.text);
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    api_do(api, get_token, token);
    assert_string_equal(token, FAKE_RUN_TOKEN);
    assert_string_equal(client_address_text(client), url);
    client_close(client);
    /* To an address that is not its own a run shows nothing. */
    assert_int_equal(client_open(url, NULL, &client, &err), -EACCES);
    assert_int_equal(unsetenv("SLUICE_SOCKET"), 0);
    assert_int_equal(unsetenv("SLUICE_TOKEN"), 0);
    assert_int_equal(client_open("ftp://nowhere", NULL, &client, &err), -EINVAL);
    assert_string_equal(
        err.text, "'ftp://nowhere' is not an address of a daemon: expected https://HOST:PORT");
}

TEST(one_connection_serves_many_calls) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    for (int i = 0; i < 10; i++)
        assert_int_equal(client_get(client, NULL, &err, "/v1/echo?number=%d", i), 200);
    assert_int_equal(api_stats(api).accepted, 1);
}

TEST(text_in_a_path_is_escaped) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    JSON(answer);
    assert_int_equal(client_get(client, &answer, &err, "/v1/echo?text=%s&a=%u&b=%lld&c=%llu%%20",
                                "a/b c&d?%\xC3\xA4", 1u, -2ll, 3ull),
                     200);
    ASSERT_HAS(client_text(client), "\"text\":\"a%2Fb%20c%26d%3F%25%C3%A4\"");
    ASSERT_HAS(client_text(client), "\"a\":1,\"b\":\"-2\",\"c\":\"3%20\"");
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_puts(&path, "/v1/tasks");
    client_query(&path, "state", "open,held");
    client_query(&path, "project", NULL);
    client_query(&path, "kind", "");
    assert_string_equal(strbuf_text(&path), "/v1/tasks?state=open%2Cheld&kind=");
}

TEST(a_refusal_is_a_status_an_errno_and_a_message) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    static const struct {
        const char *path;
        int status, code;
    } cases[] = {
        { "/v1/fail?code=ENOENT", 404, -ENOENT },
        { "/v1/fail?code=EAGAIN", 429, -EAGAIN },
        { "/v1/fail?code=EIO", 503, -EIO },
        { "/v1/fail", 400, -EINVAL },
        { "/nowhere", 404, -ENOENT },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        JSON(answer);
        int status = client_call(client, "GET", cases[i].path, NULL, &answer, &err);
        assert_int_equal(status, cases[i].status);
        assert_int_equal(err.code, cases[i].code);
        assert_string_equal(err.text, json_string_value(json_object_get(
                                          json_object_get(answer, "error"), "message")));
    }
}

TEST(what_is_no_json_is_text) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    JSON(answer);
    assert_int_equal(client_call(client, "GET", "/metrics", NULL, &answer, &err), 200);
    assert_null(answer);
    ASSERT_HAS(client_text(client), "sluice_up 1\n");
}

TEST(each_post_has_a_key_of_its_own_unless_one_is_given) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(client_call(client, "POST", "/v1/once", NULL, NULL, &err), 200);
        assert_null(client_header(client, "idempotent-replay"));
    }
    assert_int_equal(api_done_once(api), 2);
    for (int i = 0; i < 2; i++) {
        client_set_key(client, "the-same-key");
        assert_int_equal(client_call(client, "POST", "/v1/once", NULL, NULL, &err), 200);
        assert_int_equal(client_header(client, "idempotent-replay") != NULL, i == 1);
    }
    assert_int_equal(client_call(client, "POST", "/v1/once", NULL, NULL, &err), 200);
    assert_int_equal(api_done_once(api), 4);
}

TEST(a_run_says_who_it_is) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    client_set_run(client, "web-17.2");
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    ASSERT_HAS(client_text(client), "\"caller\":\"web-17.2\"");
    client_set_run(client, NULL);
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    ASSERT_HAS(client_text(client), "\"caller\":\"\"");
}

TEST(a_call_has_a_deadline_and_the_client_goes_on_after_it) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    client_set_timeout(client, 30);
    assert_int_equal(client_get(client, NULL, &err, "/v1/wait"), -ETIMEDOUT);
    ASSERT_HAS(err.text, "did not answer within");
    api_wait_for_abandoned(api, 1);
    client_set_timeout(client, 0);
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo?text=new"), 200);
    ASSERT_HAS(client_text(client), "new"); /* not the late answer of the other */
}

TEST(a_large_body_that_is_refused_is_explained) {
    API(api, .bulk_body_max = 1000);
    CLIENT(client, api);
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_repeat(&text, "x", 3000000);
    assert_int_equal(
        client_call(client, "POST", "/v1/tasks", json_pack("{s:s}", "a", text.text), NULL, &err),
        413);
    assert_int_equal(err.code, -EFBIG);
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
}

/* --- no daemon ----------------------------------------------------------------------------------- */

TEST(no_socket_and_no_listener_behind_it_are_absent) {
    struct client *client = NULL;
    struct error err = { 0 };
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    scratch_make(folder, "api");
    (void)snprintf(path, sizeof(path), "%s/sock", folder);
    int r = client_open(path, NULL, &client, &err);
    assert_int_equal(r, -ENOENT);
    assert_true(client_is_absent(r));
    ASSERT_HAS(err.text, path);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd); /* a daemon that died leaves it like this */
    r = client_open(path, NULL, &client, &err);
    assert_int_equal(r, -ECONNREFUSED);
    assert_true(client_is_absent(r));
    scratch_remove(folder);
    char long_path[300];
    (void)snprintf(long_path, sizeof(long_path), "/%0200d", 1);
    r = client_open(long_path, NULL, &client, &err);
    assert_int_equal(r, -ENAMETOOLONG);
    assert_false(client_is_absent(r));
    assert_null(client);
}

/* --- a server that follows a script --------------------------------------------------------------- */

#define SCRIPT_MAX 8

struct script {
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    int listener;
    pthread_t thread;
    bool joined;
    const char *answers[SCRIPT_MAX]; /* one per connection: sent after a request; NULL: none */
    size_t count;
    struct strbuf asked[SCRIPT_MAX]; /* what came over each connection */
};

static void *play(void *ctx) {
    struct script *script = ctx;
    for (size_t i = 0; i < script->count; i++) {
        char buffer[4096];
        int fd = accept4(script->listener, NULL, NULL, SOCK_CLOEXEC);
        while (!strstr(strbuf_text(&script->asked[i]), "\r\n\r\n")) {
            ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
            if (n <= 0)
                break;
            strbuf_add(&script->asked[i], buffer, (size_t)n);
        }
        const char *answer = script->answers[i];
        if (answer)
            (void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        while (recv(fd, buffer, sizeof(buffer), 0) > 0)
            ;
        close(fd);
    }
    return NULL;
}

/* At script->path, or in a folder of its own. */
static void script_start(struct script *script) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (!script->path[0]) {
        scratch_make(script->folder, "api");
        (void)snprintf(script->path, sizeof(script->path), "%s/sock", script->folder);
    }
    memcpy(address.sun_path, script->path, strlen(script->path) + 1);
    script->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(script->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(script->listener, SCRIPT_MAX), 0);
    while (script->count < SCRIPT_MAX && script->answers[script->count])
        script->count++;
    assert_int_equal(pthread_create(&script->thread, NULL, play, script), 0);
}

static void script_join(struct script *script) {
    if (!script->joined)
        pthread_join(script->thread, NULL);
    script->joined = true;
}

static void script_stop(struct script *script) {
    script_join(script);
    close(script->listener);
    for (size_t i = 0; i < SCRIPT_MAX; i++)
        strbuf_finish(&script->asked[i]);
    (void)unlink(script->path);
    if (script->folder[0])
        scratch_remove(script->folder);
}

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define OK_TEXT OK_HEAD "Content-Length: 2\r\n\r\n{}"

static void key_in(const struct strbuf *asked, char key[64]) {
    const char *at = strstr(strbuf_text(asked), "Idempotency-Key: ");
    assert_non_null(at);
    (void)snprintf(key, 64, "%.*s", (int)strcspn(at + 17, "\r"), at + 17);
}

TEST(a_lost_answer_is_asked_for_again_with_the_same_key) {
    /* Nothing, half a head, and half a body: each time the work may have been done. */
    struct script script = { .answers = { "", "HTTP/1.1 200 OK\r\nConte",
                                          OK_HEAD "Content-Length: 20\r\n\r\n{\"a\":", OK_TEXT } };
    struct client *client = NULL;
    struct error err = { 0 };
    char first[64], key[64];
    script_start(&script);
    assert_int_equal(client_open(script.path, NULL, &client, &err), 0);
    assert_int_equal(
        client_call(client, "POST", "/v1/tasks", json_pack("{s:[]}", "tasks"), NULL, &err), 200);
    client_close(client);
    script_join(&script);
    key_in(&script.asked[0], first);
    assert_int_equal(strlen(first), 32);
    for (size_t i = 1; i < 4; i++) {
        key_in(&script.asked[i], key);
        assert_string_equal(key, first);
        assert_string_equal(strbuf_text(&script.asked[i]), strbuf_text(&script.asked[0]));
    }
    script_stop(&script);
}

TEST(a_server_that_never_answers_is_given_up) {
    struct script script = { .answers = { "", "", "", "", "", "" } };
    struct client *client = NULL;
    struct error err = { 0 };
    script_start(&script);
    assert_int_equal(client_open(script.path, NULL, &client, &err), 0);
    assert_int_equal(client_get(client, NULL, &err, "/v1/status"), -ECONNRESET);
    ASSERT_HAS(err.text, "without an answer");
    client_close(client);
    script_stop(&script);
}

TEST(what_is_no_http_is_no_answer) {
    static const char *const answers[] = {
        "hello\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 20\r\n\r\n",
        OK_HEAD "no colon\r\n\r\n",
        OK_HEAD "Content-Length: x\r\n\r\n",
        OK_HEAD "Content-Length: 99999999999999999999999\r\n\r\n",
        OK_HEAD "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        OK_HEAD "Transfer-Encoding: gzip\r\n\r\n",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\nz\r\n",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\n00000000000000000000000000000002\r\n{}\r\n",
        OK_HEAD "Content-Length: 3\r\n\r\n{,}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct script script = { .answers = { answers[i] } };
        struct client *client = NULL;
        struct error err = { 0 };
        script_start(&script);
        assert_int_equal(client_open(script.path, NULL, &client, &err), 0);
        JSON(answer);
        int r = client_get(client, &answer, &err, "/v1/status");
        if (r != -EPROTO || answer)
            fail_msg("expected -EPROTO for '%s', got %d (%s)", answers[i], r, err.text);
        client_close(client);
        script_stop(&script);
    }
}

TEST(answers_come_in_every_shape) {
    static const char *const answers[] = {
        OK_TEXT,
        "HTTP/1.1 100 Continue\r\n\r\n" OK_TEXT,
        OK_HEAD "\r\n{}", /* until the end */
        OK_HEAD "Connection: close\r\nContent-Length: 2\r\n\r\n{}",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        "HTTP/1.0 200\r\ncontent-type:application/json\r\n\r\n{}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct script script = { .answers = { answers[i] } };
        struct client *client = NULL;
        struct error err = { 0 };
        script_start(&script);
        assert_int_equal(client_open(script.path, NULL, &client, &err), 0);
        JSON(answer);
        int r = client_get(client, &answer, &err, "/v1/status");
        if (r != 200 || !json_is_object(answer))
            fail_msg("expected an answer from '%s', got %d (%s)", answers[i], r, err.text);
        client_close(client);
        script_stop(&script);
    }
}

/* --- a daemon that comes and goes ----------------------------------------------------------------- */

struct starter {
    struct api *api;
    unsigned calls;
};

static int start_daemon(void *ctx, struct error *err) {
    struct starter *starter = ctx;
    starter->calls++;
    return starter->api ? 0 : error_set(err, -EACCES, "it may not be started");
}

TEST(an_idle_connection_that_was_closed_is_replaced) {
    API(api, .idle_timeout = 20);
    struct client *client = NULL;
    struct error err = { 0 };
    struct starter starter = { .api = api };
    assert_int_equal(client_open(api->path,
                                 &(struct client_options){ .start = start_daemon, .ctx = &starter },
                                 &client, &err),
                     0);
    for (int i = 0; i < 3; i++) {
        API_WAIT_STAT(api, connections, 0);
        assert_int_equal(client_call(client, "POST", "/v1/once", NULL, NULL, &err), 200);
    }
    assert_int_equal(api_done_once(api), 3);
    assert_int_equal(starter.calls, 0);
    client_close(client);
}

TEST(an_absent_daemon_is_started_once_or_the_reason_is_reported) {
    struct client *client = NULL;
    struct error err = { 0 };
    struct starter starter = { 0 };
    struct client_options options = { .start = start_daemon, .ctx = &starter };
    assert_int_equal(client_open("/nowhere/sluice.sock", &options, &client, &err), -EACCES);
    assert_string_equal(err.text, "it may not be started");
    API(api);
    starter.api = api; /* "started", but elsewhere: nothing listens there either */
    assert_int_equal(client_open("/nowhere/sluice.sock", &options, &client, &err), -ENOENT);
    assert_int_equal(starter.calls, 2);
}

/* Makes the script's second part listen where the first did. */
static int start_second(void *ctx, struct error *err) {
    struct script *second = ctx;
    (void)err;
    script_start(second);
    return 0;
}

TEST(a_daemon_that_died_is_started_again_and_asked_the_same) {
    struct script first = { .answers = { "" } }, second = { .answers = { OK_TEXT } };
    struct client *client = NULL;
    struct error err = { 0 };
    char keys[2][64];
    script_start(&first);
    (void)snprintf(second.path, sizeof(second.path), "%s", first.path);
    assert_int_equal(client_open(first.path,
                                 &(struct client_options){ .start = start_second, .ctx = &second },
                                 &client, &err),
                     0);
    /* It has taken the connection and dies with the request in its hands: nothing listens any more. */
    assert_int_equal(unlink(first.path), 0);
    assert_int_equal(client_call(client, "POST", "/v1/once", NULL, NULL, &err), 200);
    client_close(client);
    script_join(&first);
    script_join(&second);
    key_in(&first.asked[0], keys[0]);
    key_in(&second.asked[0], keys[1]);
    assert_string_equal(keys[0], keys[1]);
    script_stop(&second);
    script_stop(&first);
}

TEST(the_end_of_the_daemon_is_noticed_by_the_next_call) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    api_stop_accepting(api);
    int r = client_get(client, NULL, &err, "/v1/echo");
    assert_true(client_is_absent(r));
    assert_int_equal(err.code, r);
}
