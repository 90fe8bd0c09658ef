/* transcript_copilot.c: `copilot --output-format json`.
 *
 * Messages come in chunks and again in full: the full one is printed. Subagents report in the same
 * stream, with their agentId. */
#include "agent/transcript_internal.h"
#include "base/macros.h"

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
    WANT(TOOL, "data/toolName", 128)                                                               \
    WANT(ARGUMENT, "data/arguments/*", TRANSCRIPT_ARGUMENT)                                        \
    WANT(RESULT, "data/result/content", TRANSCRIPT_RESULT)                                         \
    WANT(TOOL_ERROR, "data/error/message", 1024)
enum want { WANTS(JSON_WANT_NAME) };
static const struct json_want wants[] = { WANTS(JSON_WANT_ROW) };

static void on_tool_end(struct transcript *t, const struct json_value *values) {
    transcript_output(t, &values[RESULT], false);
    transcript_output(t, &values[TOOL_ERROR], true);
}

static void on_call_failure(struct transcript *t, const struct json_value *values) {
    struct agent_notes seen = { 0 };
    transcript_note(t, "%s%s%s", values[STATUS].text, values[STATUS].length > 0 ? ": " : "",
                    transcript_error_text(&seen, &values[ERROR_MESSAGE]));
}

static void on_result(struct transcript *t, const struct json_value *values) {
    if (json_value_count(&values[EXIT_CODE]) == 0)
        transcript_note(t, "done");
    else
        transcript_fail(t, "failed, exit code %s", values[EXIT_CODE].text);
}

static bool copilot_event(struct transcript *t, const struct json_value *values) {
    const struct json_value *type = &values[TYPE];
    if (!json_value_has_text(type))
        return false;
    t->is_nested = json_value_has_text(&values[AGENT]);
    if (json_value_is(type, "session.tools_updated"))
        transcript_session(t, NULL, &values[MODEL]);
    else if (json_value_is(type, "user.message"))
        transcript_hear(t, &values[CONTENT]);
    else if (json_value_is(type, "assistant.message"))
        transcript_say(t, &values[CONTENT]);
    else if (json_value_is(type, "assistant.reasoning"))
        transcript_think(t, &values[CONTENT]);
    else if (json_value_is(type, "tool.execution_start"))
        transcript_call(t, values[TOOL].text);
    else if (json_value_is(type, "tool.execution_complete"))
        on_tool_end(t, values);
    else if (json_value_is(type, "model.call_failure"))
        on_call_failure(t, values);
    else if (json_value_is(type, "assistant.turn_retry"))
        transcript_note(t, "retrying: %s", values[REASON].text);
    else if (json_value_is(type, "session.error"))
        transcript_fail(t, "%s", values[MESSAGE].text);
    else if (json_value_is(type, "session.info") || json_value_is(type, "session.warning"))
        transcript_note(t, "%s", values[MESSAGE].text);
    else if (json_value_is(type, "abort"))
        transcript_fail(t, "interrupted: %s", values[REASON].text);
    else if (json_value_is(type, "result"))
        on_result(t, values);
    return true;
}

const struct transcript_family transcript_copilot = {
    .wants = wants,
    .want_count = ARRAY_SIZE(wants),
    .argument = ARGUMENT,
    .event = copilot_event,
};
