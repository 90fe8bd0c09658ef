/* changes.h: what must be written down. Private to core/.
 *
 * Whoever changes something that a new core would have to be told says so here; core_take_changes
 * hands it out. Off until core_watch: a simulation needs none of it. */
#pragma once

#include "core/state.h"

void changes_note_task(struct core *c, uint32_t task);

static inline void change_task(struct core *c, uint32_t task) {
    if (c->changes.on && !c->loading && !(task_at(c, task)->flags & TASK_CHANGED))
        changes_note_task(c, task);
}

static inline void change_depends(struct core *c, uint32_t task) {
    change_task(c, task);
    if (c->changes.on && !c->loading)
        task_at(c, task)->flags |= TASK_REWIRED;
}

/* `what` was added to the bucket that begins at `at`; sign -1: taken away. */
void change_usage(struct core *c, uint32_t project, time_ms at, const struct bucket *what,
                  int sign);
