/* utf8.h: is it text? Strictly: no long forms, no surrogates, nothing above U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Bytes of the character at `text`, of which `left` (at least one) are there; 0: none begins here. */
size_t utf8_length(const char *text, size_t left);
/* Is all of it text, without a NUL? */
bool utf8_is_clean(const char *text, size_t size);
/* The text with U+FFFD in the place of every byte that is none, NUL too. */
void utf8_clean(const char *text, size_t size, struct strbuf *out);
