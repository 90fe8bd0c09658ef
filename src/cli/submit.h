/* submit.h: from the words of `add` and `run` to what the daemon is asked for.
 *
 * The options of one task are in the table of members (taskfile/task_members.inc), from which both commands include
 * theirs. Whether names exist, the daemon says. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "cli/cmd.h"

/* What the options of a whole batch are called there: ask_take_options. */
extern const char *const submit_batch_options[][2];

/* The submission object of one task: the options, and the arguments as its command or prompt. */
int submit_task(const struct cmd_call *call, json_t **ret_task, struct error *err);

/* The option of a single task that was given, or NULL: they do not go with a file of tasks. `but`: one that
 * does; or NULL. */
const char *submit_task_option(const struct cmd_call *call, const char *but);
