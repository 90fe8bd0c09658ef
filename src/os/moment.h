/* moment.h: parses times in user notation. */
#pragma once

#include "base/error.h"
#include "base/time_ms.h"

/* A duration from now (90s, 30m, 2h, 1d, 1.5h), a time of day (18:30: the next one), a day
 * (2027-01-31: its beginning) or both (2027-01-31T18:30, optionally seconds), in local time.
 * -EINVAL: invalid. */
int moment_parse(const char *text, time_ms now, time_ms *ret_at, struct error *err);
/* Same in the past: a duration before now, the last such time of day. -EINVAL also for a future
 * time. */
int moment_parse_past(const char *text, time_ms now, time_ms *ret_at, struct error *err);
/* A duration only: 90s, 30m, 2h, 1d; up to three decimals. */
int moment_parse_span(const char *text, time_ms *ret_span, struct error *err);
