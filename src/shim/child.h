/* child.h: between the shim and the process that becomes the command. Private to shim/. */
#pragma once

#include "shim/shim.h"

enum child_step {
    STEP_NONE,
    STEP_FORK,
    STEP_CWD,
    STEP_STDIN,
    STEP_EXEC,
    STEP_NICE,
    STEP_OOM,
    STEP_ENDED
};

/* What the child sends: at most one of each step. */
struct child_news {
    int step, error;
};

struct child {
    const struct shim *shim;
    const char *const *argv;
    const struct command_files *files;
    int report; /* closed by exec */
    bool join_cgroup;
};
_Noreturn void child_run(const struct child *child);
