/* task_verb.h: the commands that do one thing to some tasks: cancel, retry, hold …
 *
 * Each is a row of task_verbs.c: which question to ask, and what to print of each task. The daemon does all of them or none; only with --all, where nobody named
 * a task, those that changed meanwhile are left out and the others done.
 *
 * Told, one line per task:   web-3 canceled        web-4 is canceled already
 *                            web-5 retried: ready  (a state that the word does not tell) */
#pragma once

#include <jansson.h>

#include "base/time_ms.h"
#include "cli/cmd.h"

struct task_verb {
    const char *op;      /* last part of the path: POST /v1/tasks/OP */
    const char *did;     /* what is said behind the id: "canceled" */
    const char *pending; /* said of a task that lives on for a moment; NULL: none does */
    const char *already; /* said instead of "is STATE already"; or NULL */
    /* For --all: the states meant by it, and those that --state may name; NULL: no --all. Both are
     * lists with commas. */
    const char *all, *may;
    time_ms timeout;   /* for the answer; 0: as usual */
    const char *alone; /* a filter of --all that also means something without it; or NULL */
};

/* An answer that waits for a merge, with the checks of its task. */
#define TASK_VERB_MERGE_TIMEOUT HOURS(24)

/* `body`: what the question has besides "tasks", or NULL; taken. */
int task_verb_run(const struct cmd_call *call, const struct task_verb *verb, json_t *body);
