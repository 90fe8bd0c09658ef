/* apply_run.c: what happened to a run. A message about another attempt came late and is ignored. */
#include <errno.h>
#include <inttypes.h>

#include "core/apply.h"
#include "core/changes.h"
#include "core/fair.h"
#include "core/lease.h"
#include "core/limiter.h"
#include "core/run.h"
#include "core/task.h"

/* 0 and the task, if this attempt is live in one of the states; 1: late or double; <0: unknown. */
static int find_live(const struct core *c, const struct fact *fact, unsigned states,
                     uint32_t *ret_task, struct error *err) {
    uint32_t task = task_find_added(c, fact->task);
    if (!task)
        return error_set(err, -ENOENT, "task %" PRIu64 " is not known", fact->task);
    const struct task *t = task_at(c, task);
    if (!((states >> t->state) & 1u) || t->attempt != fact->attempt
        || run_at(c, t->run)->phase == PHASE_DRAINING)
        return 1;
    *ret_task = task;
    return 0;
}

#define STARTING (1u << TASK_STARTING)
#define LIVE     (STARTING | 1u << TASK_RUNNING)

int apply_order_refused(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_live(c, fact, STARTING, &task, err);
    if (r != 0)
        return r;
    const struct run *run = run_at(c, task_at(c, task)->run);
    if (run->tick == c->tick_number && run->tick) {
        c->tick_starts--;
        c->pace_changed = true;
    }
    run_undo(c, task);
    return 0;
}

int apply_run_started(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_live(c, fact, STARTING, &task, err);
    if (r != 0)
        return r;
    task_become(c, task, (struct change){ .to = TASK_RUNNING, .reason = REASON_EXECUTED });
    return 0;
}

int apply_run_phase(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_live(c, fact, LIVE, &task, err);
    if (r != 0)
        return r;
    struct run *run = run_at(c, task_at(c, task)->run);
    if (fact->phase != PHASE_VALIDATING || run->phase != PHASE_WORKING)
        return 1; /* only forwards; a stopping run keeps everything until its end */
    run->phase = PHASE_VALIDATING;
    change_task(c, task);
    lease_give_limiter(c, task_at(c, task)->run);
    return 0;
}

int apply_run_tokens(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_live(c, fact, LIVE, &task, err);
    if (r != 0)
        return r;
    fair_report(c, task_at(c, task)->run, fact->tokens);
    return 0;
}

int apply_run_limited(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_live(c, fact, LIVE, &task, err);
    if (r != 0)
        return r;
    const struct run *run = run_at(c, task_at(c, task)->run);
    if (!run->limiter)
        return 1;
    limiter_hit(c, run->limiter, run->started_at, fact->limited.retry_after,
                fact->limited.reset_at);
    return 0;
}

int apply_run_ended(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    if ((unsigned)fact->ended.outcome >= OUTCOME_MAX)
        return error_set(err, -EINVAL, "outcome %u is not known", (unsigned)fact->ended.outcome);
    int r = find_live(c, fact, LIVE, &task, err);
    if (r != 0)
        return r;
    run_end(c, task, fact);
    return 0;
}
