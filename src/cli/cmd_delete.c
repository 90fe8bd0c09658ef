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

const struct cmd cmd_delete = { "delete", .options = delete_options, .max_args = CMD_ANY_ARGS,
                                .run = cmd_delete_run };
