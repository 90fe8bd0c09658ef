/* session_file.h: reads the files in which agents keep their sessions, for what the output of a run leaves out. Private to engine/.
 *
 * They are the agent's own, below the home directory that the run was launched with, and written by it: only numbers are taken from
 * them, of the end of a regular file, and no link is followed below the home directory. A file that is not there, because the run was
 * on another machine or the sandbox had no such folder, changes nothing. */
#pragma once

#include "agent/agent.h"
#include "engine/engine_internal.h"

/* Feeds what the reader wants. */
void session_files_read(struct engine *e, const struct live_run *run,
                        const struct agent_adapter *adapter, struct agent_reader *reader);
