/* admit.h: which of several new tasks the queue has room for.
 *
 * A task is admitted together with everything it needs from the same request, or deferred. Node n needs
 * targets[starts[n]] .. targets[starts[n + 1] - 1]; nodes that need each other are admitted together.
 * Targets >= node_count are outside the request and ignored. Tasks are considered in their order; one
 * that does not fit does not stop a later one that does. No recursion. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/model.h"

struct admit_request {
    const uint32_t *starts, *targets;
    const bool *waits; /* takes room in the queue; a draft does not */
    uint32_t node_count;
    amount room; /* how many more may wait */
};

/* Sets deferred[n] for every node; returns how many are deferred. */
uint32_t admit_fill(const struct admit_request *request, bool *deferred);
