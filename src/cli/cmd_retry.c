/* cmd_retry.c: another chance for what failed or was canceled, with fresh counters. */
#include "cli/cmd.h"

#include "cli/ask.h"
#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "retry",
    .did = "retried",
    .all = "failed",
    .may = "failed,canceled",
};

static const struct cmd_option retry_options[] = {
    { "allow", 0, "RULE",
      "let the agent do this from now on, in these tasks alone; may be repeated" },
    TASK_VERB_ALL_OPTIONS,
    { NULL },
};

static int cmd_retry_run(const struct cmd_call *call) {
    json_t *rules = json_array(), *body = json_object();
    const char *rule;
    for (size_t i = 0; (rule = cmd_value_at(call, "allow", i)); i++)
        json_array_append_new(rules, ask_string(rule));
    if (json_array_size(rules) > 0)
        json_object_set(body, "allow", rules);
    json_decref(rules);
    return task_verb_run(call, &verb, body);
}

const struct cmd cmd_retry = {
    .name = "retry",
    .usage = "retry [--allow RULE]... ID...|--all [--project P] [--group G] [--state S]",
    .summary = "queue failed, denied or canceled tasks again",
    .text = "Counters start afresh, the history stays, the iteration stays. --all means the failed "
            "ones; those\n"
            "that were canceled only when --state names them. A task that waits for its next "
            "attempt gets it "
            "now.\n"
            "A task whose agent was not permitted to do something is held (denied). --allow adds a "
            "rule in\n"
            "the agent's own form, and the next attempt goes on in the same session. 'sluice why' "
            "names the\n"
            "rule that is missing.\n",
    .examples = "sluice retry web-17\n"
                "sluice retry web-17 --allow 'Bash(git commit:*)'\n"
                "sluice retry --all --group night\n"
                "sluice retry --all --state failed,canceled\n",
    .options = retry_options,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_retry_run,
};
