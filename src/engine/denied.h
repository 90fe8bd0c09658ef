/* denied.h: tasks whose agent was denied a permission.
 *
 * Another attempt would meet the same refusal and cost the same tokens, so the task is held
 * (HOLD_DENIED) until a person allows the rule or releases the task. The refusal is kept with its
 * session (agents/session.c). A check that passes overrides a refusal: the agent found another
 * way. */
#pragma once

#include "agent/agent.h"
#include "engine/engine.h"

/* Why the task is held, and the commands that help. False: not held for this. */
bool engine_denied_why(const struct engine *engine, task_id task, struct strbuf *out);

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

struct alert;
struct live_run;
struct run_end;

enum outcome denied_outcome(const struct engine *e, const struct live_run *run,
                            const struct run_end *end);
/* The message of its run. */
void denied_message(const struct agent_denial *denial, struct strbuf *out);

bool denied_is_held(const struct task_spec *t);
void denied_see_task(struct engine *e, const struct task_spec *t);
bool denied_is_over(const struct engine *e, const struct alert *alert);
