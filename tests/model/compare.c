/* compare.c: one history, two readings of the rules. */
#include "compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../harness/order_print.h"
#include "base/alloc.h"
#include "core/core.h"
#include "gate_count.h"
#include "rebuild.h"

static const char *const difference_names[] = {
    [DIFFERENCE_NONE] = "none",       [DIFFERENCE_RETURN] = "return",
    [DIFFERENCE_STARTS] = "starts",   [DIFFERENCE_CHANGES] = "changes",
    [DIFFERENCE_TASK] = "task",       [DIFFERENCE_GATE] = "gate",
    [DIFFERENCE_SHARE] = "share",     [DIFFERENCE_REPEAT] = "repeat",
    [DIFFERENCE_RESTART] = "restart", [DIFFERENCE_COPY] = "copy",
    [DIFFERENCE_COUNT] = "count",
};
_Static_assert(ARRAY_SIZE(difference_names) == DIFFERENCE_MAX, "a difference has no name");

const char *difference_name(enum difference kind) {
    return difference_names[kind];
}

void pair_init(struct pair *p, FILE *trace) {
    memset(p, 0, sizeof(*p));
    p->core = core_new();
    p->model = model_new();
    p->trace = trace;
    p->about = "";
    names_intern(&p->names, core_symbols(p->core));
}

void pair_finish(struct pair *p) {
    core_free(p->core);
    model_free(p->model);
    strbuf_finish(&p->orders);
    strbuf_finish(&p->text);
}

static bool differs(struct pair *p, enum difference kind) {
    p->difference = kind;
    return false;
}

static void print_order(struct pair *p, const struct order *order, struct strbuf *out) {
    order_print(order, core_symbols(p->core), out);
}

static void trace_orders(struct pair *p, const struct order *orders, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct strbuf line = STRBUF_INIT;
        print_order(p, &orders[i], &line);
        fprintf(p->trace, "    %s\n", strbuf_text(&line));
        strbuf_finish(&line);
    }
}

/* --- orders ---------------------------------------------------------------------------------- */

static bool is_effect(const struct order *o) {
    return o->kind == ORDER_START || o->kind == ORDER_STOP;
}

static bool same_effect(const struct order *a, const struct order *b) {
    if (a->kind != b->kind || a->task != b->task || a->attempt != b->attempt)
        return false;
    return a->kind == ORDER_STOP
           || (a->project == b->project && a->agent == b->agent && a->limiter == b->limiter
               && a->instead_of == b->instead_of && a->workspace == b->workspace
               && a->score == b->score && a->lender == b->lender);
}

static bool same_change(const struct order *a, const struct order *b) {
    return a->task == b->task && a->from == b->from && a->to == b->to && a->hold == b->hold
           && a->until == b->until && a->reason == b->reason && a->iteration == b->iteration
           && a->attempt == b->attempt;
}

static const struct order *next_effect(const struct order *list, size_t count, size_t *at) {
    while (*at < count && !is_effect(&list[*at]))
        (*at)++;
    return *at < count ? &list[(*at)++] : NULL;
}

static bool compare_effects(struct pair *p, const struct order *core, size_t core_count,
                            const struct order *model, size_t model_count) {
    size_t i = 0, k = 0;
    for (;;) {
        const struct order *a = next_effect(core, core_count, &i);
        const struct order *b = next_effect(model, model_count, &k);
        if (!a && !b)
            return true;
        if (a && b && same_effect(a, b))
            continue;
        strbuf_puts(&p->text, "core: ");
        if (a)
            print_order(p, a, &p->text);
        strbuf_puts(&p->text, " | model: ");
        if (b)
            print_order(p, b, &p->text);
        return differs(p, DIFFERENCE_STARTS);
    }
}

/* In a cascade a task may lose its place on the way to its end: ready → waiting → failed or
 * invalidated. Whether the middle is reported depends on which task is checked first, and is not compared.
 * The caller frees. */
