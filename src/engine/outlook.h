/* outlook.h: how long the queue will take, and how long with other settings. A query simulates the
 * current queue twice (sim/forecast.h), with the active configuration and with another, in a
 * thread. One at a time; the result is an estimate. */
#pragma once

#include "engine/engine.h"
#include "sim/forecast.h"

/* The forecast that all answers come from, if it is there (engine_forecast). Valid in this turn. */
struct engine_forecast_info {
    time_ms at;  /* its first moment */
    bool paused; /* everything is paused: it begins with a resume */
};
const struct forecast *engine_forecast_made(const struct engine *engine,
                                            struct engine_forecast_info *ret);

/* Average duration of runs of a project and kind; a guess if none has ended yet. */
time_ms engine_expected_run(const struct engine *engine, sym project, sym kind);

/* The order in which waiting tasks of the current queue will start, by the forecast
 * (engine_forecast); for a paused queue, as after a resume. True: read it with engine_order_at;
 * false: `ready` is called when it is ready or was given up. For a queue of more than 10,000 tasks
 * it may be a second old. */
bool engine_order(struct engine *engine, engine_forecast_ready ready, void *ctx);
/* Whether the order there is that of the current queue. */
bool engine_order_is_fresh(const struct engine *engine);
/* From 0; 0 after the last. */
task_id engine_order_at(const struct engine *engine, size_t index);
size_t engine_order_position(const struct engine *engine, task_id task); /* SIZE_MAX: none */

#define OUTLOOK_POINTS 120u

struct outlook_project {
    char *name;
    uint32_t tasks; /* that will finish */
    time_ms finish; /* of the last of them */
};

struct outlook {
    time_ms at;      /* start of the simulation */
    time_ms finish;  /* of the last; `at` when there is nothing to do */
    uint32_t tasks;  /* that will finish */
    uint32_t others; /* will not: waiting for a person, a file or a task that failed */
    uint32_t later;  /* may, after the end of the simulation */
    bool complete;   /* false: the simulation was cut short */
    bool paused;     /* everything is paused: it begins with a resume */
    struct forecast_bottleneck bottleneck;
    struct outlook_project *projects; /* by name */
    size_t project_count;
    /* How many of them are left, over time; ascending, the last has 0 left. */
    struct {
        time_ms at;
        uint32_t left;
    } points[OUTLOOK_POINTS];
    size_t point_count;
};

/* NULL: given up, the daemon is ending. Both are valid during the call. */
typedef void (*outlook_ready)(void *ctx, const struct outlook *now, const struct outlook *then);
/* `config` is read before it returns; agents it does not know are added. -EFBIG: the queue is too
 * long; -EBUSY: another one is being computed. */
int engine_whatif(struct engine *engine, struct config *config, outlook_ready ready, void *ctx,
                  struct error *err);

/* --- snapshots -------------------------------------------------------------------------------- */

/* Writes the current queue to a file for `sluice plan` and `sluice sim`
 * (snapshot/write.h). The loop copies the core, and a thread writes the copy to HOME/snapshots, one
 * at a time. Leftovers of a daemon that died are removed at the next start. */

/* The caller unlinks the file. NULL: failed, with a message. */
typedef void (*live_snapshot_ready)(void *ctx, const char *path, const struct error *err);
/* -EFBIG: the queue is too large to copy; -EBUSY: another one is being written. */
int engine_snapshot(struct engine *engine, bool anonymous, live_snapshot_ready ready, void *ctx,
                    struct error *err);
