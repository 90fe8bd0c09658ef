/* transcript_gemini.c: `gemini -o stream-json`, and the one object of `-o json`.
 *
 * Messages come in chunks ("delta"), which are joined. */
#include "agent/transcript_internal.h"

#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 32)                                                                         \
    WANT(SESSION, "session_id", 128)                                                               \
    WANT(MODEL, "model", 128)                                                                      \
    WANT(ROLE, "role", 32)                                                                         \
    WANT(CONTENT, "content", TRANSCRIPT_TEXT)                                                      \
    WANT(DELTA, "delta", 2)                                                                        \
    WANT(TOOL_ID, "tool_id", 128)                                                                  \
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

static void on_message(struct transcript *t, const struct json_value *values) {
    if (json_value_is(&values[ROLE], "user"))
        transcript_prompt(t, &values[CONTENT]);
    else if (json_value_is_true(&values[DELTA]))
        transcript_say_piece(t, &values[CONTENT]);
    else
        transcript_say(t, &values[CONTENT]);
}

static void on_tool_use(struct transcript *t, const struct json_value *values) {
    transcript_call_id(t, &values[TOOL_ID]);
    transcript_call_of(t, &values[TOOL]);
}

static void on_tool_result(struct transcript *t, const struct json_value *values) {
    transcript_call_id(t, &values[TOOL_ID]);
    transcript_output(t, &values[OUTPUT], json_value_is(&values[STATUS], "error"));
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

static void on_error(struct transcript *t, const struct json_value *values) {
    bool is_warning = json_value_is(&values[SEVERITY], "warning");
    (is_warning ? transcript_note_of : transcript_fail_of)(t, &values[MESSAGE]);
}

static void on_init(struct transcript *t, const struct json_value *values) {
    transcript_session(t, &values[SESSION], &values[MODEL]);
}

/* The object of `-o json`. */
static bool on_object(struct transcript *t, const struct json_value *values) {
    bool is_error = json_value_has_text(&values[ERROR_MESSAGE]);
    transcript_say(t, &values[RESPONSE]);
    if (is_error)
        transcript_fail(t, "failed: %s", values[ERROR_MESSAGE].text);
    return is_error || json_value_has_text(&values[RESPONSE]);
}

static const struct transcript_type types[] = {
    { "init", .event = on_init },
    { "message", .event = on_message },
    { "tool_use", .event = on_tool_use },
    { "tool_result", .event = on_tool_result },
    { "error", .event = on_error },
    { "result", .event = on_result },
    { NULL },
};

const struct transcript_family transcript_gemini = {
    JSON_WANTS(WANTS),
    .argument = ARGUMENT,
    .types = types,
    .other = on_object,
};
