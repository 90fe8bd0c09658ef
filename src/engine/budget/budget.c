/* budget.c: see budget_internal.h. Tasks with nothing left are kept in a short list: one that is retried or
 * released is held again in the same turn, before the decision. So no operation, present or future,
 * bypasses a budget. */
#include "engine/budget/budget_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/money.h"
#include "core/core.h"
#include "engine/allowance.h"
#include "engine/note.h"
#include "engine/runs/runs_internal.h"

/* --- allowances ------------------------------------------------------------------------------- */

/* A sorted array: most tasks have none; lookup is a binary search. */

#define NOTE   "tokens:"
#define FORMAT "2" /* first word of a note; before: tokens left, and the parent */

static const struct engine_amounts none = { ALLOWANCE_NONE, ALLOWANCE_NONE };

struct allowances {
    LIST(struct allowance) all; /* by task */
};

PART_STATE(allowances, struct allowances, allowances_of)

/* Task numbers rise, but entries may be created late: sorted by search, not by arrival. */
static size_t place_of(const struct engine *e, task_id task) {
    size_t low = 0, high = allowances_of(e)->all.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (allowances_of(e)->all.items[middle].task < task)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct allowance *allowance_find(const struct engine *e, task_id task) {
    size_t at = place_of(e, task);
    return at < allowances_of(e)->all.count && allowances_of(e)->all.items[at].task == task
               ? &allowances_of(e)->all.items[at]
               : NULL;
}

static struct allowance allowance_of(task_id task) {
    return (struct allowance){ .task = task,
                               .limit = none,
                               .run_limit = none,
                               .last = none,
                               .granted = none,
                               .lent = none,
                               .on_budget = ON_BUDGET_AS_CONFIGURED };
}

struct allowance *allowance_get(struct engine *e, task_id task) {
    struct allowance *a = allowance_find(e, task);
    if (a)
        return a;
    size_t at = place_of(e, task);
    (void)LIST_ADD(&allowances_of(e)->all);
    a = &allowances_of(e)->all.items[at];
    memmove(a + 1, a, (allowances_of(e)->all.count - 1 - at) * sizeof(*a));
    *a = allowance_of(task);
    return a;
}

/* --- notes ----------------------------------------------------------------------------------- */

/* The amounts of struct allowance, in the order of its note. */
#define AMOUNTS(X) X(limit) X(run_limit) X(used) X(last) X(handed) X(granted) X(back) X(lent)

void allowance_write(struct engine *e, const struct allowance *a) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, FORMAT);
#define PUT_AMOUNTS(member)                                                                        \
    strbuf_printf(&text, " %" PRId64 " %" PRId64, a->member.tokens, a->member.usd);
    AMOUNTS(PUT_AMOUNTS)
#undef PUT_AMOUNTS
    strbuf_printf(&text, " %" PRIu32 " %" PRId32 " %d %d %" PRIu32 " %d", a->unknown, a->on_budget,
                  a->is_over, a->by_agent, a->stopping, a->by_window);
    note_put_task(e, NOTE, a->task, strbuf_text(&text));
    turn_wrote(e);
}

/* Notes arrive in the order of their names, not of the numbers: sorted once, after the last. */
static void allowance_load(struct engine *e, const struct note_row *row) {
    const char *task = note_key(row, NOTE);
    if (!task)
        return;
    struct allowance *a = LIST_ADD(&allowances_of(e)->all);
    *a = allowance_of(strtoull(task, NULL, 10));
    char *at = (char *)row->text + strlen(FORMAT);
    if (strncmp(row->text, FORMAT " ", strlen(FORMAT " ")) != 0 || strstr(row->text, "own")
        || strstr(row->text, "lent")) {
        int64_t left = strtoll(row->text, &at, 10);
        *(strcmp(at, " own") == 0 ? &a->limit.tokens : &a->lent.tokens) = left;
        return;
    }
#define READ_AMOUNTS(member)                                                                       \
    a->member.tokens = strtoll(at, &at, 10);                                                       \
    a->member.usd = strtoll(at, &at, 10);
    AMOUNTS(READ_AMOUNTS)
#undef READ_AMOUNTS
    a->unknown = (uint32_t)strtoul(at, &at, 10);
    a->on_budget = (int32_t)strtol(at, &at, 10);
    a->is_over = strtol(at, &at, 10) != 0;
    a->by_agent = strtol(at, &at, 10) != 0;
    a->stopping = (uint32_t)strtoul(at, &at, 10);
    a->by_window = strtol(at, &at, 10) != 0;
}

