/* stage.h: a small world without faults, for bounds that hold only there. Every run succeeds. */
#pragma once

#include "agenda.h"
#include "base/hash.h"
#include "breach.h"
#include "core/core.h"
#include "names.h"

struct stage {
    struct core *core;
    struct agenda agenda;
    struct rng rng;
    struct breach *breach;
    time_ms now;
    uint64_t steps;
    task_id next_task;
    time_ms shortest, longest; /* of a run */
    int64_t least, most;       /* tokens of a run */
    void (*started)(void *ctx, const struct order *order);
    void *ctx;
};

void stage_init(struct stage *s, uint64_t seed, struct breach *breach);
void stage_finish(struct stage *s);
void stage_apply(struct stage *s, struct fact fact);
void stage_add(struct stage *s, struct task_spec spec); /* gives it a number and a time */
void stage_decide(struct stage *s);                     /* calls `started` for each start */
bool stage_next(struct stage *s); /* the next end of a run; false: nothing runs or a breach */
