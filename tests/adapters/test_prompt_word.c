/* test_prompt_word.c: a prompt in a command line is never an option. */
#include <string.h>

#include "agent/agent.h"
#include "base/macros.h"
#include "harness/test.h"

#define WORDS_MAX 8

/* For a command with blanks between its words. The prompt is at "{prompt}", or after the end. */
static enum agent_dashes dashes(const char *adapter, const char *command) {
    char text[256];
    const char *words[WORDS_MAX];
    size_t count = 0, at = SIZE_MAX;
    assert_true(strlen(command) < sizeof(text));
    strcpy(text, command);
    for (char *rest = text, *word; (word = strsep(&rest, " "));) {
        assert_true(count < WORDS_MAX);
        at = agent_word_has_prompt(word) ? count : at;
        words[count++] = word;
    }
    return agent_prompt_dashes(adapter ? agent_adapter_find(adapter) : NULL, words, count,
                               at == SIZE_MAX ? count : at);
}

TEST(dashes_that_are_there_are_enough_for_every_program) {
    assert_int_equal(dashes(NULL, "robot -- {prompt}"), AGENT_DASHES_NOT_NEEDED);
    assert_int_equal(dashes("plain", "robot --"), AGENT_DASHES_NOT_NEEDED);
    assert_int_equal(dashes("claude", "claude -p -- {prompt}"), AGENT_DASHES_NOT_NEEDED);
    assert_int_equal(dashes("plain", "env -- claude -p {prompt}"), AGENT_DASHES_UNKNOWN);
}

TEST(the_value_of_an_option_is_no_option) {
    assert_int_equal(dashes(NULL, "robot --message={prompt}"), AGENT_DASHES_NOT_NEEDED);
    assert_int_equal(dashes("gemini", "gemini --prompt={prompt} --yolo"), AGENT_DASHES_NOT_NEEDED);
    assert_false(agent_word_has_prompt("message={prompt}")); /* a shell may do anything with it */
    assert_false(agent_word_has_prompt("--message={prompt} now"));
    assert_false(agent_word_has_prompt("={prompt}"));
}

TEST(they_are_put_in_where_the_adapter_knows_that_it_is_an_operand) {
    static const struct {
        const char *adapter, *command;
    } known[] = {
        { "claude", "claude {prompt}" },
        { "claude", "claude -p" },
        { "claude", "claude --model opus -p {prompt}" },
        { "claude", "claude -p --allowedTools Bash Edit {prompt}" },
        { "claude", "claude -p --output-format=json {prompt}" },
        { "codex", "codex exec --json {prompt}" },
        { "codex", "codex exec --sandbox read-only" },
        { "opencode", "opencode run --format json {prompt}" },
        { "claude", "claude {prompt} more" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (dashes(known[i].adapter, known[i].command) != AGENT_DASHES_NEEDED)
            fail_msg("'%s' of %s", known[i].command, known[i].adapter);
}

TEST(otherwise_it_is_unknown) {
    static const struct {
        const char *adapter, *command;
    } unknown[] = {
        { NULL, "robot {prompt}" },
        { "plain", "claude -p {prompt}" },
        { "claude-stream", "amp -x {prompt}" },
        { "gemini", "gemini -p {prompt}" },
        { "copilot", "copilot -p {prompt}" },
        { "claude", "claude -p go --append-system-prompt {prompt}" },
        { "claude", "claude -p {prompt} --model opus" },
        { "codex", "codex exec -C {prompt}" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
        if (dashes(unknown[i].adapter, unknown[i].command) != AGENT_DASHES_UNKNOWN)
            fail_msg("'%s' of %s", unknown[i].command, unknown[i].adapter);
}

TEST(the_prompt_stands_where_its_place_is) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    agent_word_put_prompt("{prompt}", "-x y", &out);
    assert_string_equal(strbuf_text(&out), "-x y");
    strbuf_clear(&out);
    agent_word_put_prompt("--message={prompt}", "-x y", &out);
    assert_string_equal(strbuf_text(&out), "--message=-x y");
}
