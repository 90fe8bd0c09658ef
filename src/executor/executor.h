/* executor.h: starts runs, watches them, and finds them again.
 *
 * Life of a run:   executor_start → started (or ended with LAUNCH) → ended
 *                  executor_stop any time between
 * After a restart: executor_adopt for every run that had not ended in the store: `ended` is called at
 *                  once (from the loop) when it is over or lost, later when it lives. Of those who live
 *                  `started` and `validating` are told again.
 * Promise:         `ended` comes exactly once per started or adopted run while this executor lives, never from inside
 *                  the call that caused it. After a crash the same end is told again: it is read from the
 *                  run's folder.
 * Lost:            no end was recorded and nobody lives. It is never success.
 * Never waits:     a start is a few files and an order; a thread starts the process.
 *
 * One interface, two implementations: local (a shim on this host), Slurm (slurm.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "core/model.h"
#include "executor/aside.h"
#include "rundir/rundir.h"

struct loop;
struct executor;

struct run_key {
    task_id task;
    uint32_t attempt;
};

struct executor_events {
    /* The command was seen to run. */
    void (*started)(void *ctx, struct run_key run, time_ms at);
    /* The command has ended well and its checks run now. */
    void (*validating)(void *ctx, struct run_key run);
    void (*ended)(void *ctx, struct run_key run, const struct run_end *end);
    void *ctx;
};

struct executor_options {
    const char *root;      /* folder of all run folders; made if missing, 0700 */
    const char *shim_path; /* the program sluice-shim */
    bool use_cgroup;       /* where the kernel lets us */
    const char *host;      /* what this host is called in rows; NULL: as the system calls it */
};

int executor_local_new(struct loop *loop, const struct executor_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err);
struct executor *executor_free(struct executor *ex); /* leaves every run alone; accepts NULL */

/* `folder` as rundir_name makes it. An error is a launch failure: nothing runs, nothing is called. A process that cannot be
 * started is told later, as an end with LAUNCH. */
int executor_start(struct executor *ex, struct run_key run, const char *folder,
                   const struct run_spec *spec, struct error *err);

/* It has as many starts before it as it can keep open: give it others after the next round of the loop. */
bool executor_is_busy(const struct executor *ex);

enum stop_how {
    STOP_POLITELY, /* stop signal, grace, KILL */
    STOP_AT_ONCE,  /* KILL */
};
/* -ENOENT: no such run lives here (any more). */
int executor_stop(struct executor *ex, struct run_key run, enum stop_how how);

enum adopted {
    ADOPTED_ALIVE,
    ADOPTED_ENDED, /* its end was found; `ended` follows */
    ADOPTED_LOST,  /* `ended` with RUN_END_LOST follows */
    ADOPTED_MAX,
};
/* Who the shim of a run is. Pid and start together are no other process's in one boot and one pid namespace. */
struct executor_shim {
    pid_t pid;          /* 0: not known */
    uint64_t start;     /* clock ticks since boot */
    uint64_t space;     /* number of the pid namespace in which the pid counts */
    const char *cgroup; /* of the run, not of the shim; or NULL */
};
/* Of a run that lives here: for the store, once `started` was called. The text lives as long as the run is here. */
struct executor_shim executor_shim(struct executor *ex, struct run_key run);

/* What the store has of a run. What it does not have (0, NULL) is taken from the run's folder, which the run can write. */
struct executor_known {
    const char *boot_id;       /* in which it was ordered */
    const struct tag_key *key; /* that its shim was given */
    struct executor_shim shim;
};
/* If the shim of a lost run is dead but processes of its cgroup are not, they are killed first. */
enum adopted executor_adopt(struct executor *ex, struct run_key run, const char *folder,
                            const struct executor_known *known);

/* Looks at every run folder once. `known` says whether the store has that run. Dead folders that it
 * does not know are removed; living ones are watched and reported as external. */
struct executor_sweep {
    bool (*known)(void *ctx, const char *task, uint32_t attempt);
    void (*external)(void *ctx, const char *task, uint32_t attempt, const struct run_started *who);
    void (*external_ended)(void *ctx, const char *task, uint32_t attempt); /* later */
    void *ctx;
    uint32_t removed; /* counted by the sweep */
    uint32_t left;    /* the same: folders that nobody knows and that are another executor's */
};
int executor_sweep(struct executor *ex, struct executor_sweep *sweep, struct error *err);

/* Removes the folders of a task that is not kept any more: a few at a time, aside. */
void executor_forget(struct executor *ex, const char *task);
/* The same for one folder of a task, "web-17/3"; no run lives in it. */
void executor_forget_folder(struct executor *ex, const char *folder);

uint32_t executor_live(const struct executor *ex); /* how many it watches */

/* What a run that lives here waits for or where it is, in a few words for people: "pending in Slurm:
 * Resources". False: there is nothing to say. */
bool executor_describe_run(const struct executor *ex, struct run_key run, struct strbuf *out);

/* Does this process belong to a run, of this executor or of any other daemon of this user? `ex` may be NULL: a standby.
 * A daemon that is in a run itself takes the other processes of that run for its owner's. */
enum executor_kin {
    KIN_NONE,
    KIN_RUN,
    KIN_UNKNOWN, /* it has ended, or cannot be seen from here: refuse it */
};
enum executor_kin executor_kin(const struct executor *ex, pid_t pid);
/* Rises when executor_kin may answer differently for a process that was asked about before. */
uint64_t executor_kin_epoch(const struct executor *ex);
const char *executor_boot_id(const struct executor *ex);
const char *executor_host(const struct executor *ex);

/* A cgroup for a guarded helper process (aside.h), like that of a run. NULL: there is none. `limited`: its guard sets
 * limits in it. The caller closes the folder when the guard has been started. */
struct cgroup_slot;
struct executor_slot {
    const char *path;
    int folder;
    int daemon; /* as in struct helper_guard; borrowed */
};
struct cgroup_slot *executor_slot_take(struct executor *ex, bool limited,
                                       struct executor_slot *ret_slot);
/* When the guard is over. Kills what a lost one has left, also without a slot. */
void executor_slot_give_back(struct executor *ex, struct cgroup_slot *slot, pid_t guard,
                             enum guard_over how);

/* What the kernel lets us do, probed once. */
struct executor_feature {
    const char *name; /* "cgroup.kill" "pidfd" "memory.max" "hole punching" … */
    bool there;
    const char *instead; /* what is done without it */
    const char *fix;     /* what a person can do; or NULL */
};
size_t executor_features(const struct executor *ex, const struct executor_feature **ret);
/* Removes the cgroups that daemons of any home have left here which were killed; a start does that, too. Returns how
 * many such daemons there were; `ret_kept`: how many more have a run that lives, and are left as they are. */
size_t executor_clean(struct executor *ex, size_t *ret_kept);
/* The same without an executor: what one would find that has its runs in `folder`, which need not be
 * there. Leaves nothing behind; for one thread. */
size_t executor_probe(const char *folder, const struct executor_feature **ret);
