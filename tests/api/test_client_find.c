/* test_client_find.c: of several daemons the active one is asked, and a request is the same wherever it goes. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cli/client.h"
#include "harness/client_get.h"
#include "harness/patience.h"
#include "harness/scratch.h"
#include "harness/test.h"

#define OK_ANSWER                                                                                  \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "                        \
    "13\r\n\r\n{\"well\":true}"
#define STANDBY                                                                                    \
    "{\"error\":{\"code\":\"standby\",\"message\":\"a/1 is the active one\"},\"active\":[%s]}"
#define ASKED_MAX 64

/* Answers every request with the same bytes, one for each connection. */
struct daemon {
    char path[80], place[96];
    char answer[1024];
    int listener;
    pthread_t thread;
    struct strbuf asked[ASKED_MAX];
    size_t count;
};

static char folder[SCRATCH_PATH];
static struct daemon a, b;

static void *play(void *ctx) {
    struct daemon *d = ctx;
    for (int fd; (fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 && d->count < ASKED_MAX;
         d->count++) {
        struct strbuf *asked = &d->asked[d->count];
        char buffer[4096];
        ssize_t n = 1;
        while (n > 0 && !strstr(strbuf_text(asked), "\r\n\r\n"))
            if ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0)
                strbuf_add(asked, buffer, (size_t)n);
        (void)!send(fd, d->answer, strlen(d->answer), MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        while (recv(fd, buffer, sizeof(buffer), 0) > 0)
            ;
        close(fd);
    }
    return NULL;
}

static void *(*answers_with)(void *ctx) = play;

static void name_daemon(struct daemon *d, const char *name) {
    *d = (struct daemon){ .listener = -1 };
    (void)snprintf(d->path, sizeof(d->path), "%s/%s", folder, name);
    (void)snprintf(d->place, sizeof(d->place), "unix:%s", d->path);
}

static void start_daemon(struct daemon *d, const char *answer) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(d->answer, sizeof(d->answer), "%s", answer);
    memcpy(address.sun_path, d->path, strlen(d->path) + 1);
    d->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(d->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(d->listener, 8), 0);
    assert_int_equal(pthread_create(&d->thread, NULL, answers_with, d), 0);
}

