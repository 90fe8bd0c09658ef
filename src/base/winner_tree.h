/* winner_tree.h: which of many items comes first, if their order changes as time passes.
 *
 * A binary tree over slots. Each node keeps the winner of its two children, and the bounds within
 * which that is certain: a time, and a range of one number (the ratio) on which the order depends.
 * A query compares again only below nodes that were touched or whose bounds have passed, so it
 * costs log n for each item that changed since the last one, and nothing for the others.
 *
 * The result is always exact: bounds only say when a comparison need not be repeated. A zeroed tree
 * is empty. Item 0 is "none". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time_ms.h"

/* Holds before `until`, while the ratio is between the other two. */
struct winner_bounds {
    time_ms until;
    double low, high;
};

static inline void winner_bounds_narrow(struct winner_bounds *bounds, double low, double high) {
    bounds->low = low > bounds->low ? low : bounds->low;
    bounds->high = high < bounds->high ? high : bounds->high;
}

struct winner_rules {
    /* Brings a touched item up to date. False: it takes no part now. Lowers `until` to the time at
     * which it must be brought up to date again. */
    bool (*renew)(void *ctx, uint32_t item, time_ms *until);
    /* A strict total order on the items that take part. Narrows the bounds. */
    bool (*before)(const void *ctx, uint32_t a, uint32_t b, struct winner_bounds *bounds);
};

struct winner_node;
struct winner_leaf;

struct winner_tree {
    struct winner_node *nodes;  /* nodes[1 .. capacity): the children of i are 2i and 2i + 1 */
    struct winner_leaf *leaves; /* child number capacity + slot */
    uint32_t capacity;
    uint32_t count; /* used slots: 0 to count − 1 */
};

void winner_tree_finish(struct winner_tree *tree);
uint32_t winner_tree_add(struct winner_tree *tree, uint32_t item); /* returns its slot */
/* The last item moves to the free slot and is returned; 0: the item itself was the last. */
uint32_t winner_tree_remove(struct winner_tree *tree, uint32_t slot);
uint32_t winner_tree_item(const struct winner_tree *tree, uint32_t slot);

/* The item may compare differently now. False: it was touched before and not queried since. */
bool winner_tree_touch(struct winner_tree *tree, uint32_t slot);
void winner_tree_touch_all(struct winner_tree *tree);

/* The first item, or 0. */
uint32_t winner_tree_first(struct winner_tree *tree, const struct winner_rules *rules, void *ctx,
                           time_ms now, double ratio);
/* After a query: the first item is the same until then, if nothing is touched. */
time_ms winner_tree_until(const struct winner_tree *tree);

size_t winner_tree_bytes(const struct winner_tree *tree);
void winner_tree_copy(const struct winner_tree *tree, struct winner_tree *ret);
