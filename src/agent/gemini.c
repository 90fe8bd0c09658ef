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
 * tool_result with the error "tool_not_registered", and the turn continues. A tool forbidden by
 * policy has "policy_violation".
 *
 * A stopped run prints no tokens. The session's file has them per answer, some answers more than
 * once; subagents have files of their own.
 *
 * Tokens cover this run. Thinking tokens are only in the total of `result`, and separate from the
 * answer's ("candidates") in the json object. Prompt tokens include cached ones. */
#include <string.h>

#include "agent/reader_internal.h"
#include "base/alloc.h"
#include "base/macros.h"

#define OF_MODELS "stats/models/*/tokens/"
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
    WANT(JSON_PROMPT, OF_MODELS "prompt", 32)                                                      \
    WANT(JSON_ANSWER, OF_MODELS "candidates", 32)                                                  \
    WANT(JSON_CACHED, OF_MODELS "cached", 32)                                                      \
    WANT(JSON_THOUGHTS, OF_MODELS "thoughts", 32)                                                  \
    WANT(JSON_TOOL, OF_MODELS "tool", 32)                                                          \
    WANT(FILE_IN, "tokens/input", 32)                                                              \
    WANT(FILE_OUT, "tokens/output", 32)                                                            \
    WANT(FILE_CACHED, "tokens/cached", 32)                                                         \
    WANT(FILE_THOUGHTS, "tokens/thoughts", 32)                                                     \
    WANT(FILE_TOOL, "tokens/tool", 32)
enum want { WANTS(JSON_WANT_NAME) };

static const struct error_phrase phrases[] = {
    { AGENT_BILLING, LIST("insufficient_g1_credits", "prepayment credits are depleted",
                          "billing_disabled", "billing to be enabled") },
    { AGENT_LIMITED,
      LIST("exhausted your daily quota", "exhausted your capacity", "quota will reset") },
    { AGENT_AUTH, LIST("please set an auth method") },
    { AGENT_MAX_TURNS, LIST("maximum session turns", "max session turns") },
    { AGENT_CONTEXT_FULL, LIST("exceeds the maximum number of tokens") },
    { AGENT_REFUSED, LIST("prohibited_content", "prohibited content") },
    { AGENT_CANCELED, LIST("operation cancelled") },
    { AGENT_OVERLOADED, LIST("model is overloaded") },
    { 0 },
};

static const struct error_phrase error_types[] = {
    { AGENT_AUTH, LIST("FatalAuthenticationError") },
    { AGENT_MAX_TURNS, LIST("FatalTurnLimitedError") },
    { AGENT_CANCELED, LIST("FatalCancellationError") },
    { AGENT_LIMITED, LIST("TerminalQuotaError", "RetryableQuotaError") },
    { 0 },
};

struct state {
    bool is_growing;            /* the last event was a chunk of the message */
    struct agent_usage answers; /* from the session's file, so far */
};
DEFINE_STATE(struct state)

static void gemini_start(struct agent_notes *notes) {
    state_of(notes)->answers = USAGE_NONE;
}

static void note_error(struct agent_notes *notes, const char *text) {
    error_text_note(notes, text);
    state_of(notes)->is_growing = false;
}

static void on_init(struct agent_notes *notes, const struct json_value *values) {
    agent_set_session(notes, &values[SESSION]);
    agent_set_model(notes, &values[MODEL]);
}

static void on_message(struct agent_notes *notes, const struct json_value *values) {
    struct state *state = state_of(notes);
    const struct json_value *content = &values[CONTENT];
    if (!json_value_is(&values[ROLE], "assistant") || !json_value_has_text(content))
        return;
    notes->is_waiting = false;
    agent_add_message(notes, content, state->is_growing && json_value_is_true(&values[DELTA]));
    state->is_growing = true;
}

static void on_tool_use(struct agent_notes *notes, const struct json_value *values) {
    (void)values;
    notes->is_waiting = false;
    state_of(notes)->is_growing = false;
}

/* Unattended, Gemini hides the tools that its approval mode does not cover, and reports to a model
 * that calls one that it does not exist. */
