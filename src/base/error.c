/* error.c: formats error messages.
 *
 * error_set and error_prefix format into a local buffer and then copy, because callers pass err->text itself as
 * an argument when they wrap an error. A message that is too long is truncated. */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...) {
    assert(code < 0);
    if (!err)
        return code;
    char text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    memcpy(err->text, text, strlen(text) + 1);
    err->code = code;
    return code;
}

int error_set_errno(struct error *err, const char *what, const char *path) {
    int code = errno;
    return error_set(err, -code, "cannot %s '%s': %s", what, path, strerror(code));
}

int error_prefix(struct error *err, const char *format, ...) {
    if (!err)
        return -EIO; /* the code is unknown here, but it was a failure */
    assert(err->code < 0);
    char prefix[ERROR_TEXT_MAX - 2]; /* the ": " always fits */
    va_list args;
    va_start(args, format);
    (void)vsnprintf(prefix, sizeof(prefix), format, args);
    va_end(args);
    return error_set(err, err->code, "%s: %s", prefix, err->text);
}
