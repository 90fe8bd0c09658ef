/* cmd_resume.c: the end of a pause. */
#include "cli/pause.h"

static int cmd_resume_run(const struct cmd_call *call) {
    return pause_run(call, false);
}

const struct cmd cmd_resume = { "resume", .max_args = CMD_ANY_ARGS, .run = cmd_resume_run };
