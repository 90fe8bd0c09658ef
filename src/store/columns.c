/* columns.c: what of a task is kept together, and what only when there is any?
 *
 * The numbers of the flags are on disk: a new one gets a new number.
 */
#include "store/columns.h"

enum {
    TASK_FLAG_PARALLELIZABLE = 1,
    TASK_FLAG_REVIEW = 2,
    TASK_FLAG_ARTIFACT_MISSING = 4,
    TASK_FLAG_RUN_UNLIMITED = 8,
    TASK_FLAG_KEEPS = 16, /* times enum keep */
    TASK_FLAG_BOUND = 256,
};

int64_t columns_flags(const struct task_spec *told) {
    return (told->parallelizable ? TASK_FLAG_PARALLELIZABLE : 0)
           | (told->review ? TASK_FLAG_REVIEW : 0)
           | (told->artifact_missing ? TASK_FLAG_ARTIFACT_MISSING : 0)
           | (told->run_unlimited ? TASK_FLAG_RUN_UNLIMITED : 0)
           | (told->bound ? TASK_FLAG_BOUND : 0) | (int64_t)told->keeps * TASK_FLAG_KEEPS;
}

void columns_take_flags(int64_t flags, struct task_spec *told) {
    told->parallelizable = (flags & TASK_FLAG_PARALLELIZABLE) != 0;
    told->review = (flags & TASK_FLAG_REVIEW) != 0;
    told->artifact_missing = (flags & TASK_FLAG_ARTIFACT_MISSING) != 0;
    told->run_unlimited = (flags & TASK_FLAG_RUN_UNLIMITED) != 0;
    told->bound = (flags & TASK_FLAG_BOUND) != 0;
    told->keeps = (unsigned)(flags / TASK_FLAG_KEEPS) & KEEP_ALL;
}

bool columns_have_progress(const struct task_row *row) {
    const struct task_spec *told = &row->told;
    return told->iteration != 1 || told->attempt != 0 || told->hold != HOLD_NONE
           || told->not_before != 0 || told->phase != PHASE_WORKING || told->started_at != 0
           || told->stop != STOP_NONE || row->run_agent || row->run_limiter || told->failures != 0
           || told->launch_failures != 0 || told->losses != 0 || told->restarts != 0
           || told->breaker_openings != 0 || told->lender != 0 || told->borrowed != 0;
}
