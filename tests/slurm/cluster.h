/* cluster.h: the cluster that `make test-slurm` has started, as the tests of this folder see and mistreat it.
 *
 * SLUICE_TEST_SLURM is its folder, SLURM_CLUSTER the program scripts/slurm-cluster; both come from the environment.
 * A test leaves the cluster as it was: cluster_mend starts what was killed and gives drained nodes back, and comes
 * before each test, too, so that one that failed harms no other. */
#pragma once

#include <stddef.h>

#include "run/stage.h"

/* For cmocka: ends the program when there is no cluster. */
int cluster_is_there(void **state);
int cluster_mend(void **state);

/* A program of Slurm, its words apart by single spaces. What it printed, without the last newline; static memory, until
 * the next call. Fails the test when it fails; cluster_try returns its exit code instead. */
const char *cluster_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cluster_try(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* scripts/slurm-cluster VERB DIR PART */
void cluster_part(const char *verb, const char *part);

/* A stage whose runs are jobs of the cluster, and a spec whose run has a token of its own. */
struct stage *cluster_stage(void);
struct stage *cluster_stage_with(const struct executor_slurm_options *options);
struct run_spec cluster_spec(struct stage *stage, task_id task, const char *const *argv);
#define SHELL(script) ARGV("/bin/sh", "-c", script)
/* Submitted on its own terms: executor_start with cluster_spec. */
void cluster_start(struct stage *stage, task_id task, const char *const *argv);

/* As stage_await_end, for ends that Slurm itself takes minutes to notice. */
const struct run_end *cluster_await_end(struct stage *stage, task_id task);

/* The job of a run, waited for; and how many jobs have had its token. */
unsigned long cluster_job(struct stage *stage, task_id task);
unsigned cluster_jobs(const struct stage *stage, task_id task);
/* Until squeue says so about the job of the run: "RUNNING". */
void cluster_await_state(struct stage *stage, task_id task, const char *job_state);
/* Until executor_describe_run has this text in it. */
void cluster_await_doing(struct stage *stage, task_id task, const char *text);
/* Lines of a file in the home of the stage: how often commands have run. */
unsigned cluster_lines(const struct stage *stage, const char *file);
