/* await.c: who waits for which tasks, and which runs are waiting because of that. See await.h.
 * Waits are checked in every turn before the decision: a run whose wait is over is working from
 * then on, so its slots are not lent again in the same turn. Answers are sent after the commit. */
#include "engine/await.h"

#include <stdlib.h>
#include <string.h>

#include "engine/runs/runs_internal.h"

struct engine_await {
    struct engine *engine;
    task_id *tasks;
    size_t count, next; /* next: those before it were settled when checked */
    bool any;
    bool settled; /* as of the last turn */
    bool late;    /* timed out */
    bool patient; /* as in its spec */
    task_id run;
    uint32_t attempt;
    struct loop_timer *timer;
    engine_await_over over;
    void *ctx;
    size_t position; /* in the engine's list */
};

struct awaits {
    LIST(struct engine_await *) all;
    bool has_news; /* which runs wait may have changed */
};

PART_STATE(await, struct awaits, awaits_of)

/* --- one task -------------------------------------------------------------------------------- */

bool engine_await_needs_person(const struct engine *e, const struct task_view *view) {
    struct verdict v;
    if (view->state == TASK_WAITING || view->state == TASK_READY)
        return core_blocked(e->core, view->id, &v) && v.gate == GATE_LIMITER && v.closed
               && v.opens_at == TIME_NEVER; /* its account */
    return view->state == TASK_DRAFT
           || (view->state == TASK_HELD && view->not_before == 0 && view->hold != HOLD_CHECK
               && view->hold != HOLD_CANDIDATES);
}

bool engine_await_settled(const struct engine *e, task_id task) {
    struct task_view view;
    return !core_task(e->core, task, &view) || task_state_is_final(view.state)
           || engine_await_needs_person(e, &view);
}

static bool is_settled(const struct engine_await *a, task_id task) {
    struct task_view view;
    if (!a->patient)
        return engine_await_settled(a->engine, task);
    return !core_task(a->engine->core, task, &view) || task_state_is_final(view.state);
}

/* --- one wait -------------------------------------------------------------------------------- */

/* A settled task may have been reopened: check all again before reporting success. */
static bool is_satisfied(struct engine_await *a) {
    size_t settled = 0;
    if (!a->any && a->next < a->count && !is_settled(a, a->tasks[a->next]))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (is_settled(a, a->tasks[i]))
            settled++;
        else if (!a->any) {
            a->next = i;
            return false;
        }
    }
    return settled > 0;
}

static void timer_due(void *ctx) {
    struct engine_await *a = ctx;
    a->late = true; /* the end of this round reports it */
}

struct engine_await *engine_await_begin(struct engine *e, const struct engine_await_spec *spec,
                                        engine_await_over over, void *ctx) {
    struct awaits *w = awaits_of(e);
    struct engine_await *a = xcalloc(1, sizeof(*a));
    *a = (struct engine_await){ .engine = e,
                                .count = spec->count,
                                .any = spec->any,
                                .patient = spec->patient,
                                .run = spec->run,
                                .attempt = spec->attempt,
                                .over = over,
                                .ctx = ctx,
                                .position = w->all.count };
    a->tasks = xmalloc(spec->count * sizeof(*a->tasks));
    memcpy(a->tasks, spec->tasks, spec->count * sizeof(*a->tasks));
    a->timer = loop_timer_new(e->loop, timer_due, a);
    loop_timer_set(e->loop, a->timer, time_add(loop_now_steady(e->loop), spec->timeout));
    *LIST_ADD(&w->all) = a;
    w->has_news = true;
    turn_wake(e);
    return a;
}

void engine_await_end(struct engine *e, struct engine_await *a) {
    struct awaits *w = awaits_of(e);
    if (!a)
        return;
    struct engine_await *last = w->all.items[--w->all.count];
    w->all.items[a->position] = last;
    last->position = a->position;
    loop_timer_free(e->loop, a->timer);
    free(a->tasks);
    free(a);
    w->has_news = true;
    turn_wake(e);
}

