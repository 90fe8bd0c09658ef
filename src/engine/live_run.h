/* live_run.h: a run that has not ended, and what was reported about it. Private to engine/. */
#pragma once

#include "engine/engine.h"
#include "engine/executors.h"
#include "engine/run_token.h"
#include "executor/executor.h"

/* --- proofs ----------------------------------------------------------------------------------- */

/* Distinguishes the records of a run from forged ones.
 *
 * A 256-bit key is created when the run is ordered to start and stored in the same commit. The shim
 * gets it and tags what it records (rundir/tag.h). The identity of the shim is stored when its
 * command was seen to run. Both leave the row when the run ends. Runs in Slurm have neither: there
 * is no way to pass a key that others cannot read. */

struct engine;
struct live_run;
struct run_row;

struct run_proof {
    struct tag_key key;
    bool has_key;
    struct executor_shim shim; /* owns its cgroup */
};

void run_proof_make(struct run_proof *proof);
void run_proof_finish(struct run_proof *proof);
/* NULL: none. */
const struct tag_key *run_proof_key(const struct run_proof *proof);

/* Asks the executor for the identity of the shim. True: it was unknown before. */
bool run_proof_learn(struct engine *e, struct live_run *run);

/* From and to the row of a run that has not ended. `hex` must outlive the row. */
void run_proof_read(struct run_proof *proof, const struct run_row *row);
void run_proof_write(const struct run_proof *proof, char hex[SHA256_HEX_SIZE], struct run_row *row);

/* --- runs ------------------------------------------------------------------------------------- */

struct live_run {
    task_id task;
    struct engine_run view; /* owns its folder */
    uint32_t iteration;
    char *agent;
    enum executor_kind executor;
    char *boot_id;          /* of the boot in which it was ordered */
    char *cwd;              /* of its command; NULL: see what its shim was given */
    struct run_proof proof; /* the key of its records' tags, and the identity of its shim */
    char *host;             /* if unreachable; else NULL */
    const char *place; /* data place when the rows were read; NULL: ours: recovery/data_folder.c */
    time_ms launch_deadline; /* until its command was seen; TIME_NEVER: seen */
    enum run_phase phase;
    struct run_token token;
    int64_t tokens_cached, cost_micro_usd; /* -1: not reported */
    int64_t tokens_total;  /* a reported total, in the tokens as far as it is not split; 0: none */
    char *session;         /* of its agent; NULL: unknown */
    char *model;           /* known at its end */
    const char *result;    /* the agent's own result, at its end; or NULL */
    char *sandbox;         /* the name of its kind; NULL: unknown */
    bool sandbox_asked;    /* the lookup was done */
    char *sandbox_root;    /* the folder that it may write, if sandboxed */
    bool resumes;          /* it continues an earlier session */
    bool gets_feedback;    /* with `resumes`, at its launch: the prompt is a message or feedback */
    bool adapter_known;    /* the choice of its listener is made */
    bool is_over_budget;   /* already reported */
    bool cost_is_guessed;  /* from the prices of its model, while it runs */
    bool is_metered;       /* its usage comes from telemetry: telemetry.h */
    time_ms limited_until; /* its provider asked it to wait; 0: no */
    char *spawner;         /* its task as submitted, if that spawns others; owned */
    bool spawner_known;    /* else the store must be asked for it */
    bool prepares;         /* its worktree is prepared before its command starts */
    bool deadline_moved;   /* its launch deadline was extended for that */
    bool own_command;      /* the task has its own command: failures do not count on the agent */
    enum launch_cause launch_cause; /* of a launch that fails before its shim runs */
    bool stop_now;                  /* a stop order kills at once */
    bool is_alive;                  /* found alive when the daemon started */
    bool is_unreachable;            /* on another host: hosts.h */
    bool is_confirmed;              /* its shim has reported that its command runs or has ended */
    bool is_unconfirmed;            /* it was asked to stop before: stopping.c */
    size_t position;                /* index in engine.live */
};
