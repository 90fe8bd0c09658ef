/* agents.h: agents whose output is understood (agent/agent.h).
 *
 * Part of engine.h, which see; all of it is called inside a turn. */
#pragma once

#include "engine/engine.h"

/* Can this agent be told a prompt? It has a command in the configuration, or an adapter that brings one.
 * 0, or <0 with a sentence that says what to set. */
int engine_check_agent(const struct engine *engine, const char *agent, struct error *err);

/* The program of an agent as it is written, and where it was found; both empty when nobody knows. */
void engine_agent_program(const struct engine *engine, const char *agent, struct strbuf *program,
                          struct strbuf *found);

/* One that needs no configuration is known to the core from now on; nothing happens to others. Before a
 * fact names it. */
int engine_know_agent(struct engine *engine, const char *agent, struct error *err);
