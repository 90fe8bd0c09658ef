/* trouble.h: why an account or an agent is closed, in the words of the agent itself.
 *
 * The core knows that it is closed; a person needs to know what was said, and what helps. One note in the store for each
 * account and agent that ever had trouble; it is shown only while that is closed. */
#pragma once

#include "agent/agent.h"
#include "engine/engine.h"

enum trouble_kind { TROUBLE_ACCOUNT, TROUBLE_AGENT, TROUBLE_KIND_MAX };

struct engine_trouble {
    const char *agent;   /* who said it */
    const char *message; /* one line; "": nothing */
    const char *fix;     /* what to do, as a clause; "": not known */
};
/* False: nothing is known. The texts are the engine's. */
bool engine_trouble(const struct engine *engine, enum trouble_kind kind, const char *name,
                    struct engine_trouble *ret);
/* `; claude said: "Not logged in"; run 'claude' once and log in`; nothing where nothing is known. */
void engine_put_trouble(const struct engine *engine, enum trouble_kind kind, const char *name,
                        struct strbuf *out);

/* --- private to engine/ ---------------------------------------------------------------------- */

struct fact;
struct live_run;
struct note_row;
struct run_end;

/* Inside a turn, before the end is applied: does it close the account, or count on the agent? */
void trouble_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                   const struct agent_outcome *said, const struct fact *ended);
