/* launch_cause.c: names of the launch causes. */
#include "base/launch_cause.h"

#include <string.h>

#include "base/macros.h"

static const char *const names[] = {
    [LAUNCH_PROGRAM] = "program", [LAUNCH_TASK] = "task",       [LAUNCH_WORKSPACE] = "workspace",
    [LAUNCH_CWD] = "cwd",         [LAUNCH_PREPARE] = "prepare", [LAUNCH_PROJECT] = "project",
    [LAUNCH_SANDBOX] = "sandbox", [LAUNCH_HOST] = "host",
};
_Static_assert(ARRAY_SIZE(names) == LAUNCH_CAUSE_MAX, "a cause has no name");

const char *launch_cause_name(enum launch_cause cause) {
    return names[cause];
}

enum launch_cause launch_cause_find(const char *name) {
    for (int cause = 0; name && cause < LAUNCH_CAUSE_MAX; cause++)
        if (strcmp(names[cause], name) == 0)
            return (enum launch_cause)cause;
    return LAUNCH_CAUSE_MAX;
}
