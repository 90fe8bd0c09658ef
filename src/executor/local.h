/* local.h: runs on this host, each under its shim. Private to executor/.
 *
 *   local.c        makes the executor, starts and stops
 *   local_watch.c  hears from shims (one pipe for all of them) and notices their ends (a pidfd each)
 *   local_adopt.c  finds runs again after a restart; sweeps
 *   local_lost.c   kills what a dead shim has left; cgroups for guarded helper processes
 *   spare.c        run folders made ahead
 *   spawner.c      starts the shims, in a thread
 *   cgroup.c       slots;  features.c  what the kernel can
 * With Slurm: run_table.c, who there is; sweep.c, folders that nobody knows; trash.c, which deletes them. */
#pragma once

#include "executor/cgroup.h"
#include "executor/executor_internal.h"
#include "executor/run_table.h"
#include "executor/trash.h"
#include "os/loop.h"

struct spare;
struct spawner;

enum local_state {
    LOCAL_WATCHED,  /* its shim has a pidfd */
    LOCAL_HIDDEN,   /* the lock is held by a process that is not known yet */
    LOCAL_OVER,     /* `end` is known, to be told in the next round */
    LOCAL_DYING,    /* the shim is dead, what it has left is being killed */
    LOCAL_SPAWNING, /* its shim was ordered, and may run already */
};

struct local_run {
    struct local *ex;
    uint32_t index; /* in ex->runs */
    uint32_t generation;
    enum local_state state;
    struct run_key key;
    char *folder;
    /* Runs that only the sweep has found: told by name. NULL: one of ours. */
    char *external_task;
    uint32_t external_attempt;

    pid_t shim;
    uint64_t shim_start; /* 0: its pid is all that is known */
    bool is_stored;      /* the two come from the store: its lock file is not asked */
    struct tag_key tag_bytes;
    const struct tag_key *tag_key; /* what its shim records is tagged with it; or NULL */
    int pidfd;
    struct loop_watch *watch;
    struct cgroup_slot *slot; /* of our pool */
    char *old_cgroup;         /* of an earlier daemon; or NULL */
    struct strbuf early;      /* what its shim said before we knew that it runs */
    bool told_started, told_validating;
    bool stop_asked; /* before there was somebody to ask */
    enum stop_how stop_how;
    struct run_started who; /* adopted runs only */
    int lock_watch;         /* inotify on its lock file; -1: none */
    bool has_end;           /* recorded by its shim; else `end` is what we conclude */
    struct run_end end;
    time_ms give_up_at;     /* LOCAL_DYING: steady clock; 0: not set */
    struct local_run *next; /* in ex->pending */
};

struct local {
    struct executor base; /* first */
    struct loop *loop;
    int root;
    uint64_t pid_space;                       /* number of our pid namespace */
    char *root_path, *root_given, *shim_path; /* given: as the runs see it */
    int pipe_in, pipe_out;                    /* from the shims to us */
    struct loop_watch *pipe_watch;
    char line[2 * RUN_RECORD_MAX]; /* of the pipe: what is not whole yet */
    size_t line_length;

    struct run_table runs; /* struct local_run */
    uint32_t generation;

    struct local_run *pending; /* LOCAL_HIDDEN, LOCAL_OVER, LOCAL_DYING */
    struct loop_timer *pending_timer;
    time_ms pending_delay; /* until they are looked at again; rises while nothing happens */
    int inotify;           /* on lock files of adopted runs; -1: not opened yet */
    struct loop_watch *inotify_watch;
    struct executor_sweep sweep; /* whom to tell of external runs */
    struct cgroup_pool *cgroups;
    struct trash *trash;
    struct spare *spare;
    struct spawner *spawner;
};

static inline struct local *local_of(struct executor *ex) {
    return (struct local *)ex;
}

/* NULL: nobody has this number. */
static inline struct local_run *local_at(const struct local *ex, size_t index) {
    return run_table_at(&ex->runs, index);
}

/* --- local.c --------------------------------------------------------------------------------- */

struct local_run *local_run_new(struct local *ex, struct run_key key, const char *folder);
void local_run_free(struct local_run *run); /* nobody is told */
void local_set_key(struct local_run *run, const struct tag_key *key);
struct local_run *local_find(const struct local *ex, struct run_key key);

/* --- local_watch.c --------------------------------------------------------------------------- */

int local_open_pipe(struct local *ex, struct error *err);
/* `pidfd` becomes the run's. */
int local_watch_shim(struct local_run *run, int pidfd, struct error *err);
void local_signal(struct local_run *run, enum stop_how how);
/* Looked at again in the next round, and then every few milliseconds. */
void local_set_pending(struct local_run *run, enum local_state state);
void local_pending_due(void *ctx);
void local_tell_started(struct local_run *run, time_ms at); /* once */
void local_tell_validating(struct local_run *run);          /* once */
void local_hear_early(struct local_run *run);               /* now that its shim is known */
void local_tell_end(struct local_run *run);                 /* reports `end` and frees the run */
/* What became of a run whose shim is gone: `end` is read or concluded. */
void local_conclude(struct local_run *run);

/* --- local_adopt.c --------------------------------------------------------------------------- */

enum adopted local_adopt(struct executor *ex, struct run_key key, const char *folder,
                         const struct executor_known *known);
int local_sweep(struct executor *ex, struct executor_sweep *sweep, struct error *err);
/* Looks for who holds the lock. Afterwards the run is watched, over, dying, or still hidden. */
void local_unhide(struct local_run *run);

/* --- local_lost.c ---------------------------------------------------------------------------- */

/* Kills what a dead shim has left. true: nothing is left. */
bool local_kill_rest(struct local_run *run);
/* KILL for all processes in the session of a leader that is dead. How many there were; 0 also when the leader lives: then
 * the number is another process's by now. */
unsigned local_kill_session(pid_t leader);

struct cgroup_slot *local_slot_take(struct executor *ex, bool limited,
                                    struct executor_slot *ret_slot);
void local_slot_give_back(struct executor *ex, struct cgroup_slot *slot, pid_t guard,
                          enum guard_over how);

/* --- features.c ------------------------------------------------------------------------------ */

int features_probe(struct local *ex, struct error *err);
