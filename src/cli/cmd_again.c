/* cmd_again.c: does finished work once more, as a new iteration. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "again",
    .did = "again",
};

static int cmd_again_run(const struct cmd_call *call) {
    return task_verb_run(call, &verb, NULL);
}

const struct cmd cmd_again = { "again", .min_args = 1, .max_args = CMD_ANY_ARGS,
                               .run = cmd_again_run };
