/* transcript_acp.c: `sluice-acp`: messages of the Agent Client Protocol, and its own events.
 *
 * Messages and thoughts come in chunks, which are joined. A tool call is printed when the agent
 * announces it, or when its arguments arrive if it was announced without. It is printed again if
 * its title changes. Its output is printed at its end. Other protocol messages are not shown. */
#include <string.h>

#include "agent/transcript_internal.h"
#include "base/hash.h"
#include "base/macros.h"

#define OF_UPDATE "params/update/"
#define WANTS(WANT)                                                                                \
    WANT(PROTOCOL, "jsonrpc", 8)                                                                   \
    WANT(ACP, "acp", 16)                                                                           \
    WANT(SESSION, "session", 128)                                                                  \
    WANT(MODEL, "model", 128)                                                                      \
    WANT(REASON, "reason", 64)                                                                     \
    WANT(CODE, "code", 32)                                                                         \
    WANT(DURING, "during", 32)                                                                     \
    WANT(MESSAGE, "message", 1024)                                                                 \
    WANT(TOOL, "tool", 64)                                                                         \
    WANT(BY, "by", 128)                                                                            \
    WANT(ARGUMENT, "argument", 256)                                                                \
    WANT(STRAY, "text", TRANSCRIPT_RESULT)                                                         \
    WANT(UPDATE, OF_UPDATE "sessionUpdate", 32)                                                    \
    WANT(CONTENT, OF_UPDATE "content/*", TRANSCRIPT_TEXT) /* of a message, or of a result */       \
    WANT(RESULT, OF_UPDATE "content/*/content/text", TRANSCRIPT_RESULT)                            \
    WANT(MESSAGE_ID, OF_UPDATE "messageId", 64)                                                    \
    WANT(CALL_ID, OF_UPDATE "toolCallId", 128)                                                     \
    WANT(TITLE, OF_UPDATE "title", TRANSCRIPT_ARGUMENT)                                            \
    WANT(KIND, OF_UPDATE "kind", 32)                                                               \
    WANT(STATUS, OF_UPDATE "status", 16)                                                           \
    WANT(INPUTS, OF_UPDATE "rawInput", 2)                                                          \
    WANT(INPUT, OF_UPDATE "rawInput/*", TRANSCRIPT_ARGUMENT)                                       \
    WANT(OUTPUT, OF_UPDATE "rawOutput/aggregated_output", TRANSCRIPT_RESULT)                       \
    WANT(OUTPUT_TEXT, OF_UPDATE "rawOutput", TRANSCRIPT_RESULT) /* of some agents */               \
    WANT(EXIT_CODE, OF_UPDATE "rawOutput/exit_code", 32)                                           \
    WANT(TODO_STATUS, OF_UPDATE "entries/*/status", 16)                                            \
    WANT(COST, OF_UPDATE "cost/amount", 32)                                                        \
    WANT(CURRENCY, OF_UPDATE "cost/currency", 8)                                                   \
    WANT(TOKENS_IN, "result/usage/inputTokens", 32)                                                \
    WANT(TOKENS_OUT, "result/usage/outputTokens", 32)
enum want { WANTS(JSON_WANT_NAME) };

/* `result` has the text of a message, or the beginning of a tool's output. */
static void acp_match(struct transcript *t, const struct json_value *values, size_t want,
                      const char *key) {
    const struct json_value *value = &values[want];
    if (want == CONTENT && value->kind == SCAN_STRING && strcmp(key, "text") == 0) {
        strbuf_clear(&t->result);
        strbuf_add(&t->result, value->text, value->length);
    } else if (want == RESULT && t->result.length < t->result_max) {
        strbuf_printf(&t->result, "%s%s", t->result.length > 0 ? "\n" : "", value->text);
    } else if (want == TODO_STATUS) {
        t->count += json_value_is(value, "completed");
    }
}

/* --- the agent's messages --------------------------------------------------------------------- */

static struct json_value piece_of(const struct transcript *t, const struct json_value *values) {
    return (struct json_value){
        .kind = SCAN_STRING,
        .is_cut = values[CONTENT].is_cut,
        .text = strbuf_text(&t->result),
        .length = t->result.length,
    };
}

static void on_message(struct transcript *t, const struct json_value *values) {
    const struct json_value piece = piece_of(t, values), *id = &values[MESSAGE_ID];
    if (t->thought.length > 0 || strcmp(t->item, id->text) != 0)
        transcript_close_line(t);
    memcpy(t->item, id->text, id->length + 1);
    transcript_say_piece(t, &piece);
}

/* Once per title. Updates of a call do not repeat its kind. */
static void put_call(struct transcript *t, const struct json_value *values) {
    bool has_argument = t->rank > 1;
    _cleanup_(strbuf_finish) struct strbuf call = STRBUF_INIT;
    strbuf_printf(&call, "%s %s", values[CALL_ID].text,
                  has_argument ? t->arguments : values[TITLE].text);
    uint64_t hash = hash_bytes(strbuf_text(&call), call.length);
    if (hash == t->call)
        return;
    t->call = hash;
    if (has_argument)
        transcript_call(t, t->tool);
    else
        transcript_call_with(t, t->tool, values[TITLE].text);
}

