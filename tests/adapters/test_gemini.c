/* test_gemini.c: what Gemini prints beyond the recorded runs. */
#include "fake_run.h"
#include "harness/test.h"

#define INIT "{\"type\":\"init\",\"session_id\":\"g-1\",\"model\":\"gemini-3\"}\n"
#define MESSAGE(text_)                                                                             \
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"" text_ "\",\"delta\":true}\n"
#define TOOL                                                                                       \
    "{\"type\":\"tool_use\",\"tool_name\":\"x\"}\n{\"type\":\"tool_result\",\"status\":\"error\"}" \
    "\n"
#define STATS                                                                                      \
    "\"stats\":{\"total_tokens\":120,\"input_tokens\":100,\"output_tokens\":13,\"cached\":40}"
#define SUCCESS "{\"type\":\"result\",\"status\":\"success\"," STATS "}\n"
#define FAILURE(type_, text_)                                                                      \
    "{\"type\":\"result\",\"status\":\"error\",\"error\":{\"type\":\"" type_                       \
    "\",\"message\":\"" text_ "\"}," STATS "}\n"
#define ATTEMPT "Attempt 1 failed: You exceeded your current quota. Please retry in 1s.\n"

static void expect_code(int code, enum agent_result result) {
    struct agent_outcome outcome =
        fake_run("gemini", (struct fake_run){ .err = "why\n", .code = code });
    if (outcome.result != result)
        fail_msg("exit code %d is '%s', expected '%s'", code, agent_result_name(outcome.result),
                 agent_result_name(result));
}

TEST(only_a_result_is_its_last_word) {
    struct agent_outcome outcome =
        fake_run("gemini", (struct fake_run){ .out = INIT MESSAGE("Done.") });
    expect_result(&outcome, AGENT_CRASHED); /* it exits with 0 when it is stopped */
    outcome = fake_run("gemini",
                       (struct fake_run){ .out = INIT MESSAGE("Done."), .by = AGENT_BY_TIMEOUT });
    expect_result(&outcome, AGENT_TIMEOUT);
    outcome = fake_run("gemini", (struct fake_run){ .out = INIT MESSAGE("Done.") SUCCESS });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.session, "g-1");
    assert_string_equal(outcome.model, "gemini-3");
    outcome = fake_run("gemini", (struct fake_run){ .out = INIT SUCCESS, .code = 1 });
    expect_result(&outcome, AGENT_FAILED);
}

TEST(a_tool_that_is_not_permitted_is_no_success) {
#define NO_TOOL(type_, text_)                                                                      \
    "{\"type\":\"tool_result\",\"status\":\"error\",\"error\":{\"type\":\"" type_                  \
    "\",\"message\":\"" text_ "\"}}\n"
    struct agent_outcome outcome = fake_run(
        "gemini", (struct fake_run){
                      .out = INIT NO_TOOL("tool_not_registered",
                                          "Tool \\\"run_shell_command\\\" not found. Did you mean")
                          MESSAGE("Done.") SUCCESS });
    expect_result(&outcome, AGENT_DENIED);
    assert_string_equal(outcome.denial.tool, "run_shell_command");
    assert_string_equal(outcome.message, "Done.");
    outcome = fake_run(
        "gemini", (struct fake_run){ .out = INIT NO_TOOL("policy_violation", "denied by policy")
                                         MESSAGE("Done.") SUCCESS });
    expect_result(&outcome, AGENT_DENIED);
    assert_string_equal(outcome.denial.argument, "denied by policy");
    /* A model that makes a name up, and a tool that fails, are no denials. */
    outcome = fake_run(
        "gemini",
        (struct fake_run){ .out = INIT NO_TOOL("tool_not_registered", "Tool \\\"fly\\\" not found.")
                               MESSAGE("Done.") SUCCESS });
    expect_result(&outcome, AGENT_OK);
    outcome = fake_run("gemini", (struct fake_run){ .out = INIT NO_TOOL("execution_failed", "no")
                                                        MESSAGE("Done.") SUCCESS });
    expect_result(&outcome, AGENT_OK);
    outcome =
        fake_run("gemini", (struct fake_run){ .out = INIT NO_TOOL("policy_violation", "no")
                                                  FAILURE("FatalAuthenticationError", "no key") });
    expect_result(&outcome, AGENT_AUTH);
}

TEST(its_message_comes_in_pieces) {
    struct agent_outcome outcome =
        fake_run("gemini", (struct fake_run){ .out = INIT MESSAGE("I look. ") TOOL MESSAGE("All ")
                                                  MESSAGE("is do") MESSAGE("ne.") SUCCESS });
    assert_string_equal(outcome.message, "All is done.");
}

