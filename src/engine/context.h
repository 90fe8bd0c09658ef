/* context.h: what was said when a task was slung, laid over what was submitted. Private to engine/.
 *
 * The submission never changes. The context stands beside it as a JSON object and holds only what the
 * slinger said:
 *   agent, limiter                    for people; the core has taken them already
 *   merge, base_branch                instead of those of the task
 *   args                              a text that is put behind the prompt
 *   steps                             the numbers of the tasks that do the work, or true: it runs nothing of its own
 *   meta                              joined with the task's
 *   allow                             rules of what its agent may do, added by retries; a submission has none */
#pragma once

#include <jansson.h>

/* Changes `spec`, which is a copy of the submission. `context` NULL: nothing was said. */
void context_apply(json_t *spec, const char *context);
