/* test_codex.c: what Codex prints beyond the recorded runs. */
#include "fake_run.h"
#include "harness/test.h"

#define STARTED                                                                                    \
    "{\"type\":\"thread.started\",\"thread_id\":\"01a1-t\"}\n{\"type\":\"turn.started\"}\n"
#define MESSAGE(text_)                                                                             \
    "{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"agent_message\",\"text\":"     \
    "\"" text_ "\"}}\n"
#define ERROR(text_)  "{\"type\":\"error\",\"message\":\"" text_ "\"}\n"
#define FAILED(text_) "{\"type\":\"turn.failed\",\"error\":{\"message\":\"" text_ "\"}}\n"
#define COMPLETED                                                                                  \
    "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":12,\"cached_input_tokens\":4,"       \
    "\"output_tokens\":3,\"reasoning_output_tokens\":2}}\n"
#define TRY "Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"

static void expect_failure(const char *lines, enum agent_result result) {
    struct agent_outcome outcome = fake_run("codex", (struct fake_run){ .out = lines, .code = 1 });
    expect_result(&outcome, result);
}

TEST(only_a_finished_turn_is_its_last_word) {
    struct agent_outcome outcome =
        fake_run("codex", (struct fake_run){ .out = STARTED MESSAGE("Done.") });
    expect_result(&outcome, AGENT_CRASHED);
    outcome = fake_run("codex", (struct fake_run){ .out = STARTED MESSAGE("Done.") COMPLETED });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.session, "01a1-t");
    assert_string_equal(outcome.message, "Done.");
    /* A second turn begins, and is not ended. */
    outcome =
        fake_run("codex", (struct fake_run){ .out = STARTED MESSAGE("Done.") COMPLETED STARTED });
    expect_result(&outcome, AGENT_CRASHED);
}

TEST(an_error_that_was_overcome_is_forgotten) {
    struct agent_outcome outcome =
        fake_run("codex", (struct fake_run){ .out = STARTED ERROR(TRY) COMPLETED });
    expect_result(&outcome, AGENT_OK);
    assert_string_equal(outcome.message, "");
    assert_int_equal(outcome.reset_at, 0);
}

TEST(it_waits_only_where_waiting_helps) {
    assert_true(fake_progress("codex", STARTED ERROR(TRY), "").is_waiting);
    assert_false(fake_progress("codex", STARTED ERROR(TRY) MESSAGE("on"), "").is_waiting);
    assert_false(fake_progress("codex", STARTED ERROR(TRY) FAILED("x"), "").is_waiting);
    assert_false(
        fake_progress("codex",
                      STARTED ERROR("Reconnecting... 1/5 (unexpected status 401 Unauthorized)"), "")
            .is_waiting);
    assert_true(fake_progress("codex", STARTED COMPLETED, "").has_ended);
}

TEST(tokens_are_of_the_whole_thread_and_have_their_parts_in_them) {
    struct agent_outcome outcome = fake_run("codex", (struct fake_run){ .out = STARTED COMPLETED });
    expect_tokens(&outcome, 12, 3, 4);
    assert_false(outcome.is_short);
    struct agent_prior_usage before = { .session = "01a1-t",
                                        .used = { 10, 1, 4, -1 },
                                        .resumes = true };
    outcome = fake_run("codex", (struct fake_run){ .out = STARTED COMPLETED, .before = &before });
    expect_tokens(&outcome, 2, 2, 0);
    assert_int_equal(outcome.session_usage.in, 12);
    /* A turn that fails has no numbers: the next one of the thread has them. */
    outcome = fake_run("codex", (struct fake_run){ .out = STARTED FAILED("x"), .code = 1 });
    assert_true(outcome.is_short);
    assert_int_equal(outcome.usage.cost_micro_usd, -1);
    outcome =
        fake_run("codex", (struct fake_run){ .out = STARTED
                                             "{\"type\":\"turn.completed\",\"usage\":null}\n" });
    expect_tokens(&outcome, -1, -1, -1);
}

