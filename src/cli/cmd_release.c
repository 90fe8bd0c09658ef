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

const struct cmd cmd_release = {
    .name = "release",
    .usage = "release ID...|--all [--project P] [--group G]",
    .summary = "let held tasks go",
    .text =
        "Whatever holds them: a person, a time, a backoff or the breaker. Tasks that wait for a "
        "person's word\n"
        "on finished work need approve, reject or close instead; with --all they are left out.\n",
    .examples = "sluice release web-17\n"
                "sluice release --all --project web\n",
    .options = release_options,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_release_run,
};