static struct order *straightened(const struct order *list, size_t count, size_t *ret_count) {
    struct order *out = xcalloc(count + 1, sizeof(*out));
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        struct order o = list[i];
        size_t k = n;
        while (k > 0 && out[k - 1].task != o.task)
            k--;
        bool ends = o.kind == ORDER_CHANGE && o.from == TASK_WAITING
                    && (o.to == TASK_FAILED || o.to == TASK_INVALIDATED);
        if (ends && k > 0 && out[k - 1].kind == ORDER_CHANGE && out[k - 1].from == TASK_READY
            && out[k - 1].to == TASK_WAITING && out[k - 1].reason == REASON_PREREQUISITES) {
            o.from = TASK_READY;
            out[k - 1] = o;
        } else
            out[n++] = o;
    }
    *ret_count = n;
    return out;
}

/* The first change in `list` that is not as often in `other`. */
static const struct order *extra_change(const struct order *list, size_t count,
                                        const struct order *other, size_t other_count) {
    for (size_t i = 0; i < count; i++) {
        if (list[i].kind != ORDER_CHANGE)
            continue;
        int balance = 0;
        for (size_t k = 0; k < count; k++)
            balance += list[k].kind == ORDER_CHANGE && same_change(&list[i], &list[k]);
        for (size_t k = 0; k < other_count; k++)
            balance -= other[k].kind == ORDER_CHANGE && same_change(&list[i], &other[k]);
        if (balance > 0)
            return &list[i];
    }
    return NULL;
}

static bool compare_changes(struct pair *p, const struct order *core_orders, size_t core_all,
                            const struct order *model_orders, size_t model_all) {
    size_t core_count, model_count;
    _cleanup_(freep) struct order *core = straightened(core_orders, core_all, &core_count);
    _cleanup_(freep) struct order *model = straightened(model_orders, model_all, &model_count);
    const struct order *a = extra_change(core, core_count, model, model_count);
    const struct order *b = extra_change(model, model_count, core, core_count);
    if (!a && !b)
        return true;
    strbuf_puts(&p->text, "only the core: ");
    if (a)
        print_order(p, a, &p->text);
    strbuf_puts(&p->text, " | only the model: ");
    if (b)
        print_order(p, b, &p->text);
    return differs(p, DIFFERENCE_CHANGES);
}

/* --- tasks ----------------------------------------------------------------------------------- */

static bool compare_number(struct pair *p, task_id task, const char *what, int64_t core,
                           int64_t model) {
    if (core == model)
        return true;
    p->about = what;
    strbuf_printf(&p->text, "task %" PRIu64 " %s: core %" PRId64 " | model %" PRId64, task, what,
                  core, model);
    return differs(p, DIFFERENCE_TASK);
}

static bool compare_task(struct pair *p, const struct model_view *m, bool overdue) {
    struct task_view c;
    if (!core_task(p->core, m->id, &c))
        return compare_number(p, m->id, "known", 0, 1);
    if (c.state != m->state || c.hold != m->hold) {
        strbuf_printf(&p->text, "task %" PRIu64 " state: core %s %s | model %s %s", m->id,
                      task_state_name(c.state), hold_name(c.hold), task_state_name(m->state),
                      hold_name(m->hold));
        return differs(p, DIFFERENCE_TASK);
    }
    bool queued = m->state == TASK_WAITING || m->state == TASK_READY;
    if (queued && !overdue
        && !compare_number(p, m->id, "place in the queue", core_queue_position(p->core, m->id),
                           model_position(p->model, m->id)))
        return false;
    return compare_number(p, m->id, "iteration", c.iteration, m->iteration)
           && compare_number(p, m->id, "attempt", c.attempt, m->attempt)
           && compare_number(p, m->id, "failures", c.failures, m->failures)
           && compare_number(p, m->id, "launch failures", c.launch_failures, m->launch_failures)
           && compare_number(p, m->id, "losses", c.losses, m->losses)
           && compare_number(p, m->id, "restarts", c.restarts, m->restarts)
           && compare_number(p, m->id, "priority", c.priority, m->priority)
           && compare_number(p, m->id, "depth", c.depth, m->depth)
           && (m->state != TASK_READY
               || (compare_number(p, m->id, "score", c.score, m->score)
                   && compare_number(p, m->id, "waited", c.waited, m->waited)
                   && compare_number(p, m->id, "overdue", c.overdue, m->overdue)));
}

