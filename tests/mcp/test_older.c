/* test_older.c: the versions with initialize, 2024-11-05 to 2025-11-25, and JSON-RPC itself. */
#include "harness/test.h"
#include "kit.h"

#include <errno.h>
#include <stdio.h>

#define INITIALIZE(version)                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"" version "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"

TEST(initialize_agrees_on_a_version) {
    static const char *const pairs[][2] = {
        { "2024-11-05", "2024-11-05" }, { "2025-03-26", "2025-03-26" },
        { "2025-06-18", "2025-06-18" }, { "2025-11-25", "2025-11-25" },
        { "1999-01-01", "2025-11-25" }, { "2026-07-28", "2025-11-25" },
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char text[256];
        KIT(k);
        (void)snprintf(text, sizeof(text),
                       "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"initialize\",\"params\":{"
                       "\"protocolVersion\":\"%s\",\"capabilities\":{}}}",
                       pairs[i][0]);
        kit_say(&k, text);
        const json_t *m = kit_answer_of(&k);
        ASSERT_TEXT(m, "id", "a");
        ASSERT_TEXT(m, "result|protocolVersion", pairs[i][1]);
        ASSERT_TEXT(m, "result|serverInfo|name", "sluice");
        assert_true(json_is_object(kit_at(m, "result|capabilities|tools")));
        assert_true(json_is_object(kit_at(m, "result|capabilities|resources")));
        assert_null(kit_at(m, "result|resultType"));
        kit_say(&k, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
        assert_int_equal(json_object_size(kit_at(kit_answer_of(&k), "result")), 0);
        kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
        m = kit_answer_of(&k);
        assert_true(json_array_size(kit_at(m, "result|tools")) > 8);
        assert_null(kit_at(m, "result|ttlMs"));
    }
    KIT(k);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}");
    ASSERT_INT(kit_answer_of(&k), "error|code", -32602);
}

TEST(both_eras_on_one_line) {
    KIT(k);
    kit_say(&k, INITIALIZE("2025-06-18"));
    (void)kit_answer_of(&k);
    kit_modern(&k, 1, "tools/list", "");
    ASSERT_TEXT(kit_answer_of(&k), "result|resultType", "complete");
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}");
    assert_null(kit_at(kit_answer_of(&k), "result|resultType"));
}

TEST(what_only_the_modern_way_has_needs_it) {
    KIT(k);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{}}");
    ASSERT_INT(kit_answer_of(&k), "error|code", -32602);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\",\"params\":{}}");
    ASSERT_INT(kit_answer_of(&k), "error|code", -32601);
}

#define SUBSCRIBE(id, method, uri)                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"resources/" method                            \
    "\",\"params\":{\"uri\":\"" uri "\"}}"

