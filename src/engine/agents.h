/* agents.h: agents, and why their work is refused. Call inside a turn. */
#pragma once

#include "agent/agent.h"
#include "engine/engine.h"

/* --- agents that have an adapter -------------------------------------------------------------- */

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

/* --- sessions --------------------------------------------------------------------------------- */

struct engine_session {
    const char *agent, *session;
    struct agent_usage used; /* by all runs of the session; -1: not known */
};
/* The next attempt resumes this session of a task that was final, if its agent can, and if it has a
 * message or feedback. */
void engine_continue_session(struct engine *engine, task_id task,
                             const struct engine_session *session);
/* The next attempt begins a new session. */
void engine_restart_session(struct engine *engine, task_id task);

/* --- inside the engine ----------------------------------------------------------------------- */

/* Whether "--" must precede a prompt that begins with '-' at index `at` of the agent's arguments.
 * <0: the prompt cannot be passed there. */
int agents_dashes(const struct engine *e, const char *agent, const char *const *words, size_t count,
                  size_t at, struct error *err);

/* --- closed accounts and agents --------------------------------------------------------------- */

/* Why an account or an agent is closed, in the words of the agent. The core knows that
 * it is closed; a person needs the agent's message and the fix. Stored as one note per account and
 * agent that ever had trouble; shown only while it is closed. */

enum trouble_kind { TROUBLE_ACCOUNT, TROUBLE_AGENT, TROUBLE_KIND_MAX };

struct engine_trouble {
    const char *agent;   /* who reported it */
    const char *message; /* one line; "": none */
    const char *fix;     /* what to do, as a clause; "": unknown */
};
/* False: nothing is known. The engine owns the texts. */
bool engine_trouble(const struct engine *engine, enum trouble_kind kind, const char *name,
                    struct engine_trouble *ret);
/* `; claude said: "Not logged in"; run 'claude' once and log in`; appends nothing if unknown. */
void engine_put_trouble(const struct engine *engine, enum trouble_kind kind, const char *name,
                        struct strbuf *out);

/* --- private to engine/ ---------------------------------------------------------------------- */

struct fact;
struct live_run;
struct note_row;
struct run_end;

/* Inside a turn, before the end is applied: records whether it closes the account or the agent. */
void trouble_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                   const struct agent_outcome *reported, const struct fact *ended);

/* --- denied permissions ----------------------------------------------------------------------- */

/* Tasks whose agent was denied a permission.
 *
 * Another attempt would meet the same refusal and cost the same tokens, so the task is held
 * (HOLD_DENIED) until a person allows the rule or releases the task. The refusal is kept with its
 * session (agents/session.c). A check that passes overrides a refusal: the agent found another
 * way. */

/* Why the task is held, and the commands that help. False: not held for this. */
bool engine_explain_denied_hold(const struct engine *engine, task_id task, struct strbuf *out);

/* What was refused, and the command to continue: `sluice retry ID --allow 'RULE'`, or without the
 * option if the agent has none. False: not held for this. */
struct engine_denial {
    const char *agent;
    const struct agent_denial *what;
    bool has_option; /* `what->rule` can be given with --allow */
};
bool engine_denial(const struct engine *engine, task_id task, struct engine_denial *ret);

/* Whether one rule can be allowed for this task alone. <0: `err` has the reason and what to do. */
int engine_check_allow(const struct engine *engine, task_id task, struct error *err);

/* --- private to engine/ ---------------------------------------------------------------------- */

/* The message of its run. */
void denied_message(const struct agent_denial *denial, struct strbuf *out);

bool denied_is_held(const struct task_spec *t);
void denied_check_task(struct engine *e, const struct task_spec *t);
