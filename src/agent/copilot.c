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

struct state {
    /* The last call failed for lack of money, which its session.error calls a limit. */
    bool is_broke;
    struct agent_usage reported;           /* from the usage file */
    struct agent_usage calls, compactions; /* from the session's file, so far */
};
DEFINE_STATE(struct state)

static void copilot_start(struct agent_notes *notes) {
    struct state *state = state_of(notes);
    state->reported = state->calls = state->compactions = USAGE_NONE;
}

/* Subagents work for this agent, so their permissions count; their other events do not. */
static bool copilot_each(struct agent_notes *notes, const struct json_value *values) {
    (void)notes;
    return values[AGENT].kind != SCAN_STRING
           || strncmp(values[TYPE].text, "permission.", strlen("permission.")) == 0;
}

static void on_session(struct agent_notes *notes, const struct json_value *values) {
    agent_set_session(notes, &values[SESSION]);
}

static void on_turn_start(struct agent_notes *notes, const struct json_value *values) {
    (void)values;
    notes->has_ended = false;
}

static void on_message(struct agent_notes *notes, const struct json_value *values) {
    notes->is_waiting = false;
    agent_set_model(notes, &values[MODEL]);
    agent_recover(notes);
    state_of(notes)->is_broke = false;
    if (json_value_has_text(&values[CONTENT])) /* "" if it only calls tools */
        agent_set_message(notes, values[CONTENT].text);
}

static void on_error(struct agent_notes *notes, const struct json_value *values) {
    const char *text = values[MESSAGE].text;
    notes->is_waiting = false;
    error_text_note(notes, text);
    if (state_of(notes)->is_broke)
        agent_mark(notes, AGENT_BILLING);
    if (!agent_mark_named(notes, error_types, &values[ERROR_TYPE]))
        error_text_mark(notes, phrases, json_value_count(&values[STATUS]), text);
}

static void on_call_failure(struct agent_notes *notes, const struct json_value *values) {
    const char *text = values[ERROR_MESSAGE].text;
    error_text_note(notes, text);
    state_of(notes)->is_broke = json_value_is(&values[ERROR_CODE], "insufficient_quota");
    notes->is_waiting = error_text_is_passing(phrases, json_value_count(&values[STATUS]), text);
}

static void on_call_finished(struct agent_notes *notes, const struct json_value *values) {
    if (json_value_is(&values[OUTCOME], "success"))
        notes->is_waiting = false;
}

static void on_info(struct agent_notes *notes, const struct json_value *values) {
    if (json_value_is(&values[INFO_TYPE], "cancellation"))
        error_text_note(notes, values[MESSAGE].text);
}

static void on_abort(struct agent_notes *notes, const struct json_value *values) {
    (void)values;
    agent_set_ended(notes);
    agent_mark(notes, AGENT_CANCELED);
}

static void on_result(struct agent_notes *notes, const struct json_value *values) {
    agent_set_session(notes, &values[RESULT_SESSION]);
    agent_set_ended(notes);
    if (json_value_count(&values[EXIT_CODE]) != 0)
        agent_mark(notes, AGENT_FAILED);
    else if (notes->denial.count > 0)
        agent_mark(notes, AGENT_DENIED);
}

/* Remembers the request: the answer does not repeat it. */
static void on_permission_request(struct agent_notes *notes, const struct json_value *values) {
    const char *kind = values[ASKED_KIND].text, *command = values[ASKED_COMMAND].text;
    char rule[AGENT_RULE_SIZE];
    if (notes->denial.count > 0 || !*kind)
        return;
    agent_command_rule(kind, strcmp(kind, "shell") == 0 ? command : NULL, "", rule);
    agent_deny(notes, kind, command, rule);
    notes->denial.count = 0; /* not denied yet */
}

static void on_permission(struct agent_notes *notes, const struct json_value *values) {
    notes->denial.count += agent_has(values[PERMISSION].text, "denied");
}

