/* model_failover.h: another agent takes over (rules, 2 "fail-over"). Part of model_internal.h, which see. */
#pragma once

#include "model_internal.h"

sym model_chooser(const struct model *m, const struct model_task *t); /* whose list counts, or 0 */
bool model_is_covered(const struct model *m, sym agent);              /* one of its list is open */
sym model_runner(const struct model *m,
                 const struct model_task *t); /* it would run with that agent */
