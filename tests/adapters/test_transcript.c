/* test_transcript.c: what people read of recorded runs, and of input that was made to do harm.
 *
 * tests/fixtures/transcripts/AGENT.txt has the transcript of each recording in tests/fixtures/agents.
 * `test_adapters_transcript --write` writes them again: read the difference before you commit it. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/transcript.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/safe_text.h"
#include "base/utf8.h"
#include "fake_run.h"
#include "harness/test.h"
#include "os/files.h"

#define RECORDINGS  SOURCE_ROOT "/tests/fixtures/agents"
#define TRANSCRIPTS SOURCE_ROOT "/tests/fixtures/transcripts"

static bool writes;

/* In pieces of `piece` bytes. */
static void render(const char *agent, enum transcript_layout look, const char *bytes, size_t size,
                   size_t piece, struct strbuf *out) {
    struct transcript *t = transcript_new(agent_adapter_find(agent), look);
    assert_non_null(t);
    for (size_t at = 0; at < size; at += piece)
        transcript_feed(t, bytes + at, piece < size - at ? piece : size - at, out);
    transcript_end(t, out);
    transcript_free(t);
}

static void expect(const char *agent, const char *input, const char *expected) {
    for (size_t piece = strlen(input); piece > 0; piece = piece > 3 ? 3 : piece - 1) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        render(agent, TRANSCRIPT_PLAIN, input, strlen(input), piece, &out);
        assert_string_equal(strbuf_text(&out), expected);
    }
}

/* --- recordings ----------------------------------------------------------------------------------- */

static void read_file(const char *path, struct strbuf *out) {
    struct error err = { 0 };
    if (file_read(path, 16 * 1024 * 1024, out, &err) < 0)
        fail_msg("%s", err.text);
}

/* Calls it with the output of each recording of the agent, in the order of the table. */
static void each_recording(const char *agent,
                           void (*look)(const char *agent, const char *scene,
                                        const struct strbuf *output, void *ctx),
                           void *ctx) {
    _cleanup_(strbuf_finish) struct strbuf table = STRBUF_INIT;
    read_file(RECORDINGS "/expected.txt", &table);
    for (char *line = table.text, *next; line && *line; line = next) {
        char of[32], scene[64], path[512];
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (line[0] == '#' || sscanf(line, "%31s %63s", of, scene) != 2 || strcmp(of, agent) != 0)
            continue;
        _cleanup_(strbuf_finish) struct strbuf output = STRBUF_INIT;
        (void)snprintf(path, sizeof(path), RECORDINGS "/%s/%s/stdout", agent, scene);
        read_file(path, &output);
        look(agent, scene, &output, ctx);
    }
}

static void add_scene(const char *agent, const char *scene, const struct strbuf *output,
                      void *ctx) {
    struct strbuf *all = ctx;
    strbuf_printf(all, "== %s\n", scene);
    render(agent, TRANSCRIPT_PLAIN, strbuf_text(output), output->length, 4096, all);
}

TEST(every_recording_reads_as_it_was_approved) {
    for (size_t i = 0; recorded_agent(i); i++) {
        _cleanup_(strbuf_finish) struct strbuf now = STRBUF_INIT, before = STRBUF_INIT;
        char path[512];
        struct error err = { 0 };
        each_recording(recorded_agent(i), add_scene, &now);
        (void)snprintf(path, sizeof(path), TRANSCRIPTS "/%s.txt", recorded_agent(i));
        if (writes)
            assert_int_equal(file_write(path, strbuf_text(&now), now.length, &err), 0);
        read_file(path, &before);
        if (strcmp(strbuf_text(&before), strbuf_text(&now)) != 0)
            fail_msg("%s differs; 'test_adapters_transcript --write' writes it: see the difference",
                     path);
    }
}

static void cut_scene(const char *agent, const char *scene, const struct strbuf *output,
                      void *ctx) {
    (void)ctx;
    _cleanup_(strbuf_finish) struct strbuf whole = STRBUF_INIT;
    render(agent, TRANSCRIPT_COLOUR, strbuf_text(output), output->length, SIZE_MAX / 2, &whole);
    static const size_t pieces[] = { 1, 2, 7, 100 };
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        render(agent, TRANSCRIPT_COLOUR, strbuf_text(output), output->length, pieces[i], &out);
        if (strcmp(strbuf_text(&out), strbuf_text(&whole)) != 0)
            fail_msg("%s %s differs in pieces of %zu", agent, scene, pieces[i]);
    }
}

