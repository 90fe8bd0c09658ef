/* order_list.c: sorted chunks, with free space at both ends of each.
 *
 * A chunk uses items[begin .. end), so the front is removed by incrementing `begin`. Chunks fill
 * completely when work arrives in order (a full last chunk is followed by a new one, not split) and
 * split in halves only on an insert into the middle of a full one.
 *
 * There may be tens of thousands of lists with one item each: the first chunk starts small and
 * doubles. An empty list keeps its small chunk, because many lists alternate between zero and one
 * item; a large one is freed.
 *
 * Invariant: no chunk is empty, except the only chunk of an empty list. */
#include "base/order_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define CHUNK_FIRST  8u  /* with its header exactly a 48-byte malloc chunk */
#define CHUNK_KEEP   32u /* an empty list keeps a chunk of up to this capacity */
#define CHUNKS_FIRST 2u
#define CHUNKS_KEEP  4u

struct order_chunk {
    uint16_t begin;
    uint16_t end;
    uint16_t capacity;
    uint32_t items[];
};

static size_t chunk_bytes(unsigned capacity) {
    return sizeof(struct order_chunk) + capacity * sizeof(uint32_t);
}

static struct order_chunk *chunk_new(unsigned capacity) {
    struct order_chunk *chunk = xmalloc(chunk_bytes(capacity));
    chunk->begin = 0;
    chunk->end = 0;
    chunk->capacity = (uint16_t)capacity;
    return chunk;
}

static unsigned chunk_count(const struct order_chunk *chunk) {
    return (unsigned)chunk->end - chunk->begin;
}

static uint32_t chunk_last(const struct order_chunk *chunk) {
    return chunk->items[chunk->end - 1];
}

/* The first index from `low` to `high` at which `is_before` does not hold; `high`: it always does. A
 * macro, so that the comparison is inlined: scheduling does little else. */
#define FIRST_NOT(low, high, at, is_before)                                                        \
    ({                                                                                             \
        uint32_t low_ = (low), high_ = (high);                                                     \
        while (low_ < high_) {                                                                     \
            uint32_t at = (low_ + high_) / 2;                                                      \
            if (is_before)                                                                         \
                low_ = at + 1;                                                                     \
            else                                                                                   \
                high_ = at;                                                                        \
        }                                                                                          \
        low_;                                                                                      \
    })

/* The index of the first item that is not before `item`: where it is, or belongs. */
static unsigned chunk_search(const struct order_chunk *chunk, uint32_t item, order_before before,
                             const void *ctx) {
    return FIRST_NOT(chunk->begin, chunk->end, i, before(ctx, chunk->items[i], item));
}

static void chunk_shift(struct order_chunk *chunk, unsigned from, unsigned to, unsigned count) {
    memmove(chunk->items + to, chunk->items + from, count * sizeof(uint32_t));
}

/* Opens a gap at `place`, moving the shorter side that has room. The chunk must not be full. */
static void chunk_put(struct order_chunk *chunk, unsigned place, uint32_t item) {
    bool left_is_shorter = place - chunk->begin < chunk->end - place;
    assert(chunk_count(chunk) < chunk->capacity);
    if (chunk->begin > 0 && (left_is_shorter || chunk->end == chunk->capacity)) {
        chunk_shift(chunk, chunk->begin, chunk->begin - 1u, place - chunk->begin);
        chunk->begin--;
        place--;
    } else {
        chunk_shift(chunk, place, place + 1, chunk->end - place);
        chunk->end++;
    }
    chunk->items[place] = item;
}

static void chunk_drop(struct order_chunk *chunk, unsigned place) {
    if (place - chunk->begin < chunk->end - place - 1u) {
        chunk_shift(chunk, chunk->begin, chunk->begin + 1u, place - chunk->begin);
        chunk->begin++;
    } else {
        chunk_shift(chunk, place + 1, place, chunk->end - place - 1u);
        chunk->end--;
    }
}

static struct order_chunk **live_chunks(const struct order_list *list) {
    return list->chunks + list->first_chunk;
}

/* Reserves one more pointer after the last chunk. */
static void chunks_reserve(struct order_list *list) {
    if (list->first_chunk + list->chunk_count < list->chunk_capacity)
        return;
    if (list->first_chunk > list->chunk_capacity / 2) {
        memmove(list->chunks, live_chunks(list), list->chunk_count * sizeof(*list->chunks));
        list->first_chunk = 0;
        return;
    }
    list->chunk_capacity = list->chunk_capacity ? list->chunk_capacity * 2 : CHUNKS_FIRST;
    list->chunks = xrealloc(list->chunks, list->chunk_capacity * sizeof(*list->chunks));
}

/* Inserts `chunk` at this index. */
static void chunks_put(struct order_list *list, uint32_t index, struct order_chunk *chunk) {
    if (index == 0 && list->first_chunk > 0) {
        list->first_chunk--;
    } else {
        chunks_reserve(list);
        struct order_chunk **at = live_chunks(list) + index;
        memmove(at + 1, at, (list->chunk_count - index) * sizeof(*at));
    }
    list->chunk_count++;
    list->capacity += chunk->capacity;
    live_chunks(list)[index] = chunk;
}

