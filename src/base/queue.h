/* queue.h: a FIFO of structs that have a member `next`, and a doubly linked list (LIST_PUSH,
 * LIST_REMOVE). They own nothing.
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

/* A list of structs that have members `next` and `previous`; `list_` is the pointer to its first. */
#define LIST_PUSH(list_, item_)                                                                    \
    do {                                                                                           \
        (item_)->next = (list_);                                                                   \
        if ((item_)->next)                                                                         \
            (item_)->next->previous = (item_);                                                     \
        (list_) = (item_);                                                                         \
    } while (0)
#define LIST_REMOVE(list_, item_)                                                                  \
    do {                                                                                           \
        if ((item_)->next)                                                                         \
            (item_)->next->previous = (item_)->previous;                                           \
        *((item_)->previous ? &(item_)->previous->next : &(list_)) = (item_)->next;                \
    } while (0)
