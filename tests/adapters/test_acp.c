/* test_acp.c: what sluice-acp prints beyond the recorded runs. tests/acp has it with real processes. */
#include "fake_run.h"
#include "harness/test.h"

#define OPEN "{\"acp\":\"open\",\"session\":\"s-1\",\"resumed\":false,\"model\":\"large\"}\n"
#define UPDATE(what_)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{" what_ "}}}\n"
#define CHUNK(text_, more_)                                                                        \
    UPDATE("\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\""  \
           "" text_ "\"}" more_)
#define TOOL        UPDATE("\"sessionUpdate\":\"tool_call\",\"title\":\"ls\"")
#define END(more_)  "{\"acp\":\"end\",\"reason\":" more_ "}\n"
#define DONE        END("\"end_turn\"")
#define DENIED      "{\"acp\":\"denied\",\"tool\":\"execute\",\"argument\":\"ls\"}\n"
#define ERROR(what) "{\"acp\":\"error\",\"during\":\"session/prompt\"," what "}\n"

static struct agent_outcome outcome_of(const char *out) {
    return fake_run("acp", (struct fake_run){ .out = out });
}

static void expect(const char *out, enum agent_result result) {
    struct agent_outcome outcome = outcome_of(out);
    expect_result(&outcome, result);
}

TEST(only_the_client_has_the_final_word) {
    expect(OPEN CHUNK("Done.", ""), AGENT_CRASHED);
    expect(OPEN "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stopReason\":\"end_turn\"}}\n",
           AGENT_CRASHED);
    expect(OPEN DONE, AGENT_OK);
    expect("", AGENT_CRASHED);
}

TEST(reasons_have_results) {
    expect(OPEN END("\"max_tokens\""), AGENT_FAILED);
    expect(OPEN END("\"max_turn_requests\""), AGENT_MAX_TURNS);
    expect(OPEN END("\"refusal\""), AGENT_REFUSED);
    expect(OPEN END("\"cancelled\""), AGENT_CANCELED);
    expect(OPEN END("\"\""), AGENT_FAILED);
    expect(OPEN END("7"), AGENT_FAILED);
}

TEST(errors_have_results) {
    expect(ERROR("\"code\":-32000,\"message\":\"Authentication required\""), AGENT_AUTH);
    expect(ERROR("\"code\":-32603,\"message\":\"API Error: 529 overloaded\""), AGENT_OVERLOADED);
    expect(ERROR("\"code\":-32603,\"message\":\"unexpected status 401 Unauthorized\""), AGENT_AUTH);
    expect(ERROR("\"code\":-32603,\"message\":\"Prompt is too long\""), AGENT_CONTEXT_FULL);
    expect(ERROR("\"code\":-32603,\"message\":\"Your credit balance is too low\""), AGENT_BILLING);
    expect(ERROR("\"code\":-32603,\"message\":\"\""), AGENT_FAILED);
    struct agent_outcome limited = outcome_of(
        OPEN ERROR("\"code\":-32603,\"message\":\"You've hit your limit · resets 4:28am (UTC)\""));
    expect_result(&limited, AGENT_LIMITED);
    assert_int_equal(limited.reset_at, INT64_C(1794716880000));
    assert_string_equal(limited.session, "s-1");
    assert_string_equal(limited.model, "large");
}

TEST(a_denial_is_not_a_success) {
    struct agent_outcome outcome = outcome_of(OPEN DENIED CHUNK("All done.", "") DONE);
    expect_result(&outcome, AGENT_DENIED);
    assert_string_equal(outcome.message, "All done.");
    outcome = outcome_of(OPEN DENIED END("\"cancelled\""));
    expect_result(&outcome, AGENT_DENIED);
    assert_string_equal(outcome.message, "not permitted: execute: ls");
    expect(OPEN DENIED END("\"cancelled\",\"stopped\":true"), AGENT_CANCELED);
    expect(OPEN DENIED END("\"refusal\""), AGENT_REFUSED);
    /* The event was in a part of the log that is lost. */
    outcome = outcome_of(
        OPEN END("\"end_turn\",\"denied\":2,\"tool\":\"execute\",\"argument\":\"make\""));
    expect_result(&outcome, AGENT_DENIED);
    assert_string_equal(outcome.message, "not permitted: execute: make");
}

