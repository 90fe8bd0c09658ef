/* correct.h: the owner corrects the usage of a run.
 *
 * Reports of agents and runs may be wrong. A correction replaces what an ended run has booked, in
 * one commit: in its row, its task's usage, the windows of its project and the global ones, and the
 * sums by day and agent. The counters of /metrics only rise, so they stay. */
#pragma once

#include "engine/engine.h"

struct run_row;

struct engine_correction {
    int64_t tokens_in, tokens_out; /* both -1: unchanged */
    int64_t cost_micro_usd;        /* -1: unchanged */
    const char *by;                /* who corrects it */
};

/* Inside a turn, before its decision. `row`: an ended run, as stored. -EBUSY: it has not ended;
 * -ENOENT: its task is unknown. */
int engine_correct_run(struct engine *engine, const struct run_row *row,
                       const struct engine_correction *correction, struct error *err);
