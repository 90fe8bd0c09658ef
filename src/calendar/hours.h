/* hours.h: opening hours: "mon-fri 22:00-07:00; sat,sun". Pure.
 *
 * Windows are separated by semicolons. A window has days, times or both; without days it is open on
 * every day, without times all day. A window that ends at or before its begin ends on the next day
 * and belongs to the day on which it begins. Hours follow the local clock: when clocks change, a
 * window is open while the clock shows a time inside it. */
#pragma once

#include "calendar/zone.h"

#define HOURS_MAX 16

struct hours_window {
    uint8_t weekdays; /* bit 0: Sunday; on which it begins */
    int begin, end;   /* minutes of the day; end > begin, up to 2 days */
};

struct hours {
    size_t count;
    struct hours_window windows[HOURS_MAX];
};

int hours_parse(const char *text, struct hours *ret, struct error *err);

bool hours_are_open(const struct hours *hours, const struct zone *zone, int64_t utc);

/* The first moment after `utc` at which they open or close; INT64_MAX: never. */
int64_t hours_next_change(const struct hours *hours, const struct zone *zone, int64_t utc);