static void on_tool_result(struct agent_notes *notes, const struct json_value *values) {
    static const char *const tools[] = { "run_shell_command", "write_file", "replace",
                                         "web_fetch" };
    const char *message = values[ERROR_MESSAGE].text;
    on_tool_use(notes, values);
    if (json_value_is(&values[ERROR_TYPE], "policy_violation"))
        agent_deny(notes, "a tool", message, NULL);
    bool is_hidden = json_value_is(&values[ERROR_TYPE], "tool_not_registered");
    for (size_t i = 0; is_hidden && i < ARRAY_SIZE(tools); i++) {
        _cleanup_(freep) char *error = xasprintf("Tool \"%s\" not found", tools[i]);
        if (agent_has(message, error)) {
            agent_deny(notes, tools[i], NULL, NULL);
            return;
        }
    }
}

/* It stops at the turn limit or in a loop, and reports success. */
static void on_error(struct agent_notes *notes, const struct json_value *values) {
    if (!json_value_has_text(&values[MESSAGE]))
        return;
    note_error(notes, values[MESSAGE].text);
    error_text_mark(notes, phrases, -1, values[MESSAGE].text);
}

static void note_failure(struct agent_notes *notes, const struct json_value *values) {
    const char *text = values[ERROR_MESSAGE].text;
    agent_set_ended(notes);
    note_error(notes, text);
    if (!agent_mark_named(notes, error_types, &values[ERROR_TYPE]))
        error_text_mark(notes, phrases, json_value_count(&values[ERROR_CODE]), text);
}

static void note_success(struct agent_notes *notes) {
    agent_set_ended(notes);
    if (notes->denial.count > 0)
        agent_mark(notes, AGENT_DENIED);
    /* Not a message if it recovered; one if it stopped because of it (an `error` event). */
    if (notes->message_is_error && (notes->marks & ~(1u << AGENT_DENIED)) == 0)
        notes->message[0] = '\0';
}

/* One share per process that has printed to this log. */
static void count_share(struct agent_notes *notes, const struct agent_usage *used) {
    usage_count_share(&notes->count, agent_session(notes), used, true);
    notes->is_short = used->in < 0;
}

static void on_result(struct agent_notes *notes, const struct json_value *values) {
    int64_t total = json_value_sum(&values[STATS_TOTAL]);
    struct agent_usage used = agent_tokens(&values[STATS_IN]);
    if (used.in >= 0 && used.out >= 0 && total - used.in > used.out)
        used.out = total - used.in;
    if (usage_count_is_new(&notes->count, agent_session(notes), values[TIMESTAMP].text))
        count_share(notes, &used);
    if (json_value_is(&values[STATUS], "success"))
        note_success(notes);
    else
        note_failure(notes, values);
}

static const struct agent_handler handlers[] = {
    { "init", on_init },
    { "message", on_message },
    { "tool_use", on_tool_use },
    { "tool_result", on_tool_result },
    { "error", on_error },
    { "result", on_result },
    { NULL, NULL },
};

/* The five paths from `first` on are prompt, answer, cached, thoughts, tools. */
static struct agent_usage tokens_at(const struct json_value *first) {
    struct agent_usage used = agent_tokens(first);
    agent_add_count(&used.out, json_value_sum(&first[3]));
    agent_add_count(&used.in, json_value_sum(&first[4]));
    return used;
}

/* The one object of `-o json`, which has no type. */
static void note_object(struct agent_notes *notes, const struct json_value *values,
                        bool is_answer) {
    bool is_error = json_value_has_text(&values[ERROR_MESSAGE]);
    if (values[TYPE].kind != SCAN_NONE || !json_value_has_text(&values[SESSION])
        || (!is_answer && !is_error))
        return;
    agent_set_session(notes, &values[SESSION]);
    if (values[JSON_PROMPT].sum_count > 0) {
        struct agent_usage used = tokens_at(&values[JSON_PROMPT]);
        count_share(notes, &used);
    }
    if (is_error) {
        note_failure(notes, values);
        return;
    }
    note_success(notes);
    if (json_value_has_text(&values[RESPONSE]))
        agent_set_message(notes, values[RESPONSE].text);
}

static void on_object(struct agent_notes *notes, const struct json_value *values) {
    note_object(notes, values, values[RESPONSE].kind != SCAN_NONE);
}

static void on_error_object(struct agent_notes *notes, const struct json_value *values) {
    note_object(notes, values, false);
}

/* All answers of the session, including earlier runs. */
static void on_session_file(struct agent_notes *notes, const struct json_value *values) {
    struct agent_usage *answers = &state_of(notes)->answers;
    if (!json_value_is(&values[TYPE], "gemini") || json_value_sum(&values[FILE_IN]) < 0
        || !usage_count_is_new(&notes->count, notes->file_session, values[ID].text))
        return;
    struct agent_usage used = tokens_at(&values[FILE_IN]);
    usage_add(answers, &used);
    (void)usage_count_file(&notes->count, notes->file_session, answers);
}

