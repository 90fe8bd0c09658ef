/* cmd_delete.c: removes tasks that are over, with their runs and logs. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "delete",
    .did = "deleted",
    .all = "done,failed,canceled,invalidated",
    .may = "draft,done,failed,canceled,invalidated",
};

static const struct cmd_option delete_options[] = {
    TASK_VERB_ALL_OPTIONS,
    { NULL },
};

static int cmd_delete_run(const struct cmd_call *call) {
    return task_verb_run(call, &verb, NULL);
}

const struct cmd cmd_delete = {
    .name = "delete",
    .usage = "delete ID...|--all [--project P] [--group G] [--state S]",
    .summary = "remove finished tasks and drafts for good",
    .text = "With their runs, logs and events. Only drafts and tasks that are over; cancel others "
            "first. Deleting\n"
            "a task that is not done fails what depends on it, and every task below it. --all "
            "means what is\n"
            "over; drafts only when --state names them.\n",
    .examples = "sluice delete web-17\n"
                "sluice delete --all --state done --project web\n",
    .options = delete_options,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_delete_run,
};
