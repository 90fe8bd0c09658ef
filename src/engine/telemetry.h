/* telemetry.h: what runs are given so that their agents tell of themselves, and what becomes of it.
 *
 * The engine knows no protocol of that kind. Whoever speaks one (daemon/telemetry.c) puts variables into the
 * environment of runs and tells what it hears, inside a turn.
 *
 * What is heard is what the run has used so far, and counts while the run lives and when it dies without a
 * last word. The numbers of the agent's own last word take its place, larger or smaller. */
#pragma once

#include "base/strbuf.h"
#include "engine/engine.h"

#define ENGINE_SECRET_SIZE 33u /* 32 digits and a NUL */

/* A run that is about to be launched. */
struct engine_launch {
    task_id task;
    uint32_t attempt;
    const char *run;     /* "web-17.2" */
    const char *adapter; /* whose command it is; NULL: a plain one */
    const char *secret;  /* as engine_telemetry_secret */
    time_ms ordered_at;
};
/* Adds "NAME=VALUE", each ended by NUL. What the configuration or the task says under a name wins. */
typedef void (*engine_run_variables)(void *ctx, const struct engine_launch *launch,
                                     struct strbuf *out);
void engine_set_run_variables(struct engine *engine, engine_run_variables add, void *ctx);

/* What only this live run and the daemon know, besides its token: it is no capability, so it may be shown to a
 * port of the machine. It comes from the token's hash, and so outlives the daemon. False: this attempt
 * does not live. */
bool engine_telemetry_secret(const struct engine *engine, task_id task, uint32_t attempt,
                             char ret[ENGINE_SECRET_SIZE]);

/* What is known of this attempt, from whomever. False: it does not live, or this daemon has launched it: then nothing
 * was known of it before. */
bool engine_usage_before(const struct engine *engine, task_id task, uint32_t attempt,
                         struct engine_usage *ret);

/* Inside a turn. -1: not told. What is smaller than before is ignored. */
int engine_hear_usage(struct engine *engine, task_id task, uint32_t attempt,
                      const struct engine_usage *usage, struct error *err);