static void print_gate(struct strbuf *out, const struct symbol_table *symbols, bool closed,
                       const struct model_block *b) {
    if (!closed) {
        strbuf_puts(out, "none");
        return;
    }
    strbuf_puts(out, gate_name(b->gate));
    if (b->gate == GATE_LEASE)
        strbuf_printf(out, ":%s", lease_kind_name(b->lease));
    strbuf_printf(out, ":%s", symbol_name(symbols, b->key));
    if (b->gate == GATE_LEASE && b->lease == LEASE_SERIAL)
        strbuf_printf(out, " of %s/%s", symbol_name(symbols, b->key_project),
                      symbol_name(symbols, b->key_kind));
}

/* What the core says stops the task, in the words of the model. */
static bool core_gate(struct pair *p, task_id task, struct model_block *ret) {
    struct verdict v;
    *ret = (struct model_block){ 0 };
    if (!core_blocked(p->core, task, &v))
        return false;
    *ret = (struct model_block){ .gate = v.gate, .key = v.key };
    if (v.gate == GATE_LEASE)
        ret->lease = v.lease;
    if (v.gate == GATE_LEASE && v.lease == LEASE_SERIAL) {
        ret->key_project = v.key_project;
        ret->key_kind = v.key_kind;
    }
    return true;
}

static bool model_gate(struct pair *p, task_id task, struct model_block *ret) {
    bool closed = model_blocked(p->model, task, ret);
    if (!closed)
        *ret = (struct model_block){ 0 };
    return closed;
}

static bool waits(const struct model_view *m) {
    return m->state == TASK_WAITING || m->state == TASK_READY || m->state == TASK_HELD;
}

static bool compare_gate(struct pair *p, const struct model_view *m) {
    struct model_block core, model;
    bool core_closed = core_gate(p, m->id, &core), model_closed = model_gate(p, m->id, &model);
    if (core_closed == model_closed && core.gate == model.gate && core.lease == model.lease
        && core.key == model.key && core.key_project == model.key_project
        && core.key_kind == model.key_kind)
        return true;
    strbuf_printf(&p->text, "task %" PRIu64 " is stopped by: core ", m->id);
    print_gate(&p->text, core_symbols(p->core), core_closed, &core);
    strbuf_puts(&p->text, " | model ");
    print_gate(&p->text, core_symbols(p->core), model_closed, &model);
    return differs(p, DIFFERENCE_GATE);
}

/* What stops each task, for someone who reads the history. */
static void trace_gates(struct pair *p) {
    for (size_t i = 0; i < model_task_count(p->model); i++) {
        struct model_view view = model_task_at(p->model, i);
        struct model_block core, model;
        if (!waits(&view))
            continue;
        struct strbuf line = STRBUF_INIT;
        print_gate(&line, core_symbols(p->core), core_gate(p, view.id, &core), &core);
        strbuf_puts(&line, " | ");
        print_gate(&line, core_symbols(p->core), model_gate(p, view.id, &model), &model);
        fprintf(p->trace, "    (%" PRIu64 " %s, stopped by %s)\n", view.id,
                task_state_name(view.state), strbuf_text(&line));
        strbuf_finish(&line);
    }
}

/* The core counts who waits at which gate without looking at a task: it must be right at any time. */
static bool compare_counts(struct pair *p) {
    return gate_count_check(p->core, &p->text) || differs(p, DIFFERENCE_COUNT);
}

static bool compare_tasks(struct pair *p) {
    size_t count = model_task_count(p->model);
    bool overdue = model_has_overdue(p->model);
    for (size_t i = 0; i < count; i++) {
        struct model_view view = model_task_at(p->model, i);
        if (!compare_task(p, &view, overdue))
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct model_view view = model_task_at(p->model, i);
        if (waits(&view) && !compare_gate(p, &view))
            return false;
    }
    struct core_counts counts;
    core_count(p->core, &counts);
    uint32_t total = 0;
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        total += counts.by_state[s];
    return compare_number(p, 0, "(all) count", total, (int64_t)count);
}

/* --- shares ---------------------------------------------------------------------------------- */

