/* budgets.c: see budgets.h. What nobody knows is null, not 0; sums say how many runs they do not know of. */
#include "ops/budgets.h"

#include "base/money.h"
#include "core/budgets.h"

void print_usd(struct json_writer *w, const char *key, int64_t micro) {
    json_write_key(w, key);
    if (micro < 0 || micro == UNLIMITED)
        json_write_null(w);
    else
        json_write_double(w, (double)micro / (double)MONEY_DOLLAR, 6);
}

/* --- the window ------------------------------------------------------------------------------ */

void print_window(struct json_writer *w, const struct engine *engine,
                  const struct engine_project *project) {
    struct budgets_view v = { 0 };
    (void)core_budgets(engine_core(engine), project ? project->symbol : 0, &v);
    json_write_object_begin(w);
    print_object(w, "tokens");
    print_int(w, "used", v.tokens.used);
    print_int(w, "reserved", v.tokens.reserved);
    print_amount(w, "budget", v.tokens.budget);
    json_write_object_end(w);
    print_object(w, "usd");
    print_usd(w, "used", v.money.used);
    print_usd(w, "reserved", v.money.reserved);
    print_usd(w, "budget", v.money.budget);
    json_write_object_end(w);
    print_int(w, "known_cost_runs", v.priced);
    print_int(w, "unknown_cost_runs", v.unpriced);
    json_write_key(w, "window_h");
    json_write_double(w, (double)v.span / (double)HOURS(1), 3);
    print_bool(w, "open", v.open);
    print_time(w, "opens_at", v.open || v.opens_at == TIME_NEVER ? 0 : v.opens_at);
    json_write_object_end(w);
}

/* --- one task -------------------------------------------------------------------------------- */

struct part {
    const char *key;
    struct engine_amounts used, limit;
};

static void print_part(struct json_writer *w, const struct part *part) {
    print_object(w, part->key);
    print_object(w, "tokens");
    print_count(w, "used", part->used.tokens);
    print_amount(w, "budget", part->limit.tokens);
    json_write_object_end(w);
    print_object(w, "usd");
    print_usd(w, "used", part->used.usd);
    print_usd(w, "budget", part->limit.usd);
    json_write_object_end(w);
    json_write_object_end(w);
}

static int64_t known(int64_t told) {
    return told > 0 ? told : 0;
}

void print_task_budget(struct json_writer *w, const struct engine *engine, task_id task) {
    struct engine_budget b;
    struct task_view view = { 0 };
    engine_budget(engine, task, &b);
    (void)core_task(engine_core(engine), task, &view);
    bool lives = task_state_is_live(view.state);
    struct part run = { "run", lives ? b.live : b.last, b.run_limit };
    struct part whole = { "task",
                          { b.used.tokens + known(b.live.tokens), b.used.usd + known(b.live.usd) },
                          b.limit };
    print_object(w, "budget");
    print_part(w, &run);
    print_part(w, &whole);
    print_object(w, "handed");
    print_int(w, "tokens", b.handed.tokens);
    print_usd(w, "usd", b.handed.usd);
    json_write_object_end(w);
    print_int(w, "unknown_cost_runs", b.unknown);
    print_text(w, "on_budget", b.stops ? "stop" : "hold");
    json_write_key(w, "project");
    for (size_t i = 0; i < engine_project_count(engine); i++)
        if (engine_project_at(engine, i)->symbol == view.project)
            print_window(w, engine, engine_project_at(engine, i));
    json_write_key(w, "all");
    print_window(w, engine, NULL);
    json_write_object_end(w);
}
