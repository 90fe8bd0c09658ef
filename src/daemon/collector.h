/* collector.h: tells an OpenTelemetry collector of the runs that have ended (otel.endpoint).
 *
 * A span for each run, and sums over all of them, by OTLP/HTTP in JSON, every otel.interval_s while there is
 * anything new. A worker sends (webhook_line.h); the loop waits for nothing.
 *
 * Once:    a follower of the events named "otel". What was acknowledged is not sent again; what was not goes out
 *          when the collector is back, also after a restart. After a crash a span may come twice, with the
 *          same id. Sums begin with the daemon, as their start time says.
 * Bounded: at most FOLLOW_AHEAD runs are in memory, the others wait in the log of events. What is older
 *          than COLLECTOR_KEEP when it cannot be sent is given up, and so is what the collector refuses for good.
 *
 * Life:    collector_new between engine_new and engine_start → collector_free before engine_free */
#pragma once

#include "base/time_ms.h"
#include "daemon/webhook_line.h"

#define COLLECTOR_KEEP HOURS(1)

struct collector;
struct engine;
struct loop;

struct collector *collector_new(struct engine *engine, struct loop *loop, char *const *environment);
struct collector *collector_free(struct collector *collector); /* accepts NULL, returns NULL */

/* Fills URL and headers of a message for /v1/SIGNAL, as the configuration says. */
int collector_address(const struct engine *engine, const char *signal, struct webhook_message *m,
                      struct error *err);
