/* aside_guard.h: a guard as the daemon sees it (src/shim/guard.c). Private to executor/. */
#pragma once

#include "executor/aside.h"

#define GUARD_GRACE  SECONDS(3) /* unless spec->guard has another */
#define GUARD_MARGIN SECONDS(5) /* after the grace period, until the guard itself is killed */

/* Starts the guard of spec->guard with `out` as its output. 0, its process and the memory file that it reports in; or
 * an errno. The caller closes the file, also after an error; -1: there is none. */
int guard_spawn(const struct aside_spec *spec, int out, int *ret_file, pid_t *ret_pid);

/* Its command gets TERM, its process tree KILL after the grace period; then it ends. */
void guard_stop(pid_t guard);

struct guard_report {
    bool is_there; /* it has ended by itself, and nothing of its tree is left */
    bool cgroup_killed;
    int error; /* errno of a command that could not be run */
    char message[256];
};
void guard_read(int file, struct guard_report *ret);
