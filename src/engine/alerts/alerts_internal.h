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
void alert_clear(struct engine *e, const char *key);
bool alert_is_open(const struct engine *e, const char *key);

/* What changed in this turn. */
void alerts_see_task(struct engine *e, const struct task_spec *told);
void alerts_see_limiter(struct engine *e, const struct limiter_row *row);
void alerts_see_agent(struct engine *e, const struct agent_row *row);
/* At the end of a turn, before its commit. */
void alerts_turn(struct engine *e);
time_ms alerts_next(const struct engine *e);

/* --- journal ---------------------------------------------------------------------------------- */

/* Log lines of the scheduler. They use the words and members of the schedulers that they come from,
 * as key=value after the message: docs/daemon.md lists them. */

void journal_see_limiter(struct engine *e, const struct limiter_row *row);
void journal_see_start(struct engine *e, const struct order *order);

/* --- tally ------------------------------------------------------------------------------------ */

/* A run has ended in this turn; counted by tally_settle, or never. */
void tally_note(struct engine *e, const struct spent_row *spent, enum outcome outcome);
void tally_turn(struct engine *e, int64_t took_us);