static void gemini_text(struct agent_notes *notes, const char *line, enum agent_stream from) {
    static const char *const lost[] = { "error resuming session", "invalid session identifier",
                                        NULL };
    static const char *const uninformative[] = {
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
    if (is_attempt && !notes->has_ended) {
        notes->is_waiting = true;
        if (!notes->message[0] || notes->message_is_error)
            note_error(notes, line);
    }
    if (is_attempt || agent_has_any(line, uninformative))
        notes->last_error[0] = '\0'; /* the message is better, or there is nothing to report */
    if (agent_has_any(line, lost)) {
        notes->session_is_lost = true;
        note_error(notes, line); /* it explains its options after this line */
    }
}

static void gemini_judge(struct agent_notes *notes, const struct agent_end *end) {
    static const struct {
        int code;
        enum agent_result result;
    } codes[] = {
        { 41, AGENT_AUTH },
        { 42, AGENT_FAILED }, /* input */
        { 44, AGENT_FAILED }, /* sandbox */
        { 52, AGENT_FAILED }, /* configuration */
        { 53, AGENT_MAX_TURNS },
        { 54, AGENT_FAILED }, /* tool */
        { 55, AGENT_FAILED }, /* folder not trusted */
        { 400 & 0xff, AGENT_FAILED },
        { 401 & 0xff, AGENT_AUTH },
        { 403 & 0xff, AGENT_AUTH },
        { 404 & 0xff, AGENT_FAILED },
        { 429 & 0xff, AGENT_LIMITED },
        { 500 & 0xff, AGENT_OVERLOADED },
        { 502 & 0xff, AGENT_OVERLOADED },
        { 503 & 0xff, AGENT_OVERLOADED },
        { 504 & 0xff, AGENT_OVERLOADED },
        { 130, AGENT_CANCELED },
    };
    /* As a shell shows it: 173 looks like a signal to a caller that sees only the number. */
    int code = end->code >= 0 ? end->code : 128 + end->signal;
    size_t i = 0;
    while (i < ARRAY_SIZE(codes) && codes[i].code != code)
        i++;
    if (i == ARRAY_SIZE(codes)) {
        if (notes->has_ended && notes->marks == 0 && agent_end_is_failure(end))
            agent_mark(notes, AGENT_FAILED);
        return;
    }
    if (code == 130 && end->code < 0) /* a signal has no final message */
        return;
    /* A text may be more specific than the code: a prompt that is too long is a 400. */
    if (notes->marks == 0 || notes->marks == 1u << AGENT_FAILED)
        agent_mark(notes, codes[i].result);
    notes->has_ended = true;
}

static const struct agent_output output = {
    JSON_WANTS(WANTS),
    .start = gemini_start,
    .handlers = handlers,
    .objects = { on_object, on_error_object, [AGENT_STREAM_SESSION] = on_session_file },
    .text = gemini_text,
    .judge = gemini_judge,
    .transcript = &transcript_gemini,
};

const struct agent_adapter agent_gemini = {
    .name = "gemini",
    .is_builtin = true,
    .provider = "gcp.gemini",
    .login = "gemini # log in once" LOGIN_OR_KEY("GEMINI_API_KEY=..."),
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
    .interactive = LIST("gemini", "--skip-trust", AGENT_WORD_USUAL, AGENT_WORD_MODEL,
                        AGENT_WORD_MORE, AGENT_WORD_SESSION),
    .unattended = LIST("-o=", "--output-format=", "-p=", "--prompt="),
    .usual = LIST("--approval-mode", "auto_edit"),
    .instead = LIST("--approval-mode", "--yolo", "-y"),
    .model_option = "--model",
    .session_option = "--session-id",
    .session_file = &(const struct agent_path){ ".gemini/tmp/*/chats/session-*-{session:8}.jsonl",
                                                AGENT_PATH_READ },
    .paths = PATHS(READ(".gemini/settings.json"), READ(".gemini/GEMINI.md"), READ(".gemini/.env"),
                   READ(".gemini/commands"), READ(".gemini/extensions"), READ(".gemini/policies"),
                   READ(".gemini/skills"), READ(".gemini/installation_id"),
                   WRITE(".gemini/google_accounts.json"), WRITE(".gemini/oauth_creds.json"),
                   KEEP(".gemini/tmp")),
    .output = &output,
};
