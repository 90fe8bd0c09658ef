/* copilot.c: adapter for `copilot --output-format json`.
 *
 * The final message is the `result` event, whose exitCode is that of the process; or `abort` after
 * an interrupt. The reason of a failure precedes it, in session.error. A failed model call
 * (model.call_failure) is retried: it means waiting, not the end.
 *
 * The output has no tokens. At exit it writes them to the file of --usage-output-file, per model
 * and for the session, also after a resume, in credits instead of money. When stopped, it writes no
 * such file; the session's file has the tokens of each call, and only that file has those of
 * compaction.
 *
 * Subagents report in the same stream, with their agentId; their messages and failures do not
 * decide the outcome. */
#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"

#define USAGE_OF_MODELS "modelMetrics/*/usage/"
#define COMPACTION      "data/compactionTokensUsed/"
#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 64)                                                                         \
    WANT(AGENT, "agentId", 64)                                                                     \
    WANT(RESULT_SESSION, "sessionId", 128)                                                         \
    WANT(EXIT_CODE, "exitCode", 32)                                                                \
    WANT(SESSION, "data/sessionId", 128)                                                           \
    WANT(MODEL, "data/model", 128)                                                                 \
    WANT(CONTENT, "data/content", 512)                                                             \
    WANT(MESSAGE, "data/message", 512)                                                             \
    WANT(ERROR_TYPE, "data/errorType", 64)                                                         \
    WANT(ERROR_CODE, "data/errorCode", 64)                                                         \
    WANT(ERROR_MESSAGE, "data/errorMessage", 512)                                                  \
    WANT(STATUS, "data/statusCode", 32)                                                            \
    WANT(OUTCOME, "data/outcome", 32)                                                              \
    WANT(INFO_TYPE, "data/infoType", 64)                                                           \
    WANT(PERMISSION, "data/result/kind", 64)                                                       \
    WANT(ASKED_KIND, "data/permissionRequest/kind", 64)                                            \
    WANT(ASKED_COMMAND, "data/permissionRequest/fullCommandText", 256)                             \
    WANT(TOKENS_IN, USAGE_OF_MODELS "inputTokens", 32)                                             \
    WANT(TOKENS_OUT, USAGE_OF_MODELS "outputTokens", 32)                                           \
    WANT(TOKENS_CACHED, USAGE_OF_MODELS "cacheReadTokens", 32)                                     \
    WANT(CALL_IN, "data/usage/inputTokens", 32)                                                    \
    WANT(CALL_OUT, "data/usage/outputTokens", 32)                                                  \
    WANT(CALL_CACHED, "data/usage/cacheReadTokens", 32)                                            \
    WANT(COMPACTION_IN, COMPACTION "inputTokens", 32)                                              \
    WANT(COMPACTION_OUT, COMPACTION "outputTokens", 32)                                            \
    WANT(COMPACTION_CACHED, COMPACTION "cacheReadTokens", 32)
enum want { WANTS(JSON_WANT_NAME) };
static const struct json_want wants[] = { WANTS(JSON_WANT_ROW) };

static const struct error_phrase error_types[] = {
    { AGENT_AUTH, LIST("authentication", "authorization") },
    { AGENT_BILLING, LIST("quota") },
    { AGENT_LIMITED, LIST("rate_limit") },
    { AGENT_CONTEXT_FULL, LIST("context_limit") },
    { 0 },
};

static const struct error_phrase phrases[] = {
    { AGENT_BUDGET, LIST("max-ai-credits", "ai credit limit for this session") },
    { AGENT_LIMITED, LIST("hit a rate limit", "session limits") },
    { AGENT_BILLING, LIST("you have no quota") },
    { AGENT_AUTH, LIST("no authentication information found") },
    { 0 },
};

struct notes {
    bool is_error;  /* the message is an error */
    bool is_denied; /* something was denied, and it went on */
    bool
        /* the last call failed for lack of money, which its session.error calls a limit */
        is_broke;
    struct agent_usage reported;           /* from the usage file */
    struct agent_usage calls, compactions; /* from the session's file, so far */
};
DEFINE_NOTES(struct notes, notes_of)

static void note_error(struct agent_notes *seen, const char *text) {
    error_text_note(seen, text);
    notes_of(seen)->is_error = true;
}

