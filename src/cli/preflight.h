/* preflight.h: can this agent work? Its program, version, login, permissions and MCP server, before a task fails.
 *
 * Nothing is asked of a provider, and no tokens are spent: files, variables and the configuration are looked at. Only the
 * version runs the program. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/agent.h"
#include "base/strbuf.h"
#include "config/config.h"

enum preflight_login { PREFLIGHT_LOGIN_UNKNOWN, PREFLIGHT_LOGIN_YES, PREFLIGHT_LOGIN_NO };

struct preflight {
    const char *agent; /* the caller's */
    const struct agent_adapter *adapter;
    char *program; /* as configured; NULL: none */
    char *path;    /* where it is; NULL: it was not found */
    const char *
        client_missing; /* the program of Sluice that speaks with it, if it is not installed; or NULL */
    char version[80]; /* one clean line; "": not asked, or it printed none */
    enum preflight_login login;
    char login_by[160]; /* what shows it, or what is missing */
    bool is_sandboxed;
    enum agent_permission may;
    int mcp; /* 1: installed, 0: not, -1: not known */
};

/* `listed`: the agent's item of /v1/agents, which knows the PATH of the runs; NULL: no daemon, and ours is taken. `auto_box`:
 * does `sandbox: auto` mean one here? */
void preflight_look(struct preflight *p, const char *agent, const struct config *config,
                    const json_t *listed, bool auto_box);
void preflight_finish(struct preflight *p);

/* What keeps it from working, and what to do: true, or false when nothing is known to. */
bool preflight_problem(const struct preflight *p, struct strbuf *problem, struct strbuf *fix);
/* One line: path, version, login, permissions, MCP server. */
void preflight_describe(const struct preflight *p, struct strbuf *out);
json_t *preflight_json(const struct preflight *p);

/* The agents that are here or that the configuration names. `listed`: the items of /v1/agents, or NULL. */
typedef void (*preflight_each)(void *ctx, const struct preflight *p);
void preflight_all(const struct config *config, const json_t *listed, bool auto_box,
                   bool with_versions, preflight_each each, void *ctx);
/* Without a daemon: is the program of the sandbox here? */
bool preflight_guess_box(void);
