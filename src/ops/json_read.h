/* json_read.h: the JSON of a request, read fast. Private to ops/.
 *
 * What is plain is read here, a byte at most once or twice. Everything else (fractions, \u, mistakes) is left to
 * jansson, which has the last word and knows what to say about it: what is read here is what it gives for
 * JSON_REJECT_DUPLICATES. */
#pragma once

#include <jansson.h>

/* NULL: jansson has to be asked. So it is with what nests deeper than `depth`. */
json_t *json_read(const char *text, size_t size, unsigned depth);
