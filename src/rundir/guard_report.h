/* guard_report.h: what a guard (src/shim/guard.c) tells the daemon at its end, beside its exit status.
 *
 * A record as those of run folders: name, value, name, value. The first pair says that it is one. */
#pragma once

#define GUARD_REPORT         "guard"
#define GUARD_REPORT_VERSION "1"
#define GUARD_ERRNO          "errno"         /* the command could not be started */
#define GUARD_MESSAGE        "message"       /* why, in a sentence */
#define GUARD_CGROUP_KILLED  "cgroup_killed" /* nothing may be born into its cgroup any more */
