/* submit.h: new tasks: what `add` and `run` send, and warnings about their agents.
 *
 * The options of one task are in the table of members (taskfile/task_members.inc), from which both commands include
 * theirs. The daemon checks names. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "cli/ask.h"
#include "cli/cmd.h"

/* What the options of a whole batch are called there: ask_take_options. */
extern const char *const submit_batch_options[][2];

/* The submission object of one task: the options, and the arguments as its command or prompt. */
int submit_task(const struct cmd_call *call, json_t **ret_task, struct error *err);

/* The option of a single task that was given, or NULL: they do not go with a file of tasks. `but`: one that
 * does; or NULL. */
const char *submit_task_option(const struct cmd_call *call, const char *but);

/* The agents that these tasks name: an object of names, each with the sandbox of the first task that names it, or null. */
json_t *agent_warning_names(const json_t *tasks);
/* Warns once for each. Takes `names`. */
void agent_warning_print(struct ask *ask, json_t *names);