static void put_output(struct transcript *t, const struct json_value *values) {
    bool failed = json_value_is(&values[STATUS], "failed");
    if (t->result.length > 0)
        transcript_result(t, strbuf_text(&t->result), values[RESULT].is_cut, failed);
    else if (json_value_has_text(&values[OUTPUT]) || json_value_has_text(&values[OUTPUT_TEXT]))
        transcript_output(t, &values[json_value_has_text(&values[OUTPUT]) ? OUTPUT : OUTPUT_TEXT],
                          failed);
    else if (failed)
        transcript_result(t, "failed", false, true);
    transcript_exit_code(t, &values[EXIT_CODE]);
}

static void on_tool(struct transcript *t, const struct json_value *values) {
    const struct json_value *kind = &values[KIND];
    transcript_call_id(t, &values[CALL_ID]);
    bool is_over =
        json_value_is(&values[STATUS], "completed") || json_value_is(&values[STATUS], "failed");
    if (json_value_has_text(kind))
        memcpy(t->tool, kind->text, kind->length + 1);
    else if (json_value_is(&values[UPDATE], "tool_call"))
        memcpy(t->tool, "tool", sizeof("tool"));
    bool without_arguments = json_value_is(&values[STATUS], "pending")
                             && values[INPUTS].kind == SCAN_OBJECT && t->rank <= 1;
    if ((t->rank > 1 || json_value_has_text(&values[TITLE])) && !without_arguments)
        put_call(t, values);
    if (is_over)
        put_output(t, values);
}

/* A context-size update does not end a message; all others do. */
static void on_update(struct transcript *t, const struct json_value *values) {
    const struct json_value *kind = &values[UPDATE], piece = piece_of(t, values);
    if (json_value_is(kind, "agent_message_chunk")) {
        on_message(t, values);
        return;
    }
    if (json_value_is(kind, "usage_update")) {
        if (values[COST].kind == SCAN_NUMBER && json_value_is(&values[CURRENCY], "USD"))
            t->cost_micro_usd = values[COST].micro;
        return;
    }
    if (json_value_is(kind, "agent_thought_chunk")) {
        transcript_think_piece(t, &piece);
        return;
    }
    transcript_close_line(t);
    if (json_value_is(kind, "tool_call") || json_value_is(kind, "tool_call_update"))
        on_tool(t, values);
    else if (json_value_is(kind, "user_message_chunk"))
        transcript_prompt(t, &piece);
    else if (json_value_is(kind, "plan") && values[TODO_STATUS].count > 0)
        transcript_note(t, "to do: %u of %u done", t->count, (unsigned)values[TODO_STATUS].count);
}

/* --- events of sluice-acp --------------------------------------------------------------------- */

static void on_end(struct transcript *t, const struct json_value *values) {
    _cleanup_(strbuf_finish) struct strbuf end = STRBUF_INIT;
    if (json_value_is(&values[REASON], "asked")) {
        transcript_note(t, "ended its turn: the question is open");
        return;
    }
    if (!json_value_is(&values[REASON], "end_turn")) {
        transcript_fail(t, "the turn ended: %s", values[REASON].text);
        return;
    }
    strbuf_puts(&end, "done");
    transcript_put_cost(&end, t->cost_micro_usd);
    transcript_note(t, "%s", strbuf_text(&end));
}

static void on_own(struct transcript *t, const struct json_value *values) {
    const struct json_value *kind = &values[ACP];
    transcript_close_line(t);
    if (json_value_is(kind, "open"))
        transcript_session(t, &values[SESSION], &values[MODEL]);
    else if (json_value_is(kind, "asked"))
        transcript_note(t, "asks a person: %s: %s", values[TOOL].text, values[ARGUMENT].text);
    else if (json_value_is(kind, "allowed") || json_value_is(kind, "rejected"))
        transcript_note(t, "%s%s%s: %s: %s", kind->text, values[BY].length ? " by " : "",
                        values[BY].text, values[TOOL].text, values[ARGUMENT].text);
    else if (json_value_is(kind, "denied"))
        transcript_fail(t, "denied: %s: %s%s%s%s", values[TOOL].text, values[ARGUMENT].text,
                        values[MESSAGE].length ? " (" : "", values[MESSAGE].text,
                        values[MESSAGE].length ? ")" : "");
    else if (json_value_is(kind, "waits") && values[MESSAGE].length > 0)
        transcript_note(t, "waits on for the person: %s", values[MESSAGE].text);
    else if (json_value_is(kind, "lost"))
        transcript_fail(t, "the session cannot be continued: %s", values[MESSAGE].text);
    else if (json_value_is(kind, "error"))
        transcript_fail(t, "failed: %s", values[MESSAGE].text);
    else if (json_value_is(kind, "gone"))
        transcript_fail(t, "the agent exited with code %s before it answered %s", values[CODE].text,
                        values[DURING].text);
    else if (json_value_is(kind, "stray"))
        transcript_say(t, &values[STRAY]);
    else if (json_value_is(kind, "end"))
        on_end(t, values);
}

static bool acp_event(struct transcript *t, const struct json_value *values) {
    if (values[ACP].kind != SCAN_NONE) {
        on_own(t, values);
    } else if (json_value_has_text(&values[UPDATE])) {
        on_update(t, values);
    } else if (values[TOKENS_IN].kind == SCAN_NUMBER) {
        transcript_close_line(t);
        transcript_note(t, "%s tokens in, %s out", values[TOKENS_IN].text, values[TOKENS_OUT].text);
    }
    return values[ACP].kind != SCAN_NONE || values[PROTOCOL].kind != SCAN_NONE;
}

const struct transcript_family transcript_acp = {
    JSON_WANTS(WANTS),
    .argument = INPUT,
    .match = acp_match,
    .other = acp_event,
};