TEST(what_it_thinks_counts_as_out) {
    struct agent_outcome outcome = fake_run("gemini", (struct fake_run){ .out = INIT SUCCESS });
    expect_tokens(&outcome, 100, 20, 40);
    assert_false(outcome.is_short);
    assert_int_equal(outcome.usage.cost_micro_usd, -1);
    outcome = fake_run(
        "gemini",
        (struct fake_run){ .out = "{\n  \"session_id\": \"g-2\",\n  \"response\": \"ok\",\n"
                                  "  \"stats\": {\n    \"models\": {\n"
                                  "      \"a\": {\"tokens\": {\"prompt\": 10, \"candidates\": 3, "
                                  "\"cached\": 5, \"thoughts\": 2, \"tool\": 1}},\n"
                                  "      \"b\": {\"tokens\": {\"prompt\": 7, \"candidates\": 1, "
                                  "\"cached\": 0, \"thoughts\": 0, \"tool\": 0}}\n"
                                  "    }\n  }\n}\n" });
    expect_result(&outcome, AGENT_OK);
    expect_tokens(&outcome, 18, 6, 5);
}

TEST(it_waits_between_attempts) {
    assert_true(fake_progress("gemini", INIT, ATTEMPT).is_waiting);
    assert_false(fake_progress("gemini", INIT, "Ripgrep is not available.\n").is_waiting);
    struct agent_reader *reader = agent_reader_new(agent_adapter_find("gemini"));
    struct agent_progress live;
    agent_reader_stderr(reader, ATTEMPT, strlen(ATTEMPT));
    agent_reader_stdout(reader, MESSAGE("on"), strlen(MESSAGE("on")));
    agent_reader_progress(reader, &live);
    agent_reader_free(reader);
    assert_false(live.is_waiting);
}

TEST(an_attempt_that_was_overcome_is_forgotten) {
    struct agent_outcome outcome =
        fake_run("gemini", (struct fake_run){ .out = INIT SUCCESS, .err = ATTEMPT });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.message, "");
}

TEST(its_exit_codes_are_words) {
    expect_code(41, AGENT_AUTH);
    expect_code(42, AGENT_FAILED);
    expect_code(44, AGENT_FAILED);
    expect_code(52, AGENT_FAILED);
    expect_code(53, AGENT_MAX_TURNS);
    expect_code(54, AGENT_FAILED);
    expect_code(55, AGENT_FAILED);
    expect_code(130, AGENT_CANCELED);
    expect_code(400 & 0xff, AGENT_FAILED);
    expect_code(401 & 0xff, AGENT_AUTH);
    expect_code(403 & 0xff, AGENT_AUTH);
    expect_code(429 & 0xff, AGENT_LIMITED);
    expect_code(500 & 0xff, AGENT_OVERLOADED);
    expect_code(503 & 0xff, AGENT_OVERLOADED);
    expect_code(1, AGENT_CRASHED);
    expect_code(0, AGENT_CRASHED);
    /* 173, by one who takes it for a signal; and real signals. */
    struct agent_outcome outcome = fake_run("gemini", (struct fake_run){ .signal = 173 - 128 });
    expect_result(&outcome, AGENT_LIMITED);
    outcome = fake_run("gemini", (struct fake_run){ .signal = 2 });
    expect_result(&outcome, AGENT_CRASHED);
    outcome = fake_run("gemini", (struct fake_run){ .signal = 9 });
    expect_result(&outcome, AGENT_CRASHED);
}

