/* cmd_reject.c: says no to finished work that waits for a person: it is done again. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "reject",
    .did = "rejected",
};

static int cmd_reject_run(const struct cmd_call *call) {
    return task_verb_run(call, &verb, NULL);
}

const struct cmd cmd_reject = {
    .name = "reject",
    .usage = "reject ID...",
    .summary = "send finished work back for another iteration",
    .text = "For tasks that wait for review or to be closed: they wait again, and the iteration "
            "rises by one.\n",
    .examples = "sluice reject web-18\n",
    .min_args = 1,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_reject_run,
};
