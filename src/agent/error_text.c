/* error_text.c: what does this error mean for the account and for the task?
 *
 * The order is that of certainty. First what the agent's own program says, which was read in its source or
 * recorded. Then sentences that are more exact than a status: an account without money answers 429 like one
 * that must wait, and a prompt that is too long answers 400 like any other mistake. Then the status. Last,
 * sentences that come without one.
 *
 * Only errors are read this way, never what the model says: a model that writes about rate limits is not
 * limited. */
#include <ctype.h>
#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"

static const struct error_phrase before_status[] = {
    { "insufficient_quota", AGENT_BILLING },
    { "insufficient credit", AGENT_BILLING },
    { "credit balance is too low", AGENT_BILLING },
    { "out of credits", AGENT_BILLING },
    { "billing_not_configured", AGENT_BILLING },
    { "billing hard limit", AGENT_BILLING },
    { "payment required", AGENT_BILLING },
    { "context_length_exceeded", AGENT_CONTEXT_FULL },
    { "maximum context length", AGENT_CONTEXT_FULL },
    { "context window", AGENT_CONTEXT_FULL },
    { "prompt is too long", AGENT_CONTEXT_FULL },
    { "input token count", AGENT_CONTEXT_FULL },
    { "content_filter", AGENT_REFUSED },
    { "content_policy", AGENT_REFUSED },
    { "usage policy", AGENT_REFUSED },
    { NULL, AGENT_FAILED },
};

static const struct error_phrase after_status[] = {
    { "incorrect api key", AGENT_AUTH },
    { "invalid api key", AGENT_AUTH },
    { "api key not valid", AGENT_AUTH },
    { "invalid x-api-key", AGENT_AUTH },
    { "authentication failed", AGENT_AUTH },
    { "unauthorized", AGENT_AUTH },
    { "not logged in", AGENT_AUTH },
    { "rate limit", AGENT_LIMITED },
    { "rate_limit", AGENT_LIMITED },
    { "too many requests", AGENT_LIMITED },
    { "usage limit", AGENT_LIMITED },
    { "resource_exhausted", AGENT_LIMITED },
    { "exceeded your current quota", AGENT_LIMITED },
    { "overloaded", AGENT_OVERLOADED },
    { "at capacity", AGENT_OVERLOADED },
    { "internal server error", AGENT_OVERLOADED },
    { "bad gateway", AGENT_OVERLOADED },
    { "service unavailable", AGENT_OVERLOADED },
    { "gateway timeout", AGENT_OVERLOADED },
    { "fetch failed", AGENT_OVERLOADED },
    { "connection refused", AGENT_OVERLOADED },
    { "connection reset", AGENT_OVERLOADED },
    { "econnrefused", AGENT_OVERLOADED },
    { "econnreset", AGENT_OVERLOADED },
    { "etimedout", AGENT_OVERLOADED },
    { NULL, AGENT_FAILED },
};

static const struct error_phrase *phrase_find(const struct error_phrase *table, const char *text) {
    for (; table && table->part; table++)
        if (agent_has(text, table->part))
            return table;
    return NULL;
}

const struct error_phrase *error_phrase_named(const struct error_phrase *table,
                                              const struct json_value *name) {
    for (; table->part; table++)
        if (json_value_is(name, table->part))
            return table;
    return NULL;
}

void error_text_mark(struct agent_seen *seen, const struct error_phrase *own, int64_t status,
                     const char *text) {
    const struct error_phrase *found = phrase_find(own, text);
    if (!found)
        found = phrase_find(before_status, text);
    if (!found) {
        if (agent_mark_status(seen, status))
            return;
        /* Another status says that the provider did answer, and what: not that it cannot be reached. */
        found = status > 0 ? NULL : phrase_find(after_status, text);
    }
    agent_mark(seen, found ? found->result : AGENT_FAILED);
}

bool error_text_is_passing(const struct error_phrase *own, int64_t status, const char *text) {
    struct agent_seen probe = { 0 };
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
    struct agent_seen *seen;
    bool is_found;
};

static void inner_event(void *ctx, const struct json_value *values) {
    struct inner *inner = ctx;
    for (size_t i = 0; i < ARRAY_SIZE(inner_wants) && !inner->is_found; i++)
        if (json_value_has_text(&values[i])) {
            agent_set_message(inner->seen, values[i].text);
            inner->is_found = true;
        }
}

void error_text_note(struct agent_seen *seen, const char *text) {
    struct inner inner = { .seen = seen };
    if (text[0] == '{') {
        struct json_scan *scan =
            json_scan_new(inner_wants, ARRAY_SIZE(inner_wants),
                          &(struct json_scan_calls){ .event = inner_event, .ctx = &inner });
        json_scan_feed(scan, text, strlen(text));
        json_scan_end(scan);
        json_scan_free(scan);
    }
    if (!inner.is_found)
        agent_set_message(seen, text);
}
