/* arena.c: many small allocations, one free.
 *
 * Blocks double up to a limit, so a small arena stays small and a large one makes few calls. An
 * allocation too large for the usual block gets its own block behind the current one, which stays
 * in use. Strings are packed without alignment, because most of an arena is short names. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

#define BLOCK_FIRST ((size_t)4096)
#define BLOCK_MOST  ((size_t)256 * 1024)

struct arena_block {
    struct arena_block *next;
    size_t size; /* of `bytes` */
    alignas(max_align_t) char bytes[];
};

static void blocks_free(struct arena_block *block) {
    while (block) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void arena_finish(struct arena *arena) {
    blocks_free(arena->blocks);
    *arena = (struct arena)ARENA_INIT;
}

void arena_reset(struct arena *arena) {
    struct arena_block *kept = arena->blocks;
    if (!kept)
        return;
    blocks_free(kept->next);
    kept->next = NULL;
    arena->free = kept->bytes;
    arena->left = kept->size;
    arena->total = sizeof(*kept) + kept->size;
}

static struct arena_block *block_new(struct arena *arena, size_t size) {
    size_t bytes;
    if (__builtin_add_overflow(size, sizeof(struct arena_block), &bytes))
        bytes = SIZE_MAX; /* xmalloc aborts with its message */
    struct arena_block *block = xmalloc(bytes);
    block->next = NULL;
    block->size = size;
    arena->total += bytes;
    return block;
}

/* Memory for an allocation that does not fit into the current block. */
static char *take_from_new_block(struct arena *arena, size_t size) {
    size_t usual = arena->blocks ? arena->blocks->size * 2 : BLOCK_FIRST;
    if (usual > BLOCK_MOST)
        usual = BLOCK_MOST;
    if (size > usual / 4 && arena->blocks) {
        struct arena_block *own = block_new(arena, size);
        own->next = arena->blocks->next;
        arena->blocks->next = own;
        return own->bytes;
    }
    struct arena_block *block = block_new(arena, size > usual ? size : usual);
    block->next = arena->blocks;
    arena->blocks = block;
    arena->free = block->bytes + size;
    arena->left = block->size - size;
    return block->bytes;
}

static char *take(struct arena *arena, size_t size, size_t alignment) {
    size_t pad = -(uintptr_t)arena->free & (alignment - 1);
    if (!arena->free || pad > arena->left || size > arena->left - pad)
        return take_from_new_block(arena, size);
    char *piece = arena->free + pad;
    arena->free = piece + size;
    arena->left -= pad + size;
    return piece;
}

void *arena_alloc(struct arena *arena, size_t size) {
    return memset(take(arena, size, alignof(max_align_t)), 0, size);
}

char *arena_strndup(struct arena *arena, const char *text, size_t size) {
    size_t length = strnlen(text, size);
    char *copy = take(arena, length + 1, 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text) {
    return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...) {
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    char *copy = arena_strndup(arena, strbuf_text(&text), text.length);
    strbuf_finish(&text);
    return copy;
}
