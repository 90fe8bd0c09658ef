/* coming.h: what will happen to a queue by itself: hours open and close, and schedules add tasks.
 * `sim` and forecasts apply it at its time (sim/player.h, sim/forecast.h).
 *
 * Life:  coming_add_task, coming_add_open … → coming_begin → coming_next_… and coming_apply, in
 *        turns → coming_finish. A zeroed one is empty. */
#pragma once

#include "base/timer_heap.h"
#include "calendar/schedule.h"
#include "config/openings.h"
#include "core/core.h"

struct coming_task {
    time_ms at;
    sym schedule;          /* 0: none */
    struct task_spec spec; /* its lists are copies */
};

struct coming_open {
    task_id task;
    sym schedule;
};

struct coming {
    struct openings hours;
    time_ms offset; /* how far the wall clock is ahead of the clock of the queue */
    /* By time, then by number; tasks of one schedule with the same time are one firing. */
    struct coming_task *tasks;
    size_t task_count, task_capacity;
    struct coming_open *open; /* tasks of the last firing of each schedule; by task */
    size_t open_count, open_capacity;
    struct coming_overlap {
        sym schedule;
        enum schedule_overlap overlap;
    } * overlaps;
    size_t overlap_count, overlap_capacity;
    size_t next;               /* of `tasks` */
    struct timer_heap changes; /* handles: index in `hours` + 1 */
};

/* The lists of the spec are copied. */
void coming_add_task(struct coming *coming, time_ms at, sym schedule, const struct task_spec *spec);
/* A task of the last firing, which is in the queue. */
void coming_add_open(struct coming *coming, sym schedule, task_id task);
/* Not given: OVERLAP_SKIP. */
void coming_set_overlap(struct coming *coming, sym schedule, enum schedule_overlap overlap);
/* The schedule whose last firing added the task; 0: none. */
sym coming_schedule_of(const struct coming *coming, task_id task);

/* `apply` returns <0 to stop. */
typedef int (*coming_apply_fact)(void *ctx, const struct fact *fact);
/* Orders the tasks, and sets the hours as of `now`. */
int coming_begin(struct coming *coming, struct core *core, time_ms now, coming_apply_fact apply,
                 void *ctx);
time_ms coming_next_task(const struct coming *coming);   /* or TIME_NEVER */
time_ms coming_next_change(const struct coming *coming); /* of hours; or TIME_NEVER */
/* Everything that is due. */
int coming_apply(struct coming *coming, struct core *core, time_ms now, coming_apply_fact apply,
                 void *ctx);
void coming_finish(struct coming *coming); /* safe on a zeroed one; usable with _cleanup_ */
