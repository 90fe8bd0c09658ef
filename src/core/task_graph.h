/* task_graph.h: cycles and admission, over graphs given as arrays of edges. No recursion.
 *
 * Node n points to targets[starts[n]] .. targets[starts[n + 1] - 1]. Targets >= node_count are
 * outside the graph and ignored. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model.h"

/* --- cycles ---------------------------------------------------------------------------------- */

/* True if there is a cycle; *ret_path then holds its nodes in order (the first is not repeated; the
 * caller frees) and *ret_length their number. The same graph gives the same cycle. */
bool cycle_find(const uint32_t *starts, const uint32_t *targets, uint32_t node_count,
                uint32_t **ret_path, size_t *ret_length);

/* --- admission ------------------------------------------------------------------------------- */

/* A task is admitted together with everything it needs from the same request, or deferred. Node n
 * needs its targets; nodes that need each other are admitted together. Tasks are considered in
 * order; one that does not fit does not stop a later one that does. */

struct admit_request {
    const uint32_t *starts, *targets;
    const bool *waits; /* takes room in the queue; a draft does not */
    uint32_t node_count;
    amount room; /* how many more may wait */
};

/* Sets deferred[n] for every node; returns the number deferred. */
uint32_t admit_fill(const struct admit_request *request, bool *deferred);
