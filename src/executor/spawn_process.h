/* spawn_process.h: one process, described; and how it is started. Private to executor/.
 *
 * posix_spawn, never fork: the daemon may be large, and copying its page tables would stop the loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SPAWN_FDS 8

#define SPAWN_NULL (-1) /* instead of a descriptor: /dev/null */

struct spawn {
    const char *program;                  /* without a slash: looked for in PATH */
    const char *const *argv, *const *env; /* end with NULL */
    const char *cwd;                      /* NULL: the daemon's */
    int fds[SPAWN_FDS]; /* the first becomes descriptor 0, the next 1 and so on; it has no others */
    size_t fd_count;
    bool is_session;   /* leads a session of its own; else a process group of its own */
    bool blocks;       /* all signals are blocked from its first instruction on */
    bool ignores_pipe; /* SIGPIPE stays ignored */
};

/* 0, or an errno. Holds the calling thread until the new process has begun to execute its program. */
int spawn_process(const struct spawn *spawn, pid_t *ret_pid);
