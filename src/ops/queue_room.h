/* queue_room.h: may more tasks enter the queue? Private to ops/.
 *
 * Above queue.soft, requests get a warning. A request that would exceed queue.hard is deferred: all
 * its tasks or, if they are independent, those without room. */
#pragma once

#include "ops/print.h"

struct queue_room {
    bool late;           /* the queue is above queue.soft */
    amount depth, soft;  /* depth: with the new tasks */
    amount before, hard; /* before: without them */
    size_t deferred;     /* if the tasks of a request are independent */
    const char *note;    /* another warning, shown if the queue has none; or NULL */
};

amount queue_room_left(const struct op_call *call);

/* `count` more tasks will wait. -EAGAIN: deferred, with the depths of all kinds in the error. */
int queue_room_check(struct op_call *call, size_t count, struct queue_room *ret);
/* The current depth, depths by kind, limits, and a warning above queue.soft. */
void queue_room_print_now(struct op_call *call, struct json_writer *w);
void queue_room_print(struct op_call *call, struct json_writer *w, const struct queue_room *a);
