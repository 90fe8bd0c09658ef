/* alloc.h: allocation that never fails: the program aborts instead.
 *
 * Inputs are bounded before they are stored, so no caller could handle an out-of-memory condition
 * better than a restart from durable state. */
#pragma once

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t size);

/* Makes room for `need` items of `size` bytes; *capacity grows by at least half. */
void *xgrow(void *items, size_t *capacity, size_t need, size_t size);

/* For _cleanup_(freep) char *text. */
void freep(void *pointer_to_pointer);
