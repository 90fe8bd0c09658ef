/* cgroup.h: a cgroup for each run, from a small pool. Private to executor/.
 *
 * Making and removing one costs as much as a tenth of a short run, so a slot is used again once its run
 * has ended and nobody is in it. Slots of an earlier daemon are never given out: a shim that lives
 * may still use one. They are removed when they are free (cgroup_sweep).
 *
 * A daemon that is killed leaves its folder and its free slots. They belong to no daemon that lives when
 * nobody has a lock on them (flock of the folder itself): a pool has a shared one on its folder, and a shim
 * on its slot, from before its birth (cgroup_hold). Whoever removes takes the exclusive one first; a pool
 * that meets it waits that moment, and makes its folder again. A pool that is made removes what others have
 * left; a shim whose daemon is gone removes its own slot, and the folder if it was the last. */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

struct cgroup_pool;

struct cgroup_slot {
    char *path;   /* absolute */
    bool spoiled; /* limits were set, or it was killed (some kernels then kill whoever is born into
                     it): not used again */
    struct cgroup_slot *next;
};

/* What the kernel gave us. */
struct cgroup_facts {
    bool there;  /* a folder for runs could be made */
    bool kill;   /* cgroup.kill */
    bool memory; /* memory.max */
    bool pids;   /* pids.max */
    bool clone;  /* processes can be born in it */
};

/* What a pool is called, by a hash of the folder of its runs. */
#define CGROUP_NAME "sluice-%08" PRIx32

/* Never fails: without cgroups the pool is empty for ever. `name` tells several daemons apart: CGROUP_NAME. Cleans up. */
struct cgroup_pool *cgroup_pool_new(const char *name, bool use);
/* The same in any folder, or NULL; for tests. */
struct cgroup_pool *cgroup_pool_new_in(const char *own, const char *name);
/* The caller has closed the pipe from the shims: a shim that ends later removes its slot itself. */
struct cgroup_pool *cgroup_pool_free(struct cgroup_pool *pool); /* accepts NULL */
const struct cgroup_facts *cgroup_pool_facts(const struct cgroup_pool *pool);

/* The same without a pool, and without leaving anything: for who only wants to know. */
void cgroup_probe(struct cgroup_facts *ret);

struct cgroup_slot *cgroup_take(struct cgroup_pool *pool); /* NULL: runs without */
/* A descriptor with the lock of a run on its slot, for its shim; the caller closes its own. -1: none. */
int cgroup_hold(const struct cgroup_slot *slot);
bool cgroup_is_held(const char *path); /* by the shim of a run that lives in it */
/* The run in it has ended. Accepts NULL. */
void cgroup_give_back(struct cgroup_pool *pool, struct cgroup_slot *slot);
/* Slots of an earlier daemon that no living run uses: away with them. */
typedef bool (*cgroup_used)(void *ctx, const char *path);
void cgroup_sweep(struct cgroup_pool *pool, cgroup_used used, void *ctx);

/* Away with what daemons of any name have left beside our own folder, as far as no run uses it. Looks at so many that
 * a start does not notice it. Returns how many were removed; `ret_kept`: how many have a run that lives. */
size_t cgroup_clean(const struct cgroup_pool *pool, size_t *ret_kept);

/* Was it made by a daemon with this name, wherever that was? */
bool cgroup_is_ours(const struct cgroup_pool *pool, const char *path);

/* The cgroup v2 that a file such as /proc/PID/cgroup names, below the root of the hierarchy; NULL: none. To be freed. */
char *cgroup_read_path(const char *file);
/* Is this cgroup the slot of a run, of any daemon, or below one? Slots that `own` is in, too, do not count. */
bool cgroup_is_in_slot(const char *path, const char *own);

/* Of any path, also of another daemon's: everybody in it gets KILL. */
void cgroup_kill(const char *path);
bool cgroup_is_populated(const char *path); /* false also when it is not there */
void cgroup_remove(const char *path);       /* if nobody is in it */
