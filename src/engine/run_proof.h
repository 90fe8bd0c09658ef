/* run_proof.h: distinguishes the records of a run from forged ones. Private to engine/.
 *
 * A 256-bit key is created when the run is ordered to start and stored in the same commit. The shim
 * gets it and tags what it records (rundir/tag.h). The identity of the shim is stored when its
 * command was seen to run. Both leave the row when the run ends. Runs in Slurm have neither: there
 * is no way to pass a key that others cannot read. */
#pragma once

#include "executor/executor.h"

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