TEST(the_pieces_do_not_matter) {
    for (size_t i = 0; recorded_agent(i); i++)
        each_recording(recorded_agent(i), cut_scene, NULL);
}

#define CLAUDE_TOOL                                                                                \
    "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\\u00e9 "  \
    "\xc3\xa9\"},{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{\"command\":\"make "          \
    "test\"}}]}}\n"

/* Two pieces, cut at every byte. */
TEST(a_line_cut_at_every_byte_reads_the_same) {
    static const char input[] =
        "plain \xe2\x82\xac\n" CLAUDE_TOOL "{\"no\":\"type\"}\n" CLAUDE_TOOL;
    _cleanup_(strbuf_finish) struct strbuf whole = STRBUF_INIT;
    render("claude", TRANSCRIPT_PLAIN, input, strlen(input), SIZE_MAX / 2, &whole);
    for (size_t at = 1; at < strlen(input); at++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        struct transcript *t = transcript_new(agent_adapter_find("claude"), TRANSCRIPT_PLAIN);
        transcript_feed(t, input, at, &out);
        transcript_feed(t, input + at, strlen(input) - at, &out);
        transcript_end(t, &out);
        transcript_free(t);
        assert_string_equal(strbuf_text(&out), strbuf_text(&whole));
    }
}

/* --- what people read ------------------------------------------------------------------------------ */

TEST(claude_blocks_of_one_message_come_in_their_order) {
    expect(
        "claude",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"thinking\",\"thinking\":"
        "\"Hm.\"},{\"type\":\"text\",\"text\":\"First\\nsecond.\"},{\"type\":\"tool_use\","
        "\"name\":\"Edit\",\"input\":{\"old_string\":\"a\",\"file_path\":\"src/a.c\"}},{\"type\":"
        "\"tool_use\",\"name\":\"mcp__x__find\",\"input\":{\"who\":\"me\",\"most\":3}},{\"type\":"
        "\"text\",\"text\":\"Last.\"}]}}\n"
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"content\":[{"
        "\"type\":\"text\",\"text\":\"1\\n2\\n3\\n4\\n5\\n6\\n7\"}]},{\"type\":\"tool_result\","
        "\"is_error\":true,\"content\":\"not found\"}]}}\n",
        "  ~ Hm.\n"
        "First\n"
        "second.\n"
        "> Edit: src/a.c\n"
        "> mcp__x__find: who=me, most=3\n"
        "Last.\n"
        "    1\n    2\n    3\n    4\n    5\n    ... 2 more lines\n"
        "    not found\n");
}

TEST(messages_of_subagents_are_indented) {
    expect("claude",
           "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"One\\n"
           "two\"}]},\"parent_tool_use_id\":\"toolu_1\"}\n",
           "  | One\n"
           "  | two\n");
}

TEST(cursor_calls_tools_in_its_own_way) {
    expect("claude-stream",
           "{\"type\":\"tool_call\",\"subtype\":\"started\",\"call_id\":\"c\",\"tool_call\":{"
           "\"readToolCall\":{\"args\":{\"path\":\"README.md\"}}}}\n"
           "{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":\"Text.\"}}\n",
           "> readToolCall: README.md\n"
           "Text.\n");
}

static void expect_entries(const char *agent, const char *input, const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    render(agent, TRANSCRIPT_ENTRIES, input, strlen(input), strlen(input), &out);
    assert_string_equal(strbuf_text(&out), expected);
}

