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

const struct cmd cmd_reject = { "reject", .options = reject_options, .min_args = 1,
                                .max_args = CMD_ANY_ARGS, .run = cmd_reject_run };