static void start_refusing(struct daemon *d, const char *body) {
    char answer[1024];
    (void)snprintf(answer, sizeof(answer),
                   "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   strlen(body), body);
    start_daemon(d, answer);
}

static void start_standby(struct daemon *d, const char *active) {
    char body[512];
    (void)snprintf(body, sizeof(body), STANDBY, active);
    start_refusing(d, body);
}

/* From now on what was asked may be looked at. */
static void stop_daemon(struct daemon *d) {
    if (d->listener < 0)
        return;
    (void)shutdown(d->listener, SHUT_RDWR);
    (void)pthread_join(d->thread, NULL);
    close(d->listener);
    (void)unlink(d->path);
    d->listener = -1;
}

static int set_up(void **state) {
    (void)state;
    scratch_make(folder, "find");
    name_daemon(&a, "a");
    name_daemon(&b, "b");
    return 0;
}

/* As if they had never been there. */
static void forget_daemons(void) {
    stop_daemon(&a);
    stop_daemon(&b);
    for (size_t i = 0; i < ASKED_MAX; i++) {
        strbuf_finish(&a.asked[i]);
        strbuf_finish(&b.asked[i]);
    }
    name_daemon(&a, "a");
    name_daemon(&b, "b");
}

/* Of time that is over, too little may have been used on a busy machine: then the same with twice of it. */
static bool has_more_time(time_ms *timeout) {
    *timeout *= 2;
    if (*timeout > patience_ms())
        return false;
    forget_daemons();
    return true;
}

static int tear_down(void **state) {
    (void)state;
    forget_daemons();
    scratch_remove(folder);
    return 0;
}

static void both(void *ctx, struct client_peers *ret) {
    static const char *addresses[2];
    (void)ctx;
    addresses[0] = a.place;
    addresses[1] = b.place;
    *ret = (struct client_peers){ .addresses = addresses, .count = 2, .token = "sl_secret" };
}

static struct client *open_with(const struct client_options *options) {
    struct client *client = NULL;
    struct error err = { 0 };
    if (client_open(a.path, options, &client, &err) < 0)
        fail_msg("cannot open: %s", err.text);
    return client;
}

static int post(struct client *client, struct error *err) {
    return client_call(client, "POST", "/v1/tasks", json_pack("{s:[]}", "tasks"), NULL, err);
}

static const char *line_of(const struct strbuf *asked, const char *name, char line[128]) {
    const char *at = strstr(strbuf_text(asked), name);
    line[0] = '\0';
    if (at)
        (void)snprintf(line, 128, "%.*s", (int)strcspn(at, "\r"), at);
    return line;
}

static void assert_same_key(void) {
    char first[128], second[128];
    assert_true(a.count > 0 && b.count > 0);
    line_of(&a.asked[0], "Idempotency-Key: ", first);
    assert_true(strlen(first) > strlen("Idempotency-Key: "));
    assert_string_equal(first, line_of(&b.asked[0], "Idempotency-Key: ", second));
}

/* --- the tests --------------------------------------------------------------------------------- */

#define CASE(name_) TEST_WITH(name_, set_up, tear_down)

CASE(a_standby_is_passed_over_and_the_key_stays) {
    struct error err = { 0 };
    start_standby(&a, "");
    start_daemon(&b, OK_ANSWER);
    struct client *client = open_with(&(struct client_options){ .peers = both });
    assert_int_equal(post(client, &err), 200);
    assert_string_equal(client_address_text(client), b.place);
    assert_string_equal(client_standby(client), "a/1 is the active one");
    client_close(client);
    stop_daemon(&a);
    stop_daemon(&b);
    assert_same_key();
}

CASE(of_what_a_standby_tells_a_socket_is_asked_and_without_a_token) {
    struct error err = { 0 };
    char active[256], line[128];
    (void)snprintf(active, sizeof(active), "\"https://127.0.0.1:1\", 7, \"%s\"", b.place);
    start_standby(&a, active);
    start_daemon(&b, OK_ANSWER);
    struct client *client = open_with(NULL);
    assert_int_equal(post(client, &err), 200);
    assert_string_equal(client_address_text(client), b.place);
    client_close(client);
    stop_daemon(&a);
    stop_daemon(&b);
    assert_int_equal(b.count, 1);
    assert_string_equal(line_of(&b.asked[0], "Authorization", line), "");
}

#define UNKNOWN "{\"error\":{\"code\":\"outcome_unknown\",\"message\":\"gone\"}}"

CASE(an_unknown_outcome_is_asked_again_where_there_is_another) {
    struct error err = { 0 };
    start_refusing(&a, UNKNOWN);
    start_daemon(&b, OK_ANSWER);
    struct client *client = open_with(&(struct client_options){ .peers = both });
    assert_int_equal(post(client, &err), 200);
    assert_string_equal(client_address_text(client), b.place);
    client_close(client);
    stop_daemon(&a);
    stop_daemon(&b);
    assert_same_key();
}

/* The next one of the same home, which cannot start before the last one has ended. */
static int start_next(void *ctx, struct error *err) {
    unsigned *tries = ctx;
    if (++*tries < 3)
        return error_set(err, -EBUSY, "the home is in use");
    name_daemon(&b, "a");
    start_daemon(&b, OK_ANSWER);
    return 0;
}

/* Ends once it has answered. */
static void *end_when_asked(void *ctx) {
    struct daemon *d = ctx;
    int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);
    char buffer[4096];
    close(d->listener);
    (void)unlink(d->path);
    while (!strstr(strbuf_text(&d->asked[0]), "\r\n\r\n")) {
        ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
        assert(n > 0);
        strbuf_add(&d->asked[0], buffer, (size_t)n);
    }
    d->count = 1;
    (void)!send(fd, d->answer, strlen(d->answer), MSG_NOSIGNAL);
    close(fd);
    return NULL;
}

static void start_ending(struct daemon *d, const char *body) {
    answers_with = end_when_asked;
    start_refusing(d, body);
    answers_with = play;
}

static void join_ended(struct daemon *d) {
    (void)pthread_join(d->thread, NULL);
    d->listener = -1;
}

CASE(an_unknown_outcome_is_asked_again_of_the_next_daemon_of_the_home) {
    struct error err = { 0 };
    unsigned tries = 0;
    start_ending(&a, UNKNOWN);
    struct client *client =
        open_with(&(struct client_options){ .start = start_next, .ctx = &tries });
    int status = post(client, &err);
    client_close(client);
    join_ended(&a);
    assert_int_equal(status, 200);
    assert_int_equal(tries, 3);
    stop_daemon(&b);
    assert_same_key();
}

CASE(an_unknown_outcome_is_reported) {
    struct error err = { 0 };
    time_ms timeout = 300;
    int r;
    do {
        start_ending(&a, UNKNOWN);
        struct client *client = open_with(&(struct client_options){ .timeout = timeout });
        r = post(client, &err);
        client_close(client);
        join_ended(&a);
    } while (r == -ETIMEDOUT && has_more_time(&timeout));
    assert_int_equal(r, -EIO);
    assert_string_equal(err.text, "gone"); /* not that no daemon answers: that is known */
}

