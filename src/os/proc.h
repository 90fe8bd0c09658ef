/* proc.h: other processes, as /proc shows them.
 *
 * A number is another process's as soon as its own has ended and was reaped. So what is signalled
 * is held by a pidfd that was opened before the process was looked at, or is known by number and
 * start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One line of /proc/PID/stat. */
struct proc_stat {
    char name[16]; /* as the kernel cuts it: 15 bytes */
    char state;    /* 'R' 'S' 'D' 'T' …; 'Z': it has ended, and has not been reaped yet */
    pid_t parent;  /* 0: it is in another pid namespace, as that of `docker exec` is */
    pid_t session;
    uint64_t start; /* clock ticks since boot: together with the pid no other process has it */
};

/* `proc` is "/proc", but for tests. 0 or -errno; -EPROTO: not such a line. */
int proc_read(const char *proc, pid_t pid, struct proc_stat *ret);
/* It does not exist, or is a zombie. False when that cannot be known. */
bool proc_has_ended(pid_t pid);
int64_t proc_memory(pid_t pid); /* bytes that it shares with no other; 0: unknown */

/* Calls `visit` for every child of every thread of `parent`. `visit` may recurse into this. */
typedef void (*proc_visit)(void *ctx, pid_t parent, pid_t pid, unsigned depth);
void proc_children(pid_t parent, proc_visit visit, void *ctx, unsigned depth);

int proc_open(pid_t pid); /* a pidfd, or -1 */
int proc_signal(int pidfd, int signal);

/* A small file, complete; -1: cannot read. `out` ends in NUL. */
ssize_t proc_file(int dir, const char *path, char *out, size_t size);

/* --- proc_sweep.c: all processes; with heap, not for the shim --------------------------------- */

/* Is this one of the texts in /proc/PID/environ or cmdline, and is `first`, unless NULL, the first
 * of them? False also for a process of another user. */
bool proc_has_text(pid_t pid, const char *file, const char *text, const char *first);

/* What a sweep has signalled: pidfds, of as many as fit. */
struct proc_swept {
    int *fds;
    unsigned max, count;
};

/* Signals every process that is wanted, except this one and the first. How many there were. `ret`
 * may be NULL. */
unsigned proc_sweep(bool (*wanted)(void *ctx, pid_t pid), void *ctx, int signal,
                    struct proc_swept *ret);
