/* correct.h: the owner says what a run has really used.
 *
 * What agents and runs report may be wrong. A correction replaces what an ended run has booked, everywhere in one commit: in
 * its row, in what its task has used, in the windows of its project and of all, and in the sums by day and agent. The
 * counters of /metrics, which only rise, stay. */
#pragma once

#include "engine/engine.h"

struct run_row;

struct engine_correction {
    int64_t tokens_in, tokens_out; /* both -1: they stay */
    int64_t cost_micro_usd;        /* -1: it stays */
    const char *by;                /* who says so */
};

/* Inside a turn, before its decision. `row`: an ended run, as the store has it. -EBUSY: it has not ended; -ENOENT: its task is
 * not known any more. */
int engine_correct_run(struct engine *engine, const struct run_row *row,
                       const struct engine_correction *correction, struct error *err);
