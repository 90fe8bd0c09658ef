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

const struct cmd cmd_hold = {
    .name = "hold",
    .usage = "hold [--until WHEN] ID...",
    .summary = "keep tasks from starting",
    .text = "A task that runs cannot be held. WHEN is a span (90s, 30m, 2h, 1d), a time of day "
            "(18:30; tomorrow\n"
            "when it has passed), a day (2027-01-31) or both (2027-01-31T18:30). Without it the "
            "task waits for\n"
            "'sluice release'.\n",
    .examples = "sluice hold web-17 web-18\n"
                "sluice hold --until 18:30 web-17\n",
    .options = hold_options,
    .min_args = 1,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_hold_run,
};
