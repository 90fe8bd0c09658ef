/* claude.c: what does `claude -p --output-format stream-json` print, and what does it mean?
 *
 * Its last word is the event `result`, alone in the mode `json`. Its subtype lies: an API error has the subtype
 * "success". is_error tells, then terminal_reason, api_error, api_error_status, and last the sentence.
 *
 * A limit of the plan tells its end as a number only in rate_limit_event, else in words: "resets 4:28am (UTC)".
 *
 * Which of its numbers count is in claude_usage.c.
 *
 * SIGINT ends it with a result, and so with its tokens, and exit code 0; SIGTERM without one. Both take its
 * tools along. */
#include <string.h>

#include "agent/claude_internal.h"
#include "agent/error_text.h"
#include "base/macros.h"

/* What it says itself; what providers say is in error_text.c. */
static const struct error_phrase sentences[] = {
    { "please run /login", AGENT_AUTH },
    { "not logged in", AGENT_AUTH },
    { "failed to authenticate", AGENT_AUTH },
    { "oauth token has expired", AGENT_AUTH },
    { "credit balance", AGENT_BILLING },
    { "usage limit reached", AGENT_LIMITED },
    { "hit your ", AGENT_LIMITED }, /* "… 5-hour limit · resets 4:28am (UTC)" */
    { "out of extra usage", AGENT_LIMITED },
    { "conversation is too long", AGENT_CONTEXT_FULL },
    { "safeguards flagged", AGENT_REFUSED },
    { "output token maximum", AGENT_FAILED },
    { "server error mid-response", AGENT_OVERLOADED },
    { "connection error", AGENT_OVERLOADED },
    { "connection closed", AGENT_OVERLOADED },
    { "request timed out", AGENT_OVERLOADED },
    { NULL, AGENT_FAILED },
};

/* The words of its fields that name a trouble. */
struct word {
    const char *text;
    enum claude_want where;
    enum agent_result result;
};
static const struct word words[] = {
    { "max_turns", TERMINAL_REASON, AGENT_MAX_TURNS },
    { "error_max_turns", SUBTYPE, AGENT_MAX_TURNS },
    { "budget_exhausted", TERMINAL_REASON, AGENT_BUDGET },
    { "error_max_budget_usd", SUBTYPE, AGENT_BUDGET },
    { "prompt_too_long", TERMINAL_REASON, AGENT_CONTEXT_FULL },
    { "aborted_streaming", TERMINAL_REASON, AGENT_CANCELLED },
    { "aborted_tools", TERMINAL_REASON, AGENT_CANCELLED },
    { "refusal", STOP_REASON, AGENT_REFUSED },
    { "usage_limit_reached", API_ERROR, AGENT_LIMITED },
    { "max_output_tokens", API_ERROR, AGENT_FAILED },
    { "authentication_failed", API_ERROR, AGENT_AUTH },
    { "oauth_org_not_allowed", API_ERROR, AGENT_AUTH },
    { "billing_error", API_ERROR, AGENT_BILLING },
    { "rate_limit", API_ERROR, AGENT_LIMITED },
    { "overloaded", API_ERROR, AGENT_OVERLOADED },
    { "server_error", API_ERROR, AGENT_OVERLOADED },
};

/* The same words stand in `error` of the assistant event before a result that lacks them. */
static const struct word error_words[] = {
    { "authentication_failed", ERROR, AGENT_AUTH },
    { "oauth_org_not_allowed", ERROR, AGENT_AUTH },
    { "billing_error", ERROR, AGENT_BILLING },
};

static uint32_t marks_of_words(const struct word *table, size_t count,
                               const struct json_value *values) {
    uint32_t marks = 0;
    for (size_t i = 0; i < count; i++)
        if (json_value_is(&values[table[i].where], table[i].text))
            marks |= 1u << table[i].result;
    return marks;
}

static void on_init(struct agent_seen *seen, const struct json_value *values) {
    seen->has_ended = false;
    agent_set_model(seen, &values[MODEL]);
    claude_count_version(seen, values);
}