CASE(a_daemon_that_goes_on_without_knowing_is_believed) {
    struct error err = { 0 };
    time_ms timeout = 300;
    int r;
    do {
        start_refusing(&a, UNKNOWN);
        struct client *client = open_with(&(struct client_options){ .timeout = timeout });
        r = post(client, &err);
        client_close(client);
        stop_daemon(&a);
    } while ((r == -ETIMEDOUT || a.count < 2) && has_more_time(&timeout));
    assert_int_equal(r, 503);
    assert_int_equal(err.code, -EIO);
    assert_true(a.count > 1);
}

CASE(a_question_without_a_key_is_answered_as_it_was) {
    struct error err = { 0 };
    start_refusing(&a, UNKNOWN);
    struct client *client = open_with(NULL);
    assert_int_equal(client_get(client, NULL, &err, "/v1/tasks"), 503);
    client_close(client);
    stop_daemon(&a);
    assert_int_equal(a.count, 1);
}

CASE(where_all_are_standbys_one_is_looked_for_until_the_time_is_over) {
    struct error err = { 0 };
    time_ms timeout = 300;
    int r;
    do {
        start_standby(&a, "");
        start_standby(&b, "");
        struct client *client =
            open_with(&(struct client_options){ .peers = both, .timeout = timeout });
        r = post(client, &err);
        client_close(client);
        stop_daemon(&a);
        stop_daemon(&b);
    } while ((r == -ETIMEDOUT || a.count < 2 || b.count < 2) && has_more_time(&timeout));
    assert_int_equal(r, 503);
    assert_true(client_is_absent(err.code));
    assert_true(a.count > 1 && b.count > 1); /* more than one round */
    assert_same_key();
}

CASE(one_that_is_absent_is_passed_over) {
    struct error err = { 0 };
    start_daemon(&b, OK_ANSWER);
    struct client *client = open_with(&(struct client_options){ .peers = both });
    assert_int_equal(post(client, &err), 200);
    assert_string_equal(client_address_text(client), b.place);
    assert_null(client_standby(client));
    client_close(client);
}

static void set_run(const char *socket, const char *token, const char *peers) {
    assert_int_equal(setenv("SLUICE_SOCKET", socket, 1), 0);
    assert_int_equal(setenv("SLUICE_TOKEN", token, 1), 0);
    assert_int_equal(setenv("SLUICE_PEERS", peers, 1), 0);
}

static void unset_run(void) {
    assert_int_equal(unsetenv("SLUICE_SOCKET"), 0);
    assert_int_equal(unsetenv("SLUICE_TOKEN"), 0);
    assert_int_equal(unsetenv("SLUICE_PEERS"), 0);
}

#define TOKEN "0123456789abcdef0123456789abcdef"

CASE(a_run_is_known_to_the_daemon_that_takes_over) {
    struct error err = { 0 };
    char line[128];
    for (int standby = 0; standby < 2; standby++) {
        if (standby)
            start_standby(&a, "");
        start_daemon(&b, OK_ANSWER);
        set_run(a.path, TOKEN, b.place);
        struct client *client = open_with(NULL);
        int status = post(client, &err);
        unset_run();
        client_close(client);
        stop_daemon(&b);
        assert_int_equal(status, 200);
        assert_string_equal(line_of(&b.asked[b.count - 1], "Authorization", line),
                            "Authorization: Bearer " TOKEN);
    }
}

/* What it has in its environment is for its own daemon. */
CASE(who_asks_another_daemon_has_no_peers_of_a_run) {
    struct client *client = NULL;
    struct error err = { 0 };
    start_daemon(&b, OK_ANSWER);
    set_run("/nonexistent/run.sock", TOKEN, b.place);
    int r = client_open(a.path, NULL, &client, &err);
    unset_run();
    assert_true(client_is_absent(r));
    stop_daemon(&b);
    assert_int_equal(b.count, 0);
}

static int started;

static int start(void *ctx, struct error *err) {
    (void)ctx;
    started++;
    return error_set(err, -EIO, "it was started");
}

CASE(where_there_are_addresses_no_daemon_is_started) {
    struct client *client = NULL;
    struct error err = { 0 };
    struct client_options options = { .peers = both, .start = start, .timeout = 200 };
    int r = client_open(a.path, &options, &client, &err);
    assert_true(client_is_absent(r));
    assert_non_null(strstr(err.text, a.place));
    assert_non_null(strstr(err.text, b.place));
    assert_int_equal(started, 0);
    options.peers = NULL;
    assert_int_equal(client_open(a.path, &options, &client, &err), -EIO);
    assert_int_equal(started, 1);
}
