/* test_claude.c: what Claude Code, and what prints like it, says beyond the recorded runs. */
#include <unistd.h>

#include "agent/agent.h"
#include "agent/transcript.h"
#include "fake_run.h"
#include "harness/test.h"
#include "os/files.h"

#define INIT(version_)                                                                             \
    "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-1\",\"model\":\"opus\","         \
    "\"tools\":[\"Bash\"],"                                                                        \
    "\"claude_code_version\":\"" version_ "\"}\n"
#define MESSAGE(text_)                                                                             \
    "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":"  \
    "\"" text_                                                                                     \
    "\"}],\"usage\":{\"input_tokens\":999,\"output_tokens\":1}},\"parent_tool_use_id\":null,"      \
    "\"session_id\":\"s-1\"}\n"
#define USAGE                                                                                      \
    "\"usage\":{\"input_tokens\":12,\"cache_creation_input_tokens\":300,\"cache_read_input_"       \
    "tokens\":4000,"                                                                               \
    "\"output_tokens\":25}"
#define RESULT(fields_) "{\"type\":\"result\",\"session_id\":\"s-1\"," USAGE "," fields_ "}\n"
#define GOOD                                                                                       \
    RESULT("\"subtype\":\"success\",\"is_error\":false,\"result\":\"Done.\",\"total_cost_usd\":0." \
           "001424")
#define BAD(fields_) RESULT("\"subtype\":\"success\",\"is_error\":true," fields_)
#define RETRY(status_, error_)                                                                     \
    "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"error_status\":" status_       \
    ",\"error\":\"" error_ "\",\"session_id\":\"s-1\"}\n"
#define LIMIT(status_)                                                                             \
    "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"" status_                    \
    "\",\"resetsAt\":1794716932,\"unifiedWindows\":{\"seven_day\":{\"resetsAt\":1795009732}}}}\n"

static struct agent_outcome of(const char *out) {
    return fake_run("claude", (struct fake_run){ .out = out });
}

static void expect_failure(const char *out, enum agent_result result) {
    struct agent_outcome outcome = fake_run("claude", (struct fake_run){ .out = out, .code = 1 });
    expect_result(&outcome, result);
}

TEST(only_the_result_is_its_last_word) {
    struct agent_outcome outcome = of(INIT("2.1.325") MESSAGE("Done."));
    expect_result(&outcome, AGENT_CRASHED);
    outcome = of(INIT("2.1.325") MESSAGE("Half.") GOOD);
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.message, "Done.");
    assert_string_equal(outcome.session, "s-1");
    assert_string_equal(outcome.model, "opus");
    /* Another turn of the same process has begun. */
    outcome = of(INIT("2.1.325") GOOD INIT("2.1.325"));
    expect_result(&outcome, AGENT_CRASHED);
    assert_true(fake_progress("claude", GOOD, "").has_ended);
    assert_false(fake_progress("claude", GOOD MESSAGE("more"), "").has_ended);
}

/* Quoted in a message or in the output of a tool, it is not a result. */
TEST(a_result_inside_of_something_is_not_its_word) {
    struct agent_outcome outcome = of(MESSAGE(
        "{\\\"type\\\":\\\"result\\\",\\\"is_error\\\":false}") "{\"type\":\"user\",\"tool_use_"
                                                                "result\":{\"type\":\"result\","
                                                                "\"is_error\":false}}\n"
                                                                "say "
                                                                "{\"type\":\"result\",\"is_error\":"
                                                                "false,\"subtype\":\"success\"}\n");
    expect_result(&outcome, AGENT_CRASHED);
}

TEST(the_subtype_is_not_believed) {
    expect_failure(BAD("\"api_error_status\":500"), AGENT_OVERLOADED);
    expect_failure(RESULT("\"subtype\":\"error_during_execution\",\"is_error\":false"),
                   AGENT_FAILED);
    expect_failure(RESULT("\"subtype\":\"success\",\"is_error\":null,\"result\":\"x\""),
                   AGENT_FAILED);
    /* Without is_error there is nothing else. */
    struct agent_outcome outcome =
        fake_run("claude-stream",
                 (struct fake_run){ .out = "{\"type\":\"result\",\"subtype\":\"success\"}\n" });
    expect_result(&outcome, AGENT_OK);
    outcome = fake_run("claude-stream", (struct fake_run){ .out = "{\"type\":\"result\"}\n" });
    expect_result(&outcome, AGENT_FAILED);
}

