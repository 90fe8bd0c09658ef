/* acp.c: adapter for the output of `sluice-acp`.
 *
 * sluice-acp speaks the Agent Client Protocol with any agent (src/acp). It prints the agent's
 * messages as received, and its own events as objects with the member `acp`: open, asked, waits,
 * allowed, rejected, denied, lost, error, gone, end. Only these can end the run: an agent cannot send a message with this
 * member.
 *
 * The answer's text and the session's cost are in session/update notifications. Tokens are in the
 * answer to session/prompt if the agent sends `usage`, a draft of the protocol; otherwise they are
 * unknown. They cover the turn, and so the run; the cost covers the session. `used` of usage_update
 * is the size of the context, not what was charged, and is ignored. */
#include <string.h>

#include "agent/reader_internal.h"
#include "base/alloc.h"
#include "base/macros.h"

#define MESSAGE_ID_SIZE 64

#define OF_UPDATE "params/update/"
#define OF_USAGE  "result/usage/"
#define WANTS(WANT)                                                                                \
    WANT(ACP, "acp", 16)                                                                           \
    WANT(SESSION, "session", 128)                                                                  \
    WANT(MODEL, "model", 128)                                                                      \
    WANT(REASON, "reason", 64)                                                                     \
    WANT(STOPPED, "stopped", 2)                                                                    \
    WANT(CODE, "code", 32)                                                                         \
    WANT(DURING, "during", 32)                                                                     \
    WANT(MESSAGE, "message", 512)                                                                  \
    WANT(DENIED, "denied", 32)                                                                     \
    WANT(TOOL, "tool", 64)                                                                         \
    WANT(ARGUMENT, "argument", 256)                                                                \
    WANT(UPDATE, OF_UPDATE "sessionUpdate", 32)                                                    \
    WANT(TEXT, OF_UPDATE "content/text", 512)                                                      \
    WANT(MESSAGE_ID, OF_UPDATE "messageId", MESSAGE_ID_SIZE)                                       \
    WANT(COST, OF_UPDATE "cost/amount", 32)                                                        \
    WANT(CURRENCY, OF_UPDATE "cost/currency", 8)                                                   \
    WANT(TOKENS_IN, OF_USAGE "inputTokens", 32)                                                    \
    WANT(TOKENS_OUT, OF_USAGE "outputTokens", 32)                                                  \
    WANT(TOKENS_THOUGHT, OF_USAGE "thoughtTokens", 32)                                             \
    WANT(TOKENS_CACHE_READ, OF_USAGE "cachedReadTokens", 32)                                       \
    WANT(TOKENS_CACHE_MADE, OF_USAGE "cachedWriteTokens", 32)                                      \
    WANT(TOKENS_TOTAL, OF_USAGE "totalTokens", 32)
enum want { WANTS(JSON_WANT_NAME) };

/* Texts of the agents behind the protocol; texts of providers are in error_text.c. */
static const struct error_phrase phrases[] = {
    { AGENT_AUTH, LIST("please run /login", "log out and sign in again") },
    { AGENT_BILLING,
      LIST("quota exceeded. check your plan", "credit balance", "hit your spend cap") },
    { AGENT_LIMITED, LIST("hit your ", "usage limit reached", "exhausted your daily quota",
                          "exhausted your capacity") },
    { AGENT_CONTEXT_FULL, LIST("ran out of room in the model", "conversation is too long") },
    { AGENT_OVERLOADED,
      LIST("model is at capacity", "experiencing high demand",
           "stream disconnected before completion", "connection error", "request timed out") },
    { 0 },
};

static const struct error_phrase reasons[] = {
    { AGENT_OK, LIST("end_turn") },
    { AGENT_FAILED, LIST("max_tokens", "asked") }, /* the task's question outweighs this */
    { AGENT_MAX_TURNS, LIST("max_turn_requests") },
    { AGENT_REFUSED, LIST("refusal") },
    { AGENT_CANCELED, LIST("cancelled") },
    { 0 },
};

struct state {
    bool is_growing; /* the last update was a chunk of the message */
    char message_id[MESSAGE_ID_SIZE];
    char unanswered[28]; /* the request that was unanswered when the agent exited; "": none */
    char exit_code[8];   /* of the agent, if `unanswered` is set */
};
DEFINE_STATE(struct state)

/* --- the agent's messages --------------------------------------------------------------------- */

/* Chunks of one message follow each other, and share an id if they have one. */
static void on_chunk(struct agent_notes *notes, const struct json_value *values) {
    struct state *state = state_of(notes);
    if (!json_value_has_text(&values[TEXT]))
        return;
    agent_add_message(notes, &values[TEXT],
                      state->is_growing && strcmp(state->message_id, values[MESSAGE_ID].text) == 0);
    state->is_growing = true;
    memcpy(state->message_id, values[MESSAGE_ID].text, values[MESSAGE_ID].length + 1);
}

static void on_update(struct agent_notes *notes, const struct json_value *values) {
    if (json_value_is(&values[UPDATE], "agent_message_chunk")) {
        on_chunk(notes, values);
        return;
    }
    state_of(notes)->is_growing = false;
    if (values[COST].kind == SCAN_NUMBER && values[COST].micro >= 0
        && json_value_is(&values[CURRENCY], "USD")) {
        struct agent_usage total = USAGE_NONE;
        total.cost_micro_usd = values[COST].micro;
        usage_count_total(&notes->count, agent_session(notes), &total);
    }
}

