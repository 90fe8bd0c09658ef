/* processes.c: what becomes of a run that was ordered.
 *
 * Everything is drawn when the run starts: how long it takes to start, what it reports, how it
 * ends. A stop changes the end, late or in a race with success. Messages may come twice, or after
 * the run was replaced: the core must know them by their attempt. */
#include "world.h"

static struct process *process_of(struct world *w, task_id task) {
    size_t before = w->process_count;
    if (task >= before) {
        w->processes = xgrow(w->processes, &w->process_capacity, task + 1, sizeof(*w->processes));
        for (size_t i = before; i <= task; i++)
            w->processes[i] = (struct process){ 0 };
        w->process_count = task + 1;
    }
    return &w->processes[task];
}

static void plan_run(struct world *w, const struct order *o, struct event event, time_ms after) {
    event.at = w->now + after;
    event.task = o->task;
    event.attempt = o->attempt;
    agenda_add(&w->agenda, event);
}

static bool fits(const struct world *w, const struct row *row, enum outcome outcome) {
    if (outcome == OUTCOME_UNFINISHED)
        return row->until == UNTIL_DONE;
    if (outcome == OUTCOME_INVALID)
        return row->until == UNTIL_VALIDATE;
    if (outcome == OUTCOME_LIMITED || outcome == OUTCOME_CLOSED)
        return row->run_limiter != 0 || w->limiters == 0;
    return true;
}

static enum outcome draw_outcome(struct world *w, const struct row *row) {
    if (w->calm)
        return OUTCOME_OK;
    if (row->run_limiter && w->now < w->outage_until[row->run_limiter] && world_chance(w, 80))
        return OUTCOME_LIMITED;
    if (w->fault_count == 0 || !world_chance(w, w->fault_percent))
        return OUTCOME_OK;
    for (unsigned tries = 0; tries < 4; tries++) {
        enum outcome outcome = w->faults[rng_below(&w->rng, w->fault_count)];
        if (fits(w, row, outcome))
            return outcome;
    }
    return OUTCOME_OK;
}

static int64_t draw_tokens(struct world *w) {
    if (swarm_has(&w->swarm, RUNS_REPORT_NOTHING) && world_chance(w, 40))
        return -1;
    if (world_chance(w, 5))
        return 0;
    /* round numbers meet a budget exactly */
    return world_chance(w, 50) ? rng_between(&w->rng, 1, 40) * 1000
                               : rng_between(&w->rng, 1, 40000);
}

static void run_goes(struct world *w, const struct order *o, const struct row *row,
                     enum outcome outcome) {
    time_ms starts = swarm_has(&w->swarm, RUNS_START_SLOWLY) ? world_span(w, 1, SECONDS(60))
                                                             : (time_ms)rng_below(&w->rng, 200);
    time_ms ends = starts + world_span(w, 200, w->run_longest);
    int64_t tokens = draw_tokens(w);
    if (outcome != OUTCOME_OK || world_chance(w, 95)) /* else it ends before it was seen */
        plan_run(w, o, (struct event){ .what = HAPPENS_RUN_STARTED }, starts);
    for (unsigned i = 0; i < 2 && tokens > 0 && world_chance(w, 50); i++) /* in any order */
        plan_run(
            w, o,
            (struct event){ .what = HAPPENS_RUN_TOKENS, .tokens = rng_between(&w->rng, 0, tokens) },
            rng_between(&w->rng, starts, ends));
    if (row->until == UNTIL_VALIDATE && world_chance(w, 80))
        plan_run(w, o, (struct event){ .what = HAPPENS_RUN_VALIDATING },
                 rng_between(&w->rng, starts, ends));
    if (swarm_has(&w->swarm, RUNS_WAIT) && world_chance(w, 80)) {
        time_ms waits = world_chance(w, 70) ? starts : rng_between(&w->rng, starts, ends);
        plan_run(w, o, (struct event){ .what = HAPPENS_RUN_WAITING }, waits);
        if (world_chance(w, 40)) /* else it ends while it waits */
            plan_run(w, o, (struct event){ .what = HAPPENS_RUN_WORKING },
                     rng_between(&w->rng, waits, ends));
    }
    if (!w->calm && row->run_limiter && swarm_has(&w->swarm, RUNS_ARE_LIMITED)
        && world_chance(w, 10))
        plan_run(w, o, (struct event){ .what = HAPPENS_RUN_LIMITED },
                 rng_between(&w->rng, starts, ends));
    plan_run(w, o,
             (struct event){ .what = HAPPENS_RUN_ENDED, .outcome = outcome, .tokens = tokens },
             ends);
}

