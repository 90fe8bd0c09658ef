/* metrics.c: see metrics.h. A series for each name of the configuration, and never for a task: where a name
 * may be one of many (a workspace, a phase, a task), only its kind is a label. */
#include "ops/metrics.h"

#include <string.h>

#include "base/metric.h"
#include "core/budgets.h"
#include "core/waiting.h"
#include "engine/tally.h"
#include "ops/world.h"

#define DIFFERENT_MAX 10000u /* classes and the like that are counted */
#define PROJECTS_MAX  100u

/* --- limits ---------------------------------------------------------------------------------- */

struct limit_print {
    struct strbuf *out;
    bool caps;
};

static void print_limit(void *ctx, const char *key, amount used, amount cap) {
    const struct limit_print *p = ctx;
    if (!p->caps)
        metric_labeled(p->out, "limit_used", "limit", key, used);
    else if (cap != UNLIMITED)
        metric_labeled(p->out, "limit_cap", "limit", key, cap);
}

void metrics_print_limits(const struct engine *engine, struct strbuf *out) {
    metric_head(out, "limit_used", "gauge", "Places taken of each limit.");
    world_each_limit(engine, print_limit, &(struct limit_print){ out, false });
    metric_head(out, "limit_cap", "gauge",
                "Places that each limit has; those without end have none.");
    world_each_limit(engine, print_limit, &(struct limit_print){ out, true });
}

/* --- budgets --------------------------------------------------------------------------------- */

enum budget_part { BUDGET_USED, BUDGET_RESERVED, BUDGET_CAP };

/* Of one that has no budget there is nothing to compare with; what all use together is always told. */
static void print_budget(const struct engine *engine, struct strbuf *out, const char *name,
                         enum budget_part part, const struct engine_project *project) {
    struct budgets_view view = { 0 };
    (void)core_budgets(engine_core(engine), project ? project->symbol : 0, &view);
    bool money = strstr(name, "_usd") != NULL;
    const struct budget_view *b = money ? &view.money : &view.tokens;
    if (b->budget == UNLIMITED && (project || part == BUDGET_CAP))
        return;
    struct metric_label labels[] = { { "scope", project ? "project" : "global" },
                                     { "project", project ? project->name : "" } };
    int64_t number = part == BUDGET_USED       ? b->used
                     : part == BUDGET_RESERVED ? b->reserved
                                               : b->budget;
    if (money)
        metric_series_micro(out, name, labels, ARRAY_SIZE(labels), number);
    else
        metric_series(out, name, labels, ARRAY_SIZE(labels), number);
}

void metrics_print_budgets(const struct engine *engine, struct strbuf *out) {
    static const struct {
        const char *name, *help;
        enum budget_part part;
    } rows[] = {
        { "budget_used_tokens", "Tokens used in the window of each budget.", BUDGET_USED },
        { "budget_reserved_tokens", "Tokens that live runs are charged.", BUDGET_RESERVED },
        { "budget_cap_tokens", "Tokens that may be used in the window.", BUDGET_CAP },
        { "budget_used_usd", "Dollars spent in the window of each budget.", BUDGET_USED },
        { "budget_reserved_usd", "Dollars that live runs are charged.", BUDGET_RESERVED },
        { "budget_cap_usd", "Dollars that may be spent in the window.", BUDGET_CAP },
    };
    for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
        metric_head(out, rows[row].name, "gauge", rows[row].help);
        print_budget(engine, out, rows[row].name, rows[row].part, NULL);
        for (size_t i = 0; i < engine_project_count(engine) && i < PROJECTS_MAX; i++)
            print_budget(engine, out, rows[row].name, rows[row].part, engine_project_at(engine, i));
    }
}

/* --- gates ----------------------------------------------------------------------------------- */

struct gates {
    int64_t plain[GATE_MAX];
    int64_t leases[LEASE_KIND_MAX];
};

static void count_gate(void *ctx, const struct verdict *first, int64_t more) {
    struct gates *g = ctx;
    if (first->gate == GATE_LEASE)
        g->leases[first->lease] += more;
    else
        g->plain[first->gate] += more;
}

