/* test_copilot.c: what Copilot prints beyond the recorded runs, and the file with its tokens. */
#include "fake_run.h"
#include "harness/test.h"

#define TURN "{\"type\":\"assistant.turn_start\",\"data\":{\"turnId\":\"0\"}}\n"
#define MESSAGE(text_)                                                                             \
    "{\"type\":\"assistant.message\",\"data\":{\"model\":\"m\",\"content\":\"" text_ "\"}}\n"
#define CALL_FAILED(status_)                                                                       \
    "{\"type\":\"model.call_failure\",\"data\":{\"statusCode\":" status_                           \
    ",\"errorMessage\":\"{\\\"message\\\":\\\"Slow down\\\"}\"}}\n"
#define CALL_DONE    "{\"type\":\"model.call_finished\",\"data\":{\"outcome\":\"success\"}}\n"
#define ERROR(data_) "{\"type\":\"session.error\",\"data\":{" data_ "}}\n"
#define RESULT(code_)                                                                              \
    "{\"type\":\"result\",\"sessionId\":\"c-1\",\"exitCode\":" code_                               \
    ",\"usage\":{\"premiumRequests\":1}}\n"
#define USAGE                                                                                      \
    "{\n  \"totalPremiumRequestCost\": 1,\n  \"modelMetrics\": {\n"                                \
    "    \"a\": {\"usage\": {\"inputTokens\": 100, \"outputTokens\": 25, \"cacheReadTokens\": "    \
    "40, \"cacheWriteTokens\": 0}},\n"                                                             \
    "    \"b\": {\"usage\": {\"inputTokens\": 10, \"outputTokens\": 5, \"cacheReadTokens\": 1}}\n" \
    "  }\n}\n"

static void expect_error(const char *data, enum agent_result result) {
    struct agent_outcome outcome = fake_run("copilot", (struct fake_run){ .out = data, .code = 1 });
    expect_result(&outcome, result);
}

TEST(only_a_result_is_its_last_word) {
    struct agent_outcome outcome =
        fake_run("copilot", (struct fake_run){ .out = TURN MESSAGE("Done.") });
    expect_result(&outcome, AGENT_CRASHED);
    outcome = fake_run("copilot", (struct fake_run){ .out = TURN MESSAGE("Done.") RESULT("0") });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.message, "Done.");
    assert_string_equal(outcome.session, "c-1");
    assert_string_equal(outcome.model, "m");
    outcome = fake_run("copilot", (struct fake_run){ .out = TURN MESSAGE("Done.") RESULT("1") });
    expect_result(&outcome, AGENT_FAILED); /* its own word, whatever the process says */
    outcome = fake_run("copilot",
                       (struct fake_run){ .out = TURN MESSAGE("Done.") RESULT("0"), .code = 1 });
    expect_result(&outcome, AGENT_FAILED);
    outcome = fake_run("copilot",
                       (struct fake_run){ .out = "{\"type\":\"result\",\"sessionId\":\"c-1\"}\n" });
    expect_result(&outcome, AGENT_FAILED);
}

TEST(a_message_without_text_keeps_the_one_before) {
    struct agent_outcome outcome = fake_run(
        "copilot", (struct fake_run){ .out = TURN MESSAGE("I look.") MESSAGE("") RESULT("0") });
    assert_string_equal(outcome.message, "I look.");
}

TEST(subagents_do_not_decide_the_outcome) {
    struct agent_outcome outcome = fake_run(
        "copilot",
        (struct fake_run){
            .out = TURN MESSAGE("Mine.") "{\"type\":\"assistant.message\",\"agentId\":\"x\","
                                         "\"data\":{\"content\":\"Not mine.\"}}\n"
                                         "{\"type\":\"session.error\",\"agentId\":\"x\","
                                         "\"data\":{\"errorType\":\"quota\"}}\n" RESULT("0") });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.message, "Mine.");
}

