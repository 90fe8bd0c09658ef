/* bench.h: what the measurements share.
 *
 * Speed is shown as ratios against something measured in the same run (a smaller queue, a bare heap,
 * the slow model), because absolute figures swing with the machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"

double bench_seconds(void);      /* processor time of this program: others do not count */
double bench_wall_seconds(void); /* steady clock */

/* Prints one goal and whether it holds; bench ends with exit code 1 if one does not. */
void bench_goal(bool met, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A queue of ready tasks over several projects and classes, and the facts that keep it that long. */
struct bench_queue {
    struct core *core;
    uint32_t projects, classes;
    uint32_t wishes;     /* number of tasks that name a workspace of their own */
    time_ms ready_since; /* how long ago every task became ready */
    sym *project_names, *workspace_names, kind_names[4];
    task_id next;
    time_ms now;
};

void bench_queue_init(struct bench_queue *q, uint32_t projects, uint32_t classes, uint32_t wishes);
/* One kind is at its limit from now on: tasks that wait for it may reserve when they are overdue. */
void bench_queue_fill_kind(struct bench_queue *q);
void bench_queue_finish(struct bench_queue *q);
void bench_queue_add(struct bench_queue *q, uint32_t tasks);
/* Decides, ends everything that started, forgets it and adds as many. Seconds and starts of the
 * decisions alone; facts applied. */
struct bench_round {
    double seconds, fact_seconds;
    uint64_t starts, facts;
};
void bench_queue_round(struct bench_queue *q, struct bench_round *sum);

void bench_adapter(void);
void bench_json(void);
void bench_decisions(void);
void bench_snapshot(const char *sluice);
void bench_simulation(void);
