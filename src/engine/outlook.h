/* outlook.h: how long will it take, and how long if settings were others?
 *
 * A question is two plays of the queue as it is (sim/forecast.h), with the configuration in force and with
 * another one, computed in a thread. One at a time; what it says is an estimate, as every forecast is. */
#pragma once

#include "engine/engine.h"

/* How long runs of a project and a kind take on average; a guess when none has ended yet. */
time_ms engine_expected_run(const struct engine *engine, sym project, sym kind);

/* The order in which waiting tasks will start, as the forecast (engine_forecast) plays it, of the queue as it is now. Of a
 * paused queue: as after a resume. True: engine_order_at says it; false: `ready` is called when it can, or when there
 * will be none. Of a queue of more than 10,000 tasks it may be a second old. */
bool engine_order(struct engine *engine, engine_forecast_ready ready, void *ctx);
/* Is the one there of the queue as it is now? */
bool engine_order_is_fresh(const struct engine *engine);
/* From 0; 0 behind the last. */
task_id engine_order_at(const struct engine *engine, size_t index);
size_t engine_order_position(const struct engine *engine, task_id task); /* SIZE_MAX: it has none */

#define OUTLOOK_POINTS 120u

struct outlook_project {
    char *name;
    uint32_t tasks; /* that will be finished */
    time_ms finish; /* of the last of them */
};

struct outlook {
    time_ms at;      /* when the play begins */
    time_ms finish;  /* of the last; `at` when there is nothing to do */
    uint32_t tasks;  /* that will be finished */
    uint32_t others; /* not final, and will not: they wait for somebody, or for longer than that */
    bool complete;   /* else the play was ended early, and more would have followed */
    struct outlook_project *projects; /* by name */
    size_t project_count;
    /* How many of them are left, over time; rising times, the last has 0 left. */
    struct {
        time_ms at;
        uint32_t left;
    } points[OUTLOOK_POINTS];
    size_t point_count;
};

/* NULL: it was given up, the daemon ends. Both live as long as the call. */
typedef void (*outlook_ready)(void *ctx, const struct outlook *now, const struct outlook *then);
/* `config` is read before it returns; it knows all agents from then on. -EFBIG: the queue is too long for it; -EBUSY: another one is being
 * computed; both with a sentence. */
int engine_whatif(struct engine *engine, struct config *config, outlook_ready ready, void *ctx,
                  struct error *err);
