/* sweep.h: every run folder that the store does not know, looked at once. Private to executor/. */
#pragma once

#include <stdint.h>

#include "executor/executor.h"

struct run_table;
struct trash;

/* What is to become of a folder. */
enum sweep_verdict {
    SWEEP_KEEP,   /* somebody lives there, or nobody can say */
    SWEEP_REMOVE, /* nobody needs it any more */
    SWEEP_LEAVE,  /* it is another executor's */
};

struct sweep {
    int root; /* the folder of all run folders */
    const char *root_path;
    struct trash *trash;
    const struct run_table *runs; /* whose folders are left alone */
    enum sweep_verdict (*look)(void *ctx, const char *folder, const char *task, uint32_t attempt);
    void *ctx;
};

/* As executor_sweep. */
int sweep_folders(const struct sweep *sweep, struct executor_sweep *told, struct error *err);
