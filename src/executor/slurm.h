/* slurm.h: the executor that hands its runs over to Slurm.
 *
 * The same shim, as a batch job. Slurm places, limits and accounts; what runs and when stays with Sluice,
 * and how a run ended is in its folder, which all nodes must see under the same path (`base.root`).
 *
 * Life of a run:  folder with spec and words for sbatch → sbatch (a few at once, beside the loop) →
 *                 pending in Slurm → a shim on a node begins → `started` → end.json → `ended`
 * Found by:       its token, the comment of its job. An answer of sbatch that was lost is looked for by it
 *                 before anything is submitted again.
 * Begun once:     the shim that begins and the daemon that gives a run up make the same name in its folder
 *                 (rundir.h, `begin`): exactly one of them succeeds. However many jobs there were, one shim
 *                 runs, and none after the run was declared lost or stopped.
 * Evidence:       a call that failed proves nothing. A controller that is away leaves every run as it is;
 *                 runs that wait to be submitted go on waiting (executor_describe_run says so).
 * Restart:        executor_adopt needs the folder alone: no lock, no boot id, and not the same host.
 *
 * Jobs of Slurm that another daemon of the same store has submitted are followed by their tokens. Those
 * that no run knows are left alone: their folders are closed, so they do nothing. */
#pragma once

#include "executor/executor.h"

struct executor_slurm_options {
    struct executor_options base; /* shim_path: as the nodes see it; use_cgroup is ignored */
    /* Programs; NULL: by their name in PATH. */
    const char *sbatch, *squeue, *sacct, *scancel, *scontrol, *sinfo;
    const char *cluster;      /* begins the tokens of runs that bring none; or NULL */
    time_ms poll_idle;        /* between two questions while nothing changes; 0: 15 s */
    time_ms poll_busy;        /* while something does; 0: 1 s */
    uint32_t submits_at_once; /* calls of sbatch side by side; 0: 8 */
    bool use_sacct;           /* ask the accounting for jobs that the controller has forgotten */
    const char *const
        *env;         /* the whole environment of these programs, and so of all jobs; NULL: ours */
    time_ms patience; /* before a run that nobody has seen is given up; 0: 15 s */
    time_ms
        retry; /* pause after the first call in a row that nobody answered, then twice as long; 0: 1 s */
};

/* An error: the folder or the shim is not there. A Slurm that does not answer is none. */
int executor_slurm_new(struct loop *loop, const struct executor_slurm_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err);

/* Which programs are there, without an executor. Runs nothing; for one thread. */
size_t executor_slurm_probe(const struct executor_slurm_options *options,
                            const struct executor_feature **ret);
