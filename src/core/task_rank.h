/* task_rank.h: which task comes first. Private to core/.
 *
 * task_before compares, each step only if the policy enables it (enum order_part in policy.h):
 *   1. projects: owed a start or completion, then deficit of tokens, then position
 *   2. overdue tasks first, the one that has waited longest before others
 *   3. priority, then score
 *   4. age: when it became ready, when it was created, and always its id
 * docs/internals/rules.md §3 has the reasons. Where a class keeps its tasks sorted:
 * ready_queue.h. */
#pragma once

#include "core/state.h"

/* Does task a come before b? Both are ready, and their projects are active and not paused. */
bool task_before(const struct core *c, uint32_t a, uint32_t b);
/* Step 1: below 0 if project a comes before b, 0 if they are equal. The bounds: see fair_compare. */
int project_compare(const struct core *c, uint32_t a, uint32_t b, struct winner_bounds *bounds);
/* Steps 2 to 4, and 3 and 4. Lowers `until`, if it is not NULL, to the time at which the result may
 * change. */
bool task_before_in_project(const struct core *c, uint32_t a, uint32_t b, time_ms *until);
bool task_before_by_rank(const struct core *c, uint32_t a, uint32_t b, time_ms *until);
bool task_before_by_age(const void *core, uint32_t a, uint32_t b); /* step 4 */
/* By the time they became ready: the order in which tasks become overdue, then by age. */
bool task_before_by_wait(const void *core, uint32_t a, uint32_t b);

/* score = base + age − penalty + depth, every number from the policy. */
int32_t score_of(const struct core *c, const struct task *t);
int64_t score_penalty(const struct policy *policy, uint32_t iteration);
