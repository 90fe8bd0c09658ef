/* goal.c: see goal.h. */
#include "goal.h"

#include <stdarg.h>
#include <stdio.h>

static int missed;

void bench_goal(bool met, const char *format, ...) {
    va_list args;
    va_start(args, format);
    missed += !met;
    fputs(met ? "  goal met:    " : "  GOAL MISSED: ", stdout);
    vprintf(format, args);
    fputc('\n', stdout);
    (void)fflush(stdout);
    va_end(args);
}

int bench_missed(void) {
    return missed;
}
