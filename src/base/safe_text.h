/* safe_text.h: what an agent wrote, made safe for a terminal.
 *
 * Agents and the files they read write into logs and titles. A terminal obeys what it is sent: it
 * can be made to change its title, to type commands, to hide or forge lines. So everything from
 * outside goes through here before it is shown.
 *
 *   struct sanitizer s = SANITIZER_INIT; sanitizer_feed(&s, piece, …) …; sanitizer_finish(&s, out)
 *
 * Taken out: escape sequences (ESC, CSI, OSC, DCS, SOS, PM, APC with what belongs to them), C0
 * except tab and newline, DEL, C1 as bytes and as UTF-8, and the other controls of utf8.h. Bytes
 * that are no UTF-8 become U+FFFD. Promises: the output is valid UTF-8 without any of these. The
 * pieces do not matter, only the bytes. A newline always comes through and ends every sequence, so
 * one that is never closed hides no more than its own line, and a log can be begun at any line. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum sanitizer_state {
    SANITIZER_TEXT,
    SANITIZER_ESCAPE,       /* behind ESC */
    SANITIZER_INTERMEDIATE, /* ESC and then one or more of 0x20 … 0x2f */
    SANITIZER_CSI,          /* parameters, until a letter */
    SANITIZER_STRING,       /* OSC, DCS, SOS, PM, APC: until ST or BEL */
};

struct sanitizer {
    enum sanitizer_state state;
    unsigned char pending[4]; /* the beginning of a character whose end has not come yet */
    unsigned pending_count;
    unsigned wanted; /* bytes of that character */
};

#define SANITIZER_INIT                                                                             \
    { 0 }

/* What is certain goes to the end of `out`. */
void sanitizer_feed(struct sanitizer *s, const char *bytes, size_t size, struct strbuf *out);
/* The end: what was begun and not ended. The sanitizer is as new. */
void sanitizer_finish(struct sanitizer *s, struct strbuf *out);

/* A complete text on one line (a title, a name, a message): as above, tabs and newlines are
 * blanks. */
void sanitize_line(const char *text, struct strbuf *out);
