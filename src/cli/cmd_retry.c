/* cmd_retry.c: another chance for what failed or was canceled, with fresh counters. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "retry",
    .did = "retried",
    .all = "failed",
    .may = "failed,canceled",
};

static const struct cmd_option retry_options[] = {
    TASK_VERB_ALL_OPTIONS,
    { NULL },
};

static int cmd_retry_run(const struct cmd_call *call) {
    return task_verb_run(call, &verb, NULL);
}

const struct cmd cmd_retry = {
    .name = "retry",
    .usage = "retry ID...|--all [--project P] [--group G] [--state S]",
    .summary = "queue failed or canceled tasks again",
    .text = "Counters start afresh, the history stays, the iteration stays. --all means the failed "
            "ones; those\n"
            "that were canceled only when --state names them. A task that waits for its next "
            "attempt gets it "
            "now.\n",
    .examples = "sluice retry web-17\n"
                "sluice retry --all --group night\n"
                "sluice retry --all --state failed,canceled\n",
    .options = retry_options,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_retry_run,
};
