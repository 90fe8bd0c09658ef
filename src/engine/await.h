/* await.h: waits until tasks are settled: final, or blocked until a person acts.
 *
 * Life:    engine_await_begin → `over`, once, from the loop; or engine_await_end before that.
 * Run:     a run that waits for its descendants is in PHASE_WAITING and lends its slots to one of
 *          them at a time (docs/internals/rules.md §3). It resumes in the turn in which its last
 *          wait is satisfied; `over` is called when it has its slots back, or on timeout.
 * Cost:    each turn checks one task of each wait, all of them for `any`. No polling.
 * Restart: waits are not stored. A waiting run is set to working; clients ask again. */
#pragma once

#include "engine/engine.h"

#define ENGINE_AWAIT_MAX 256u /* tasks */

struct engine_await;

struct engine_await_spec {
    const task_id *tasks; /* copied */
    size_t count;
    bool any;         /* one settled task is enough */
    bool patient;     /* a task that needs a person is not settled */
    time_ms timeout;  /* a duration */
    task_id run;      /* the run that waits; 0: none */
    uint32_t attempt; /* of that run */
};

typedef void (*engine_await_over)(void *ctx);

struct engine_await *engine_await_begin(struct engine *engine, const struct engine_await_spec *spec,
                                        engine_await_over over, void *ctx);
/* Cancels the wait: `over` is not called. Accepts NULL. */
void engine_await_end(struct engine *engine, struct engine_await *await);

/* Whether it is final, deleted, or unchanged until a person acts. */
bool engine_await_settled(const struct engine *engine, task_id task);
/* The latter: held without a time, a draft, or its account is closed and no other agent helps. */
bool engine_await_needs_person(const struct engine *engine, const struct task_view *view);
