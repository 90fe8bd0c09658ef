/* follow_ups.h: messages that continue finished tasks.
 *
 * A message is given to an attempt with its start order, and counts as used when that attempt has
 * ended, unless the end shows that the agent may not have read it. A resumed session gets the message
 * alone; a new one gets the prompt of the task and the message, until the task is final again. The
 * message is a note in the commit of its request, so a crash neither loses it nor uses it twice. */
#pragma once

#include "engine/engine.h"

#define FOLLOW_UP_MAX 32768u /* bytes of a message */

struct engine_follow_up {
    task_id task;
    char *text, *by; /* `by` may be NULL */
    time_ms at;
    uint32_t attempt; /* that was given the message last; 0: none yet */
    bool is_used;
    bool is_over; /* the task was final since */
};

/* The last message of a task; NULL: none. */
const struct engine_follow_up *engine_follow_up(const struct engine *engine, task_id task);
/* Inside a turn, after the fact that queues the task again: the next attempt gets this message. */
void engine_put_follow_up(struct engine *engine, task_id task, const char *text, const char *by);

/* --- inside the engine ----------------------------------------------------------------------- */

struct live_run;

/* The message that is the prompt of this attempt if it resumes a session; NULL: none. */
const char *follow_up_of_run(const struct engine *engine, const struct live_run *run);
/* For an attempt with a new session: the message, to follow the prompt. Nothing is added without one. */
void follow_up_context(const struct engine *engine, const struct live_run *run, struct strbuf *out);
