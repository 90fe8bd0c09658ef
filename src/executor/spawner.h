/* spawner.h: starts processes. Private to executor/.
 *
 * posix_spawn, never fork: the daemon may be large, and copying its page tables would stop the loop. The kernel holds
 * the calling thread until the new process executes its program, which takes tens of milliseconds on a busy machine.
 * So runs are started by a thread of their own, and the loop answers meanwhile.
 *
 * All calls are for the thread of the loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

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

/* In the calling thread. 0, or an errno. */
int spawn_process(const struct spawn *spawn, pid_t *ret_pid);

struct loop;
struct spawner;

int spawner_new(struct loop *loop, struct spawner **ret, struct error *err);
/* Pending orders are carried out first; `done` is not called any more. Accepts NULL. */
struct spawner *spawner_free(struct spawner *spawner);

/* `error`: an errno, and no process. */
typedef void (*spawner_done)(void *ctx, pid_t pid, int error);

/* `done` is called once, from the loop. The order is copied; its descriptors become the spawner's. */
void spawner_start(struct spawner *spawner, const struct spawn *order, spawner_done done,
                   void *ctx);
size_t spawner_pending(const struct spawner *spawner); /* orders whose `done` was not called */
