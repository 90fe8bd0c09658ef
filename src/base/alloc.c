/* alloc.c: the policy for running out of memory.
 *
 * It aborts rather than exits: no cleanup handler may run in a broken state, and a core file shows
 * the caller. The durable state is on disk, so a restart loses nothing. */
#include "base/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROW_FIRST 8u /* first allocation, in items: most small arrays never grow again */

static _Noreturn void out_of_memory(size_t size) {
    (void)fprintf(stderr, "out of memory: cannot get %zu bytes\n", size);
    abort();
}

void *xmalloc(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory)
        out_of_memory(size);
    return memory;
}

void *xcalloc(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory) {
        size_t total;
        out_of_memory(__builtin_mul_overflow(count, size, &total) ? SIZE_MAX : total);
    }
    return memory;
}

void *xrealloc(void *old, size_t size) {
    void *memory = realloc(old, size ? size : 1);
    if (!memory)
        out_of_memory(size);
    return memory;
}

char *xstrdup(const char *text) {
    return xstrndup(text, strlen(text));
}

char *xstrndup(const char *text, size_t size) {
    size_t length = strnlen(text, size);
    char *copy = xmalloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void *xgrow(void *items, size_t *capacity, size_t need, size_t size) {
    if (need <= *capacity)
        return items;
    size_t wanted, bytes;
    if (__builtin_add_overflow(*capacity, *capacity / 2, &wanted) || wanted < need)
        wanted = need;
    if (wanted < GROW_FIRST)
        wanted = GROW_FIRST;
    if (__builtin_mul_overflow(wanted, size, &bytes))
        out_of_memory(SIZE_MAX);
    items = xrealloc(items, bytes);
    *capacity = wanted;
    return items;
}

void freep(void *pointer_to_pointer) {
    void *memory; /* copied as bytes: the caller's pointer may have any type */
    memcpy(&memory, pointer_to_pointer, sizeof(memory));
    free(memory);
}
