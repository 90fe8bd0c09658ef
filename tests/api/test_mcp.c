/* test_mcp.c: POST /mcp: who is let in, which status an answer has, and when it is a stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_fixture.h"
#include "fake_ops.h"
#include "harness/test.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN(method) "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " method "\r\n"
#define DISCOVER                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}"

/* A request; `head`: more header lines. */
static void print_post(struct strbuf *out, const char *head, const char *body) {
    strbuf_clear(out);
    strbuf_printf(out,
                  "POST /mcp HTTP/1.1\r\n%s%sContent-Type: application/json\r\nAccept: "
                  "application/json, text/event-stream\r\nContent-Length: %zu\r\n\r\n%s",
                  strstr(head, "Host:") ? "" : "Host: localhost:7700\r\n", head, strlen(body),
                  body);
}

static void ask(struct api *api, const char *head, const char *body, int status,
                struct api_answer *ret) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    print_post(&text, head, body);
    api_once(api, strbuf_text(&text), status, ret);
}

static void send_post(int fd, const char *head, const char *body) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    print_post(&text, head, body);
    api_send(fd, strbuf_text(&text));
}

/* --- who is let in --------------------------------------------------------------------------- */

TEST(only_this_machine_is_let_in) {
    static const struct {
        const char *head;
        int status;
    } rows[] = {
        { "Host: localhost\r\n", 200 },
        { "Host: 127.0.0.1:7700\r\n", 200 },
        { "Host: [::1]:7700\r\n", 200 },
        { "Host: sluice\r\n", 200 },
        { "Host: evil.example.com\r\n", 403 },
        { "Host: localhost.evil.example.com\r\n", 403 },
        { "Host: localhost:7700evil\r\n", 403 },
        { "Host: localhost\r\nOrigin: http://localhost:3000\r\n", 200 },
        { "Host: localhost\r\nOrigin: http://evil.example.com\r\n", 403 },
        { "Host: localhost\r\nOrigin: http://localhost.evil.example.com\r\n", 403 },
        { "Host: localhost\r\nOrigin: null\r\n", 403 },
        { "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403 },
    };
    API(api);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ANSWER(answer);
        char head[256];
        (void)snprintf(head, sizeof(head), "%s%s", rows[i].head, MODERN("server/discover"));
        ask(api, head, DISCOVER, rows[i].status, &answer);
    }
}

TEST(only_post_and_json_are_taken) {
    API(api);
    ANSWER(answer);
    api_once(api, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", 405,
             &answer);
    ASSERT_HAS(answer.head.text, "Allow: POST\r\n");
    ANSWER(deleted);
    api_once(api, "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, &deleted);
    ANSWER(plain);
    api_once(api,
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
             "Content-Length: 2\r\n\r\n{}",
             415, &plain);
    ANSWER(run);
    ask(api, "X-Sluice-Run: no run\r\n" MODERN("server/discover"), DISCOVER, 400, &run);
}

/* --- one answer ------------------------------------------------------------------------------ */

TEST(a_request_has_one_json_answer) {
    API(api);
    ANSWER(answer);
    ask(api, MODERN("server/discover"), DISCOVER, 200, &answer);
    ASSERT_HAS(answer.head.text, "Content-Type: application/json\r\n");
    ASSERT_HAS(strbuf_text(&answer.body), "\"supportedVersions\"");
    ASSERT_HAS_NOT(answer.head.text, "Mcp-Session-Id");
    ANSWER(older);
    ask(api, "",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-06-18\",\"capabilities\":{}}}",
        200, &older);
    ASSERT_HAS(strbuf_text(&older.body), "\"protocolVersion\":\"2025-06-18\"");
}

TEST(errors_have_their_status) {
    API(api);
    ANSWER(unknown);
    ask(api, MODERN("no/such"),
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"no/such\",\"params\":{" META "}}", 404,
        &unknown);
    ASSERT_HAS(strbuf_text(&unknown.body), "\"id\":7,\"error\":{\"code\":-32601");
    ANSWER(mismatch);
    ask(api, MODERN("tools/list"), DISCOVER, 400, &mismatch);
    ASSERT_HAS(strbuf_text(&mismatch.body), "\"code\":-32020");
    ANSWER(junk);
    ask(api, "", "{", 400, &junk);
    ASSERT_HAS(strbuf_text(&junk.body), "\"code\":-32700");
}

TEST(a_notification_is_accepted) {
    API(api);
    ANSWER(answer);
    ask(api, "", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 202, &answer);
    assert_int_equal(answer.body.length, 0);
}

TEST(a_tool_reaches_its_operation) {
    API(api);
    ANSWER(answer);
    ask(api, "X-Sluice-Run: web-17.2\r\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"status\"}}",
        200, &answer);
    ASSERT_HAS(strbuf_text(&answer.body), "\\\"op\\\":\\\"daemon.status\\\"");
    ASSERT_HAS(strbuf_text(&answer.body), "\\\"caller\\\":\\\"web-17.2\\\"");
    ANSWER(none);
    ask(api, "",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"why\","
        "\"arguments\":{\"task\":\"1\"}}}",
        200, &none);
    ASSERT_HAS(strbuf_text(&none.body), "\"isError\":true"); /* it is not one of the fake ones */
}

TEST(a_log_is_read_from_its_file) {
    char path[192];
    API(api);
    ANSWER(answer);
    api_log_path(api, "out.log", path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs("0123456789", file) >= 0 && fclose(file) == 0);
    api_log(api, "out.log", 4, false);
    ask(api, "",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
        "\"sluice://task/1/log\"}}",
        200, &answer);
    ASSERT_HAS(strbuf_text(&answer.body), "\"text\":\"456789\"");
}

/* --- streams --------------------------------------------------------------------------------- */

#define WAIT(more)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"task_wait\","  \
    "\"arguments\":{\"tasks\":[\"web-1\"]}" more "}}"

static void set_state(struct api *api, void *arg) {
    (void)api;
    fake.task_state = arg;
}

TEST(a_wait_with_progress_is_a_stream) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    api_do(api, set_state, (void *)(uintptr_t) "running");
    int fd = api_connect(api);
    send_post(fd, "", WAIT(",\"_meta\":{\"progressToken\":5}"));
    api_read_until(fd, &text, "web-1 is running");
    ASSERT_HAS(text.text, "Content-Type: text/event-stream\r\n");
    ASSERT_HAS(text.text, "X-Accel-Buffering: no\r\n");
    api_do(api, set_state, (void *)(uintptr_t) "done");
    api_event(api, 1, "{}");
    api_read_until(fd, &text, "\r\n0\r\n\r\n");
    ASSERT_HAS(text.text, "\\\"ended\\\":true");
    ANSWER(next); /* the connection stays open */
    send_post(fd, MODERN("server/discover"), DISCOVER);
    api_read_answer(fd, &next);
    assert_int_equal(next.status, 200);
    close(fd);
}

