/* claude_usage.c: which of the numbers that Claude Code prints are what a run has used?
 *
 * `usage` of a result is of its turn, and leaves out subagents and a call after which a budget ended the run. `modelUsage` and
 * total_cost_usd have everything: of this process up to 2.1.2xx; of the session, also after a resume, from 2.1.3xx on, by the
 * version that the init event tells; without one (mode `json`) by result_index, which came with it.
 * `model_usage_since_last_result` is the exact share of a result, and only in stream-json.
 *
 * A message tells what was sent when it began, once for each of its blocks, with the same id. That counts until a result does. What
 * was received is not known before. A run that SIGTERM ends prints no result, but writes its totals to the transcript of its session
 * (`cost-state`); one that SIGKILL ends does not. */
#include <stdlib.h>
#include <string.h>

#include "agent/claude_internal.h"
#include "base/hash.h"
#include "base/macros.h"

#define TOTAL_OF_SESSION_SINCE version_of(2, 1, 300)

#define ALL          "modelUsage/*/"
#define SHARE        "model_usage_since_last_result/*/"
#define DENIED_INPUT "permission_denials/*/tool_input/"
const struct json_want claude_wants[CLAUDE_WANTS] = {
    [TYPE] = { "type", 32 },
    [SUBTYPE] = { "subtype", 48 },
    [SESSION] = { "session_id", 128 },
    [MODEL] = { "model", 128 },
    [VERSION] = { "claude_code_version", 32 },
    [IS_ERROR] = { "is_error", 2 },
    [TERMINAL_REASON] = { "terminal_reason", 48 },
    [STOP_REASON] = { "stop_reason", 48 },
    [API_STATUS] = { "api_error_status", 32 },
    [API_ERROR] = { "api_error", 48 },
    [ERROR] = { "error", 48 },
    [RETRY_STATUS] = { "error_status", 32 },
    [RESULT] = { "result", 1024 },
    [RESULT_ID] = { "uuid", 64 },
    [RESULT_INDEX] = { "result_index", 32 },
    [ERRORS] = { "errors/*", 512 },
    [COST] = { "total_cost_usd", 32 },
    [TURN_NEW] = { "usage/input_tokens", 32 },
    [TURN_CACHE_MADE] = { "usage/cache_creation_input_tokens", 32 },
    [TURN_CACHE_READ] = { "usage/cache_read_input_tokens", 32 },
    [TURN_OUT] = { "usage/output_tokens", 32 },
    [MODEL_USAGE] = { "modelUsage", 128 },
    [ALL_NEW] = { ALL "inputTokens", 32 },
    [ALL_CACHE_MADE] = { ALL "cacheCreationInputTokens", 32 },
    [ALL_CACHE_READ] = { ALL "cacheReadInputTokens", 32 },
    [ALL_OUT] = { ALL "outputTokens", 32 },
    [ALL_COST] = { ALL "costUSD", 32 },
    [SINCE] = { "model_usage_since_last_result", 2 },
    [SINCE_NEW] = { SHARE "inputTokens", 32 },
    [SINCE_CACHE_MADE] = { SHARE "cacheCreationInputTokens", 32 },
    [SINCE_CACHE_READ] = { SHARE "cacheReadInputTokens", 32 },
    [SINCE_OUT] = { SHARE "outputTokens", 32 },
    [SINCE_COST] = { SHARE "costUSD", 32 },
    [MESSAGE_ID] = { "message/id", 64 },
    [MESSAGE_NEW] = { "message/usage/input_tokens", 32 },
    [MESSAGE_CACHE_MADE] = { "message/usage/cache_creation_input_tokens", 32 },
    [MESSAGE_CACHE_READ] = { "message/usage/cache_read_input_tokens", 32 },
    [DENIALS] = { "permission_denials", 2 },
    [DENIED_TOOL] = { "permission_denials/*/tool_name", 64 },
    [DENIED_COMMAND] = { DENIED_INPUT "command", 256 },
    [DENIED_FILE] = { DENIED_INPUT "file_path", 256 },
    [DENIED_URL] = { DENIED_INPUT "url", 256 },
    [DENIED_QUERY] = { DENIED_INPUT "query", 256 },
    [LIMIT_STATUS] = { "rate_limit_info/status", 32 },
    [LIMIT_RESET] = { "rate_limit_info/resetsAt", 32 },
    [PARAMS_RESET] = { "api_error_params/rate_limit_info/resetsAt", 32 },
    [MESSAGE_TEXT] = { "message/content/*/text", 1024 },
    [PARENT_TOOL] = { "parent_tool_use_id", 64 },
    [STATE_SESSION] = { "sessionId", 128 },
    [STATE_COST] = { "totalCostUSD", 32 },
};

/* --- versions ------------------------------------------------------------------------------------ */

static int64_t version_of(int64_t major, int64_t minor, int64_t patch) {
    return (major * 100000 + minor) * 100000 + patch;
}

/* Of "2.1.325"; -1: it is no version. */
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

