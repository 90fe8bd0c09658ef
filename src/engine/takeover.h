/* takeover.h: tasks that a person has taken over.
 *
 * The core knows which tasks these are (HOLD_TAKEN, also while they are queued and live); here is who
 * has taken them, since when, and at which terminal. The interactive session is an ordinary run of
 * the task, so limits, worktree, sandbox, secrets and crash safety need no second mechanism. It
 * differs in its command (launch.c), in its terminal (shim/terminal.c), and in its end, which leaves
 * the task held. */
#pragma once

#include "engine/engine.h"

/* The prompt of the next attempt if the person has no message for it. */
#define TAKEOVER_PROMPT                                                                            \
    "A person has worked in this session and gives it back to you. Look at what has changed. "     \
    "Continue with the task."

struct engine_taken {
    task_id task;    /* must be first: id_table.h */
    char *by;        /* who; NULL: unknown */
    time_ms at;      /* when */
    char *terminal;  /* the socket on which `sluice take` waits for the shim */
    char *term;      /* TERM of the person's terminal; NULL: unknown */
    char *shell;     /* for a task that has a command of its own */
    bool has_prompt; /* a message can continue it */
};

/* Inside a turn: stops its run, if it has one, and queues it for this person. Copies the texts. */
int engine_take(struct engine *engine, const struct engine_taken *how, struct error *err);
/* NULL: not taken over. */
const struct engine_taken *engine_taken(const struct engine *engine, task_id task);
/* Inside a turn, after the fact that releases it: the next attempt continues the session with
 * `message`; NULL: with TAKEOVER_PROMPT, or the message that it has not read yet. */
void engine_give_back(struct engine *engine, task_id task, const char *message, const char *by);
/* "taken over by ann"; false: it is not. */
bool engine_explain_taken(const struct engine *engine, task_id task, struct strbuf *out);

/* --- inside the engine ----------------------------------------------------------------------- */

struct live_run;

/* Is this the run of a person who has taken the task over? */
bool takeover_is_run(const struct engine *engine, const struct live_run *run);
