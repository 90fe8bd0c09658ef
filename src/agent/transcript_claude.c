/* transcript_claude.c: `claude -p --output-format stream-json`, and compatible programs.
 *
 * Each message has a list of blocks: text, thinking, tool_use, tool_result. A block is printed when
 * it is complete, so a line of many blocks needs no memory. The result usually repeats the last
 * text; it is printed only if it does not (`--output-format json` prints nothing else). */
#include "agent/transcript_internal.h"
#include "base/macros.h"

#define EACH_BLOCK "message/content/*"
#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 32)                                                                         \
    WANT(SUBTYPE, "subtype", 48)                                                                   \
    WANT(SESSION, "session_id", 128)                                                               \
    WANT(MODEL, "model", 128)                                                                      \
    WANT(PARENT, "parent_tool_use_id", 64)                                                         \
    WANT(CONTENT, "message/content", TRANSCRIPT_TEXT)                                              \
    WANT(BLOCK, EACH_BLOCK, 32)                                                                    \
    WANT(BLOCK_TYPE, EACH_BLOCK "/type", 48)                                                       \
    WANT(BLOCK_TEXT, EACH_BLOCK "/text", TRANSCRIPT_TEXT)                                          \
    WANT(BLOCK_THINKING, EACH_BLOCK "/thinking", TRANSCRIPT_RESULT)                                \
    WANT(BLOCK_ID, EACH_BLOCK "/id", 128)                                                          \
    WANT(BLOCK_OF, EACH_BLOCK "/tool_use_id", 128)                                                 \
    WANT(BLOCK_NAME, EACH_BLOCK "/name", 128)                                                      \
    WANT(BLOCK_ARGUMENT, EACH_BLOCK "/input/*", TRANSCRIPT_ARGUMENT)                               \
    WANT(BLOCK_ERROR, EACH_BLOCK "/is_error", 2)                                                   \
    WANT(BLOCK_RESULT, EACH_BLOCK "/content", TRANSCRIPT_RESULT)                                   \
    WANT(BLOCK_RESULT_TEXT, EACH_BLOCK "/content/*/text", TRANSCRIPT_RESULT)                       \
    WANT(RESULT, "result", TRANSCRIPT_TEXT)                                                        \
    WANT(ERRORS, "errors/*", 512)                                                                  \
    WANT(IS_ERROR, "is_error", 2)                                                                  \
    WANT(TERMINAL_REASON, "terminal_reason", 48)                                                   \
    WANT(TURNS, "num_turns", 32)                                                                   \
    WANT(COST, "total_cost_usd", 32)                                                               \
    WANT(DENIED, "permission_denials", 2)                                                          \
    WANT(DENIED_TOOL, "permission_denials/*/tool_name", 128)                                       \
    WANT(NOTICE, "text", 512)                                                                      \
    WANT(RETRY, "attempt", 32)                                                                     \
    WANT(RETRIES, "max_retries", 32)                                                               \
    WANT(RETRY_DELAY, "retry_delay_ms", 32)                                                        \
    WANT(RETRY_STATUS, "error_status", 32)                                                         \
    WANT(ERROR, "error", 64)                                                                       \
    WANT(LIMIT_STATUS, "rate_limit_info/status", 32)                                               \
    WANT(LIMIT_KIND, "rate_limit_info/rateLimitType", 32)                                          \
    WANT(TOOL_CALL, "tool_call", 64)                                                               \
    WANT(TOOL_CALL_ARGUMENT, "tool_call/*/args/*", TRANSCRIPT_ARGUMENT)
enum want { WANTS(JSON_WANT_NAME) };

static bool is_fresh(const struct transcript *t, enum want want) {
    return t->fresh & UINT64_C(1) << want;
}

/* The scanner keeps the last of each value, so values may be of an earlier block. */
static void end_block(struct transcript *t, const struct json_value *values) {
    bool is_user = json_value_is(&values[TYPE], "user");
    enum want id = is_fresh(t, BLOCK_OF) ? BLOCK_OF : BLOCK_ID;
    transcript_call_id(t, is_fresh(t, id) ? &values[id] : NULL);
    if (is_fresh(t, BLOCK_NAME))
        transcript_call(t, values[BLOCK_NAME].text);
    else if (is_fresh(t, BLOCK_THINKING))
        transcript_think(t, &values[BLOCK_THINKING]);
    else if (is_fresh(t, BLOCK_TEXT) && is_user)
        transcript_prompt(t, &values[BLOCK_TEXT]);
    else if (is_fresh(t, BLOCK_TEXT))
        transcript_say(t, &values[BLOCK_TEXT]);
    else if (is_fresh(t, BLOCK_RESULT))
        transcript_result(t, strbuf_text(&t->result), values[BLOCK_RESULT].is_cut,
                          is_fresh(t, BLOCK_ERROR) && json_value_is_true(&values[BLOCK_ERROR]));
    strbuf_clear(&t->result);
    transcript_forget_arguments(t);
    t->fresh = 0;
}

