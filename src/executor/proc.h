/* proc.h: what the daemon wants to know of a process. Private to executor/. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Is this a shim, and of this run? As its command line says. */
bool proc_is_shim(pid_t pid, const char *run);

/* KILL for everybody who was started with this variable ("NAME=value"). How many there were. */
unsigned proc_kill_marked(const char *variable);

/* KILL for everybody in the session of a leader that is dead. How many there were; 0 also when the
 * leader lives (then the number belongs to somebody else by now). */
unsigned proc_kill_session(pid_t leader);
