/* test_run_door.c: two doors: runs come in with a token, the owner without one, and neither through the
 * other's. */
#include "api_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_ops.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define WITH(path, value)                                                                          \
    "GET " path " HTTP/1.1\r\nHost: sluice\r\nAuthorization: " value "\r\n\r\n"

static void listen_for_runs(struct api *api, void *arg) {
    struct api *runs = arg;
    struct error err = { 0 };
    if (server_listen_runs(api->server, runs->path, &err) < 0)
        fail_msg("%s", err.text);
}

/* The same server, seen through the other door. */
static struct api door_of_runs(struct api *api) {
    struct api runs = *api;
    (void)snprintf(runs.path, sizeof(runs.path), "%s/run.sock", api->folder);
    api_do(api, listen_for_runs, &runs);
    return runs;
}

/* Of the last echo. */
static void copy_token(struct api *api, void *arg) {
    (void)api;
    memcpy(arg, fake.token, sizeof(fake.token));
}

static void a_run_is_known_by_its_token(void **state) {
    (void)state;
    API(api);
    ANSWER(answer);
    struct api runs = door_of_runs(api);
    struct stat st;
    char token[sizeof(fake.token)];
    assert_int_equal(stat(runs.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    api_once(&runs, WITH("/v1/echo", "Bearer " TOKEN), 200, &answer);
    api_do(api, copy_token, token);
    assert_string_equal(token, TOKEN);
    api_once(api, GET("/v1/echo"), 200, &answer);
    api_do(api, copy_token, token);
    assert_string_equal(token, "");
}

static void nobody_comes_in_at_the_door_of_the_runs_without_one(void **state) {
    (void)state;
    API(api);
    struct api runs = door_of_runs(api);
    static const char *const bad[] = {
        GET("/v1/echo"),
        WITH("/v1/echo", "Basic " TOKEN),
        WITH("/v1/echo", "Bearer"),
        WITH("/v1/echo", "Bearer " TOKEN TOKEN),
        WITH("/v1/shutdown", "bearer:" TOKEN),
        ("POST /v1/shutdown HTTP/1.1\r\nHost: sluice\r\nX-Sluice-Run: web-1.1\r\n"
         "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        ANSWER(answer);
        api_once(&runs, bad[i], 403, &answer);
        ASSERT_HAS(strbuf_text(&answer.body), "SLUICE_TOKEN");
    }
    assert_false(api_stop_asked(api));
}

static void the_owners_door_takes_no_token(void **state) {
    (void)state;
    API(api);
    ANSWER(answer);
    api_once(api, WITH("/v1/echo", "Bearer " TOKEN), 403, &answer);
    ASSERT_HAS(strbuf_text(&answer.body), "a run asks at SLUICE_SOCKET");
}

static bool is_me(void *ctx, pid_t pid) {
    (void)ctx;
    return pid == getpid();
}

static void nor_a_process_of_a_run(void **state) {
    (void)state;
    API(api, .is_run = is_me);
    ANSWER(answer);
    struct api runs = door_of_runs(api);
    int fd = api_connect(api);
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 403);
    ASSERT_HAS(strbuf_text(&answer.body), "a run asks at SLUICE_SOCKET");
    close(fd);
    ANSWER(other);
    api_once(&runs, WITH("/v1/echo", "Bearer " TOKEN), 200, &other);
}

static void runs_leave_room_for_the_owner(void **state) {
    (void)state;
    API(api, .connections_max = 4);
    struct api runs = door_of_runs(api);
    int open[3];
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        open[i] = api_connect(&runs);
    ANSWER(full);
    api_read_answer(open[2], &full);
    assert_int_equal(full.status, 503);
    ANSWER(answer);
    api_once(api, GET("/v1/echo"), 200, &answer);
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        close(open[i]);
}

static void a_stream_of_events_shows_a_run_its_own(void **state) {
    (void)state;
    API(api);
    struct api runs = door_of_runs(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(&runs);
    api_send(fd, "GET /v1/events HTTP/1.1\r\nHost: sluice\r\nAccept: text/event-stream\r\n"
                 "Authorization: Bearer " TOKEN "\r\n\r\n");
    api_read_until(fd, &text, ":\n\n");
    api_event(api, 2, "of a stranger");
    api_event(api, 1, "of itself"); /* what the pretended operations let a run see */
    api_read_until(fd, &text, "of itself");
    ASSERT_HAS_NOT(strbuf_text(&text), "of a stranger");
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_known_by_its_token),
        cmocka_unit_test(nobody_comes_in_at_the_door_of_the_runs_without_one),
        cmocka_unit_test(the_owners_door_takes_no_token),
        cmocka_unit_test(nor_a_process_of_a_run),
        cmocka_unit_test(runs_leave_room_for_the_owner),
        cmocka_unit_test(a_stream_of_events_shows_a_run_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
