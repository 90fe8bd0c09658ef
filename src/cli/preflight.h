/* preflight.h: checks an agent's program, version, login, permissions and MCP server before a task
 * fails.
 *
 * No provider is contacted, and no tokens are spent: only files, variables and the configuration
 * are checked. Only the version check runs the program. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "agent/agent.h"
#include "base/strbuf.h"
#include "config/config.h"

enum preflight_login { PREFLIGHT_LOGIN_UNKNOWN, PREFLIGHT_LOGIN_YES, PREFLIGHT_LOGIN_NO };

struct preflight {
    const char *agent; /* borrowed */
    const struct agent_adapter *adapter;
    char *program; /* as configured; NULL: none */
    char *path;    /* NULL: not found */
    const char
        *client_missing; /* Sluice's client program for it, if it is not installed; or NULL */
    char version[80];    /* one clean line; "": not asked, or not printed */
    enum preflight_login login;
    char login_by[160]; /* evidence of the login, or what is missing */
    bool is_sandboxed;
    enum agent_permission may;
    int mcp; /* 1: installed, 0: not, -1: unknown */
};

/* `listed`: the agent's item of /v1/agents, which knows the PATH of runs; NULL: no daemon, use
 * ours. `auto_box`: `sandbox: auto` means a sandbox here. */
void preflight_check(struct preflight *p, const char *agent, const struct config *config,
                     const json_t *listed, bool auto_box);
void preflight_finish(struct preflight *p);
/* An agent's item among those of /v1/agents; NULL: not listed. */
const json_t *preflight_find_listed(const json_t *listed, const char *agent);

/* True if something prevents it from working; sets the problem and what to do. */
bool preflight_problem(const struct preflight *p, struct strbuf *problem, struct strbuf *fix);
/* One line: path, version, login, permissions, MCP server. */
void preflight_describe(const struct preflight *p, struct strbuf *out);
json_t *preflight_json(const struct preflight *p);

/* Installed or configured agents. `listed`: the items of /v1/agents, or NULL. */
typedef void (*preflight_each)(void *ctx, const struct preflight *p);
void preflight_all(const struct config *config, const json_t *listed, bool auto_box,
                   bool with_versions, preflight_each each, void *ctx);
/* Without a daemon: is the sandbox program installed? */
bool preflight_guess_box(void);
