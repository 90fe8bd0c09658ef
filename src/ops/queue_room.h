/* queue_room.h: may more tasks come into the queue? Private to ops/.
 *
 * A queue that exceeds queue.soft comes with a warning. One that would exceed queue.hard defers:
 * all tasks of a request, or, if its tasks are independent, those without room. */
#pragma once

#include "ops/print.h"

struct queue_room {
    bool late;           /* the queue is longer than it should be */
    amount depth, soft;  /* depth: with the new tasks */
    amount before, hard; /* before: without them */
    size_t deferred;     /* of a request whose tasks are independent */
    const char *note;    /* another warning, if there is none of the queue; or NULL */
};

amount queue_room_left(const struct op_call *call);

/* `count` more that will wait. -EAGAIN: deferred, with the depths of all kinds in the error. */
int queue_room_check(struct op_call *call, size_t count, struct queue_room *ret);
/* The current depth, depths by kind, limits, and a warning above queue.soft. */
void queue_room_print_now(struct op_call *call, struct json_writer *w);
void queue_room_print(struct op_call *call, struct json_writer *w, const struct queue_room *a);
