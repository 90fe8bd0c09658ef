/* schedules.h: tasks that are added at due times.
 *
 * The configuration has the definitions (schedules.S.*); the engine keeps, in a note for each
 * schedule, its cursor and what it did. A firing adds the tasks of the schedule and moves the
 * cursor in the same commit, so each due time has its tasks or is in one recorded skip, over
 * crashes, takeovers and clocks that are set. What is due is decided in calendar/schedule.h.
 *
 * Times are those of the wall clock, in ms. */
#pragma once

#include "engine/engine.h"

/* Consecutive due times that were skipped for the same reason. */
struct engine_skip {
    time_ms first, last;
    uint64_t count;
    const char *reason; /* calendar/schedule.h */
};

#define ENGINE_SKIPS_KEPT 10u

struct engine_schedule {
    const char *name;
    const char *timezone; /* "": that of the system */
    bool paused;
    bool open;           /* a task of the last firing is not finished */
    time_ms next_due;    /* TIME_NEVER: none */
    time_ms next_at;     /* when it fires: with its jitter; TIME_NEVER: none, or paused */
    time_ms cursor;      /* the last due time that was handled */
    time_ms last_due;    /* of the last firing; 0: none */
    task_id last_task;   /* its first task; 0: none */
    uint64_t last_count; /* how many tasks it added */
    uint64_t fired, skipped;
    const char *error; /* why the last firing was refused; NULL: it was not */
    struct engine_skip skips[ENGINE_SKIPS_KEPT]; /* newest first */
    size_t skip_count;
};

/* In the order of the configuration. */
size_t engine_schedule_count(const struct engine *engine);
void engine_schedule_at(const struct engine *engine, size_t index, struct engine_schedule *ret);
/* False: no schedule has this name. */
bool engine_find_schedule(const struct engine *engine, const char *name,
                          struct engine_schedule *ret);
/* The next due times; returns their number. */
size_t engine_schedule_coming(const struct engine *engine, const char *name, time_ms *ret,
                              size_t max);
/* Adds its tasks now, whatever is due; the cursor does not move. */
int engine_run_schedule(struct engine *engine, const char *name, task_id *ret_first,
                        struct error *err);

/* Would the engine accept the schedules of this configuration? */
int engine_check_schedules(struct engine *engine, const struct config *config, struct error *err);
/* Is the schedule of that configuration ever due again? */
bool engine_checked_is_due(const struct engine *engine, const char *name);

/* What a schedule adds: one of `task` and `file` is not "". */
struct engine_firing {
    const char *schedule;
    const char *task, *file;
    const char *external_id; /* of the first task; the others get a suffix */
    bool check_only;         /* validate only and add nothing */
    task_id *ret_first;      /* consecutive numbers */
    uint64_t *ret_count;
};
/* <0: refused; then it must not have applied anything. Called inside a turn. */
typedef int (*engine_fire_tasks)(void *ctx, struct engine *engine,
                                 const struct engine_firing *firing, struct error *err);
void engine_set_firing(struct engine *engine, engine_fire_tasks fire, void *ctx);

/* --- for the engine itself -------------------------------------------------------------------- */

/* The alert schedule:NAME. */
bool schedules_alert_is_over(const struct engine *engine, const char *name);
