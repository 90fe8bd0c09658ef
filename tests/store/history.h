/* history.h: batches from a seed, the same every time. Most are fine, some must be refused. */
#pragma once

#include "base/hash.h"
#include "kit.h"

struct history {
    struct rng rng;
    task_id next_task;
    uint64_t next_event;
    bool with_mistakes;
    struct store *ahead; /* it is sent parts of the batch while that is made; NULL: no store is */
};

struct history history_begin(uint64_t seed, bool with_mistakes);
/* The next batch; `batch` is empty before. */
void history_next(struct history *history, struct store_batch *batch);
