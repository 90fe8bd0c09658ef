/* listen.h: hears what the agents of live runs print. Private to engine/.
 *
 * Life of one:  listen_begin (launched, or found alive) → listen_some in each round → listen_end
 *               → listen_said, until its end is committed
 * The logs are read while they grow, never faster than a few times in a second, and never more than a slice
 * in one round of the loop. Nothing is piped through the daemon: after a restart they are read again from
 * their beginning.
 * Who:          runs that were launched by an agent's own command, and whose agent has an adapter that understands
 *               it. What a task brings as its own argv is nobody's output. */
#pragma once

#include "agent/agent.h"
#include "engine/engine_internal.h"

/* NULL: nobody reads what this agent prints (plain). */
const struct agent_adapter *listen_adapter(const struct engine *e, const char *agent);
void listen_begin(struct engine *e, const struct live_run *run,
                  const struct agent_adapter *adapter);

/* The last line that its agent has said, for people; NULL: nobody listens to it, or it has said nothing. */
const char *listen_last_line(const struct engine *e, struct run_key key);

/* True: there is more to read; finish_take_end follows. */
bool listen_end(struct engine *e, struct run_key key, const struct run_end *end);
/* Its last word; NULL: nobody has listened, or it has not ended. Valid until its end is committed. */
const struct agent_outcome *listen_said(const struct engine *e, struct run_key key);