TEST(tokens_come_from_its_file) {
    struct agent_outcome outcome = fake_run(
        "copilot", (struct fake_run){ .out = TURN MESSAGE("Done.") RESULT("0"), .usage = USAGE });
    expect_result(&outcome, AGENT_OK);
    expect_tokens(&outcome, 110, 30, 41);
    assert_false(outcome.is_short);
    /* They are of the session, over all runs. */
    struct agent_prior_usage before = { .session = "c-1",
                                        .used = { 100, 10, 40, -1 },
                                        .resumes = true };
    outcome = fake_run("copilot", (struct fake_run){ .out = TURN MESSAGE("Done.") RESULT("0"),
                                                     .usage = USAGE,
                                                     .before = &before });
    expect_tokens(&outcome, 10, 20, 1);
    assert_int_equal(outcome.session_usage.in, 110);
    assert_int_equal(outcome.usage.cost_micro_usd, -1); /* credits are no money */
    outcome = fake_run("copilot", (struct fake_run){ .out = TURN RESULT("0") });
    expect_tokens(&outcome, -1, -1, -1);
    outcome = fake_run(
        "copilot", (struct fake_run){ .out = TURN RESULT("0"), .usage = "{\"modelMetrics\":{" });
    expect_tokens(&outcome, -1, -1, -1);
    outcome = fake_run("copilot", (struct fake_run){ .out = TURN USAGE RESULT("0") });
    expect_tokens(&outcome, -1, -1, -1); /* in its output it would be a tool's */
}

TEST(the_file_is_no_last_word) {
    struct agent_outcome outcome = fake_run(
        "copilot", (struct fake_run){ .out = TURN MESSAGE("Done."), .usage = USAGE RESULT("0") });
    expect_result(&outcome, AGENT_CRASHED);
    expect_tokens(&outcome, 110, 30, 41);
}

TEST(each_error_has_its_meaning) {
    expect_error(ERROR("\"errorType\":\"authorization\",\"message\":\"x\"") RESULT("1"),
                 AGENT_AUTH);
    expect_error(ERROR("\"errorType\":\"quota\",\"statusCode\":402,\"message\":\"x\"") RESULT("1"),
                 AGENT_BILLING);
    expect_error(ERROR("\"errorType\":\"rate_limit\",\"statusCode\":429,\"message\":\"x\"")
                     RESULT("1"),
                 AGENT_LIMITED);
    expect_error(ERROR("\"errorType\":\"context_limit\",\"message\":\"x\"") RESULT("1"),
                 AGENT_CONTEXT_FULL);
    expect_error(ERROR("\"errorType\":\"query\",\"statusCode\":503,\"message\":\"x\"") RESULT("1"),
                 AGENT_OVERLOADED);
    expect_error(ERROR("\"errorType\":\"query\",\"message\":\"fetch failed\"") RESULT("1"),
                 AGENT_OVERLOADED);
    expect_error(ERROR("\"errorType\":\"query\",\"message\":\"x\"") RESULT("1"), AGENT_FAILED);
    expect_error(ERROR("") RESULT("1"), AGENT_FAILED);
    /* Its error stays when it calls the run good. */
    struct agent_outcome outcome = fake_run(
        "copilot", (struct fake_run){ .out = TURN MESSAGE("I look.")
                                          ERROR("\"errorType\":\"rate_limit\",\"message\":\"x\"")
                                              RESULT("0") });
    expect_result(&outcome, AGENT_LIMITED);
}

TEST(a_limit_may_have_its_time) {
    struct agent_outcome outcome =
        fake_run("copilot",
                 (struct fake_run){
                     .out = ERROR("\"errorType\":\"rate_limit\",\"message\":\"Sorry, you've hit a "
                                  "rate limit. Please try again in 2 hours.\"") RESULT("1"),
                     .code = 1 });
    expect_result(&outcome, AGENT_LIMITED);
    assert_int_equal(outcome.reset_at, FAKE_NOW + HOURS(2));
    outcome = fake_run(
        "copilot",
        (struct fake_run){
            .out =
                ERROR("\"errorType\":\"rate_limit\",\"message\":\"Sorry, you've exceeded "
                      "your 5 hour session limits. Please retry after 2733 seconds.\"") RESULT("1"),
            .code = 1 });
    assert_int_equal(outcome.reset_at, FAKE_NOW + SECONDS(2733));
}