/* The total shows whether input includes cached tokens, and output reasoning: agents differ. */
static void on_usage(struct agent_notes *notes, const struct json_value *values) {
    struct agent_usage turn = USAGE_NONE;
    int64_t in = json_value_count(&values[TOKENS_IN]), all = in;
    int64_t out = json_value_count(&values[TOKENS_OUT]), with_thoughts = out;
    int64_t total = json_value_count(&values[TOKENS_TOTAL]);
    agent_add_count(&all, json_value_count(&values[TOKENS_CACHE_READ]));
    agent_add_count(&all, json_value_count(&values[TOKENS_CACHE_MADE]));
    agent_add_count(&with_thoughts, json_value_count(&values[TOKENS_THOUGHT]));
    bool has_thoughts = total >= 0 && (total == in + with_thoughts || total == all + with_thoughts);
    turn.out = has_thoughts ? with_thoughts : out;
    turn.in = total >= 0 && total == in + turn.out ? in : all;
    turn.cached = json_value_count(&values[TOKENS_CACHE_READ]);
    usage_count_share(&notes->count, agent_session(notes), &turn, false);
    notes->is_short = false;
}

static void on_agent_message(struct agent_notes *notes, const struct json_value *values) {
    if (values[ACP].kind != SCAN_NONE) /* an unknown event of sluice-acp */
        return;
    if (json_value_has_text(&values[UPDATE]))
        on_update(notes, values);
    else if (values[TOKENS_IN].kind == SCAN_NUMBER)
        on_usage(notes, values);
}

/* --- events of sluice-acp --------------------------------------------------------------------- */

static bool acp_each(struct agent_notes *notes, const struct json_value *values) {
    if (values[ACP].kind != SCAN_NONE)
        state_of(notes)->is_growing = false;
    return true;
}

static void on_open(struct agent_notes *notes, const struct json_value *values) {
    agent_set_session(notes, &values[SESSION]);
    agent_set_model(notes, &values[MODEL]);
}

static void on_lost(struct agent_notes *notes, const struct json_value *values) {
    notes->session_is_lost = true;
    error_text_note(notes, values[MESSAGE].text);
}

static void on_error(struct agent_notes *notes, const struct json_value *values) {
    static const char *const before[] = { "last status: ", "unexpected status ", "API Error: " };
    const char *text = values[MESSAGE].text;
    int64_t status = -1;
    for (size_t i = 0; i < ARRAY_SIZE(before) && status < 0; i++)
        status = error_text_status(text, before[i]);
    notes->has_ended = true;
    notes->message[0] = '\0';
    error_text_note(notes, text);
    if (!notes->message[0])
        agent_set_message(notes, "the agent gave no reason");
    if (strcmp(values[CODE].text, "-32000") == 0)
        agent_mark(notes, AGENT_AUTH);
    else
        error_text_mark(notes, phrases, status, text);
}

/* Reported at once, and again at the end: a long log loses its middle. */
static void on_denied(struct agent_notes *notes, const struct json_value *values) {
    _cleanup_(freep) char *text =
        xasprintf("not permitted: %s: %s", values[TOOL].text, values[ARGUMENT].text);
    agent_deny(notes, values[TOOL].text, values[ARGUMENT].text, NULL);
    agent_set_message(notes, text);
}

static void on_end(struct agent_notes *notes, const struct json_value *values) {
    const struct error_phrase *reason = error_phrase_named(reasons, &values[REASON]);
    enum agent_result result = reason ? reason->result : AGENT_FAILED;
    notes->has_ended = true;
    if (json_value_count(&values[DENIED]) > 0 && (notes->denial.count == 0 || !notes->message[0]))
        on_denied(notes, values);
    /* Some agents cancel their turn after a denial. */
    bool is_denied = notes->denial.count > 0 && !json_value_is_true(&values[STOPPED]);
    if (is_denied) {
        int64_t count = json_value_count(&values[DENIED]);
        agent_mark(notes, AGENT_DENIED);
        if (count > 0 && count <= UINT32_MAX)
            notes->denial.count = (uint32_t)count;
    }
    if (result != AGENT_OK && !(is_denied && result == AGENT_CANCELED))
        agent_mark(notes, result);
    _cleanup_(freep) char *text =
        xasprintf("the agent ended its turn with '%s'", values[REASON].text);
    if (result == AGENT_FAILED)
        agent_set_message(notes, text);
}

static void on_agent_exit(struct agent_notes *notes, const struct json_value *values) {
    struct state *state = state_of(notes);
    agent_set_line(state->unanswered, sizeof(state->unanswered), values[DURING].text);
    agent_set_line(state->exit_code, sizeof(state->exit_code), values[CODE].text);
}

static const struct agent_handler handlers[] = {
    { "open", on_open }, { "denied", on_denied },   { "lost", on_lost }, { "error", on_error },
    { "end", on_end },   { "gone", on_agent_exit }, { NULL, NULL },
};

/* The error output is more specific than the exit code. */
static void acp_judge(struct agent_notes *notes, const struct agent_end *end) {
    const struct state *state = state_of(notes);
    (void)end;
    if (!state->unanswered[0])
        return;
    _cleanup_(freep) char *text = xasprintf("the agent exited with code %s before it answered %s",
                                            state->exit_code, state->unanswered);
    notes->message[0] = '\0';
    if (!notes->last_error[0])
        agent_set_message(notes, text);
}

static const struct agent_output output = {
    JSON_WANTS(WANTS),    .each = acp_each,
    .handlers = handlers, .objects = { on_agent_message },
    .judge = acp_judge,   .transcript = &transcript_acp,
};

/* No command of its own: the configuration has it, and sluice-acp runs it. */
const struct agent_adapter agent_acp = {
    .name = "acp",
    .stop_signal = "TERM",
    .client = "sluice-acp",
    .allow_hint = "permit it with agents.A.permissions, or run the agent in a sandbox",
    .login = "# log the agent in as its user, or set agents.{agent}.auth_method",
    .output = &output,
};
