/* jsonc.h: changes one value in another program's JSON file, and no other byte.
 *
 * User files have their own order, indentation, newlines, and sometimes comments (JSONC):
 * everything else is kept byte for byte. The new value is indented like its neighbors. Comments and
 * trailing commas are accepted, as in editors and agents. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "base/strbuf.h"

struct jsonc_span {
    size_t from, to; /* bytes */
};

/* Finds the member `inner` of the object in the member `outer`. 1: found; 0: not found; -EINVAL
 * with a message: invalid JSON, a duplicate name on the path, or not an object. An empty text
 * counts as an empty object. */
int jsonc_find(const struct strbuf *text, const char *outer, const char *inner,
               struct jsonc_span *ret, struct error *err);
/* Appends the text with that value. -EINVAL as above, and nothing is appended. */
int jsonc_set(const struct strbuf *text, const char *outer, const char *inner, const json_t *value,
              struct strbuf *ret_text, struct error *err);
