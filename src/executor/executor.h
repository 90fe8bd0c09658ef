/* executor.h: starts runs, watches them, and adopts them after a restart.
 *
 *   Life of a run:   executor_start → started (or ended with LAUNCH) → ended
 *                    executor_stop any time between
 *   After a restart: executor_adopt for every run that has no end in the store: `ended` follows at
 *                    once (from the loop) if it is over or lost, later if it is alive. For live
 *                    runs, `started` and `validating` are reported again.
 *   Promise:         `ended` comes exactly once per started or adopted run while this executor
 *                    exists, never from inside the call that caused it. After a crash the same end
 *                    is read from the run's directory and reported again.
 *   Lost:            no end was recorded and no process is alive. Never success.
 *   Never blocks:    a start is a few files and a request; a thread starts the process.
 *
 * One interface, two implementations: local (a shim on this host), Slurm (slurm.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "core/model.h"
#include "executor/helper_process.h"
#include "rundir/rundir.h"

struct loop;
struct executor;

struct run_key {
    task_id task;
    uint32_t attempt;
};

struct executor_events {
    /* The command is running. */
    void (*started)(void *ctx, struct run_key run, time_ms at);
    /* The command succeeded and its checks run now. */
    void (*validating)(void *ctx, struct run_key run);
    void (*ended)(void *ctx, struct run_key run, const struct run_end *end);
    void *ctx;
};

struct executor_options {
    const char *root;      /* parent of all run directories; created if missing, 0700 */
    const char *shim_path; /* path of sluice-shim */
    bool use_cgroup;       /* if the kernel supports it */
    const char *host;      /* name of this host in rows; NULL: the system's host name */
    bool stores_ends;      /* executor_end_is_stored is called for each end that was reported */
};

int executor_local_new(struct loop *loop, const struct executor_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err);
struct executor *executor_free(struct executor *ex); /* leaves all runs running; accepts NULL */

/* `folder` as rundir_name makes it. An error is a launch failure: nothing runs and no callback
 * follows. A process that cannot be started is reported later, as an end with LAUNCH. */
int executor_start(struct executor *ex, struct run_key run, const char *folder,
                   const struct run_spec *spec, struct error *err);

/* The maximum of pending starts is reached: retry after the next round of the loop. */
bool executor_is_busy(const struct executor *ex);

enum stop_how {
    STOP_GRACEFULLY,  /* stop signal, grace, KILL */
    STOP_IMMEDIATELY, /* KILL */
};
/* -ENOENT: no such live run. */
int executor_stop(struct executor *ex, struct run_key run, enum stop_how how);

/* The end of this run, as reported, is on disk. Its shim has waited for that and exits; else it
 * records the end itself after a moment. */
void executor_end_is_stored(struct executor *ex, struct run_key run);

enum adopted {
    ADOPTED_ALIVE,
    ADOPTED_ENDED, /* its end was found; `ended` follows */
    ADOPTED_LOST,  /* `ended` with RUN_END_LOST follows */
    ADOPTED_MAX,
};
/* Identity of a run's shim. Pid and start time together are unique within one boot and pid
 * namespace. */
struct executor_shim {
    pid_t pid;          /* 0: unknown */
    uint64_t start;     /* clock ticks since boot */
    uint64_t space;     /* inode of the pid namespace of `pid` */
    const char *cgroup; /* of the run, not of the shim; or NULL */
};
/* Of a live run: for the store, once `started` was called. The text is valid while the run is
 * alive. */
struct executor_shim executor_shim(struct executor *ex, struct run_key run);

/* What the store knows about a run. Missing values (0, NULL) are read from the run's directory,
 * which the run can write. */
struct executor_known {
    const char *boot_id;       /* boot in which it was started */
    const struct tag_key *key; /* key given to its shim */
    struct executor_shim shim;
};
/* If the shim of a lost run is dead but its cgroup has processes, they are killed first. */
enum adopted executor_adopt(struct executor *ex, struct run_key run, const char *folder,
                            const struct executor_known *known);

/* Examines every run directory once. `known` reports whether the store has that run. Unknown
 * directories without live processes are removed; live ones are watched and reported as
 * external. */
struct executor_sweep {
    bool (*known)(void *ctx, const char *task, uint32_t attempt);
    void (*external)(void *ctx, const char *task, uint32_t attempt, const struct run_started *who);
    void (*external_ended)(void *ctx, const char *task, uint32_t attempt); /* later */
    void *ctx;
    uint32_t removed; /* counted by the sweep */
    uint32_t left;    /* same: unknown directories that belong to another executor */
};
int executor_sweep(struct executor *ex, struct executor_sweep *sweep, struct error *err);

/* Deletes the directories of a task that is no longer kept, a few at a time in the background. */
void executor_forget(struct executor *ex, const char *task);
/* Same for one run directory of a task, "web-17/3", which has no live run. */
void executor_forget_folder(struct executor *ex, const char *folder);

uint32_t executor_live(const struct executor *ex); /* number of runs it watches */

/* Where a live run is or what it waits for, for users: "pending in Slurm: Resources". False:
 * nothing to show. */
bool executor_describe_run(const struct executor *ex, struct run_key run, struct strbuf *out);

/* Does this process belong to a run, of this executor or of any other daemon of this user? `ex` may
 * be NULL (standby). A daemon that itself runs inside a run treats other processes of that run as
 * its owner's. */
enum executor_process_origin {
    ORIGIN_OUTSIDE,
    ORIGIN_RUN,
    ORIGIN_UNKNOWN, /* it has ended or cannot be seen: refuse it */
};
enum executor_process_origin executor_process_origin(const struct executor *ex, pid_t pid);
/* Changes when executor_process_origin may answer differently for the same process than before. */
uint64_t executor_origin_epoch(const struct executor *ex);
const char *executor_boot_id(const struct executor *ex);
const char *executor_host(const struct executor *ex);

/* A cgroup for a guarded helper process (helper_process.h), as for a run. NULL: none. `limited`:
 * the guard sets limits in it. The caller closes the directory after the guard was started. */
struct cgroup_slot;
struct executor_slot {
    const char *path;
    int folder;
    int daemon; /* as in struct helper_guard; borrowed */
};
struct cgroup_slot *executor_slot_take(struct executor *ex, bool limited,
                                       struct executor_slot *ret_slot);
/* Called when the guard is over. Kills what a lost guard left, also without a slot. */
void executor_slot_give_back(struct executor *ex, struct cgroup_slot *slot, pid_t guard,
                             enum guard_over how);

/* What the kernel supports, probed once. */
struct executor_feature {
    const char *name; /* "cgroup.kill" "pidfd" "memory.max" "hole punching" … */
    bool there;
    const char *instead; /* fallback */
    const char *fix;     /* what the user can do; or NULL */
};
size_t executor_features(const struct executor *ex, const struct executor_feature **ret);
/* Removes the cgroups left here by killed daemons of any home; a start does that, too. Returns the
 * number of such daemons; `ret_kept`: the number of others that have a live run and are left as
 * they are. */
size_t executor_clean(struct executor *ex, size_t *ret_kept);
/* Same without an executor: what an executor with its runs in `folder` would find. `folder` need
 * not exist. Leaves nothing behind; not thread-safe. */
size_t executor_probe(const char *folder, const struct executor_feature **ret);