static void add_result(struct transcript *t, const struct json_value *text) {
    if (text->kind == SCAN_STRING && t->result.length < t->result_max) {
        if (t->result.length > 0)
            strbuf_putc(&t->result, '\n');
        strbuf_add(&t->result, text->text, text->length);
    }
}

static void claude_match(struct transcript *t, const struct json_value *values, size_t want,
                         const char *key) {
    const struct json_value *value = &values[want];
    if (want == BLOCK_ARGUMENT || want == TOOL_CALL_ARGUMENT)
        transcript_argument(t, key, value);
    else if (want == BLOCK_RESULT || want == BLOCK_RESULT_TEXT)
        add_result(t, value);
    else if (want == BLOCK)
        end_block(t, values);
    else if (want == CONTENT && value->kind == SCAN_STRING) /* a list was printed already */
        (json_value_is(&values[TYPE], "user") ? transcript_prompt : transcript_say)(t, value);
}

static void on_system(struct transcript *t, const struct json_value *values) {
    const struct json_value *subtype = &values[SUBTYPE];
    if (json_value_is(subtype, "init")) {
        transcript_session(t, &values[SESSION], &values[MODEL]);
    } else if (json_value_is(subtype, "api_retry")) {
        int64_t delay = json_value_count(&values[RETRY_DELAY]);
        transcript_note(t, "%s%s%s: retry %s of %s in %lld s", values[ERROR].text,
                        values[RETRY_STATUS].length > 0 ? " " : "", values[RETRY_STATUS].text,
                        values[RETRY].text, values[RETRIES].text,
                        delay > 0 ? (long long)(delay + 999) / 1000 : 0);
    } else if (json_value_is(subtype, "compact_boundary")) {
        transcript_note(t, "the conversation was compacted");
    } else if (json_value_is(subtype, "notification")) {
        transcript_note_of(t, &values[NOTICE]);
    }
}

static void on_limit(struct transcript *t, const struct json_value *values) {
    if (!json_value_is(&values[LIMIT_STATUS], "allowed"))
        transcript_note(t, "rate limit: %s%s%s", values[LIMIT_STATUS].text,
                        values[LIMIT_KIND].length > 0 ? ", " : "", values[LIMIT_KIND].text);
}

/* "[failed: max_turns, 2 turns, $0.0014]" */
static void on_result(struct transcript *t, const struct json_value *values) {
    bool failed = json_value_is_true(&values[IS_ERROR]);
    const struct json_value *reason = &values[TERMINAL_REASON];
    _cleanup_(strbuf_finish) struct strbuf end = STRBUF_INIT;
    if (json_value_has_text(&values[RESULT]) && !transcript_was_printed(t, values[RESULT].text))
        transcript_say(t, &values[RESULT]);
    /* Its diagnostics after an interrupt are for its developers. */
    if (json_value_has_text(&values[ERRORS]) && !agent_has(values[ERRORS].text, "[ede_diagnostic]"))
        transcript_fail_of(t, &values[ERRORS]);
    if (values[DENIED].kind == SCAN_LIST && values[DENIED].count > 0)
        transcript_fail(t, "%u tool call%s denied%s%s", (unsigned)values[DENIED].count,
                        values[DENIED].count == 1 ? " was" : "s were",
                        values[DENIED_TOOL].length > 0 ? ", the last: " : "",
                        values[DENIED_TOOL].text);
    strbuf_puts(&end, failed ? "failed" : "done");
    if (failed && json_value_has_text(reason) && !json_value_is(reason, "completed"))
        strbuf_printf(&end, ": %s", reason->text);
    if (json_value_count(&values[TURNS]) > 0)
        strbuf_printf(&end, ", %s turn%s", values[TURNS].text,
                      json_value_count(&values[TURNS]) == 1 ? "" : "s");
    if (values[COST].kind == SCAN_NUMBER)
        transcript_put_cost(&end, values[COST].micro);
    transcript_put_note(t, failed ? STYLE_FAILED : STYLE_FAINT, "%s", strbuf_text(&end));
}

static void on_tool_call(struct transcript *t, const struct json_value *values) {
    if (json_value_is(&values[SUBTYPE], "started"))
        transcript_call_of(t, &values[TOOL_CALL]);
}

static const struct transcript_type types[] = {
    { "system", .event = on_system },
    { "rate_limit_event", .event = on_limit },
    { "tool_call", .event = on_tool_call },
    { "result", .event = on_result },
    { NULL },
};

const struct transcript_family transcript_claude = {
    JSON_WANTS(WANTS),
    .parent = PARENT,
    .match = claude_match,
    .types = types,
};
