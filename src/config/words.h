/* words.h: a list of texts, written as one text.
 *
 * Split as by a shell: blanks separate words; '…' is literal, "…" is literal except \" \\ \$ \` ; a
 * backslash makes the next character literal. Nothing is expanded: $HOME, * and | are literal. A
 * text that begins with [ is a JSON array of texts instead. words_print prints what words_split
 * reads, always on one line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/json_write.h"
#include "base/strbuf.h"

#define WORDS_MAX       512   /* maximum per list: arguments of a command */
#define WORDS_BYTES_MAX 32768 /* of the complete text */

struct words {
    const char *const *items; /* NULL-terminated; in the arena */
    size_t count;
};

/* False: an unterminated quote, not an array of texts, too long, or not UTF-8. */
bool words_split(const char *text, struct arena *arena, struct words *ret_words);
void words_print(const struct words *words, struct strbuf *out);
void words_write(const struct words *words, struct json_writer *w); /* as an array */

/* Is it UTF-8 that JSON can carry? `controls`: allows newlines, tabs etc. */
bool words_is_text(const char *text, size_t size, bool controls);
