/* cgroup.h: a cgroup for each run, from a small pool. Private to executor/.
 *
 * Creating and removing a cgroup costs up to a tenth of a short run, so a slot is reused once its
 * run has ended and it is empty. Slots of an earlier daemon are never reused: a live shim may still
 * be in one. They are removed when they are free (cgroup_sweep).
 *
 * A killed daemon leaves its directory and its free slots. They have no owner if nothing holds a
 * flock on them: a pool holds a shared lock on its directory, and a shim on its slot, from before
 * the shim starts (cgroup_hold). Removal takes the exclusive lock first; a pool that meets that
 * lock waits and creates its directory again. A new pool removes what others left. A shim whose
 * daemon is dead removes its own slot, and the directory if it was the last one. */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

struct cgroup_pool;

struct cgroup_slot {
    char *path; /* absolute */
    /* Not reused: limits were set, or it was killed (some kernels then also kill processes created
     * in it later). */
    bool spoiled;
    bool is_empty; /* seen, and no process can come into it any more */
    struct cgroup_slot *next;
};

/* What the kernel supports. */
struct cgroup_facts {
    bool there;  /* a directory for runs could be created */
    bool kill;   /* cgroup.kill */
    bool memory; /* memory.max */
    bool pids;   /* pids.max */
    bool clone;  /* processes can be created in it directly */
};

/* Name of a pool, from a hash of its runs directory. */
#define CGROUP_NAME "sluice-%08" PRIx32

/* Never fails: without cgroups the pool stays empty. `name` (CGROUP_NAME) distinguishes daemons.
 * Also removes leftovers. */
struct cgroup_pool *cgroup_pool_new(const char *name, bool use);
/* Same in any directory, or NULL; for tests. */
struct cgroup_pool *cgroup_pool_new_in(const char *own, const char *name);
/* The caller has already closed the pipe from the shims: a shim that ends later removes its own
 * slot. */
struct cgroup_pool *cgroup_pool_free(struct cgroup_pool *pool); /* accepts NULL */
const struct cgroup_facts *cgroup_pool_facts(const struct cgroup_pool *pool);

/* Probes without a pool and leaves nothing behind. */
void cgroup_probe(struct cgroup_facts *ret);

struct cgroup_slot *cgroup_take(struct cgroup_pool *pool); /* NULL: run without a cgroup */
/* A descriptor that locks the slot, for the shim of its run; the caller closes its own. -1:
 * none. */
int cgroup_hold(const struct cgroup_slot *slot);
bool cgroup_is_held(const char *path); /* by the shim of a live run */
/* The run in the slot continues without this pool. cgroup_pool_free removes the slot if the run has
 * ended. Accepts NULL. */
void cgroup_leave(struct cgroup_pool *pool, struct cgroup_slot *slot);
/* The run in the slot has ended. Accepts NULL. */
void cgroup_give_back(struct cgroup_pool *pool, struct cgroup_slot *slot);
/* Removes slots of an earlier daemon that no live run uses. */
typedef bool (*cgroup_used)(void *ctx, const char *path);
void cgroup_sweep(struct cgroup_pool *pool, cgroup_used used, void *ctx);

/* Removes leftovers of daemons of any name beside our own directory, unless a run uses them. The
 * number examined is bounded to keep the start fast. Returns the number removed; `ret_kept`: the
 * number that have a live run. */
size_t cgroup_clean(const struct cgroup_pool *pool, size_t *ret_kept);

/* Was it created by a daemon with this name, anywhere in the hierarchy? */
bool cgroup_is_ours(const struct cgroup_pool *pool, const char *path);

/* The cgroup v2 path in a file such as /proc/PID/cgroup, relative to the root of the hierarchy, or
 * NULL. The caller frees it. */
char *cgroup_read_path(const char *file);
/* Is this cgroup a run's slot, of any daemon, or below one? Slots that also contain `own` do not
 * count. */
bool cgroup_is_in_slot(const char *path, const char *own);

/* Sends SIGKILL to every process in it, also in another daemon's cgroup. */
void cgroup_kill(const char *path);
bool cgroup_is_populated(const char *path); /* false also if it does not exist */
void cgroup_remove(const char *path);       /* if it is empty */