TEST(each_error_text_has_its_result) {
    static const struct {
        const char *lines;
        enum agent_result result;
    } rows[] = {
        { FAILED("You've hit your usage limit. Try again later."), AGENT_LIMITED },
        { FAILED("You’ve hit your usage limit for gpt-x. Switch to another model now, or try again "
                 "later."),
          AGENT_LIMITED },
        { FAILED("unexpected status 429 Too Many Requests: slow down"), AGENT_LIMITED },
        { FAILED("Your workspace is out of credits. Add credits to continue."), AGENT_BILLING },
        { FAILED("You hit your spend cap set in your workspace."), AGENT_BILLING },
        { FAILED("To use Codex with your ChatGPT plan, upgrade to Plus: x"), AGENT_BILLING },
        { FAILED("unexpected status 402 Payment Required: x"), AGENT_BILLING },
        { FAILED("unexpected status 403 Forbidden: x"), AGENT_AUTH },
        { FAILED("Missing environment variable: `OPENAI_API_KEY`."), AGENT_AUTH },
        { FAILED(
              "Your access token could not be refreshed because your refresh token was revoked."),
          AGENT_AUTH },
        { FAILED("exceeded retry limit, last status: 500 Internal Server Error"),
          AGENT_OVERLOADED },
        { FAILED("Selected model is at capacity. Please try a different model."),
          AGENT_OVERLOADED },
        { FAILED("stream disconnected before completion: error sending request"),
          AGENT_OVERLOADED },
        { FAILED("unexpected status 400 Bad Request: context_length_exceeded"),
          AGENT_CONTEXT_FULL },
        { FAILED("This content was flagged for possible cybersecurity risk."), AGENT_REFUSED },
        { FAILED("turn aborted. Something went wrong?"), AGENT_CANCELED },
        { FAILED("Incomplete response returned, reason: max_output_tokens"), AGENT_FAILED },
        { FAILED("something nobody has seen before"), AGENT_FAILED },
        { "{\"type\":\"turn.failed\"}\n", AGENT_FAILED },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_failure(rows[i].lines, rows[i].result);
}

TEST(what_the_model_says_about_limits_is_no_limit) {
    struct agent_outcome outcome = fake_run(
        "codex", (struct fake_run){ .out = STARTED MESSAGE(
                                        "You've hit your usage limit, says the test.") COMPLETED });
    expect_result(&outcome, AGENT_OK);
}

TEST(the_time_of_a_limit_is_local_and_may_have_a_date) {
    struct agent_outcome outcome = fake_run(
        "codex",
        (struct fake_run){ .out = FAILED("You’ve hit your usage limit. Try again at 4:31 AM."),
                           .code = 1 });
    assert_int_equal(outcome.reset_at, FAKE_NOW + MINUTES(91));
    assert_int_equal(outcome.reset_source, AGENT_SOURCE_TEXT);
    outcome = fake_run(
        "codex",
        (struct fake_run){ .out = FAILED("You’ve hit your usage limit. Visit x to purchase more "
                                         "credits or try again at Nov 18th, 2026 4:31 AM."),
                           .code = 1 });
    assert_int_equal(outcome.reset_at, FAKE_NOW + DAYS(3) + MINUTES(91));
    outcome = fake_run("codex",
                       (struct fake_run){ .out = FAILED("Rate limit reached. Please try again in "
                                                        "1.5s."),
                                          .code = 1 });
    expect_result(&outcome, AGENT_LIMITED);
    assert_int_equal(outcome.reset_at, FAKE_NOW + 1500);
}

TEST(a_warning_item_is_no_message) {
    struct agent_outcome outcome = fake_run(
        "codex",
        (struct fake_run){ .out = STARTED MESSAGE("Done.") "{\"type\":\"item.completed\",\"item\":"
                                                           "{\"type\":\"error\",\"message\":\"no "
                                                           "metadata\"}}\n" COMPLETED });
    assert_string_equal(outcome.message, "Done.");
}

TEST(a_lost_thread_is_recognized) {
    struct agent_outcome outcome = fake_run(
        "codex", (struct fake_run){ .err = "Error: thread/resume failed: no rollout found for "
                                           "thread id 1\n",
                                    .code = 1 });
    expect_result(&outcome, AGENT_CRASHED);
    assert_true(outcome.session_is_lost);
}

TEST(a_failure_in_prose_is_one_too_a_success_is_not) {
    struct agent_outcome outcome = fake_run(
        "codex",
        (struct fake_run){ .err = "OpenAI Codex v0.166.0\n--------\nuser\nhi\nERROR: You've "
                                  "hit your usage limit. Try again at 4:31 AM.\n",
                           .code = 1 });
    expect_result(&outcome, AGENT_LIMITED);
    assert_int_equal(outcome.reset_at, FAKE_NOW + MINUTES(91));
    outcome =
        fake_run("codex", (struct fake_run){ .out = "Done.\n", .err = "OpenAI Codex v0.166.0\n" });
    expect_result(&outcome, AGENT_CRASHED);
    assert_string_equal(outcome.message, "Done.");
}

TEST(the_prompt_goes_to_its_standard_input) {
    expect_command("codex", &(struct agent_launch){ 0 },
                   "codex exec --json --skip-git-repo-check --sandbox workspace-write -");
    expect_command(
        "codex",
        &(struct agent_launch){ .program = "/opt/codex",
                                .resume = "01a1",
                                .model = "m",
                                .more = (const char *const[]){ "-c", "x=1", NULL } },
        "/opt/codex exec --json --skip-git-repo-check --sandbox workspace-write --model m "
        "-c x=1 resume 01a1 -");
    expect_command(
        "codex", &(struct agent_launch){ .more = (const char *const[]){ "-s", "read-only", NULL } },
        "codex exec --json --skip-git-repo-check -s read-only -");
    const struct agent_adapter *codex = agent_adapter_find("codex");
    assert_null(codex->session_option);
    assert_string_equal(codex->stop_signal, "INT");
}

/* Options of `codex exec` are usage errors of `codex` and `codex resume`. */
TEST(at_a_terminal_it_has_the_settings_of_the_run) {
    static const char *const more[] = {
        "--color", "never", "-c", "x=1", "--ephemeral", "-o=f", NULL
    };
    expect_command("codex", &(struct agent_launch){ .is_interactive = true },
                   "codex --no-daemon --sandbox workspace-write");
    expect_command("codex",
                   &(struct agent_launch){ .is_interactive = true,
                                           .is_boxed = true,
                                           .resume = "01a1",
                                           .model = "m",
                                           .more = more },
                   "codex --no-daemon --sandbox danger-full-access --model m -c x=1 resume 01a1");
}

/* --- the use of the account, from the file of a thread ------------------------------------------ */

#define TOKENS(limits_)                                                                            \
    "{\"timestamp\":\"2026-11-15T03:00:00.641Z\",\"type\":\"event_msg\",\"payload\":{\"type\":"    \
    "\"token_count\",\"info\":null,\"rate_limits\":{" limits_ "}}}\n"
#define WINDOW(name_, used_, minutes_, reset_)                                                     \
    "\"" name_ "\":{\"used_percent\":" used_ ",\"window_minutes\":" minutes_ "," reset_ "}"

static struct agent_outcome with_file(const char *file) {
    static const char out[] = "{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}\n";
    struct agent_reader *reader = agent_reader_new(agent_adapter_find("codex"));
    struct agent_outcome outcome;
    agent_reader_stdout(reader, out, strlen(out));
    assert_string_equal(agent_reader_wants_file(reader, 0), "t-1");
    agent_reader_session_file(reader, "t-1", file, strlen(file));
    agent_reader_end(reader, &(struct agent_end){ .now = FAKE_NOW }, &outcome);
    agent_reader_free(reader);
    return outcome;
}

TEST(the_file_of_a_thread_has_the_use_of_both_windows) {
    struct agent_outcome outcome =
        with_file(TOKENS("\"limit_id\":\"codex\"," WINDOW(
            "primary", "12.0", "300",
            "\"resets_at\":1794716932") "," WINDOW("secondary", "61.5", "10080",
                                                   "\"resets_at\":1795009732"))
                      TOKENS(WINDOW("primary", "82.5", "299",
                                    "\"resets_at\":1794716932") ",\"secondary\":null"));
    assert_int_equal(outcome.quota[AGENT_WINDOW_FIVE_HOUR].used_milli, 825);
    assert_int_equal(outcome.quota[AGENT_WINDOW_FIVE_HOUR].resets_at, 1794716932000);
    assert_int_equal(outcome.quota[AGENT_WINDOW_WEEKLY].used_milli, 615);
    assert_int_equal(outcome.quota[AGENT_WINDOW_WEEKLY].resets_at, 1795009732000);
}

TEST(the_length_tells_which_window_it_is_and_old_versions_report_the_time_that_is_left) {
    struct agent_outcome outcome =
        with_file(TOKENS(WINDOW("primary", "7", "10079", "\"resets_in_seconds\":3600")));
    assert_false(outcome.quota[AGENT_WINDOW_FIVE_HOUR].is_known);
    assert_int_equal(outcome.quota[AGENT_WINDOW_WEEKLY].used_milli, 70);
    assert_int_equal(outcome.quota[AGENT_WINDOW_WEEKLY].resets_at, FAKE_NOW + HOURS(1));
    outcome = with_file(TOKENS(WINDOW("primary", "7", "300", "\"resets_at\":null")));
    assert_true(outcome.quota[AGENT_WINDOW_FIVE_HOUR].is_known);
    assert_int_equal(outcome.quota[AGENT_WINDOW_FIVE_HOUR].resets_at, 0);
}

TEST(other_windows_limits_of_one_model_and_strange_values_are_ignored) {
    static const char *const files[] = {
        TOKENS(WINDOW("primary", "90", "43200", "\"resets_at\":1795009732")),
        TOKENS(WINDOW("primary", "90", "null", "\"resets_at\":1795009732")),
        TOKENS(WINDOW("primary", "-3", "300", "\"resets_at\":1795009732")),
        TOKENS(WINDOW("primary", "\"90\"", "300", "\"resets_at\":1795009732")),
        TOKENS("\"limit_id\":\"codex_spark\"," WINDOW("primary", "90", "300", "\"resets_at\":1")),
        TOKENS("\"primary\":null,\"secondary\":null"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        struct agent_outcome outcome = with_file(files[i]);
        for (int w = 0; w < AGENT_WINDOW_MAX; w++)
            assert_false(outcome.quota[w].is_known);
    }
}
