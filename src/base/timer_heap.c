/* timer_heap.c: the earliest of many times.
 *
 * Ties go to the lower rank, then to the lower handle, so the firing order depends only on the
 * contents of the heap: a replay from disk fires timers in the same order. */
#include "base/timer_heap.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool entry_before(struct timer_entry a, struct timer_entry b) {
    if (a.at != b.at)
        return a.at < b.at;
    return a.rank != b.rank ? a.rank < b.rank : a.handle < b.handle;
}

static void report_position(const struct timer_heap *heap, uint32_t handle, uint32_t position) {
    if (heap->moved)
        heap->moved(heap->ctx, handle, position);
}

static void put_at(struct timer_heap *heap, uint32_t position, struct timer_entry entry) {
    heap->entries[position] = entry;
    report_position(heap, entry.handle, position);
}

/* Puts `entry` at `position` or above it. */
static void sift_up(struct timer_heap *heap, uint32_t position, struct timer_entry entry) {
    while (position > 1 && entry_before(entry, heap->entries[position / 2])) {
        put_at(heap, position, heap->entries[position / 2]);
        position /= 2;
    }
    put_at(heap, position, entry);
}

/* Puts `entry` at `position` or below it. */
static void sift_down(struct timer_heap *heap, uint32_t position, struct timer_entry entry) {
    while (position <= heap->count / 2) {
        uint32_t child = position * 2;
        if (child < heap->count && entry_before(heap->entries[child + 1], heap->entries[child]))
            child++;
        if (!entry_before(heap->entries[child], entry))
            break;
        put_at(heap, position, heap->entries[child]);
        position = child;
    }
    put_at(heap, position, entry);
}

void timer_heap_init(struct timer_heap *heap, timer_moved moved, void *ctx) {
    *heap = (struct timer_heap){ .moved = moved, .ctx = ctx };
}

void timer_heap_finish(struct timer_heap *heap) {
    free(heap->entries);
    heap->entries = NULL;
    heap->capacity = 0;
    heap->count = 0;
}

void timer_heap_add(struct timer_heap *heap, time_ms at, uint64_t rank, uint32_t handle) {
    assert(handle != 0 && heap->count < UINT32_MAX / 2);
    heap->entries =
        xgrow(heap->entries, &heap->capacity, (size_t)heap->count + 2, sizeof(*heap->entries));
    heap->count++;
    sift_up(heap, heap->count, (struct timer_entry){ .at = at, .rank = rank, .handle = handle });
}

void timer_heap_remove(struct timer_heap *heap, uint32_t position) {
    if (position == 0)
        return;
    assert(position <= heap->count);
    uint32_t removed = heap->entries[position].handle;
    struct timer_entry last = heap->entries[heap->count--];
    if (position <= heap->count) { /* otherwise it was the last one */
        if (position > 1 && entry_before(last, heap->entries[position / 2]))
            sift_up(heap, position, last);
        else
            sift_down(heap, position, last);
    }
    report_position(heap, removed, 0);
}

time_ms timer_heap_next(const struct timer_heap *heap) {
    return heap->count == 0 ? TIME_NEVER : heap->entries[1].at;
}

uint32_t timer_heap_pop(struct timer_heap *heap, time_ms now) {
    if (heap->count == 0 || heap->entries[1].at > now)
        return 0;
    uint32_t handle = heap->entries[1].handle;
    timer_heap_remove(heap, 1);
    return handle;
}

void timer_heap_copy(const struct timer_heap *heap, void *ctx, struct timer_heap *ret) {
    *ret = *heap;
    ret->ctx = ctx;
    ret->entries = NULL;
    if (heap->capacity == 0)
        return;
    ret->entries = xmalloc(heap->capacity * sizeof(*ret->entries));
    if (heap->count > 0) /* entry 0 is not used */
        memcpy(ret->entries + 1, heap->entries + 1, heap->count * sizeof(*ret->entries));
}
