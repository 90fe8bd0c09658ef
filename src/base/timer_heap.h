/* timer_heap.h: which of many handles is due next?
 *
 * A binary heap of (time, rank, handle): on equal times the lower rank comes first. The heap
 * reports the position of each handle through `moved(ctx, handle, position)` (position 0 = not in
 * the heap), so that removal needs no search. A zeroed heap is empty. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/time_ms.h"

struct timer_entry {
    time_ms at;
    uint64_t rank;
    uint32_t handle;
};

typedef void (*timer_moved)(void *ctx, uint32_t handle, uint32_t position);

struct timer_heap {
    struct timer_entry *entries; /* entries[1 .. count] */
    size_t capacity;
    uint32_t count;
    timer_moved moved;
    void *ctx;
};

void timer_heap_init(struct timer_heap *heap, timer_moved moved, void *ctx);
void timer_heap_finish(struct timer_heap *heap);
void timer_heap_add(struct timer_heap *heap, time_ms at, uint64_t rank, uint32_t handle);
void timer_heap_remove(struct timer_heap *heap, uint32_t position); /* position 0: nothing */
time_ms timer_heap_next(const struct timer_heap *heap);             /* TIME_NEVER when empty */
uint32_t timer_heap_pop(struct timer_heap *heap, time_ms now);      /* 0 when none is due */
void timer_heap_copy(const struct timer_heap *heap, void *ctx, struct timer_heap *ret);