static void on_system(struct agent_seen *seen, const struct json_value *values) {
    if (json_value_is(&values[SUBTYPE], "init")) {
        on_init(seen, values);
    } else if (json_value_is(&values[SUBTYPE], "api_retry")) {
        int64_t status = json_value_count(&values[RETRY_STATUS]);
        seen->is_waiting = status == 429 || status >= 500
                           || json_value_is(&values[ERROR], "rate_limit")
                           || json_value_is(&values[ERROR], "overloaded");
    }
}

static void on_message(struct agent_seen *seen, const struct json_value *values,
                       bool is_assistant) {
    seen->has_ended = false;
    seen->is_waiting = false;
    bool is_error = json_value_has_text(&values[ERROR]);
    claude_notes(seen)->of_error = marks_of_words(error_words, ARRAY_SIZE(error_words), values);
    if (!is_error) /* it goes on: what was rejected before did not stop it */
        seen->reset_at = 0;
    if (values[PARAMS_RESET].kind == SCAN_NUMBER)
        agent_set_reset(seen, json_value_count(&values[PARAMS_RESET]));
    if (is_assistant)
        claude_count_message(seen, values);
    if (is_assistant && !json_value_has_text(&values[PARENT_TOOL])
        && json_value_has_text(&values[MESSAGE_TEXT]))
        agent_set_message(seen, values[MESSAGE_TEXT].text);
}

static void on_limit(struct agent_seen *seen, const struct json_value *values) {
    seen->reset_at = 0;
    if (json_value_is(&values[LIMIT_STATUS], "rejected"))
        agent_set_reset(seen, json_value_count(&values[LIMIT_RESET]));
}

/* --- the last word -------------------------------------------------------------------------------- */

static bool result_is_error(const struct json_value *values) {
    if (strncmp(values[SUBTYPE].text, "error", strlen("error")) == 0)
        return true;
    if (values[IS_ERROR].kind == SCAN_TRUE || values[IS_ERROR].kind == SCAN_FALSE)
        return values[IS_ERROR].kind == SCAN_TRUE;
    return !json_value_is(&values[SUBTYPE], "success");
}

static void mark_error(struct agent_seen *seen, const struct json_value *values) {
    const char *text = values[json_value_has_text(&values[RESULT]) ? RESULT : ERRORS].text;
    seen->marks = marks_of_words(words, ARRAY_SIZE(words), values) | claude_notes(seen)->of_error;
    if (!seen->marks)
        error_text_mark(seen, sentences, json_value_count(&values[API_STATUS]), text);
    if (seen->marks & 1u << AGENT_LIMITED)
        agent_set_line(seen->reset_text, sizeof(seen->reset_text), text);
}

/* Values of a list are those of its last member that has them, so what belongs to the last tool is chosen by its name. */
static void on_denials(struct agent_seen *seen, const struct json_value *values) {
    static const struct {
        const char *tool;
        enum claude_want argument;
    } arguments[] = {
        { "Bash", DENIED_COMMAND },    { "Edit", DENIED_FILE },      { "Write", DENIED_FILE },
        { "Read", DENIED_FILE },       { "MultiEdit", DENIED_FILE }, { "WebFetch", DENIED_URL },
        { "WebSearch", DENIED_QUERY },
    };
    const char *tool = values[DENIED_TOOL].text, *argument = NULL;
    char rule[AGENT_RULE_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(arguments); i++)
        if (json_value_is(&values[DENIED_TOOL], arguments[i].tool))
            argument = values[arguments[i].argument].text;
    agent_command_rule(tool, strcmp(tool, "Bash") == 0 ? argument : NULL, ":*", rule);
    agent_deny(seen, tool, argument, rule);
    seen->denial.count = values[DENIALS].count;
    agent_mark(seen, AGENT_DENIED);
}

/* What it prints for its own developers when it is interrupted is no message. */
static void on_errors(struct agent_seen *seen, const char *text) {
    static const char internal[] = "[ede_diagnostic]";
    if (strncmp(text, internal, sizeof(internal) - 1) != 0)
        agent_set_message(seen, text);
    else if (!seen->message[0])
        agent_set_message(seen, "it was interrupted");
}

