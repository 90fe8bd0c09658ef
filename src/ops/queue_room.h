/* queue_room.h: may more tasks come into the queue? Private to ops/.
 *
 * Above queue.soft they come with a warning, from queue.hard on they are deferred and nothing is stored. */
#pragma once

#include "ops/print.h"

struct queue_room {
    bool late; /* the queue is longer than it should be */
    amount depth, soft;
};

/* `count` more that will wait. -EAGAIN: deferred, with the depths of all kinds beside the error. */
int queue_room_check(struct op_call *call, size_t count, struct queue_room *ret);
/* "warning" (or null) and, with one, "depths". */
void queue_room_print(struct op_call *call, struct json_writer *w, const struct queue_room *a);
