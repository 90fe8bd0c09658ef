/* transcript_gemini.c: `gemini -o stream-json`, and the one object of `-o json`.
 *
 * Messages come in chunks ("delta"), which are joined. */
#include "agent/transcript_internal.h"
#include "base/macros.h"

#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 32)                                                                         \
    WANT(SESSION, "session_id", 128)                                                               \
    WANT(MODEL, "model", 128)                                                                      \
    WANT(ROLE, "role", 32)                                                                         \
    WANT(CONTENT, "content", TRANSCRIPT_TEXT)                                                      \
    WANT(DELTA, "delta", 2)                                                                        \
    WANT(TOOL, "tool_name", 128)                                                                   \
    WANT(ARGUMENT, "parameters/*", TRANSCRIPT_ARGUMENT)                                            \
    WANT(STATUS, "status", 32)                                                                     \
    WANT(OUTPUT, "output", TRANSCRIPT_RESULT)                                                      \
    WANT(SEVERITY, "severity", 32)                                                                 \
    WANT(MESSAGE, "message", 1024)                                                                 \
    WANT(ERROR_MESSAGE, "error/message", 1024)                                                     \
    WANT(RESPONSE, "response", TRANSCRIPT_TEXT)                                                    \
    WANT(TOKENS_IN, "stats/input_tokens", 32)                                                      \
    WANT(TOKENS_OUT, "stats/output_tokens", 32)
enum want { WANTS(JSON_WANT_NAME) };
static const struct json_want wants[] = { WANTS(JSON_WANT_ROW) };

static void on_message(struct transcript *t, const struct json_value *values) {
    if (json_value_is(&values[ROLE], "user"))
        transcript_hear(t, &values[CONTENT]);
    else if (json_value_is_true(&values[DELTA]))
        transcript_say_piece(t, &values[CONTENT]);
    else
        transcript_say(t, &values[CONTENT]);
}

static void on_tool_result(struct transcript *t, const struct json_value *values) {
    bool failed = json_value_is(&values[STATUS], "error");
    transcript_output(t, &values[OUTPUT], failed);
    transcript_output(t, &values[ERROR_MESSAGE], true);
}

static void on_result(struct transcript *t, const struct json_value *values) {
    if (json_value_is(&values[STATUS], "success"))
        transcript_note(t, "done, %s tokens in, %s out", values[TOKENS_IN].text,
                        values[TOKENS_OUT].text);
    else if (values[ERROR_MESSAGE].length > 0)
        transcript_fail(t, "failed: %s", values[ERROR_MESSAGE].text);
    else
        transcript_fail(t, "failed");
}

/* The object of `-o json` has no type. */
static bool on_object(struct transcript *t, const struct json_value *values) {
    transcript_say(t, &values[RESPONSE]);
    if (json_value_has_text(&values[ERROR_MESSAGE]))
        transcript_fail(t, "failed: %s", values[ERROR_MESSAGE].text);
    return json_value_has_text(&values[RESPONSE]) || json_value_has_text(&values[ERROR_MESSAGE]);
}

static bool gemini_event(struct transcript *t, const struct json_value *values) {
    const struct json_value *type = &values[TYPE];
    if (!json_value_has_text(type))
        return on_object(t, values);
    if (json_value_is(type, "init"))
        transcript_session(t, &values[SESSION], &values[MODEL]);
    else if (json_value_is(type, "message"))
        on_message(t, values);
    else if (json_value_is(type, "tool_use"))
        transcript_call(t, values[TOOL].text);
    else if (json_value_is(type, "tool_result"))
        on_tool_result(t, values);
    else if (json_value_is(type, "error") && json_value_is(&values[SEVERITY], "warning"))
        transcript_note(t, "%s", values[MESSAGE].text);
    else if (json_value_is(type, "error"))
        transcript_fail(t, "%s", values[MESSAGE].text);
    else if (json_value_is(type, "result"))
        on_result(t, values);
    return true;
}

const struct transcript_family transcript_gemini = {
    .wants = wants,
    .want_count = ARRAY_SIZE(wants),
    .argument = ARGUMENT,
    .event = gemini_event,
};
