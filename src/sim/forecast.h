/* forecast.h: when would each waiting task start, if all runs succeeded from now on?
 *
 * Life:      core_copy (where the original lives) → forecast_run (anywhere, also in a thread)
 *            → forecast_start … → forecast_finish, core_free
 * Assumed:   each run takes as long as runs of its project and kind took on average, and succeeds.
 *            Nothing is approved, released, added or canceled; a gate that is open now closes only by what the
 *            forecast itself uses.
 * Result:    the start of each task that starts. Tasks that wait for a person, for an artifact, or beyond the last
 *            step have none: TIME_NEVER means "unknown".
 * Pure:      reads no clock and no globals, changes nothing but the copy and its own memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

/* What runs of a project and kind were like. kind 0: its runs of any other kind. */
struct forecast_mean {
    sym project, kind;
    time_ms duration;
    int64_t tokens; /* -1: unknown */
};

struct forecast_options {
    time_ms now;
    const struct forecast_mean *means; /* in any order; the first that fits counts */
    size_t mean_count;
    time_ms default_duration; /* of a project that has no mean */
    time_ms horizon;          /* span; 0: as far as it goes */
    uint64_t max_steps;       /* facts applied + orders given; 0: FORECAST_STEPS */
    bool wants_ends;
};

#define FORECAST_STEPS 1000000u

struct forecast_entry {
    task_id task;
    time_ms start;
    size_t position; /* in `order` */
};

/* A run that succeeded. */
struct forecast_end {
    time_ms at;
    sym project;
};

struct forecast {
    struct forecast_entry *entries; /* by task */
    task_id *order;                 /* the same tasks in the order in which they start */
    size_t count;
    struct forecast_end *ends; /* in their order; only if the options want them */
    size_t end_count;
    uint64_t steps;
    time_ms end;   /* how far it went */
    bool complete; /* everything started that ever would; else it hit max_steps or the horizon */
};

/* The copy is used up: free it. -ENOTRECOVERABLE: the scheduler refused or stood still. */
int forecast_run(struct core *copy, const struct forecast_options *options, struct forecast *ret);
time_ms forecast_start(const struct forecast *forecast, task_id task);
size_t forecast_position(const struct forecast *forecast,
                         task_id task);          /* in `order`; or SIZE_MAX */
void forecast_finish(struct forecast *forecast); /* safe on a zeroed one; usable with _cleanup_ */