static void allowance_loaded(struct engine *e) {
    if (allowances_of(e)->all.count > 1)
        qsort(allowances_of(e)->all.items, allowances_of(e)->all.count,
              sizeof(*allowances_of(e)->all.items), task_id_compare);
}

static void allowance_free(struct engine *e) {
    free(allowances_of(e)->all.items);
    memset(&allowances_of(e)->all, 0, sizeof(allowances_of(e)->all));
}

static void allowance_forget(struct engine *e, task_id task) {
    struct allowance *a = allowance_find(e, task);
    if (!a)
        return;
    note_put_task(e, NOTE, task, NULL);
    size_t behind = allowances_of(e)->all.count - 1 - (size_t)(a - allowances_of(e)->all.items);
    memmove(a, a + 1, behind * sizeof(*a));
    allowances_of(e)->all.count--;
}

/* --- limits ---------------------------------------------------------------------------------- */

/* The task's own limits; where it has none, those of its project. */
static struct engine_amounts limits_of(const struct engine *e, task_id task,
                                       struct engine_amounts own, const char *tokens_setting,
                                       const char *usd_setting) {
    struct task_view view = { 0 };
    bool known = core_task(e->core, task, &view);
    const char *project = name_of(e, view.project);
    if (own.tokens == ALLOWANCE_NONE)
        own.tokens = known ? config_number(e->config, tokens_setting, project) : UNLIMITED;
    if (own.usd == ALLOWANCE_NONE)
        own.usd = known ? config_number(e->config, usd_setting, project) : UNLIMITED;
    return own;
}

struct engine_amounts allowance_limit(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    return limits_of(e, task, a ? a->limit : none, "projects.P.task_tokens", "projects.P.task_usd");
}

struct engine_amounts allowance_run_limit(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    return limits_of(e, task, a ? a->run_limit : none, "projects.P.run_tokens",
                     "projects.P.run_usd");
}

/* --- limits, and what happens when they are reached ------------------------------------------- */

struct budget {
    LIST(task_id) spent;   /* tasks that have used up their own budget */
    LIST(task_id) changed; /* tasks whose budget changed since the last decision */
};

PART_STATE(budget, struct budget, budget_of)

int64_t run_tokens(const struct live_run *run) {
    int64_t in = run->view.tokens_in, out = run->view.tokens_out;
    return in < 0 && out < 0 ? -1 : known_amount(in) + known_amount(out);
}

int64_t usage_larger(int64_t before, int64_t reported) {
    int64_t most = reported < USAGE_MOST ? reported : USAGE_MOST;
    return before > most ? before : most;
}

static bool budget_stops(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    struct task_view view = { 0 };
    if (a && a->on_budget != ON_BUDGET_AS_CONFIGURED)
        return a->on_budget == ON_BUDGET_STOP;
    if (a && (a->granted.tokens != ALLOWANCE_NONE || a->granted.usd != ALLOWANCE_NONE))
        return true; /* a run has added it: its grant is all it has */
    if (!core_task(e->core, task, &view))
        return false;
    return config_number(e->config, "projects.P.on_budget", name_of(e, view.project))
           == ON_BUDGET_STOP;
}

int64_t budget_for_run(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    int64_t most = allowance_run_limit(e, task).usd, limit = allowance_limit(e, task).usd;
    if (limit != UNLIMITED) {
        int64_t left = limit - (a ? a->used.usd + a->handed.usd : 0);
        most = left < most ? left : most;
    }
    return most == UNLIMITED ? ALLOWANCE_NONE : known_amount(most);
}

/* --- which limit, and how much --------------------------------------------------------------- */

enum bound { BOUND_NONE, BOUND_RUN_TOKENS, BOUND_RUN_USD, BOUND_TOKENS, BOUND_USD };

struct passed {
    enum bound bound;
    int64_t used, limit;
    bool handed; /* part of `used` was granted to children */
};

static bool set_if_above(struct passed *ret, enum bound bound, int64_t used, int64_t limit) {
    if (limit == UNLIMITED || used <= limit)
        return false;
    *ret = (struct passed){ .bound = bound, .used = used, .limit = limit };
    return true;
}

