/* queue.h: a FIFO of structs that have a member `next`. It owns nothing.
 *
 *     QUEUE(struct job) todo;           zeroed: empty
 *     QUEUE_ADD(&todo, job);            append
 *     while ((job = QUEUE_TAKE(&todo))) the first, or NULL */
#pragma once

#include <stddef.h>

#define QUEUE(type)                                                                                \
    struct {                                                                                       \
        type *first, *last; /* `last` is undefined while `first` is NULL */                        \
    }

#define QUEUE_IS_EMPTY(queue) ((queue)->first == NULL)

#define QUEUE_ADD(queue, item)                                                                     \
    do {                                                                                           \
        __typeof__((queue)->first) added_ = (item);                                                \
        added_->next = NULL;                                                                       \
        if ((queue)->first)                                                                        \
            (queue)->last->next = added_;                                                          \
        else                                                                                       \
            (queue)->first = added_;                                                               \
        (queue)->last = added_;                                                                    \
    } while (0)

#define QUEUE_TAKE(queue)                                                                          \
    ({                                                                                             \
        __typeof__((queue)->first) taken_ = (queue)->first;                                        \
        if (taken_)                                                                                \
            (queue)->first = taken_->next;                                                         \
        taken_;                                                                                    \
    })

/* Appends all of `from` to `to`. */
#define QUEUE_MOVE(to, from)                                                                       \
    do {                                                                                           \
        if ((from)->first) {                                                                       \
            if ((to)->first)                                                                       \
                (to)->last->next = (from)->first;                                                  \
            else                                                                                   \
                (to)->first = (from)->first;                                                       \
            (to)->last = (from)->last;                                                             \
            (from)->first = NULL;                                                                  \
        }                                                                                          \
    } while (0)
