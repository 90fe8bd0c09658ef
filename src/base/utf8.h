/* utf8.h: validates UTF-8. Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
 *
 * Also finds controls: they move the cursor of a terminal, execute commands, or reorder letters, so
 * that the displayed text differs from the real one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Bytes of the character at `text`, of which `left` (at least one) are available; 0: invalid. */
size_t utf8_length(const char *text, size_t left);
/* Is the character at `text`, with `length` bytes, a control: C0, DEL, C1, a line separator
 * (U+2028, U+2029), or a directional mark, embedding, override or isolate? */
bool utf8_is_control(const char *text, size_t length);
/* Is it valid text on one line, without controls? */
bool utf8_is_line(const char *text, size_t size);
/* Is it a valid name of a project, task or setting: 1 to NAME_BYTES_MAX bytes on one line, without
 * leading or trailing blanks? */
#define NAME_BYTES_MAX 128
bool utf8_is_name(const char *text, size_t size);
/* Is it valid UTF-8, without NUL? */
bool utf8_is_clean(const char *text, size_t size);
/* Replaces every invalid byte and NUL by U+FFFD. */
void utf8_clean(const char *text, size_t size, struct strbuf *out);
/* Decodes %XX into `out`, which is cleared first; `plus`: + is a space. -EINVAL: invalid, or not
 * clean after that. */
int utf8_decode_percent(const char *text, size_t size, bool plus, struct strbuf *out);
/* Input from outside for a message: at most 60 bytes and "..." for the rest, with ? for controls
 * and invalid bytes. */
struct utf8_quoted {
    char text[64];
};
struct utf8_quoted utf8_quote(const char *text);
