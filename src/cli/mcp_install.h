/* mcp_install.h: writes `sluice mcp` into the configuration of an agent.
 *
 * The change is shown first; it is made only with `write`. A file that cannot be read as what it should be
 * is left alone, and what to add by hand is shown instead. */
#pragma once

#include <stdbool.h>

struct mcp_install {
    const char *agent; /* one of AGENT_LIST_MCP */
    bool project;      /* the file of this folder instead of the user's */
    bool write;
    bool json; /* tell it as one JSON value */
};

/* An exit code. -1: there is no such agent. */
int mcp_install_run(const struct mcp_install *what);
/* Does the user's configuration of this agent have the server? -1: not known. */
int mcp_install_is_done(const char *agent);
