/* zone.h: time zones: UTC ↔ local time. Pure; the rules come from a zoneinfo file of the system
 * (TZif, RFC 8536), whose content the caller reads.
 *
 * Times are seconds since the epoch. Local times are counted the same way, as if the local clock
 * showed UTC, so arithmetic on calendar fields needs no zone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct zone;

/* `name` is used in messages and by zone_name. */
int zone_parse(const char *name, const void *data, size_t size, struct zone **ret,
               struct error *err);
struct zone *zone_new_utc(void);
struct zone *zone_free(struct zone *zone); /* returns NULL */
const char *zone_name(const struct zone *zone);

/* Seconds east of UTC that apply at `utc`. */
int64_t zone_offset(const struct zone *zone, int64_t utc);

static inline int64_t zone_local(const struct zone *zone, int64_t utc) {
    return utc + zone_offset(zone, utc);
}

/* The first moment after `utc` at which the offset changes; INT64_MAX: none. */
int64_t zone_next_change(const struct zone *zone, int64_t utc);

/* How a local time maps to UTC when clocks change. */
enum zone_fit {
    ZONE_ONCE,
    ZONE_SKIPPED, /* clocks jump over it: `first` is the moment of the jump */
    ZONE_TWICE,   /* clocks go back over it: `second` is its repetition */
};
struct zone_moment {
    enum zone_fit fit;
    int64_t first, second; /* equal unless ZONE_TWICE */
};
struct zone_moment zone_find(const struct zone *zone, int64_t local);

/* --- calendar fields of a local time -------------------------------------------------------- */

struct calendar_time {
    int64_t year;
    int month;        /* 1 to 12 */
    int day;          /* 1 to 31 */
    int hour, minute; /* second */
    int second;
    int weekday; /* 0: Sunday */
};

struct calendar_time calendar_fields(int64_t local);
/* The date must exist. */
int64_t calendar_local(int64_t year, int month, int day);
int calendar_days_in(int64_t year, int month);
