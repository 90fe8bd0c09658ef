/* alerts_internal.h: alerts, log lines and sums, for other parts. Private to engine/. */
#pragma once

#include "base/macros.h"
#include "engine/alert.h"
#include "engine/engine_internal.h"
#include "engine/tally.h"

/* --- alert ------------------------------------------------------------------------------------ */

/* An alert has a key that names its cause ("chain:web-3", "account:anthropic"). It is open while
 * the cause lasts: raised and cleared once, even across restarts, in the commit of its cause. */

struct alert {
    struct engine_alert view; /* owns its texts */
    uint32_t attempt;         /* of view.task; 0: none */
};

/* False: already open. */
bool alert_raise(struct engine *e, const char *key, task_id task, uint32_t attempt,
                 const char *format, ...) _printf_(5, 6);
