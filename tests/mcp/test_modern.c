/* test_modern.c: the version 2026-07-28: every request stands for itself. */
#include "harness/test.h"
#include "kit.h"

#include <errno.h>
#include <stdio.h>

TEST(discover_tells_versions_and_abilities) {
    KIT(k);
    kit_modern(&k, 1, "server/discover", "");
    const json_t *m = kit_answer_of(&k);
    ASSERT_TEXT(m, "result|resultType", "complete");
    ASSERT_TEXT(m, "result|supportedVersions|0", "2026-07-28");
    assert_int_equal(json_array_size(kit_at(m, "result|supportedVersions")), 5);
    assert_true(json_is_object(kit_at(m, "result|capabilities|tools")));
    assert_true(kit_true(m, "result|capabilities|resources|subscribe"));
    assert_null(kit_at(m, "result|capabilities|prompts"));
    ASSERT_TEXT(m, "result|_meta|io.modelcontextprotocol/serverInfo|name", "sluice");
    assert_true(kit_int(m, "result|ttlMs") >= 0);
    ASSERT_TEXT(m, "result|cacheScope", "public");
}

TEST(a_request_without_its_meta_is_refused) {
    static const char *const bad[] = {
        "{}",
        "{\"_meta\":{}}",
        "{\"_meta\":7}",
        "{\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{}}}",
        "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}",
        "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7,"
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}",
        "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":[]}}",
        "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{},"
        "\"io.modelcontextprotocol/clientInfo\":\"me\"}}",
    };
    KIT(k);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"server/discover\","
                       "\"params\":%s}",
                       bad[i]);
        kit_say(&k, text);
        const json_t *m = kit_answer_of(&k);
        ASSERT_INT(m, "error|code", -32602);
        ASSERT_TEXT(m, "id", "x");
    }
}

TEST(an_unknown_version_gets_the_supported_ones) {
    static const char *const versions[] = { "1900-01-01", "2030-01-01", "2025-11-25" };
    KIT(k);
    for (size_t i = 0; i < 3; i++) {
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_"
                       "meta\":{\"io.modelcontextprotocol/protocolVersion\":\"%s\","
                       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                       versions[i]);
        kit_say(&k, text);
        const json_t *m = kit_answer_of(&k);
        ASSERT_INT(m, "error|code", -32022);
        ASSERT_TEXT(m, "error|data|requested", versions[i]);
        ASSERT_TEXT(m, "error|data|supported|0", "2026-07-28");
    }
}

TEST(what_was_removed_is_not_there) {
    static const char *const removed[] = { "initialize",
                                           "ping",
                                           "logging/setLevel",
                                           "resources/subscribe",
                                           "resources/unsubscribe",
                                           "prompts/list",
                                           "no/such" };
    KIT(k);
    for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
        kit_modern(&k, (int)i, removed[i], "");
        ASSERT_INT(kit_answer_of(&k), "error|code", -32601);
    }
}

TEST(lists_say_how_long_they_hold) {
    static const char *const lists[] = { "tools/list", "resources/list",
                                         "resources/templates/list" };
    KIT(k);
    for (size_t i = 0; i < 3; i++) {
        kit_modern(&k, 1, lists[i], "");
        const json_t *m = kit_answer_of(&k);
        ASSERT_TEXT(m, "result|resultType", "complete");
        assert_true(kit_int(m, "result|ttlMs") > 0);
        ASSERT_TEXT(m, "result|cacheScope", "public");
        kit_modern(&k, 1, lists[i], "\"cursor\":\"x\"");
        ASSERT_INT(kit_answer_of(&k), "error|code", -32602);
    }
}

TEST(what_is_read_does_not_hold) {
    KIT(k);
    kit_modern(&k, 1, "resources/read", "\"uri\":\"sluice://task/web-17\"");
    kit_asked(&k, "task.show", "{\"id\":\"web-17\"}");
    kit_answer(&k, "task.show", "{\"id\":\"web-17\",\"state\":\"ready\"}");
    const json_t *m = kit_answer_of(&k);
    ASSERT_INT(m, "result|ttlMs", 0);
    ASSERT_TEXT(m, "result|cacheScope", "private");
    ASSERT_TEXT(m, "result|contents|0|uri", "sluice://task/web-17");
    ASSERT_TEXT(m, "result|contents|0|mimeType", "application/json");
    ASSERT_TEXT(m, "result|contents|0|text", "{\"id\":\"web-17\",\"state\":\"ready\"}");
}

