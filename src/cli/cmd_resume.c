/* cmd_resume.c: the end of a pause. */
#include "cli/pause.h"

static int cmd_resume_run(const struct cmd_call *call) {
    return pause_run(call, false);
}

const struct cmd cmd_resume = {
    .name = "resume",
    .usage = "resume [PROJECT...]",
    .summary = "end a pause, of everything or of some projects",
    .text = "What may start does so at once.\n",
    .examples = "sluice resume\n"
                "sluice resume web\n",
    .max_args = CMD_ANY_ARGS,
    .run = cmd_resume_run,
};