static bool compare_money(struct pair *p, sym project, const struct model_share *m) {
    struct budgets_view c = { 0 };
    (void)core_budgets(p->core, project, &c);
    return compare_number(p, 0, "money used", c.money.used, m->money)
           && compare_number(p, 0, "money reserved", c.money.reserved, m->money_reserved)
           && compare_number(p, 0, "runs with a cost", c.priced, m->priced)
           && compare_number(p, 0, "runs without", c.unpriced, m->unpriced);
}

static bool compare_share(struct pair *p, sym project) {
    struct share_view c;
    if (!core_share(p->core, project, &c) || !model_knows_project(p->model, project))
        return true;
    struct model_share m = model_share(p->model, project);
    if (!compare_money(p, project, &m))
        return false;
    if (c.tokens == m.tokens && c.reserved == m.reserved && c.starts == m.starts
        && c.completions == m.completions)
        return true;
    strbuf_printf(&p->text,
                  "project %s tokens reserved starts completions: core %" PRId64 " %" PRId64
                  " %u %u | model %" PRId64 " %" PRId64 " %u %u",
                  symbol_name(core_symbols(p->core), project), c.tokens, c.reserved, c.starts,
                  c.completions, m.tokens, m.reserved, m.starts, m.completions);
    return differs(p, DIFFERENCE_SHARE);
}

static bool compare_shares(struct pair *p) {
    for (size_t i = 0; i < WORLD_PROJECTS; i++)
        if (!compare_share(p, p->names.projects[i]))
            return false;
    return true;
}

/* --- steps ----------------------------------------------------------------------------------- */

static void print_lines(struct core *core, const struct order *orders, size_t count,
                        struct strbuf *out) {
    for (size_t i = 0; i < count; i++) {
        order_print(&orders[i], core_symbols(core), out);
        strbuf_putc(out, '\n');
    }
}

static bool step_decide(struct pair *p) {
    size_t core_count_, model_count;
    const struct order *model = model_decide(p->model, &model_count);
    const struct order *core = core_decide(p->core, &core_count_);
    for (size_t i = 0; i < core_count_; i++)
        p->starts += core[i].kind == ORDER_START;
    if (p->keeps)
        print_lines(p->core, core, core_count_, &p->orders);
    if (p->trace) {
        fprintf(p->trace, "decide\n");
        trace_orders(p, core, core_count_);
        trace_gates(p);
    }
    return compare_effects(p, core, core_count_, model, model_count)
           && compare_changes(p, core, core_count_, model, model_count) && compare_tasks(p)
           && compare_counts(p) && compare_shares(p);
}

static int class_of(int r) {
    return r < 0 ? -1 : r;
}

static bool step_fact(struct pair *p, const struct fact *fact) {
    struct error core_err = { 0 }, model_err = { 0 };
    if (p->trace) {
        struct strbuf line = STRBUF_INIT;
        fact_print(fact, core_symbols(p->core), &line);
        fprintf(p->trace, "%s\n", strbuf_text(&line));
        strbuf_finish(&line);
    }
    int core = class_of(core_apply(p->core, fact, &core_err));
    int model = class_of(model_apply(p->model, fact, &model_err));
    if (p->trace && model != 0)
        fprintf(p->trace, "    %s %s\n", model < 0 ? "refused" : "ignored", model_err.text);
    if (core == model)
        return true;
    p->about = fact_kind_name(fact->kind);
    strbuf_printf(&p->text, "%s of task %" PRIu64 ": core %d %s | model %d %s",
                  fact_kind_name(fact->kind),
                  fact->kind == FACT_TASK_ADDED ? fact->spec->id : fact->task, core, core_err.text,
                  model, model_err.text);
    return differs(p, DIFFERENCE_RETURN);
}

/* The daemon dies after a commit: what was ordered is known, and a new core loads the rows. */
static bool step_restart(struct pair *p) {
    if (p->trace)
        fprintf(p->trace, "restart\n");
    if (!step_decide(p))
        return false;
    struct error err = { 0 };
    struct core *old = p->core, *new = rebuild(old, &err);
    if (!new) {
        strbuf_printf(&p->text, "a row was refused: %s", err.text);
        return differs(p, DIFFERENCE_RESTART);
    }
    bool same = core_compare(old, new, false, &p->text);
    model_restart(p->model);
    core_free(old);
    p->core = new;
    return (same || differs(p, DIFFERENCE_RESTART)) && compare_counts(p);
}