TEST(a_message_is_put_together) {
    struct agent_outcome outcome =
        outcome_of(OPEN CHUNK("I look. ", "") TOOL CHUNK("It is ", "") CHUNK("done.", "") DONE);
    assert_string_equal(outcome.message, "It is done.");
    outcome = outcome_of(OPEN CHUNK("One.", ",\"messageId\":\"a\"")
                             CHUNK("Two.", ",\"messageId\":\"b\"") DONE);
    assert_string_equal(outcome.message, "Two.");
}

TEST(tokens_are_those_that_are_reported) {
#define USAGE(what_) "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"usage\":{" what_ "}}}\n"
    struct agent_outcome outcome = outcome_of(OPEN DONE);
    expect_tokens(&outcome, -1, -1, -1);
    outcome =
        outcome_of(OPEN UPDATE("\"sessionUpdate\":\"usage_update\",\"used\":5,\"size\":9") DONE);
    expect_tokens(&outcome, -1, -1, -1); /* how full the context is */
    /* Cached tokens beside the input, in it, and reasoning beside the output. */
    outcome = outcome_of(OPEN USAGE("\"inputTokens\":10,\"outputTokens\":3,\"cachedReadTokens\":7,"
                                    "\"totalTokens\":20") DONE);
    expect_tokens(&outcome, 17, 3, 7);
    outcome = outcome_of(OPEN USAGE("\"inputTokens\":10,\"outputTokens\":3,\"cachedReadTokens\":7,"
                                    "\"totalTokens\":13") DONE);
    expect_tokens(&outcome, 10, 3, 7);
    outcome = outcome_of(OPEN USAGE("\"inputTokens\":10,\"outputTokens\":3,\"thoughtTokens\":4,"
                                    "\"totalTokens\":17") DONE);
    expect_tokens(&outcome, 10, 7, -1);
    outcome = outcome_of(OPEN UPDATE(
        "\"sessionUpdate\":\"usage_update\",\"cost\":{\"amount\":0.5,\"currency\":\"USD\"}") DONE);
    assert_int_equal(outcome.usage.cost_micro_usd, 500000);
    assert_int_equal(outcome.session_usage.cost_micro_usd,
                     500000); /* of the session over all runs */
    outcome = outcome_of(OPEN UPDATE(
        "\"sessionUpdate\":\"usage_update\",\"cost\":{\"amount\":0.5,\"currency\":\"EUR\"}") DONE);
    assert_int_equal(outcome.usage.cost_micro_usd, -1);
}

TEST(a_session_can_be_lost) {
    struct agent_outcome outcome =
        outcome_of("{\"acp\":\"lost\",\"session\":\"s-0\",\"message\":\"Resource not found\"}\n");
    expect_result(&outcome, AGENT_CRASHED);
    assert_true(outcome.session_is_lost);
}

TEST(the_command_is_behind_the_client) {
    static const char *const agent[] = { "codex-acp", "-c", "x=1", NULL };
    struct agent_client client = { .program = "/usr/bin/sluice-acp",
                                   .permissions = "deny",
                                   .mode = "",
                                   .words = agent,
                                   .count = 3 };
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    assert_int_equal(agent_client_command(&client, &words), 6);
    static const char expected[] =
        "/usr/bin/sluice-acp\0--permissions=deny\0--\0codex-acp\0-c\0x=1";
    assert_int_equal(words.length, sizeof(expected));
    assert_memory_equal(strbuf_text(&words), expected, sizeof(expected));
    strbuf_clear(&words);
    client.resume = "s-1";
    client.model = "large";
    client.mode = "code";
    client.auth_method = "key";
    assert_int_equal(agent_client_command(&client, &words), 10);
    assert_string_equal(agent_adapter_find("acp")->client, "sluice-acp");
    assert_null(agent_adapter_find("codex")->client);
}

TEST(an_agent_is_known_by_its_program) {
    static const struct {
        const char *words[4], *adapter;
    } cases[] = {
        { { "codex-acp" }, "codex" },
        { { "/opt/bin/claude-agent-acp" }, "claude" },
        { { "npx", "@zed-industries/codex-acp@0.16.0" }, "codex" },
        { { "gemini", "--acp" }, "gemini" },
        { { "opencode", "acp" }, "opencode" },
        { { "codexes" }, NULL },
        { { "goose", "acp" }, NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct agent_adapter *behind = agent_adapter_of_command(cases[i].words);
        if (cases[i].adapter)
            assert_string_equal(behind->name, cases[i].adapter);
        else
            assert_null(behind);
    }
}
