/* env_text.h: variables as a file or a command gives them, one NAME=VALUE on each line.
 *
 *   # a comment; empty lines count for nothing
 *   export API_KEY=everything up to the end of the line
 *   CERT="in double quotes, with \n \t \" \\ and \$, also over several lines"
 *   RAW='in single quotes: as it is'
 *
 * Errors name the line, never what stands there: it may be a secret. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Appends NAME=VALUE, each with a NUL behind it. On an error `out` holds what came before it. */
int env_text_parse(const char *text, size_t size, struct strbuf *out, struct error *err);
