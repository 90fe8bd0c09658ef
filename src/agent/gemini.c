/* gemini.c: adapter for `gemini -o stream-json`.
 *
 * The final message is the `result` event. With `-o json` it is one object over many lines: an
 * answer on standard output, or an error on standard error. Some failures are only an exit code: 41
 * to 55 are its own, others the low byte of an HTTP status, 173 for 429. A stopped run exits with 0
 * and without a message.
 *
 * Retries are only reported on standard error: "Attempt 3 failed: …". It waits up to half a minute
 * between them, without a limit on their number.
 *
 * Tools that the approval mode does not permit are hidden from the model; a call of one is a
 * tool_result with the error "tool_not_registered", and the turn goes on. A tool forbidden by
 * policy has "policy_violation".
 *
 * A stopped run prints no tokens. The session's file has them per answer, some answers more than
 * once; subagents have files of their own.
 *
 * Tokens cover this run. Thinking tokens are only in the total of `result`, and separate from the
 * answer's ("candidates") in the json object. Prompt tokens include cached ones. */
#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"

#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 32)                                                                         \
    WANT(ID, "id", 64)                                                                             \
    WANT(TIMESTAMP, "timestamp", 64)                                                               \
    WANT(SESSION, "session_id", 128)                                                               \
    WANT(MODEL, "model", 128)                                                                      \
    WANT(ROLE, "role", 32)                                                                         \
    WANT(CONTENT, "content", 512)                                                                  \
    WANT(DELTA, "delta", 2)                                                                        \
    WANT(STATUS, "status", 32)                                                                     \
    WANT(MESSAGE, "message", 512)                                                                  \
    WANT(ERROR_TYPE, "error/type", 64)                                                             \
    WANT(ERROR_MESSAGE, "error/message", 512)                                                      \
    WANT(ERROR_CODE, "error/code", 32)                                                             \
    WANT(STATS_IN, "stats/input_tokens", 32)                                                       \
    WANT(STATS_OUT, "stats/output_tokens", 32)                                                     \
    WANT(STATS_CACHED, "stats/cached", 32)                                                         \
    WANT(STATS_TOTAL, "stats/total_tokens", 32)                                                    \
    WANT(RESPONSE, "response", 512)                                                                \
    WANT(JSON_PROMPT, "stats/models/*/tokens/prompt", 32)                                          \
    WANT(JSON_ANSWER, "stats/models/*/tokens/candidates", 32)                                      \
    WANT(JSON_THOUGHTS, "stats/models/*/tokens/thoughts", 32)                                      \
    WANT(JSON_TOOL, "stats/models/*/tokens/tool", 32)                                              \
    WANT(JSON_CACHED, "stats/models/*/tokens/cached", 32)                                          \
    WANT(FILE_IN, "tokens/input", 32)                                                              \
    WANT(FILE_OUT, "tokens/output", 32)                                                            \
    WANT(FILE_THOUGHTS, "tokens/thoughts", 32)                                                     \
    WANT(FILE_TOOL, "tokens/tool", 32)                                                             \
    WANT(FILE_CACHED, "tokens/cached", 32)
enum want { WANTS(JSON_WANT_NAME) };
static const struct json_want wants[] = { WANTS(JSON_WANT_ROW) };

static const struct error_phrase phrases[] = {
    { AGENT_BILLING, LIST("insufficient_g1_credits", "prepayment credits are depleted",
                          "billing_disabled", "billing to be enabled") },
    { AGENT_LIMITED,
      LIST("exhausted your daily quota", "exhausted your capacity", "quota will reset") },
    { AGENT_AUTH, LIST("please set an auth method") },
    { AGENT_MAX_TURNS, LIST("maximum session turns", "max session turns") },
    { AGENT_CONTEXT_FULL, LIST("exceeds the maximum number of tokens") },
    { AGENT_REFUSED, LIST("prohibited_content", "prohibited content") },
    { AGENT_CANCELLED, LIST("operation cancelled") },
    { AGENT_OVERLOADED, LIST("model is overloaded") },
    { 0 },
};

static const struct error_phrase error_types[] = {
    { AGENT_AUTH, LIST("FatalAuthenticationError") },
    { AGENT_MAX_TURNS, LIST("FatalTurnLimitedError") },
    { AGENT_CANCELLED, LIST("FatalCancellationError") },
    { AGENT_LIMITED, LIST("TerminalQuotaError", "RetryableQuotaError") },
    { 0 },
};

