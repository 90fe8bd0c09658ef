/* transcript.h: what an agent says and does, as text for people, while it prints it.
 *
 *     struct transcript *t = transcript_new(adapter, TRANSCRIPT_PLAIN);
 *     transcript_feed(t, bytes, size, &out); … transcript_end(t, &out); transcript_free(t);
 *
 * Input:   the standard output of the agent: events in JSON, one per line, and lines of text. Cut anywhere: only the
 *          bytes matter, not the pieces.
 * Output:  what the agent says, in full;  "> Bash: make test" for each tool call, with its main argument;  the first
 *          lines of its result, indented;  "[…]" for what happened around it (session, retries, limits, the end).
 *          Lines that are not JSON come through. Events that say nothing to people are left out; an object that is no
 *          event of this agent, and a line that is broken, are shown as they are, up to a few kilobytes.
 * Safe:    the output is valid UTF-8 without control characters, escape sequences and marks of direction
 *          (base/safe_text.h), whatever the input is; only with TRANSCRIPT_COLOUR it has colours, all of its own.
 * Memory:  bounded, whatever the input is: a text of more than 64 KB is cut, and says so.
 *
 * One renderer per family of agents, in transcript_NAME.c: struct agent_adapter names it. */
#pragma once

#include "agent/agent.h"

#define TRANSCRIPT_LINE_MAX 500 /* bytes of transcript_last_line */

enum transcript_look {
    TRANSCRIPT_PLAIN,
    TRANSCRIPT_COLOUR,
    TRANSCRIPT_BRIEF, /* for transcript_last_line alone: a few kilobytes of memory, texts are cut */
};

struct transcript;
/* NULL: what this agent prints is text already. */
struct transcript *transcript_new(const struct agent_adapter *adapter, enum transcript_look look);
struct transcript *transcript_free(struct transcript *t); /* accepts NULL */
void transcript_feed(struct transcript *t, const char *bytes, size_t size, struct strbuf *out);
/* The end of the output, and a last line without its newline. The transcript is as new. */
void transcript_end(struct transcript *t, struct strbuf *out);
/* The input went on somewhere else, behind a gap: like the end, but the gap may be inside a line, whose rest is left
 * out. */
void transcript_skip(struct transcript *t, struct strbuf *out);
/* The last line that says anything, without colours and indentation; "": none yet. */
const char *transcript_last_line(const struct transcript *t);
