/* alert_budget.c: a task that waits for a larger budget, and a window that is used up.
 *
 * A window is told when what was reported reaches its budget, not when the estimates of live runs close its
 * gate for a moment: that comes and goes with every run. Once per closing. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/money.h"
#include "base/number.h"
#include "core/budgets.h"
#include "engine/alert_internal.h"
#include "engine/budget.h"

bool alert_budget_is_held(const struct task_spec *t) {
    return t->state == TASK_HELD && t->hold == HOLD_BUDGET && t->not_before == 0;
}

void alert_budget_see_task(struct engine *e, const struct task_spec *t) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, why = STRBUF_INIT;
    if (!alert_budget_is_held(t) || !engine_budget_why(e, t->id, &why))
        return;
    strbuf_printf(&key, "budget:%s", engine_task_id(e, t->id, id));
    alert_raise(e, strbuf_text(&key), t->id, t->attempt, "'%s' is held: %s", id, strbuf_text(&why));
}

bool alert_budget_is_over(const struct engine *e, const struct alert *alert) {
    struct task_spec told;
    return !core_task_spec(e->core, alert->view.task, &told) || !alert_budget_is_held(&told);
}

/* --- windows --------------------------------------------------------------------------------- */

static void put_amounts(struct strbuf *out, const struct budgets_view *v) {
    if (budget_is_reached(&v->money)) {
        money_put(out, v->money.used + v->money.live);
        strbuf_puts(out, " of ");
        money_put(out, v->money.budget);
    } else {
        strbuf_printf(out, "%" PRId64 " of %" PRId64 " tokens", v->tokens.used + v->tokens.live,
                      v->tokens.budget);
    }
    if (v->unpriced > 0 && budget_is_reached(&v->money))
        strbuf_printf(out, ", and %u run%s of unknown cost,", v->unpriced,
                      v->unpriced == 1 ? "" : "s");
}

static void see_window(struct engine *e, sym symbol, const char *name) {
    struct budgets_view v;
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, used = STRBUF_INIT;
    if (!core_budget_is_reached(e->core, symbol))
        return;
    strbuf_puts(&key, "window");
    if (name)
        strbuf_printf(&key, ":%s", name);
    if (alert_is_open(e, strbuf_text(&key)) || !core_budgets(e->core, symbol, &v))
        return;
    put_amounts(&used, &v);
    strbuf_puts(&used, " in ");
    number_print_span(&used, v.span);
    alert_raise(e, strbuf_text(&key), 0, 0,
                "%s%s%s used %s: nothing more starts%s until the window frees; raise it "
                "with 'sluice config set %s%s%s=…'",
                name ? "project '" : "all projects together have", name ? name : "",
                name ? "' has" : "", strbuf_text(&used), name ? " there" : "",
                name ? "projects." : "", name ? name : "",
                budget_is_reached(&v.money) ? (name ? ".budget_usd" : "budget_usd")
                                            : (name ? ".budget" : "budget"));
}

void alert_budget_see_windows(struct engine *e) {
    see_window(e, 0, NULL);
    for (size_t i = 0; i < project_count(e); i++)
        see_window(e, project_at(e, i)->view.symbol, project_at(e, i)->view.name);
}

bool alert_window_is_over(const struct engine *e, const struct alert *alert) {
    const char *name = strchr(alert->view.key, ':');
    sym symbol = name ? symbol_find(core_symbols(e->core), name + 1, strlen(name + 1)) : 0;
    return (name && !symbol) || !core_budget_is_reached(e->core, symbol);
}
