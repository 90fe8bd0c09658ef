/* latency.h: how long short things took, counted without keeping them.
 *
 * For what takes from a tenth of a millisecond to seconds; engine/spans.h is for what takes from a moment to
 * a day. */
#pragma once

#include <stdint.h>

#define LATENCY_BOUNDS 10u
extern const int64_t latency_bounds[LATENCY_BOUNDS]; /* microseconds */

struct latency {
    uint64_t count, up_to[LATENCY_BOUNDS]; /* up_to: how many took at most the bound */
    int64_t sum_us;
};
void latency_add(struct latency *latency, int64_t us);
