/* history.h: reproducible batches from a seed. Most are valid, some must be refused. */
#pragma once

#include "base/hash.h"
#include "kit.h"

struct history {
    struct rng rng;
    task_id next_task;
    uint64_t next_event;
    bool with_mistakes;
    struct store *ahead; /* receives parts of the batch while it is built; NULL: none */
};

struct history history_begin(uint64_t seed, bool with_mistakes);
/* Fills `batch`, which must be empty, with the next batch. */
void history_next(struct history *history, struct store_batch *batch);
