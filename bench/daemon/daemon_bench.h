/* daemon_bench.h: shared by the measurements of the daemon.
 *
 * Each figure stands beside the limit measured in the same run (bare SQLite commits, bare posix_spawn,
 * task-spooler), in rounds that alternate, as a median: machines differ and swing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "torture/rig.h"

#define BENCH_ROUNDS 3

struct bench_programs {
    const char *sluice, *stamp, *tsp; /* tsp NULL: not installed */
};

double bench_now(void); /* seconds, steady */
double bench_median(double *values, size_t count);
double bench_percentile(double *values, size_t count, double part);
/* Prints one goal and whether it holds. */
void bench_goal(bool met, const char *format, ...) __attribute__((format(printf, 2, 3)));
int bench_missed(void);
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A daemon that starts nothing until it is resumed. `config` may be NULL. */
void bench_open(struct rig *rig, const char *config);
void bench_pause(struct rig *rig, bool paused);
void bench_wait_drained(struct rig *rig);
/* Adds `count` tasks that run /bin/true, 1,000 in a request; seconds. */
double bench_bulk(struct rig *rig, size_t tasks);
double bench_bulk_in(struct rig *rig, size_t tasks, const char *cwd);

/* Resident memory of a process in kB, and how often it gave up the processor by itself. */
long bench_resident_kb(pid_t pid);
long bench_wakeups(pid_t pid);
/* The first child of this name, or 0. */
pid_t bench_child(pid_t parent, const char *name);

/* The measurements. */
void bench_submit(void);
void bench_drain(void);
void bench_sandbox(void);
void bench_followers(void);
void bench_latency(const struct bench_programs *programs);
void bench_hostile(const char *attempt); /* tests/escape/attempt */
void bench_idle(void);
void bench_depth(void);
/* Only when it is asked for: it needs a server, and others to compare. */
void bench_postgres(void);
/* The same. BENCH_SLURM: a folder; BENCH_SLURM_CLUSTER: scripts/slurm-cluster */
void bench_slurm(void);
