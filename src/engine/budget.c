/* budget.c: see budget.h.
 *
 * Which tasks have nothing left is kept in a short list: whoever retries or releases one of them finds it held
 * again in the same turn, before anything is decided. So no way leads around a budget, and nobody has to
 * think of it who adds one. */
#include "engine/budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/money.h"
#include "core/budgets.h"
#include "engine/engine_internal.h"

struct budget {
    LIST(task_id) spent;   /* tasks that have used up their own budget */
    LIST(task_id) changed; /* those whose budget is another since the last decision */
};

static struct budget *budget_of(const struct engine *e) {
    return e->part[PART_budget];
}

int64_t run_tokens(const struct live_run *run) {
    int64_t in = run->view.tokens_in, out = run->view.tokens_out;
    return in < 0 && out < 0 ? -1 : (in > 0 ? in : 0) + (out > 0 ? out : 0);
}

int64_t usage_larger(int64_t before, int64_t told) {
    int64_t most = told < USAGE_MOST ? told : USAGE_MOST;
    return before > most ? before : most;
}

bool budget_stops(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    struct task_view view = { 0 };
    if (a && a->on_budget != ON_BUDGET_AS_CONFIGURED)
        return a->on_budget == ON_BUDGET_STOP;
    if (a && (a->granted.tokens != ALLOWANCE_NONE || a->granted.usd != ALLOWANCE_NONE))
        return true; /* a run has added it: what it was given is all it has */
    if (!core_task(e->core, task, &view))
        return false;
    return config_number(e->config, "projects.P.on_budget",
                         symbol_name(core_symbols(e->core), view.project))
           == ON_BUDGET_STOP;
}

int64_t budget_for_run(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    int64_t most = allowance_run_limit(e, task).usd, limit = allowance_limit(e, task).usd;
    if (limit != UNLIMITED) {
        int64_t left = limit - (a ? a->used.usd + a->handed.usd : 0);
        most = left < most ? left : most;
    }
    if (most == UNLIMITED)
        return ALLOWANCE_NONE;
    return most > 0 ? most : 0;
}

/* --- which, and how much --------------------------------------------------------------------- */

enum bound { BOUND_NONE, BOUND_RUN_TOKENS, BOUND_RUN_USD, BOUND_TOKENS, BOUND_USD };

struct passed {
    enum bound bound;
    int64_t used, limit;
    bool handed; /* a part of `used` went to children */
};

static bool set_if_above(struct passed *ret, enum bound bound, int64_t used, int64_t limit) {
    if (limit == UNLIMITED || used <= limit)
        return false;
    *ret = (struct passed){ .bound = bound, .used = used, .limit = limit };
    return true;
}

static int64_t known(int64_t told) {
    return told > 0 ? told : 0;
}

/* What a live run has passed by now. */
static bool find_passed(const struct engine *e, const struct live_run *run, struct passed *ret) {
    const struct allowance *a = allowance_find(e, run->task);
    struct engine_amounts limit = allowance_limit(e, run->task);
    struct engine_amounts run_limit = allowance_run_limit(e, run->task);
    int64_t tokens = known(run_tokens(run)), usd = known(run->cost_micro_usd);
    int64_t had_tokens = a ? a->used.tokens + a->handed.tokens : 0;
    int64_t had_usd = a ? a->used.usd + a->handed.usd : 0;
    return set_if_above(ret, BOUND_RUN_TOKENS, tokens, run_limit.tokens)
           || set_if_above(ret, BOUND_RUN_USD, usd, run_limit.usd)
           || set_if_above(ret, BOUND_TOKENS, had_tokens + tokens, limit.tokens)
           || set_if_above(ret, BOUND_USD, had_usd + usd, limit.usd);
}

/* Why a task is held. */
static bool find_spent(const struct engine *e, task_id task, struct passed *ret) {
    const struct allowance *a = allowance_find(e, task);
    struct engine_amounts limit = allowance_limit(e, task);
    struct engine_amounts run_limit = allowance_run_limit(e, task);
    *ret = (struct passed){ .bound = BOUND_NONE };
    if (!a)
        return false;
    int64_t tokens = a->used.tokens + a->handed.tokens, usd = a->used.usd + a->handed.usd;
    if (limit.tokens != UNLIMITED && tokens >= limit.tokens)
        *ret = (struct passed){ BOUND_TOKENS, tokens, limit.tokens, a->handed.tokens > 0 };
    else if (limit.usd != UNLIMITED && usd >= limit.usd)
        *ret = (struct passed){ BOUND_USD, usd, limit.usd, a->handed.usd > 0 };
    else if (a->is_over && !set_if_above(ret, BOUND_RUN_TOKENS, a->last.tokens, run_limit.tokens)
             && !set_if_above(ret, BOUND_RUN_USD, a->last.usd, run_limit.usd) && a->by_agent
             && run_limit.usd != UNLIMITED && (a->last.usd < 0 || a->last.usd == run_limit.usd))
        *ret = (struct passed){ BOUND_RUN_USD, known(a->last.usd), run_limit.usd, false };
    return ret->bound != BOUND_NONE;
}

