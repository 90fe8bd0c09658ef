/* await.h: somebody waits until tasks need no more waiting: they are final, or only a person can go on.
 *
 * Life:    engine_await_begin → `over`, once, from the loop; or engine_await_end before it.
 * A run:   one that waits for tasks below it is in PHASE_WAITING meanwhile, and lends its places to one of
 *          them at a time (docs/rules.md §3). It works again in the very turn in which the last of its
 *          waits has what it wants; `over` is called when its places are its own again, or the time is
 *          over.
 * Cost:    each turn looks at one task of each wait, at all of them for `any`. Nothing polls.
 * Restart: nothing of this is stored. A run that was waiting is told to work; whoever waited asks again. */
#pragma once

#include "engine/engine.h"

#define ENGINE_AWAIT_MAX 256u /* tasks */

struct engine_await;

struct engine_await_spec {
    const task_id *tasks; /* copied */
    size_t count;
    bool any;         /* one of them is enough */
    bool patient;     /* what needs a person is not settled */
    time_ms timeout;  /* a span */
    task_id run;      /* whose run waits; 0: nobody's */
    uint32_t attempt; /* of that run */
};

typedef void (*engine_await_over)(void *ctx);

struct engine_await *engine_await_begin(struct engine *engine, const struct engine_await_spec *spec,
                                        engine_await_over over, void *ctx);
/* The one who waited has gone: `over` is not called. Accepts NULL. */
void engine_await_end(struct engine *engine, struct engine_await *await);

/* Is it final, gone, or does it stay as it is until a person does something? */
bool engine_await_settled(const struct engine *engine, task_id task);
/* The latter: held without a time, a draft, or its account is closed and no other agent takes it. */
bool engine_await_needs_person(const struct engine *engine, const struct task_view *view);

/* --- inside the engine ----------------------------------------------------------------------- */