void claude_count_version(struct agent_seen *seen, const struct json_value *values) {
    int64_t version =
        json_value_has_text(&values[VERSION]) ? version_parse(values[VERSION].text) : -1;
    if (version <= 0)
        return;
    claude_notes(seen)->has_version = true;
    claude_notes(seen)->is_of_session = version >= TOTAL_OF_SESSION_SINCE;
}

/* --- numbers ------------------------------------------------------------------------------------- */

/* The four paths from `first` on are in the order of enum claude_want. */
static struct agent_usage tokens_at(const struct json_value *values, enum claude_want first) {
    struct agent_usage used = { -1, json_value_sum(&values[first + 3]),
                                json_value_sum(&values[first + 2]), -1 };
    agent_add_count(&used.in, json_value_sum(&values[first]));
    agent_add_count(&used.in, json_value_sum(&values[first + 1]));
    agent_add_count(&used.in, used.cached);
    return used;
}

/* Of an object with one member for each model. One without any is told, and nothing was used. */
static bool models_at(const struct json_value *values, enum claude_want object,
                      struct agent_usage *ret) {
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

/* --- messages ------------------------------------------------------------------------------------ */

/* False: it came before. */
static bool is_new_message(struct claude_notes *notes, uint64_t key) {
    size_t kept = notes->message_count < CLAUDE_MESSAGES ? notes->message_count : CLAUDE_MESSAGES;
    for (size_t i = 0; i < kept; i++)
        if (notes->messages[i] == key)
            return false;
    notes->messages[notes->message_count++ % CLAUDE_MESSAGES] = key;
    return true;
}

void claude_count_message(struct agent_seen *seen, const struct json_value *values) {
    const struct json_value *id = &values[MESSAGE_ID];
    struct agent_usage begun = tokens_at(values, MESSAGE_NEW);
    begun.out = -1;
    if (begun.in <= 0 || !json_value_has_text(id))
        return; /* one that the program has written itself */
    uint64_t key = hash_mix(hash_bytes(seen->session, strlen(seen->session)),
                            hash_bytes(id->text, id->length));
    if (!is_new_message(claude_notes(seen), key))
        return;
    seen->is_short = true;
    usage_count_begun(&seen->count, agent_session(seen), &begun);
}

/* --- results ------------------------------------------------------------------------------------- */

/* Do these totals go on where the last ones of the process were? They have at least this turn's tokens more. */
static bool goes_on(const struct agent_usage *before, const struct agent_usage *now,
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

/* From totals of a process: another one of the same session begins at zero. */
static struct agent_usage share_of_process(struct agent_seen *seen, const struct agent_usage *now,
                                           const struct agent_usage *turn) {
    struct claude_notes *notes = claude_notes(seen);
    uint64_t session = hash_bytes(seen->session, strlen(seen->session));
    struct agent_usage before = notes->process, share = *now;
    if (notes->process_session == session && goes_on(&before, now, turn)) {
        share.in = difference(now->in, before.in);
        share.out = difference(now->out, before.out);
        share.cached = difference(now->cached, before.cached);
        share.cost_micro_usd = difference(now->cost_micro_usd, before.cost_micro_usd);
    }
    notes->process = *now;
    notes->process_session = session;
    return share;
}

static void fill(struct agent_usage *share, const struct agent_usage *turn) {
    if (share->in < 0)
        share->in = turn->in;
    if (share->out < 0)
        share->out = turn->out;
    if (share->cached < 0)
        share->cached = turn->cached;
}

void claude_count_result(struct agent_seen *seen, const struct json_value *values) {
    struct claude_notes *notes = claude_notes(seen);
    struct agent_usage turn = tokens_at(values, TURN_NEW), all, share;
    bool has_share = models_at(values, SINCE, &share);
    if (!usage_count_is_new(&seen->count, agent_session(seen), values[RESULT_ID].text))
        return;
    (void)models_at(values, MODEL_USAGE, &all);
    if (json_value_sum_micro(&values[COST]) >= 0)
        all.cost_micro_usd = json_value_sum_micro(&values[COST]);
    if (!notes->has_version)
        notes->is_of_session = values[RESULT_INDEX].kind == SCAN_NUMBER;
    if (!has_share && !notes->is_of_session)
        share = share_of_process(seen, &all, &turn);
    fill(&share, &turn);
    usage_count_share(&seen->count, agent_session(seen), &share, has_share);
    if (notes->is_of_session)
        usage_count_total(&seen->count, agent_session(seen), &all);
    seen->is_short = share.in < 0 || share.out < 0;
}

/* --- the transcript ------------------------------------------------------------------------------ */

/* Of a session that others have begun the total has what they have used. */
void claude_count_state(struct agent_seen *seen, const struct json_value *values) {
    struct agent_usage total;
    if (!json_value_is(&values[STATE_SESSION], seen->file_session)
        || !usage_count_knows_before(&seen->count, seen->file_session)
        || !models_at(values, MODEL_USAGE, &total))
        return;
    if (json_value_sum_micro(&values[STATE_COST]) >= 0)
        total.cost_micro_usd = json_value_sum_micro(&values[STATE_COST]);
    if (usage_count_file(&seen->count, seen->file_session, &total))
        seen->is_short = false;
}
