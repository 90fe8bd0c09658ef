/* codex.c: adapter for `codex exec --json`.
 *
 * Only turn.completed and turn.failed are final messages. An `error` event is not: each attempt to
 * reach the provider prints one, and a successful turn may follow. An item of type `error` is a
 * warning.
 *
 * Failures are phrases from its source (protocol/src/error.rs), with either apostrophe. A plan
 * limit has a local time: "try again at 4:31 AM", on another day "Nov 18th, 2026 4:31 AM".
 *
 * The tokens of turn.completed cover the thread, also after a resume; input_tokens includes cached
 * tokens and output_tokens reasoning. There is no cost. A turn that fails or is stopped has no
 * tokens. Subagents are threads of their own, which may start others; none of its numbers include
 * them. The file of a thread (rollout) has the tokens after each call, and the model, which the
 * output lacks, and how much of the account's windows is used.
 *
 * It hangs while its standard input is open, so the prompt goes there and it is closed. SIGTERM
 * would leave its tools running; SIGINT does not. */
#include <string.h>

#include "agent/reader_internal.h"

#define LIMITS     "payload/rate_limits/"
#define FILE_TOTAL "payload/info/total_token_usage/"
#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 32)                                                                         \
    WANT(THREAD, "thread_id", 128)                                                                 \
    WANT(MESSAGE, "message", 512)                                                                  \
    WANT(ERROR_MESSAGE, "error/message", 512)                                                      \
    WANT(ITEM_TYPE, "item/type", 32)                                                               \
    WANT(ITEM_TEXT, "item/text", 512)                                                              \
    WANT(TOKENS_IN, "usage/input_tokens", 32)                                                      \
    WANT(TOKENS_OUT, "usage/output_tokens", 32)                                                    \
    WANT(TOKENS_CACHED, "usage/cached_input_tokens", 32)                                           \
    WANT(ITEM_TOOL, "item/tool", 32)                                                               \
    WANT(ITEM_THREADS, "item/receiver_thread_ids/*", 64)                                           \
    WANT(FILE_TYPE, "payload/type", 32)                                                            \
    WANT(FILE_TOOL, "payload/item/tool", 32)                                                       \
    WANT(FILE_THREADS, "payload/item/receiver_thread_ids/*", 64)                                   \
    WANT(FILE_MODEL, "payload/model", 128)                                                         \
    WANT(FILE_IN, FILE_TOTAL "input_tokens", 32)                                                   \
    WANT(FILE_OUT, FILE_TOTAL "output_tokens", 32)                                                 \
    WANT(FILE_CACHED, FILE_TOTAL "cached_input_tokens", 32)                                        \
    WANT(FILE_TIME, "timestamp", 32)                                                               \
    WANT(LIMIT_ID, LIMITS "limit_id", 32)                                                          \
    WANT(FIRST_USED, LIMITS "primary/used_percent", 32)                                            \
    WANT(FIRST_MINUTES, LIMITS "primary/window_minutes", 32)                                       \
    WANT(FIRST_RESET, LIMITS "primary/resets_at", 32)                                              \
    WANT(FIRST_LEFT, LIMITS "primary/resets_in_seconds", 32)                                       \
    WANT(SECOND_USED, LIMITS "secondary/used_percent", 32)                                         \
    WANT(SECOND_MINUTES, LIMITS "secondary/window_minutes", 32)                                    \
    WANT(SECOND_RESET, LIMITS "secondary/resets_at", 32)                                           \
    WANT(SECOND_LEFT, LIMITS "secondary/resets_in_seconds", 32)
enum want { WANTS(JSON_WANT_NAME) };

static const struct error_phrase phrases[] = {
    { AGENT_LIMITED, LIST("hit your usage limit") },
    { AGENT_BILLING, LIST("quota exceeded. check your plan", "workspace is out of credits",
                          "hit your spend cap", "to use codex with your chatgpt plan, upgrade") },
    { AGENT_CONTEXT_FULL, LIST("ran out of room in the model") },
    { AGENT_REFUSED, LIST("reason: content_filter", "flagged for possible cybersecurity risk") },
    { AGENT_CANCELED, LIST("turn aborted", "interrupted (ctrl-c)") },
    { AGENT_BUDGET, LIST("session budget") },
    { AGENT_OVERLOADED, LIST("model is at capacity", "experiencing high demand",
                             "stream disconnected before completion", "request timed out",
                             "connection failed: ", "error while reading the server response") },
    { AGENT_AUTH,
      LIST("missing environment variable", "refresh token", "log out and sign in again") },
    { 0 },
};

struct state {
    bool is_prose; /* error output is prose, as without --json */
};
DEFINE_STATE(struct state)

