/* telemetry.h: telemetry of agents: what runs are given for it, and how it is booked.
 *
 * The engine knows no telemetry protocol. The receiver (daemon/telemetry.c) adds variables to the
 * environment of runs and reports what it receives, inside a turn.
 *
 * These numbers are the usage so far. They count while the run is live and if it dies without a
 * final message. The numbers of the agent's final message replace them, larger or smaller. */
#pragma once

#include "base/strbuf.h"
#include "engine/engine.h"

#define ENGINE_SECRET_SIZE 33u /* 32 digits and a NUL */

/* A run that is about to be launched. */
struct engine_launch {
    task_id task;
    uint32_t attempt;
    const char *run;     /* "web-17.2" */
    const char *adapter; /* of its command; NULL: a plain command */
    const char *secret;  /* as engine_telemetry_secret */
    time_ms ordered_at;
};
/* Adds "NAME=VALUE", each NUL-terminated. Variables of the configuration or the task win. */
typedef void (*engine_run_variables)(void *ctx, const struct engine_launch *launch,
                                     struct strbuf *out);
void engine_set_run_variables(struct engine *engine, engine_run_variables add, void *ctx);

/* A secret that, besides its token, only this live run and the daemon know. It is not a capability,
 * so it may be shown to a port of the machine. It is derived from the token's hash, so it survives
 * restarts. False: this attempt is not live. */
bool engine_telemetry_secret(const struct engine *engine, task_id task, uint32_t attempt,
                             char ret[ENGINE_SECRET_SIZE]);

/* The usage known of this attempt from any source. False: it is not live, or this daemon launched
 * it, so nothing was known before. */
bool engine_usage_before(const struct engine *engine, task_id task, uint32_t attempt,
                         struct engine_usage *ret);

/* Inside a turn. -1: not reported. Values smaller than before are ignored. */
int engine_take_telemetry(struct engine *engine, task_id task, uint32_t attempt,
                          const struct engine_usage *usage, struct error *err);
