/* run_proof.c: see run_proof.h. */
#include "engine/run_proof.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/engine_internal.h"
#include "engine/executors_internal.h"
#include "os/random.h"

void run_proof_make(struct run_proof *proof) {
    random_bytes(proof->key.bytes, sizeof(proof->key.bytes));
    proof->has_key = true;
}

void run_proof_finish(struct run_proof *proof) {
    free((char *)(uintptr_t)proof->shim.cgroup);
    explicit_bzero(proof, sizeof(*proof));
}

const struct tag_key *run_proof_key(const struct run_proof *proof) {
    return proof->has_key ? &proof->key : NULL;
}

static void set_shim(struct run_proof *proof, const struct executor_shim *shim) {
    free((char *)(uintptr_t)proof->shim.cgroup);
    proof->shim = *shim;
    proof->shim.cgroup = shim->cgroup ? xstrdup(shim->cgroup) : NULL;
}

bool run_proof_learn(struct engine *e, struct live_run *run) {
    struct run_key key = { .task = run->task, .attempt = run->view.attempt };
    struct error err = { 0 };
    struct executor *ex = executor_of(e, run->executor, &err);
    struct executor_shim shim = ex ? executor_shim(ex, key) : (struct executor_shim){ 0 };
    if (shim.pid == 0 || shim.pid == run->proof.shim.pid)
        return false;
    set_shim(&run->proof, &shim);
    return true;
}

void run_proof_read(struct run_proof *proof, const struct run_row *row) {
    *proof = (struct run_proof){ 0 };
    proof->has_key = row->shim_key && sha256_from_hex(row->shim_key, proof->key.bytes);
    const struct executor_shim shim = { .pid = (pid_t)row->shim_pid,
                                        .start = (uint64_t)row->shim_start,
                                        .space = (uint64_t)row->shim_space,
                                        .cgroup = row->cgroup };
    set_shim(proof, &shim);
}

void run_proof_write(const struct run_proof *proof, char hex[SHA256_HEX_SIZE],
                     struct run_row *row) {
    if (proof->has_key) {
        sha256_hex(proof->key.bytes, hex);
        row->shim_key = hex;
    }
    row->shim_pid = proof->shim.pid;
    row->shim_start = (int64_t)proof->shim.start;
    row->shim_space = (int64_t)proof->shim.space;
    row->cgroup = proof->shim.cgroup;
}
