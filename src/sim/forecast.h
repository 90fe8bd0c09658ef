/* forecast.h: when would each waiting task start, if all runs succeeded from now on?
 *
 * Life:      core_copy (where the original is used) → forecast_run (in any thread)
 *            → forecast_start … → forecast_finish, core_free
 * Assumes:   each run takes as long as runs of its project and kind took on average, and succeeds.
 *            Nothing is approved, released, added or canceled, except by what is coming
 *            (snapshot/coming.h): hours open and close, and schedules add tasks. Other gates that
 *            are open now close only because of the runs of the forecast.
 * Result:    the start of each task that starts. TIME_NEVER means "unknown": the task waits for a
 *            person or an artifact, or would start after the last step.
 * Pure:      reads no clock and no globals, changes only the copy and its own memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "snapshot/coming.h"

/* Averages of the runs of a project and kind. kind 0: runs of all kinds without their own. */
struct forecast_mean {
    sym project, kind;
    time_ms duration;
    int64_t tokens; /* -1: unknown */
    int64_t money;  /* millionths of a dollar; -1: unknown */
};

struct forecast_options {
    time_ms now;
    const struct forecast_mean *means; /* in any order; the first match is used */
    size_t mean_count;
    time_ms default_duration; /* of a project that has no mean */
    time_ms horizon;          /* span; 0: unlimited */
    uint64_t max_steps;       /* facts applied + orders given; 0: FORECAST_STEPS */
    struct coming *coming; /* NULL: nothing. Its tasks have the highest numbers; they have no entry,
                              and no end. Changed; the caller frees it */
};

#define FORECAST_STEPS 1000000u

struct forecast_entry {
    task_id task;
    time_ms start, end; /* of its first run */
    size_t position;    /* in `order` */
};

/* The expected end of a run that is live when the forecast begins. */
struct forecast_live {
    task_id task;
    time_ms end;
};

/* A run that succeeded. */
struct forecast_end {
    time_ms at;
    sym project;
};

/* The limit, account or other gate with a capacity at which tasks wait for the longest part of the
 * forecast; if several are equal, that of most tasks. Gates that only a person, a file or another
 * task opens are no bottleneck. Samples: gates are counted at up to a few thousand moments. */
struct forecast_bottleneck {
    char *code; /* verdict_code; NULL: no task waits at such a gate */
    char *name; /* of its key: the copy of the core may know names that the original does not */
    struct verdict gate;
    time_ms span;  /* how long at least one task waits there first */
    int64_t tasks; /* at most, at the same time */
};

struct forecast {
    struct forecast_entry *entries; /* by task */
    task_id *order;                 /* the same tasks in the order in which they start */
    size_t count;
    struct forecast_live *live; /* by task */
    size_t live_count;
    struct forecast_end *ends; /* by time */
    size_t end_count;
    struct forecast_bottleneck bottleneck;
    /* Open tasks that have not finished at the end. `later`: they might, after it; 0 if complete. */
    uint64_t others, later;
    uint64_t steps;
    time_ms end;   /* of the forecast */
    bool complete; /* no other task would ever start; else it reached max_steps or the horizon */
};

/* Changes the copy; the caller frees it. -ENOTRECOVERABLE: the core refused a fact or made no
 * progress. */
int forecast_run(struct core *copy, const struct forecast_options *options, struct forecast *ret);
/* The mean of a project and kind; without one, that of its runs without a kind; or NULL. */
const struct forecast_mean *forecast_mean_of(const struct forecast_options *options, sym project,
                                             sym kind);
/* NULL: it does not start. */
const struct forecast_entry *forecast_entry(const struct forecast *forecast, task_id task);
/* Among the live runs, or behind them in `order`; UINT64_MAX: neither. */
uint64_t forecast_index(const struct forecast *forecast, task_id task);
time_ms forecast_start(const struct forecast *forecast, task_id task);
size_t forecast_position(const struct forecast *forecast,
                         task_id task);          /* in `order`; or SIZE_MAX */
void forecast_finish(struct forecast *forecast); /* safe on a zeroed one; usable with _cleanup_ */