/* "last status: 429 Too Many Requests", "unexpected status 401 Unauthorized: …" */
static int64_t status_of(const char *text) {
    int64_t status = error_text_status(text, "last status: ");
    return status > 0 ? status : error_text_status(text, "unexpected status ");
}

static void on_thread_started(struct agent_notes *notes, const struct json_value *values) {
    agent_set_session(notes, &values[THREAD]);
}

static void on_turn_started(struct agent_notes *notes, const struct json_value *values) {
    (void)values;
    notes->has_ended = false;
    notes->is_short = true;
    notes->marks = 0;
}

static void on_item(struct agent_notes *notes, const struct json_value *values) {
    if (json_value_is(&values[ITEM_TYPE], "error"))
        return;
    notes->is_waiting = false;
    if (json_value_is(&values[ITEM_TOOL], "spawn_agent"))
        agent_add_other(notes, &values[ITEM_THREADS]);
    if (json_value_is(&values[ITEM_TYPE], "agent_message")
        && json_value_has_text(&values[ITEM_TEXT])) {
        agent_set_message(notes, values[ITEM_TEXT].text);
        notes->message_is_error = false;
    }
}

static void on_error(struct agent_notes *notes, const struct json_value *values) {
    const char *text = values[MESSAGE].text;
    if (!json_value_has_text(&values[MESSAGE]))
        return;
    error_text_note(notes, text);
    notes->is_waiting = strncmp(text, "Reconnecting", strlen("Reconnecting")) == 0
                        && error_text_is_passing(phrases, status_of(text), text);
}

static void on_turn_completed(struct agent_notes *notes, const struct json_value *values) {
    struct agent_usage total = agent_tokens(&values[TOKENS_IN]);
    usage_count_total(&notes->count, agent_session(notes), &total);
    notes->is_short = total.in < 0 || total.out < 0;
    agent_set_ended(notes);
    agent_recover(notes); /* from an error of an earlier attempt */
}

static void on_turn_failed(struct agent_notes *notes, const struct json_value *values) {
    const char *text = values[ERROR_MESSAGE].text;
    error_text_note(notes, text);
    agent_set_ended(notes);
    error_text_mark(notes, phrases, status_of(text), text);
}

static const struct agent_handler handlers[] = {
    { "thread.started", on_thread_started },
    { "turn.started", on_turn_started },
    { "item.started", on_item },
    { "item.updated", on_item },
    { "item.completed", on_item },
    { "error", on_error },
    { "turn.completed", on_turn_completed },
    { "turn.failed", on_turn_failed },
    { NULL, NULL },
};

/* Windows are recognized by their length: on some plans the first one is the weekly window. Old
 * versions report how many seconds are left at the time of the line. */
static void set_quota(struct agent_notes *notes, const struct json_value *values,
                      const struct json_value window[4]) {
    int64_t minutes = json_value_count(&window[1]), left = json_value_count(&window[3]);
    int64_t at = json_value_count(&window[2]);
    bool is_five_hour = minutes >= 295 && minutes <= 305;
    bool is_weekly = minutes >= 10070 && minutes <= 10090;
    time_ms written_at;
    if (window[0].kind != SCAN_NUMBER || (!is_five_hour && !is_weekly))
        return;
    if (at <= 0 && left >= 0 && left <= INT32_MAX
        && reset_time_iso(values[FILE_TIME].text, &written_at))
        at = written_at / 1000 + left;
    agent_set_quota(notes, is_weekly ? AGENT_WINDOW_WEEKLY : AGENT_WINDOW_FIVE_HOUR,
                    window[0].micro / 100000, at);
}

/* Limits with another id are those of a single model, and are ignored. */
static void set_quotas(struct agent_notes *notes, const struct json_value *values) {
    if (json_value_has_text(&values[LIMIT_ID]) && !json_value_is(&values[LIMIT_ID], "codex"))
        return;
    set_quota(notes, values, &values[FIRST_USED]);
    set_quota(notes, values, &values[SECOND_USED]);
}

/* Totals only grow, so the last one in the file counts. */
static void on_session_file(struct agent_notes *notes, const struct json_value *values) {
    bool is_own = strcmp(notes->file_session, agent_session(notes)) == 0;
    struct agent_usage total = agent_tokens(&values[FILE_IN]);
    if (is_own && json_value_is(&values[TYPE], "turn_context"))
        agent_set_model(notes, &values[FILE_MODEL]);
    /* Its own file also lists subagents of earlier runs; the output names those of this run. */
    if (!is_own && json_value_is(&values[FILE_TOOL], "spawn_agent"))
        agent_add_other(notes, &values[FILE_THREADS]);
    if (!json_value_is(&values[FILE_TYPE], "token_count"))
        return;
    set_quotas(notes, values);
    if (total.in < 0)
        return;
    if (usage_count_file(&notes->count, notes->file_session, &total) && is_own && notes->has_ended)
        notes->is_short = false;
}

