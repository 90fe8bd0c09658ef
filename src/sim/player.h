/* player.h: runs the real scheduler forward in virtual time.
 *
 * Life:       fill a sim_world and sim_options → sim_play_run → read the record → sim_play_finish
 * World:      a core with a complete queue, and how each run behaves. The player applies the facts
 *             that a daemon would apply; it decides nothing itself.
 * Randomness: how a run goes depends only on the seed, the task's name and the attempt, so two
 *             plays of one queue differ only by the decisions of the scheduler.
 * End:        when nothing is live and no wake-up would help, at the horizon, or after max_steps. A
 *             core that always asks to be woken at once is an error (-ENOTRECOVERABLE), not a hang.
 * Cost:       one heap operation per start and end, no allocation per event. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/core.h"
#include "snapshot/coming.h"
#include "snapshot/snapshot.h"

#define SIM_STOP_DURATION  SECONDS(5) /* from the order to stop a run to its end */
#define SIM_IDLE_TURNS_MAX 16 /* more in a row at one time without progress: a defect of the core */

/* The queue to play. Tasks have the numbers 1 .. task_count. */
struct sim_world {
    struct core *core;
    size_t task_count;
    time_ms now;
    amount runs_cap;
    const void *ctx;
    const char *(*name)(const void *ctx, task_id task);
    void (*hint)(const void *ctx, task_id task, struct sim_hint *ret);
    struct coming *coming; /* NULL: nothing. Playing changes it */
};

struct sim_options {
    uint64_t seed;
    time_ms horizon;       /* span from now */
    time_ms approve_after; /* span after which a review is approved; TIME_NEVER: never */
    uint64_t max_steps;    /* 0: enough for any queue that ends */
};

/* One attempt, in the order of their starts. */
struct sim_run {
    time_ms start, end; /* a live run ends with the play */
    int64_t tokens;     /* -1: it reports none */
    int64_t money;      /* millionths of a dollar; -1: it reports none */
    uint32_t task;
    uint32_t attempt;
    uint32_t heap_position; /* private to the player */
    enum outcome outcome;   /* with live: the outcome it would have had */
    bool live;              /* still running when the play ended */
    bool listed;            /* already running when the play began */
    sym workspace;          /* with listed: it may have locked this one */
};

struct sim_task {
    time_ms ready_at;    /* when it was first ready, not before the beginning; or TIME_NEVER */
    time_ms first_start; /* TIME_NEVER: it never started, or started before the beginning */
    uint32_t live_run;   /* index of its live run + 1, or 0 */
    uint32_t project;    /* index in projects */
    uint32_t kind;       /* index in kinds */
    uint32_t arrival;    /* index in the world's coming tasks + 1, or 0 */
    enum task_state state;
    bool is_ready;
    bool listed; /* neither final nor a draft when the play began, or it has arrived since */
};

/* A project or a kind. */
struct sim_group {
    sym id;
    int64_t weight; /* projects: thousandths; -1: it takes no part (paused, not active) */
    uint32_t live, peak;
    uint32_t ready;
    /* Of the runs that started while at least two projects had ready tasks: the tokens of this
     * project, and its part of all their tokens by weight. */
    double contested, contested_target;
    double joined_weight, joined_head; /* private to the player */
};

enum sim_end {
    SIM_DRAINED, /* every task is final */
    SIM_STUCK,   /* nothing will start the remaining tasks */
    SIM_HORIZON,
    SIM_STEPS,
    SIM_END_MAX,
};
const char *sim_end_name(enum sim_end end);

/* The record of one play. Times are on the same clock as the world's `now`. */
struct sim_play {
    struct sim_run *runs;
    size_t run_count, run_capacity;
    struct sim_task *tasks; /* [1 .. task_count] */
    size_t task_count;
    struct sim_group *projects, *kinds;
    size_t project_count, kind_count;
    time_ms begin, end; /* end: of the last run, or the horizon with live runs */
    uint32_t live, peak;
    uint64_t steps; /* facts applied + orders given */
    enum sim_end how;
};

int sim_play_run(const struct sim_world *world, const struct sim_options *options,
                 struct sim_play *ret_play, struct error *err);
void sim_play_finish(struct sim_play *play); /* safe on a zeroed play; usable with _cleanup_ */

/* The snapshot must outlive the world; playing changes its core. */
void world_from_snapshot(struct snapshot *snapshot, struct sim_world *ret_world);
