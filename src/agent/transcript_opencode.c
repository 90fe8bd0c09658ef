/* transcript_opencode.c: `opencode run --format json`.
 *
 * A tool call is one event, at its end. Each step has its own cost; the last one has "stop". */
#include "agent/transcript_internal.h"
#include "base/macros.h"
#include "base/money.h"

#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 32)                                                                         \
    WANT(SESSION, "sessionID", 128)                                                                \
    WANT(TEXT, "part/text", TRANSCRIPT_TEXT)                                                       \
    WANT(TOOL, "part/tool", 128)                                                                   \
    WANT(STATUS, "part/state/status", 32)                                                          \
    WANT(ARGUMENT, "part/state/input/*", TRANSCRIPT_ARGUMENT)                                      \
    WANT(OUTPUT, "part/state/output", TRANSCRIPT_RESULT)                                           \
    WANT(TOOL_ERROR, "part/state/error", 1024)                                                     \
    WANT(REASON, "part/reason", 32)                                                                \
    WANT(COST, "part/cost", 32)                                                                    \
    WANT(ERROR_NAME, "error/name", 64)                                                             \
    WANT(ERROR_MESSAGE, "error/data/message", 1024)
enum want { WANTS(JSON_WANT_NAME) };

static void on_tool(struct transcript *t, const struct json_value *values) {
    transcript_call(t, values[TOOL].text);
    transcript_output(t, &values[OUTPUT], false);
    transcript_output(t, &values[TOOL_ERROR], true);
}

static void on_step_finish(struct transcript *t, const struct json_value *values) {
    _cleanup_(strbuf_finish) struct strbuf end = STRBUF_INIT;
    if (values[COST].kind == SCAN_NUMBER && values[COST].micro > 0
        && __builtin_add_overflow(t->cost_micro_usd, values[COST].micro, &t->cost_micro_usd))
        t->cost_micro_usd = MONEY_MAX;
    if (json_value_is(&values[REASON], "tool-calls"))
        return;
    strbuf_puts(&end, json_value_is(&values[REASON], "stop") ? "done" : values[REASON].text);
    transcript_put_cost(&end, t->cost_micro_usd);
    transcript_note(t, "%s", strbuf_text(&end));
}

static void on_step_start(struct transcript *t, const struct json_value *values) {
    transcript_session(t, &values[SESSION], NULL);
}

static void on_error(struct transcript *t, const struct json_value *values) {
    transcript_fail(t, "%s: %s", values[ERROR_NAME].text, values[ERROR_MESSAGE].text);
}

static const struct transcript_type types[] = {
    { "step_start", .event = on_step_start },
    { "text", transcript_say, TEXT },
    { "reasoning", transcript_think, TEXT },
    { "tool_use", .event = on_tool },
    { "step_finish", .event = on_step_finish },
    { "error", .event = on_error },
    { NULL },
};

const struct transcript_family transcript_opencode = {
    JSON_WANTS(WANTS),
    .argument = ARGUMENT,
    .types = types,
};