/* A program that shows a conversation gets the same as objects, each with its kind. */
TEST(entries_have_their_kind_their_call_and_all_arguments) {
    expect_entries(
        "claude",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"I "
        "look.\\nNow.\"},"
        "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Edit\",\"input\":{\"file_path\":\"a.c\","
        "\"old_string\":\"x\\ny\"}}]}}\n"
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
        "\"t1\","
        "\"content\":\"no \\u001b[31msuch\\u001b[0m file\",\"is_error\":true}]}}\n"
        "{\"type\":\"assistant\",\"parent_tool_use_id\":\"t1\",\"message\":{\"content\":[{\"type\":"
        "\"text\",\"text\":\"inside\"}]}}\n"
        "not an event\n",
        "{\"kind\":\"say\",\"text\":\"I look.\\nNow.\"}\n"
        "{\"kind\":\"call\",\"tool\":\"Edit\",\"text\":\"a.c\",\"arguments\":{\"file_path\":\"a."
        "c\","
        "\"old_string\":\"x\\ny\"},\"id\":\"t1\"}\n"
        "{\"kind\":\"result\",\"text\":\"no such file\",\"id\":\"t1\",\"failed\":true}\n"
        "{\"kind\":\"say\",\"text\":\"inside\",\"nested\":true}\n"
        "{\"kind\":\"text\",\"text\":\"not an event\"}\n");
    expect_entries(
        "codex",
        "{\"type\":\"item.started\",\"item\":{\"id\":\"i1\",\"type\":\"command_execution\","
        "\"command\":"
        "\"bash -lc ls\"}}\n"
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"i1\",\"type\":\"command_execution\","
        "\"command\":"
        "\"bash -lc ls\",\"aggregated_output\":\"a\\nb\\n\",\"exit_code\":1}}\n",
        "{\"kind\":\"call\",\"tool\":\"shell\",\"text\":\"ls\",\"id\":\"i1\"}\n"
        "{\"kind\":\"result\",\"text\":\"a\\nb\",\"id\":\"i1\"}\n"
        "{\"kind\":\"result\",\"text\":\"exit code 1\",\"id\":\"i1\",\"failed\":true}\n");
    expect_entries(
        "gemini",
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"one \",\"delta\":true}\n"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"two\",\"delta\":true}\n",
        "{\"kind\":\"say\",\"text\":\"one \"}\n"
        "{\"kind\":\"say\",\"text\":\"two\",\"continues\":true}\n");
}

static void check_entries(const char *agent, const char *scene, const struct strbuf *output,
                          void *ctx) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    (void)ctx;
    for (size_t piece = 7; piece < output->length; piece = piece * 50 + 1) {
        strbuf_clear(&out);
        render(agent, TRANSCRIPT_ENTRIES, strbuf_text(output), output->length, piece, &out);
        for (char *line = out.text, *end; line && *line; line = end + 1) {
            end = strchr(line, '\n');
            if (!end)
                fail_msg("%s %s: the last entry is not complete", agent, scene);
            json_auto_t *entry = json_loadb(line, (size_t)(end - line), 0, NULL);
            if (!json_string_length(json_object_get(entry, "kind"))
                || !json_is_string(json_object_get(entry, "text")))
                fail_msg("%s %s: not an entry: %.*s", agent, scene, (int)(end - line), line);
        }
    }
}

TEST(every_recording_is_a_list_of_entries) {
    for (size_t i = 0; recorded_agent(i); i++)
        each_recording(recorded_agent(i), check_entries, NULL);
}

TEST(codex_items) {
    expect(
        "codex",
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"1\",\"type\":\"file_change\",\"changes\":"
        "[{\"path\":\"a.c\",\"kind\":\"add\"},{\"path\":\"b.c\",\"kind\":\"update\"}]}}\n"
        "{\"type\":\"item.started\",\"item\":{\"id\":\"2\",\"type\":\"mcp_tool_call\",\"server\":"
        "\"s\",\"tool\":\"find\",\"arguments\":{\"query\":\"x\"}}}\n"
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"2\",\"type\":\"mcp_tool_call\",\"server\":"
        "\"s\",\"tool\":\"find\",\"arguments\":{\"query\":\"x\"},\"error\":{\"message\":\"no\"}}}\n"
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"3\",\"type\":\"command_execution\","
        "\"command\":\"bash -lc 'make test'\",\"aggregated_output\":\"FAIL\\n\",\"exit_code\":2}}\n"
        "{\"type\":\"item.updated\",\"item\":{\"id\":\"4\",\"type\":\"todo_list\",\"items\":[{"
        "\"text\":\"a\",\"completed\":true},{\"text\":\"b\",\"completed\":false}]}}\n"
        "{\"type\":\"item.completed\",\"item\":{\"id\":\"5\",\"type\":\"reasoning\",\"text\":"
        "\"**Look**\"}}\n",
        "> edit: a.c, b.c\n"
        "> find: x\n"
        "    no\n"
        "> shell: make test\n"
        "    FAIL\n"
        "    exit code 2\n"
        "[to do: 1 of 2 done]\n"
        "  ~ **Look**\n");
}

