/* words.h: a list of texts, written as one text.
 *
 * Read as a shell would split it: blanks part words; '…' takes everything as it is, "…" all but \"
 * \\ \$ \` ; a backslash takes the next character as it is. Nothing is expanded: $HOME, * and | are
 * themselves. A text that begins with [ is a JSON array of texts instead. words_print prints what
 * words_split reads, on one line whatever is in the words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/strbuf.h"

#define WORDS_MAX       512   /* of one list: what a command may have */
#define WORDS_BYTES_MAX 32768 /* of the complete text */

struct words {
    const char *const *items; /* ends with NULL; in the arena */
    size_t count;
};

/* False: a quote without its end, no array of texts, too long, or not UTF-8. */
bool words_split(const char *text, struct arena *arena, struct words *ret_words);
void words_print(const struct words *words, struct strbuf *out);

/* Is it UTF-8 that JSON can carry? `controls`: newlines, tabs and the like are good, too. */
bool words_is_text(const char *text, size_t size, bool controls);
