/* error.h: a negative errno for the program, a message for the user.
 *
 * Functions that can fail return 0 or a negative errno and fill `err`. error_set returns its code,
 * so one line sets and returns. `err` may be NULL where the message is not needed.
 * Messages: lower case, no full stop, the subject in quotes, then what was expected or the fix. */
#pragma once

#include "base/macros.h"

#define ERROR_TEXT_MAX 512

struct error {
    int code; /* 0: no error */
    char text[ERROR_TEXT_MAX];
};

int error_set(struct error *err, int code, const char *format, ...) _printf_(3, 4);

/* "cannot WHAT 'PATH': …" for errno; returns the negative errno. */
int error_set_errno(struct error *err, const char *what, const char *path);

/* Puts "where: " before the message; returns its code. */
int error_prefix(struct error *err, const char *format, ...) _printf_(2, 3);
