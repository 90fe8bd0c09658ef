/* safe_text.h: makes output of agents safe for a terminal.
 *
 * Agents and the files they read write into logs and titles. A terminal executes what it receives:
 * escape sequences can change its title, type commands, hide or forge lines. So all external text
 * goes through here before it is shown.
 *
 *   struct sanitizer s = SANITIZER_INIT; sanitizer_feed(&s, piece, …) …; sanitizer_finish(&s, out)
 *
 * Removed: escape sequences (complete ESC, CSI, OSC, DCS, SOS, PM, APC), C0 except tab and newline,
 * DEL, C1 as bytes and as UTF-8, and the other controls of utf8.h. Invalid UTF-8 becomes U+FFFD.
 * The output is valid UTF-8 without any of these, however the input is split. A newline is always
 * kept and ends every sequence, so an unterminated one hides no more than its own line, and a log
 * can be read from any line. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum sanitizer_state {
    SANITIZER_TEXT,
    SANITIZER_ESCAPE,       /* after ESC */
    SANITIZER_INTERMEDIATE, /* ESC and then one or more of 0x20 … 0x2f */
    SANITIZER_CSI,          /* parameters, until a letter */
    SANITIZER_STRING,       /* OSC, DCS, SOS, PM, APC: until ST or BEL */
};

struct sanitizer {
    enum sanitizer_state state;
    unsigned char pending[4]; /* incomplete character */
    unsigned pending_count;
    unsigned wanted; /* bytes of that character */
};

#define SANITIZER_INIT                                                                             \
    { 0 }

/* Appends the finished part to `out`. */
void sanitizer_feed(struct sanitizer *s, const char *bytes, size_t size, struct strbuf *out);
/* Flushes an unfinished character or sequence, and resets the sanitizer. */
void sanitizer_finish(struct sanitizer *s, struct strbuf *out);

/* A complete text on one line (a title, a name, a message): same, tabs and newlines become
 * blanks. */
void sanitize_line(const char *text, struct strbuf *out);
