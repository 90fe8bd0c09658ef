/* run_proof.h: what tells the records of a run from those that others have written. Private to engine/.
 *
 * A key of 256 bits, made when the run is ordered to start and stored in the same commit: the shim gets it, and tags
 * what it records (rundir/tag.h). And who the shim is, stored when its command was seen to run. Both leave the row
 * when the run ends. Runs in Slurm have neither: there is no way to hand over a key that others cannot read. */
#pragma once

#include "executor/executor.h"

struct engine;
struct live_run;
struct run_row;

struct run_proof {
    struct tag_key key;
    bool has_key;
    struct executor_shim shim; /* its cgroup is owned */
};

void run_proof_make(struct run_proof *proof);
void run_proof_finish(struct run_proof *proof);
/* NULL: it has none. */
const struct tag_key *run_proof_key(const struct run_proof *proof);

/* Asks the executor who the shim is. True: that was not known. */
bool run_proof_learn(struct engine *e, struct live_run *run);

/* From and to the row of a run that has not ended. `hex` lives as long as the row. */
void run_proof_read(struct run_proof *proof, const struct run_row *row);
void run_proof_write(const struct run_proof *proof, char hex[SHA256_HEX_SIZE], struct run_row *row);
