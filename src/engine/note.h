/* note.h: small values that a part of the engine keeps in the store, each below a name. Private to engine/.
 *
 * A name is the part's own prefix ("alert:") and a key; one that has only one note has no key. They are written with the
 * turn and loaded one by one before it begins; each part takes its own. */
#pragma once

#include "engine/engine_internal.h"

/* `text` NULL: the note goes. */
void note_put(struct engine *e, const char *prefix, const char *key, const char *text);
void note_put_number(struct engine *e, const char *prefix, const char *key, int64_t number);

/* The key of a note with this prefix; NULL: it is another part's, or has no text. */
const char *note_key(const struct note_row *row, const char *prefix);
/* The same for a note that is a number; NULL also if it is none. */
const char *note_number(const struct note_row *row, const char *prefix, int64_t *ret);
