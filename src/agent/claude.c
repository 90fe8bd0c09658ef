/* claude.c: adapter for `claude -p --output-format stream-json`.
 *
 * The final message is the event `result`; in mode `json` it is the only one. Its subtype is
 * unreliable: an API error has the subtype "success". is_error decides, then terminal_reason,
 * api_error, api_error_status, and last the text.
 *
 * A plan limit has its end as a number only in rate_limit_event, otherwise as text: "resets 4:28am
 * (UTC)".
 *
 * The same event has the use of the account's windows (utilization, as a fraction).
 *
 * SIGINT ends it with a result, and so with its tokens, and exit code 0; SIGTERM without a result.
 * Both kill its tools.
 *
 * Usage: `usage` of a result covers its turn, without subagents and without a call after which a
 * budget ended the run. `modelUsage` and total_cost_usd include everything: of this process up to
 * 2.1.2xx; of the session, also after a resume, from 2.1.3xx on, by the version in the init event.
 * Without one (mode `json`), result_index indicates the newer versions. The exact share of a result
 * is `model_usage_since_last_result`, only in stream-json.
 *
 * A message reports its input once per block, with the same id. That counts until a result does;
 * output is unknown before. A run that SIGTERM ends prints no result, but writes its totals to the
 * session's transcript (`cost-state`); one that SIGKILL ends does not. */
#include <stdlib.h>
#include <string.h>

#include "agent/reader_internal.h"
#include "base/hash.h"
#include "base/macros.h"

#define TOTAL_OF_SESSION_SINCE version_of(2, 1, 300)

#define ALL          "modelUsage/*/"
#define SHARE        "model_usage_since_last_result/*/"
#define WINDOWS      "rate_limit_info/unifiedWindows/"
#define DENIED_INPUT "permission_denials/*/tool_input/"
#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 32)                                                                         \
    WANT(SUBTYPE, "subtype", 48)                                                                   \
    WANT(SESSION, "session_id", 128)                                                               \
    WANT(MODEL, "model", 128)                                                                      \
    WANT(VERSION, "claude_code_version", 32)                                                       \
    WANT(IS_ERROR, "is_error", 2)                                                                  \
    WANT(TERMINAL_REASON, "terminal_reason", 48)                                                   \
    WANT(STOP_REASON, "stop_reason", 48)                                                           \
    WANT(API_STATUS, "api_error_status", 32)                                                       \
    WANT(API_ERROR, "api_error", 48)                                                               \
    WANT(ERROR, "error", 48)                                                                       \
    WANT(RETRY_STATUS, "error_status", 32)                                                         \
    WANT(RESULT, "result", 1024)                                                                   \
    WANT(RESULT_ID, "uuid", 64)                                                                    \
    WANT(RESULT_INDEX, "result_index", 32)                                                         \
    WANT(ERRORS, "errors/*", 512)                                                                  \
    WANT(COST, "total_cost_usd", 32)                                                               \
    WANT(TURN_NEW, "usage/input_tokens", 32)                                                       \
    WANT(TURN_CACHE_MADE, "usage/cache_creation_input_tokens", 32)                                 \
    WANT(TURN_CACHE_READ, "usage/cache_read_input_tokens", 32)                                     \
    WANT(TURN_OUT, "usage/output_tokens", 32)                                                      \
    WANT(MODEL_USAGE, "modelUsage", 128)                                                           \
    WANT(ALL_NEW, ALL "inputTokens", 32)                                                           \
    WANT(ALL_CACHE_MADE, ALL "cacheCreationInputTokens", 32)                                       \
    WANT(ALL_CACHE_READ, ALL "cacheReadInputTokens", 32)                                           \
    WANT(ALL_OUT, ALL "outputTokens", 32)                                                          \
    WANT(ALL_COST, ALL "costUSD", 32)                                                              \
    WANT(SINCE, "model_usage_since_last_result", 2)                                                \
    WANT(SINCE_NEW, SHARE "inputTokens", 32)                                                       \
    WANT(SINCE_CACHE_MADE, SHARE "cacheCreationInputTokens", 32)                                   \
    WANT(SINCE_CACHE_READ, SHARE "cacheReadInputTokens", 32)                                       \
    WANT(SINCE_OUT, SHARE "outputTokens", 32)                                                      \
    WANT(SINCE_COST, SHARE "costUSD", 32)                                                          \
    WANT(MESSAGE_ID, "message/id", 64)                                                             \
    WANT(MESSAGE_NEW, "message/usage/input_tokens", 32)                                            \
    WANT(MESSAGE_CACHE_MADE, "message/usage/cache_creation_input_tokens", 32)                      \
    WANT(MESSAGE_CACHE_READ, "message/usage/cache_read_input_tokens", 32)                          \
    WANT(DENIALS, "permission_denials", 2)                                                         \
    WANT(DENIED_TOOL, "permission_denials/*/tool_name", 64)                                        \
    WANT(DENIED_COMMAND, DENIED_INPUT "command", 256)                                              \
    WANT(DENIED_FILE, DENIED_INPUT "file_path", 256)                                               \
    WANT(DENIED_URL, DENIED_INPUT "url", 256)                                                      \
    WANT(DENIED_QUERY, DENIED_INPUT "query", 256)                                                  \
    WANT(LIMIT_STATUS, "rate_limit_info/status", 32)                                               \
    WANT(LIMIT_RESET, "rate_limit_info/resetsAt", 32)                                              \
    WANT(LIMIT_WINDOW, "rate_limit_info/rateLimitType", 32)                                        \
    WANT(LIMIT_USED, "rate_limit_info/utilization", 32)                                            \
    WANT(FIVE_HOUR_USED, WINDOWS "five_hour/utilization", 32)                                      \
    WANT(FIVE_HOUR_RESET, WINDOWS "five_hour/resetsAt", 32)                                        \
    WANT(SEVEN_DAY_USED, WINDOWS "seven_day/utilization", 32)                                      \
    WANT(SEVEN_DAY_RESET, WINDOWS "seven_day/resetsAt", 32)                                        \
    WANT(PARAMS_RESET, "api_error_params/rate_limit_info/resetsAt", 32)                            \
    WANT(MESSAGE_TEXT, "message/content/*/text", 1024)                                             \
    WANT(PARENT_TOOL, "parent_tool_use_id", 64)                                                    \
    WANT(STATE_SESSION, "sessionId", 128) /* of a `cost-state` line of the transcript */           \
    WANT(STATE_COST, "totalCostUSD", 32)