TEST(each_error_has_its_meaning) {
    static const struct {
        const char *lines;
        int code;
        enum agent_result result;
    } rows[] = {
        { FAILURE("Error", "[API Error: You have exhausted your capacity on this model.]"), 1,
          AGENT_LIMITED },
        { FAILURE("Error", "[API Error: quota]"), 429 & 0xff, AGENT_LIMITED },
        { FAILURE("FatalAuthenticationError", "x"), 41, AGENT_AUTH },
        { FAILURE("Error", "API key not valid. Please pass a valid API key."), 400 & 0xff,
          AGENT_AUTH },
        { FAILURE("FatalTurnLimitedError", "Reached max session turns"), 53, AGENT_MAX_TURNS },
        { FAILURE("Error", "The input token count (2000000) exceeds the maximum number of tokens "
                           "allowed (1048576)."),
          400 & 0xff, AGENT_CONTEXT_FULL },
        { FAILURE("Error", "The model is overloaded. Please try again later."), 503 & 0xff,
          AGENT_OVERLOADED },
        { FAILURE("Error", "exception TypeError: fetch failed sending request"), 1,
          AGENT_OVERLOADED },
        { FAILURE("FatalCancellationError", "Operation cancelled."), 130, AGENT_CANCELED },
        { FAILURE("Error", "INSUFFICIENT_G1_CREDITS_BALANCE"), 429 & 0xff, AGENT_BILLING },
        { FAILURE("Error", "something nobody has seen before"), 1, AGENT_FAILED },
        { "{\"type\":\"result\",\"status\":\"error\"}\n", 1, AGENT_FAILED },
        /* It calls this a success. */
        { "{\"type\":\"error\",\"severity\":\"error\",\"message\":\"Maximum session turns "
          "exceeded\"}\n" SUCCESS,
          0, AGENT_MAX_TURNS },
        { "{\"type\":\"error\",\"severity\":\"warning\",\"message\":\"Loop detected, stopping "
          "execution\"}\n" SUCCESS,
          0, AGENT_FAILED },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct agent_outcome outcome =
            fake_run("gemini", (struct fake_run){ .out = rows[i].lines, .code = rows[i].code });
        expect_result(&outcome, rows[i].result);
    }
}

TEST(a_failed_run_has_its_tokens) {
    struct agent_outcome outcome =
        fake_run("gemini", (struct fake_run){ .out = INIT FAILURE("Error", "x"), .code = 1 });
    expect_tokens(&outcome, 100, 20, 40);
}

TEST(a_quota_may_have_its_time) {
    struct agent_outcome outcome = fake_run(
        "gemini",
        (struct fake_run){
            .out = INIT FAILURE("Error", "You have exhausted your capacity on this model. Your "
                                         "quota will reset after 1h12m20s."),
            .code = 1 });
    expect_result(&outcome, AGENT_LIMITED);
    assert_int_equal(outcome.reset_at, FAKE_NOW + HOURS(1) + MINUTES(12) + SECONDS(20));
}

TEST(an_error_object_of_a_tool_is_not_its_own) {
    struct agent_outcome outcome = fake_run(
        "gemini", (struct fake_run){ .out = INIT MESSAGE("Done.") SUCCESS,
                                     .err = "{\"error\":{\"message\":\"429\",\"code\":429}}\n"
                                            "{\"session_id\":\"other\",\"x\":1}\n" });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.session, "g-1");
}

#define COMMAND "gemini --output-format stream-json --skip-trust "

TEST(its_session_can_be_chosen) {
    expect_command("gemini", &(struct agent_launch){ .session = "u-1", .model = "m" },
                   COMMAND "--approval-mode auto_edit --model m --session-id u-1");
    expect_command("gemini", &(struct agent_launch){ .resume = "u-1" },
                   COMMAND "--approval-mode auto_edit --resume u-1");
}

TEST(at_a_terminal_it_has_the_settings_of_the_run) {
    static const char *const more[] = { "-o", "json", "--yolo", NULL };
    expect_command("gemini",
                   &(struct agent_launch){ .is_interactive = true, .session = "u-1", .model = "m" },
                   "gemini --skip-trust --approval-mode auto_edit --model m --session-id u-1");
    expect_command("gemini",
                   &(struct agent_launch){ .is_interactive = true, .resume = "u-1", .more = more },
                   "gemini --skip-trust --yolo --resume u-1");
}

/* Two of them are an error of its command line. */
TEST(permissions_are_passed_once) {
    static const char *const yolo[] = { "--yolo", NULL };
    static const char *const plan[] = { "--approval-mode=plan", NULL };
    static const char *const other[] = { "--approval-modes", NULL };
    expect_command("gemini", &(struct agent_launch){ .more = yolo }, COMMAND "--yolo");
    expect_command("gemini", &(struct agent_launch){ .more = plan },
                   COMMAND "--approval-mode=plan");
    expect_command("gemini", &(struct agent_launch){ .more = other },
                   COMMAND "--approval-mode auto_edit --approval-modes");
}

TEST(a_lost_session_is_recognized) {
    struct agent_outcome outcome =
        fake_run("gemini",
                 (struct fake_run){ .err = "Error resuming session: No previous sessions found for "
                                           "this project.\n",
                                    .code = 42 });
    expect_result(&outcome, AGENT_FAILED);
    assert_true(outcome.session_is_lost);
}