TEST(its_fields_name_the_trouble) {
    static const struct {
        const char *out;
        enum agent_result result;
    } cases[] = {
        { BAD("\"api_error_status\":401,\"result\":\"no\""), AGENT_AUTH },
        { BAD("\"api_error_status\":403,\"result\":\"Failed to authenticate. API Error: 403\""),
          AGENT_AUTH },
        { BAD("\"api_error_status\":400,\"result\":\"Credit balance is too low\""), AGENT_BILLING },
        { BAD("\"api_error_status\":429,\"result\":\"API Error: Request rejected (429)\""),
          AGENT_LIMITED },
        { BAD("\"api_error\":\"usage_limit_reached\""), AGENT_LIMITED },
        { BAD("\"api_error_status\":529"), AGENT_OVERLOADED },
        { BAD("\"api_error_status\":null,\"result\":\"API Error: Server error mid-response.\""),
          AGENT_OVERLOADED },
        { BAD("\"api_error_status\":400,\"terminal_reason\":\"prompt_too_long\""),
          AGENT_CONTEXT_FULL },
        { BAD("\"stop_reason\":\"refusal\",\"terminal_reason\":\"api_error\""), AGENT_REFUSED },
        { RESULT("\"subtype\":\"error_max_turns\",\"is_error\":true"), AGENT_MAX_TURNS },
        { RESULT("\"subtype\":\"error_max_turns\",\"is_error\":false"), AGENT_MAX_TURNS },
        { RESULT("\"subtype\":\"error_max_budget_usd\",\"is_error\":true"), AGENT_BUDGET },
        { RESULT("\"subtype\":\"error_during_execution\",\"is_error\":true,\"terminal_reason\":"
                 "\"aborted_tools\""),
          AGENT_CANCELED },
        { BAD("\"api_error\":\"max_output_tokens\",\"result\":\"API Error: … 128000 output token "
              "maximum.\""),
          AGENT_FAILED },
        { BAD("\"result\":\"Invalid API key · Please run /login\""), AGENT_AUTH },
        { BAD("\"result\":\"API Error: Connection error.\""), AGENT_OVERLOADED },
        { BAD("\"result\":\"something else\""), AGENT_FAILED },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_failure(cases[i].out, cases[i].result);
    expect_failure(
        "{\"type\":\"assistant\",\"error\":\"authentication_failed\",\"message\":{}}\n" BAD(
            "\"result\":\"x\""),
        AGENT_AUTH);
}

/* What the model writes about limits is no limit. */
TEST(an_answer_is_no_error) {
    struct agent_outcome outcome =
        of(RESULT("\"is_error\":false,\"subtype\":\"success\",\"result\":\"You've hit your limit · "
                  "resets 4am; 429, "
                  "please run /login\""));
    expect_result(&outcome, AGENT_OK);
    assert_int_equal(outcome.reset_at, 0);
}

TEST(the_end_of_a_limit_comes_from_the_event) {
    struct agent_outcome outcome = fake_run(
        "claude",
        (struct fake_run){ .out = LIMIT("rejected") BAD(
                               "\"api_error_status\":429,\"result\":\"limit · resets 5am (UTC)\""),
                           .code = 1 });
    expect_result(&outcome, AGENT_LIMITED);
    assert_int_equal(outcome.reset_at, INT64_C(1794716932000));
    assert_int_equal(outcome.reset_source, AGENT_SOURCE_EVENT);
    assert_int_equal(fake_progress("claude", LIMIT("rejected"), "").reset_at,
                     INT64_C(1794716932000));
}

TEST(a_warning_and_a_limit_that_was_overcome_end_nothing) {
    assert_int_equal(fake_progress("claude", LIMIT("allowed_warning"), "").reset_at, 0);
    assert_int_equal(fake_progress("claude", LIMIT("rejected") LIMIT("allowed"), "").reset_at, 0);
    assert_int_equal(fake_progress("claude", LIMIT("rejected") MESSAGE("on"), "").reset_at, 0);
    struct agent_outcome outcome = of(LIMIT("rejected") GOOD);
    expect_result(&outcome, AGENT_OK);
    assert_int_equal(outcome.reset_at, 0);
}

TEST(without_the_event_the_text_has_the_time) {
    struct agent_outcome outcome = fake_run(
        "claude", (struct fake_run){ .out = BAD("\"api_error\":\"usage_limit_reached\",\"result\":"
                                                "\"You've hit your 5-hour limit · resets "
                                                "4:28am (UTC)\""),
                                     .code = 1 });
    expect_result(&outcome, AGENT_LIMITED);
    assert_int_equal(outcome.reset_at, FAKE_NOW + HOURS(1) + MINUTES(28));
    assert_int_equal(outcome.reset_source, AGENT_SOURCE_TEXT);
    expect_failure(BAD("\"result\":\"Claude AI usage limit reached|1794716932\""), AGENT_LIMITED);
}

#define WINDOW(info_)                                                                              \
    "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"allowed\"," info_ "}}\n"
#define BOTH(five_hour_, five_reset_, seven_day_)                                                  \
    WINDOW("\"unifiedWindows\":{\"five_hour\":{\"utilization\":" five_hour_                        \
           ",\"resetsAt\":" five_reset_ "},\"seven_day\":{\"utilization\":" seven_day_             \
           ",\"resetsAt\":1795009732}}")

static void expect_quota(const char *out, enum agent_window window, int32_t used_milli,
                         time_ms resets_at) {
    struct agent_progress live = fake_progress("claude", out, "");
    struct agent_outcome outcome = of(out);
    assert_int_equal(live.quota[window].used_milli, used_milli);
    assert_int_equal(live.quota[window].resets_at, resets_at);
    assert_true(live.quota[window].is_known);
    assert_memory_equal(live.quota, outcome.quota, sizeof(live.quota));
}

TEST(the_use_of_both_windows_is_reported_while_it_runs) {
    expect_quota(BOTH("0.82", "1794716932", "0.41"), AGENT_WINDOW_FIVE_HOUR, 820, 1794716932000);
    expect_quota(BOTH("0.82", "1794716932", "0.41"), AGENT_WINDOW_WEEKLY, 410, 1795009732000);
    expect_quota(BOTH("1.2", "1794716932", "0"), AGENT_WINDOW_FIVE_HOUR, 1200, 1794716932000);
    expect_quota(BOTH("1.2", "1794716932", "0"), AGENT_WINDOW_WEEKLY, 0, 1795009732000);
    /* an older version: only the window that the event is about */
    expect_quota(
        WINDOW("\"rateLimitType\":\"seven_day\",\"utilization\":0.5,\"resetsAt\":1795009732"),
        AGENT_WINDOW_WEEKLY, 500, 1795009732000);
    expect_quota(WINDOW("\"rateLimitType\":\"five_hour\",\"utilization\":0.5"),
                 AGENT_WINDOW_FIVE_HOUR, 500, 0);
}

TEST(of_one_window_the_highest_use_counts_and_a_later_window_replaces_it) {
    expect_quota(BOTH("0.82", "1794716932", "0") BOTH("0.8", "1794716990", "0"),
                 AGENT_WINDOW_FIVE_HOUR, 820, 1794716932000);
    expect_quota(BOTH("0.82", "1794716932", "0") BOTH("0.03", "1794734932", "0"),
                 AGENT_WINDOW_FIVE_HOUR, 30, 1794734932000);
    expect_quota(BOTH("0.03", "1794734932", "0") BOTH("0.82", "1794716932", "0"),
                 AGENT_WINDOW_FIVE_HOUR, 30, 1794734932000);
}

TEST(windows_of_one_model_and_strange_values_are_no_use_of_the_account) {
    static const char *const lines[] = {
        WINDOW("\"rateLimitType\":\"seven_day_opus\",\"utilization\":0.97,\"resetsAt\":1795009732"),
        WINDOW("\"rateLimitType\":\"overage\",\"utilization\":0.97"),
        WINDOW("\"rateLimitType\":\"five_hour\",\"utilization\":-1"),
        WINDOW("\"rateLimitType\":\"five_hour\",\"utilization\":1e99"),
        WINDOW("\"rateLimitType\":\"five_hour\",\"utilization\":\"0.5\""),
        WINDOW(
            "\"unifiedWindows\":{\"seven_day_opus\":{\"utilization\":1,\"resetsAt\":1795009732}}"),
        ("{\"type\":\"user\",\"rate_limit_info\":{\"rateLimitType\":\"five_hour\","
         "\"utilization\":1}}\n"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct agent_progress live = fake_progress("claude", lines[i], "");
        for (int w = 0; w < AGENT_WINDOW_MAX; w++)
            assert_false(live.quota[w].is_known);
    }
}

TEST(it_waits_while_it_retries) {
    assert_true(fake_progress("claude", RETRY("429", "rate_limit"), "").is_waiting);
    assert_true(fake_progress("claude", RETRY("529", "overloaded"), "").is_waiting);
    assert_false(fake_progress("claude", RETRY("401", "authentication_failed"), "").is_waiting);
    assert_false(fake_progress("claude", RETRY("429", "rate_limit") MESSAGE("on"), "").is_waiting);
    assert_false(fake_progress("claude", RETRY("429", "rate_limit") GOOD, "").is_waiting);
}

TEST(a_denied_tool_makes_its_word_worth_little) {
    struct agent_outcome outcome = of(RESULT("\"subtype\":\"success\",\"is_error\":false,"
                                             "\"permission_denials\":[{\"tool_name\":\"Bash\"}]"));
    expect_result(&outcome, AGENT_DENIED);
    assert_string_equal(outcome.denial.tool, "Bash");
    assert_string_equal(outcome.denial.rule, "Bash");
    assert_int_equal(outcome.denial.count, 1);
    outcome = of(RESULT("\"subtype\":\"success\",\"is_error\":false,\"permission_denials\":[]"));
    expect_result(&outcome, AGENT_OK);
    expect_failure(BAD("\"api_error_status\":429,\"permission_denials\":[{}]"), AGENT_LIMITED);
}

#define DENIED(tool_, input_) "{\"tool_name\":\"" tool_ "\",\"tool_input\":{" input_ "}}"
#define DENIALS(list_)                                                                             \
    RESULT("\"subtype\":\"success\",\"is_error\":false,\"permission_denials\":[" list_ "]")
#define BASH(command_) DENIED("Bash", "\"command\":\"" command_ "\"")

/* As narrow as the command allows: it is what people will copy. */
TEST(a_denied_tool_has_a_rule) {
    static const struct {
        const char *line, *argument, *rule;
    } rows[] = {
        { DENIALS(BASH("git commit -am x")), "git commit -am x", "Bash(git commit:*)" },
        { DENIALS(BASH("ls -l")), "ls -l", "Bash(ls:*)" },
        { DENIALS(BASH("make")), "make", "Bash(make:*)" },
        { DENIALS(BASH("make && rm -rf /")), "make && rm -rf /", "Bash" },
        { DENIALS(BASH("echo $(id)")), "echo $(id)", "Bash" },
        { DENIALS(BASH("a\\nb")), "a b", "Bash" },
        { DENIALS(BASH("'x' y")), "'x' y", "Bash" },
        { DENIALS(BASH("ls") "," DENIED("Edit", "\"file_path\":\"/a/b.c\"")), "/a/b.c", "Edit" },
        { DENIALS(DENIED("WebFetch", "\"url\":\"https://x.y\"")), "https://x.y", "WebFetch" },
        { DENIALS(DENIED("mcp__a__b", "\"command\":\"ls\"")), "", "mcp__a__b" },
        { DENIALS("{}"), "", "" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct agent_outcome outcome = of(rows[i].line);
        expect_result(&outcome, AGENT_DENIED);
        assert_string_equal(outcome.denial.argument, rows[i].argument);
        assert_string_equal(outcome.denial.rule, rows[i].rule);
    }
    assert_int_equal(of(DENIALS(BASH("a") "," BASH("b") "," BASH("c"))).denial.count, 3);
}

TEST(tokens_are_counted_once_and_per_run) {
    struct agent_outcome outcome = of(INIT("2.1.325") MESSAGE("a") MESSAGE("b") GOOD);
    expect_tokens(&outcome, 4312, 25, 4000);
    assert_false(outcome.is_short);
    /* Two turns of one process. */
    outcome = of(INIT("2.1.325") GOOD INIT("2.1.325") GOOD);
    expect_tokens(&outcome, 8624, 50, 8000);
    /* Not reported is not zero. */
    outcome =
        of(INIT("2.1.325") "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false}\n");
    expect_tokens(&outcome, -1, -1, -1);
    assert_int_equal(outcome.usage.cost_micro_usd, -1);
}

#define MODELS(name_, in_, out_, cost_)                                                            \
    "\"" name_ "\":{\"a\":{\"inputTokens\":" in_ ",\"outputTokens\":" out_                         \
    ",\"cacheReadInputTokens\":40,\"cacheCreationInputTokens\":2,\"costUSD\":" cost_               \
    "},\"b\":{\"inputTokens\":1,\"outputTokens\":1,\"cacheReadInputTokens\":0,"                    \
    "\"cacheCreationInputTokens\":0,\"costUSD\":0.5}}"
#define ALL(in_, out_, cost_)   MODELS("modelUsage", in_, out_, cost_)
#define SINCE(in_, out_, cost_) MODELS("model_usage_since_last_result", in_, out_, cost_)
#define FINE                    "\"subtype\":\"success\",\"is_error\":false,"

/* Subagents, other models, and the call after which a budget has ended the run: `usage` has none of them. */
TEST(the_tokens_of_all_models_count) {
    struct agent_outcome outcome = of(INIT("2.1.325") RESULT(
        FINE ALL("1000", "500", "9") "," SINCE("100", "50", "0.25") ",\"total_cost_usd\":9.5"));
    expect_tokens(&outcome, 143, 51, 40);
    assert_int_equal(outcome.usage.cost_micro_usd, 750000);
    assert_int_equal(outcome.session_usage.in, 1043);
    /* In the mode json there is no share. */
    outcome = of(RESULT(FINE ALL("100", "50", "9") ",\"total_cost_usd\":9.5,\"result_index\":0"));
    expect_tokens(&outcome, 4312, 51, 4000); /* never less than the turn itself */
    outcome = of(RESULT(FINE ALL("10000", "50", "9") ",\"result_index\":0"));
    expect_tokens(&outcome, 10043, 51, 4000);
    assert_int_equal(outcome.usage.cost_micro_usd, 9500000);
}

TEST(totals_are_of_the_session_since_2_1_300) {
    static const struct {
        const char *out;
        int64_t in, cost;
    } cases[] = {
        { INIT("2.1.325") RESULT(FINE ALL("10000", "50", "9") ",\"total_cost_usd\":9.5"), 9043,
          8500000 },
        { INIT("3.0.1-beta") RESULT(FINE ALL("10000", "50", "9")), 9043, 8500000 },
        { INIT("2.1.197") RESULT(FINE ALL("10000", "50", "9")), 10043, 9500000 },
        { INIT("1.0.400") RESULT(FINE ALL("10000", "50", "9") ",\"result_index\":0"), 10043,
          9500000 },
        /* The mode json reports no version. */
        { RESULT(FINE ALL("10000", "50", "9") ",\"result_index\":0"), 9043, 8500000 },
        { RESULT(FINE ALL("10000", "50", "9")), 10043, 9500000 },
    };
    struct agent_prior_usage before = { .session = "s-1",
                                        .used = { 1000, 0, 0, 1000000 },
                                        .resumes = true };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct agent_outcome outcome =
            fake_run("claude", (struct fake_run){ .out = cases[i].out, .before = &before });
        assert_int_equal(outcome.usage.in, cases[i].in);
        assert_int_equal(outcome.usage.out, 51);
        assert_int_equal(outcome.usage.cost_micro_usd, cases[i].cost);
    }
}

/* The run before was killed. Its session's total has what it has used, and could not report. */
TEST(a_killed_run_is_made_up_for) {
    const char *out =
        INIT("2.1.325") RESULT(FINE ALL("1000", "500", "9") "," SINCE("100", "50", "1"));
    struct agent_prior_usage before = { .session = "s-1",
                                        .used = { 900, 0, 0, 0 },
                                        .resumes = true };
    struct agent_outcome outcome =
        fake_run("claude", (struct fake_run){ .out = out, .before = &before });
    expect_tokens(&outcome, 143, 51, 40);
    before.is_short = true;
    outcome = fake_run("claude", (struct fake_run){ .out = out, .before = &before });
    expect_tokens(&outcome, 143, 501, 40);
    before.used.in = 0;
    outcome = fake_run("claude", (struct fake_run){ .out = out, .before = &before });
    expect_tokens(&outcome, 1043, 501, 40);
    before.used.in = 5000; /* more than the total: the session has lost its counters */
    outcome = fake_run("claude", (struct fake_run){ .out = out, .before = &before });
    expect_tokens(&outcome, 143, 501, 40);
}

/* What was sent is known when a message begins, once for each id. */
TEST(a_run_without_a_result_books_what_it_has_sent) {
    struct agent_outcome outcome = of(INIT("2.1.325") MESSAGE("a") MESSAGE("b"));
    expect_tokens(&outcome, 999, -1, -1);
    assert_true(outcome.is_short);
    outcome = of(INIT("2.1.325") MESSAGE("a") GOOD MESSAGE("a"));
    expect_tokens(&outcome, 4312, 25, 4000);
}

TEST(strange_numbers_are_survived) {
    struct agent_outcome outcome =
        of(INIT("2.1.325") RESULT(FINE SINCE("\"100\"", "\"50\"", "\"0.25\"")));
    expect_tokens(&outcome, 143, 51, 40);
    assert_int_equal(outcome.usage.cost_micro_usd, 750000);
    outcome = of(INIT("2.1.325") RESULT(FINE SINCE("-100", "null", "-5")));
    expect_tokens(&outcome, 43, 1, 40);
    assert_int_equal(outcome.usage.cost_micro_usd, 500000);
    outcome = of(INIT("2.1.325") RESULT(FINE SINCE("1e99", "{}", "1e99")));
    assert_true(outcome.usage.in > INT64_C(1000000000000));
    outcome = of(INIT("2.1.325") RESULT(FINE "\"model_usage_since_last_result\":[1]"));
    expect_tokens(&outcome, 4312, 25, 4000);
    outcome = of(INIT("2.1.325") RESULT(FINE "\"model_usage_since_last_result\":{\"a\":{}}"));
    expect_tokens(&outcome, 4312, 25, 4000);
}

TEST(how_it_was_ended_counts_when_it_had_not_finished) {
    const char *half = INIT("2.1.325") MESSAGE("Half.");
    const char *aborted =
        INIT("2.1.325") RESULT("\"subtype\":\"error_during_execution\",\"is_error\":true,"
                               "\"terminal_reason\":\"aborted_streaming\"");
    struct agent_outcome outcome =
        fake_run("claude", (struct fake_run){ .out = half, .signal = 15, .by = AGENT_BY_STOP });
    expect_result(&outcome, AGENT_CANCELED);
    outcome =
        fake_run("claude", (struct fake_run){ .out = half, .signal = 15, .by = AGENT_BY_TIMEOUT });
    expect_result(&outcome, AGENT_TIMEOUT);
    outcome = fake_run("claude", (struct fake_run){ .out = half, .code = 143 });
    expect_result(&outcome, AGENT_CRASHED);
    outcome = fake_run("claude", (struct fake_run){ .out = aborted });
    expect_result(&outcome, AGENT_CANCELED);
    expect_tokens(&outcome, 4312, 25, 4000);
    outcome = fake_run("claude", (struct fake_run){ .out = aborted, .by = AGENT_BY_TIMEOUT });
    expect_result(&outcome, AGENT_TIMEOUT);
    /* Finished, and reaped because it stayed. */
    outcome =
        fake_run("claude", (struct fake_run){ .out = GOOD, .signal = 9, .by = AGENT_BY_STOP });
    expect_result(&outcome, AGENT_OK);
}

TEST(a_good_word_with_a_bad_exit_code_is_a_failure) {
    expect_failure(GOOD, AGENT_FAILED);
}

TEST(a_session_that_cannot_be_used_is_lost) {
    struct agent_outcome outcome =
        fake_run("claude", (struct fake_run){ .err = "No conversation found with session ID: 0-0\n",
                                              .code = 1 });
    expect_result(&outcome, AGENT_CRASHED);
    assert_true(outcome.session_is_lost);
    assert_string_equal(outcome.message, "No conversation found with session ID: 0-0");
    outcome =
        fake_run("claude", (struct fake_run){ .err = "Error: Session ID 1-1 is already in use.\n",
                                              .code = 1 });
    assert_true(outcome.session_is_lost);
    assert_false(of(GOOD).session_is_lost);
}

/* The mode text has no final message: an interrupted answer looks like a complete one. */
TEST(text_alone_is_never_ok) {
    struct agent_outcome outcome = of("All done.\n");
    expect_result(&outcome, AGENT_CRASHED);
    assert_string_equal(outcome.message, "All done.");
    expect_failure("API Error: Request rejected (429) · … rate limit of 50,000 tokens\n",
                   AGENT_LIMITED);
    expect_failure("API Error: 500 oh\n", AGENT_OVERLOADED);
    expect_failure("oh\n", AGENT_FAILED);
}

TEST(nothing_hostile_gets_through) {
    struct agent_outcome outcome = of(
        "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"session_id\":\"--help\","
        "\"result\":\"a\\u001b[31mred\\u001b[0m\\r\\n\\u0007b \\u202ec \\u001b]0;title\\u0007d "
        "\xff\"}\n");
    assert_string_equal(outcome.session, "");
    assert_string_equal(outcome.message, "ared b c d \xef\xbf\xbd");
    outcome = of("{\"type\":\"result\",\"is_error\":false,\"session_id\":\"a b;$(c)\"}\n");
    assert_string_equal(outcome.session, "");
    outcome = of("{\"type\":\"result\",\"is_error\":false,\"usage\":{\"input_tokens\":-5,\"output_"
                 "tokens\":1e300}}\n");
    assert_int_equal(outcome.usage.in, -1);
    assert_true(outcome.usage.out > 0);
}

TEST(it_is_started_unattended) {
#define EDITS "-p --output-format stream-json --verbose --permission-mode acceptEdits"
#define START EDITS " --allowedTools=mcp__sluice"
    expect_command("claude", &(struct agent_launch){ 0 }, "claude " START);
    expect_command(
        "claude",
        &(struct agent_launch){ .program = "/opt/claude",
                                .model = "opus",
                                .session = "s-1",
                                .more = (const char *const[]){ "--max-turns", "9", NULL } },
        "/opt/claude " START " --model opus --session-id s-1 --max-turns 9");
    expect_command("claude", &(struct agent_launch){ .resume = "s-1", .session = "s-2" },
                   "claude " START " --resume s-1");
    expect_command(
        "claude",
        &(struct agent_launch){
            .more = (const char *const[]){ "--dangerously-skip-permissions", NULL } },
        "claude -p --output-format stream-json --verbose --dangerously-skip-permissions");
    /* In a sandbox it may run commands; what the configuration says counts instead. */
    expect_command("claude", &(struct agent_launch){ .is_sandboxed = true },
                   "claude " EDITS " --allowedTools=Bash,WebFetch,WebSearch,mcp__sluice");
    expect_command(
        "claude",
        &(struct agent_launch){ .is_sandboxed = true,
                                .more = (const char *const[]){ "--allowedTools", "Read", NULL } },
        "claude " EDITS " --allowedTools Read");
    expect_command(
        "claude",
        &(struct agent_launch){ .is_sandboxed = true,
                                .more = (const char *const[]){ "--permission-mode=plan", NULL } },
        "claude -p --output-format stream-json --verbose --permission-mode=plan");
    expect_command("claude-stream", &(struct agent_launch){ .resume = "s-1" }, "");
    const struct agent_adapter *claude = agent_adapter_find("claude");
    assert_true(claude->resume && claude->session_option);
    assert_null(agent_adapter_find("plain")->resume);
}

/* A budget and a number of turns work only unattended. The tools that need no approval stay. */
TEST(at_a_terminal_it_has_the_settings_of_the_run) {
    static const char *const more[] = {
        "--max-turns", "9", "--output-format=json", "--include-partial-messages", "--mcp-config",
        "m.json",      NULL
    };
    static const char *const allow[] = { "Bash(make:*)", NULL };
    expect_command("claude", &(struct agent_launch){ .is_interactive = true, .session = "s-1" },
                   "claude --permission-mode acceptEdits --allowedTools=mcp__sluice "
                   "--session-id s-1");
    expect_command("claude",
                   &(struct agent_launch){ .is_interactive = true,
                                           .is_sandboxed = true,
                                           .program = "/opt/claude",
                                           .model = "opus",
                                           .resume = "s-1",
                                           .budget_usd = "2.5",
                                           .more = more,
                                           .allow = allow },
                   "/opt/claude --permission-mode acceptEdits "
                   "--allowedTools=Bash,WebFetch,WebSearch,mcp__sluice --model opus --resume s-1 "
                   "--mcp-config m.json --allowedTools Bash(make:*)");
    static const char *const cut[] = { "--max-turns", NULL }; /* its value is missing */
    expect_command("claude",
                   &(struct agent_launch){ .is_interactive = true, .resume = "s-1", .more = cut },
                   "claude --permission-mode acceptEdits --allowedTools=mcp__sluice --resume s-1");
}

/* Their commands are configured, or speak a protocol: nothing is known about a terminal. */
TEST(adapters_without_a_program_cannot_be_opened_at_a_terminal) {
    static const char *const names[] = { "acp", "claude-stream", "plain" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        expect_command(names[i], &(struct agent_launch){ .is_interactive = true, .resume = "s-1" },
                       "");
}

TEST(of_a_plain_program_the_exit_code_is_the_word) {
    struct agent_outcome outcome = fake_run(
        "plain", (struct fake_run){ .out = "one\n{\"type\":\"two\"}\n", .err = "warning\n" });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.message, "{\"type\":\"two\"}");
    outcome =
        fake_run("plain", (struct fake_run){ .out = "one\n", .err = "no such file\n", .code = 3 });
    expect_result(&outcome, AGENT_FAILED);
    assert_string_equal(outcome.message, "no such file");
    outcome = fake_run("plain", (struct fake_run){ .signal = 11 });
    expect_result(&outcome, AGENT_CRASHED);
    outcome = fake_run("plain", (struct fake_run){ .code = 1, .by = AGENT_BY_TIMEOUT });
    expect_result(&outcome, AGENT_TIMEOUT);
    outcome = fake_run("plain", (struct fake_run){ .code = 0, .by = AGENT_BY_STOP });
    expect_result(&outcome, AGENT_CANCELED);
}

#define TABLES_OF_AGENTS 6 /* in docs/guide/agents.md */

/* The recipe in CONTRIBUTING: a step that was forgotten is found here. */
TEST(every_builtin_agent_is_whole_and_documented) {
    _cleanup_(strbuf_finish) struct strbuf page = STRBUF_INIT;
    const char *name;
    if (file_read(SOURCE_ROOT "/docs/guide/agents.md", 1024 * 1024, &page, NULL) < 0)
        fail_msg("docs/guide/agents.md cannot be read");
    for (size_t i = 0; (name = agent_builtin(i)); i++) {
        const struct agent_adapter *adapter = agent_adapter_find(name);
        _cleanup_(strbuf_finish) struct strbuf row = STRBUF_INIT, folder = STRBUF_INIT,
                                               words = STRBUF_INIT;
        strbuf_printf(&row, "\n| `%s` | ", name);
        size_t rows = 0;
        for (const char *at = strbuf_text(&page); (at = strstr(at, strbuf_text(&row))); at++)
            rows++;
        if (rows != TABLES_OF_AGENTS)
            fail_msg("docs/guide/agents.md has a row for '%s' in %zu of its %d tables of agents",
                     name, rows, TABLES_OF_AGENTS);
        strbuf_printf(&folder, "%s/tests/fixtures/agents/%s", SOURCE_ROOT, name);
        if (access(strbuf_text(&folder), R_OK) < 0)
            fail_msg("there are no recorded runs of '%s' in tests/fixtures/agents", name);
        strbuf_clear(&folder);
        strbuf_printf(&folder, "%s/tests/fuzz/corpus/agent_%s", SOURCE_ROOT, name);
        if (access(strbuf_text(&folder), R_OK) < 0)
            fail_msg("'%s' has no fuzz target: tests/fuzz", name);
        struct transcript *transcript = transcript_new(adapter, TRANSCRIPT_PLAIN);
        if (!transcript)
            fail_msg("'%s' has no transcript", name);
        transcript_free(transcript);
        if (!agent_paths(adapter)->path)
            fail_msg("'%s' has no paths: it would not work in a sandbox", name);
        if (agent_command(adapter, &(struct agent_launch){ 0 }, &words) == 0)
            fail_msg("'%s' has no command", name);
        if (agent_command(adapter, &(struct agent_launch){ .is_interactive = true }, &words) == 0)
            fail_msg("'%s' has no command for a terminal", name);
        if (!agent_print_login(adapter, name, &folder) || !agent_preflight(adapter))
            fail_msg("'%s' lacks what preflight needs: login and preflight", name);
    }
}

TEST(every_adapter_can_be_found_and_every_result_has_a_name) {
    size_t count = 0;
    for (; agent_adapters[count]; count++) {
        const struct agent_adapter *adapter = agent_adapters[count];
        const char *name = adapter->name, *stop = adapter->stop_signal;
        assert_ptr_equal(agent_adapter_find(name), adapter);
        assert_true(strcmp(stop, "INT") == 0 || strcmp(stop, "TERM") == 0);
    }
    assert_null(agent_adapter_find("cladue"));
    assert_true(count >= 8);
    for (enum agent_result result = 0; result < AGENT_RESULT_MAX; result++)
        if (!agent_result_name(result))
            fail_msg("result %d has no name", (int)result);
}
