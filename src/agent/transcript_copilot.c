/* transcript_copilot.c: `copilot --output-format json`.
 *
 * Messages come in chunks and again in full: the full one is printed. Subagents report in the same
 * stream, with their agentId. */
#include "agent/transcript_internal.h"

#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 64)                                                                         \
    WANT(AGENT, "agentId", 64)                                                                     \
    WANT(EXIT_CODE, "exitCode", 32)                                                                \
    WANT(MODEL, "data/model", 128)                                                                 \
    WANT(CONTENT, "data/content", TRANSCRIPT_TEXT)                                                 \
    WANT(MESSAGE, "data/message", 1024)                                                            \
    WANT(REASON, "data/reason", 128)                                                               \
    WANT(ERROR_MESSAGE, "data/errorMessage", 1024)                                                 \
    WANT(STATUS, "data/statusCode", 32)                                                            \
    WANT(CALL_ID, "data/toolCallId", 128)                                                          \
    WANT(TOOL, "data/toolName", 128)                                                               \
    WANT(ARGUMENT, "data/arguments/*", TRANSCRIPT_ARGUMENT)                                        \
    WANT(RESULT, "data/result/content", TRANSCRIPT_RESULT)                                         \
    WANT(TOOL_ERROR, "data/error/message", 1024)
enum want { WANTS(JSON_WANT_NAME) };

static void on_tools_updated(struct transcript *t, const struct json_value *values) {
    transcript_session(t, NULL, &values[MODEL]);
}

static void on_tool_start(struct transcript *t, const struct json_value *values) {
    transcript_call_id(t, &values[CALL_ID]);
    transcript_call_of(t, &values[TOOL]);
}

static void on_tool_end(struct transcript *t, const struct json_value *values) {
    transcript_call_id(t, &values[CALL_ID]);
    transcript_output(t, &values[RESULT], false);
    transcript_output(t, &values[TOOL_ERROR], true);
}

static void on_call_failure(struct transcript *t, const struct json_value *values) {
    struct agent_notes notes = { 0 };
    transcript_note(t, "%s%s%s", values[STATUS].text, values[STATUS].length > 0 ? ": " : "",
                    transcript_error_text(&notes, &values[ERROR_MESSAGE]));
}

static void on_retry(struct transcript *t, const struct json_value *values) {
    transcript_note(t, "retrying: %s", values[REASON].text);
}

static void on_abort(struct transcript *t, const struct json_value *values) {
    transcript_fail(t, "interrupted: %s", values[REASON].text);
}

static void on_result(struct transcript *t, const struct json_value *values) {
    if (json_value_count(&values[EXIT_CODE]) == 0)
        transcript_note(t, "done");
    else
        transcript_fail(t, "failed, exit code %s", values[EXIT_CODE].text);
}

static const struct transcript_type types[] = {
    { "session.tools_updated", .event = on_tools_updated },
    { "user.message", transcript_prompt, CONTENT },
    { "assistant.message", transcript_say, CONTENT },
    { "assistant.reasoning", transcript_think, CONTENT },
    { "tool.execution_start", .event = on_tool_start },
    { "tool.execution_complete", .event = on_tool_end },
    { "model.call_failure", .event = on_call_failure },
    { "assistant.turn_retry", .event = on_retry },
    { "session.error", transcript_fail_of, MESSAGE },
    { "session.info", transcript_note_of, MESSAGE },
    { "session.warning", transcript_note_of, MESSAGE },
    { "abort", .event = on_abort },
    { "result", .event = on_result },
    { NULL },
};

const struct transcript_family transcript_copilot = {
    JSON_WANTS(WANTS),
    .argument = ARGUMENT,
    .parent = AGENT,
    .types = types,
};
