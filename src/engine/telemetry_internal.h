/* telemetry_internal.h: telemetry, as the launch and the end of a run know it. Private to engine/. */
#pragma once

#include "agent/agent.h"
#include "engine/engine_internal.h"

/* The variables of a run; `name`: "web-17.2", `adapter`: whose command it is, or NULL. */
void telemetry_variables(const struct engine *e, const struct live_run *run, const char *name,
                         const char *adapter, struct strbuf *out);
/* Its agent has told its own numbers: what was heard under the same names counts no more. */
void telemetry_yield(struct live_run *run, const struct agent_usage *own);
