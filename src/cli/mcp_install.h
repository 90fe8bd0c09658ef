/* mcp_install.h: writes `sluice mcp` into the configuration of an agent. */
#pragma once

#include "cli/cmd.h"

/* `mcp install`: shows the change, and makes it with --yes. Returns the exit code. */
int mcp_install_run(const struct cmd_call *call);
/* Does the user's configuration of this agent have the server? -1: unknown. */
int mcp_install_is_done(const char *agent);
