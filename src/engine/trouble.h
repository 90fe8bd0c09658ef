/* trouble.h: why an account or an agent is closed, in the words of the agent. The core knows that
 * it is closed; a person needs the agent's message and the fix. Stored as one note per account and
 * agent that ever had trouble; shown only while it is closed. */
#pragma once

#include "agent/agent.h"
#include "engine/engine.h"

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
                   const struct agent_outcome *said, const struct fact *ended);
