/* note.h: small named values that a part keeps in the store. Private to engine/. A name is the
 * part's prefix ("alert:") and a key; a part with a single note has no key. Notes are written with
 * the turn and loaded one by one at the start; each part takes its own. */
#pragma once

#include "engine/engine_internal.h"

/* `text` NULL: deletes the note. */
void note_put(struct engine *e, const char *prefix, const char *key, const char *text);
void note_put_number(struct engine *e, const char *prefix, const char *key, int64_t number);

/* The key of a note with this prefix; NULL: another part's, or without text. */
const char *note_key(const struct note_row *row, const char *prefix);
/* The same for a number; NULL also if it is not one. */
const char *note_number(const struct note_row *row, const char *prefix, int64_t *ret);
