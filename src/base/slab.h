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
