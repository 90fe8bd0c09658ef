/* agents.h: agents whose output is understood (agent/agent.h).
 *
 * Part of engine.h, which see; all of it is called inside a turn. */
#pragma once

#include "engine/engine.h"

/* Can this agent be told a prompt? It has a command in the configuration, or an adapter that brings one.
 * 0, or <0 with a sentence that says what to set. */
int engine_check_agent(const struct engine *engine, const char *agent, struct error *err);

/* Can this agent be told this prompt? One that begins with '-' must not become an option of its program, nor of those that
 * may take over from it (`failover`). */
int engine_check_prompt(const struct engine *engine, const char *agent, const char *prompt,
                        bool failover, struct error *err);

/* Are there workers (`agents.A.roster`) that take tasks which name no agent? */
bool engine_has_roster(const struct engine *engine);

/* Can every worker of the roster be told this prompt? The first that is idle takes it. Refused without a roster. */
int engine_check_roster(const struct engine *engine, const char *prompt, struct error *err);

/* The program of an agent as it is written, and where it was found; both empty when nobody knows. */
void engine_agent_program(const struct engine *engine, const char *agent, struct strbuf *program,
                          struct strbuf *found);

/* The first folder of a PATH that has this program; false: none has. */
bool engine_find_in_path(const char *path, const char *program, struct strbuf *out);

/* One that needs no configuration is known to the core from now on; nothing happens to others. Before a
 * fact names it. */
int engine_know_agent(struct engine *engine, const char *agent, struct error *err);

/* --- inside the engine ----------------------------------------------------------------------- */

/* Must "--" stand before a prompt that begins with '-', at the place `at` of the words of its agent? <0: it cannot stand
 * there. */
int agents_dashes(const struct engine *e, const char *agent, const char *const *words, size_t count,
                  size_t at, struct error *err);