static void end_and_report(struct engine *e, struct engine_await *a) {
    engine_await_over over = a->over;
    void *ctx = a->ctx;
    engine_await_end(e, a);
    over(ctx);
}

static void await_free(struct engine *e) {
    struct awaits *w = awaits_of(e);
    while (w->all.count > 0) /* no client is left to read it, but their memory is */
        end_and_report(e, w->all.items[0]);
    free(w->all.items);
    w->all.items = NULL;
}

/* --- runs ------------------------------------------------------------------------------------ */

static void await_loaded(struct engine *e) {
    awaits_of(e)->has_news = true;
}

static bool await_has_news(const struct engine *e) {
    return awaits_of(e)->has_news;
}

static void apply_phase(struct engine *e, task_id task, uint32_t attempt, enum run_phase phase) {
    struct fact fact = { .kind = FACT_RUN_PHASE, .task = task, .attempt = attempt, .phase = phase };
    if (engine_apply(e, &fact, NULL) == 0)
        engine_event(e, phase == PHASE_WAITING ? "run.waiting" : "run.working", task, attempt,
                     NULL);
}

/* Whether a run still waits for anything. */
static bool still_waits(const struct engine *e, task_id task, uint32_t attempt) {
    for (size_t i = 0; i < awaits_of(e)->all.count; i++) {
        const struct engine_await *a = awaits_of(e)->all.items[i];
        if (a->run == task && a->attempt == attempt && !a->settled)
            return true;
    }
    return false;
}

static void apply_working(struct engine *e) {
    struct task_view view;
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (core_task(e->core, run->task, &view) && view.phase == PHASE_WAITING
            && !still_waits(e, run->task, view.attempt))
            apply_phase(e, run->task, view.attempt, PHASE_WORKING);
    }
}

/* In the turn, before its decision. */
static void await_apply(struct engine *e) {
    struct awaits *w = awaits_of(e);
    if (e->retry_at > e->now)
        return; /* the store refused the last commit: the same facts would be refused again */
    bool news = w->has_news;
    w->has_news = false;
    for (size_t i = 0; i < w->all.count; i++) {
        struct engine_await *a = w->all.items[i];
        bool settled = is_satisfied(a);
        news |= settled != a->settled;
        a->settled = settled;
        if (a->run && !settled)
            apply_phase(e, a->run, a->attempt, PHASE_WAITING);
    }
    if (news)
        apply_working(e);
}

/* Whether it is satisfied and its run, if any, has its slots back or waits for other tasks. */
static bool is_over(const struct engine_await *a) {
    const struct engine *e = a->engine;
    struct task_view view;
    if (!a->settled)
        return false;
    return !a->run || !core_task(e->core, a->run, &view) || view.attempt != a->attempt
           || view.borrower == 0 || still_waits(e, a->run, a->attempt);
}

static struct engine_await *find_over(const struct awaits *w) {
    for (size_t i = 0; i < w->all.count; i++)
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): engine_await_end takes it out of the list
        if (w->all.items[i]->late || is_over(w->all.items[i]))
            return w->all.items[i];
    return NULL;
}

static void report_satisfied(struct engine *e) {
    struct awaits *w = awaits_of(e);
    if (e->committing || e->broken.code)
        return;
    for (size_t i = 0; i < w->all.count; i++) {
        struct engine_await *a = w->all.items[i];
        if (!a->settled && is_satisfied(a)) { /* the decision of the turn has settled it */
            w->has_news = true;
            turn_wake(e);
        }
    }
    struct engine_await *over;
    while ((over = find_over(w))) /* from the start: the callback may have ended others */
        end_and_report(e, over);
}

const struct engine_part await_part = {
    .state_size = sizeof(struct awaits),
    .at = { [STEP_UNLOAD] = await_loaded,
            [STEP_BEFORE_DECIDE] = await_apply,
            [STEP_ROUND_END] = report_satisfied,
            [STEP_FREE] = await_free },
    .has_work = await_has_news,
};
