/* cmd_pause.c: stops starting. It is kept on disk, so that no restart undoes it. */
#include "cli/pause.h"

static int cmd_pause_run(const struct cmd_call *call) {
    return pause_run(call, true);
}

const struct cmd cmd_pause = {
    .name = "pause",
    .usage = "pause [PROJECT...]",
    .summary = "start nothing new, of all projects or of some",
    .text =
        "What runs goes on, what is submitted is kept. The pause outlives the daemon; only\n"
        "'sluice resume' ends it. Pausing everything and pausing a project are two things, and\n"
        "each is resumed by itself.\n",
    .examples = "sluice pause\n"
                "sluice pause web\n",
    .max_args = CMD_ANY_ARGS,
    .run = cmd_pause_run,
};