static void start(struct world *w, const struct order *o) {
    const struct row *row = books_row(&w->books, o->task);
    struct process *process = process_of(w, o->task);
    *process = (struct process){ .attempt = o->attempt, .alive = true };
    if (!w->calm && swarm_has(&w->swarm, ORDERS_ARE_REFUSED) && world_chance(w, 15)) {
        process->refused = true;
        plan_run(w, o, (struct event){ .what = HAPPENS_ORDER_REFUSED },
                 world_chance(w, 60) ? 0 : world_span(w, 1, SECONDS(5)));
        return;
    }
    enum outcome outcome = draw_outcome(w, row);
    if (outcome == OUTCOME_LAUNCH)
        plan_run(w, o,
                 (struct event){ .what = HAPPENS_RUN_ENDED,
                                 .outcome = OUTCOME_LAUNCH,
                                 .tokens = world_chance(w, 50) ? 0 : -1 },
                 (time_ms)rng_below(&w->rng, SECONDS(2)));
    else
        run_goes(w, o, row, outcome);
}

void process_ordered(struct world *w, const struct order *o) {
    if (o->kind == ORDER_START) {
        start(w, o);
        return;
    }
    bool late = swarm_has(&w->swarm, RUNS_STOP_LATE) && !w->calm;
    plan_run(w, o, (struct event){ .what = HAPPENS_STOP_OBEYED },
             world_span(w, 1, late ? MINUTES(5) : SECONDS(10)));
}

/* --- messages -------------------------------------------------------------------------------- */

/* Some agents report tokens and no money; the last reported number counts for both. */
static int64_t money_of(int64_t tokens) {
    return tokens < 0 || tokens % 7 == 3 ? -1 : tokens * 3;
}

static void put_end(struct world *w, const struct event *e, struct fact *fact) {
    fact->kind = FACT_RUN_ENDED;
    fact->ended.outcome = e->outcome;
    fact->ended.tokens = e->tokens;
    fact->ended.money = money_of(e->tokens);
    fact->ended.output = e->outcome != OUTCOME_LAUNCH || world_chance(w, 20);
    fact->ended.before_agent = e->outcome == OUTCOME_LAUNCH && world_chance(w, 20);
    fact->ended.iterates = e->outcome == OUTCOME_CONFLICT && e->attempt % 2 == 1;
    fact->ended.pause = e->attempt % 3 == 2 ? SECONDS(e->attempt) : 0;
    if (e->outcome == OUTCOME_LIMITED && world_chance(w, 30))
        fact->ended.retry_after = world_span(w, 1, MINUTES(5));
    if ((e->outcome == OUTCOME_LIMITED || e->outcome == OUTCOME_BUDGET) && world_chance(w, 30))
        fact->ended.reset_at = w->now + world_span(w, 1, MINUTES(30));
}