TEST(gemini_pieces_become_lines) {
    expect("gemini",
           "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"All \",\"delta\":true}\n"
           "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"done.\\nReally.\",\"delta\":"
           "true}\n"
           "{\"type\":\"tool_use\",\"tool_name\":\"read_file\",\"parameters\":{\"absolute_path\":"
           "\"/a\"}}\n"
           "{\"type\":\"tool_result\",\"status\":\"error\",\"error\":{\"message\":\"no file\"}}\n",
           "All done.\nReally.\n"
           "> read_file: /a\n"
           "    no file\n");
}

TEST(opencode_tools) {
    expect("opencode",
           "{\"type\":\"tool_use\",\"part\":{\"tool\":\"bash\",\"state\":{\"status\":\"completed\","
           "\"input\":{\"command\":\"ls\",\"description\":\"x\"},\"output\":\"a\\nb\\n\"}}}\n",
           "> bash: ls\n"
           "    a\n"
           "    b\n");
}

TEST(copilot_tools) {
    expect(
        "copilot",
        "{\"type\":\"tool.execution_start\",\"data\":{\"toolName\":\"bash\",\"arguments\":{"
        "\"command\":\"ls\"}}}\n"
        "{\"type\":\"tool.execution_complete\",\"data\":{\"success\":true,\"result\":{\"content\":"
        "\"a\"}}}\n"
        "{\"type\":\"assistant.message\",\"agentId\":\"x\",\"data\":{\"content\":\"below\"}}\n",
        "> bash: ls\n"
        "    a\n"
        "  | below\n");
}

#define ACP_UPDATE(kind, rest)                                                                     \
    "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{"                  \
    "\"sessionUpdate\":\"" kind "\"," rest "}}}\n"
#define ACP_PIECE(kind, text)                                                                      \
    ACP_UPDATE(kind, "\"content\":{\"type\":\"text\",\"text\":\"" text "\"}")
#define ACP_CALL(kind, id, rest) ACP_UPDATE(kind, "\"toolCallId\":\"" id "\"," rest)

static const char acp_talk[] = {
    ACP_PIECE("agent_thought_chunk", "Let me ") ACP_PIECE("agent_thought_chunk", "look.")
        ACP_PIECE("agent_message_chunk", "All ")
            ACP_UPDATE("usage_update", "\"cost\":{\"amount\":0.25,\"currency\":\"USD\"}")
                ACP_PIECE("agent_message_chunk", "done.\\nReally.")
                    ACP_UPDATE("available_commands_update", "\"availableCommands\":[]")
                        ACP_PIECE("agent_message_chunk", "Next.")
                            ACP_PIECE("agent_thought_chunk",
                                      "Hm.") "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{"
                                             "\"stopReason\":\"end_turn\",\"usage\":{"
                                             "\"inputTokens\":12,\"outputTokens\":3}}}\n"
                                             "{\"acp\":\"end\",\"reason\":\"end_turn\"}\n"
};

TEST(acp_pieces_become_lines) {
    expect("acp", acp_talk,
           "  ~ Let me look.\n"
           "All done.\nReally.\n"
           "Next.\n"
           "  ~ Hm.\n"
           "[12 tokens in, 3 out]\n"
           "[done, $0.25]\n");
}

