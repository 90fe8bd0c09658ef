/* breach.c: see breach.h. */
#include "breach.h"

#include <stdarg.h>
#include <stdio.h>

void breach_set(struct breach *breach, const char *invariant, const char *format, ...) {
    if (breach->found)
        return;
    breach->found = true;
    (void)snprintf(breach->invariant, sizeof(breach->invariant), "%s", invariant);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(breach->text, sizeof(breach->text), format, args);
    va_end(args);
}
