/* daemon_bench.h: shared by the measurements of the daemon.
 *
 * Each figure is compared with a limit measured in the same run (bare SQLite commits, bare posix_spawn,
 * task-spooler), in alternating rounds, as a median, because absolute figures vary with the machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "goal.h"
#include "torture/rig.h"

#define BENCH_ROUNDS 3

struct bench_programs {
    const char *sluice, *stamp, *tsp; /* tsp NULL: not installed */
};

double bench_now(void); /* monotonic seconds */
double bench_median(double *values, size_t count);
double bench_percentile(double *values, size_t count, double part);
/* Prints a line, indented. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A daemon that is paused until it is resumed. `config` may be NULL. */
void bench_open(struct rig *rig, const char *config);
void bench_pause(struct rig *rig, bool paused);
void bench_wait_drained(struct rig *rig);
/* Adds `count` tasks that run /bin/true, 1,000 per request; returns seconds. */
double bench_bulk(struct rig *rig, size_t tasks);
double bench_bulk_in(struct rig *rig, size_t tasks, const char *cwd);

/* Resident memory of a process in kB, and its voluntary context switches. */
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
/* Only on request: it needs a server, and other queues to compare with. */
void bench_postgres(void);
/* Only on request. BENCH_SLURM: a folder; BENCH_SLURM_CLUSTER: scripts/slurm-cluster */
void bench_slurm(void);
