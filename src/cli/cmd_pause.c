/* cmd_pause.c: stops starting. It is kept on disk, so that no restart undoes it. */
#include "cli/pause.h"

static int cmd_pause_run(const struct cmd_call *call) {
    return pause_run(call, true);
}

const struct cmd cmd_pause = { "pause", .max_args = CMD_ANY_ARGS, .run = cmd_pause_run };
