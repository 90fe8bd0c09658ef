/* executors_internal.h: the executors of one engine. Private to engine/.
 *
 * That of this machine is there from the beginning (engine.executor). That of Slurm is made when the first task needs it, or when the
 * rows tell of tasks that did: a machine without Slurm pays nothing. */
#pragma once

#include <jansson.h>

#include "engine/engine_internal.h"
#include "engine/executors.h"

struct executors {
    struct executor *slurm; /* NULL: nobody has needed it yet */
    enum executor_kind sweeping;
    struct slurm_look *look; /* slurm_look.h; NULL: nobody has asked */
};

static inline struct executors *executors_of(const struct engine *e) {
    return e->part[PART_executors];
}

/* The programs of Slurm: where, NULL: in PATH; and the environment that they get, ended with NULL. */
#define EXECUTORS_ENV_MAX  12
#define EXECUTORS_PROGRAMS 6
struct executor_slurm_options;
/* Those of an executor; the paths must live as long as the options. */
void executors_programs(const struct engine *e, struct strbuf paths[EXECUTORS_PROGRAMS],
                        struct executor_slurm_options *ret);
const char *executors_program(const struct engine *e, const char *name, struct strbuf *out);
void executors_environment(const struct engine *e, const char *ret_env[EXECUTORS_ENV_MAX + 1]);

/* The one that a run has, or will have. NULL: Slurm's cannot be made. */
struct executor *executor_of(struct engine *e, enum executor_kind kind, struct error *err);

/* What its rows have for the host. */
const char *executors_host(const struct engine *e, enum executor_kind kind);

/* A start order: which executor, and the boot that its row names. */
void executors_order(struct engine *e, struct live_run *run);
int executors_launch(struct engine *e, struct live_run *run, const struct run_spec *spec,
                     struct error *err);
/* As executor_stop, of the executor that has the run. */
int executors_stop(struct engine *e, struct run_key run, enum stop_how how);
/* The start of the daemon: everything that rows or folders may need is there. */
int executors_start(struct engine *e, struct error *err);
enum adopted executors_adopt(struct engine *e, enum executor_kind kind, struct run_key run,
                             const char *folder, const struct executor_known *known);
int executors_sweep(struct engine *e, struct executor_sweep *sweep, struct error *err);

/* --- preparing a worktree -------------------------------------------------------------------- */

/* How much longer the launch of this run may take because of it; 0: no longer. */
time_ms launch_prepare_time(const struct engine *e, const struct live_run *run);

/* --- Slurm jobs ------------------------------------------------------------------------------ */

/* What Slurm must know of a run that it gets. `task`: as it was submitted. Texts live in the arena. */
void launch_place(struct engine *e, const struct live_run *run, const json_t *task,
                  struct arena *arena, struct run_spec *spec);
/* Where a run reaches the daemon, or one of several: its SLUICE_SOCKET. */
const char *launch_address(const struct engine *e, const struct live_run *run, struct arena *arena);
/* Where else it is heard, when another daemon of this machine has taken over: its SLUICE_PEERS; NULL: nowhere. */
const char *launch_peers(const struct engine *e, const struct live_run *run, struct arena *arena);
/* Whose certificates it trusts there: its SLUICE_CA; NULL: those that its system trusts. */
const char *launch_ca(const struct engine *e, const struct live_run *run);
