/* probes_internal.h: probes, for other parts. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"
#include "engine/probes.h"
#include "executor/helper_process.h"

/* --- answers ---------------------------------------------------------------------------------- */

#define PROBE_NOT_YET  75 /* exit code: EX_TEMPFAIL of sysexits.h */
#define PROBE_LINE_MAX 200u

enum probe_answer { PROBE_UNKNOWN, PROBE_YES, PROBE_PENDING, PROBE_NO };
const char *probe_answer_name(enum probe_answer answer); /* "yes", "not yet", "no" */
/* The answer of a call, and the reason: its last line, or why it has none; at most PROBE_LINE_MAX
 * bytes. */
enum probe_answer probe_answer_of(const struct helper_end *end, struct strbuf *reason);
/* The pause before the next call, after `repeats` equal answers in a row. */
time_ms probe_pause(time_ms every, time_ms most, uint32_t repeats);

/* --- tasks ------------------------------------------------------------------------------------ */

/* A task was added with a gate. */
void probe_want(struct engine *e, task_id task);

/* A run has ended. OUTCOME_PENDING: its check is asked from now on; other outcomes may end that. */
void probe_run_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                     enum outcome outcome);
/* This iteration has a pending check: its work is done, and a run only repeats the checks. */
bool probe_skips_command(const struct engine *e, task_id task, uint32_t iteration);
/* The check of the task has been pending for longer than its `pending_timeout_s`. */
bool probe_has_expired(const struct engine *e, task_id task, int check);
