/* cmd_up.c: starts the daemon. Commands that need one do it by themselves; this is for those who want to
 * see it, and for service managers (--foreground). */
#include <jansson.h>

#include "cli/ask.h"
#include "cli/daemon.h"
#include "os/home.h"

static int cmd_up_run(const struct cmd_call *call) {
    struct error err = { 0 };
    if (cmd_has(call, "foreground")) {
        if (cmd_has(call, "detach"))
            return cmd_usage_error(call->cmd, "'--foreground' and '--detach' exclude each other");
        (void)daemon_exec(&err);
        return cmd_fail(&err);
    }
    _cleanup_(home_finish) struct home home = { 0 };
    struct daemon_found found;
    if (home_find(&home, &err) < 0 || daemon_start(&found, &err) < 0)
        return cmd_fail(&err);
    if (call->json)
        return ask_print_json(json_pack("{s:i, s:b, s:s, s:s, s:s, s:s}", "pid", (int)found.pid,
                                        "already", found.already, "role",
                                        found.standby ? "standby" : "active", "home", home.data,
                                        "socket", home.socket, "log", home.log));
    const char *as = found.standby ? ", as a standby" : "";
    if (found.already)
        cmd_warn("the daemon runs already (pid %d)%s", (int)found.pid, as);
    else
        cmd_warn("the daemon runs (pid %d) in '%s'%s", (int)found.pid, home.data, as);
    return CMD_OK;
}

static const struct cmd_option up_options[] = {
    { "detach", 'd', NULL, "in the background, as it is without any option" },
    { "foreground", 'F', NULL, "do not return: for service managers" },
    { NULL },
};

const struct cmd cmd_up = { "up", .options = up_options, .run = cmd_up_run };