/* The limit that a live run has exceeded. */
static bool find_passed(const struct engine *e, const struct live_run *run, struct passed *ret) {
    const struct allowance *a = allowance_find(e, run->task);
    struct engine_amounts limit = allowance_limit(e, run->task);
    struct engine_amounts run_limit = allowance_run_limit(e, run->task);
    int64_t tokens = known_amount(run_tokens(run)), usd = known_amount(run->cost_micro_usd);
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
        *ret = (struct passed){ BOUND_RUN_USD, known_amount(a->last.usd), run_limit.usd, false };
    return ret->bound != BOUND_NONE;
}

static bool is_of_task(enum bound bound) {
    return bound == BOUND_TOKENS || bound == BOUND_USD;
}

/* Nothing is left for another run. */
static bool allowance_is_spent(const struct engine *e, task_id task) {
    struct passed p;
    return find_spent(e, task, &p) && is_of_task(p.bound);
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

/* For its own budget, until that is raised. */
static bool is_held(const struct task_view *view) {
    return view->state == TASK_HELD && view->hold == HOLD_BUDGET && view->not_before == 0;
}

bool engine_explain_budget_hold(const struct engine *e, task_id task, struct strbuf *out) {
    static const char *const options[] = { [BOUND_RUN_TOKENS] = "--run-tokens N",
                                           [BOUND_RUN_USD] = "--run-usd X",
                                           [BOUND_TOKENS] = "--tokens N",
                                           [BOUND_USD] = "--usd X" };
    struct task_view view = { 0 };
    struct passed p;
    char id[ENGINE_ID_MAX];
    if (!core_task(e->core, task, &view) || !is_held(&view) || !find_spent(e, task, &p))
        return false;
    bool run = !is_of_task(p.bound);
    strbuf_puts(out, run ? "its last run " : "it ");
    put_used(out, &p);
    engine_task_id(e, task, id);
    strbuf_printf(out, "; raise it with `sluice budget %s %s` to let it continue", id,
                  options[p.bound]);
    if (run)
        strbuf_printf(out, ", or let it try again as it is with `sluice release %s`", id);
    return true;
}

/* --- while it runs --------------------------------------------------------------------------- */

static void write_event(struct engine *e, const struct live_run *run, const struct passed *p,
                        bool stops) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "of", is_of_task(p->bound) ? "task" : "run");
    json_put_string(w, "currency", is_money(p->bound) ? "micro_usd" : "tokens");
    json_put_int(w, "used", p->used);
    json_put_int(w, "budget", p->limit);
    json_put_bool(w, "stops", stops);
    event_end(e, &data, "task.budget", run->task, run->view.attempt);
}

bool budget_is_stopping(const struct engine *e, const struct live_run *run) {
    const struct allowance *a = allowance_find(e, run->task);
    return a && a->stopping == run->view.attempt && a->stopping != 0;
}

