/* time_ms.h: points in time (since the epoch) and durations, in milliseconds.
 *
 * Values only: nothing here reads a clock (os/clock.h does, once per turn). */
#pragma once

#include <stdint.h>

typedef int64_t time_ms;

#define TIME_NEVER INT64_MAX
#define SECONDS(n) ((time_ms)(n)*1000)
#define MINUTES(n) ((time_ms)(n)*60000)
#define HOURS(n)   ((time_ms)(n)*3600000)
#define DAYS(n)    ((time_ms)(n)*86400000)

/* a + b, where NEVER and overflow stay NEVER. `span` is not negative. */
static inline time_ms time_add(time_ms point, time_ms span) {
    time_ms sum;
    if (point == TIME_NEVER || span == TIME_NEVER || __builtin_add_overflow(point, span, &sum))
        return TIME_NEVER;
    return sum;
}

static inline time_ms time_min(time_ms a, time_ms b) {
    return a < b ? a : b;
}

static inline time_ms time_max(time_ms a, time_ms b) {
    return a > b ? a : b;
}
