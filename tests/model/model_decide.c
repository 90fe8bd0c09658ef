/* model_decide.c: a decision (rules, 3 "a decision", "a START"; 6). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model_claim.h"
#include "model_failover.h"
#include "model_lend.h"

/* --- timers ---------------------------------------------------------------------------------- */

static time_ms due_at(const struct model_task *t) {
    if (t->s.state == TASK_HELD && t->s.not_before > 0)
        return t->s.not_before;
    return model_is_draining(t) ? t->drain_until : TIME_NEVER;
}

static void run_timers(struct model *m) {
    for (;;) {
        struct model_task *first = NULL;
        for (size_t i = 0; i < m->tasks_count; i++)
            if (!first || due_at(&m->tasks[i]) < due_at(first))
                first = &m->tasks[i];
        if (!first || due_at(first) > m->now || due_at(first) == TIME_NEVER)
            return;
        if (first->s.state == TASK_HELD)
            model_change(m, first, TASK_WAITING, REASON_RELEASED);
        else
            model_change(m, first, TASK_DONE, REASON_DRAIN_TIMEOUT);
        model_settle(m);
    }
}

/* --- pace ------------------------------------------------------------------------------------ */

/* What must be taken back when a tick that was asked for starts nothing. */
struct extra_tick {
    bool is_extra, ticked;
    time_ms began;
};

static void begin_tick(struct model *m, struct extra_tick *before) {
    bool ready = false;
    for (size_t i = 0; i < m->tasks_count; i++)
        ready = ready || m->tasks[i].s.state == TASK_READY;
    bool is_time = !m->ticked || m->now >= time_add(m->tick_began, m->policy.pace.tick);
    bool by_itself = ready && is_time;
    *before = (struct extra_tick){ false, m->ticked, m->tick_began };
    if (!m->tick_wanted && !by_itself)
        return;
    before->is_extra = !by_itself;
    m->tick_wanted = false;
    m->ticked = true;
    m->tick++;
    m->tick_began = m->now;
}

static void end_tick(struct model *m, const struct extra_tick *before) {
    for (size_t i = 0; i < m->starts_count; i++)
        if (m->starts[i].tick == m->tick)
            return;
    if (!before->is_extra)
        return;
    m->ticked = before->ticked;
    m->tick_began = before->began;
    m->tick--;
}

/* --- starts ---------------------------------------------------------------------------------- */

static void start(struct model *m, struct model_task *t, sym agent, task_id lender) {
    int32_t score = model_score(m, t);
    t->run = (struct model_run){
        .money = -1,
        .agent = agent,
        .limiter = model_limiter_of(m, t, agent),
        .started_at = m->now,
        .had_roots = t->keeps_roots,
        .had_review = t->keeps_review,
    };
    t->s.state = TASK_STARTING;
    t->s.phase = PHASE_WORKING;
    t->s.attempt++;
    t->keeps_roots = t->s.parent == 0;
    t->keeps_review = t->s.review;
    if (m->claim.task == t->s.id)
        m->claim.task = 0;

    struct model_event *e = MODEL_ADD(m, events);
    *e = (struct model_event){
        .at = m->now, .project = t->s.project, .starts = 1, .task = t->s.id, .attempt = t->s.attempt
    };
    struct model_start *s = MODEL_ADD(m, starts);
    *s = (struct model_start){ t->s.id, t->s.attempt, m->now, m->tick };
    model_push(m, &(struct order){
                      .kind = ORDER_START,
                      .task = t->s.id,
                      .attempt = t->s.attempt,
                      .iteration = t->s.iteration,
                      .from = TASK_READY,
                      .to = TASK_STARTING,
                      .reason = REASON_FIRST_IN_ORDER,
                      .project = t->s.project,
                      .agent = agent,
                      .limiter = t->run.limiter,
                      .instead_of = t->s.agent != agent ? t->s.agent : 0,
                      .workspace = t->s.workspace,
                      .score = score,
                      .lender = lender,
                  });
}

/* The first task in order that no gate stops, and that this agent may take. */
static struct model_task *first_startable(struct model *m, sym roster_agent) {
    struct model_task *found = NULL;
    size_t count;
    size_t *sorted = model_sorted(m, &count);
    for (size_t i = 0; i < count && !found; i++) {
        struct model_task *t = &m->tasks[sorted[i]];
        if (roster_agent && t->s.agent && t->s.agent != roster_agent)
            continue;
        struct model_block block;
        if (!model_stopped(m, t, roster_agent ? roster_agent : model_runner(m, t), &block))
            found = t;
    }
    free(sorted);
    return found;
}

/* Rules, 3: those that are taken over come before all others, by number, if no gate stops them. */
static struct model_task *next_taken(struct model *m, task_id after) {
    struct model_task *next = NULL;
    for (size_t i = 0; i < m->tasks_count; i++) {
        struct model_task *t = &m->tasks[i];
        if (t->s.state == TASK_READY && model_is_taken(t) && t->s.id > after
            && (!next || t->s.id < next->s.id))
            next = t;
    }
    return next;
}

static void start_taken(struct model *m) {
    struct model_block block;
    struct model_task *t;
    if (model_has_roster(m))
        m->claim.task = 0;
    else
        (void)model_claim_expire(m);
    for (task_id after = 0; (t = next_taken(m, after));) {
        after = t->s.id;
        if (!model_has_roster(m)) {
            if (!model_stopped(m, t, model_runner(m, t), &block))
                start(m, t, model_runner(m, t), 0);
            continue;
        }
        for (size_t i = 0; i < m->agents_count && t->s.state == TASK_READY; i++) {
            sym agent = m->agents[i].id;
            if (model_is_idle(m, &m->agents[i]) && (!t->s.agent || t->s.agent == agent)
                && !model_stopped(m, t, agent, &block))
                start(m, t, agent, 0);
        }
    }
}

static void start_without_roster(struct model *m) {
    struct model_task *t;
    model_claim_update(m);
    do
        while ((t = first_startable(m, 0)))
            start(m, t, model_runner(m, t), 0);
    while (model_claim_update(m)); /* what was given up is free for others */
}

static void start_roster(struct model *m) {
    m->claim.task = 0;
    for (size_t i = 0; i < m->agents_count; i++) {
        if (!model_is_idle(m, &m->agents[i]))
            continue;
        sym agent = m->agents[i].id;
        struct model_task *t = first_startable(m, agent);
        if (t)
            start(m, t, agent, 0);
    }
}

/* Who waits for its descendants lends its places to one of them, when nothing else starts. */
static bool start_lent(struct model *m) {
    struct model_task *lender, *t;
    sym agent;
    t = model_lend_find(m, &lender, &agent);
    if (!t)
        return false;
    unsigned bits = model_lend_bits(m, lender, t, agent);
    start(m, t, agent, lender->s.id);
    t->run.lender = lender->s.id;
    t->run.borrowed = bits;
    return true;
}

const struct order *model_decide(struct model *m, size_t *ret_count) {
    for (size_t i = 0; i < m->tasks_count; i++)
        m->tasks[i].drain_unasked = false;
    model_settle(m);
    run_timers(m);
    struct extra_tick before;
    begin_tick(m, &before);
    m->frozen = model_totals(m);
    start_taken(m);
    if (model_has_roster(m))
        start_roster(m);
    do {
        if (!model_has_roster(m))
            start_without_roster(m);
    } while (start_lent(m));
    end_tick(m, &before);
    *ret_count = m->orders_read ? 0 : m->orders_count;
    m->orders_read = true;
    return m->orders;
}
