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

const struct cmd cmd_retry = { "retry", .options = retry_options, .max_args = CMD_ANY_ARGS,
                               .run = cmd_retry_run };