TEST(subscribed_resources_are_reported_until_unsubscribed) {
    KIT(k);
    kit_say(&k, INITIALIZE("2025-06-18"));
    assert_true(kit_true(kit_answer_of(&k), "result|capabilities|resources|subscribe"));
    assert_false(k.watching);
    kit_say(&k, SUBSCRIBE("1", "subscribe", "sluice://task/web-1"));
    assert_int_equal(json_object_size(kit_at(kit_answer_of(&k), "result")), 0);
    kit_say(&k, SUBSCRIBE("2", "subscribe", "sluice://task/web-1")); /* once is enough */
    assert_int_equal(json_object_size(kit_at(kit_answer_of(&k), "result")), 0);
    kit_say(&k, SUBSCRIBE("3", "subscribe", "sluice://status"));
    (void)kit_answer_of(&k);
    assert_true(k.watching);
    assert_int_equal(mcp_open_requests(k.mcp), 0);
    mcp_event(k.mcp, "web-2", k.now);
    const json_t *m = kit_notice_of(&k, "notifications/resources/updated");
    ASSERT_TEXT(m, "params|uri", "sluice://status");
    assert_null(kit_at(m, "params|_meta"));
    kit_silent(&k);
    mcp_event(k.mcp, "web-1", k.now);
    ASSERT_TEXT(kit_notice_of(&k, "notifications/resources/updated"), "params|uri",
                "sluice://task/web-1");
    kit_silent(&k); /* the status was reported a moment ago */
    assert_int_equal(mcp_next_tick(k.mcp), k.now + 1000);
    mcp_tick(k.mcp, k.now + 1000);
    ASSERT_TEXT(kit_notice_of(&k, "notifications/resources/updated"), "params|uri",
                "sluice://status");
    assert_int_equal(mcp_next_tick(k.mcp), TIME_NEVER);
    kit_say(&k, SUBSCRIBE("4", "unsubscribe", "sluice://status"));
    assert_int_equal(json_object_size(kit_at(kit_answer_of(&k), "result")), 0);
    assert_true(k.watching);
    kit_say(&k, SUBSCRIBE("5", "unsubscribe", "sluice://task/web-1"));
    (void)kit_answer_of(&k);
    assert_false(k.watching);
    mcp_event(k.mcp, "web-1", k.now + 5000);
    kit_silent(&k);
    kit_say(&k,
            SUBSCRIBE("6", "unsubscribe", "sluice://task/web-1")); /* nothing to do is no error */
    assert_int_equal(json_object_size(kit_at(kit_answer_of(&k), "result")), 0);
}

TEST(what_cannot_be_subscribed_to_is_refused) {
    const struct mcp_headers headers = { .version = "2025-06-18" };
    char text[256];
    KIT(k);
    kit_say(&k, SUBSCRIBE("1", "subscribe", "file:///x"));
    ASSERT_INT(kit_answer_of(&k), "error|code", -32002);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\"}");
    ASSERT_INT(kit_answer_of(&k), "error|code", -32602);
    assert_false(k.watching);
    for (int i = 0; i < 65; i++) {
        (void)snprintf(text, sizeof(text), SUBSCRIBE("%d", "subscribe", "sluice://task/web-%d"), i,
                       i);
        kit_say(&k, text);
        const json_t *m = kit_answer_of(&k);
        if (i < 64)
            assert_non_null(kit_at(m, "result"));
        else
            ASSERT_INT(m, "error|code", -32602);
    }
    KIT(http, .headers = &headers);
    kit_say(&http, INITIALIZE("2025-06-18"));
    assert_true(kit_false(kit_answer_of(&http), "result|capabilities|resources|subscribe"));
    kit_say(&http, SUBSCRIBE("1", "subscribe", "sluice://status"));
    ASSERT_INT(kit_answer_of(&http), "error|code", -32601);
    assert_false(http.watching);
}

TEST(an_older_client_gets_its_error_for_a_missing_resource) {
    KIT(k);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
                "\"sluice://nothing\"}}");
    ASSERT_INT(kit_answer_of(&k), "error|code", -32002);
}

/* Results as an object are there since 2025-06-18. */
TEST(structured_content_comes_with_its_version) {
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
        "\"name\":\"status\"}}";
    KIT(old);
    kit_say(&old, INITIALIZE("2025-03-26"));
    (void)kit_answer_of(&old);
    kit_say(&old, call);
    kit_answer(&old, "daemon.status", "{\"paused\":false}");
    const json_t *m = kit_answer_of(&old);
    ASSERT_TEXT(m, "result|content|0|text", "{\"paused\":false}");
    assert_null(kit_at(m, "result|structuredContent"));
    KIT(young);
    kit_say(&young, INITIALIZE("2025-06-18"));
    (void)kit_answer_of(&young);
    kit_say(&young, call);
    kit_answer(&young, "daemon.status", "{\"paused\":false}");
    assert_true(kit_false(kit_answer_of(&young), "result|structuredContent|paused"));
}

/* --- JSON-RPC -------------------------------------------------------------------------------- */

