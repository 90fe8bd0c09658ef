/* guard_report.h: what a guard (src/shim/guard.c) reports when it ends, besides its exit status.
 *
 * A record as in run directories: name, value, name, value. The first pair identifies it. */
#pragma once

#define GUARD_REPORT         "guard"
#define GUARD_REPORT_VERSION "1"
#define GUARD_ERRNO          "errno"         /* the command could not be started */
#define GUARD_MESSAGE        "message"       /* its message */
#define GUARD_CGROUP_KILLED  "cgroup_killed" /* no process may be created in its cgroup any more */
