/* spawner.h: starts processes. Private to executor/.
 *
 * Never by fork: the daemon may be large, and copying its page tables would block the loop. The kernel blocks the calling thread until the new process has executed its program, which
 * takes tens of milliseconds on a busy machine. So runs are started by a worker thread.
 *
 * Call only from the loop thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

#define SPAWN_FDS 8

#define SPAWN_NULL (-1) /* instead of a descriptor: /dev/null */

struct spawn {
    const char *program;                  /* without a slash: searched in PATH */
    const char *const *argv, *const *env; /* end with NULL */
    const char *cwd;                      /* NULL: the daemon's */
    int fds[SPAWN_FDS];                   /* become descriptors 0, 1, …; it inherits no others */
    size_t fd_count;
    unsigned kept;   /* bit N: fds[N] stays the caller's (spawner_start closes the others) */
    bool is_session; /* session leader; else process group leader */
    bool blocks;     /* starts with all signals blocked; then `program` is a path, without `cwd` */
    bool ignores_pipe; /* SIGPIPE stays ignored */
};

/* In the calling thread. Returns 0 or an errno. */
int spawn_process(const struct spawn *spawn, pid_t *ret_pid);

struct loop;
struct spawner;

int spawner_new(struct loop *loop, struct spawner **ret, struct error *err);
/* Pending requests are carried out first, without calling `done`. Accepts NULL. */
struct spawner *spawner_free(struct spawner *spawner);

/* `error`: an errno; then there is no process. */
typedef void (*spawner_done)(void *ctx, pid_t pid, int error);

/* `done` is called once, from the loop. The request is copied; the spawner owns its descriptors. */
void spawner_start(struct spawner *spawner, const struct spawn *order, spawner_done done,
                   void *ctx);
size_t spawner_pending(const struct spawner *spawner); /* requests whose `done` was not called */