/* Tools that need approval. Unattended, Gemini hides those that its approval mode does not cover,
 * and tells a model that calls one that it does not exist. */
static const struct {
    const char *error, *tool;
} gated_tools[] = {
    { "Tool \"run_shell_command\" not found", "run_shell_command" },
    { "Tool \"write_file\" not found", "write_file" },
    { "Tool \"replace\" not found", "replace" },
    { "Tool \"web_fetch\" not found", "web_fetch" },
};

/* The tool that this message reports as missing; NULL: none. */
static const char *gated_tool(const char *message) {
    for (size_t i = 0; i < ARRAY_SIZE(gated_tools); i++)
        if (agent_has(message, gated_tools[i].error))
            return gated_tools[i].tool;
    return NULL;
}

struct notes {
    bool is_error;              /* the message is an error */
    bool is_growing;            /* the last event was a chunk of the message */
    bool is_denied;             /* something was denied, and it went on */
    struct agent_usage answers; /* from the session's file, so far */
};
DEFINE_NOTES(struct notes, notes_of)

static void note_error(struct agent_notes *seen, const char *text) {
    error_text_note(seen, text);
    notes_of(seen)->is_error = true;
    notes_of(seen)->is_growing = false;
}

static void on_message(struct agent_notes *seen, const struct json_value *values) {
    struct notes *notes = notes_of(seen);
    const struct json_value *content = &values[CONTENT];
    if (!json_value_is(&values[ROLE], "assistant") || !json_value_has_text(content))
        return;
    seen->is_waiting = false;
    agent_add_message(seen, content, notes->is_growing && json_value_is_true(&values[DELTA]));
    notes->is_error = false;
    notes->is_growing = true;
}

static void on_failed(struct agent_notes *seen, const struct json_value *values) {
    const char *text = values[ERROR_MESSAGE].text;
    seen->has_ended = true;
    seen->is_waiting = false;
    note_error(seen, text);
    const struct error_phrase *type = error_phrase_named(error_types, &values[ERROR_TYPE]);
    if (type)
        agent_mark(seen, type->result);
    else
        error_text_mark(seen, phrases, json_value_count(&values[ERROR_CODE]), text);
}

static void on_tool_result(struct agent_notes *seen, const struct json_value *values) {
    bool is_forbidden = json_value_is(&values[ERROR_TYPE], "policy_violation");
    bool is_missing = json_value_is(&values[ERROR_TYPE], "tool_not_registered");
    const char *tool = is_missing ? gated_tool(values[ERROR_MESSAGE].text) : NULL;
    if (!is_forbidden && !tool)
        return;
    notes_of(seen)->is_denied = true;
    agent_deny(seen, tool ? tool : "a tool", tool ? NULL : values[ERROR_MESSAGE].text, NULL);
}

static void on_answered(struct agent_notes *seen) {
    seen->has_ended = true;
    seen->is_waiting = false;
    if (notes_of(seen)->is_denied)
        agent_mark(seen, AGENT_DENIED);
    /* Not a message if it recovered; one if it stopped because of it (an `error` event). */
    if (notes_of(seen)->is_error && (seen->marks & ~(1u << AGENT_DENIED)) == 0)
        seen->message[0] = '\0';
}

/* One share per process that has printed to this log. */
static void count_share(struct agent_notes *seen, const struct agent_usage *used) {
    usage_count_share(&seen->count, agent_session(seen), used, true);
    seen->is_short = used->in < 0;
}

static void on_result(struct agent_notes *seen, const struct json_value *values) {
    int64_t total = json_value_sum(&values[STATS_TOTAL]);
    struct agent_usage used =
        agent_tokens(&values[STATS_IN], &values[STATS_OUT], &values[STATS_CACHED]);
    if (used.in >= 0 && used.out >= 0 && total - used.in > used.out)
        used.out = total - used.in;
    if (usage_count_is_new(&seen->count, agent_session(seen), values[TIMESTAMP].text))
        count_share(seen, &used);
    if (json_value_is(&values[STATUS], "success"))
        on_answered(seen);
    else
        on_failed(seen, values);
}

