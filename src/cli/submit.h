/* submit.h: the requests of `add` and `run`, and warnings about agents.
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

/* Sends tasks, in one request or several, and prints what became of each.
 *
 *     struct submit submit = { .call = call };
 *     int code = submit_open(&submit);
 *     if (code == CMD_OK)
 *         code = submit_send(&submit, body); // more than once for many tasks
 *     return submit_end(&submit, code);
 *
 * All return an exit code after one message. With --dry-run nothing is added. */
struct submit {
    const struct cmd_call *call;
    /* Adds to the daemon's message where the task of the request comes from; NULL: nothing. */
    void (*locate)(const void *ctx, size_t index, struct error *err);
    const void *ctx;
    struct request req; /* its answer is that of the last request */

    /* Private: */
    json_t *all;    /* for --json */
    json_t *agents; /* for agent_warning_print */
    struct strbuf out;
    bool unchecked; /* there is no daemon to check a dry run */
    bool refused, warned;
};
int submit_open(struct submit *s);
int submit_send(struct submit *s, json_t *body); /* takes `body` */
int submit_end(struct submit *s, int code);      /* ends it also after a failure */

/* The tasks of a call with lists of inputs (cli/inputs.h): one for each row. */
bool submit_has_lists(const struct cmd_call *call);
int submit_lists(const struct cmd_call *call);

/* Agents of these tasks: an object NAME: sandbox of the first task that names it, or null. */
json_t *agent_warning_names(const json_t *tasks);
/* Warns of problems that will prevent these agents from working. Silent inside a run and for a
 * daemon elsewhere, which cannot be checked from here. Takes `names`. */
void agent_warning_print(struct request *req, json_t *names);
