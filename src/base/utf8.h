/* utf8.h: is it text? Strictly: no long forms, no surrogates, nothing above U+10FFFF.
 *
 * And is it a text that can be shown? A control moves the cursor of a terminal, makes it do things,
 * or turns the order of letters around, so that what is read is not what is there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Bytes of the character at `text`, of which `left` (at least one) are there; 0: none begins
 * here. */
size_t utf8_length(const char *text, size_t left);
/* Is the character at `text`, with `length` bytes, a control: C0, DEL, C1, a separator of lines
 * (U+2028, U+2029), or a mark, an embedding, an override or an isolate of direction? */
bool utf8_is_control(const char *text, size_t length);
/* Is all of it text on one line, without a control? */
bool utf8_is_line(const char *text, size_t size);
/* Is it a name, as people give them to projects, tasks and settings: 1 to NAME_BYTES_MAX bytes on
 * one line, without a blank at its ends? */
#define NAME_BYTES_MAX 128
bool utf8_is_name(const char *text, size_t size);
/* Is all of it text, without a NUL? */
bool utf8_is_clean(const char *text, size_t size);
/* The text with U+FFFD in the place of every byte that is none, NUL too. */
void utf8_clean(const char *text, size_t size, struct strbuf *out);
