/* digest.h: since when `sluice digest` tells. */
#pragma once

#include "base/error.h"
#include "base/time_ms.h"

/* A moment that is over: 12h (so long ago), yesterday, today, 18:30 (the last one), 2027-01-31 … */
int digest_since(const char *text, time_ms now, time_ms *ret_since, struct error *err);
