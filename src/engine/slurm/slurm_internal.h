/* slurm_internal.h: the executors of one engine. Private to engine/. The local one
 * (engine.executor) always exists. That of Slurm is created when the first task needs it, or when
 * rows have tasks that did, so a machine without Slurm pays nothing. */
#pragma once

#include <jansson.h>

#include "engine/engine_internal.h"
#include "engine/executors.h"
#include "executor/helper_process.h"

struct executors {
    struct executor *slurm; /* NULL: not needed yet */
    enum executor_kind sweeping;
    struct slurm_check *check; /* NULL: not requested yet */
};

PART_STATE(executors, struct executors, executors_of)

/* The folder of Slurm's programs (slurm.programs); NULL: they are searched in PATH. */
const char *slurm_programs(const struct engine *e);
/* Runs a program of Slurm: `words` are its name and at most three arguments, NULL-terminated. As
 * helper_start with this spec, whose command line and environment are set here. */
#define SLURM_QUERY_WORDS 4
int slurm_query(struct engine *e, const char *const *words, struct helper_spec spec,
                helper_ended ended, void *ctx, struct helper_process **ret_helper);

/* The executor of a run of this kind. NULL: that of Slurm cannot be created. */
struct executor *executor_of(struct engine *e, enum executor_kind kind, struct error *err);

/* The host that its run rows name. */
const char *executors_host(const struct engine *e, enum executor_kind kind);

/* For a start order: sets the executor, and the boot that its row names. */
void executors_order(struct engine *e, struct live_run *run);
int executors_launch(struct engine *e, struct live_run *run, const struct run_spec *spec,
                     struct error *err);
/* As executor_stop, on the executor that has the run. */
int executors_stop(struct engine *e, struct run_key run, enum stop_how how);
enum adopted executors_adopt(struct engine *e, enum executor_kind kind, struct run_key run,
                             const char *folder, const struct executor_known *known);
int executors_sweep(struct engine *e, struct executor_sweep *sweep, struct error *err);

/* --- partitions ------------------------------------------------------------------------------- */

/* A task needs a slot: refresh sizes that are older than slurm.follow_s. */
void partitions_query(struct engine *e);

void slurm_check_free(struct engine *e);

/* --- Slurm jobs ------------------------------------------------------------------------------ */

/* What Slurm needs for a run. `task`: as submitted. Texts are in the arena. */
void slurm_fill_spec(struct engine *e, const struct live_run *run, const json_t *task,
                     struct arena *arena, struct run_spec *spec);
/* SLUICE_SOCKET of a run: the address of the daemon, or of one of several. */
const char *launch_address(const struct engine *e, const struct live_run *run, struct arena *arena);
/* SLUICE_PEERS: other addresses, in case another daemon of this machine takes over; NULL: none. */
const char *launch_peers(const struct engine *e, const struct live_run *run, struct arena *arena);
/* SLUICE_CA: the certificates that it trusts there; NULL: those of its system. */
const char *launch_ca(const struct engine *e, const struct live_run *run);
