/* launch_cause.h: why a run could not be launched.
 *
 * Set where the failure is found: by the shim, an executor or the engine. The names are in end.json
 * and in events, and never change once released. */
#pragma once

enum launch_cause {
    /* the agent: its program, settings or secrets; or it ended at once without output */
    LAUNCH_PROGRAM,
    LAUNCH_TASK,      /* of the task: its command, standard input or checks */
    LAUNCH_WORKSPACE, /* its worktree could not be created */
    LAUNCH_CWD,       /* its working directory */
    LAUNCH_PREPARE,   /* projects.P.prepare */
    LAUNCH_PROJECT,   /* settings or secrets of its project */
    LAUNCH_SANDBOX,   /* its directory cannot be used in a sandbox */
    LAUNCH_HOST,      /* the run directory, the shim, the store, the cluster */
    LAUNCH_CAUSE_MAX,
};
const char *launch_cause_name(enum launch_cause cause);
/* LAUNCH_CAUSE_MAX: unknown name. `name` may be NULL. */
enum launch_cause launch_cause_find(const char *name);
