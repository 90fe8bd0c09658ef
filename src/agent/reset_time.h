/* reset_time.h: the time in a sentence like "You've hit your limit · resets 4:28am (UTC)". Private to agent/.
 *
 * Read are, behind "reset", "try again", "retry", "available" or "wait":
 *   a point      4am · 4:28am · 16:28 · Nov 20, 4am · Nov 20th, 2026 4:31 AM · Monday at 9am · tomorrow at 4am ·
 *                2026-11-20T04:00:00Z, each with "UTC", "GMT" or "UTC+2" behind it, else local
 *   a span       in 1.5s · in 2h 13m · after 33013ms · in 3 days, 4 hours and 5 minutes
 * and the seconds since the epoch of "limit reached|1749924000".
 * A time of day without a date is the next one; one that passed a few minutes ago is that one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/time_ms.h"

/* false: there is none, *ret_at is untouched. */
bool reset_time_find(const char *text, time_ms now, int32_t utc_offset_s, time_ms *ret_at);
