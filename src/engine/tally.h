/* tally.h: usage and outcomes of runs since this daemon started, for its metrics. Counted after the
 * commit. Long-term sums are in the store (QUERY_SPENT). */
#pragma once

#include "base/metric.h"
#include "engine/engine.h"

/* One for each project and agent (or "") that had a run. Beyond TALLY_MAX the rest is one pair, both
 * "other". */
#define TALLY_MAX 500u
size_t engine_tally_count(const struct engine *engine);
const struct spent_row *engine_tally_at(const struct engine *engine, size_t index);
uint64_t engine_outcome_count(const struct engine *engine, enum outcome outcome);
/* Duration of turns including their commits. */
const struct latency *engine_turn_latency(const struct engine *engine);
