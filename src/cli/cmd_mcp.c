/* cmd_mcp.c: the MCP server that agents start, and how an agent is told to start it.
 *
 * Without an argument it serves until its input ends. `install` is an argument and no subcommand, because
 * `sluice mcp` alone is what stands in the configuration of every agent. */
#include "cli/cmd.h"

#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "cli/mcp_install.h"
#include "cli/mcp_stdio.h"

static int install(const struct cmd_call *call) {
    const struct mcp_install what = {
        .agent = cmd_value(call, "agent"),
        .project = cmd_has(call, "project"),
        .write = cmd_has(call, "yes"),
        .json = call->json,
    };
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    agent_names(AGENT_LIST_MCP, ", ", &known);
    if (!what.agent)
        return cmd_usage_error(call->cmd, "'install' needs --agent: %s", strbuf_text(&known));
    int code = mcp_install_run(&what);
    if (code >= 0)
        return code;
    return cmd_usage_error(call->cmd, "option '--agent': expected %s, got '%s'",
                           strbuf_text(&known), what.agent);
}

static int cmd_mcp_run(const struct cmd_call *call) {
    if (call->arg_count > 0 && strcmp(call->args[0], "install") == 0)
        return install(call);
    if (call->arg_count > 0)
        return cmd_usage_error(call->cmd, "'mcp' does not take the argument '%s'", call->args[0]);
    static const char *const options[] = { "agent", "project", "yes" };
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (cmd_has(call, options[i]))
            return cmd_usage_error(call->cmd, "option '--%s' belongs to 'mcp install'", options[i]);
    if (isatty(STDIN_FILENO))
        cmd_warn("this speaks MCP with the agent that starts it; 'sluice mcp install' tells an "
                 "agent to; Ctrl-D ends it");
    return mcp_stdio_run();
}

static const struct cmd_option mcp_options[] = {
    { "agent", 'a', "NAME", "install: into the settings of this agent" },
    { "project", 'p', NULL, "install: into the file of this folder, not the user's" },
    { "yes", 'y', NULL, "install: write the change, not only show it" },
    { NULL },
};

const struct cmd cmd_mcp = { "mcp", .options = mcp_options, .max_args = 1, .run = cmd_mcp_run };
