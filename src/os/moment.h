/* moment.h: a moment as people write it. */
#pragma once

#include "base/error.h"
#include "base/time_ms.h"

/* A span from now (90s, 30m, 2h, 1d, 1.5h), a time of day (18:30: the next one), a day
 * (2027-01-31: its beginning) or both (2027-01-31T18:30, seconds may follow), in the local time
 * zone. -EINVAL: none of these. */
int moment_parse(const char *text, time_ms now, time_ms *ret_at, struct error *err);
/* The same in the past: a span before now, the last such time of day. -EINVAL, too: it is yet to
 * come. */
int moment_parse_past(const char *text, time_ms now, time_ms *ret_at, struct error *err);
/* A span alone: 90s, 30m, 2h, 1d; up to three decimals. */
int moment_parse_span(const char *text, time_ms *ret_span, struct error *err);
