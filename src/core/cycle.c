/* cycle.c: depth-first search with its own stack, so that a chain of a million tasks is no problem. */
#include "core/cycle.h"

#include <stdlib.h>

#include "base/alloc.h"

enum colour { WHITE, GREY, BLACK };

struct search {
    const uint32_t *starts, *targets;
    uint32_t *stack;  /* the path from the root */
    uint32_t *cursor; /* per node: the next edge to follow */
    unsigned char *colour;
    size_t depth;
};

static void push(struct search *s, uint32_t node) {
    s->colour[node] = GREY;
    s->cursor[node] = s->starts[node];
    s->stack[s->depth++] = node;
}

/* Follows one edge of the top node. True: it closes a cycle that begins at *ret_begin. */
static bool step(struct search *s, uint32_t node_count, uint32_t *ret_begin) {
    uint32_t node = s->stack[s->depth - 1];
    if (s->cursor[node] == s->starts[node + 1]) {
        s->colour[node] = BLACK;
        s->depth--;
        return false;
    }
    uint32_t target = s->targets[s->cursor[node]++];
    if (target >= node_count || s->colour[target] == BLACK)
        return false;
    if (s->colour[target] == GREY) {
        *ret_begin = target;
        return true;
    }
    push(s, target);
    return false;
}

bool cycle_find(const uint32_t *starts, const uint32_t *targets, uint32_t node_count,
                uint32_t **ret_path, size_t *ret_length) {
    struct search s = {
        .starts = starts,
        .targets = targets,
        .stack = xcalloc((size_t)node_count + 1, sizeof(uint32_t)),
        .cursor = xcalloc((size_t)node_count + 1, sizeof(uint32_t)),
        .colour = xcalloc((size_t)node_count + 1, 1),
    };
    bool found = false;
    uint32_t begin = 0;
    for (uint32_t root = 0; root < node_count && !found; root++) {
        if (s.colour[root] != WHITE)
            continue;
        push(&s, root);
        while (s.depth > 0 && !found)
            found = step(&s, node_count, &begin);
    }
    if (found) {
        size_t from = 0;
        while (s.stack[from] != begin)
            from++;
        *ret_length = s.depth - from;
        *ret_path = xcalloc(*ret_length, sizeof(uint32_t));
        for (size_t i = from; i < s.depth; i++)
            (*ret_path)[i - from] = s.stack[i];
    }
    free(s.stack);
    free(s.cursor);
    free(s.colour);
    return found;
}
