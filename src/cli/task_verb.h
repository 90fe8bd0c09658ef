/* task_verb.h: the commands that do one thing to some tasks: cancel, retry, hold …
 *
 * Each is a `const struct task_verb` and three lines: which question to ask, and how to tell people
 * what became of each task. The daemon does all of them or none; only with --all, where nobody named
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

/* The options of a verb with --all. */
#define TASK_VERB_ALL_OPTIONS                                                                      \
    { "all", 'a', NULL, "every task that this can be done to, instead of IDs" },                   \
        { "project", 'p', "PROJECT", "with --all: only those of this project" },                   \
        { "group", 'g', "GROUP", "with --all: only those of this group" }, {                       \
        "state", 0, "STATE", "with --all: only those in this state; may be a list with commas"     \
    }

/* `body`: what the question has besides "tasks", or NULL; taken. */
int task_verb_run(const struct cmd_call *call, const struct task_verb *verb, json_t *body);
/* The option of a verdict. */
#define TASK_VERB_REASON                                                                           \
    { "reason", 'm', "TEXT", "why, for the history and for whoever does it again" }

/* With the option --reason, if it is given. */
int task_verb_run_reason(const struct cmd_call *call, const struct task_verb *verb);
/* With the option --priority N that number, else `to` ("front", "back"). */
int task_verb_run_priority(const struct cmd_call *call, const struct task_verb *verb,
                           const char *to);
