/* proc.h: what the daemon wants to know of a process. Private to executor/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One line of /proc/PID/stat. */
struct process {
    char name[16]; /* as the kernel cuts it: 15 bytes */
    char state;    /* 'Z': it has ended, and has not been reaped yet */
    pid_t parent;  /* 0: it is in another pid namespace, as that of `docker exec` is */
    pid_t session;
    uint64_t start; /* clock ticks since boot: together with the pid no other process has it */
};

/* `proc` is "/proc", but for tests. 0 or -errno; -EPROTO: not such a line. */
int proc_read(const char *proc, pid_t pid, struct process *ret);

/* Is this a shim, and of this run? As its command line says. */
bool proc_is_shim(pid_t pid, const char *run);

/* KILL for everybody who was started with this variable ("NAME=value"). How many there were. */
unsigned proc_kill_marked(const char *variable);

/* KILL for everybody in the session of a leader that is dead. How many there were; 0 also when the
 * leader lives (then the number belongs to somebody else by now). */
unsigned proc_kill_session(pid_t leader);