static void on_result(struct agent_seen *seen, const struct json_value *values) {
    seen->has_ended = true;
    seen->is_waiting = false;
    agent_unmark_all(seen);
    claude_count_result(seen, values);
    if (!seen->model[0] && values[MODEL_USAGE].length > 0)
        agent_set_line(seen->model, sizeof(seen->model), values[MODEL_USAGE].text);
    if (json_value_has_text(&values[RESULT]))
        agent_set_message(seen, values[RESULT].text);
    else if (json_value_has_text(&values[ERRORS]))
        on_errors(seen, values[ERRORS].text);
    if (result_is_error(values))
        mark_error(seen, values);
    else if (json_value_is(&values[STOP_REASON], "refusal"))
        agent_mark(seen, AGENT_REFUSED);
    else if (values[DENIALS].kind == SCAN_LIST && values[DENIALS].count > 0)
        on_denials(seen, values);
}

void claude_event(struct agent_seen *seen, const struct json_value *values,
                  enum agent_stream from) {
    if (from == AGENT_STREAM_SESSION && json_value_is(&values[TYPE], "cost-state"))
        claude_count_state(seen, values);
    if (from != AGENT_STREAM_OUT)
        return;
    claude_notes(seen)->has_event = true;
    const struct json_value *type = &values[TYPE];
    agent_set_session(seen, &values[SESSION]);
    if (json_value_is(type, "result"))
        on_result(seen, values);
    else if (json_value_is(type, "system"))
        on_system(seen, values);
    else if (json_value_is(type, "assistant") || json_value_is(type, "user"))
        on_message(seen, values, json_value_is(type, "assistant"));
    else if (json_value_is(type, "rate_limit_event"))
        on_limit(seen, values);
}

void claude_text(struct agent_seen *seen, const char *line, enum agent_stream from) {
    if (from == AGENT_STREAM_OUT && !claude_notes(seen)->has_event)
        agent_set_message(seen, line);
    else if (from == AGENT_STREAM_ERR
             && (agent_has(line, "No conversation found with session ID")
                 || (agent_has(line, "Session ID") && agent_has(line, "is already in use"))))
        seen->session_is_lost = true;
}

/* Started without its streaming mode it prints its answer as text. A failure is told by the exit code and
 * this text, success by nothing: an interrupted answer looks the same. */
void claude_judge(struct agent_seen *seen, const struct agent_end *end) {
    bool failed = end->code > 0 && end->code < 128 && end->by == AGENT_BY_ITSELF;
    if (failed && seen->has_ended && (seen->marks & ~(1u << AGENT_DENIED)) == 0) {
        agent_mark(seen, AGENT_FAILED);
    } else if (failed && !seen->has_ended && !claude_notes(seen)->has_event && seen->message[0]) {
        seen->has_ended = true;
        error_text_mark(seen, sentences, error_text_status(seen->message, "API Error: "),
                        seen->message);
    }
}

static const char *const command[] = {
    "claude",
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    AGENT_WORD_USUAL,
    AGENT_WORD_MODEL,
    AGENT_WORD_SESSION,
    AGENT_WORD_BUDGET,
    AGENT_WORD_MORE,
    NULL,
};
static const char *const resume[] = {
    "claude",          "-p",
    "--output-format", "stream-json",
    "--verbose",       AGENT_WORD_USUAL,
    AGENT_WORD_MODEL,  "--resume",
    AGENT_WORD_RESUME, AGENT_WORD_BUDGET,
    AGENT_WORD_MORE,   NULL,
};
/* Edits go through. Without a sandbox what else it may do is a matter of its own settings, and refused without asking,
 * except for the tools of Sluice's own server: they have the rights of the run's token, as `sluice` in a command has. In a
 * sandbox commands and the web are allowed, too: the sandbox says what they reach. One word each: as two, the
 * option would take the words behind it. */
