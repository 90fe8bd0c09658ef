/* cmd_close.c: ends tasks whose end is decided outside of Sluice. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "close",
    .did = "closed",
    .timeout = TASK_VERB_MERGE_TIMEOUT,
};

static const struct cmd_option close_options[] = {
    TASK_VERB_REASON,
    { NULL },
};

static int cmd_close_run(const struct cmd_call *call) {
    return task_verb_run_reason(call, &verb);
}

const struct cmd cmd_close = { "close", .options = close_options, .min_args = 1,
                               .max_args = CMD_ANY_ARGS, .run = cmd_close_run };
