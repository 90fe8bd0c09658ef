/* cmd_approve.c: says yes to finished work that waits for a person. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "approve",
    .did = "approved",
    .timeout = TASK_VERB_MERGE_TIMEOUT,
};

static const struct cmd_option approve_options[] = {
    TASK_VERB_REASON,
    { NULL },
};

static int cmd_approve_run(const struct cmd_call *call) {
    return task_verb_run_reason(call, &verb);
}

const struct cmd cmd_approve = { "approve", .options = approve_options, .min_args = 1,
                                 .max_args = CMD_ANY_ARGS, .run = cmd_approve_run };
