/* task_graph.c: cycles and admission, over graphs given as arrays of edges. Depth-first with an
 * explicit stack, so that chains of a million tasks work. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "core/task_graph.h"

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

/* --- admission ------------------------------------------------------------------------------- */

enum verdict { OPEN = 0, ADMITTED, DEFERRED };

struct admission_walk {
    const struct admit_request *request;
    uint8_t *verdict;
    uint32_t *seen; /* per node: the last walk that reached it, from 1 */
    uint32_t *stack;
    uint32_t count; /* nodes of this walk */
    amount waiting; /* number of nodes that take room */
};

/* Collects `top` and its open prerequisites. False: one of them cannot be admitted. */
static bool collect(struct admission_walk *w, uint32_t top, amount room) {
    const struct admit_request *q = w->request;
    w->count = w->waiting = 0;
    w->stack[w->count++] = top;
    w->seen[top] = top + 1;
    for (uint32_t at = 0; at < w->count; at++) {
        uint32_t node = w->stack[at];
        w->waiting += q->waits[node];
        if (w->waiting > room)
            return false;
        for (uint32_t i = q->starts[node]; i < q->starts[node + 1]; i++) {
            uint32_t need = q->targets[i];
            if (need >= q->node_count || w->seen[need] == top + 1 || w->verdict[need] == ADMITTED)
                continue;
            if (w->verdict[need] == DEFERRED)
                return false;
            w->seen[need] = top + 1;
            w->stack[w->count++] = need;
        }
    }
    return true;
}

uint32_t admit_fill(const struct admit_request *request, bool *deferred) {
    size_t nodes = (size_t)request->node_count + 1;
    _cleanup_(freep) uint8_t *verdict = xcalloc(nodes, sizeof(*verdict));
    _cleanup_(freep) uint32_t *seen = xcalloc(nodes, sizeof(*seen));
    _cleanup_(freep) uint32_t *stack = xcalloc(nodes, sizeof(*stack));
    struct admission_walk w = {
        .request = request, .verdict = verdict, .seen = seen, .stack = stack
    };
    amount room = request->room;
    uint32_t count = 0;
    for (uint32_t node = 0; node < request->node_count; node++) {
        if (verdict[node] != OPEN)
            continue;
        if (!collect(&w, node, room)) {
            verdict[node] = DEFERRED;
            continue;
        }
        room -= w.waiting;
        for (uint32_t i = 0; i < w.count; i++)
            verdict[stack[i]] = ADMITTED;
    }
    for (uint32_t node = 0; node < request->node_count; node++) {
        deferred[node] = verdict[node] == DEFERRED;
        count += deferred[node];
    }
    return count;
}