/* Announced without its arguments first, then with them; the output comes last. */
static const char acp_work[] = {
    ACP_CALL("tool_call", "1",
             "\"kind\":\"execute\",\"title\":\"Terminal\",\"status\":\"pending\",\"rawInput\":{}")
        ACP_CALL("tool_call_update", "1", "\"title\":\"`ls`\",\"rawInput\":{\"command\":\"ls\"}")
            ACP_CALL("tool_call_update", "1", "\"status\":\"in_progress\"") ACP_CALL(
                "tool_call_update", "1",
                "\"status\":\"completed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":"
                "\"text\",\"text\":\"a\\nb\"}}]") ACP_CALL("tool_call", "2",
                                                           "\"status\":\"failed\",\"title\":\"Edit "
                                                           "a.c\",\"kind\":\"edit\"")
                ACP_CALL("tool_call", "3",
                         "\"title\":\"Look\",\"status\":\"completed\",\"rawOutput\":\"c\"")
                    ACP_UPDATE(
                        "plan",
                        "\"entries\":[{\"content\":\"x\",\"status\":\"completed\"},"
                        "{\"content\":\"y\",\"status\":\"pending\"}]") "{\"acp\":\"denied\","
                                                                       "\"tool\":\"execute\","
                                                                       "\"argument\":\"rm x\"}\n"
                                                                       "{\"acp\":\"stray\","
                                                                       "\"text\":\"warning\"}\n"
                                                                       "{\"acp\":\"gone\","
                                                                       "\"during\":\"session/"
                                                                       "prompt\",\"code\":3}\n"
                                                                       "{\"forged\":true}\n"
};

TEST(acp_tools) {
    expect("acp", acp_work,
           "> execute: ls\n"
           "    a\n"
           "    b\n"
           "> edit: Edit a.c\n"
           "    failed\n"
           "> tool: Look\n"
           "    c\n"
           "[to do: 1 of 2 done]\n"
           "[denied: execute: rm x]\n"
           "warning\n"
           "[the agent exited with code 3 before it answered session/prompt]\n"
           "{\"forged\":true}\n");
}

TEST(lines_that_are_not_json_come_through) {
    expect("claude", "Hello\n\n  indented\nlast", "Hello\n\n  indented\nlast\n");
    expect("codex", "int main(void)\n{\n    return 0;\n}\n",
           "int main(void)\n{\n    return 0;\n}\n");
    expect("claude", "{\"ok\": true}\n", "{\"ok\": true}\n");
    expect("claude", "{\n  \"ok\": 1\n}\nnext\n", "{\n  \"ok\": 1\n}\nnext\n");
}

/* A crash in the middle of a line: what was complete in it is shown, else the line. */
TEST(a_broken_line_is_not_hidden) {
    expect("claude", "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tex",
           "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tex\n");
    expect(
        "claude",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Said.\"},"
        "{\"type\"\n{\"type\":\"assistant\",\"message\":{\"content\":[{\"text\":\"Next.\"}]}}\n",
        "Said.\n[the line is broken]\nNext.\n");
}

TEST(plain_output_has_no_transcript) {
    assert_null(transcript_new(agent_adapter_find("plain"), TRANSCRIPT_PLAIN));
    assert_null(transcript_new(NULL, TRANSCRIPT_PLAIN));
}

TEST(colours_are_added_and_nothing_else) {
    _cleanup_(strbuf_finish) struct strbuf plain = STRBUF_INIT, colours = STRBUF_INIT,
                                           bare = STRBUF_INIT;
    render("claude", TRANSCRIPT_PLAIN, CLAUDE_TOOL, strlen(CLAUDE_TOOL), 9, &plain);
    render("claude", TRANSCRIPT_COLOUR, CLAUDE_TOOL, strlen(CLAUDE_TOOL), 9, &colours);
    assert_null(strchr(strbuf_text(&plain), '\x1b'));
    assert_non_null(strstr(strbuf_text(&colours), "\x1b[36m> Bash: make test\x1b[0m\n"));
    struct sanitizer s = SANITIZER_INIT;
    sanitizer_feed(&s, strbuf_text(&colours), colours.length, &bare);
    assert_string_equal(strbuf_text(&bare), strbuf_text(&plain));
}

/* --- the last line --------------------------------------------------------------------------------- */

