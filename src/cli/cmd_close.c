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

const struct cmd cmd_close = {
    .name = "close",
    .usage = "close [--reason TEXT] ID...",
    .summary = "end tasks that wait to be closed from outside",
    .text = "For tasks with `until: external`: whoever knows that the work is really done says so. "
            "They are\n"
            "done then. As with `sluice approve`, `merge: direct` merges the branch first.\n",
    .examples = "sluice close web-17\n",
    .options = close_options,
    .min_args = 1,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_close_run,
};