static struct fact message(struct world *w, const struct event *e) {
    struct fact fact = { .task = e->task, .attempt = e->attempt };
    if (e->what == HAPPENS_ORDER_REFUSED) {
        fact.kind = FACT_ORDER_REFUSED;
    } else if (e->what == HAPPENS_RUN_STARTED) {
        fact.kind = FACT_RUN_STARTED;
    } else if (e->what == HAPPENS_RUN_TOKENS) {
        fact.kind = FACT_RUN_TOKENS;
        fact.tokens = e->tokens;
        fact.money = money_of(e->tokens);
        fact.expected = e->tokens % 3 ? 0 : e->tokens * 2 + 1;
    } else if (e->what == HAPPENS_RUN_VALIDATING) {
        fact.kind = FACT_RUN_PHASE;
        fact.phase = PHASE_VALIDATING;
    } else if (e->what == HAPPENS_RUN_WAITING || e->what == HAPPENS_RUN_WORKING) {
        fact.kind = FACT_RUN_PHASE;
        fact.phase = e->what == HAPPENS_RUN_WAITING ? PHASE_WAITING : PHASE_WORKING;
    } else if (e->what == HAPPENS_RUN_LIMITED) {
        fact.kind = FACT_RUN_LIMITED;
        fact.limited.retry_after = world_chance(w, 30) ? world_span(w, 1, MINUTES(5)) : 0;
        fact.limited.reset_at = world_chance(w, 20) ? w->now + world_span(w, 1, MINUTES(9)) : 0;
    } else {
        put_end(w, e, &fact);
    }
    return fact;
}

/* A repetition now, and perhaps another one much later, with another story. */
static void repeat(struct world *w, const struct fact *fact, const struct event *e) {
    if (swarm_has(&w->swarm, FACTS_COME_TWICE) && world_chance(w, 15)
        && fact->kind != FACT_RUN_LIMITED)
        (void)world_apply_fact(w, fact);
    if (!swarm_has(&w->swarm, FACTS_COME_LATE) || !world_chance(w, 10) || w->calm)
        return;
    struct event late = *e;
    if (late.what == HAPPENS_ORDER_REFUSED)
        return; /* its attempt number is given again */
    late.at = w->now + world_span(w, 1, MINUTES(30));
    if (late.what == HAPPENS_RUN_ENDED && world_chance(w, 50))
        late.outcome = late.outcome == OUTCOME_OK ? OUTCOME_LOST : OUTCOME_OK;
    agenda_add(&w->agenda, late);
}

static struct event stop_obeyed(struct world *w, const struct event *e) {
    static const enum outcome ends[] = { OUTCOME_CANCELED, OUTCOME_CANCELED, OUTCOME_FAILED,
                                         OUTCOME_TIMEOUT, OUTCOME_OK };
    struct event end = *e;
    end.what = HAPPENS_RUN_ENDED;
    end.outcome = ends[rng_below(&w->rng, w->calm ? 1 : ARRAY_SIZE(ends))];
    end.tokens = draw_tokens(w);
    return end;
}

bool process_happens(struct world *w, const struct event *event) {
    struct event e = *event;
    struct process *process = process_of(w, e.task);
    bool current = process->alive && process->attempt == e.attempt && !process->lost;
    if (!current) {
        bool applied = swarm_has(&w->swarm, FACTS_COME_LATE) && e.what != HAPPENS_STOP_OBEYED
                       && process->attempt >= e.attempt && !process->lost && !process->refused;
        if (applied) {
            struct fact late = message(w, &e);
            (void)world_apply_fact(w, &late);
        }
        return applied;
    }
    if (e.what == HAPPENS_STOP_OBEYED && process->refused)
        return false;
    if (e.what == HAPPENS_STOP_OBEYED)
        e = stop_obeyed(w, &e);
    if (e.what == HAPPENS_RUN_ENDED || e.what == HAPPENS_ORDER_REFUSED)
        process->alive = false;
    struct fact fact = message(w, &e);
    (void)world_apply_fact(w, &fact);
    repeat(w, &fact, &e);
    return true;
}

void process_adopt(struct world *w, task_id task, uint32_t attempt) {
    struct process *process = process_of(w, task);
    if (process->lost && process->attempt == attempt) {
        *process = (struct process){ .attempt = attempt };
        (void)world_apply_fact(
            w, &(struct fact){ .kind = FACT_RUN_ENDED,
                               .task = task,
                               .attempt = attempt,
                               .ended = { .outcome = OUTCOME_LOST, .tokens = -1, .money = -1 } });
    }
}
