/* tally.h: usage and outcomes of runs since this daemon started, for its metrics. Counted after the
 * commit. Long-term sums are in the store (QUERY_SPENT). */
#pragma once

#include "base/metric.h"
#include "engine/engine.h"

struct engine_tally {
    const char *project, *agent; /* "": none */
    uint64_t runs, unknown_tokens, unknown_cost;
    int64_t tokens_in, tokens_out, tokens_cached, cost_micro_usd;
};
/* One per pair that has had a run. Beyond TALLY_MAX pairs the rest is one, both "other". */
#define TALLY_MAX 500u
size_t engine_tally_count(const struct engine *engine);
const struct engine_tally *engine_tally_at(const struct engine *engine, size_t index);
uint64_t engine_ended_as(const struct engine *engine, enum outcome outcome);
/* Duration of turns including their commits. */
const struct latency *engine_turn_latency(const struct engine *engine);