TEST(a_wait_without_progress_is_one_answer) {
    API(api);
    ANSWER(answer);
    api_do(api, set_state, (void *)(uintptr_t) "running");
    int fd = api_connect(api);
    send_post(fd, "", WAIT(""));
    API_WAIT_STAT(api, requests, 1);
    api_do(api, set_state, (void *)(uintptr_t) "failed");
    api_event(api, 1, "{}");
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 200);
    ASSERT_HAS(strbuf_text(&answer.body), "\\\"ended\\\":true");
    close(fd);
}

#define LISTEN                                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":\"L\",\"method\":\"subscriptions/listen\",\"params\":{"           \
    "\"notifications\":{\"resourceSubscriptions\":[\"sluice://task/web-1\"]}," META "}}"

TEST(a_subscription_tells_of_its_task) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    send_post(fd, MODERN("subscriptions/listen"), LISTEN);
    api_read_until(fd, &text, "notifications/subscriptions/acknowledged");
    api_event(api, 2, "{}");
    api_event(api, 1, "{}");
    api_read_until(fd, &text, "notifications/resources/updated");
    ASSERT_HAS(text.text, "\"io.modelcontextprotocol/subscriptionId\":\"L\"");
    close(fd);
    API_WAIT_STAT(api, connections, 0);
    api_event(api, 1, "{}"); /* no client is left */
}

TEST(a_silent_subscription_shows_that_it_lives) {
    API(api, .comment_every = 20);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    send_post(fd, MODERN("subscriptions/listen"), LISTEN);
    api_read_until(fd, &text, "\r\n:\n\n\r\n");
    close(fd);
}

TEST(streams_are_bounded) {
    API(api, .streams_max = 1);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    ANSWER(answer);
    int fd = api_connect(api);
    send_post(fd, MODERN("subscriptions/listen"), LISTEN);
    api_read_until(fd, &text, "acknowledged");
    ask(api, MODERN("subscriptions/listen"), LISTEN, 503, &answer);
    close(fd);
    API_WAIT_STAT(api, connections, 0);
    fd = api_connect(api);
    strbuf_clear(&text);
    send_post(fd, MODERN("subscriptions/listen"), LISTEN);
    api_read_until(fd, &text, "acknowledged"); /* the place is free again */
    close(fd);
}

TEST(the_end_of_the_daemon_ends_streams) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    send_post(fd, MODERN("subscriptions/listen"), LISTEN);
    api_read_until(fd, &text, "acknowledged");
    api_stop_accepting(api);
    api_read_all(fd, &text);
    ASSERT_HAS(text.text, "\"resultType\":\"complete\"");
    close(fd);
}

TEST(a_client_that_goes_ends_what_it_waited_for) {
    API(api);
    api_do(api, set_state, NULL); /* the question is not answered */
    int fd = api_connect(api);
    send_post(fd, "", WAIT(""));
    api_wait_for_calls(api, 1);
    close(fd);
    api_wait_for_abandoned(api, 1);
    API_WAIT_STAT(api, connections, 0);
}
