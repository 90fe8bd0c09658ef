/* score.h: score = base + age − penalty + depth, every number from the policy. Private to core/. */
#pragma once

#include "core/state.h"

int64_t score_penalty(const struct policy *policy, uint32_t iteration);
int32_t score_of(const struct core *c, const struct task *t);

/* When the age part grows next; TIME_NEVER when it is at its maximum. */
time_ms score_changes_at(const struct core *c, const struct task *t);
