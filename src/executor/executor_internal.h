/* executor_internal.h: the interface between executor.c and its backends.
 *
 * Adding one
 *   1. NAME.c with its `const struct executor_backend` and executor_NAME_new
 *   2. it fills struct executor; callers reach it only through executor.c
 *   3. the tests of tests/run/ that are not about processes run on it too */
#pragma once

#include "executor/executor.h"

#define EXECUTOR_FEATURES_MAX 16

struct executor_backend {
    int (*start)(struct executor *ex, struct run_key run, const char *folder,
                 const struct run_spec *spec, struct error *err);
    bool (*is_busy)(const struct executor *ex); /* or NULL */
    int (*stop)(struct executor *ex, struct run_key run, enum stop_how how);
    enum adopted (*adopt)(struct executor *ex, struct run_key run, const char *folder,
                          const struct executor_known *known);
    struct executor_shim (*shim)(struct executor *ex, struct run_key run); /* or NULL */
    int (*sweep)(struct executor *ex, struct executor_sweep *sweep, struct error *err);
    void (*forget)(struct executor *ex, const char *task);
    void (*forget_folder)(struct executor *ex, const char *folder); /* or NULL: none here */
    bool (*doing)(const struct executor *ex, struct run_key run, struct strbuf *out); /* or NULL */
    size_t (*clean)(struct executor *ex, size_t *ret_kept);                           /* or NULL */
    struct cgroup_slot *(*slot_take)(struct executor *ex, bool limited,
                                     struct executor_slot *ret_slot); /* or NULL */
    void (*slot_give_back)(struct executor *ex, struct cgroup_slot *slot, pid_t guard,
                           enum guard_over how); /* the same */
    void (*free)(struct executor *ex);           /* frees `ex` too */
};

/* Common part; a backend's own struct begins with it. */
struct executor {
    const struct executor_backend *backend;
    struct executor_events events;
    uint32_t live;
    uint64_t kin_epoch; /* incremented when the shim of a run becomes known after its start */
    char host[256];
    char boot_id[40];
    struct executor_feature features[EXECUTOR_FEATURES_MAX];
    size_t feature_count;
};

/* Name of this host in rows; NULL: the system's host name. */
void executor_set_host(struct executor *ex, const char *host);

/* executor_kin with another directory than /proc, for tests. */
enum executor_kin kin_in(const struct executor *ex, const char *proc, pid_t pid);
