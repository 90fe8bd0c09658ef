/* player_internal.h: what player.c and player_setup.c share. */
#pragma once

#include "base/timer_heap.h"
#include "sim/player.h"

/* A child that waits for an artifact its parent will leave. */
struct sim_awaited {
    uint32_t parent, child;
};

struct player {
    const struct sim_world *world;
    const struct sim_options *options;
    struct sim_play *play;
    time_ms now;
    struct timer_heap ends;      /* handles: index of the run + 1 */
    struct timer_heap approvals; /* handles: task numbers */
    struct order *orders;        /* those of this turn that must be carried out */
    size_t order_count, order_capacity;
    struct sim_awaited *awaited; /* by parent */
    size_t awaited_count;
    struct {
        double per_weight; /* tokens given out so far to those that compete, per weight */
        double per_head;   /* the same while all weights are 0 */
        int64_t weight;    /* of the projects that compete now */
        uint32_t projects;
    } contest;
    bool acted; /* a fact was told after the decision that may change it */
};

/* Looks at every task once: groups, what is ready, what runs already, what waits for a person. */
int player_setup(struct player *p, struct error *err);

int player_tell(struct player *p, const struct fact *fact, struct error *err);
/* Records a run from `start` on and draws how it goes. */
void player_add_run(struct player *p, const struct task_view *view, time_ms start);
/* Ends the task's live run, if it has one, after the grace. */
void player_stop_run(struct player *p, task_id id);
/* Is the task one that could start now? Keeps the projects that compete up to date. */
void player_set_ready(struct player *p, task_id id, bool ready);
