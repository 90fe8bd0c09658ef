/* cron.h: cron expressions: "minute hour day-of-month month day-of-week", or @daily and so on. Pure.
 *
 * If day-of-month and day-of-week are both restricted, a day that fits either one fits.
 *
 * When clocks change:
 *   - An expression with fixed hours ("30 2 * * *") is due once for each local time. A time that the
 *     clocks skip is due at the moment of the jump, and several such times are due once; of a time
 *     that occurs twice, only the first counts.
 *   - An expression with hour "*" or a step of "*" is due whenever the local clock shows such a time:
 *     every 15 minutes stays every 15 minutes. */
#pragma once

#include "calendar/zone.h"

struct cron {
    uint64_t minutes;
    uint32_t hours, days;      /* bit 1 to 31 */
    uint16_t months;           /* bit 1 to 12 */
    uint8_t weekdays;          /* bit 0: Sunday */
    bool any_day, any_weekday; /* the field begins with a star */
    bool any_hour;
};

int cron_parse(const char *text, struct cron *ret, struct error *err);

/* The first due time after `after`; both UTC seconds. INT64_MAX: none in the next 100 years. */
int64_t cron_next(const struct cron *cron, const struct zone *zone, int64_t after);
