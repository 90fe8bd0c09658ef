/* cmd_clear.c: takes tasks out of the queue without losing them: they are drafts again. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "clear",
    .did = "cleared",
    .all = "waiting,ready,held",
    .may = "waiting,ready,held",
};

static const struct cmd_option clear_options[] = {
    TASK_VERB_ALL_OPTIONS,
    { NULL },
};

static int cmd_clear_run(const struct cmd_call *call) {
    return task_verb_run(call, &verb, NULL);
}

const struct cmd cmd_clear = { "clear", .options = clear_options, .max_args = CMD_ANY_ARGS,
                               .run = cmd_clear_run };
