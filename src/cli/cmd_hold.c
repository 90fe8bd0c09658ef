/* cmd_hold.c: keeps tasks from starting until somebody releases them, or until a time. */
#include "cli/cmd.h"

#include "cli/task_verb.h"
#include "os/clock.h"
#include "os/moment.h"

static const struct task_verb verb = {
    .op = "hold",
    .did = "held",
};

static const struct cmd_option hold_options[] = {
    { "until", 'u', "WHEN", "let them go by themselves at this time" },
    { NULL },
};

static int cmd_hold_run(const struct cmd_call *call) {
    const char *until = cmd_value(call, "until");
    if (!until)
        return task_verb_run(call, &verb, NULL);
    time_ms now = clock_read(), at;
    struct error err = { 0 };
    if (moment_parse(until, now, &at, &err) < 0)
        return cmd_usage_error(call->cmd, "option '--until': %s", err.text);
    if (at <= now)
        return cmd_usage_error(call->cmd, "option '--until': '%s' has passed", until);
    return task_verb_run(call, &verb, json_pack("{s:I}", "until", (json_int_t)at));
}

const struct cmd cmd_hold = { "hold", .options = hold_options, .min_args = 1,
                              .max_args = CMD_ANY_ARGS, .run = cmd_hold_run };