void metrics_print_gates(const struct engine *engine, struct strbuf *out) {
    struct gates g = { 0 };
    (void)core_waiting_by_gate(engine_core(engine), DIFFERENT_MAX, count_gate, &g);
    metric_head(out, "waiting_tasks", "gauge",
                "Tasks that wait, by the first gate that stops them.");
    for (int gate = 0; gate < GATE_MAX; gate++)
        if (gate != GATE_LEASE)
            metric_labeled(out, "waiting_tasks", "gate", gate_name((enum gate)gate), g.plain[gate]);
    _cleanup_(strbuf_finish) struct strbuf label = STRBUF_INIT;
    for (int lease = 0; lease < LEASE_KIND_MAX; lease++) {
        strbuf_clear(&label);
        strbuf_printf(&label, "lease:%s", lease_kind_name((enum lease_kind)lease));
        metric_labeled(out, "waiting_tasks", "gate", strbuf_text(&label), g.leases[lease]);
    }
}

/* --- what runs have used --------------------------------------------------------------------- */

static void print_tokens(const struct engine *engine, struct strbuf *out) {
    metric_head(out, "tokens_total", "counter",
                "Tokens of ended runs; input includes what came from a cache.");
    for (size_t i = 0; i < engine_tally_count(engine); i++) {
        const struct engine_tally *t = engine_tally_at(engine, i);
        const int64_t numbers[] = { t->tokens_in, t->tokens_out, t->tokens_cached };
        static const char *const types[] = { "input", "output", "cached" };
        for (size_t k = 0; k < ARRAY_SIZE(types); k++) {
            struct metric_label labels[] = { { "project", t->project },
                                             { "agent", t->agent },
                                             { "type", types[k] } };
            metric_series(out, "tokens_total", labels, ARRAY_SIZE(labels), numbers[k]);
        }
    }
}

/* One counter of each project and agent. */
static void print_sums(const struct engine *engine, struct strbuf *out, const char *name,
                       const char *help, int64_t (*number)(const struct engine_tally *t)) {
    metric_head(out, name, "counter", help);
    for (size_t i = 0; i < engine_tally_count(engine); i++) {
        const struct engine_tally *t = engine_tally_at(engine, i);
        struct metric_label labels[] = { { "project", t->project }, { "agent", t->agent } };
        metric_series(out, name, labels, ARRAY_SIZE(labels), number(t));
    }
}

static int64_t runs_of(const struct engine_tally *t) {
    return (int64_t)t->runs;
}

static int64_t unknown_cost_of(const struct engine_tally *t) {
    return (int64_t)t->unknown_cost;
}

static int64_t unknown_tokens_of(const struct engine_tally *t) {
    return (int64_t)t->unknown_tokens;
}

static void print_money(const struct engine *engine, struct strbuf *out) {
    metric_head(out, "cost_usd_total", "counter", "Money that ended runs have reported.");
    for (size_t i = 0; i < engine_tally_count(engine); i++) {
        const struct engine_tally *t = engine_tally_at(engine, i);
        struct metric_label labels[] = { { "project", t->project }, { "agent", t->agent } };
        metric_series_micro(out, "cost_usd_total", labels, ARRAY_SIZE(labels), t->cost_micro_usd);
    }
}

void metrics_print_spent(const struct engine *engine, struct strbuf *out) {
    print_sums(engine, out, "ended_runs_total", "Runs that have ended.", runs_of);
    metric_head(out, "run_outcomes_total", "counter", "Runs that have ended, by how.");
    for (int o = 0; o < OUTCOME_MAX; o++)
        metric_labeled(out, "run_outcomes_total", "outcome", outcome_name((enum outcome)o),
                       (int64_t)engine_ended_as(engine, (enum outcome)o));
    print_tokens(engine, out);
    print_money(engine, out);
    print_sums(engine, out, "unknown_cost_runs_total", "Ended runs that reported no money.",
               unknown_cost_of);
    print_sums(engine, out, "unknown_tokens_runs_total", "Ended runs that reported no tokens.",
               unknown_tokens_of);
}
