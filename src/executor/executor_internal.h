/* executor_internal.h: what executor.c and its two backends, local.c and slurm.c, share.
 *
 * Adding a backend
 *   1. NAME.c with its `const struct executor_backend` and executor_NAME_new
 *   2. its struct begins with struct executor, its run with struct executor_run
 *   3. the tests of tests/run/ that are not about processes run on it too */
#pragma once

#include "executor/executor.h"
#include "executor/run_table.h"

#define EXECUTOR_FEATURES_MAX 16

enum sweep_verdict {
    SWEEP_KEEP,   /* a process is alive there, or that is unknown */
    SWEEP_REMOVE, /* no longer needed */
    SWEEP_LEAVE,  /* belongs to another executor */
};

/* Common part of a run; a backend's own struct begins with it. */
struct executor_run {
    struct executor *executor;
    uint32_t index; /* in executor->runs; 0: its end was reported */
    struct run_key key;
    char *folder;
    /* Runs found only by the sweep, reported by name. NULL: one of ours. */
    char *external_task;
    uint32_t external_attempt;
    bool reported_started, reported_validating;
    bool has_end; /* recorded by its shim; else `end` is our conclusion */
    struct run_end end;
};

struct executor_backend {
    int (*start)(struct executor *ex, struct run_key run, const char *folder,
                 const struct run_spec *spec, struct error *err);
    bool (*is_busy)(const struct executor *ex); /* or NULL */
    int (*stop)(struct executor *ex, struct run_key run, enum stop_how how);
    void (*end_is_stored)(struct executor *ex, struct run_key run); /* or NULL */
    enum adopted (*adopt)(struct executor *ex, struct run_key run, const char *folder,
                          const struct executor_known *known);
    struct executor_shim (*shim)(struct executor *ex, struct run_key run); /* or NULL */
    /* A run directory that the store does not know and that no run of this executor uses. */
    enum sweep_verdict (*sweep_folder)(struct executor *ex, const char *folder, const char *task,
                                       uint32_t attempt);
    void (*swept)(struct executor *ex); /* after the last directory; or NULL */
    bool forgets_folders;               /* executor_forget_folder has an effect */
    bool (*describe_run)(const struct executor *ex, struct run_key run,
                         struct strbuf *out);               /* or NULL */
    size_t (*clean)(struct executor *ex, size_t *ret_kept); /* or NULL */
    struct cgroup_slot *(*slot_take)(struct executor *ex, bool limited,
                                     struct executor_slot *ret_slot); /* or NULL */
    void (*slot_give_back)(struct executor *ex, struct cgroup_slot *slot, pid_t guard,
                           enum guard_over how); /* the same */
    void (*free_run)(struct executor_run *run);  /* calls no callback */
    void (*free)(struct executor *ex);           /* frees `ex` too */
};

/* Common part; a backend's own struct begins with it. */
struct executor {
    const struct executor_backend *backend;
    struct executor_events events;
    struct loop *loop;
    int root; /* parent of all run directories; -1: not open */
    char *root_path, *shim_path;
    struct run_table runs; /* of struct executor_run */
    uint32_t live;
    struct executor_sweep sweep; /* callbacks for external runs */
    struct trash *trash;
    uint64_t origin_epoch; /* incremented when the shim of a run becomes known after its start */
    char host[256];
    char boot_id[40];
    struct executor_feature features[EXECUTOR_FEATURES_MAX];
    size_t feature_count;
};

/* The backend sets root, root_path, boot_id, trash and the features. */
void executor_init(struct executor *ex, const struct executor_backend *backend, struct loop *loop,
                   const struct executor_options *options, const struct executor_events *events);
/* Frees all runs; nothing is reported. */
void executor_free_runs(struct executor *ex);
/* Frees `ex`, too; its runs must have been freed. */
void executor_finish(struct executor *ex);

/* Adds a zeroed run to the table. */
void executor_run_init(struct executor_run *run, struct executor *ex, struct run_key key,
                       const char *folder);
/* Removes it from the table and frees it. */
void executor_run_finish(struct executor_run *run);

/* Each is reported once; external runs report only their end. */
void executor_report_started(struct executor_run *run, time_ms at);
void executor_report_validating(struct executor_run *run);
/* Both, as far as the shim has recorded them. */
void executor_report_progress(struct executor_run *run, const struct run_started *who);
/* Reports `end` and frees the run. */
void executor_report_end(struct executor_run *run);
/* Reports `end` and removes the run from the table. The backend frees it when its shim has exited. */
void executor_report_end_early(struct executor_run *run);
/* Marks a run as external and reports it to the caller of the sweep. */
void executor_report_external(struct executor_run *run, const char *task, uint32_t attempt,
                              const struct run_started *who);

/* executor_process_origin with another directory than /proc, for tests. */
enum executor_process_origin process_origin_in(const struct executor *ex, const char *proc,
                                               pid_t pid);