static void on_message(struct agent_notes *seen, const struct json_value *values) {
    seen->is_waiting = false;
    agent_set_model(seen, &values[MODEL]);
    agent_unmark_all(seen); /* it recovered from the error */
    if (notes_of(seen)->is_error)
        seen->message[0] = '\0';
    notes_of(seen)->is_error = notes_of(seen)->is_broke = false;
    if (json_value_has_text(&values[CONTENT])) /* "" if it only calls tools */
        agent_set_message(seen, values[CONTENT].text);
}

static void on_error(struct agent_notes *seen, const struct json_value *values) {
    const char *text = values[MESSAGE].text;
    seen->is_waiting = false;
    note_error(seen, text);
    if (notes_of(seen)->is_broke)
        agent_mark(seen, AGENT_BILLING);
    const struct error_phrase *type = error_phrase_named(error_types, &values[ERROR_TYPE]);
    if (type)
        agent_mark(seen, type->result);
    else
        error_text_mark(seen, phrases, json_value_count(&values[STATUS]), text);
}

static void on_call_failure(struct agent_notes *seen, const struct json_value *values) {
    const char *text = values[ERROR_MESSAGE].text;
    note_error(seen, text);
    notes_of(seen)->is_broke = json_value_is(&values[ERROR_CODE], "insufficient_quota");
    seen->is_waiting = error_text_is_passing(phrases, json_value_count(&values[STATUS]), text);
}

static void on_result(struct agent_notes *seen, const struct json_value *values) {
    agent_set_session(seen, &values[RESULT_SESSION]);
    seen->is_waiting = false;
    seen->has_ended = true;
    if (json_value_count(&values[EXIT_CODE]) != 0)
        agent_mark(seen, AGENT_FAILED);
    else if (notes_of(seen)->is_denied)
        agent_mark(seen, AGENT_DENIED);
}

static void on_usage_file(struct agent_notes *seen, const struct json_value *values) {
    if (values[TOKENS_IN].sum_count == 0)
        return;
    struct agent_usage total =
        agent_tokens(&values[TOKENS_IN], &values[TOKENS_OUT], &values[TOKENS_CACHED]);
    notes_of(seen)->reported = total;
    usage_count_total(&seen->count, agent_session(seen), &total);
    seen->is_short = false;
}

/* All calls of the session, including earlier runs and subagents. Only the end of a long file is
 * read: then the usage file has more calls. */
static void on_session_file(struct agent_notes *seen, const struct json_value *values) {
    struct notes *notes = notes_of(seen);
    struct agent_usage used;
    bool is_call = json_value_is(&values[TYPE], "session.usage_record");
    if (is_call)
        used = agent_tokens(&values[CALL_IN], &values[CALL_OUT], &values[CALL_CACHED]);
    else if (json_value_is(&values[TYPE], "session.compaction_complete"))
        used = agent_tokens(&values[COMPACTION_IN], &values[COMPACTION_OUT],
                            &values[COMPACTION_CACHED]);
    else
        return;
    usage_add(is_call ? &notes->calls : &notes->compactions, &used);
    struct agent_usage total =
        notes->reported.in > notes->calls.in ? notes->reported : notes->calls;
    usage_add(&total, &notes->compactions);
    (void)usage_count_file(&seen->count, agent_session(seen), &total);
}

static void copilot_start(struct agent_notes *seen) {
    struct notes *notes = notes_of(seen);
    notes->reported = notes->calls = notes->compactions = USAGE_NONE;
}

/* Remembers the request: the answer does not repeat it. */
static void on_request(struct agent_notes *seen, const struct json_value *values) {
    const char *kind = values[ASKED_KIND].text, *command = values[ASKED_COMMAND].text;
    char rule[AGENT_RULE_SIZE];
    uint32_t count = seen->denial.count;
    if (notes_of(seen)->is_denied || !*kind)
        return;
    agent_command_rule(kind, strcmp(kind, "shell") == 0 ? command : NULL, "", rule);
    agent_deny(seen, kind, command, rule);
    seen->denial.count = count;
}

