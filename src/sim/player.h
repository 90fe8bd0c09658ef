/* player.h: the real scheduler, played forward in virtual time.
 *
 * Life:       fill a sim_world and sim_options → sim_play_run → read the record → sim_play_finish
 * The world:  a core with a complete queue, and how each run would behave. The player applies the facts that a
 *             daemon would apply; it decides nothing itself.
 * Draws:      how a run goes depends on the seed, the task's name and the attempt alone, so two plays of one queue
 *             differ only by what the scheduler did.
 * Ends:       when nothing is live and no wake-up would help, at the horizon, or after max_steps. A core that always
 *             asks to be woken at once is an error (-ENOTRECOVERABLE), never a hang.
 * Cost:       one heap operation per start and end, no allocation per event. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/core.h"
#include "snapshot/snapshot.h"

#define SIM_STOP_GRACE SECONDS(5) /* how long a run lives after it was stopped */

/* What is played. Tasks have the numbers 1 .. task_count. */
struct sim_world {
    struct core *core;
    size_t task_count;
    time_ms now;
    amount runs_cap;
    const void *ctx;
    const char *(*name)(const void *ctx, task_id task);
    void (*hint)(const void *ctx, task_id task, struct sim_hint *ret);
    enum until (*until)(const void *ctx, task_id task);
    /* Its weight in thousandths; -1: it takes no part (paused, not active). */
    int64_t (*weight)(const void *ctx, sym project);
};

struct sim_options {
    uint64_t seed;
    time_ms horizon;       /* span from now */
    time_ms approve_after; /* span after which a review is approved; TIME_NEVER: never */
    uint64_t max_steps;    /* 0: enough for any queue that ends */
};

/* One attempt, in the order of their starts. */
struct sim_run {
    time_ms start, end; /* points; a live run ends with the play */
    int64_t tokens;     /* -1: it reports none */
    int64_t money;      /* millionths of a dollar; -1: it reports none */
    uint32_t task;
    uint32_t attempt;
    uint32_t heap_position; /* the player's own */
    enum outcome outcome;   /* with live: what it would have been */
    bool live;              /* was not over when the play ended */
    bool listed;            /* ran already when the play began */
    sym workspace;          /* with listed: what it may have locked */
};

struct sim_task {
    time_ms ready_at;    /* when it was ready first, not before the beginning; or TIME_NEVER */
    time_ms first_start; /* TIME_NEVER: it never started, or did so before the beginning */
    uint32_t live_run;   /* index of its live run + 1, or 0 */
    uint32_t project;    /* index in projects */
    uint32_t kind;       /* index in kinds */
    enum task_state state;
    bool is_ready;
    bool listed; /* not final and no draft when the play began */
};

/* A project or a kind. */
struct sim_group {
    sym id;
    int64_t weight; /* projects: thousandths, or -1 */
    uint32_t live, peak;
    uint32_t ready;
    /* Of the runs that started while two or more projects had ready work: its tokens, and what its
     * weight would have given it of all of them. */
    double contested, contested_target;
    double joined_weight, joined_head; /* the player's own */
};

enum sim_end {
    SIM_DRAINED, /* every task is final */
    SIM_STUCK,   /* tasks are left that nothing will start */
    SIM_HORIZON,
    SIM_STEPS,
    SIM_END_MAX,
};
const char *sim_end_name(enum sim_end end);

/* The record of one play. Points in time count like the world's `now`. */
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

/* A snapshot as a world. The snapshot must outlive it; its core is used up by the play. */
void world_from_snapshot(struct snapshot *snapshot, struct sim_world *ret_world);