enum want { WANTS(JSON_WANT_NAME) };

#define MESSAGES 64 /* remembered to recognize repeats */

struct state {
    bool has_version;           /* from the init event */
    bool is_of_session;         /* with has_version: totals cover the session, not the process */
    uint32_t of_error;          /* mark of the last assistant event with an error; 0: none */
    struct agent_usage process; /* last totals of a process */
    uint64_t process_session;   /* session of `process`; 0: none */
    uint64_t messages[MESSAGES];
    size_t message_count;
};
DEFINE_STATE(struct state)

static bool claude_each(struct agent_notes *notes, const struct json_value *values) {
    agent_set_session(notes, &values[SESSION]);
    return true;
}

/* --- system ----------------------------------------------------------------------------------- */

static int64_t version_of(int64_t major, int64_t minor, int64_t patch) {
    return (major * 100000 + minor) * 100000 + patch;
}

/* Of "2.1.325"; -1: not a version. */
static int64_t version_parse(const char *text) {
    int64_t parts[3];
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        char *end;
        unsigned long part = strtoul(text, &end, 10);
        if (end == text || part > 99999)
            return -1;
        parts[i] = (int64_t)part;
        text = *end == '.' ? end + 1 : end;
    }
    return version_of(parts[0], parts[1], parts[2]);
}

