/* telemetry.h: hears what the agents of live runs say of themselves by OpenTelemetry (otel.listen).
 *
 * Each run gets an address of its own in its environment, with a secret in the path, so what comes in belongs to
 * that run and to no other. It becomes what the run has used so far (engine/telemetry.h). Off until a port is
 * set; one that cannot be had is tried again, and nothing else waits for that.
 *
 * With otel.endpoint every run also gets TRACEPARENT, so what it traces by itself hangs below its span.
 *
 * Life: telemetry_new between engine_new and engine_start → telemetry_look after each round →
 * telemetry_free before engine_free */
#pragma once

#include "engine/engine.h"

struct loop;
struct telemetry;

struct telemetry *telemetry_new(struct engine *engine, struct loop *loop);
struct telemetry *telemetry_free(struct telemetry *telemetry); /* accepts NULL, returns NULL */
/* The configuration may be another one. */
void telemetry_look(struct telemetry *telemetry);
/* The end of a run is committed. */
void telemetry_run_ended(struct telemetry *telemetry, task_id task, uint32_t attempt);
