/* json_escape.h: escapes one byte of a JSON string. */
#pragma once

#include <stddef.h>

#define JSON_ESCAPE_MAX 6u /* bytes of the longest escape: \u001f */

/* Writes the escape of a byte, and returns its size. 0: no escape needed. */
size_t json_escape(unsigned char c, char out[JSON_ESCAPE_MAX]);