/* Doubles the capacity of the chunk. */
static struct order_chunk *chunk_grow(struct order_list *list, uint32_t index) {
    struct order_chunk *chunk = live_chunks(list)[index];
    list->capacity += chunk->capacity;
    chunk = xrealloc(chunk, chunk_bytes(chunk->capacity * 2u));
    chunk->capacity = (uint16_t)(chunk->capacity * 2u);
    live_chunks(list)[index] = chunk;
    return chunk;
}

static void chunks_drop(struct order_list *list, uint32_t index) {
    struct order_chunk **at = live_chunks(list) + index;
    list->capacity -= (*at)->capacity;
    free(*at);
    list->chunk_count--;
    if (index == 0)
        list->first_chunk++;
    else
        memmove(at, at + 1, (list->chunk_count - index) * sizeof(*at));
}

/* After an item was removed from this chunk. */
static void chunks_settle(struct order_list *list, uint32_t index) {
    struct order_chunk *chunk = live_chunks(list)[index];
    if (chunk_count(chunk) > 0)
        return;
    if (list->count > 0)
        chunks_drop(list, index);
    else if (chunk->capacity > CHUNK_KEEP || list->chunk_capacity > CHUNKS_KEEP)
        order_list_finish(list);
    else
        chunk->begin = chunk->end = 0;
}

void order_list_finish(struct order_list *list) {
    for (uint32_t i = 0; i < list->chunk_count; i++)
        free(live_chunks(list)[i]);
    free(list->chunks);
    *list = (struct order_list){ 0 };
}

static void set_head(struct order_list *list) {
    const struct order_chunk *first = list->count > 0 ? live_chunks(list)[0] : NULL;
    list->head = first ? first->items[first->begin] : ORDER_LIST_NONE;
}

/* Makes room at the end of the list, in constant time. */
static struct order_chunk *room_at_end(struct order_list *list) {
    if (list->chunk_count == 0) {
        chunks_put(list, 0, chunk_new(CHUNK_FIRST));
        return live_chunks(list)[0];
    }
    struct order_chunk *last = live_chunks(list)[list->chunk_count - 1];
    if (last->end < last->capacity)
        return last;
    if (last->begin >= last->capacity / 2) { /* a moving queue: reuse the front */
        unsigned count = chunk_count(last);
        chunk_shift(last, last->begin, 0, count);
        last->begin = 0;
        last->end = (uint16_t)count;
    } else if (last->capacity < ORDER_LIST_CHUNK) {
        last = chunk_grow(list, list->chunk_count - 1);
    } else {
        last = chunk_new(ORDER_LIST_CHUNK);
        chunks_put(list, list->chunk_count, last);
    }
    return last;
}

/* Moves the upper half of a full chunk into a new one after it. */
static void chunk_split(struct order_list *list, uint32_t index) {
    struct order_chunk *lower = live_chunks(list)[index];
    struct order_chunk *upper = chunk_new(ORDER_LIST_CHUNK);
    unsigned kept = chunk_count(lower) / 2;
    upper->end = (uint16_t)(chunk_count(lower) - kept);
    memcpy(upper->items, lower->items + lower->begin + kept, upper->end * sizeof(uint32_t));
    lower->end = (uint16_t)(lower->begin + kept);
    chunks_put(list, index + 1, upper);
}

/* The first chunk whose last item is not before `item`; there must be one. */
static uint32_t chunks_search(const struct order_list *list, uint32_t item, order_before before,
                              const void *ctx) {
    return FIRST_NOT(0, list->chunk_count - 1, i,
                     before(ctx, chunk_last(live_chunks(list)[i]), item));
}

/* Before the last item. */
static void insert_inside(struct order_list *list, uint32_t item, order_before before,
                          const void *ctx) {
    bool at_front = before(ctx, item, order_list_first(list));
    uint32_t index = at_front ? 0 : chunks_search(list, item, before, ctx);
    struct order_chunk *chunk = live_chunks(list)[index];
    unsigned place = at_front ? chunk->begin : chunk_search(chunk, item, before, ctx);
    if (chunk_count(chunk) < chunk->capacity) {
        chunk_put(chunk, place, item);
    } else if (chunk->capacity < ORDER_LIST_CHUNK) {
        chunk = chunk_grow(list, index);
        chunk_put(chunk, place, item);
    } else if (at_front) {
        chunk = chunk_new(ORDER_LIST_CHUNK);
        chunk->begin = chunk->end = ORDER_LIST_CHUNK; /* it fills from the back */
        chunk->items[--chunk->begin] = item;
        chunks_put(list, 0, chunk);
    } else {
        chunk_split(list, index);
        chunk = live_chunks(list)[index];
        if (place > chunk->end) {
            place -= chunk->end;
            chunk = live_chunks(list)[index + 1];
        }
        chunk_put(chunk, place, item);
    }
}

