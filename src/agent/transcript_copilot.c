/* transcript_copilot.c: `copilot --output-format json`.
 *
 * Messages come in pieces and once more in full: the full one is printed. Agents that it has started report in the
 * same stream, with their agentId. */
#include "agent/transcript_internal.h"
#include "base/macros.h"

enum want {
    TYPE,
    AGENT,
    EXIT_CODE,
    MODEL,
    CONTENT,
    MESSAGE,
    REASON,
    ERROR_MESSAGE,
    STATUS,
    TOOL,
    ARGUMENT,
    RESULT,
    TOOL_ERROR,
};
static const struct json_want wants[] = {
    [TYPE] = { "type", 64 },
    [AGENT] = { "agentId", 64 },
    [EXIT_CODE] = { "exitCode", 32 },
    [MODEL] = { "data/model", 128 },
    [CONTENT] = { "data/content", TRANSCRIPT_TEXT },
    [MESSAGE] = { "data/message", 1024 },
    [REASON] = { "data/reason", 128 },
    [ERROR_MESSAGE] = { "data/errorMessage", 1024 },
    [STATUS] = { "data/statusCode", 32 },
    [TOOL] = { "data/toolName", 128 },
    [ARGUMENT] = { "data/arguments/*", TRANSCRIPT_ARGUMENT },
    [RESULT] = { "data/result/content", TRANSCRIPT_RESULT },
    [TOOL_ERROR] = { "data/error/message", 1024 },
};

static void copilot_match(struct transcript *t, const struct json_value *values, size_t want,
                          const char *key) {
    if (want == ARGUMENT)
        transcript_argument(t, key, &values[want]);
}

static void on_tool_end(struct transcript *t, const struct json_value *values) {
    if (json_value_has_text(&values[RESULT]))
        transcript_result(t, values[RESULT].text, values[RESULT].is_cut, false);
    if (json_value_has_text(&values[TOOL_ERROR]))
        transcript_result(t, values[TOOL_ERROR].text, values[TOOL_ERROR].is_cut, true);
}

static void on_call_failure(struct transcript *t, const struct json_value *values) {
    struct agent_seen seen = { 0 };
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

const struct transcript_family transcript_copilot = { wants, ARRAY_SIZE(wants), copilot_match,
                                                      copilot_event };
