/* json_escape.h: how one byte stands inside a JSON string. */
#pragma once

#include <stddef.h>

#define JSON_ESCAPE_MAX 6u /* bytes of the longest escape: \u001f */

/* Writes the escape of a byte that cannot stand for itself, and returns its size. 0: it needs none. */
size_t json_escape(unsigned char c, char out[JSON_ESCAPE_MAX]);