void order_list_insert(struct order_list *list, uint32_t item, order_before before,
                       const void *ctx) {
    assert(item != ORDER_LIST_NONE);
    if (list->count == 0
        || before(ctx, chunk_last(live_chunks(list)[list->chunk_count - 1]), item)) {
        struct order_chunk *last = room_at_end(list);
        last->items[last->end++] = item;
    } else {
        insert_inside(list, item, before, ctx);
    }
    list->count++;
    set_head(list);
}

/* Keeps a long list from degrading into many nearly empty chunks: merges this chunk with the next
 * one if together they fill at most half, so that the next split is far away. */
static void chunks_join(struct order_list *list, uint32_t index) {
    if (index + 1 >= list->chunk_count)
        return;
    struct order_chunk *lower = live_chunks(list)[index];
    struct order_chunk *upper = live_chunks(list)[index + 1];
    unsigned total = chunk_count(lower) + chunk_count(upper);
    if (total > ORDER_LIST_CHUNK / 2)
        return;
    assert(lower->capacity == ORDER_LIST_CHUNK); /* only a single chunk may be smaller */
    chunk_shift(lower, lower->begin, 0, chunk_count(lower));
    memcpy(lower->items + chunk_count(lower), upper->items + upper->begin,
           chunk_count(upper) * sizeof(uint32_t));
    lower->begin = 0;
    lower->end = (uint16_t)total;
    chunks_drop(list, index + 1);
}

void order_list_remove(struct order_list *list, uint32_t item, order_before before,
                       const void *ctx) {
    assert(list->count > 0);
    if (order_list_first(list) == item) {
        order_list_pop(list);
        return;
    }
    uint32_t last = list->chunk_count - 1;
    bool at_end = chunk_last(live_chunks(list)[last]) == item;
    uint32_t index = at_end ? last : chunks_search(list, item, before, ctx);
    struct order_chunk *chunk = live_chunks(list)[index];
    unsigned place = at_end ? chunk->end - 1u : chunk_search(chunk, item, before, ctx);
    assert(place < chunk->end && chunk->items[place] == item);
    chunk_drop(chunk, place);
    list->count--;
    if (chunk_count(chunk) == 0) {
        chunks_settle(list, index);
        return;
    }
    chunks_join(list, index);
    if (index > 0)
        chunks_join(list, index - 1);
}

uint32_t order_list_pop(struct order_list *list) {
    if (list->count == 0)
        return ORDER_LIST_NONE;
    struct order_chunk *chunk = live_chunks(list)[0];
    uint32_t item = chunk->items[chunk->begin++];
    list->count--;
    chunks_settle(list, 0);
    set_head(list);
    return item;
}

size_t order_list_bytes(const struct order_list *list) {
    return list->chunk_capacity * sizeof(*list->chunks)
           + list->chunk_count * sizeof(struct order_chunk) + list->capacity * sizeof(uint32_t);
}

uint32_t order_list_next(const struct order_list *list, struct order_cursor *cursor) {
    while (cursor->chunk < list->chunk_count) {
        const struct order_chunk *chunk = live_chunks(list)[cursor->chunk];
        if (cursor->index < chunk_count(chunk))
            return chunk->items[chunk->begin + cursor->index++];
        cursor->chunk++;
        cursor->index = 0;
    }
    return ORDER_LIST_NONE;
}

void order_list_copy(const struct order_list *list, struct order_list *ret) {
    *ret = *list;
    ret->first_chunk = 0;
    ret->chunk_capacity = list->chunk_count;
    ret->chunks = list->chunk_count ? xmalloc(list->chunk_count * sizeof(*ret->chunks)) : NULL;
    for (uint32_t i = 0; i < list->chunk_count; i++) {
        const struct order_chunk *chunk = live_chunks(list)[i];
        ret->chunks[i] = chunk_new(chunk->capacity);
        ret->chunks[i]->begin = chunk->begin;
        ret->chunks[i]->end = chunk->end;
        memcpy(ret->chunks[i]->items + chunk->begin, chunk->items + chunk->begin,
               chunk_count(chunk) * sizeof(uint32_t));
    }
}

uint32_t order_list_rank(const struct order_list *list,
                         bool (*is_before)(const void *ctx, uint32_t item), const void *ctx) {
    if (list->count == 0)
        return 0;
    uint32_t sum = 0;
    uint32_t index =
        FIRST_NOT(0, list->chunk_count, i, is_before(ctx, chunk_last(live_chunks(list)[i])));
    if (index <= list->chunk_count / 2) {
        for (uint32_t i = 0; i < index; i++)
            sum += chunk_count(live_chunks(list)[i]);
    } else {
        for (uint32_t i = index; i < list->chunk_count; i++)
            sum += chunk_count(live_chunks(list)[i]);
        sum = list->count - sum;
    }
    if (index == list->chunk_count)
        return sum;
    const struct order_chunk *chunk = live_chunks(list)[index];
    sum += FIRST_NOT(chunk->begin, chunk->end - 1u, i, is_before(ctx, chunk->items[i]));
    return sum - chunk->begin;
}
