/* escalation.h: models of tasks, and steps to stronger agents after results that were not accepted
 * (docs/guide/escalation.md). The core decides when a step is taken; names of models are here. Call
 * inside a turn. */
#pragma once

#include <jansson.h>

#include "engine/engine.h"

/* Can runs of this agent be given this model? <0: the message says how to fix it. */
int engine_check_model(const struct engine *engine, const char *agent, const char *model,
                       struct error *err);
/* Can a task of `agent` take these steps? `failover`: as in engine_check_prompt. */
int engine_check_steps(const struct engine *engine, const char *agent, const char *prompt,
                       const json_t *steps, struct error *err);

struct engine_escalation {
    const char *model;     /* of the task now; NULL: its agent's own choice */
    bool has_steps;        /* the rest is set; else the task has no list */
    unsigned step, steps;  /* step 0: with its own agent */
    unsigned after;        /* rejected results per step; 0: never */
    unsigned failed;       /* since the last step */
    const char *own_agent; /* with step > 0 */
    const char *next;      /* the step after this one, as it is written; NULL: this is the last */
    const char *reason;    /* with step > 0: of the last rejected result, e.g. "validation" */
    unsigned failures;     /* with step > 0: that led to this step */
};
/* The texts are valid until the end of the turn. */
void engine_escalation(const struct engine *engine, task_id task, struct engine_escalation *ret);
/* "step 2 of 3: claude:opus after 2 failures (the last one: failed checks)". False: nothing to say. */
bool engine_escalation_text(const struct engine *engine, task_id task, struct strbuf *out);

/* The agent that the task was added with, whatever step it is at. */
sym engine_own_agent(const struct task_spec *spec);

/* Steps since this daemon started, for its metrics. */
uint64_t engine_escalation_count(const struct engine *engine);

/* --- private to engine/ ---------------------------------------------------------------------- */

struct submission;

/* The model of a run of `agent` for the task, or "": the agent's own choice. */
const char *escalation_model(const struct engine *e, task_id task, const char *agent);
/* Makes the agents of its list known to the core, and fills its spec. */
int escalation_complete(struct engine *e, struct submission *s, struct error *err);
/* The task was added. */
void escalation_added(struct engine *e, const struct submission *s);
