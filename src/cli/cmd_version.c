/* cmd_version.c: which program is this? The number comes from the build. */
#include "cli/cmd.h"

static int cmd_version_run(const struct cmd_call *call) {
    (void)fputs(call->json ? "{\"version\":\"" SLUICE_VERSION "\"}\n"
                           : "sluice " SLUICE_VERSION "\n",
                stdout);
    return CMD_OK;
}

const struct cmd cmd_version = { "version", .run = cmd_version_run };
