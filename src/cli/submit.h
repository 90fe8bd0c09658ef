/* submit.h: the request of `add` and `run`, and warnings about agents.
 *
 * The options of a task are in taskfile/task_members.inc, which both commands include. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "cli/cmd.h"
#include "cli/request.h"

/* Options of a request with several tasks, for request_take_options. */
extern const char *const submit_batch_options[][2];

/* The submission object of one task, with the arguments as its command or prompt. An option with a
 * member (cmd_option.member) sets that member of the task. */
int submit_task(const struct cmd_call *call, json_t **ret_task, struct error *err);

/* Agents of these tasks: an object NAME: sandbox of the first task that names it, or null. */
json_t *agent_warning_names(const json_t *tasks);
/* Warns of problems that will prevent these agents from working. Silent inside a run and for a
 * daemon elsewhere, which cannot be checked from here. Takes `names`. */
void agent_warning_print(struct request *req, json_t *names);
