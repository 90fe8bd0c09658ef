/* retry.h: when may a failed task run again? Pure: history in, a span out. */
#pragma once

#include "core/policy.h"

/* The delay before repetition number n (from 1). Jitter comes from the task and the attempt: agents
 * fail together when a provider does, and must not come back together; a replay gives the same. */
time_ms retry_delay(const struct retry_policy *policy, unsigned n, task_id task, uint32_t attempt);

/* min(first · 2^(n−1), longest), without overflow. n from 1. */
time_ms backoff_doubled(time_ms first, unsigned n, time_ms longest);
