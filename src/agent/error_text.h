/* error_text.h: what the error of an agent means, told by its status and its sentence. Private to agent/.
 *
 * Agents pass on what their provider said; the same few sentences come through all of them. An adapter has a
 * table for the sentences of its own program; these count first. */
#pragma once

#include "agent/reader_internal.h"

struct error_phrase {
    const char *part; /* contained in the text, letters in any case; NULL ends the table */
    enum agent_result result;
};

/* Marks what the error is, or AGENT_FAILED when neither tells. `own`: the adapter's table, or NULL; `status`:
 * of the HTTP answer, -1: none. */
void error_text_mark(struct agent_seen *seen, const struct error_phrase *own, int64_t status,
                     const char *text);

/* Would waiting help? Limited, overloaded, or the connection broke. Marks nothing. */
bool error_text_is_passing(const struct error_phrase *own, int64_t status, const char *text);

/* The number behind `before` in the text ("status: " → 429); -1: there is none. */
int64_t error_text_status(const char *text, const char *before);

/* Notes the error as the message. Where the text is itself JSON with a message, that message. */
void error_text_note(struct agent_seen *seen, const char *text);
