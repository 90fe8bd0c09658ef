/* jsonc.h: changes one value in a JSON file of another program, and no other byte.
 *
 * Files of people have an order, an indentation, newlines of their own, and sometimes comments (JSONC): what is
 * not changed stays as it is, byte for byte. The new value is indented as its neighbours are. Comments and commas
 * behind the last member are understood, as editors and agents do. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"

struct jsonc_span {
    size_t from, to; /* bytes */
};

/* Where the value is: the member `inner` of the object that is the member `outer` of the file. 1: found;
 * 0: not; -EINVAL with a message: the text is not JSON, has a name twice on the way there, or something
 * else than an object. Nothing at all counts as an empty object. */
int jsonc_find(const struct strbuf *text, const char *outer, const char *inner,
               struct jsonc_span *ret, struct error *err);
/* Appends the text with that value. -EINVAL as above, and nothing is appended. */
int jsonc_set(const struct strbuf *text, const char *outer, const char *inner, const json_t *value,
              struct strbuf *ret_text, struct error *err);
