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

const struct cmd cmd_clear = {
    .name = "clear",
    .usage = "clear ID...|--all [--project P] [--group G] [--state S]",
    .summary = "take tasks out of the queue; they stay as drafts",
    .text = "Counters go back to 0 and kept places are given back. 'sluice sling' schedules them "
            "again. What\n"
            "runs is not touched.\n",
    .examples = "sluice clear web-17\n"
                "sluice clear --all --project web\n",
    .options = clear_options,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_clear_run,
};
