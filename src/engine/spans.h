/* spans.h: histograms of durations. */
#pragma once

#include <stdint.h>

#include "base/time_ms.h"

/* Count, sum, and count up to each bound. */
#define ENGINE_BOUNDS 10u
extern const time_ms engine_bounds[ENGINE_BOUNDS];
struct engine_spans {
    uint64_t count, up_to[ENGINE_BOUNDS];
    int64_t sum_ms;
};
void spans_add(struct engine_spans *spans, time_ms span);
void spans_add_all(struct engine_spans *spans, const struct engine_spans *more);
