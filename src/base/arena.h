/* arena.h: memory that is freed all at once with its arena. */
#pragma once

#include <stddef.h>

#include "base/macros.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    char *free;
    size_t left;
    size_t total; /* bytes taken from the system */
};

#define ARENA_INIT                                                                                 \
    { NULL, NULL, 0, 0 }

void arena_finish(struct arena *arena); /* safe on a zeroed arena; usable with _cleanup_ */
void arena_reset(struct arena *arena);  /* empty again; keeps one block */
void *arena_alloc(struct arena *arena, size_t size); /* zeroed, aligned for anything */
char *arena_strndup(struct arena *arena, const char *text, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) _printf_(2, 3);