static void print_starts(struct pair *p, struct core *core, struct strbuf *out) {
    size_t count;
    const struct order *orders = core_decide(core, &count);
    for (size_t i = 0; i < count; i++) {
        if (orders[i].kind != ORDER_START)
            continue;
        print_order(p, &orders[i], out);
        strbuf_putc(out, '\n');
    }
}

/* A copy decides what the original decides, and neither knows of the other. */
static bool step_copy(struct pair *p) {
    if (p->trace)
        fprintf(p->trace, "copy\n");
    struct core *copy = core_copy(p->core), *untouched = core_copy(p->core);
    struct core *second = core_copy(copy);
    struct strbuf started = STRBUF_INIT, difference = STRBUF_INIT;
    print_starts(p, copy, &p->text);
    print_starts(p, second, &started);
    bool same = strcmp(strbuf_text(&p->text), strbuf_text(&started)) == 0
                && core_compare(p->core, untouched, true, &difference);
    if (same)
        strbuf_clear(&p->text);
    strbuf_puts(&p->text, strbuf_text(&difference));
    strbuf_finish(&difference);
    strbuf_finish(&started);
    core_free(second);
    core_free(copy);
    core_free(p->core);
    p->core = untouched; /* continues instead of the copy */
    return (same || differs(p, DIFFERENCE_COPY)) && compare_counts(p);
}

bool pair_step(struct pair *p, const struct step *step) {
    switch (step->kind) {
    case STEP_DECIDE:
        return step_decide(p);
    case STEP_RESTART:
        return step_restart(p);
    case STEP_COPY:
        return step_copy(p);
    case STEP_FACT:
        break;
    }
    return step_fact(p, &step->fact) && compare_counts(p);
}

enum difference pair_play(struct pair *p, const struct history *h, const bool *left_out) {
    for (size_t i = 0; i < h->count; i++)
        if ((!left_out || !left_out[i]) && !pair_step(p, &h->steps[i]))
            break;
    return p->difference;
}

/* One step of a core alone. Returns the core that continues, NULL if a row was refused. */
static struct core *apply_alone(struct core *core, const struct step *step, struct strbuf *orders) {
    struct error err = { 0 };
    struct core *next = core;
    if (step->kind == STEP_FACT) {
        (void)core_apply(core, &step->fact, &err);
    } else if (step->kind == STEP_COPY) {
        next = core_copy(core);
    } else {
        size_t count;
        const struct order *list = core_decide(core, &count);
        print_lines(core, list, count, orders);
        if (step->kind == STEP_RESTART)
            next = rebuild(core, &err);
    }
    if (next != core)
        core_free(core);
    return next;
}

bool pair_repeats(struct pair *p, const struct history *h) {
    struct strbuf orders = STRBUF_INIT;
    struct core *core = core_new();
    names_intern(&(struct names){ 0 }, core_symbols(core));
    for (size_t i = 0; core && i < h->count; i++)
        core = apply_alone(core, &h->steps[i], &orders);
    bool same = core && strcmp(strbuf_text(&p->orders), strbuf_text(&orders)) == 0;
    if (!same)
        strbuf_puts(&p->text, "a second core gave other orders");
    else
        same = core_compare(p->core, core, true, &p->text);
    core_free(core);
    strbuf_finish(&orders);
    return same || differs(p, DIFFERENCE_REPEAT);
}

static bool still_differs(const struct history *h, const bool *left_out, const struct pair *found) {
    struct pair p;
    pair_init(&p, NULL);
    bool same =
        pair_play(&p, h, left_out) == found->difference && strcmp(p.about, found->about) == 0;
    pair_finish(&p);
    return same;
}

bool *history_shrink(const struct history *h, const struct pair *found) {
    bool *left_out = xcalloc(h->count + 1, sizeof(*left_out));
    bool shorter;
    do {
        shorter = false;
        for (size_t i = h->count; i-- > 1;) { /* the first sets the clock */
            if (left_out[i])
                continue;
            left_out[i] = true;
            if (still_differs(h, left_out, found))
                shorter = true;
            else
                left_out[i] = false;
        }
    } while (shorter);
    return left_out;
}
