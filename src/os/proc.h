/* proc.h: other processes, as shown by /proc.
 *
 * A pid may be reused as soon as its process was reaped. So a process to be signaled is held by a
 * pidfd that was opened before it was examined, or is identified by pid and start time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef P_PIDFD
#define P_PIDFD 3 /* for waitid; missing in older C libraries */
#endif

/* One line of /proc/PID/stat. */
struct proc_stat {
    char name[16]; /* truncated by the kernel to 15 bytes */
    char state;    /* 'R' 'S' 'D' 'T' …; 'Z': a zombie that has not been reaped yet */
    pid_t parent;  /* 0: in another pid namespace, as for `docker exec` */
    pid_t session;
    uint64_t start; /* clock ticks since boot; unique together with the pid */
};

/* `proc` is "/proc", except in tests. 0 or -errno; -EPROTO: malformed. */
int proc_read(const char *proc, pid_t pid, struct proc_stat *ret);
/* It does not exist, or is a zombie. False if unknown. */
bool proc_has_ended(pid_t pid);
int64_t proc_memory(pid_t pid); /* private bytes; 0: unknown */

/* Calls `visit` for every child of every thread of `parent`. `visit` may recurse into this. */
typedef void (*proc_visit)(void *ctx, pid_t parent, pid_t pid, unsigned depth);
void proc_children(pid_t parent, proc_visit visit, void *ctx, unsigned depth);

int proc_open(pid_t pid); /* a pidfd, or -1 */
int proc_signal(int pidfd, int signal);

/* A small file, complete; -1: cannot read. `out` is NUL-terminated. */
ssize_t proc_file(int dir, const char *path, char *out, size_t size);

/* --- all processes; not for the shim ---------------------------------------------------------- */

/* Is this one of the strings in /proc/PID/environ or cmdline, and is `first`, unless NULL, the
 * first of them? False also for a process of another user. */
bool proc_has_text(pid_t pid, const char *file, const char *text, const char *first);

/* The signaled processes: pidfds, as many as fit. */
struct proc_swept {
    int *fds;
    unsigned max, count;
};

/* Signals every wanted process, except this one and pid 1. Returns their number. `ret` may be
 * NULL. */
unsigned proc_sweep(bool (*wanted)(void *ctx, pid_t pid), void *ctx, int signal,
                    struct proc_swept *ret);
