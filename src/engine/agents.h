/* agents.h: agents that have an adapter (agent/agent.h). Part of engine.h; call inside a turn. */
#pragma once

#include "engine/engine.h"

/* Whether this agent accepts a prompt: it has a configured command, or an adapter that provides
 * one. 0, or <0 with a message that says what to set. */
int engine_check_agent(const struct engine *engine, const char *agent, struct error *err);

/* Whether this agent accepts this prompt. A prompt that begins with '-' must not become an option
 * of its program, nor (with `failover`) of the agents that may take over. */
int engine_check_prompt(const struct engine *engine, const char *agent, const char *prompt,
                        bool failover, struct error *err);

/* Whether workers (`agents.A.roster`) take tasks that name no agent. */
bool engine_has_roster(const struct engine *engine);

/* Whether every worker of the roster accepts this prompt, since the first idle one takes it.
 * Refused without a roster. */
int engine_check_roster(const struct engine *engine, const char *prompt, struct error *err);

/* The agent's program as configured, and where it was found; both empty if unknown. */
void engine_agent_program(const struct engine *engine, const char *agent, struct strbuf *program,
                          struct strbuf *found);

/* The first directory of a PATH that has this program; false: not found. */
bool engine_find_in_path(const char *path, const char *program, struct strbuf *out);

/* Registers an agent that needs no configuration with the core; no effect on other agents. Must
 * precede any fact that names it. */
int engine_know_agent(struct engine *engine, const char *agent, struct error *err);

/* --- inside the engine ----------------------------------------------------------------------- */

/* Whether "--" must precede a prompt that begins with '-' at index `at` of the agent's arguments.
 * <0: the prompt cannot be passed there. */
int agents_dashes(const struct engine *e, const char *agent, const char *const *words, size_t count,
                  size_t at, struct error *err);
