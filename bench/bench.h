/* bench.h: shared by the measurements.
 *
 * Speed is shown as a ratio to something measured in the same run (a smaller queue, a bare heap,
 * the slow model), because absolute figures vary with the machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"

double bench_seconds(void);      /* processor time of this program: other load does not count */
double bench_wall_seconds(void); /* monotonic */

/* Prints one goal and whether it is met; bench exits with code 1 if one is not. */
void bench_goal(bool met, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A queue of ready tasks in several projects and classes, and the facts that keep its length constant. */
struct bench_queue {
    struct core *core;
    uint32_t projects, classes;
    uint32_t wishes;     /* number of tasks with a workspace of their own */
    time_ms ready_since; /* how long ago every task became ready */
    sym *project_names, *workspace_names, kind_names[4];
    task_id next;
    time_ms now;
};

void bench_queue_init(struct bench_queue *q, uint32_t projects, uint32_t classes, uint32_t wishes);
/* Makes one kind reach its limit: overdue tasks of that kind may reserve. */
void bench_queue_fill_kind(struct bench_queue *q);
void bench_queue_finish(struct bench_queue *q);
void bench_queue_add(struct bench_queue *q, uint32_t tasks);
/* Decides, ends all started runs, deletes their tasks and adds as many. Seconds and starts count only the
 * decisions; also counts the facts applied. */
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
