/* latency.c: see latency.h. */
#include "base/latency.h"

#include <stddef.h>

const int64_t latency_bounds[LATENCY_BOUNDS] = { 100,   500,    1000,   5000,    10000,
                                                 50000, 100000, 500000, 1000000, 5000000 };

void latency_add(struct latency *latency, int64_t us) {
    latency->count++;
    latency->sum_us += us;
    for (size_t i = 0; i < LATENCY_BOUNDS; i++)
        latency->up_to[i] += us <= latency_bounds[i];
}