TEST(addresses_lead_to_operations) {
    static const struct {
        const char *uri, *op, *params;
    } good[] = {
        { "sluice://status", "daemon.status", "{}" },
        { "sluice://tasks", "task.list", "{}" },
        { "sluice://task/17/why", "task.why", "{\"id\":\"17\"}" },
        { "sluice://task/web%2D17", "task.show", "{\"id\":\"web-17\"}" },
        { "sluice://task/web-17/log", "task.log", "{\"id\":\"web-17\",\"tail\":65536}" },
        { "sluice://task/web-17/log/2", "task.log",
          "{\"attempt\":2,\"id\":\"web-17\",\"tail\":65536}" },
    };
    KIT(k);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char params[128];
        (void)snprintf(params, sizeof(params), "\"uri\":\"%s\"", good[i].uri);
        kit_modern(&k, 1, "resources/read", params);
        kit_asked(&k, good[i].op, good[i].params);
        kit_answer(&k, good[i].op, "{}");
        ASSERT_TEXT(kit_answer_of(&k), "result|resultType", "complete");
    }
}

TEST(what_is_not_there_is_invalid) {
    static const char *const bad[] = { "sluice://",
                                       "sluice://statusx",
                                       "sluice://task/",
                                       "sluice://task//log",
                                       "sluice://task/a/logs",
                                       "sluice://task/a/log/0",
                                       "sluice://task/a/log/-1",
                                       "sluice://task/a/log/99999999999",
                                       "sluice://task/%zz",
                                       "sluice://task/%0a",
                                       "sluice://task/%ff",
                                       "file:///etc/passwd",
                                       "" };
    KIT(k);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char params[128];
        (void)snprintf(params, sizeof(params), "\"uri\":\"%s\"", bad[i]);
        kit_modern(&k, 1, "resources/read", params);
        const json_t *m = kit_answer_of(&k);
        ASSERT_INT(m, "error|code", -32602);
        ASSERT_TEXT(m, "error|data|uri", bad[i]);
    }
    kit_modern(&k, 1, "resources/read", "\"uri\":\"sluice://task/web-99\"");
    kit_refuse(&k, "task.show", -ENOENT, "there is no task 'web-99'", false);
    ASSERT_INT(kit_answer_of(&k), "error|code", -32602);
    kit_modern(&k, 1, "resources/read", "\"uri\":\"sluice://status\"");
    kit_refuse(&k, "daemon.status", -ECONNREFUSED, "no daemon runs", true);
    ASSERT_INT(kit_answer_of(&k), "error|code", -32603);
    kit_modern(&k, 1, "resources/read", "\"uri\":7");
    ASSERT_INT(kit_answer_of(&k), "error|code", -32602);
}

/* --- headers --------------------------------------------------------------------------------- */

static int status_of(const struct mcp_headers *headers, const char *text, json_int_t code) {
    KIT(k, .headers = headers);
    kit_say(&k, text);
    const json_t *m = kit_answer_of(&k);
    if (code)
        ASSERT_INT(m, "error|code", code);
    else
        assert_non_null(kit_at(m, "result"));
    assert_int_equal(mcp_open_requests(k.mcp), 0);
    return mcp_status(k.mcp);
}

