/* proc.h: processes as /proc shows them. Private to shim/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    pid_t parent;
    char state; /* 'R' 'S' 'D' 'T' 'Z' 'X' … */
};

bool proc_read(pid_t pid, struct proc_stat *ret);
int64_t proc_memory(pid_t pid); /* bytes that it shares with nobody; 0: unknown */

/* Calls `visit` for every child of every thread of `parent`. `visit` may recurse into this. */
typedef void (*proc_visit)(void *ctx, pid_t parent, pid_t pid, unsigned depth);
void proc_children(pid_t parent, proc_visit visit, void *ctx, unsigned depth);

int proc_open(pid_t pid); /* a pidfd, or -1 */
int proc_signal(int pidfd, int signal);

/* A small file, whole; -1: cannot read. `out` ends in NUL. */
ssize_t proc_file(int dir, const char *path, char *out, size_t size);
