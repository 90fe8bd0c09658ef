/* cmd_cancel.c: gives tasks up. A run that lives is stopped first; its recorded end decides. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "cancel",
    .did = "canceled",
    .pending = "is being stopped",
    .all = "waiting,ready,starting,running,held",
    .may = "draft,waiting,ready,starting,running,held",
};

static const struct cmd_option cancel_options[] = {
    { "now", 0, NULL, "kill the runs at once, without grace" },
    TASK_VERB_ALL_OPTIONS,
    { NULL },
};

static int cmd_cancel_run(const struct cmd_call *call) {
    json_t *body = cmd_has(call, "now") ? json_pack("{s:b}", "now", 1) : NULL;
    return task_verb_run(call, &verb, body);
}

const struct cmd cmd_cancel = { "cancel", .options = cancel_options, .max_args = CMD_ANY_ARGS,
                                .run = cmd_cancel_run };
