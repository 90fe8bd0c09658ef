/* cmd_reject.c: says no to finished work that waits for a person: it is done again. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "reject",
    .did = "rejected",
};

static const struct cmd_option reject_options[] = {
    TASK_VERB_REASON,
    { NULL },
};

static int cmd_reject_run(const struct cmd_call *call) {
    return task_verb_run_reason(call, &verb);
}

const struct cmd cmd_reject = {
    .name = "reject",
    .usage = "reject [--reason TEXT] ID...",
    .summary = "send finished work back for another iteration",
    .text = "For tasks that wait for review or to be closed: they wait again, and the iteration "
            "rises by one. The reason is\n"
            "in the feedback of that iteration.\n",
    .examples = "sluice reject --reason 'the tests of login fail' web-18\n",
    .options = reject_options,
    .min_args = 1,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_reject_run,
};
