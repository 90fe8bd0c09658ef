/* otlp_read.h: what an agent's own telemetry says that its run has used so far.
 *
 * Agents that speak OpenTelemetry send what each call has cost while they work, so it is known even of a run
 * that is killed. A meter belongs to one run and is fed with the bodies that came from it (OTLP/HTTP, JSON).
 *
 * Read:      the counters claude_code.token.usage and claude_code.cost.usage, and the events
 *            claude_code.api_request. Everything else is skipped, whatever it looks like.
 * Twice:     counters and events tell of the same calls: the larger counts, never their sum. What is sent again,
 *            because an answer got lost, counts once.
 * Counters:  delta and cumulative. A cumulative one that begins anew goes on where it was.
 * Bounded:   at most OTLP_SERIES_MAX counters and OTLP_EVENTS_MAX events are remembered. What does not
 *            fit is not counted: too little, never too much.
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
    int64_t in;     /* everything that was sent, what came from a cache included */
    int64_t out;    /* reasoning included */
    int64_t cached; /* of `in`, what came from a cache */
    int64_t cost_micro_usd;
};

struct otlp_meter;

/* `before`: what was known of the run when its meter was lost, because the daemon was started again; deltas
 * are added to it. NULL: nothing. */
struct otlp_meter *otlp_meter_new(const struct otlp_usage *before);
struct otlp_meter *otlp_meter_free(struct otlp_meter *meter); /* accepts NULL, returns NULL */

/* One body. -EINVAL: it is not OTLP, and nothing of it was counted. */
int otlp_meter_read(struct otlp_meter *meter, enum otlp_signal signal, const char *body,
                    size_t size, struct error *err);
void otlp_meter_usage(const struct otlp_meter *meter, struct otlp_usage *ret);
