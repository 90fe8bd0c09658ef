/* cmd_release.c: lets held tasks go. */
#include "cli/cmd.h"

#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "release",
    .did = "released",
    .all = "held",
    .may = "held",
};

static const struct cmd_option release_options[] = {
    { "all", 'a', NULL, "every held task, instead of IDs" },
    { "project", 'p', "PROJECT", "with --all: only those of this project" },
    { "group", 'g', "GROUP", "with --all: only those of this group" },
    { NULL },
};

static int cmd_release_run(const struct cmd_call *call) {
    return task_verb_run(call, &verb, NULL);
}

const struct cmd cmd_release = { "release", .options = release_options, .max_args = CMD_ANY_ARGS,
                                 .run = cmd_release_run };