static void on_system(struct agent_notes *notes, const struct json_value *values) {
    if (json_value_is(&values[SUBTYPE], "init")) {
        notes->has_ended = false;
        agent_set_model(notes, &values[MODEL]);
        int64_t version = version_parse(values[VERSION].text);
        if (version <= 0)
            return;
        state_of(notes)->has_version = true;
        state_of(notes)->is_of_session = version >= TOTAL_OF_SESSION_SINCE;
    } else if (json_value_is(&values[SUBTYPE], "api_retry")) {
        int64_t status = json_value_count(&values[RETRY_STATUS]);
        notes->is_waiting = status == 429 || status >= 500
                            || json_value_is(&values[ERROR], "rate_limit")
                            || json_value_is(&values[ERROR], "overloaded");
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The four paths from `first` on are in the order of enum want. */
static struct agent_usage tokens_at(const struct json_value *values, enum want first) {
    struct agent_usage used = { -1, json_value_sum(&values[first + 3]),
                                json_value_sum(&values[first + 2]), -1 };
    agent_add_count(&used.in, json_value_sum(&values[first]));
    agent_add_count(&used.in, json_value_sum(&values[first + 1]));
    agent_add_count(&used.in, used.cached);
    return used;
}

/* Of an object with one member per model. An empty one means that nothing was used. */
static bool models_at(const struct json_value *values, enum want object, struct agent_usage *ret) {
    *ret = USAGE_NONE;
    if (values[object].kind != SCAN_OBJECT)
        return false;
    if (values[object].count == 0) {
        *ret = (struct agent_usage){ 0, 0, 0, 0 };
        return true;
    }
    *ret = tokens_at(values, object + 1);
    ret->cost_micro_usd = json_value_sum_micro(&values[object + 5]);
    return ret->in >= 0 || ret->out >= 0;
}

static void count_message(struct agent_notes *notes, const struct json_value *values) {
    struct state *state = state_of(notes);
    const struct json_value *id = &values[MESSAGE_ID];
    struct agent_usage begun = tokens_at(values, MESSAGE_NEW);
    begun.out = -1;
    if (begun.in <= 0 || !json_value_has_text(id))
        return; /* generated by the program itself */
    uint64_t key = hash_mix(hash_bytes(notes->session, strlen(notes->session)),
                            hash_bytes(id->text, id->length));
    if (!usage_ring_add(state->messages, MESSAGES, &state->message_count, key))
        return;
    notes->is_short = true;
    usage_count_begun(&notes->count, agent_session(notes), &begun);
}

/* Do these totals continue the last ones? They must have grown by this turn's tokens. */
static bool is_continued(const struct agent_usage *before, const struct agent_usage *now,
                         const struct agent_usage *turn) {
    struct agent_usage least = *before;
    agent_add_count(&least.in, turn->in);
    agent_add_count(&least.out, turn->out);
    return (now->in < 0 || now->in >= least.in) && (now->out < 0 || now->out >= least.out)
           && now->cost_micro_usd >= before->cost_micro_usd;
}

static int64_t difference(int64_t now, int64_t before) {
    return now < 0 || before < 0 ? now : now - before;
}

/* From totals of a process: another process of the same session starts at zero. */
static struct agent_usage share_of_process(struct agent_notes *notes, const struct agent_usage *now,
                                           const struct agent_usage *turn) {
    struct state *state = state_of(notes);
    uint64_t session = hash_bytes(notes->session, strlen(notes->session));
    struct agent_usage before = state->process, share = *now;
    if (state->process_session == session && is_continued(&before, now, turn)) {
        share.in = difference(now->in, before.in);
        share.out = difference(now->out, before.out);
        share.cached = difference(now->cached, before.cached);
        share.cost_micro_usd = difference(now->cost_micro_usd, before.cost_micro_usd);
    }
    state->process = *now;
    state->process_session = session;
    return share;
}

static void count_result(struct agent_notes *notes, const struct json_value *values) {
    struct state *state = state_of(notes);
    struct agent_usage turn = tokens_at(values, TURN_NEW), all, share;
    bool has_share = models_at(values, SINCE, &share);
    if (!usage_count_is_new(&notes->count, agent_session(notes), values[RESULT_ID].text))
        return;
    (void)models_at(values, MODEL_USAGE, &all);
    if (json_value_sum_micro(&values[COST]) >= 0)
        all.cost_micro_usd = json_value_sum_micro(&values[COST]);
    if (!state->has_version)
        state->is_of_session = values[RESULT_INDEX].kind == SCAN_NUMBER;
    if (!has_share && !state->is_of_session)
        share = share_of_process(notes, &all, &turn);
    share.in = share.in < 0 ? turn.in : share.in;
    share.out = share.out < 0 ? turn.out : share.out;
    share.cached = share.cached < 0 ? turn.cached : share.cached;
    usage_count_share(&notes->count, agent_session(notes), &share, has_share);
    if (state->is_of_session)
        usage_count_total(&notes->count, agent_session(notes), &all);
    notes->is_short = share.in < 0 || share.out < 0;
}

/* The total of a session includes what other runs have used in it. */
static void on_session_file(struct agent_notes *notes, const struct json_value *values) {
    struct agent_usage total;
    if (!json_value_is(&values[TYPE], "cost-state")
        || !json_value_is(&values[STATE_SESSION], notes->file_session)
        || !usage_count_knows_before(&notes->count, notes->file_session)
        || !models_at(values, MODEL_USAGE, &total))
        return;
    if (json_value_sum_micro(&values[STATE_COST]) >= 0)
        total.cost_micro_usd = json_value_sum_micro(&values[STATE_COST]);
    if (usage_count_file(&notes->count, notes->file_session, &total))
        notes->is_short = false;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Texts of Claude Code; texts of providers are in error_text.c. */
static const struct error_phrase phrases[] = {
    { AGENT_AUTH, LIST("please run /login", "not logged in", "failed to authenticate",
                       "oauth token has expired") },
    { AGENT_BILLING, LIST("credit balance") },
    { AGENT_LIMITED, LIST("usage limit reached", "hit your ", "out of extra usage") },
    { AGENT_CONTEXT_FULL, LIST("conversation is too long") },
    { AGENT_REFUSED, LIST("safeguards flagged") },
    { AGENT_FAILED, LIST("output token maximum") },
    { AGENT_OVERLOADED, LIST("server error mid-response", "connection error", "connection closed",
                             "request timed out") },
    { 0 },
};

/* Values of its fields that name a problem. */
struct word {
    const char *text;
    enum want where;
    enum agent_result result;
};
static const struct word words[] = {
    { "max_turns", TERMINAL_REASON, AGENT_MAX_TURNS },
    { "error_max_turns", SUBTYPE, AGENT_MAX_TURNS },
    { "budget_exhausted", TERMINAL_REASON, AGENT_BUDGET },
    { "error_max_budget_usd", SUBTYPE, AGENT_BUDGET },
    { "prompt_too_long", TERMINAL_REASON, AGENT_CONTEXT_FULL },
    { "aborted_streaming", TERMINAL_REASON, AGENT_CANCELED },
    { "aborted_tools", TERMINAL_REASON, AGENT_CANCELED },
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

/* The same words are in `error` of the assistant event before a result without them. */
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

/* A message of the user is also a result of a tool. */
static void on_user(struct agent_notes *notes, const struct json_value *values) {
    notes->has_ended = false;
    notes->is_waiting = false;
    state_of(notes)->of_error = marks_of_words(error_words, ARRAY_SIZE(error_words), values);
    if (!json_value_has_text(&values[ERROR])) /* it continued, so rejections did not stop it */
        notes->reset_at = 0;
    if (values[PARAMS_RESET].kind == SCAN_NUMBER)
        agent_set_reset(notes, json_value_count(&values[PARAMS_RESET]));
}

static void on_assistant(struct agent_notes *notes, const struct json_value *values) {
    on_user(notes, values);
    count_message(notes, values);
    if (!json_value_has_text(&values[PARENT_TOOL]) && json_value_has_text(&values[MESSAGE_TEXT]))
        agent_set_message(notes, values[MESSAGE_TEXT].text);
}

static void set_quota(struct agent_notes *notes, enum agent_window window,
                      const struct json_value *used, const struct json_value *resets_at) {
    if (used->kind == SCAN_NUMBER)
        agent_set_quota(notes, window, used->micro / 1000, json_value_count(resets_at));
}

/* The event is about one window; newer versions add the state of both. Windows of a single model
 * ("seven_day_opus") are ignored: the account still works with other models. */
static void on_limit(struct agent_notes *notes, const struct json_value *values) {
    if (json_value_is(&values[LIMIT_WINDOW], "five_hour"))
        set_quota(notes, AGENT_WINDOW_FIVE_HOUR, &values[LIMIT_USED], &values[LIMIT_RESET]);
    else if (json_value_is(&values[LIMIT_WINDOW], "seven_day"))
        set_quota(notes, AGENT_WINDOW_WEEKLY, &values[LIMIT_USED], &values[LIMIT_RESET]);
    set_quota(notes, AGENT_WINDOW_FIVE_HOUR, &values[FIVE_HOUR_USED], &values[FIVE_HOUR_RESET]);
    set_quota(notes, AGENT_WINDOW_WEEKLY, &values[SEVEN_DAY_USED], &values[SEVEN_DAY_RESET]);
    notes->reset_at = 0;
    if (json_value_is(&values[LIMIT_STATUS], "rejected"))
        agent_set_reset(notes, json_value_count(&values[LIMIT_RESET]));
}

/* --- the final message ------------------------------------------------------------------------ */

static bool result_is_error(const struct json_value *values) {
    if (strncmp(values[SUBTYPE].text, "error", strlen("error")) == 0)
        return true;
    if (values[IS_ERROR].kind == SCAN_TRUE || values[IS_ERROR].kind == SCAN_FALSE)
        return values[IS_ERROR].kind == SCAN_TRUE;
    return !json_value_is(&values[SUBTYPE], "success");
}

static void mark_error(struct agent_notes *notes, const struct json_value *values) {
    const char *text = values[json_value_has_text(&values[RESULT]) ? RESULT : ERRORS].text;
    notes->marks = marks_of_words(words, ARRAY_SIZE(words), values) | state_of(notes)->of_error;
    if (!notes->marks)
        error_text_mark(notes, phrases, json_value_count(&values[API_STATUS]), text);
    if (notes->marks & 1u << AGENT_LIMITED)
        agent_set_line(notes->reset_text, sizeof(notes->reset_text), text);
}

/* A wanted path of a list has the value of the last member with it, so the tool's name selects the
 * one that belongs to the last tool. */
static void on_denials(struct agent_notes *notes, const struct json_value *values) {
    static const struct {
        const char *tool;
        enum want argument;
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
    agent_deny(notes, tool, argument, rule);
    notes->denial.count = values[DENIALS].count;
    agent_mark(notes, AGENT_DENIED);
}

static void on_result(struct agent_notes *notes, const struct json_value *values) {
    agent_set_ended(notes);
    notes->marks = 0;
    count_result(notes, values);
    if (!notes->model[0] && values[MODEL_USAGE].length > 0)
        agent_set_line(notes->model, sizeof(notes->model), values[MODEL_USAGE].text);
    /* Its diagnostics after an interrupt are not a message. */
    static const char internal[] = "[ede_diagnostic]";
    bool is_internal = strncmp(values[ERRORS].text, internal, strlen(internal)) == 0;
    if (json_value_has_text(&values[RESULT]))
        agent_set_message(notes, values[RESULT].text);
    else if (json_value_has_text(&values[ERRORS]) && !is_internal)
        agent_set_message(notes, values[ERRORS].text);
    else if (json_value_has_text(&values[ERRORS]) && !notes->message[0])
        agent_set_message(notes, "it was interrupted");
    if (result_is_error(values))
        mark_error(notes, values);
    else if (json_value_is(&values[STOP_REASON], "refusal"))
        agent_mark(notes, AGENT_REFUSED);
    else if (values[DENIALS].kind == SCAN_LIST && values[DENIALS].count > 0)
        on_denials(notes, values);
}

static const struct agent_handler handlers[] = {
    { "system", on_system },          { "assistant", on_assistant }, { "user", on_user },
    { "rate_limit_event", on_limit }, { "result", on_result },       { NULL, NULL },
};

static void claude_text(struct agent_notes *notes, const char *line, enum agent_stream from) {
    if (from == AGENT_STREAM_OUT && !notes->has_event)
        agent_set_message(notes, line);
    else if (from == AGENT_STREAM_ERR
             && (agent_has(line, "No conversation found with session ID")
                 || (agent_has(line, "Session ID") && agent_has(line, "is already in use"))))
        notes->session_is_lost = true;
}

/* Without streaming mode it prints its answer as text. The exit code and this text show a failure,
 * but nothing shows success: an interrupted answer looks the same. */
static void claude_judge(struct agent_notes *notes, const struct agent_end *end) {
    if (agent_end_is_failure(end) && !notes->has_ended && !notes->has_event && notes->message[0]) {
        notes->has_ended = true;
        error_text_mark(notes, phrases, error_text_status(notes->message, "API Error: "),
                        notes->message);
    }
    agent_judge_exit(notes, end);
}

static const struct agent_output output = {
    JSON_WANTS(WANTS),
    .each = claude_each,
    .handlers = handlers,
    .objects = { [AGENT_STREAM_SESSION] = on_session_file },
    .text = claude_text,
    .judge = claude_judge,
    .transcript = &transcript_claude,
};

#define KEY_VARIABLES                                                                              \
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",                        \
        "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"

const struct agent_adapter agent_claude = {
    .name = "claude",
    .is_builtin = true,
    .provider = "anthropic",
    .login = "claude # log in once" LOGIN_OR_KEY("ANTHROPIC_API_KEY=..."),
    .preflight =
        &(const struct agent_preflight){
            .login_files = LIST(".claude/.credentials.json"),
            .login_variables = LIST(KEY_VARIABLES),
            .settings = WORDS({ ".claude/settings.json", LIST("\"apiKeyHelper\"", KEY_VARIABLES) }),
            .may = AGENT_MAY_EDIT,
            .may_sandboxed = AGENT_MAY_WORK,
            .allow = "agents.claude.args=\"--allowedTools=Bash\"",
            .allowed = WORDS({ ".claude/settings.json", LIST("\"Bash\"", "bypassPermissions") }),
        },
    .mcp =
        &(const struct agent_mcp){
            .variable = "CLAUDE_CONFIG_DIR",
            .folder = "",
            .file = ".claude.json",
            .project_file = ".mcp.json",
            .member = "mcpServers",
            .type = "stdio",
        },
    .flags = LIST("-p", "--print", "--verbose", "--dangerously-skip-permissions", "-c",
                  "--continue", "--fork-session", "--include-partial-messages"),
    .stop_signal = "INT",
    .command = LIST("claude", "-p", "--output-format", "stream-json", "--verbose", AGENT_WORD_USUAL,
                    AGENT_WORD_MODEL, AGENT_WORD_SESSION, AGENT_WORD_BUDGET, AGENT_WORD_MORE),
    .resume = LIST("--resume", AGENT_WORD_RESUME),
    .interactive =
        LIST("claude", AGENT_WORD_USUAL, AGENT_WORD_MODEL, AGENT_WORD_SESSION, AGENT_WORD_MORE),
    .unattended =
        LIST("-p", "--print", "--output-format=", "--input-format=", "--max-turns=",
             "--max-budget-usd=", "--json-schema=", "--permission-prompts=",
             "--permission-prompt-tool=", "--include-partial-messages", "--include-hook-events",
             "--forward-subagent-text", "--replay-user-messages", "--no-session-persistence"),
    .model_option = "--model",
    .session_option = "--session-id",
    .budget_option = "--max-budget-usd",
    .allow_option = "--allowedTools",
    .environment = LIST("CLAUDE_CODE_MAX_RETRIES=2", "DISABLE_AUTOUPDATER=1"),
    /* Edits are allowed. Without a sandbox, its own settings decide about the rest, which is denied
     * without asking, except for the tools of Sluice's server: they have the rights of the run's
     * token, as `sluice` in a command has. In a sandbox, commands and the web are allowed, too,
     * because the sandbox limits them. One word each: as two words, the option would consume the
     * words after it. */
    .usual = LIST("--permission-mode", "acceptEdits"),
    .instead = LIST("--permission-mode", "--dangerously-skip-permissions"),
    .tools = LIST("--allowedTools=mcp__sluice"),
    .tools_sandboxed = LIST("--allowedTools=Bash,WebFetch,WebSearch,mcp__sluice"),
    .tools_instead = LIST("--allowedTools", "--allowed-tools", "--tools"),
    .paths = PATHS(READ(".claude.json"), READ(".claude/settings.json"),
                   READ(".claude/settings.local.json"), READ(".claude/CLAUDE.md"),
                   READ(".claude/agents"), READ(".claude/commands"), READ(".claude/hooks"),
                   READ(".claude/output-styles"), READ(".claude/plugins"), READ(".claude/rules"),
                   READ(".claude/skills"), WRITE(".claude/.credentials.json"),
                   KEEP(".claude/projects/{cwd}"), WRITE(".claude/todos"), WRITE(".claude/tasks"),
                   WRITE(".claude/file-history")),
    .session_file =
        &(const struct agent_path){ ".claude/projects/{cwd}/{session}.jsonl", AGENT_PATH_READ },
    .settings_variable = "CLAUDE_CONFIG_DIR",
    .settings_folder = ".claude",
    .output = &output,
};

/* Other programs that print Claude Code's events (Amp, Cursor, Qwen Code and more). They start in
 * different ways, so the configuration has the command. Missing fields stay unknown. */
const struct agent_adapter agent_claude_stream = {
    .name = "claude-stream",
    .stop_signal = "TERM",
    .output = &output,
};
