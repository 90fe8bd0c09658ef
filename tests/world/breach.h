/* breach.h: the first invariant that did not hold. Later ones are mostly its consequences. */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

struct breach {
    bool found;
    char invariant[8]; /* "I6" */
    char text[400];
};

void breach_set(struct breach *breach, const char *invariant, const char *format, ...)
    _printf_(3, 4);