static bool is_money(enum bound bound) {
    return bound == BOUND_USD || bound == BOUND_RUN_USD;
}

/* 120,000 */
static void put_count(struct strbuf *out, int64_t count) {
    char digits[32];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, count);
    for (int i = 0; i < length; i++) {
        strbuf_putc(out, digits[i]);
        if (i + 1 < length && (length - i - 1) % 3 == 0 && digits[i] != '-')
            strbuf_putc(out, ',');
    }
}

static void put_amount(struct strbuf *out, const struct passed *p, int64_t number) {
    if (is_money(p->bound))
        money_put(out, number);
    else
        put_count(out, number);
}

/* "has used 120,000 of 100,000 tokens" */
static void put_used(struct strbuf *out, const struct passed *p) {
    strbuf_puts(out, p->handed ? "has used, or handed to its children, " : "has used ");
    put_amount(out, p, p->used);
    strbuf_puts(out, " of ");
    put_amount(out, p, p->limit);
    strbuf_puts(out, is_money(p->bound) ? "" : " tokens");
}

bool engine_budget_why(const struct engine *e, task_id task, struct strbuf *out) {
    static const char *const options[] = { [BOUND_RUN_TOKENS] = "--run-tokens N",
                                           [BOUND_RUN_USD] = "--run-usd X",
                                           [BOUND_TOKENS] = "--tokens N",
                                           [BOUND_USD] = "--usd X" };
    struct task_view view = { 0 };
    struct passed p;
    char id[ENGINE_ID_MAX];
    if (!core_task(e->core, task, &view) || view.state != TASK_HELD || view.hold != HOLD_BUDGET
        || view.not_before != 0 || !find_spent(e, task, &p))
        return false;
    bool run = p.bound == BOUND_RUN_TOKENS || p.bound == BOUND_RUN_USD;
    strbuf_puts(out, run ? "its last run " : "it ");
    put_used(out, &p);
    engine_task_id(e, task, id);
    strbuf_printf(out, "; raise it with `sluice budget %s %s`, then it goes on", id,
                  options[p.bound]);
    if (run)
        strbuf_printf(out, ", or let it try again as it is with `sluice release %s`", id);
    return true;
}

/* --- while it runs --------------------------------------------------------------------------- */

static void write_event(struct engine *e, const struct live_run *run, const struct passed *p,
                        bool stops) {
    bool whole = p->bound == BOUND_TOKENS || p->bound == BOUND_USD;
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    json_put_string(&w, "of", whole ? "task" : "run");
    json_put_string(&w, "currency", is_money(p->bound) ? "micro_usd" : "tokens");
    json_put_int(&w, "used", p->used);
    json_put_int(&w, "budget", p->limit);
    json_put_bool(&w, "stops", stops);
    json_write_object_end(&w);
    engine_event(e, "task.budget", run->task, run->view.attempt, strbuf_text(&data));
}

bool budget_is_stopping(const struct engine *e, const struct live_run *run) {
    const struct allowance *a = allowance_find(e, run->task);
    return a && a->stopping == run->view.attempt && a->stopping != 0;
}

/* The order is ours: the core goes on to think that it works, and hears its end. */
static void stop(struct engine *e, struct live_run *run, bool by_window) {
    struct task_spec told;
    if (budget_is_stopping(e, run) || !run->view.started_at || run->phase == PHASE_STOPPING
        || !core_task_spec(e->core, run->task, &told) || told.stop != STOP_NONE)
        return;
    struct allowance *a = allowance_get(e, run->task);
    a->stopping = run->view.attempt;
    a->by_window = by_window;
    allowance_write(e, a);
    run->phase = PHASE_STOPPING;
    rows_write_run(e, run);
    *LIST_ADD(&e->turn.stops) =
        (struct order){ .kind = ORDER_STOP, .task = run->task, .attempt = run->view.attempt };
    engine_event(e, "run.stopping", run->task, run->view.attempt,
                 by_window ? "{\"reason\":\"window-budget\"}" : "{\"reason\":\"budget\"}");
}