static void last_line_of(const char *agent, const char *input, const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct transcript *t = transcript_new(agent_adapter_find(agent), TRANSCRIPT_BRIEF);
    for (const char *at = input; *at; at++)
        transcript_feed(t, at, 1, &out);
    assert_string_equal(transcript_last_line(t), expected);
    transcript_free(t);
}

TEST(the_last_line_is_what_it_says_or_does) {
    last_line_of("claude", "", "");
    last_line_of("claude", CLAUDE_TOOL, "> Bash: make test");
    last_line_of("claude",
                 CLAUDE_TOOL
                 "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\","
                 "\"content\":\"much\\noutput\"}]}}\n",
                 "> Bash: make test");
    last_line_of(
        "claude",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"text\":\"One.\\n  Two. \\n\"}]}}\n"
        "{\"type\":\"unknown\"}\n",
        "Two.");
    last_line_of("gemini",
                 "{\"type\":\"message\",\"content\":\"All \",\"delta\":true}\n"
                 "{\"type\":\"message\",\"content\":\"done\",\"delta\":true}\n",
                 "All done");
    last_line_of("codex", "one\n  two words\n\n", "two words");
}

/* --- harm ------------------------------------------------------------------------------------------ */

static void expect_harmless(const struct strbuf *out, const char *what) {
    const char *text = strbuf_text(out);
    for (size_t at = 0; at < out->length;) {
        size_t length = utf8_length(text + at, out->length - at);
        if (length == 0)
            fail_msg("%s: invalid UTF-8 at byte %zu of the transcript", what, at);
        if (text[at] != '\n' && text[at] != '\t' && utf8_is_control(text + at, length))
            fail_msg("%s: a control character at byte %zu of the transcript", what, at);
        at += length;
    }
}

TEST(nothing_that_a_terminal_obeys_comes_through) {
    static const char *const bad[] = {
        "\\u001b]0;title\\u0007x",
        "\\u001b[2J\\u001b[1;1Hforged",
        "\\u202egnp.exe",
        "\\u009b31m",
        "a\\rb\\bc\\u0000d\\u007fe",
        "\x1b[31mraw escape",
        "\xff\xfe\xc0\x80 invalid",
        "\\ud800 alone \\udc00",
        "\\u2028line\\u2029",
        "\xe2\x80\xae raw override",
        "\\u001b[6n\\u001bP+q\\u001b\\\\",
        ("\xc2\x9b"
         "31m"),
    };
    static const char *const shapes[] = {
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}"
        "\n",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"name\":\"%s\",\"input\":{\"%s\":\"%"
        "s\"}}]}}\n",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"content\":\"%s\"}]}}\n",
        "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"%s\",\"model\":\"%s\"}\n",
        "{\"type\":\"result\",\"is_error\":true,\"terminal_reason\":\"%s\",\"errors\":[\"%s\"]}\n",
        "{\"%s\":\"%s\"}\n",
        "{\"type\":\"assistant\",\"%s",
        "%s\n",
        "{\"acp\":\"stray\",\"text\":\"%s\"}\n",
        "{\"acp\":\"denied\",\"tool\":\"%s\",\"argument\":\"%s\"}\n",
        "{\"jsonrpc\":\"2.0\",\"params\":{\"update\":{\"sessionUpdate\":\"agent_thought_chunk\","
        "\"content\":{\"text\":\"%s\"}}}}\n",
        "{\"jsonrpc\":\"2.0\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call\",\"title\":\"%"
        "s"
        "\",\"kind\":\"%s\",\"status\":\"failed\",\"content\":[{\"content\":{\"text\":\"%s\"}}]}}}"
        "\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        for (size_t k = 0; k < ARRAY_SIZE(shapes); k++) {
            _cleanup_(strbuf_finish) struct strbuf input = STRBUF_INIT, out = STRBUF_INIT;
            for (const char *at = shapes[k]; *at; at++)
                if (at[0] == '%' && at[1] == 's') {
                    strbuf_puts(&input, bad[i]);
                    at++;
                } else {
                    strbuf_putc(&input, *at);
                }
            render("claude", TRANSCRIPT_PLAIN, strbuf_text(&input), input.length, 5, &out);
            render("acp", TRANSCRIPT_PLAIN, strbuf_text(&input), input.length, 5, &out);
            expect_harmless(&out, bad[i]);
        }
}

