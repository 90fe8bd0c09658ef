/* cycle.h: finds a cycle in a graph.
 *
 * Node n points at targets[starts[n]] .. targets[starts[n + 1] - 1]. Targets >= node_count are
 * outside and ignored. Linear, no recursion. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if there is a cycle; *ret_path then holds its nodes in order (the first is not repeated; the
 * caller frees) and *ret_length their number. The same graph gives the same cycle. */
bool cycle_find(const uint32_t *starts, const uint32_t *targets, uint32_t node_count,
                uint32_t **ret_path, size_t *ret_length);
