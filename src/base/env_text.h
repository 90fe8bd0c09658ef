/* env_text.h: parses variables from a file or a command, one NAME=VALUE per line.
 *
 *   # a comment; empty lines are ignored
 *   export API_KEY=everything up to the end of the line
 *   CERT="in double quotes, with \n \t \" \\ and \$, also over several lines"
 *   RAW='in single quotes: literal'
 *
 * Errors name the line, never its content, which may be a secret. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Appends NAME=VALUE, each NUL-terminated. On an error `out` has the variables before it. */
int env_text_parse(const char *text, size_t size, struct strbuf *out, struct error *err);

/* The value of a variable in a NULL-terminated list of NAME=VALUE; NULL: not set, or no list. */
const char *env_find(const char *const *env, const char *name);
/* The NAME=VALUE of those of these variables that are set, borrowed. Returns their number. */
size_t env_pick(const char *const *env, const char *const *names, size_t count, const char **ret);
