/* admit.c: see admit.h. */
#include "core/admit.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"

enum verdict { OPEN = 0, ADMITTED, DEFERRED };

struct admission_walk {
    const struct admit_request *request;
    uint8_t *verdict;
    uint32_t *seen; /* by node: the last walk that reached it, counted from 1 */
    uint32_t *stack;
    uint32_t count; /* nodes of this walk */
    amount waiting; /* how many of them take room */
};

/* Collects `top` and everything it needs that is still open. False: something in it cannot be admitted. */
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