TEST(it_waits_after_a_failed_call) {
    assert_true(fake_progress("copilot", TURN CALL_FAILED("429"), "").is_waiting);
    assert_true(fake_progress("copilot", TURN CALL_FAILED("503"), "").is_waiting);
    assert_false(fake_progress("copilot", TURN CALL_FAILED("401"), "").is_waiting);
    assert_false(fake_progress("copilot", TURN CALL_FAILED("429") CALL_DONE, "").is_waiting);
    struct agent_outcome outcome =
        fake_run("copilot", (struct fake_run){ .out = TURN CALL_FAILED("429"), .signal = 9 });
    expect_result(&outcome, AGENT_CRASHED);
    assert_string_equal(outcome.message, "Slow down");
    outcome = fake_run("copilot",
                       (struct fake_run){ .out = TURN CALL_FAILED("429") MESSAGE("") RESULT("0") });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.message, "");
}

TEST(being_interrupted_is_a_last_word) {
    static const char lines[] = TURN "{\"type\":\"abort\",\"data\":{\"reason\":\"user_abort\"}}\n";
    struct agent_outcome outcome =
        fake_run("copilot", (struct fake_run){ .out = lines, .code = 130 });
    expect_result(&outcome, AGENT_CANCELED);
    outcome =
        fake_run("copilot", (struct fake_run){ .out = lines, .code = 130, .by = AGENT_BY_TIMEOUT });
    expect_result(&outcome, AGENT_TIMEOUT);
}

TEST(what_was_not_permitted_is_remembered) {
    struct agent_outcome outcome = fake_run(
        "copilot",
        (struct fake_run){ .out = TURN "{\"type\":\"permission.completed\",\"data\":{\"result\":"
                                       "{\"kind\":\"denied-by-rules\"}}}\n" MESSAGE("Done.")
                                           RESULT("0") });
    expect_result(&outcome, AGENT_DENIED);
}

/* A person can be asked. */
TEST(at_a_terminal_it_has_the_settings_of_the_run) {
    static const char *const more[] = { "-s", "--no-ask-user", "--allow-tool=write", NULL };
    expect_command(
        "copilot",
        &(struct agent_launch){
            .is_interactive = true, .session = "u-1", .model = "m", .usage_file = "/r/usage.json" },
        "copilot --allow-all-tools --no-auto-update --model m "
        "--usage-output-file /r/usage.json --session-id u-1");
    expect_command("copilot",
                   &(struct agent_launch){ .is_interactive = true, .resume = "u-1", .more = more },
                   "copilot --no-auto-update --allow-tool=write --resume=u-1");
}

TEST(its_session_and_its_file_can_be_chosen) {
    expect_command(
        "copilot",
        &(struct agent_launch){ .session = "u-1", .model = "m", .usage_file = "/r/usage.json" },
        "copilot --output-format json --allow-all-tools --no-ask-user --no-auto-update "
        "--model m --usage-output-file /r/usage.json --session-id u-1");
    expect_command("copilot", &(struct agent_launch){ .resume = "u-1" },
                   "copilot --output-format json --allow-all-tools --no-ask-user --no-auto-update "
                   "--resume=u-1");
    expect_command(
        "copilot",
        &(struct agent_launch){ .more = (const char *const[]){ "--allow-tool=write", NULL } },
        "copilot --output-format json --no-ask-user --no-auto-update --allow-tool=write");
    assert_string_equal(agent_adapter_find("copilot")->usage_file_name, "usage.json");
    assert_null(agent_adapter_find("codex")->usage_file_name);
}