/* `-o json`: one object without a type. */
static void on_object(struct agent_notes *seen, const struct json_value *values,
                      enum agent_stream from) {
    bool is_answer = from == AGENT_STREAM_OUT && values[RESPONSE].kind != SCAN_NONE;
    bool is_error = json_value_has_text(&values[ERROR_MESSAGE]);
    if (!json_value_has_text(&values[SESSION]) || (!is_answer && !is_error))
        return;
    agent_set_session(seen, &values[SESSION]);
    if (values[JSON_PROMPT].sum_count > 0) {
        struct agent_usage used = { -1, -1, json_value_sum(&values[JSON_CACHED]), -1 };
        agent_add_count(&used.in, json_value_sum(&values[JSON_PROMPT]));
        agent_add_count(&used.in, json_value_sum(&values[JSON_TOOL]));
        agent_add_count(&used.out, json_value_sum(&values[JSON_ANSWER]));
        agent_add_count(&used.out, json_value_sum(&values[JSON_THOUGHTS]));
        count_share(seen, &used);
    }
    if (is_error) {
        on_failed(seen, values);
        return;
    }
    on_answered(seen);
    if (json_value_has_text(&values[RESPONSE]))
        agent_set_message(seen, values[RESPONSE].text);
}

/* All answers of the session, including earlier runs. */
static void on_file(struct agent_notes *seen, const struct json_value *values) {
    struct agent_usage *answers = &notes_of(seen)->answers;
    if (!json_value_is(&values[TYPE], "gemini") || json_value_sum(&values[FILE_IN]) < 0
        || !usage_count_is_new(&seen->count, seen->file_session, values[ID].text))
        return;
    agent_add_count(&answers->in, json_value_sum(&values[FILE_IN]));
    agent_add_count(&answers->in, json_value_sum(&values[FILE_TOOL]));
    agent_add_count(&answers->out, json_value_sum(&values[FILE_OUT]));
    agent_add_count(&answers->out, json_value_sum(&values[FILE_THOUGHTS]));
    agent_add_count(&answers->cached, json_value_sum(&values[FILE_CACHED]));
    (void)usage_count_file(&seen->count, seen->file_session, answers);
}

static void gemini_start(struct agent_notes *seen) {
    notes_of(seen)->answers = USAGE_NONE;
}

static void gemini_event(struct agent_notes *seen, const struct json_value *values,
                         enum agent_stream from) {
    const struct json_value *type = &values[TYPE];
    if (from == AGENT_STREAM_SESSION) {
        on_file(seen, values);
    } else if (type->kind == SCAN_NONE) {
        on_object(seen, values, from);
    } else if (from != AGENT_STREAM_OUT) {
        return;
    } else if (json_value_is(type, "init")) {
        agent_set_session(seen, &values[SESSION]);
        agent_set_model(seen, &values[MODEL]);
    } else if (json_value_is(type, "message")) {
        on_message(seen, values);
    } else if (json_value_is(type, "tool_use") || json_value_is(type, "tool_result")) {
        seen->is_waiting = false;
        notes_of(seen)->is_growing = false;
        if (json_value_is(type, "tool_result"))
            on_tool_result(seen, values);
    } else if (json_value_is(type, "error") && json_value_has_text(&values[MESSAGE])) {
        /* It stops at the turn limit or in a loop, and reports success. */
        const char *text = values[MESSAGE].text;
        note_error(seen, text);
        error_text_mark(seen, phrases, -1, text);
    } else if (json_value_is(type, "result")) {
        on_result(seen, values);
    }
}

static void gemini_text(struct agent_notes *seen, const char *line, enum agent_stream from) {
    static const char *const lost[] = { "error resuming session", "invalid session identifier",
                                        NULL };
    static const char *const says_nothing[] = {
        "[STARTUP]",
        "Ripgrep is not available",
        "YOLO mode is enabled",
        "color support ",
        "Basic terminal detected",
        "Suggested retry after",
        NULL,
    };
    if (from != AGENT_STREAM_ERR)
        return;
    bool is_attempt =
        strncmp(line, "Attempt ", strlen("Attempt ")) == 0 && agent_has(line, " failed");
    /* The order of the two streams is unknown, so its own message takes precedence. */
    if (is_attempt && !seen->has_ended) {
        seen->is_waiting = true;
        if (!seen->message[0] || notes_of(seen)->is_error)
            note_error(seen, line);
    }
    if (is_attempt || agent_has_any(line, says_nothing))
        seen->last_error[0] = '\0'; /* the message is better, or there is nothing to report */
    if (agent_has_any(line, lost)) {
        seen->session_is_lost = true;
        note_error(seen, line); /* it explains its options after this line */
    }
}

