/* records_queue.h: how ready tasks are kept, part of records.h. Private to core/. */
#pragma once

#include "base/order_list.h"
#include "core/fact.h"

/* Tasks of one class that a rare key refused, best first. */
struct park {
    uint32_t key, cls;
    uint32_t next, prev; /* in the key's list */
    uint32_t awake;      /* how many were let back into their class and have not left it since */
    uint32_t awake_created, awake_ready; /* the first of them in each order, or 0 */
    struct order_list by_created, by_ready;
};

/* Ready tasks that compare alike but for their age and need the same shared keys. */
struct queue_class {
    uint32_t project, kind, agent, limiter;
    int32_t priority;
    uint32_t depth;
    int64_t penalty;
    uint16_t needs_kept; /* TASK_KEEPS bits its tasks must still take */
    bool bound;          /* to its agent: by its command, or by a limiter of its own */
    uint32_t position;   /* in its project's list */
    uint32_t domain;
    uint32_t parks;  /* how many parks name it */
    uint32_t crowds; /* first of those without a workspace */
    struct order_list by_created, by_ready, parked_by_created, parked_by_ready;
};

/* So many tasks of one class name the same rare keys. */
struct crowd {
    uint32_t cls, serial, workspace;
    uint32_t resources; /* a list of its own, or 0 */
    uint32_t count;
    uint32_t next, prev; /* of its workspace, else of its class */
};