/* The stop is ours: the core still considers the run working, and gets its end. */
static void stop(struct engine *e, struct live_run *run, bool by_window) {
    struct task_spec spec;
    if (budget_is_stopping(e, run) || !run->view.started_at || run->phase == PHASE_STOPPING
        || !core_task_spec(e->core, run->task, &spec) || spec.stop != STOP_NONE)
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

/* The limits changed: a live run may exceed them now, or no longer. */
static void budget_changed(struct engine *e, task_id task) {
    struct live_run *run = run_find(e, task);
    if (!run || budget_is_stopping(e, run))
        return;
    run->is_over_budget = false;
    budget_reported(e, run);
}

/* --- its end --------------------------------------------------------------------------------- */

void budget_explain_stop(const struct engine *e, const struct live_run *run, struct strbuf *out) {
    const struct allowance *a = allowance_find(e, run->task);
    struct passed p;
    if (a && a->by_window)
        strbuf_puts(out, "stopped: the budget of the window is used up (budget_stops_runs)");
    else if (a && find_passed(e, run, &p)) {
        strbuf_puts(out, is_of_task(p.bound) ? "stopped: its task " : "stopped: it ");
        put_used(out, &p);
    }
}

void budget_ended(struct engine *e, const struct live_run *run, enum outcome outcome,
                  const struct agent_outcome *result) {
    struct passed p;
    bool is_plain = !run->agent && run_tokens(run) < 0 && run->cost_micro_usd < 0;
    if (is_plain && !allowance_find(e, run->task))
        return; /* nothing is kept for a plain command without reports and limits */
    /* Our own limit, which the agent enforced itself. */
    bool by_agent =
        result && result->result == AGENT_BUDGET && budget_for_run(e, run->task) != ALLOWANCE_NONE;
    bool passed = find_passed(e, run, &p);
    struct allowance *a = allowance_get(e, run->task);
    a->last = (struct engine_amounts){ .tokens = run_tokens(run), .usd = run->cost_micro_usd };
    a->used.tokens += known_amount(a->last.tokens);
    a->used.usd += known_amount(a->last.usd);
    bool is_unknown = a->last.usd < 0 && outcome != OUTCOME_LAUNCH;
    a->unknown += is_unknown;
    a->is_over = passed || by_agent;
    a->by_agent = by_agent;
    a->stopping = 0;
    allowance_write(e, a);
    if (passed && !run->is_over_budget)
        write_event(e, run, &p, false);
    budget_check(e, run->task);
}

/* --- hold and release ------------------------------------------------------------------------ */

static void list_spent(struct engine *e, task_id task, bool is_spent) {
    struct budget *b = budget_of(e);
    size_t i = 0;
    while (i < b->spent.count && b->spent.items[i] != task)
        i++;
    if (is_spent && i == b->spent.count)
        *LIST_ADD(&b->spent) = task;
    else if (!is_spent && i < b->spent.count)
        b->spent.items[i] = b->spent.items[--b->spent.count];
}

static void hold(struct engine *e, task_id task) {
    struct task_view view;
    if (!core_task(e->core, task, &view))
        return;
    bool held_otherwise = view.state == TASK_HELD && view.hold != HOLD_PERSON
                          && view.hold != HOLD_REVIEW && view.hold != HOLD_EXTERNAL
                          && !is_held(&view);
    if (view.state == TASK_WAITING || view.state == TASK_READY || held_otherwise)
        (void)engine_apply(e, &(struct fact){ .kind = FACT_SPENT, .task = task }, NULL);
}

/* A final task need not be held; a reopened one may have to be. */
static void budget_state_changed(struct engine *e, task_id task, bool is_final) {
    list_spent(e, task, !is_final && allowance_is_spent(e, task));
}

void budget_check(struct engine *e, task_id task) {
    struct task_view view;
    struct passed p;
    bool spent = find_spent(e, task, &p);
    bool known_task = core_task(e->core, task, &view);
    budget_state_changed(e, task, !known_task || task_state_is_final(view.state));
    if (spent)
        hold(e, task);
    else if (known_task && is_held(&view))
        (void)engine_apply(e, &(struct fact){ .kind = FACT_RELEASE, .task = task }, NULL);
}

/* In the next turn, because the core accepts no facts after its decision. */
static void budget_check_later(struct engine *e, task_id task) {
    *LIST_ADD(&budget_of(e)->changed) = task;
    e->start_pending = true;
    turn_wake(e);
}

/* --- changes of limits ------------------------------------------------------------------------ */

static void take_limits(struct engine_amounts *to, struct engine_amounts from) {
    if (from.tokens != ALLOWANCE_NONE)
        to->tokens = from.tokens;
    if (from.usd != ALLOWANCE_NONE)
        to->usd = from.usd;
}

void engine_set_limits(struct engine *e, task_id task, const struct engine_limits *limits) {
    struct allowance *a = allowance_get(e, task);
    take_limits(&a->limit, limits->task);
    take_limits(&a->run_limit, limits->run);
    if (limits->on_budget != ON_BUDGET_AS_CONFIGURED)
        a->on_budget = limits->on_budget;
    if (limits->run.usd != ALLOWANCE_NONE || limits->task.usd != ALLOWANCE_NONE)
        a->by_agent = false; /* the limit that it was asked to stop at has changed */
    allowance_write(e, a);
    budget_check(e, task);
    budget_changed(e, task);
}

void engine_budget(const struct engine *e, task_id task, struct engine_budget *ret) {
    const struct allowance *a = allowance_find(e, task);
    const struct live_run *run = run_find(e, task);
    *ret = (struct engine_budget){ .limit = allowance_limit(e, task),
                                   .run_limit = allowance_run_limit(e, task),
                                   .live = none,
                                   .last = none,
                                   .stops = budget_stops(e, task) };
    if (run)
        ret->live =
            (struct engine_amounts){ .tokens = run_tokens(run), .usd = run->cost_micro_usd };
    if (!a)
        return;
    ret->used = a->used;
    ret->last = a->last;
    ret->handed = a->handed;
    ret->unknown = a->unknown;
    ret->is_over = a->is_over;
}

int64_t engine_spent_usd(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    const struct live_run *run = run_find(e, task);
    int64_t used = a ? a->used.usd : 0, live = run ? run->cost_micro_usd : ALLOWANCE_NONE;
    bool is_known = used > 0 || live >= 0 || (a && a->last.usd >= 0);
    return is_known ? used + known_amount(live) : ALLOWANCE_NONE;
}

/* --- children -------------------------------------------------------------------------------- */

/* A budget of its own takes precedence over what was lent. */
static int64_t left_of(int64_t limit, int64_t lent, int64_t used, int64_t handed) {
    if (limit == UNLIMITED && lent == ALLOWANCE_NONE)
        return ALLOWANCE_NONE;
    int64_t left = limit != UNLIMITED ? limit - used - handed : lent - handed;
    return known_amount(left);
}

struct engine_amounts engine_budget_left(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    struct engine_amounts limit = allowance_limit(e, task);
    struct engine_amounts lent = a ? a->lent : none;
    struct engine_amounts used = a ? a->used : (struct engine_amounts){ 0 };
    struct engine_amounts handed = a ? a->handed : (struct engine_amounts){ 0 };
    return (struct engine_amounts){
        .tokens = left_of(limit.tokens, lent.tokens, used.tokens, handed.tokens),
        .usd = left_of(limit.usd, lent.usd, used.usd, handed.usd),
    };
}

void engine_lend_budget(struct engine *e, task_id task, struct engine_amounts amounts) {
    struct allowance *a = allowance_get(e, task);
    take_limits(&a->lent, amounts);
    allowance_write(e, a);
}

void engine_grant_budget(struct engine *e, task_id parent, task_id child,
                         struct engine_amounts amounts) {
    struct engine_amounts left = engine_budget_left(e, parent);
    bool tokens = left.tokens != ALLOWANCE_NONE && amounts.tokens > 0;
    bool usd = left.usd != ALLOWANCE_NONE && amounts.usd > 0;
    if (!tokens && !usd)
        return;
    (void)allowance_get(e, child); /* the array may move: create both before using a pointer */
    struct allowance *from = allowance_get(e, parent), *to = allowance_find(e, child);
    if (tokens) {
        from->handed.tokens += amounts.tokens;
        to->granted.tokens = amounts.tokens;
    }
    if (usd) {
        from->handed.usd += amounts.usd;
        to->granted.usd = amounts.usd;
    }
    allowance_write(e, from);
    allowance_write(e, to);
}

/* The unused part of its grant; a budget that a person raised is not the parent's. */
static int64_t rest_of(int64_t granted, int64_t used, int64_t handed, int64_t back) {
    return granted == ALLOWANCE_NONE ? 0 : known_amount(granted - used - handed - back);
}

static struct allowance *parent_of(struct engine *e, task_id task, enum task_state *ret_state) {
    struct task_view view = { 0 }, parent = { 0 };
    if (!core_task(e->core, task, &view) || !view.parent)
        return NULL;
    (void)core_task(e->core, view.parent, &parent);
    *ret_state = parent.state;
    return allowance_find(e, view.parent);
}

/* Up the tree: a parent that is final itself keeps nothing of it. */
static void give_back(struct engine *e, struct allowance *a) {
    while (a) {
        enum task_state state = TASK_ABSENT;
        struct allowance *parent = parent_of(e, a->task, &state);
        int64_t tokens =
            rest_of(a->granted.tokens, a->used.tokens, a->handed.tokens, a->back.tokens);
        int64_t usd = rest_of(a->granted.usd, a->used.usd, a->handed.usd, a->back.usd);
        if (!parent || (tokens == 0 && usd == 0))
            return;
        a->back.tokens += tokens;
        a->back.usd += usd;
        parent->handed.tokens -= tokens;
        parent->handed.usd -= usd;
        allowance_write(e, a);
        allowance_write(e, parent);
        budget_check_later(e, parent->task);
        a = task_state_is_final(state) ? parent : NULL;
    }
}

static int64_t smaller(int64_t a, int64_t b) {
    return b == ALLOWANCE_NONE || a < b ? a : b;
}

/* What its parent granted to others meanwhile is lost: its own budget shrinks by that. */
static void take_again(struct engine *e, struct allowance *a) {
    enum task_state state = TASK_ABSENT;
    struct allowance *parent = parent_of(e, a->task, &state);
    if (!parent)
        return;
    struct engine_amounts left = engine_budget_left(e, parent->task);
    int64_t tokens = smaller(a->back.tokens, left.tokens), usd = smaller(a->back.usd, left.usd);
    parent->handed.tokens += tokens;
    parent->handed.usd += usd;
    if (a->limit.tokens != ALLOWANCE_NONE && a->limit.tokens != UNLIMITED)
        a->limit.tokens -= a->back.tokens - tokens;
    if (a->limit.usd != ALLOWANCE_NONE && a->limit.usd != UNLIMITED)
        a->limit.usd -= a->back.usd - usd;
    a->granted.tokens -= a->back.tokens - tokens;
    a->granted.usd -= a->back.usd - usd;
    a->back = (struct engine_amounts){ 0 };
    allowance_write(e, a);
    allowance_write(e, parent);
    budget_check_later(e, a->task);
}

void allowance_state_changed(struct engine *e, task_id task, enum task_state state) {
    struct allowance *a = allowance_find(e, task);
    if (!a)
        return;
    if (task_state_is_final(state)) {
        budget_state_changed(e, task, true);
        give_back(e, a);
    }
    if (!task_state_is_final(state) && (a->back.tokens > 0 || a->back.usd > 0))
        take_again(e, a);
}

static void allowance_task_changed(struct engine *e, task_id task, const struct task_spec *spec) {
    if (spec)
        allowance_state_changed(e, task, spec->state);
    else
        allowance_forget(e, task);
}

/* A task that is reopened takes the rest of its grant again before the decision. */
static void allowance_applied(struct engine *e, const struct fact *fact) {
    if (fact->kind != FACT_AGAIN && fact->kind != FACT_RETRY)
        return;
    allowance_state_changed(e, fact->task, TASK_WAITING);
    budget_state_changed(e, fact->task, false);
}

const struct engine_part allowances_part = {
    .state_size = sizeof(struct allowances),
    .at = { [STEP_UNLOAD] = allowance_free,
            [STEP_LOADED] = allowance_loaded,
            [STEP_FREE] = allowance_free },
    .applied = allowance_applied,
    .task_changed = allowance_task_changed,
    .load_note = allowance_load,
};

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

/* A task that a person allowed to try again stays released, although its last run used too much. */
static void check_if_held(struct engine *e, task_id task) {
    struct task_view view;
    if ((core_task(e->core, task, &view) && is_held(&view)) || allowance_is_spent(e, task))
        budget_check(e, task);
    else
        list_spent(e, task, false);
}

/* Before the decision of a turn. */
static void budget_turn(struct engine *e) {
    struct budget *b = budget_of(e);
    if (e->turn.configured) /* limits may have changed */
        for (size_t i = 0; i < allowances_of(e)->all.count; i++)
            check_if_held(e, allowances_of(e)->all.items[i].task);
    for (size_t i = 0; i < b->changed.count; i++)
        budget_check(e, b->changed.items[i]);
    b->changed.count = 0;
    for (size_t i = 0; i < b->spent.count; i++)
        hold(e, b->spent.items[i]);
    if (!config_number(e->config, "budget_stops_runs", NULL))
        return;
    if (core_budget_is_reached(e->core, 0))
        stop_runs_of(e, 0);
    for (size_t i = 0; i < engine_project_count(e); i++)
        if (core_budget_is_reached(e->core, project_at(e, i)->symbol))
            stop_runs_of(e, project_at(e, i)->symbol);
}

static void budget_loaded(struct engine *e) {
    struct budget *b = budget_of(e);
    const struct allowances *all = allowances_of(e);
    struct task_view view;
    for (size_t i = 0; i < all->all.count; i++) {
        const struct allowance *a = &all->all.items[i];
        bool is_open = core_task(e->core, a->task, &view) && !task_state_is_final(view.state);
        if (is_open && allowance_is_spent(e, a->task))
            *LIST_ADD(&b->spent) = a->task;
        else if (a->handed.tokens || a->handed.usd)
            *LIST_ADD(&b->changed) = a->task; /* a child may have returned some */
    }
}

static void budget_free(struct engine *e) {
    struct budget *b = budget_of(e);
    free(b->spent.items);
    free(b->changed.items);
    *b = (struct budget){ 0 };
}

const struct engine_part budget_part = {
    .state_size = sizeof(struct budget),
    .at = { [STEP_UNLOAD] = budget_free,
            [STEP_LOADED] = budget_loaded,
            [STEP_BEFORE_DECIDE] = budget_turn,
            [STEP_FREE] = budget_free },
};
