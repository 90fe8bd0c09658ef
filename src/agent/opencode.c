/* opencode.c: adapter for `opencode run --format json`.
 *
 * Each step ends with a step_finish with its own tokens and cost, which are summed here. The reason
 * of the last one decides: "tool-calls" means that it continues, "stop" is the final message. An
 * `error` event is a final message, too.
 *
 * It retries silently, possibly for hours: only the idle timeout helps.
 *
 * An error has the status and headers of the failed request, so a limit has an exact time if the
 * provider sends "retry-after". A cost of 0 means an unknown price and is not reported. */
#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"
#include "base/number.h"

#define ERROR_DATA "error/data/"
#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 32)                                                                         \
    WANT(SESSION, "sessionID", 128)                                                                \
    WANT(TIMESTAMP, "timestamp", 32)                                                               \
    WANT(PART_ID, "part/id", 64)                                                                   \
    WANT(PART_TEXT, "part/text", 512)                                                              \
    WANT(REASON, "part/reason", 32)                                                                \
    WANT(TOKENS_TOTAL, "part/tokens/total", 32)                                                    \
    WANT(TOKENS_IN, "part/tokens/input", 32)                                                       \
    WANT(TOKENS_OUT, "part/tokens/output", 32)                                                     \
    WANT(TOKENS_REASONING, "part/tokens/reasoning", 32)                                            \
    WANT(CACHE_READ, "part/tokens/cache/read", 32)                                                 \
    WANT(CACHE_WRITE, "part/tokens/cache/write", 32)                                               \
    WANT(COST, "part/cost", 32)                                                                    \
    WANT(ERROR_NAME, "error/name", 64)                                                             \
    WANT(ERROR_MESSAGE, ERROR_DATA "message", 512)                                                 \
    WANT(ERROR_STATUS, ERROR_DATA "statusCode", 32)                                                \
    WANT(ERROR_BODY, ERROR_DATA "responseBody", 512)                                               \
    WANT(RETRY_AFTER, ERROR_DATA "responseHeaders/retry-after", 32)                                \
    WANT(RETRY_AFTER_MS, ERROR_DATA "responseHeaders/retry-after-ms", 32)
enum want { WANTS(JSON_WANT_NAME) };

static const struct error_phrase error_names[] = {
    { AGENT_AUTH, LIST("ProviderAuthError") },
    { AGENT_CONTEXT_FULL, LIST("ContextOverflowError") },
    { AGENT_REFUSED, LIST("ContentFilterError") },
    { AGENT_CANCELED, LIST("MessageAbortedError") },
    { AGENT_FAILED, LIST("MessageOutputLengthError") },
    { 0 },
};

/* Reasons of a last step. After others it continues: "tool-calls", "unknown". */
static const struct error_phrase last_reasons[] = {
    { AGENT_OK, LIST("stop", "other") },
    { AGENT_FAILED, LIST("length", "error") },
    { AGENT_REFUSED, LIST("content-filter") },
    { 0 },
};

static void on_step_start(struct agent_notes *notes, const struct json_value *values) {
    (void)values;
    notes->has_ended = false;
    notes->is_short = true;
    notes->marks = 0;
    notes->reset_at = 0;
}

static void on_text(struct agent_notes *notes, const struct json_value *values) {
    if (json_value_has_text(&values[PART_TEXT]))
        agent_set_message(notes, values[PART_TEXT].text);
}

static void on_step_finish(struct agent_notes *notes, const struct json_value *values) {
    int64_t in = json_value_sum(&values[TOKENS_IN]);
    int64_t out = json_value_sum(&values[TOKENS_OUT]);
    int64_t cached = json_value_sum(&values[CACHE_READ]);
    int64_t total = json_value_sum(&values[TOKENS_TOTAL]);
    agent_add_count(&in, cached);
    agent_add_count(&in, json_value_sum(&values[CACHE_WRITE]));
    /* With some providers `output` includes reasoning; the total always does, once. */
    int64_t all = out;
    agent_add_count(&all, json_value_sum(&values[TOKENS_REASONING]));
    if (total >= 0 && in >= 0 && total - in >= out && total - in <= all)
        all = total - in;
    struct agent_usage step = { in, all, cached, -1 };
    if (json_value_sum_micro(&values[COST]) > 0)
        step.cost_micro_usd = json_value_sum_micro(&values[COST]);
    if (usage_count_is_new(&notes->count, agent_session(notes), values[PART_ID].text))
        usage_count_share(&notes->count, agent_session(notes), &step, true);
    notes->is_short = false;

    const struct error_phrase *reason = error_phrase_named(last_reasons, &values[REASON]);
    notes->has_ended = reason != NULL;
    if (reason && reason->result != AGENT_OK)
        agent_mark(notes, reason->result);
}

/* "retry-after: 30", seconds after the answer. A date is not parsed; the probe run handles it. */
static void note_retry_after(struct agent_notes *notes, const struct json_value *values) {
    int64_t at = json_value_count(&values[TIMESTAMP]), ms = 0, seconds_milli = 0;
    bool is_ms = json_value_has_text(&values[RETRY_AFTER_MS]);
    const struct json_value *value = &values[is_ms ? RETRY_AFTER_MS : RETRY_AFTER];
    struct error err = { 0 };
    if (at <= 0 || !json_value_has_text(value)
        || number_parse_milli(value->text, &seconds_milli, &err) < 0 || seconds_milli < 0)
        return;
    ms = is_ms ? seconds_milli / 1000 : seconds_milli;
    agent_set_reset(notes, time_add(at, ms));
}