TEST(headers_must_say_what_the_body_says) {
    static const char list[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}";
    static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                               "\"params\":{\"name\":\"nosuch\"," META "}}";
    static const char bare[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
    const char *v = "2026-07-28";
#define HEADERS(...) (&(struct mcp_headers){ __VA_ARGS__ })
    assert_int_equal(status_of(HEADERS(v, "tools/list", NULL), list, 0), 200);
    assert_int_equal(status_of(HEADERS(NULL, "tools/list", NULL), list, -32020), 400);
    assert_int_equal(status_of(HEADERS("2025-06-18", "tools/list", NULL), list, -32020), 400);
    assert_int_equal(status_of(HEADERS(v, NULL, NULL), list, -32020), 400);
    assert_int_equal(status_of(HEADERS(v, "Tools/List", NULL), list, -32020), 400);
    assert_int_equal(status_of(HEADERS(v, "tools/call", NULL), list, -32020), 400);
    assert_int_equal(status_of(HEADERS(v, "tools/call", NULL), call, -32020), 400);
    assert_int_equal(status_of(HEADERS(v, "tools/call", "other"), call, -32020), 400);
    assert_int_equal(status_of(HEADERS(v, "tools/call", "nosuch"), call, -32602), 200);
    assert_int_equal(status_of(HEADERS(v, "tools/call", "=?base64?bm9zdWNo?="), call, -32602), 200);
    assert_int_equal(status_of(HEADERS(v, "tools/call", "=?base64?bm9zdWN?="), call, -32020), 400);
    assert_int_equal(status_of(HEADERS(v, "tools/call", "=?base64?b=9zdWNo?="), call, -32020), 400);
    assert_int_equal(status_of(HEADERS(v, "tools/list", NULL), bare, -32602), 400);
    assert_int_equal(status_of(HEADERS("1900-01-01", NULL, NULL), bare, -32022), 400);
}

TEST(statuses_of_the_modern_way) {
    static const char unknown[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\",\"params\":{" META "}}";
    const struct mcp_headers headers = { "2026-07-28", "no/such", NULL };
    assert_int_equal(status_of(&headers, unknown, -32601), 404);
    assert_int_equal(status_of(&headers, "{", -32700), 400);
    assert_int_equal(status_of(&headers, "[]", -32600), 400);
    assert_int_equal(status_of(&headers, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", -32600),
                     400);
    KIT(k, .headers = &headers);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{}}");
    kit_silent(&k);
    assert_int_equal(mcp_status(k.mcp), 202);
}

/* --- subscriptions --------------------------------------------------------------------------- */

#define SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

TEST(listen_is_acknowledged_with_what_is_honoured) {
    KIT(k);
    kit_modern(&k, 9, "subscriptions/listen",
               "\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":["
               "\"sluice://task/web-1\",\"file:///x\",7]}");
    const json_t *m = kit_notice_of(&k, "notifications/subscriptions/acknowledged");
    ASSERT_INT(m, "params|_meta|" SUBSCRIPTION, 9);
    assert_null(kit_at(m, "params|notifications|toolsListChanged"));
    ASSERT_TEXT(m, "params|notifications|resourceSubscriptions|0", "sluice://task/web-1");
    assert_int_equal(json_array_size(kit_at(m, "params|notifications|resourceSubscriptions")), 1);
    assert_true(k.watching);
    assert_int_equal(mcp_open_requests(k.mcp), 1);
    kit_say(&k, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":9}}");
    assert_false(k.watching);
    assert_int_equal(mcp_open_requests(k.mcp), 0);
}

TEST(a_change_is_reported_once_a_second) {
    KIT(k);
    kit_modern(&k, 9, "subscriptions/listen",
               "\"notifications\":{\"resourceSubscriptions\":[\"sluice://task/web-1/log\"]}");
    (void)kit_notice_of(&k, "notifications/subscriptions/acknowledged");
    mcp_event(k.mcp, "web-2", k.now);
    kit_silent(&k);
    mcp_event(k.mcp, "web-1", k.now);
    const json_t *m = kit_notice_of(&k, "notifications/resources/updated");
    ASSERT_TEXT(m, "params|uri", "sluice://task/web-1/log");
    ASSERT_INT(m, "params|_meta|" SUBSCRIPTION, 9);
    mcp_event(k.mcp, "web-1", k.now + 10);
    mcp_event(k.mcp, "web-1", k.now + 20);
    kit_silent(&k);
    assert_int_equal(mcp_next_tick(k.mcp), k.now + 1000);
    mcp_tick(k.mcp, k.now + 1000);
    (void)kit_notice_of(&k, "notifications/resources/updated");
    assert_int_equal(mcp_next_tick(k.mcp), TIME_NEVER);
}

TEST(the_end_of_the_server_ends_a_subscription) {
    KIT(k);
    kit_modern(&k, 9, "subscriptions/listen", "\"notifications\":{}");
    (void)kit_notice_of(&k, "notifications/subscriptions/acknowledged");
    mcp_stop(k.mcp, k.now);
    const json_t *m = kit_answer_of(&k);
    ASSERT_TEXT(m, "result|resultType", "complete");
    ASSERT_INT(m, "result|_meta|" SUBSCRIPTION, 9);
}

TEST(a_bad_filter_is_refused) {
    static const char *const bad[] = { "", "\"notifications\":[]",
                                       "\"notifications\":{\"resourceSubscriptions\":{}}" };
    KIT(k);
    for (size_t i = 0; i < 3; i++) {
        kit_modern(&k, 1, "subscriptions/listen", bad[i]);
        ASSERT_INT(kit_answer_of(&k), "error|code", -32602);
    }
}
