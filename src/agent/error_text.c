/* error_text.c: classifies errors by their effect on the account and the task.
 *
 * Most reliable sources first. First texts of the agent's own program, taken from its source or
 * from recordings. Then texts that are more specific than a status: an account without money gets
 * 429 like one that must wait, and a prompt that is too long 400 like any other mistake. Then the
 * status. Last, texts that come without a status.
 *
 * Only errors are classified, never the model's messages: a model that writes about rate limits is
 * not limited. */
#include <ctype.h>
#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"

static const struct error_phrase before_status[] = {
    { AGENT_BILLING,
      LIST("insufficient_quota", "insufficient credit", "credit balance is too low",
           "out of credits", "billing_not_configured", "billing hard limit", "payment required") },
    { AGENT_CONTEXT_FULL, LIST("context_length_exceeded", "maximum context length",
                               "context window", "prompt is too long", "input token count") },
    { AGENT_REFUSED, LIST("content_filter", "content_policy", "usage policy") },
    { 0 },
};

static const struct error_phrase after_status[] = {
    { AGENT_AUTH,
      LIST("incorrect api key", "invalid api key", "api key not valid", "invalid x-api-key",
           "authentication failed", "unauthorized", "not logged in") },
    { AGENT_LIMITED, LIST("rate limit", "rate_limit", "too many requests", "usage limit",
                          "resource_exhausted", "exceeded your current quota") },
    { AGENT_OVERLOADED,
      LIST("overloaded", "at capacity", "internal server error", "bad gateway",
           "service unavailable", "gateway timeout", "fetch failed", "connection refused",
           "connection reset", "econnrefused", "econnreset", "etimedout") },
    { 0 },
};

static const struct error_phrase *phrase_find(const struct error_phrase *table, const char *text) {
    for (; table && table->parts; table++)
        if (agent_has_any(text, table->parts))
            return table;
    return NULL;
}

const struct error_phrase *error_phrase_named(const struct error_phrase *table,
                                              const struct json_value *name) {
    for (; table->parts; table++)
        for (const char *const *part = table->parts; *part; part++)
            if (json_value_is(name, *part))
                return table;
    return NULL;
}

/* The kind of a provider's answer; AGENT_OK: the status says nothing more. */
static enum agent_result result_of_status(int64_t status) {
    static const struct {
        int64_t from, to;
        enum agent_result result;
    } rows[] = {
        { 401, 401, AGENT_AUTH },         { 402, 402, AGENT_BILLING },
        { 403, 403, AGENT_AUTH },         { 408, 408, AGENT_OVERLOADED },
        { 413, 413, AGENT_CONTEXT_FULL }, { 429, 429, AGENT_LIMITED },
        { 500, 599, AGENT_OVERLOADED },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (status >= rows[i].from && status <= rows[i].to)
            return rows[i].result;
    return AGENT_OK;
}

void error_text_mark(struct agent_notes *notes, const struct error_phrase *own, int64_t status,
                     const char *text) {
    const struct error_phrase *found = phrase_find(own, text);
    if (!found)
        found = phrase_find(before_status, text);
    enum agent_result result = found ? found->result : result_of_status(status);
    /* Any other status means that the provider answered, so it can be reached. */
    if (result == AGENT_OK && status <= 0 && (found = phrase_find(after_status, text)))
        result = found->result;
    agent_mark(notes, result == AGENT_OK ? AGENT_FAILED : result);
}

bool error_text_is_passing(const struct error_phrase *own, int64_t status, const char *text) {
    struct agent_notes probe = { 0 };
    error_text_mark(&probe, own, status, text);
    return (probe.marks & (1u << AGENT_LIMITED | 1u << AGENT_OVERLOADED)) != 0;
}

int64_t error_text_status(const char *text, const char *before) {
    const char *found = strstr(text, before);
    if (!found)
        return -1;
    const char *digits = found + strlen(before);
    int64_t status = 0;
    unsigned count = 0;
    for (; count < 4 && isdigit((unsigned char)digits[count]); count++)
        status = status * 10 + (digits[count] - '0');
    return count == 3 ? status : -1;
}

static const struct json_want inner_wants[] = { { "error/message", 512 }, { "message", 512 } };

struct inner {
    struct agent_notes *notes;
    bool is_found;
};

static void inner_event(void *ctx, const struct json_value *values) {
    struct inner *inner = ctx;
    for (size_t i = 0; i < ARRAY_SIZE(inner_wants) && !inner->is_found; i++)
        if (json_value_has_text(&values[i])) {
            agent_set_message(inner->notes, values[i].text);
            inner->is_found = true;
        }
}

void error_text_note(struct agent_notes *notes, const char *text) {
    struct inner inner = { .notes = notes };
    if (text[0] == '{') {
        struct json_scan *scan =
            json_scan_new(inner_wants, ARRAY_SIZE(inner_wants),
                          &(struct json_scan_calls){ .event = inner_event, .ctx = &inner });
        json_scan_feed(scan, text, strlen(text));
        json_scan_end(scan);
        json_scan_free(scan);
    }
    if (!inner.is_found)
        agent_set_message(notes, text);
    notes->message_is_error = true;
}
