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
    const char *zone;     /* the name of the one in use; NULL: that of the system has none */
    bool paused;
    bool open;           /* a task of the last firing is not finished */
    time_ms next_due;    /* TIME_NEVER: none */
    time_ms next_at;     /* when it fires: with its jitter; TIME_NEVER: none, or paused */
    time_ms cursor;      /* the last due time that was handled */
    time_ms last_due;    /* of the last firing; 0: none */
    task_id last_task;   /* its first task; 0: none */
    uint64_t last_count; /* how many tasks it added */
    uint64_t fired, skipped;
    const char *backup; /* the directory of its backups; NULL: it adds tasks */
    size_t keep;
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

/* The file of the last firing of a schedule with `backup`; NULL: none. The caller frees it. */
char *engine_schedule_backup(const struct engine_schedule *schedule);

/* Would the engine accept the schedules of this configuration? */
int engine_check_schedules(struct engine *engine, const struct config *config, struct error *err);
/* Then: a schedule of that configuration as it would be, and its next due times; returns their
 * number. */
size_t engine_checked_schedule(const struct engine *engine, const struct config *config,
                               const char *name, struct engine_schedule *ret, time_ms *ret_due,
                               size_t max);

/* What a schedule adds: one of `task` and `file` is not "". */
struct engine_firing {
    const char *schedule;
    const struct config *config; /* has its definition */
    const char *external_id;     /* of the first task; the others get a suffix */
    bool check_only;             /* validate only and add nothing */
    /* With check_only: gets the spec of each task; or NULL. Its id is that which it would have. */
    void (*sample)(void *ctx, const struct task_spec *spec);
    void *sample_ctx;
    task_id *ret_first; /* consecutive numbers */
    uint64_t *ret_count;
};
/* <0: refused; then it must not have applied anything. Called inside a turn. */
typedef int (*engine_fire_tasks)(void *ctx, struct engine *engine,
                                 const struct engine_firing *firing, struct error *err);
void engine_set_firing(struct engine *engine, engine_fire_tasks fire, void *ctx);

/* --- for the engine itself -------------------------------------------------------------------- */

struct coming;
/* Adds the next firings of schedules, with numbers after the last task: those that fire within
 * `horizon`, of the 100 schedules that fire next, and at most 2,000 tasks. */
void schedules_add_coming(struct engine *engine, time_ms horizon, struct coming *ret);

/* The alert schedule:NAME. */
bool schedules_alert_is_over(const struct engine *engine, const char *name);
