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

const struct cmd cmd_cancel = {
    .name = "cancel",
    .usage = "cancel [--now] ID...|--all [--project P] [--group G] [--state S]",
    .summary = "give tasks up, stopping their runs",
    .text = "A run is told to stop (TERM, then KILL after its grace time); the task is canceled "
            "when the run\n"
            "has ended. If the run succeeds before the stop reaches it, the task is done. Retry "
            "undoes it.\n",
    .examples = "sluice cancel web-17\n"
                "sluice cancel --now web-17 web-18\n"
                "sluice cancel --all --project web\n",
    .options = cancel_options,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_cancel_run,
};
