/* bottleneck.h: at which gate with a capacity tasks wait for the longest part of a forecast.
 *
 * The forecast calls bottleneck_sample at each moment. Counting waiting tasks by gate costs more
 * than a turn, so only some moments are counted: all of the first few hundred, then every second,
 * every fourth, and so on. What was counted holds until the next sample. */
#pragma once

#include "sim/forecast.h"

#define BOTTLENECK_GATES 64u

struct gate_wait {
    char *code;
    struct verdict gate; /* of one of its tasks */
    int64_t tasks;       /* in the last sample */
    int64_t peak;
    time_ms span, pending; /* pending: since the last end of a run that counts */
};

struct gate_waits {
    struct gate_wait gates[BOTTLENECK_GATES];
    size_t count;
    time_ms sampled_at;
    unsigned samples; /* since the stride was doubled */
    unsigned stride, skipped;
    bool run_ended; /* since the last sample */
};

/* Counts the queue as it is at `now`. */
void bottleneck_sample(struct gate_waits *waits, struct core *core, time_ms now);
/* Some tasks wait at such a gate: they may start later. */
bool bottleneck_is_waiting(const struct gate_waits *waits);
/* The end of the forecast. Frees `waits`; the caller frees code and name. */
struct forecast_bottleneck bottleneck_end(struct gate_waits *waits, struct core *core, time_ms now);
