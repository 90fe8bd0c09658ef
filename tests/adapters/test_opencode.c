/* test_opencode.c: what opencode prints beyond the recorded runs. */
#include "fake_run.h"
#include "harness/test.h"

#define START                                                                                      \
    "{\"type\":\"step_start\",\"sessionID\":\"ses_1\",\"part\":{\"type\":\"step-start\"}}\n"
#define TEXT(text_)                                                                                \
    "{\"type\":\"text\",\"sessionID\":\"ses_1\",\"part\":{\"type\":\"text\",\"text\":\"" text_     \
    "\"}}\n"
#define FINISH(reason_, tokens_)                                                                   \
    "{\"type\":\"step_finish\",\"sessionID\":\"ses_1\",\"part\":{\"reason\":\"" reason_            \
    "\",\"tokens\":" tokens_ "}}\n"
#define SOME                                                                                       \
    "{\"total\":17,\"input\":10,\"output\":3,\"reasoning\":0,\"cache\":{\"write\":1,\"read\":3}}," \
    "\"cost\":0.002"
#define ERROR(name_, data_)                                                                        \
    "{\"type\":\"error\",\"timestamp\":1794711000000,\"sessionID\":\"ses_1\",\"error\":{\"name\":" \
    "\"" name_ "\",\"data\":" data_ "}}\n"

static void expect_error(const char *lines, enum agent_result result) {
    struct agent_outcome outcome =
        fake_run("opencode", (struct fake_run){ .out = lines, .code = 1 });
    expect_result(&outcome, result);
}

TEST(the_last_step_is_one_that_stops) {
    struct agent_outcome outcome = fake_run(
        "opencode", (struct fake_run){ .out = START TEXT("I look.") FINISH("tool-calls", SOME) });
    expect_result(&outcome, AGENT_CRASHED);
    outcome = fake_run("opencode", (struct fake_run){ .out = START FINISH("stop", SOME) START });
    expect_result(&outcome, AGENT_CRASHED);
    outcome =
        fake_run("opencode", (struct fake_run){ .out = START TEXT("Done.") FINISH("stop", SOME) });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.message, "Done.");
    assert_string_equal(outcome.session, "ses_1");
    outcome =
        fake_run("opencode", (struct fake_run){ .out = START FINISH("stop", SOME), .code = 1 });
    expect_result(&outcome, AGENT_FAILED);
}

TEST(a_step_that_was_cut_off_is_no_success) {
    expect_error(START FINISH("length", SOME), AGENT_FAILED);
    expect_error(START FINISH("error", SOME), AGENT_FAILED);
    expect_error(START FINISH("content-filter", SOME), AGENT_REFUSED);
}

TEST(steps_are_summed) {
    struct agent_outcome outcome =
        fake_run("opencode", (struct fake_run){ .out = START FINISH("tool-calls", SOME)
                                                    START FINISH("stop", SOME) });
    expect_tokens(&outcome, 28, 6, 6);
    assert_int_equal(outcome.usage.cost_micro_usd, 4000);
    assert_false(outcome.is_short);
}

TEST(reasoning_counts_once) {
    struct agent_outcome inside = fake_run(
        "opencode",
        (struct fake_run){ .out = START FINISH("stop", "{\"total\":15,\"input\":10,\"output\":"
                                                       "5,\"reasoning\":2}") });
    expect_tokens(&inside, 10, 5, -1);
    struct agent_outcome beside = fake_run(
        "opencode",
        (struct fake_run){ .out = START FINISH("stop", "{\"total\":17,\"input\":10,\"output\":"
                                                       "5,\"reasoning\":2}") });
    expect_tokens(&beside, 10, 7, -1);
    struct agent_outcome no_total = fake_run(
        "opencode", (struct fake_run){ .out = START FINISH("stop", "{\"input\":10,\"output\":5,"
                                                                   "\"reasoning\":2}") });
    expect_tokens(&no_total, 10, 7, -1);
}

TEST(a_cost_of_zero_is_not_reported) {
    struct agent_outcome outcome = fake_run(
        "opencode",
        (struct fake_run){ .out = START FINISH("stop", "{\"input\":10,\"output\":5},\"cost\":0") });
    assert_int_equal(outcome.usage.cost_micro_usd, -1);
}

