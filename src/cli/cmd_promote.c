/* cmd_promote.c: work that should go first. Only the priority changes; limits and gates hold as before. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "priority",
    .did = "promoted",
    .already = "is at the front already",
};

static int cmd_promote_run(const struct cmd_call *call) {
    return task_verb_run_priority(call, &verb, "front");
}

static const struct cmd_option promote_options[] = {
    { "priority", 'p', "N", "give them this priority instead; lower goes first" },
    { NULL },
};

const struct cmd cmd_promote = { "promote", .options = promote_options, .min_args = 1,
                                 .max_args = CMD_ANY_ARGS, .run = cmd_promote_run };
