/* transcript.h: renders the output of an agent as text for people, while it runs.
 *
 *     struct transcript *t = transcript_new(adapter, TRANSCRIPT_PLAIN);
 *     transcript_feed(t, bytes, size, &out); … transcript_end(t, &out); transcript_free(t);
 *
 * Input:   the agent's standard output: JSON events, one per line, and text lines, split anywhere.
 * Output:  the agent's messages in full; "> Bash: make test" for each tool call, with its main
 *          argument; the first lines of its result, indented; "[…]" for session, retries, limits
 *          and end. Lines that are not JSON pass through. Events without content are omitted;
 *          unknown objects and broken lines are shown as they are, up to a few kilobytes.
 * Safe:    the output is always valid UTF-8 without control characters, escape sequences and
 *          direction marks (base/safe_text.h); only TRANSCRIPT_COLOUR adds its own colors.
 * Memory:  bounded: a text of more than 64 KB is cut, with a notice.
 *
 * Entries: TRANSCRIPT_ENTRIES prints one JSON object per line instead, for programs that show a
 *          conversation: `kind` is say, think, prompt, call, result, note or text (a line that is
 *          no event), and `text` is what it says. A call has `tool`, its main argument as `text`,
 *          and all arguments; a result has the `id` of its call if the agent gives one. `cut`: the
 *          text is longer. `failed`, `nested` (of a subagent), and `continues` (the previous entry)
 *          are there if they are true. Results and thoughts are longer than in text.
 *
 * One renderer per family of agents, in transcript_NAME.c, set in struct agent_adapter. */
#pragma once

#include "agent/agent.h"

#define TRANSCRIPT_LINE_MAX 500 /* bytes of transcript_last_line */

enum transcript_layout {
    TRANSCRIPT_PLAIN,
    TRANSCRIPT_COLOUR,
    TRANSCRIPT_ENTRIES,
    TRANSCRIPT_BRIEF, /* only for transcript_last_line: a few kilobytes of memory, texts are cut */
};

struct transcript;
/* NULL: the agent's output is text already. */
struct transcript *transcript_new(const struct agent_adapter *adapter, enum transcript_layout look);
struct transcript *transcript_free(struct transcript *t); /* accepts NULL */
void transcript_feed(struct transcript *t, const char *bytes, size_t size, struct strbuf *out);
/* Ends the output, including a last line without a newline, and resets the transcript. */
void transcript_end(struct transcript *t, struct strbuf *out);
/* The input continues after a gap: like transcript_end, but drops the rest of a cut line. */
void transcript_skip(struct transcript *t, struct strbuf *out);
/* The last line with content, without colors and indentation; "": none yet. */
const char *transcript_last_line(const struct transcript *t);