void budget_reported(struct engine *e, struct live_run *run) {
    struct passed p;
    if (run->is_over_budget || !find_passed(e, run, &p))
        return;
    bool stops = budget_stops(e, run->task);
    run->is_over_budget = true;
    write_event(e, run, &p, stops);
    if (stops)
        stop(e, run, false);
}

void budget_changed(struct engine *e, task_id task) {
    struct live_run *run = run_find(e, task);
    if (!run || budget_is_stopping(e, run))
        return;
    run->is_over_budget = false;
    budget_reported(e, run);
}

/* --- its end --------------------------------------------------------------------------------- */

enum outcome budget_outcome(const struct engine *e, const struct live_run *run,
                            enum outcome outcome) {
    struct task_spec told;
    bool wished = core_task_spec(e->core, run->task, &told) && told.stop != STOP_NONE;
    if (outcome == OUTCOME_OK || wished || !budget_is_stopping(e, run))
        return outcome;
    return OUTCOME_BUDGET;
}

void budget_ends(struct engine *e, const struct live_run *run, struct fact *ended,
                 struct run_end *end) {
    const struct allowance *a = allowance_find(e, run->task);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct passed p;
    if (ended->ended.outcome != OUTCOME_BUDGET || !a || !budget_is_stopping(e, run))
        return;
    ended->ended.reset_at = e->now; /* the gate of its window holds it back, or its own budget */
    if (a->by_window)
        strbuf_puts(&text, "stopped: the budget of the window is used up (budget_stops_runs)");
    else if (find_passed(e, run, &p)) {
        strbuf_puts(&text, p.bound == BOUND_TOKENS || p.bound == BOUND_USD ? "stopped: its task "
                                                                           : "stopped: it ");
        put_used(&text, &p);
    }
    if (text.length > 0)
        snprintf(end->message, sizeof(end->message), "%s", strbuf_text(&text));
}

/* Of a plain command that says nothing and may use what it likes nothing is kept. */
static bool is_worth_keeping(const struct engine *e, const struct live_run *run) {
    return run->agent || run_tokens(run) >= 0 || run->cost_micro_usd >= 0
           || allowance_find(e, run->task);
}

/* Our own bound, which the agent has kept by itself. */
static bool agent_kept_it(const struct engine *e, const struct live_run *run,
                          const struct agent_outcome *said) {
    return said && said->result == AGENT_BUDGET && budget_for_run(e, run->task) != ALLOWANCE_NONE;
}

void budget_ended(struct engine *e, const struct live_run *run, enum outcome outcome,
                  const struct agent_outcome *said) {
    struct passed p;
    if (!is_worth_keeping(e, run))
        return;
    bool by_agent = agent_kept_it(e, run, said);
    bool passed = find_passed(e, run, &p);
    struct allowance *a = allowance_get(e, run->task);
    a->last = (struct engine_amounts){ .tokens = run_tokens(run), .usd = run->cost_micro_usd };
    a->used.tokens += known(a->last.tokens);
    a->used.usd += known(a->last.usd);
    bool is_unknown = a->last.usd < 0 && outcome != OUTCOME_LAUNCH;
    a->unknown += is_unknown;
    a->is_over = passed || by_agent;
    a->by_agent = by_agent;
    a->stopping = 0;
    allowance_write(e, a);
    if (passed && !run->is_over_budget)
        write_event(e, run, &p, false);
    budget_look(e, run->task);
}

/* --- held, and let go ------------------------------------------------------------------------ */

static void list_spent(struct engine *e, task_id task, bool is_spent) {
    size_t i = 0;
    while (i < budget_of(e)->spent.count && budget_of(e)->spent.items[i] != task)
        i++;
    if (is_spent && i == budget_of(e)->spent.count)
        *LIST_ADD(&budget_of(e)->spent) = task;
    else if (!is_spent && i < budget_of(e)->spent.count)
        budget_of(e)->spent.items[i] = budget_of(e)->spent.items[--budget_of(e)->spent.count];
}

static bool may_be_held(const struct task_view *view) {
    if (view->state == TASK_WAITING || view->state == TASK_READY)
        return true;
    return view->state == TASK_HELD && view->hold != HOLD_PERSON && view->hold != HOLD_REVIEW
           && view->hold != HOLD_EXTERNAL && !(view->hold == HOLD_BUDGET && view->not_before == 0);
}

