/* gate_count.h: how many wait at each gate, counted one by one. */
#pragma once

#include "core/core.h"

/* Asks every task that waits what stops it, and compares with what the core has counted. False: `out` says
 * which count is another. */
bool gate_count_check(const struct core *core, struct strbuf *out);