static void copilot_event(struct agent_notes *seen, const struct json_value *values,
                          enum agent_stream from) {
    const struct json_value *type = &values[TYPE];
    if (from == AGENT_STREAM_USAGE)
        on_usage_file(seen, values);
    if (from == AGENT_STREAM_SESSION)
        on_session_file(seen, values);
    if (from != AGENT_STREAM_OUT)
        return;
    if (json_value_is(type, "permission.completed")) {
        /* Includes subagents: they work for this one. */
        if (agent_has(values[PERMISSION].text, "denied")) {
            notes_of(seen)->is_denied = true;
            seen->denial.count++;
        }
    } else if (json_value_is(type, "permission.requested")) {
        on_request(seen, values);
    } else if (values[AGENT].kind == SCAN_STRING) {
        return;
    } else if (json_value_is(type, "session.start") || json_value_is(type, "session.resume")) {
        agent_set_session(seen, &values[SESSION]);
    } else if (json_value_is(type, "assistant.turn_start")) {
        seen->has_ended = false;
    } else if (json_value_is(type, "assistant.message")) {
        on_message(seen, values);
    } else if (json_value_is(type, "model.call_failure")) {
        on_call_failure(seen, values);
    } else if (json_value_is(type, "model.call_finished")) {
        if (json_value_is(&values[OUTCOME], "success"))
            seen->is_waiting = false;
    } else if (json_value_is(type, "session.error")) {
        on_error(seen, values);
    } else if (json_value_is(type, "abort")) {
        seen->is_waiting = false;
        seen->has_ended = true;
        agent_mark(seen, AGENT_CANCELLED);
    } else if (json_value_is(type, "session.info")) {
        if (json_value_is(&values[INFO_TYPE], "cancellation"))
            note_error(seen, values[MESSAGE].text);
    } else if (json_value_is(type, "result")) {
        on_result(seen, values);
    }
}

/* After this line it explains its options, which is not a message. */
static void copilot_text(struct agent_notes *seen, const char *line, enum agent_stream from) {
    if (from == AGENT_STREAM_ERR && agent_has(line, "No session, task, or name matched")) {
        seen->session_is_lost = true;
        note_error(seen, line);
    } else if (from == AGENT_STREAM_ERR && seen->session_is_lost) {
        seen->last_error[0] = '\0';
    }
}

const struct agent_adapter agent_copilot = {
    .name = "copilot",
    .is_builtin = true,
    .login = "run 'copilot login'" LOGIN_OR_KEY("COPILOT_GITHUB_TOKEN=..."),
    .preflight =
        &(const struct agent_preflight){
            .login_files = LIST(".config/gh/hosts.yml", ".config/github-copilot/apps.json",
                                ".config/github-copilot/hosts.json"),
            .login_variables = LIST("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN",
                                    "COPILOT_PROVIDER_BASE_URL"),
            .settings =
                WORDS({ ".copilot/config.json", LIST("logged_in_users", "copilot_tokens") }),
            .login_elsewhere = true,
            .may = AGENT_MAY_WORK,
            .may_sandboxed = AGENT_MAY_WORK,
        },
    .stop_signal = "TERM",
    .command = LIST("copilot", "--output-format", "json", AGENT_WORD_USUAL, "--no-ask-user",
                    "--no-auto-update", AGENT_WORD_MODEL, AGENT_WORD_USAGE, AGENT_WORD_MORE,
                    AGENT_WORD_SESSION),
    .resume = LIST("--resume=" AGENT_WORD_RESUME),
    .usual = LIST("--allow-all-tools"),
    .instead = LIST("--allow-all-tools", "--allow-all", "--yolo", "--allow-tool"),
    .model_option = "--model",
    .session_option = "--session-id",
    .usage_option = "--usage-output-file",
    .allow_option = "--allow-tool",
    .usage_file_name = "usage.json",
    .wants = wants,
    .want_count = ARRAY_SIZE(wants),
    .session_file = &(const struct agent_path){ ".copilot/session-state/{session}/events.jsonl",
                                                AGENT_PATH_READ },
    .session_file_has_more = true,
    .start = copilot_start,
    .event = copilot_event,
    .text = copilot_text,
    .transcript = &transcript_copilot,
    .judge = agent_judge_exit,
    .paths = PATHS(READ(".copilot/config.json"), READ(".copilot/mcp-config.json"),
                   READ(".copilot/agents"), READ(".copilot/skills"),
                   READ(".copilot/copilot-instructions.md"), READ(".config/github-copilot"),
                   READ(".config/gh"), KEEP(".copilot/session-state")),
};