static void hold(struct engine *e, task_id task) {
    struct task_view view;
    if (core_task(e->core, task, &view) && may_be_held(&view))
        (void)engine_tell(e, &(struct fact){ .kind = FACT_SPENT, .task = task }, NULL);
}

void budget_look(struct engine *e, task_id task) {
    struct task_view view;
    struct passed p;
    bool spent = find_spent(e, task, &p);
    bool known_task = core_task(e->core, task, &view);
    budget_see_state(e, task, !known_task || task_state_is_final(view.state));
    if (spent)
        hold(e, task);
    else if (known_task && view.state == TASK_HELD && view.hold == HOLD_BUDGET
             && view.not_before == 0)
        (void)engine_tell(e, &(struct fact){ .kind = FACT_RELEASE, .task = task }, NULL);
}

void budget_see_state(struct engine *e, task_id task, bool is_final) {
    list_spent(e, task, !is_final && allowance_is_spent(e, task));
}

void budget_look_later(struct engine *e, task_id task) {
    *LIST_ADD(&budget_of(e)->changed) = task;
    e->start_pending = true;
    turn_wake(e);
}

/* --- windows --------------------------------------------------------------------------------- */

bool budget_is_reached(const struct budget_view *v) {
    return v->budget != UNLIMITED && v->used + v->live >= v->budget;
}

static void stop_runs_of(struct engine *e, sym project) {
    for (size_t i = 0; i < run_count(e); i++) {
        struct live_run *run = run_live_at(e, i);
        struct task_view view;
        if (core_task(e->core, run->task, &view) && (!project || view.project == project))
            stop(e, run, true);
    }
}

static void stop_for_windows(struct engine *e) {
    if (core_budget_is_reached(e->core, 0))
        stop_runs_of(e, 0);
    for (size_t i = 0; i < project_count(e); i++)
        if (core_budget_is_reached(e->core, project_at(e, i)->view.symbol))
            stop_runs_of(e, project_at(e, i)->view.symbol);
}

/* Whoever a person has let try again stays free, although its last run used too much. */
static void look_if_held(struct engine *e, task_id task) {
    struct task_view view;
    bool held = core_task(e->core, task, &view) && view.state == TASK_HELD
                && view.hold == HOLD_BUDGET && view.not_before == 0;
    if (held || allowance_is_spent(e, task))
        budget_look(e, task);
    else
        list_spent(e, task, false);
}

/* Before the decision of a turn. */
static void budget_turn(struct engine *e) {
    if (e->turn.configured) /* limits may be others now */
        for (size_t i = 0; i < allowance_count(e); i++)
            look_if_held(e, allowance_at(e, i)->task);
    for (size_t i = 0; i < budget_of(e)->changed.count; i++)
        budget_look(e, budget_of(e)->changed.items[i]);
    budget_of(e)->changed.count = 0;
    for (size_t i = 0; i < budget_of(e)->spent.count; i++)
        hold(e, budget_of(e)->spent.items[i]);
    if (config_number(e->config, "budget_stops_runs", NULL))
        stop_for_windows(e);
}

static bool is_open(const struct engine *e, task_id task) {
    struct task_view view;
    return core_task(e->core, task, &view) && !task_state_is_final(view.state);
}

static void budgets_loaded(struct engine *e) {
    for (size_t i = 0; i < allowance_count(e); i++)
        if (is_open(e, allowance_at(e, i)->task) && allowance_is_spent(e, allowance_at(e, i)->task))
            *LIST_ADD(&budget_of(e)->spent) = allowance_at(e, i)->task;
        else if (allowance_at(e, i)->handed.tokens || allowance_at(e, i)->handed.usd)
            *LIST_ADD(&budget_of(e)->changed) =
                allowance_at(e, i)->task; /* somebody may have given back */
}

static void budgets_free(struct engine *e) {
    struct budget *b = budget_of(e);
    free(b->spent.items);
    free(b->changed.items);
    *b = (struct budget){ 0 };
}

const struct engine_part budget_part = {
    .name = "budget",
    .state_size = sizeof(struct budget),
    .at = { [STEP_UNLOAD] = budgets_free,
            [STEP_LOADED] = budgets_loaded,
            [STEP_BEFORE_DECIDE] = budget_turn,
            [STEP_FREE] = budgets_free },
};
