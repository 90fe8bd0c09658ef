/* slab.h: records of one size, addressed by a 32-bit handle, in pages that never move.
 *
 * Handle 0 is "none". Records are reused, most recently freed first, so the same calls give the
 * same handles. Growth adds pages and does not double. A pointer stays valid until its record is
 * freed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SLAB_NONE 0u

struct slab {
    void **pages;
    size_t page_count;
    size_t page_capacity;
    size_t record_size;
    uint32_t next;      /* lowest handle never allocated */
    uint32_t free_head; /* list of freed records, or SLAB_NONE */
    uint32_t used;
};

#define SLAB_PAGE_BITS 10
#define SLAB_PAGE_SIZE (1u << SLAB_PAGE_BITS)

void slab_init(struct slab *slab, size_t record_size); /* record_size >= 4 */
void slab_finish(struct slab *slab);
uint32_t slab_alloc(struct slab *slab);                    /* the record is zeroed */
void slab_free(struct slab *slab, uint32_t handle);        /* handle must be in use */
size_t slab_bytes(const struct slab *slab);                /* memory held */
void slab_copy(const struct slab *slab, struct slab *ret); /* the same handles, other memory */

/* The handle must have been allocated. Inline: every comparison calls it. */
static inline void *slab_at(const struct slab *slab, uint32_t handle) {
    char *page = slab->pages[handle >> SLAB_PAGE_BITS];
    return page + (size_t)(handle & (SLAB_PAGE_SIZE - 1)) * slab->record_size;
}

/* Doubly linked lists of records: `first` is the handle of the first record, `next` and `prev` name
 * the members that link them, `at(c, handle)` finds a record. */
#define SLAB_LIST_PUSH(at, c, first, handle, next, prev)                                           \
    do {                                                                                           \
        at(c, handle)->prev = 0;                                                                   \
        at(c, handle)->next = (first);                                                             \
        if (first)                                                                                 \
            at(c, first)->prev = (handle);                                                         \
        (first) = (handle);                                                                        \
    } while (0)
#define SLAB_LIST_REMOVE(at, c, first, handle, next, prev)                                         \
    do {                                                                                           \
        if (at(c, handle)->prev)                                                                   \
            at(c, at(c, handle)->prev)->next = at(c, handle)->next;                                \
        else                                                                                       \
            (first) = at(c, handle)->next;                                                         \
        if (at(c, handle)->next)                                                                   \
            at(c, at(c, handle)->next)->prev = at(c, handle)->prev;                                \
        at(c, handle)->next = at(c, handle)->prev = 0;                                             \
    } while (0)