TEST(what_is_no_message_is_refused) {
    static const struct {
        const char *text;
        int code;
    } bad[] = {
        { "", -32700 },
        { "{", -32700 },
        { "{} {}", -32700 },
        { "nonsense", -32700 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32700 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\\u0000ng\"}", -32700 },
        { "\xff", -32700 },
        { "42", -32600 },
        { "\"ping\"", -32600 },
        { "{}", -32600 },
        { "{\"id\":1,\"method\":\"ping\"}", -32600 },
        { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", -32602 },
        { "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600 },
    };
    KIT(k);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        kit_say(&k, bad[i].text);
        ASSERT_INT(kit_answer_of(&k), "error|code", bad[i].code);
    }
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    assert_non_null(kit_at(kit_answer_of(&k), "result"));
}

TEST(notifications_and_answers_get_none) {
    KIT(k);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\",\"params\":[1]}");
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":77}}");
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
    kit_silent(&k);
}

TEST(a_canceled_request_is_not_answered) {
    KIT(k);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"status\"}}");
    assert_int_equal(k.ask_count, 1);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":\"c\"}}");
    assert_int_equal(k.dropped, 1);
    assert_int_equal(mcp_open_requests(k.mcp), 0);
    kit_silent(&k);
}

TEST(an_id_counts_once_and_requests_are_bounded) {
    KIT(k);
    for (int i = 0; i < 65; i++) {
        char text[128];
        (void)snprintf(text, sizeof(text),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                       "\"name\":\"status\"}}",
                       i);
        kit_say(&k, text);
    }
    assert_int_equal(mcp_open_requests(k.mcp), 64);
    ASSERT_INT(kit_answer_of(&k), "error|code", -32603);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
    ASSERT_INT(kit_answer_of(&k), "error|code", -32600);
}

TEST(a_long_message_is_refused) {
    KIT(k);
    char *text = test_malloc(MCP_MESSAGE_MAX + 1);
    memset(text, ' ', MCP_MESSAGE_MAX + 1);
    mcp_receive(k.mcp, text, MCP_MESSAGE_MAX + 1, k.now);
    test_free(text);
    ASSERT_INT(kit_answer_of(&k), "error|code", -32600);
}

/* 2025-03-26 has batches; over HTTP that is who names no version. */
TEST(a_batch_is_answered_as_one) {
    static const char batch[] =
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"status\"}},"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"},"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"no/such\"},7]";
    const struct mcp_headers headers = { 0 };
    KIT(k, .headers = &headers);
    kit_say(&k, batch);
    kit_silent(&k);
    kit_answer(&k, "daemon.status", "{}");
    const json_t *m = kit_answer_of(&k);
    assert_int_equal(json_array_size(m), 4);
    ASSERT_INT(m, "0|id", 1);
    ASSERT_INT(m, "1|error|code", -32601);
    ASSERT_INT(m, "2|error|code", -32600);
    ASSERT_INT(m, "3|id", 2);
    KIT(stdio);
    kit_say(&stdio, INITIALIZE("2025-03-26"));
    (void)kit_answer_of(&stdio);
    kit_say(&stdio, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]");
    kit_silent(&stdio);
    kit_say(&stdio, "[]");
    ASSERT_INT(kit_answer_of(&stdio), "error|code", -32600);
    kit_say(&stdio, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
                    "\"status\"}}]");
    /* freed with the question open: nothing is sent, nothing leaks */
}

TEST(statuses_of_the_older_way) {
    static const struct {
        const char *version, *text;
        int status;
    } rows[] = {
        { NULL, INITIALIZE("2025-11-25"), 200 },
        { NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 202 },
        { "2025-06-18", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 202 },
        { "2025-06-18", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", 200 },
        { "2025-06-18", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", 400 },
        { "2025-06-18", "{", 400 },
        { "1999-01-01", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 400 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct mcp_headers headers = { .version = rows[i].version };
        KIT(k, .headers = &headers);
        kit_say(&k, rows[i].text);
        k.seen = json_array_size(k.sent);
        assert_int_equal(mcp_status(k.mcp), rows[i].status);
    }
}