static const char *const usual[] = { "--permission-mode", "acceptEdits", NULL };
static const char *const tools[] = { "--allowedTools=mcp__sluice", NULL };
static const char *const tools_sandboxed[] = { "--allowedTools=Bash,WebFetch,WebSearch,mcp__sluice",
                                               NULL };
static const char *const tools_instead[] = { "--allowedTools", "--allowed-tools", "--tools", NULL };
static const char *const instead[] = { "--permission-mode", "--dangerously-skip-permissions",
                                       NULL };
static const char *const environment[] = { "CLAUDE_CODE_MAX_RETRIES=2", "DISABLE_AUTOUPDATER=1",
                                           NULL };

static const char *const flags[] = {
    "-p", "--print",    "--verbose",      "--dangerously-skip-permissions",
    "-c", "--continue", "--fork-session", "--include-partial-messages",
    NULL
};

static const struct agent_path paths[] = {
    { ".claude.json", AGENT_PATH_READ },
    { ".claude/settings.json", AGENT_PATH_READ },
    { ".claude/settings.local.json", AGENT_PATH_READ },
    { ".claude/CLAUDE.md", AGENT_PATH_READ },
    { ".claude/agents", AGENT_PATH_READ },
    { ".claude/commands", AGENT_PATH_READ },
    { ".claude/hooks", AGENT_PATH_READ },
    { ".claude/output-styles", AGENT_PATH_READ },
    { ".claude/plugins", AGENT_PATH_READ },
    { ".claude/rules", AGENT_PATH_READ },
    { ".claude/skills", AGENT_PATH_READ },
    { ".claude/.credentials.json", AGENT_PATH_WRITE },
    { ".claude/projects/{cwd}", AGENT_PATH_KEEP },
    { ".claude/todos", AGENT_PATH_WRITE },
    { ".claude/tasks", AGENT_PATH_WRITE },
    { ".claude/file-history", AGENT_PATH_WRITE },
    { NULL, AGENT_PATH_READ },
};

static const struct agent_path session_file = { ".claude/projects/{cwd}/{session}.jsonl",
                                                AGENT_PATH_READ };

#define KEY_VARIABLES                                                                              \
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",                        \
        "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"
static const struct agent_preflight preflight = {
    .login_files = LIST(".claude/.credentials.json"),
    .login_variables = LIST(KEY_VARIABLES),
    .settings = WORDS({ ".claude/settings.json", LIST("\"apiKeyHelper\"", KEY_VARIABLES) }),
    .may = AGENT_MAY_EDIT,
    .may_sandboxed = AGENT_MAY_WORK,
    .allow = "agents.claude.args=\"--allowedTools=Bash\"",
    .allowed = WORDS({ ".claude/settings.json", LIST("\"Bash\"", "bypassPermissions") }),
};

static const struct agent_mcp mcp = {
    .variable = "CLAUDE_CONFIG_DIR",
    .folder = "",
    .file = ".claude.json",
    .project_file = ".mcp.json",
    .member = "mcpServers",
    .type = "stdio",
};

const struct agent_adapter agent_claude = {
    .name = "claude",
    .is_builtin = true,
    .provider = "anthropic",
    .login = "run 'claude' once and log in" LOGIN_OR_KEY("ANTHROPIC_API_KEY=..."),
    .preflight = &preflight,
    .mcp = &mcp,
    .flags = flags,
    .stop_signal = "INT",
    .command = command,
    .resume = resume,
    .model_option = "--model",
    .session_option = "--session-id",
    .budget_option = "--max-budget-usd",
    .allow_option = "--allowedTools",
    .environment = environment,
    .usual = usual,
    .instead = instead,
    .tools = tools,
    .tools_sandboxed = tools_sandboxed,
    .tools_instead = tools_instead,
    .wants = claude_wants,
    .want_count = ARRAY_SIZE(claude_wants),
    .event = claude_event,
    .text = claude_text,
    .transcript = &transcript_claude,
    .judge = claude_judge,
    .paths = paths,
    .session_file = &session_file,
    .settings_variable = "CLAUDE_CONFIG_DIR",
    .settings_folder = ".claude",
};
