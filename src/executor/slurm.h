/* slurm.h: the executor that submits its runs to Slurm.
 *
 * The same shim, as a batch job. Slurm places, limits and accounts; Sluice decides what runs and
 * when. The end of a run is in its directory, which all nodes must see under the same path
 * (`base.root`).
 *
 * Life of a run:  directory with spec and arguments for sbatch → sbatch (a few in parallel,
 *                 outside the loop) → pending in Slurm → a shim on a node begins → `started` →
 *                 end.json → `ended`
 * Found by:       its token, the comment of its job. After a lost answer of sbatch, the job is
 *                 searched by it before anything is submitted again.
 * Begun once:     the shim that begins and the daemon that gives a run up create the same name in
 *                 its directory (rundir.h, `begin`): exactly one succeeds. However many jobs there
 *                 were, one shim runs, and none after the run was declared lost or stopped.
 * Evidence:       a call that failed proves nothing. While the controller is unreachable every run
 *                 stays as it is, and queued runs keep waiting (executor_describe_run reports it).
 * Restart:        executor_adopt needs only the directory: no lock, no boot id, not the same host.
 *
 * Jobs that another daemon of the same store has submitted are followed by their tokens. Jobs of
 * unknown runs are left alone: their directories are closed, so they do nothing. */
#pragma once

#include "executor/executor.h"

struct executor_slurm_options {
    struct executor_options base; /* shim_path: as the nodes see it; use_cgroup is ignored */
    const char *programs;         /* folder of Slurm's programs; NULL: searched in PATH */
    const char *cluster;          /* prefix of tokens for runs that bring none; or NULL */
    time_ms poll_idle;            /* interval of queries while nothing changes; 0: 15 s */
    time_ms poll_busy;            /* while something changes; 0: 1 s */
    uint32_t submits_at_once;     /* parallel sbatch calls; 0: 8 */
    bool use_sacct;               /* query accounting for jobs that the controller has forgotten */
    /* Complete environment of these programs, and so of all jobs; NULL: the daemon's. */
    const char *const *env;
    time_ms patience; /* before a run that was never seen is given up; 0: 15 s */
    /* First backoff after a call without an answer, doubled for each further one; 0: 1 s. */
    time_ms retry;
};

/* Fails if the directory or the shim does not exist. An unreachable Slurm is not an error. */
int executor_slurm_new(struct loop *loop, const struct executor_slurm_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err);

/* Which programs are installed, without an executor. Runs nothing; not thread-safe. */
size_t executor_slurm_probe(const struct executor_slurm_options *options,
                            const struct executor_feature **ret);
