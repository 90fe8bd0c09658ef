/* launch_client.h: the command of an agent that is run by a client of ours. Private to engine/. */
#pragma once

#include "agent/agent.h"
#include "engine/launch_box.h"

/* The words of the client and of the agent behind it, each ended by NUL, into `out`. `resume`: the session to go on with, or
 * NULL. An agent that is not installed is an error here: the client would only exit early. */
int launch_client_words(const struct launch_box *box, const struct agent_adapter *adapter,
                        const char *resume, struct strbuf *out, size_t *ret_count,
                        struct error *err);
