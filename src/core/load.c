/* load.c: a core is told its rows.
 *
 * A row is the truth: it was found out once, by a core that knew all the others. So while rows are
 * told nothing is concluded from them, whatever has not come yet; at the end every task is looked at
 * as after a new policy. If the policy is the one the rows were made under, nothing changes. */
#include <errno.h>

#include "core/apply.h"
#include "core/claim.h"
#include "core/gates.h"
#include "core/lend.h"
#include "core/queue.h"
#include "core/task.h"

bool apply_allowed_while_loading(enum fact_kind kind) {
    switch (kind) {
    case FACT_CLOCK:
    case FACT_POLICY:
    case FACT_PROJECT:
    case FACT_KIND:
    case FACT_AGENT:
    case FACT_LIMITER:
    case FACT_RESOURCE:
    case FACT_WORKSPACE:
    case FACT_HOST:
    case FACT_BUDGET:
    case FACT_USAGE:
    case FACT_WAIT:
    case FACT_PACE:
    case FACT_CLAIM:
    case FACT_EXTERNAL:
    case FACT_PAUSE:
    case FACT_RESUME:
    case FACT_TICK:
    case FACT_LOADED:
    case FACT_TASK_ADDED:
    case FACT_RUN_TOKENS:
        return true;
    case FACT_LOADING:
    case FACT_SLING:
    case FACT_HOLD:
    case FACT_RELEASE:
    case FACT_SPENT:
    case FACT_CLEAR:
    case FACT_CANCEL:
    case FACT_RETRY:
    case FACT_AGAIN:
    case FACT_APPROVE:
    case FACT_REJECT:
    case FACT_DELETE:
    case FACT_FORGET:
    case FACT_PRIORITY:
    case FACT_DEPENDENCIES:
    case FACT_LIMITER_CLEAR:
    case FACT_AGENT_CLEAR:
    case FACT_ARTIFACT:
    case FACT_MARKED:
    case FACT_ORDER_REFUSED:
    case FACT_RUN_STARTED:
    case FACT_RUN_PHASE:
    case FACT_RUN_LIMITED:
    case FACT_RUN_ENDED:
    case FACT_KIND_MAX:
        break;
    }
    return false;
}

int apply_loading(struct core *c, const struct fact *fact, struct error *err) {
    (void)fact;
    if (c->tasks.used > 0)
        return error_set(err, -EBUSY, "tasks are known already: only a new core is told rows");
    c->loading = true;
    return 0;
}

int apply_wait(struct core *c, const struct fact *fact, struct error *err) {
    const struct wait_spec *wait = &fact->wait;
    uint32_t project = by_symbol_get(&c->project_of, wait->project);
    uint32_t limiter = by_symbol_get(&c->limiter_of, wait->limiter);
    uint32_t agent = by_symbol_get(&c->agent_of, wait->agent);
    if (!c->loading)
        return error_set(err, -EBUSY, "what did not count as waiting is told while loading");
    if (!project || (wait->limiter && !limiter) || (wait->agent && !agent))
        return 1; /* the configuration has it no more, so nobody waits there */
    queue_set_wait(c, (struct wait_key){ project, limiter, agent }, wait);
    return 0;
}

int apply_pace(struct core *c, const struct fact *fact, struct error *err) {
    const struct pace_spec *pace = &fact->pace;
    if (!c->loading)
        return error_set(err, -EBUSY, "how far the pace is, is told while loading");
    if (!pace_in_force(c))
        return 0; /* the row is of a time when it was */
    c->tick_running = pace->ticking;
    c->tick_number = pace->ticking; /* who starts from now on can be taken back from it */
    c->tick_began = pace->tick_began;
    c->tick_starts = pace->tick_starts;
    c->ticked = pace->started;
    c->last_start = pace->last_start;
    return 0;
}

int apply_claim(struct core *c, const struct fact *fact, struct error *err) {
    if (!c->loading)
        return error_set(err, -EBUSY, "what is reserved for an overdue task is told while loading");
    c->told_claim = fact->claim;
    return 0;
}

/* Waiting or ready, without an announcement. */
static void find_out_state(struct core *c, uint32_t task) {
    struct task *t = task_at(c, task);
    bool told = t->flags & TASK_TOLD_READY;
    t->flags &= (uint16_t)~TASK_TOLD_READY;
    if (!told || !task_has_prerequisites(c, t))
        t->enqueued_at = t->created_at;
    if (told ? !task_has_prerequisites(c, t) : !task_may_be_ready(c, t))
        return;
    if (!told)
        t->enqueued_at = c->now;
    task_count(c, t, TASK_WAITING, -1);
    task_count(c, t, TASK_READY, 1);
    t->state = TASK_READY;
    time_ms waited = told ? queue_clock(c, queue_wait_key(c, t)) - t->ready_clock : 0;
    queue_enter(c, task, waited);
}

int apply_loaded(struct core *c, const struct fact *fact, struct error *err) {
    (void)fact;
    if (!c->loading)
        return error_set(err, -EINVAL, "no rows were being told");
    c->loading = false;
    lend_loaded(
        c); /* before anybody is in the queue: who waits there sees the places that are free */
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        if (task_at(c, h)->state == TASK_WAITING)
            find_out_state(c, h);
    }
    for (uint32_t h = 1; h < c->tasks.next; h++) {
        if (!task_state_is_final(task_at(c, h)->state))
            task_look_again(c, h);
    }
    claim_loaded(c);
    return 0;
}