static const struct agent_handler handlers[] = {
    { "permission.completed", on_permission },
    { "permission.requested", on_permission_request },
    { "session.start", on_session },
    { "session.resume", on_session },
    { "assistant.turn_start", on_turn_start },
    { "assistant.message", on_message },
    { "model.call_failure", on_call_failure },
    { "model.call_finished", on_call_finished },
    { "session.error", on_error },
    { "session.info", on_info },
    { "abort", on_abort },
    { "result", on_result },
    { NULL, NULL },
};

static void on_usage_file(struct agent_notes *notes, const struct json_value *values) {
    if (values[TOKENS_IN].sum_count == 0)
        return;
    struct agent_usage total = agent_tokens(&values[TOKENS_IN]);
    state_of(notes)->reported = total;
    usage_count_total(&notes->count, agent_session(notes), &total);
    notes->is_short = false;
}

/* All calls of the session, including earlier runs and subagents. Only the end of a long file is
 * read: then the usage file has more calls. */
static void on_session_file(struct agent_notes *notes, const struct json_value *values) {
    struct state *state = state_of(notes);
    bool is_call = json_value_is(&values[TYPE], "session.usage_record");
    if (!is_call && !json_value_is(&values[TYPE], "session.compaction_complete"))
        return;
    struct agent_usage used = agent_tokens(&values[is_call ? CALL_IN : COMPACTION_IN]);
    usage_add(is_call ? &state->calls : &state->compactions, &used);
    struct agent_usage total =
        state->reported.in > state->calls.in ? state->reported : state->calls;
    usage_add(&total, &state->compactions);
    (void)usage_count_file(&notes->count, agent_session(notes), &total);
}

/* After this line it explains its options, which is not a message. */
static void copilot_text(struct agent_notes *notes, const char *line, enum agent_stream from) {
    if (from == AGENT_STREAM_ERR && agent_has(line, "No session, task, or name matched")) {
        notes->session_is_lost = true;
        error_text_note(notes, line);
    } else if (from == AGENT_STREAM_ERR && notes->session_is_lost) {
        notes->last_error[0] = '\0';
    }
}

static const struct agent_output output = {
    JSON_WANTS(WANTS),
    .start = copilot_start,
    .each = copilot_each,
    .handlers = handlers,
    .objects = { [AGENT_STREAM_USAGE] = on_usage_file, [AGENT_STREAM_SESSION] = on_session_file },
    .text = copilot_text,
    .judge = agent_judge_exit,
    .transcript = &transcript_copilot,
};

const struct agent_adapter agent_copilot = {
    .name = "copilot",
    .is_builtin = true,
    .login = "copilot login # log in once" LOGIN_OR_KEY("COPILOT_GITHUB_TOKEN=..."),
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
    .interactive = LIST("copilot", AGENT_WORD_USUAL, "--no-auto-update", AGENT_WORD_MODEL,
                        AGENT_WORD_USAGE, AGENT_WORD_MORE, AGENT_WORD_SESSION),
    .unattended = LIST("--output-format=", "-s", "--silent", "--share", "--share-gist",
                       "--attachment=", "--trust-folder", "--no-ask-user", "--enable-memory",
                       "-p=", "--prompt="),
    .usual = LIST("--allow-all-tools"),
    .instead = LIST("--allow-all-tools", "--allow-all", "--yolo", "--allow-tool"),
    .model_option = "--model",
    .session_option = "--session-id",
    .usage_option = "--usage-output-file",
    .allow_option = "--allow-tool",
    .usage_file_name = "usage.json",
    .session_file = &(const struct agent_path){ ".copilot/session-state/{session}/events.jsonl",
                                                AGENT_PATH_READ },
    .session_file_has_more = true,
    .paths = PATHS(READ(".copilot/config.json"), READ(".copilot/mcp-config.json"),
                   READ(".copilot/agents"), READ(".copilot/skills"),
                   READ(".copilot/copilot-instructions.md"), READ(".config/github-copilot"),
                   READ(".config/gh"), KEEP(".copilot/session-state")),
    .output = &output,
};
