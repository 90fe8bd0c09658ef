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

/* A run works and waits by turns; after that only forwards. One that was told to stop keeps everything
 * until its end. */
static bool phase_may_follow(enum run_phase is, enum run_phase next) {
    bool alive = is == PHASE_WORKING || is == PHASE_WAITING;
    return alive && next != is
           && (next == PHASE_WORKING || next == PHASE_WAITING || next == PHASE_VALIDATING);
}

int apply_run_phase(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_live(c, fact, LIVE, &task, err);
    if (r != 0)
        return r;
    uint32_t run = task_at(c, task)->run;
    if (!phase_may_follow(run_at(c, run)->phase, fact->phase))
        return 1;
    run_set_phase(c, run, fact->phase);
    change_task(c, task);
    if (fact->phase == PHASE_VALIDATING)
        lease_give_limiter(c, run);
    return 0;
}

int apply_run_tokens(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = 0;
    int r = find_live(c, fact, LIVE, &task, err);
    if (r != 0)
        return r;
    fair_report(c, task_at(c, task)->run, fact->tokens, fact->money);
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
