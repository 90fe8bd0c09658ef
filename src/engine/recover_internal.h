/* recover_internal.h: what the daemon finds when it starts. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"

/* A living run of a task that is finished, or that nobody knows. */
struct external {
    char *id;     /* of its task; owned */
    task_id task; /* 0: nobody knows it */
    uint32_t attempt;
};

/* --- recover.c ------------------------------------------------------------------------------- */

/* The event of the start, with what it found. */
void recover_write_report(struct engine *e);
/* A row, before the core is told: the next attempt at a finished task is not the one that lives. */
void recover_skip_attempts(const struct engine *e, struct task_spec *spec);

/* --- claim.c: runs that are younger than the rows --------------------------------------------- */

/* Life: claim_note for each (the sweep of the start) → claims_settle → load_core, which calls claim_task
 * and claims_write. They stay noted: once their rows are on disk they change nothing more, and until
 * then every core that is built anew must know of them. */

/* A run folder of a task that is known and not finished, with an attempt that is not. */
struct claim {
    task_id task;
    uint32_t attempt;
    enum executor_kind executor;
    enum adopted what;
    struct run_started who;
    bool counts; /* in the present core it is the run of its task; then: */
    enum task_state state_before;
    uint32_t attempt_before;
};

struct recovery {
    LIST(struct external) externals; /* live runs that are not ours */
    LIST(struct claim) claims;       /* runs that the rows do not know */
    task_id last_folder;             /* the highest task number of any run folder */
};

static inline struct recovery *recovery_of(const struct engine *e) {
    return e->part[PART_recovery];
}

/* A row, before the core is told: what it would say if it were as young as its run. */
void claim_task(struct engine *e, struct task_spec *spec);
