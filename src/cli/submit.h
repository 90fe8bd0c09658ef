/* submit.h: new tasks: what `add` and `run` send, and warnings about their agents.
 *
 * The options of a task are in taskfile/task_members.inc, from which both commands include
 * theirs. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "cli/ask.h"
#include "cli/cmd.h"

/* Options of a request with several tasks, for ask_take_options. */
extern const char *const submit_batch_options[][2];

/* The submission object of one task: the options, and the arguments as its command or prompt. */
int submit_task(const struct cmd_call *call, json_t **ret_task, struct error *err);

/* An option of a single task that was given, except `but`, which may be NULL; or NULL. */
const char *submit_task_option(const struct cmd_call *call, const char *but);

/* The agents of these tasks: an object NAME: sandbox of the first task that names it, or null. */
json_t *agent_warning_names(const json_t *tasks);
/* Warns of what will keep these agents from working. Silent inside a run and for a daemon
 * elsewhere, where nothing can be seen from here. Takes `names`. */
void agent_warning_print(struct ask *ask, json_t *names);