TEST(each_error_has_its_meaning) {
    expect_error(ERROR("APIError", "{\"message\":\"x\",\"statusCode\":401}"), AGENT_AUTH);
    expect_error(ERROR("ProviderAuthError", "{\"message\":\"x\"}"), AGENT_AUTH);
    expect_error(ERROR("APIError", "{\"message\":\"x\",\"statusCode\":529}"), AGENT_OVERLOADED);
    expect_error(ERROR("APIError", "{\"message\":\"x\",\"statusCode\":402}"), AGENT_BILLING);
    expect_error(ERROR("APIError",
                       "{\"message\":\"You exceeded your current quota\",\"statusCode\":429,"
                       "\"responseBody\":\"{\\\"code\\\":\\\"insufficient_quota\\\"}\"}"),
                 AGENT_BILLING);
    expect_error(ERROR("APIError", "{\"message\":\"prompt is too long\",\"statusCode\":400}"),
                 AGENT_CONTEXT_FULL);
    expect_error(ERROR("ContextOverflowError", "{}"), AGENT_CONTEXT_FULL);
    expect_error(ERROR("ContentFilterError", "{\"message\":\"x\"}"), AGENT_REFUSED);
    expect_error(ERROR("MessageAbortedError", "{\"message\":\"x\"}"), AGENT_CANCELED);
    expect_error(ERROR("UnknownError", "{\"message\":\"connect ECONNREFUSED 127.0.0.1\"}"),
                 AGENT_OVERLOADED);
    expect_error(ERROR("UnknownError", "{\"message\":\"ProviderModelNotFoundError\"}"),
                 AGENT_FAILED);
    expect_error("{\"type\":\"error\"}\n", AGENT_FAILED);
}

TEST(the_header_has_the_time) {
    struct agent_outcome outcome = fake_run(
        "opencode", (struct fake_run){
                        .out = ERROR("APIError", "{\"message\":\"slow down\",\"statusCode\":429,"
                                                 "\"responseHeaders\":{\"retry-after\":\"90\"}}"),
                        .code = 1 });
    expect_result(&outcome, AGENT_LIMITED);
    assert_int_equal(outcome.reset_at, INT64_C(1794711000000) + SECONDS(90));
    assert_int_equal(outcome.reset_source, AGENT_SOURCE_EVENT);
    outcome =
        fake_run("opencode",
                 (struct fake_run){
                     .out = ERROR("APIError", "{\"message\":\"slow down\",\"statusCode\":429,"
                                              "\"responseHeaders\":{\"retry-after-ms\":\"1500\"}}"),
                     .code = 1 });
    assert_int_equal(outcome.reset_at, INT64_C(1794711000000) + 1500);
    outcome = fake_run(
        "opencode", (struct fake_run){
                        .out = ERROR("APIError", "{\"message\":\"slow down\",\"statusCode\":429,"
                                                 "\"responseHeaders\":{\"retry-after\":\"soon\"}}"),
                        .code = 1 });
    expect_result(&outcome, AGENT_LIMITED);
    assert_int_equal(outcome.reset_at, 0);
}

TEST(an_error_that_was_overcome_is_forgotten) {
    struct agent_outcome outcome =
        fake_run("opencode", (struct fake_run){ .out = ERROR("APIError", "{\"statusCode\":429}")
                                                    START TEXT("Done.") FINISH("stop", SOME) });
    expect_result(&outcome, AGENT_OK);
}

TEST(what_was_not_permitted_is_remembered) {
    struct agent_outcome outcome = fake_run(
        "opencode",
        (struct fake_run){ .out = START FINISH("tool-calls", SOME) START FINISH("stop", SOME),
                           .err = "\033[33m! permission requested: bash (rm -rf x); "
                                  "auto-rejecting\033[0m\n" });
    expect_result(&outcome, AGENT_DENIED);
    assert_string_equal(outcome.denial.tool, "bash");
    assert_string_equal(outcome.denial.argument, "rm -rf x");
}

TEST(a_lost_session_is_recognized) {
    struct agent_outcome outcome = fake_run(
        "opencode",
        (struct fake_run){ .err = "\033[91m\033[1mError: \033[0mSession not found\n", .code = 1 });
    expect_result(&outcome, AGENT_CRASHED);
    assert_true(outcome.session_is_lost);
    assert_string_equal(outcome.message, "Error: Session not found");
}

/* Options of `opencode run` are usage errors of `opencode`. */
TEST(at_a_terminal_it_has_the_settings_of_the_run) {
    static const char *const more[] = { "--variant", "high", "--thinking", "--auto", NULL };
    expect_command("opencode", &(struct agent_launch){ .is_interactive = true, .model = "p/m" },
                   "opencode --model p/m");
    expect_command(
        "opencode",
        &(struct agent_launch){ .is_interactive = true, .resume = "ses_1", .more = more },
        "opencode --auto --session ses_1");
}

TEST(it_chooses_its_session_itself) {
    expect_command("opencode", &(struct agent_launch){ .session = "u-1", .model = "p/m" },
                   "opencode run --format json --title= --model p/m");
    expect_command("opencode", &(struct agent_launch){ .resume = "ses_1" },
                   "opencode run --format json --session ses_1");
    assert_null(agent_adapter_find("opencode")->session_option);
    assert_non_null(agent_adapter_find("opencode")->resume);
}
