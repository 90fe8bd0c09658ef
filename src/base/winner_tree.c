/* winner_tree.c: a tournament whose results expire.
 *
 * Invariant: a touched child has touched ancestors, so a touch stops at the first ancestor that is
 * touched already, and a query that finds the root in its bounds looks at nothing else. */
#include "base/winner_tree.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define TOUCHED INT64_MIN

struct winner_node {
    struct winner_bounds bounds;
    uint32_t winner;
};

struct winner_leaf {
    time_ms until;
    uint32_t item;
    bool takes_part;
};

struct query {
    struct winner_tree *tree;
    const struct winner_rules *rules;
    void *ctx;
    time_ms now;
    double ratio;
};

void winner_tree_finish(struct winner_tree *tree) {
    free(tree->nodes);
    free(tree->leaves);
    *tree = (struct winner_tree){ 0 };
}

void winner_tree_touch_all(struct winner_tree *tree) {
    for (uint32_t i = 1; i < tree->capacity; i++)
        tree->nodes[i].bounds.until = TOUCHED;
    for (uint32_t i = 0; i < tree->count; i++)
        tree->leaves[i].until = TOUCHED;
}

static void grow(struct winner_tree *tree) {
    uint32_t capacity = tree->capacity + tree->capacity / 2 + 1;
    tree->nodes = xrealloc(tree->nodes, capacity * sizeof(*tree->nodes));
    tree->leaves = xrealloc(tree->leaves, capacity * sizeof(*tree->leaves));
    memset(tree->leaves + tree->capacity, 0, (capacity - tree->capacity) * sizeof(*tree->leaves));
    tree->capacity = capacity;
    winner_tree_touch_all(tree);
}

bool winner_tree_touch(struct winner_tree *tree, uint32_t slot) {
    assert(slot < tree->count);
    if (tree->leaves[slot].until == TOUCHED)
        return false;
    tree->leaves[slot].until = TOUCHED;
    for (uint32_t i = (tree->capacity + slot) / 2; i > 0; i /= 2) {
        if (tree->nodes[i].bounds.until == TOUCHED)
            break;
        tree->nodes[i].bounds.until = TOUCHED;
    }
    return true;
}

/* The slot gets another item. */
static void put(struct winner_tree *tree, uint32_t slot, uint32_t item) {
    tree->leaves[slot] = (struct winner_leaf){ .item = item };
    (void)winner_tree_touch(tree, slot);
}

uint32_t winner_tree_add(struct winner_tree *tree, uint32_t item) {
    if (tree->count == tree->capacity)
        grow(tree);
    put(tree, tree->count++, item);
    return tree->count - 1;
}

uint32_t winner_tree_remove(struct winner_tree *tree, uint32_t slot) {
    uint32_t last = tree->count - 1, moved = slot < last ? tree->leaves[last].item : 0;
    if (moved)
        put(tree, slot, moved);
    put(tree, last, 0);
    tree->count--;
    return moved;
}

uint32_t winner_tree_item(const struct winner_tree *tree, uint32_t slot) {
    return tree->leaves[slot].item;
}

static bool within(const struct query *q, const struct winner_bounds *bounds) {
    return q->now < bounds->until && bounds->low < q->ratio && q->ratio < bounds->high;
}

/* The winner of a node or leaf, brought up to date. Its bounds are added to `bounds`. */
static uint32_t winner_of(const struct query *q, uint32_t at, struct winner_bounds *bounds);

static uint32_t leaf_winner(const struct query *q, uint32_t slot, struct winner_bounds *bounds) {
    struct winner_leaf *leaf = &q->tree->leaves[slot];
    if (q->now >= leaf->until) {
        leaf->until = TIME_NEVER;
        leaf->takes_part = leaf->item && q->rules->renew(q->ctx, leaf->item, &leaf->until);
    }
    bounds->until = time_min(bounds->until, leaf->until);
    return leaf->takes_part ? leaf->item : 0;
}

static void node_renew(const struct query *q, uint32_t at, struct winner_node *node) {
    struct winner_bounds bounds = { TIME_NEVER, -INFINITY, INFINITY };
    uint32_t a = winner_of(q, 2 * at, &bounds), b = winner_of(q, 2 * at + 1, &bounds);
    node->winner = a ? a : b;
    if (a && b && !q->rules->before(q->ctx, a, b, &bounds))
        node->winner = b;
    node->bounds = bounds;
}

static uint32_t winner_of(const struct query *q, uint32_t at, struct winner_bounds *bounds) {
    if (at >= q->tree->capacity)
        return leaf_winner(q, at - q->tree->capacity, bounds);
    struct winner_node *node = &q->tree->nodes[at];
    if (!within(q, &node->bounds))
        node_renew(q, at, node);
    bounds->until = time_min(bounds->until, node->bounds.until);
    winner_bounds_narrow(bounds, node->bounds.low, node->bounds.high);
    return node->winner;
}

uint32_t winner_tree_first(struct winner_tree *tree, const struct winner_rules *rules, void *ctx,
                           time_ms now, double ratio) {
    struct query q = { tree, rules, ctx, now, ratio };
    struct winner_bounds bounds = { TIME_NEVER, -INFINITY, INFINITY };
    return tree->count > 0 ? winner_of(&q, 1, &bounds) : 0;
}

time_ms winner_tree_until(const struct winner_tree *tree) {
    if (tree->count == 0)
        return TIME_NEVER;
    return tree->capacity > 1 ? tree->nodes[1].bounds.until : tree->leaves[0].until;
}

size_t winner_tree_bytes(const struct winner_tree *tree) {
    return tree->capacity * (sizeof(*tree->nodes) + sizeof(*tree->leaves));
}

void winner_tree_copy(const struct winner_tree *tree, struct winner_tree *ret) {
    *ret = *tree;
    if (tree->capacity == 0)
        return;
    ret->nodes = xmalloc(tree->capacity * sizeof(*ret->nodes));
    ret->leaves = xmalloc(tree->capacity * sizeof(*ret->leaves));
    memcpy(ret->nodes, tree->nodes, tree->capacity * sizeof(*ret->nodes));
    memcpy(ret->leaves, tree->leaves, tree->capacity * sizeof(*ret->leaves));
}
