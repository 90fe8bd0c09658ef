/* otlp_read.h: the usage of a run so far, from the agent's own telemetry.
 *
 * Agents with OpenTelemetry report the cost of each call while they work, so it is known even for a
 * run that is killed. A meter belongs to one run and reads the bodies that it sent (OTLP/HTTP,
 * JSON).
 *
 * Read:      the counters claude_code.token.usage and claude_code.cost.usage, and the events
 *            claude_code.api_request. Everything else is skipped.
 * Twice:     counters and events report the same calls: the larger value counts, never the sum.
 *            Bodies that are resent, because an answer was lost, count once.
 * Counters:  delta and cumulative. A reset cumulative counter continues from its last value.
 * Bounded:   at most OTLP_SERIES_MAX counters and OTLP_EVENTS_MAX events are remembered. The rest
 *            is not counted, so the result may be too low but never too high.
 *
 * Pure: no clock, no files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define OTLP_SERIES_MAX 256u
#define OTLP_EVENTS_MAX 1024u

enum otlp_signal { OTLP_METRICS, OTLP_LOGS, OTLP_SIGNAL_MAX };

/* -1: not reported. Unknown is not zero. */
struct otlp_usage {
    int64_t in;     /* all input, including cached */
    int64_t out;    /* including reasoning */
    int64_t cached; /* part of `in` that came from a cache */
    int64_t cost_micro_usd;
};

struct otlp_meter;

/* `before`: usage known before a daemon restart; deltas are added to it. NULL: none. */
struct otlp_meter *otlp_meter_new(const struct otlp_usage *before);
struct otlp_meter *otlp_meter_free(struct otlp_meter *meter); /* accepts NULL, returns NULL */

/* Reads one body. -EINVAL: not OTLP, and nothing was counted. */
int otlp_meter_read(struct otlp_meter *meter, enum otlp_signal signal, const char *body,
                    size_t size, struct error *err);
void otlp_meter_usage(const struct otlp_meter *meter, struct otlp_usage *ret);
