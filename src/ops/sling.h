/* sling.h: what op_task_sling.c collects, and how much of it the queue takes. Private to ops/. */
#pragma once

#include "base/id_map.h"
#include "ops/queue_room.h"

struct sling_item {
    task_id task;
    uint32_t group;
    bool already;
    bool epic;                   /* there are drafts below it, and it was named for them */
    bool step;                   /* does the work of the task that was named */
    const char *agent, *limiter; /* as they were submitted; or NULL */
    bool prompted;               /* it has a prompt: its agent needs a command */
    bool hold;                   /* it was submitted so, and so it is slung */
    bool cleared;                /* who took it out of the queue has let it go before */
    time_ms not_before;
    uint32_t unit;       /* which word named it: a group, or a task with the drafts below it */
    const char *skipped; /* why it is not slung; sling_deferred: the queue has no room */
};

struct slinging {
    struct sling_item *items;
    size_t count, capacity;
    struct id_map seen;
    bool has_map;
    struct queue_room room;
    uint32_t group; /* 0: none */
    size_t fresh;   /* will be slung */
    size_t asked;   /* items that the store was asked about */
};

extern const char sling_deferred[];

/* sling_admit.c: whether the queue takes those that are fresh. With `partial` each word of the request is taken
 * or deferred by itself, together with what its tasks depend on; if nothing can be taken, or without `partial`,
 * the request fails: -EAGAIN. Updates `fresh`. */
int sling_admit(struct op_call *call, struct slinging *s);
