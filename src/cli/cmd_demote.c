/* cmd_demote.c: work that can wait. Only the priority changes; limits and gates hold as before. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "priority",
    .did = "demoted",
    .already = "is at the back already",
};

static int cmd_demote_run(const struct cmd_call *call) {
    return task_verb_run_priority(call, &verb, "back");
}

static const struct cmd_option demote_options[] = {
    { "priority", 'p', "N", "give them this priority instead; lower goes first" },
    { NULL },
};

const struct cmd cmd_demote = { "demote", .options = demote_options, .min_args = 1,
                                .max_args = CMD_ANY_ARGS, .run = cmd_demote_run };
