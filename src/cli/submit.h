/* submit.h: from the words of `add` and `run` to what the daemon is asked for.
 *
 * Here is only what the words mean; whether names exist and numbers are allowed, the daemon says. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "cli/cmd.h"

/* The options of one task; both commands have them. */
#define SUBMIT_OPTIONS                                                                             \
    { "project", 'p', "NAME", "the project it belongs to" },                                       \
        { "kind", 'k', "KIND", "its type: base priority, caps, how it is finished" },              \
        { "agent", 'a', "NAME", "give the words to this agent as a prompt" },                      \
        { "prompt", 0, "TEXT", "the prompt; without --agent for a worker of the roster" },         \
        { "prompt-file", 0, "FILE", "the prompt is in a file; - is stdin" },                       \
        { "title", 't', "TEXT", "what lists show of it" },                                         \
        { "priority", 'P', "N", "lower first; 100 if not given" },                                 \
        { "parent", 0, "ID", "make it a child of this task" },                                     \
        { "parent-gate", 0, "done|none", "start after its parent is done, or at once" },           \
        { "after", 'A', "ID", "start after this task is done; repeatable, or a list" },            \
        { "artifact", 0, "PATH", "start when this file is there, or is left by its parent" },      \
        { "spawn", 0, "PATH", "file of tasks it writes: its children when it has succeeded" },     \
        { "serial", 0, "PHASE", "never beside others of this project, phase and kind" },           \
        { "parallel", 0, NULL, "beside others, where the preset says serial" },                    \
        { "workspace", 'w', "PATH", "run in this workspace, alone" },                              \
        { "base-branch", 0, "BRANCH", "make its worktree from this branch" },                      \
        { "merge", 0, "none|local|direct|mr", "what is done with its good work" },                 \
        { "resource", 'R', "NAME", "needs a place of this resource; repeatable" },                 \
        { "limiter", 0, "NAME", "the provider account that it uses" },                             \
        { "until", 'u', "HOW", "finished by: exit, done, validate, external" },                    \
        { "check", 'c', "COMMAND", "must succeed after it (sh -c); repeatable" },                  \
        { "failover", 0, "auto|none", "whether other agents take it while its own is limited" },   \
        { "resume", 0, "auto|never", "go on with the agent's session after a limit or crash" },    \
        { "retries", 'r', "N", "how often a failed run is repeated" },                             \
        { "tokens", 0, "N", "tokens that all its runs may use" },                                  \
        { "usd", 0, "X", "dollars that all its runs may cost" },                                   \
        { "run-tokens", 0, "N", "tokens that one of its runs may use" },                           \
        { "run-usd", 0, "X", "dollars that one of its runs may cost" },                            \
        { "on-budget", 0, "hold|stop",                                                             \
          "a run that passes them goes on to its end, or is stopped" },                            \
        { "timeout", 0, "SPAN", "stop a run after this long: 90s, 30m, 2h" },                      \
        { "idle-timeout", 0, "SPAN", "stop a run that writes nothing for so long" },               \
        { "grace", 0, "SPAN", "from the stop signal to KILL" },                                    \
        { "stop-signal", 0, "TERM|INT", "how a run is asked to stop" },                            \
        { "executor", 0, "local|slurm", "run it on this machine, or as a job of Slurm" },          \
        { "slurm", 0, "KEY=VALUE", "partition, account, qos, gres, cpus …; repeatable" },          \
        { "sandbox", 0, "KIND", "auto, none, bubblewrap or podman" },                              \
        { "env", 'e', "KEY[=VALUE]", "set a variable, or pass on yours; repeatable" },             \
        { "cwd", 'C', "FOLDER", "where it runs, if not here; - the project's" },                   \
        { "stdin", 0, "FILE", "what it reads" }, { "memory", 0, "MB", "most memory of a run" },    \
        { "processes", 0, "N", "most processes of a run" },                                        \
        { "nice", 0, "N", "let other programs go first, 0 to 19" },                                \
        { "review", 0, NULL, "done only when somebody approves it" },                              \
        { "not-before", 0, "WHEN", "start not before: 18:30, 2027-01-31T18:30" },                  \
        { "in", 0, "SPAN", "start not before this long from now: 10m" },                           \
        { "external-id", 0, "TEXT", "its name elsewhere; the same one is added once" },            \
        { "meta", 0, "KEY=VALUE", "anything to keep with it, JSON or text; repeatable" }, {        \
        "group", 'g', "NAME", "follow it together with others"                                     \
    }

/* What the options of a whole batch are called there: ask_take_options. */
extern const char *const submit_batch_options[][2];

/* The submission object of one task: the options, and the arguments as its command or prompt. */
int submit_task(const struct cmd_call *call, json_t **ret_task, struct error *err);

/* The option of a single task that was given, or NULL: they do not go with a file of tasks. `but`: one that
 * does; or NULL. */
const char *submit_task_option(const struct cmd_call *call, const char *but);
