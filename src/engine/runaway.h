/* runaway.h: tasks whose runs end quickly, again and again. Private to engine/.
 *
 * A command that fails at once, under a policy that starts it again at once, starts hundreds of times in a second. So a run
 * that ends in less than `runaway.quick_s` and is followed by another attempt is counted. The pause before that attempt is
 * at least `runaway.pause_s`, doubled with each quick end in a row up to `runaway.pause_max_s`; after
 * `runaway.alert_after` of them there is an alert (`runaway:ID`). One run that lasts, or succeeds, sets the count to 0.
 *
 * A delay that the owner has set (`retry.*.delay_s`) is kept as it is: then there is only the alert. Launch failures have
 * a guard of their own, the breaker, as long as `breaker.max` is finite. */
#pragma once

#include "engine/live_run.h"

struct alert;

/* Counts the end of a run, and tells the core with it how long the next attempt must wait at least. Inside a turn. */
void runaway_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                   struct fact *ended);

bool runaway_alert_is_over(const struct engine *e, const struct alert *alert);
