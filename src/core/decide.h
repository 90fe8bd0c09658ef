/* decide.h: what starts now. Private to core/. */
#pragma once

#include "core/state.h"

void decide_timers(struct core *c); /* those that are due */
void decide_starts(struct core *c);

/* No gate and no lease stops it (as if it were its turn). */
bool decide_startable(const struct core *c, uint32_t task);
/* Does the first task of one project come before that of another? Deficits are set. */
bool decide_before(const struct core *c, uint32_t a, uint32_t b);