static void on_error(struct agent_notes *notes, const struct json_value *values) {
    const char *text =
        values[json_value_has_text(&values[ERROR_MESSAGE]) ? ERROR_MESSAGE : ERROR_NAME].text;
    notes->has_ended = true;
    error_text_note(notes, text);
    note_retry_after(notes, values);
    if (agent_mark_named(notes, error_names, &values[ERROR_NAME]))
        return;
    /* The body has codes that the message may lack ("insufficient_quota"). */
    if (agent_has(values[ERROR_BODY].text, "insufficient_quota"))
        agent_mark(notes, AGENT_BILLING);
    error_text_mark(notes, NULL, json_value_count(&values[ERROR_STATUS]), text);
}

static bool opencode_each(struct agent_notes *notes, const struct json_value *values) {
    if (json_value_has_text(&values[TYPE]))
        agent_set_session(notes, &values[SESSION]);
    return true;
}

static const struct agent_handler handlers[] = {
    { "step_start", on_step_start }, { "text", on_text }, { "step_finish", on_step_finish },
    { "error", on_error },           { NULL, NULL },
};

/* "permission requested: bash (rm -rf x); auto-rejecting" */
static void on_rejected(struct agent_notes *notes, const char *line) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT, argument = STRBUF_INIT;
    const char *colon = strchr(line, ':'), *end = strrchr(line, ';');
    const char *tool = colon ? colon + 1 + strspn(colon + 1, " ") : "", *begin = strchr(tool, '(');
    strbuf_add(&name, tool, strcspn(tool, " (;"));
    if (begin && end && end > begin + 1 && end[-1] == ')')
        strbuf_add(&argument, begin + 1, (size_t)(end - begin - 2));
    agent_deny(notes, strbuf_text(&name), strbuf_text(&argument), NULL);
}

static void opencode_text(struct agent_notes *notes, const char *line, enum agent_stream from) {
    (void)from;
    if (agent_has(line, "permission requested") && agent_has(line, "auto-rejecting"))
        on_rejected(notes, line);
    else if (agent_has(line, "session not found"))
        notes->session_is_lost = true;
}

static void opencode_judge(struct agent_notes *notes, const struct agent_end *end) {
    agent_judge_exit(notes, end);
    if (notes->denial.count > 0)
        agent_mark(notes, AGENT_DENIED);
}

static const struct agent_output output = {
    JSON_WANTS(WANTS),     .each = opencode_each,   .handlers = handlers,
    .text = opencode_text, .judge = opencode_judge, .transcript = &transcript_opencode,
};

const struct agent_adapter agent_opencode = {
    .name = "opencode",
    .is_builtin = true,
    .login = "opencode auth login # log in once" LOGIN_OR_KEY(
        "its provider's key (ANTHROPIC_API_KEY=...)"),
    .preflight =
        &(const struct agent_preflight){
            .login_files = LIST(".local/share/opencode/auth.json"),
            .login_variables =
                LIST("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
            .settings = WORDS({ ".config/opencode/opencode.json", LIST("apiKey", "baseURL") },
                              { ".config/opencode/opencode.jsonc", LIST("apiKey", "baseURL") }),
            .login_elsewhere = true,
            .may = AGENT_MAY_AS_SET,
            .may_sandboxed = AGENT_MAY_AS_SET,
        },
    .mcp =
        &(const struct agent_mcp){
            .folder = ".config/opencode",
            .file = "opencode.json",
            .project_file = "opencode.json",
            .member = "mcp",
            .type = "local",
            .is_one_list = true,
            .may_have_comments = true,
        },
    .flags = LIST("--auto", "-c", "--continue", "--fork"),
    .stop_signal = "TERM",
    /* Without a title it asks its model for one, at a cost that it does not print. An empty title
     * is derived from the prompt. */
    .command = LIST("opencode", "run", "--format", "json", (AGENT_WORD_NEW "--title="),
                    AGENT_WORD_MODEL, AGENT_WORD_MORE, AGENT_WORD_SESSION),
    .resume = LIST("--session", AGENT_WORD_RESUME),
    .interactive = LIST("opencode", AGENT_WORD_MODEL, AGENT_WORD_MORE, AGENT_WORD_SESSION),
    .unattended = LIST("--format=", "--title=", "--command=", "--share",
                       "-f=", "--file=", "--attach=", "-p=", "--password=", "-u=", "--username=",
                       "--dir=", "--variant=", "--thinking", "-i", "--interactive"),
    .model_option = "--model",
    .allow_hint =
        "allow it under 'permission' in opencode.json, or everything with agents.A.args: [--auto]",
    .environment = LIST("OPENCODE_DISABLE_AUTOUPDATE=1"),
    /* Not the folder itself: it writes a file there at start, and exits if it cannot. */
    .paths = PATHS(READ(".config/opencode/opencode.json"), READ(".config/opencode/opencode.jsonc"),
                   READ(".config/opencode/config.json"), READ(".config/opencode/AGENTS.md"),
                   READ(".config/opencode/agent"), READ(".config/opencode/agents"),
                   READ(".config/opencode/command"), READ(".config/opencode/commands"),
                   READ(".config/opencode/mode"), READ(".config/opencode/modes"),
                   READ(".config/opencode/plugin"), READ(".config/opencode/plugins"),
                   READ(".config/opencode/skill"), READ(".config/opencode/skills"),
                   READ(".config/opencode/tool"), READ(".config/opencode/tools"),
                   READ(".config/opencode/package.json"), READ(".config/opencode/node_modules"),
                   WRITE(".local/share/opencode/auth.json"), KEEP(".local/share/opencode")),
    .output = &output,
};
