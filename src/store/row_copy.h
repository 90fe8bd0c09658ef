/* row_copy.h: a row and everything it points at, in one piece of memory. Private to store/. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "store/rows.h"

enum row_kind {
    ROW_TASK,
    ROW_SPEC,
    ROW_RUN,
    ROW_EVENT,
    ROW_PROJECT,
    ROW_GROUP,
    ROW_LIMITER,
    ROW_AGENT,
    ROW_USAGE,
    ROW_WAIT,
    ROW_KEY,
    ROW_PAUSE,
    ROW_NOTE,
    ROW_SPENT,
    ROW_KIND_MAX,
};

/* The symbols and lists of a copied task's `told` are empty: its texts say the same. */
void *row_copy(enum row_kind kind, const void *row, struct arena *arena);
void *row_clone(enum row_kind kind, const void *row); /* one allocation: end with free */
