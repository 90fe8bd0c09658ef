/* slab.c: fixed-size records addressed by small numbers.
 *
 * Freed records are linked through their own first bytes, so the slab needs no memory besides its
 * pages. A record is zeroed when it is allocated, not when it is freed: an unused page is never
 * touched. */
#include "base/slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void slab_init(struct slab *slab, size_t record_size) {
    assert(record_size >= sizeof(uint32_t));
    *slab = (struct slab){ .record_size = record_size, .next = 1 };
}

void slab_finish(struct slab *slab) {
    for (size_t i = 0; i < slab->page_count; i++)
        free(slab->pages[i]);
    free(slab->pages);
    *slab = (struct slab){ .record_size = slab->record_size, .next = 1 };
}

static uint32_t slab_take_new(struct slab *slab) {
    assert(slab->next != 0 && slab->next != UINT32_MAX);
    uint32_t handle = slab->next++;
    if (handle >> SLAB_PAGE_BITS >= slab->page_count) {
        slab->pages =
            xgrow(slab->pages, &slab->page_capacity, slab->page_count + 1, sizeof(*slab->pages));
        slab->pages[slab->page_count++] = xmalloc(SLAB_PAGE_SIZE * slab->record_size);
    }
    return handle;
}

uint32_t slab_alloc(struct slab *slab) {
    uint32_t handle = slab->free_head;
    if (handle == SLAB_NONE)
        handle = slab_take_new(slab);
    else
        memcpy(&slab->free_head, slab_at(slab, handle), sizeof(slab->free_head));
    memset(slab_at(slab, handle), 0, slab->record_size);
    slab->used++;
    return handle;
}

void slab_free(struct slab *slab, uint32_t handle) {
    assert(handle != SLAB_NONE && handle < slab->next && slab->used > 0);
    memcpy(slab_at(slab, handle), &slab->free_head, sizeof(slab->free_head));
    slab->free_head = handle;
    slab->used--;
}

void slab_copy(const struct slab *slab, struct slab *ret) {
    *ret = *slab;
    ret->page_capacity = slab->page_count;
    ret->pages = slab->page_count ? xmalloc(slab->page_count * sizeof(*ret->pages)) : NULL;
    for (size_t i = 0; i < slab->page_count; i++) {
        /* Of the last page only what was ever handed out: the rest was never touched. */
        size_t first = i << SLAB_PAGE_BITS;
        size_t records = slab->next - first < SLAB_PAGE_SIZE ? slab->next - first : SLAB_PAGE_SIZE;
        ret->pages[i] = xmalloc(SLAB_PAGE_SIZE * slab->record_size);
        memcpy(ret->pages[i], slab->pages[i], records * slab->record_size);
    }
}

size_t slab_bytes(const struct slab *slab) {
    return slab->page_count * SLAB_PAGE_SIZE * slab->record_size
           + slab->page_capacity * sizeof(*slab->pages);
}