static void gemini_judge(struct agent_notes *seen, const struct agent_end *end) {
    /* As a shell shows it: 173 looks like a signal to a caller that sees only the number. */
    int code = end->code >= 0 ? end->code : 128 + end->signal;
    enum agent_result result = AGENT_FAILED;
    switch (code) {
    case 41:
        result = AGENT_AUTH;
        break;
    case 53:
        result = AGENT_MAX_TURNS;
        break;
    case 42: /* input */
    case 44: /* sandbox */
    case 52: /* configuration */
    case 54: /* tool */
    case 55: /* folder not trusted */
    case 400 & 0xff:
    case 404 & 0xff:
        break;
    case 401 & 0xff:
    case 403 & 0xff:
        result = AGENT_AUTH;
        break;
    case 429 & 0xff:
        result = AGENT_LIMITED;
        break;
    case 500 & 0xff:
    case 502 & 0xff:
    case 503 & 0xff:
    case 504 & 0xff:
        result = AGENT_OVERLOADED;
        break;
    case 130: /* its own or the shell's: a signal has no final message */
        if (end->code < 0)
            return;
        result = AGENT_CANCELLED;
        break;
    default:
        if (seen->has_ended && seen->marks == 0 && agent_end_is_failure(end))
            agent_mark(seen, AGENT_FAILED);
        return;
    }
    /* A text may be more specific than the code: a prompt that is too long is a 400. */
    if (seen->marks == 0 || seen->marks == 1u << AGENT_FAILED)
        agent_mark(seen, result);
    seen->has_ended = true;
}

const struct agent_adapter agent_gemini = {
    .name = "gemini",
    .is_builtin = true,
    .provider = "gcp.gemini",
    .login = "run 'gemini' once and log in" LOGIN_OR_KEY("GEMINI_API_KEY=..."),
    .preflight =
        &(const struct agent_preflight){
            .login_files = LIST(".gemini/oauth_creds.json"),
            .login_variables =
                LIST("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"),
            .settings = WORDS({ ".gemini/.env", LIST("GEMINI_API_KEY", "GOOGLE_API_KEY") }),
            .may = AGENT_MAY_EDIT,
            .may_sandboxed = AGENT_MAY_EDIT,
            .allow = "agents.gemini.args=\"--approval-mode yolo\"",
        },
    .mcp =
        &(const struct agent_mcp){
            .folder = ".gemini",
            .file = "settings.json",
            .project_file = ".gemini/settings.json",
            .member = "mcpServers",
        },
    .allow_hint =
        "allow more with '--approval-mode yolo' in its args (agents.A.args), in a sandbox",
    .stop_signal = "TERM",
    .command = LIST("gemini", "--output-format", "stream-json", "--skip-trust", AGENT_WORD_USUAL,
                    AGENT_WORD_MODEL, AGENT_WORD_MORE, AGENT_WORD_SESSION),
    .resume = LIST("--resume", AGENT_WORD_RESUME),
    .usual = LIST("--approval-mode", "auto_edit"),
    .instead = LIST("--approval-mode", "--yolo", "-y"),
    .model_option = "--model",
    .session_option = "--session-id",
    .wants = wants,
    .want_count = ARRAY_SIZE(wants),
    .session_file = &(const struct agent_path){ ".gemini/tmp/*/chats/session-*-{session:8}.jsonl",
                                                AGENT_PATH_READ },
    .start = gemini_start,
    .event = gemini_event,
    .text = gemini_text,
    .transcript = &transcript_gemini,
    .judge = gemini_judge,
    .paths = PATHS(READ(".gemini/settings.json"), READ(".gemini/GEMINI.md"), READ(".gemini/.env"),
                   READ(".gemini/commands"), READ(".gemini/extensions"), READ(".gemini/policies"),
                   READ(".gemini/skills"), READ(".gemini/installation_id"),
                   WRITE(".gemini/google_accounts.json"), WRITE(".gemini/oauth_creds.json"),
                   KEEP(".gemini/tmp")),
};
