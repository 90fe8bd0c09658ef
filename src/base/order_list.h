/* order_list.h: an ordered list of 32-bit handles that is cheap at both ends.
 *
 * Work arrives nearly in order and leaves at the front, so removing the first and appending take
 * constant time and touch no other item. Inserting or removing in the middle takes two binary
 * searches and one short memmove. Items are in sorted chunks of at most ORDER_LIST_CHUNK handles;
 * the list of chunks is an array. About 4 bytes per item.
 *
 * `before(ctx, a, b)` is a strict total order on the items; it must not change for an item in the
 * list. The list does not own the records of the handles. A zeroed list is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_LIST_CHUNK 256u
#define ORDER_LIST_NONE  0u

typedef bool (*order_before)(const void *ctx, uint32_t a, uint32_t b);

struct order_chunk;

struct order_list {
    struct order_chunk **chunks;
    uint32_t first_chunk; /* earlier ones are freed: removing the front needs no memmove */
    uint32_t chunk_count; /* live chunks, from first_chunk on */
    uint32_t chunk_capacity;
    uint32_t count;
    uint32_t capacity; /* of all chunks together */
    uint32_t head;     /* the first item, cached */
};

void order_list_finish(struct order_list *list);
void order_list_insert(struct order_list *list, uint32_t item, order_before before,
                       const void *ctx);
/* The item must be in the list. */
void order_list_remove(struct order_list *list, uint32_t item, order_before before,
                       const void *ctx);
uint32_t order_list_pop(struct order_list *list); /* removes and returns the first */
/* ORDER_LIST_NONE when empty. */
static inline uint32_t order_list_first(const struct order_list *list) {
    return list->head;
}

size_t order_list_bytes(const struct order_list *list);
void order_list_copy(const struct order_list *list, struct order_list *ret);

/* The number of leading items for which `is_before(ctx, item)` holds; it must hold for none after
 * them. A binary search and the sum of the chunks on the shorter side. */
uint32_t order_list_rank(const struct order_list *list,
                         bool (*is_before)(const void *ctx, uint32_t item), const void *ctx);

/* Iterates in order: for (struct order_cursor c = {0}; (item = order_list_next(list, &c));) */
struct order_cursor {
    uint32_t chunk;
    uint32_t index;
};
uint32_t order_list_next(const struct order_list *list, struct order_cursor *cursor);
