/* json_read.h: the JSON of a request, read fast. Private to ops/.
 *
 * What is plain is read here, a byte at most once or twice. For everything else (fractions, \u, mistakes) jansson
 * is asked, which has the last word and knows what to say about it: the answer is always the one that it
 * gives for JSON_REJECT_DUPLICATES. */
#pragma once

#include <jansson.h>

/* NULL: it is no object or array, and `ret_why` says where and why. */
json_t *json_read(const char *text, size_t size, json_error_t *ret_why);

/* NULL also where jansson has to be asked (tests). */
json_t *json_read_plain(const char *text, size_t size);