/* Without --json its answer is text, and the error output has everything: a banner, the
 * conversation, and "ERROR: " before what went wrong. */
static void codex_text(struct agent_notes *notes, const char *line, enum agent_stream from) {
    static const char *const lost[] = { "no rollout found", "no thread with id", NULL };
    struct state *state = state_of(notes);
    if (from == AGENT_STREAM_OUT) {
        if (!notes->has_event)
            agent_set_message(notes, line);
        return;
    }
    if (agent_has_any(line, lost))
        notes->session_is_lost = true;
    if (strncmp(line, "OpenAI Codex v", strlen("OpenAI Codex v")) == 0)
        state->is_prose = true;
    if (state->is_prose && strncmp(line, "ERROR: ", strlen("ERROR: ")) == 0)
        error_text_note(notes, line + strlen("ERROR: "));
    if (state->is_prose)
        notes->last_error[0] = '\0';
}

static void codex_judge(struct agent_notes *notes, const struct agent_end *end) {
    static const char *const uninformative[] = {
        "Reading additional input from stdin",
        "Reading prompt from stdin",
        "could not create PATH aliases",
        NULL,
    };
    if (agent_end_is_failure(end) && state_of(notes)->is_prose && notes->message_is_error
        && !notes->has_event) {
        notes->has_ended = true;
        error_text_mark(notes, phrases, status_of(notes->message), notes->message);
    }
    agent_judge_exit(notes, end);
    if ((notes->has_ended || notes->message[0]) && agent_has_any(notes->last_error, uninformative))
        notes->last_error[0] = '\0';
}

static const struct agent_output output = {
    JSON_WANTS(WANTS),
    .handlers = handlers,
    .objects = { [AGENT_STREAM_SESSION] = on_session_file },
    .text = codex_text,
    .judge = codex_judge,
    .transcript = &transcript_codex,
};

const struct agent_adapter agent_codex = {
    .name = "codex",
    .is_builtin = true,
    .provider = "openai",
    .login = "codex login # log in once" LOGIN_OR_KEY("CODEX_API_KEY=..."),
    .preflight =
        &(const struct agent_preflight){
            .login_files = LIST(".codex/auth.json"),
            .login_variables = LIST("CODEX_API_KEY"),
            .settings =
                WORDS({ ".codex/config.toml", LIST("experimental_bearer_token", "env_key") }),
            .may = AGENT_MAY_WORK,
            .may_sandboxed = AGENT_MAY_WORK,
        },
    .mcp =
        &(const struct agent_mcp){
            .variable = "CODEX_HOME",
            .folder = ".codex",
            .file = "config.toml",
        },
    .flags = LIST("--json", "--skip-git-repo-check", "--full-auto",
                  "--dangerously-bypass-approvals-and-sandbox"),
    .stop_signal = "INT",
    /* Options go before `resume`, where those of both commands are accepted. */
    .command = LIST("codex", "exec", "--json", "--skip-git-repo-check", AGENT_WORD_USUAL,
                    AGENT_WORD_MODEL, AGENT_WORD_MORE, AGENT_WORD_SESSION, "-"),
    .resume = LIST("resume", AGENT_WORD_RESUME),
    /* Its shared server would run outside the sandbox, and keep the session open afterwards. */
    .interactive = LIST("codex", "--no-daemon", AGENT_WORD_USUAL, AGENT_WORD_MODEL, AGENT_WORD_MORE,
                        AGENT_WORD_SESSION),
    .unattended = LIST("--json", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config",
                       "--ignore-rules", "--output-schema=", "--color=", "-o=",
                       "--output-last-message=", "--thread-source=", "--cyber-access-program="),
    .usual = LIST("--sandbox", "workspace-write"),
    .instead = LIST("--sandbox", "-s", "--full-auto", "--dangerously-bypass-approvals-and-sandbox"),
    .model_option = "--model",
    .paths = PATHS(READ(".codex/config.toml"), READ(".codex/AGENTS.md"),
                   READ(".codex/AGENTS.override.md"), READ(".codex/hooks.json"),
                   READ(".codex/prompts"), READ(".codex/rules"), READ(".codex/skills"),
                   WRITE(".codex/auth.json"), KEEP(".codex/sessions")),
    .session_file = &(const struct agent_path){ ".codex/sessions/*/*/*/rollout-*-{session}.jsonl",
                                                AGENT_PATH_READ },
    .usual_boxed = LIST("--sandbox", "danger-full-access"),
    .settings_variable = "CODEX_HOME",
    .settings_folder = ".codex",
    .output = &output,
};
