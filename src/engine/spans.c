/* spans.c: see spans.h. The bounds are those of Prometheus histograms: from a turn to a day. */
#include "engine/spans.h"

#include <stddef.h>

const time_ms engine_bounds[ENGINE_BOUNDS] = { 10,         100,        SECONDS(1),  SECONDS(10),
                                               MINUTES(1), MINUTES(5), MINUTES(15), HOURS(1),
                                               HOURS(4),   DAYS(1) };

void spans_add(struct engine_spans *spans, time_ms span) {
    span = time_max(span, 0);
    spans->count++;
    spans->sum_ms += span;
    for (size_t i = 0; i < ENGINE_BOUNDS; i++)
        spans->up_to[i] += span <= engine_bounds[i];
}

void spans_add_all(struct engine_spans *spans, const struct engine_spans *more) {
    spans->count += more->count;
    spans->sum_ms += more->sum_ms;
    for (size_t i = 0; i < ENGINE_BOUNDS; i++)
        spans->up_to[i] += more->up_to[i];
}