static struct rng rng = { 20261116 };

static void mutate_scene(const char *agent, const char *scene, const struct strbuf *output,
                         void *ctx) {
    (void)ctx;
    size_t length = output->length;
    for (int i = 0; i < 40 && length > 0; i++) {
        _cleanup_(strbuf_finish) struct strbuf input = STRBUF_INIT, out = STRBUF_INIT,
                                               same = STRBUF_INIT;
        strbuf_add(&input, strbuf_text(output), length);
        for (int n = 0; n < 20; n++)
            input.text[rng_below(&rng, length)] = (char)rng_next(&rng);
        size_t cut = (size_t)rng_below(&rng, length) + 1;
        render(agent, TRANSCRIPT_PLAIN, input.text, cut, 1 + (size_t)rng_below(&rng, cut), &out);
        render(agent, TRANSCRIPT_PLAIN, input.text, cut, cut, &same);
        expect_harmless(&out, scene);
        assert_string_equal(strbuf_text(&out), strbuf_text(&same));
    }
}

TEST(junk_is_survived) {
    for (size_t i = 0; recorded_agent(i); i++)
        each_recording(recorded_agent(i), mutate_scene, NULL);
}

/* Feeds `times` times the same, and returns how much came out in all. No piece gives more than a megabyte. */
static uint64_t feed_much(struct transcript *t, const char *piece, size_t times) {
    uint64_t all = 0;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < times; i++) {
        transcript_feed(t, piece, strlen(piece), &out);
        all += out.length;
        assert_true(out.length < 1024 * 1024);
        strbuf_clear(&out);
    }
    return all;
}

/* Lines that never end: text, a string, keys, depth, a list of blocks. What is kept of them does not grow. */
TEST(endless_lines_are_cut) {
    static const char *const lines[][2] = {
        { "text ", "text and more text " },
        { "{\"type\":\"assistant\",\"message\":{\"content\":[{\"text\":\"", "text and more text " },
        { "{\"type\":\"assistant\",", "\"key\":1," },
        { "{\"type\":\"assistant\",\"message\":{\"content\":[{\"input\":{", "\"key\":\"x\"," },
        { "{\"type\":\"assistant\",\"message\":{\"content\":", "[[[[{\"a\":" },
        { "{\"type\":\"user\",\"message\":{\"content\":[{\"content\":[", "{\"text\":\"result\"}," },
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        struct transcript *t = transcript_new(agent_adapter_find("claude"), TRANSCRIPT_PLAIN);
        transcript_feed(t, lines[i][0], strlen(lines[i][0]), &out);
        assert_true(feed_much(t, lines[i][1], 500000) < 128 * 1024);
        transcript_feed(t, "\nnext\n", 6, &out);
        transcript_end(t, &out);
        assert_true(out.length < 128 * 1024);
        assert_non_null(strstr(strbuf_text(&out), "\nnext\n"));
        transcript_free(t);
    }
}

TEST(a_message_of_endless_blocks_is_streamed) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct transcript *t = transcript_new(agent_adapter_find("claude"), TRANSCRIPT_PLAIN);
    static const char begin[] = "{\"type\":\"assistant\",\"message\":{\"content\":[";
    transcript_feed(t, begin, strlen(begin), &out);
    assert_true(feed_much(t, "{\"type\":\"text\",\"text\":\"one more\"},", 200000) > 1000000);
    transcript_free(t);
}

/* A thought of many pieces, without anything behind it. */
TEST(an_endless_thought_is_not_kept) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct transcript *t = transcript_new(agent_adapter_find("acp"), TRANSCRIPT_PLAIN);
    assert_int_equal(feed_much(t, ACP_PIECE("agent_thought_chunk", "and more "), 100000), 0);
    transcript_end(t, &out);
    assert_true(out.length > 0 && out.length < 4096);
    transcript_free(t);
}

int main(int argc, char **argv) {
    writes = argc > 1 && strcmp(argv[1], "--write") == 0;
    return tests_run();
}
