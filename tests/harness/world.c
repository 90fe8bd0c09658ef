/* world.c: applies facts to the core. expect.c compares the results. See world.h. */
#include "harness/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static void must(struct world *w, int r, const char *what) {
    if (r == 0)
        return;
    print_error("%s was %s: %s\n", what, r > 0 ? "ignored" : "refused", w->err.text);
    fail();
}

int world_apply(struct world *w, const struct fact *fact) {
    w->err = (struct error){ 0 };
    return core_apply(w->core, fact, &w->err);
}

static void apply_fact(struct world *w, struct fact fact) {
    must(w, world_apply(w, &fact), fact_kind_name(fact.kind));
}

struct world *world_new(const char *preset) {
    struct world *w = xcalloc(1, sizeof(*w));
    w->core = core_new();
    w->config = config_new();
    symbol_table_init(&w->tasks);
    must(w, config_set(w->config, "preset", preset, "test", &w->err), preset);
    must(w, config_apply(w->config, w->core, &w->err), preset);
    world_pass(w, WORLD_BEGIN);
    return w;
}

void world_free(struct world *w) {
    if (!w)
        return;
    core_free(w->core);
    config_free(w->config);
    symbol_table_finish(&w->tasks);
    free(w->orders);
    free(w->starts);
    free(w);
}

/* --- names ----------------------------------------------------------------------------------- */

sym world_sym(struct world *w, const char *name) {
    return name ? symbol_intern(core_symbols(w->core), name, strlen(name)) : 0;
}

task_id world_number(struct world *w, const char *task) {
    return task ? symbol_intern(&w->tasks, task, strlen(task)) : 0;
}

const char *world_name(const struct world *w, task_id task) {
    return symbol_name(&w->tasks, (sym)task);
}

const char *world_text(struct world *w, const char *format, ...) {
    char text[128];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return arena_strdup(&w->tasks.arena, text);
}

/* --- the world ------------------------------------------------------------------------------- */

static bool knows(struct world *w, enum lease_kind kind, sym name) {
    amount used, cap;
    return core_lease(w->core, kind, name, &used, &cap);
}

static void apply_project(struct world *w, const char *name) {
    struct fact fact = { .kind = FACT_PROJECT };
    config_project_spec(w->config, w->core, name, &fact.project);
    apply_fact(w, fact);
}

static void apply_kind(struct world *w, const char *name) {
    struct fact fact = { .kind = FACT_KIND };
    config_kind_spec(w->config, w->core, name, &fact.kind_spec);
    apply_fact(w, fact);
}

static void apply_limiter(struct world *w, const char *name) {
    struct fact fact = { .kind = FACT_LIMITER };
    config_limiter_spec(w->config, w->core, name, &fact.limiter);
    apply_fact(w, fact);
}

static void apply_agent(struct world *w, const char *name) {
    struct fact fact = { .kind = FACT_AGENT };
    config_agent_spec(w->config, w->core, name, &fact.agent);
    sym account = fact.agent.limiter; /* some limiters exist without being configured */
    if (account && !knows(w, LEASE_LIMITER, account))
        apply_limiter(w, symbol_name(core_symbols(w->core), account));
    apply_fact(w, fact);
}

void world_set(struct world *w, const char *key, const char *value) {
    must(w, config_set(w->config, key, value, "test", &w->err), key);
    must(w, config_apply(w->config, w->core, &w->err), key);
    /* names without an entry in the configuration use the defaults, which may have changed */
    const struct symbol_table *symbols = core_symbols(w->core);
    for (sym s = 1; s <= symbols->count; s++) {
        const char *name = symbol_name(symbols, s);
        if (knows(w, LEASE_PROJECT, s))
            apply_project(w, name);
        if (knows(w, LEASE_KIND, s))
            apply_kind(w, name);
        if (knows(w, LEASE_LIMITER, s))
            apply_limiter(w, name);
    }
}

void world_pass(struct world *w, time_ms span) {
    w->now += span;
    apply_fact(w, (struct fact){ .kind = FACT_CLOCK, .now = w->now });
}

void world_sleep(struct world *w) {
    time_ms at = core_next_wakeup(w->core);
    if (at == TIME_NEVER)
        fail_msg("the core wants to sleep for ever");
    if (at > w->now)
        world_pass(w, at - w->now);
    (void)world_decide(w);
}

size_t world_decide(struct world *w) {
    const struct order *orders = core_decide(w->core, &w->order_count);
    w->orders = xgrow(w->orders, &w->order_capacity, w->order_count + 1, sizeof(*w->orders));
    if (w->order_count > 0)
        memcpy(w->orders, orders, w->order_count * sizeof(*w->orders));
    w->started = 0;
    for (size_t i = 0; i < w->order_count; i++) {
        if (w->orders[i].kind != ORDER_START)
            continue;
        w->starts = xgrow(w->starts, &w->start_capacity, w->start_count + 1, sizeof(*w->starts));
        w->starts[w->start_count++] = w->orders[i].task;
        w->started++;
    }
    return w->started;
}

void world_pause(struct world *w) {
    apply_fact(w, (struct fact){ .kind = FACT_PAUSE });
}

void world_resume(struct world *w) {
    apply_fact(w, (struct fact){ .kind = FACT_RESUME });
}

void world_tick(struct world *w) {
    apply_fact(w, (struct fact){ .kind = FACT_TICK });
}

void world_external(struct world *w, const char *project, unsigned running) {
    if (!knows(w, LEASE_PROJECT, world_sym(w, project)))
        apply_project(w, project);
    struct fact fact = { .kind = FACT_EXTERNAL };
    fact.external.project = world_sym(w, project);
    fact.external.running = running;
    apply_fact(w, fact);
}

void world_workspace(struct world *w, const char *workspace, const char *locked_by) {
    struct fact fact = { .kind = FACT_WORKSPACE };
    fact.workspace.id = world_sym(w, workspace);
    fact.workspace.locked_by = world_number(w, locked_by);
    apply_fact(w, fact);
}

void world_disk(struct world *w, int64_t free_mb) {
    struct fact fact = { .kind = FACT_HOST };
    fact.host.disk_free_mb = free_mb;
    fact.host.memory_free_mb = fact.host.load_milli = -1;
    apply_fact(w, fact);
}

void world_worker(struct world *w, const char *agent, bool idle) {
    struct fact fact = { .kind = FACT_AGENT };
    config_agent_spec(w->config, w->core, agent, &fact.agent);
    fact.agent.roster = true;
    fact.agent.idle = idle;
    apply_fact(w, fact);
}

void world_usage(struct world *w, const char *project, int64_t tokens, unsigned completions,
                 time_ms ago) {
    if (!knows(w, LEASE_PROJECT, world_sym(w, project)))
        apply_project(w, project);
    struct fact fact = { .kind = FACT_USAGE };
    fact.usage.project = world_sym(w, project);
    fact.usage.tokens = tokens;
    fact.usage.starts = fact.usage.completions = completions;
    fact.usage.at = w->now - ago;
    apply_fact(w, fact);
}

/* --- tasks ----------------------------------------------------------------------------------- */

/* Makes the names of a task known to the core. */
static void introduce(struct world *w, const struct given *g, const char *project) {
    if (!knows(w, LEASE_PROJECT, world_sym(w, project)))
        apply_project(w, project);
    if (g->kind && !knows(w, LEASE_KIND, world_sym(w, g->kind)))
        apply_kind(w, g->kind);
    if (g->limiter && !knows(w, LEASE_LIMITER, world_sym(w, g->limiter)))
        apply_limiter(w, g->limiter);
    if (g->agent && !knows(w, LEASE_AGENT, world_sym(w, g->agent)))
        apply_agent(w, g->agent);
}

static bool chosen(enum choice choice, bool configured) {
    return choice == AS_CONFIGURED ? configured : choice == YES;
}

static const char *until_text(int value) {
    return until_name((enum until)value);
}

static const char *gate_text(int value) {
    return parent_gate_name((enum parent_gate)value);
}

static int value_of(const char *text, int max, const char *(*name)(int value)) {
    for (int value = 0; value < max; value++)
        if (strcmp(name(value), text) == 0)
            return value;
    fail_msg("'%s' is no such word", text);
    return 0;
}

static struct task_spec spec_of(struct world *w, const char *task, const struct given *g) {
    const struct policy *policy = config_policy(w->config);
    const char *kind = g->kind ? g->kind : "";
    enum until until = config_until(w->config, kind);
    enum parent_gate gate = policy->parent_gate;
    if (g->until)
        until = (enum until)value_of(g->until, UNTIL_MAX, until_text);
    if (g->parent_gate)
        gate = (enum parent_gate)value_of(g->parent_gate, PARENT_GATE_MAX, gate_text);
    return (struct task_spec){
        .id = world_number(w, task),
        .project = world_sym(w, g->project ? g->project : "main"),
        .kind = world_sym(w, g->kind),
        .agent = world_sym(w, g->agent),
        .limiter = world_sym(w, g->limiter),
        .workspace = world_sym(w, g->workspace),
        .serial = world_sym(w, g->phase),
        .priority = g->priority ? g->priority : 100,
        .parent = world_number(w, g->parent),
        .parent_iteration = g->parent_iteration,
        .created_at = w->now - g->created_ago,
        .ready_since = w->now - (g->ready_ago ? g->ready_ago : g->created_ago),
        .not_before = g->held_for ? w->now + g->held_for : 0,
        .iteration = g->iteration ? g->iteration : 1,
        .attempt = g->attempt,
        .state = g->state == TASK_ABSENT ? TASK_WAITING : g->state,
        .hold = g->hold,
        .phase = g->run_phase,
        .until = until,
        .parent_gate = gate,
        .parallelizable = chosen(g->parallel, !policy->serial),
        .review = g->review,
        .artifact_missing = g->artifact_missing,
        .keeps = g->keeps ? KEEP_ALL : 0,
        .retry_max = g->retries == 0  ? -1
                     : g->retries < 0 ? 0
                                      : g->retries,
        .failures = g->failures,
        .launch_failures = g->launch_failures,
        .restarts = g->restarts,
        .group = g->group,
    };
}

int world_try_add(struct world *w, const char *task, struct given given,
                  void (*spoil)(struct task_spec *spec)) {
    task_id on[WORLD_LIST];
    sym resources[WORLD_LIST];
    introduce(w, &given, given.project ? given.project : "main");
    struct task_spec spec = spec_of(w, task, &given);
    for (; spec.depends_on_count < WORLD_LIST && given.after[spec.depends_on_count];
         spec.depends_on_count++)
        on[spec.depends_on_count] = world_number(w, given.after[spec.depends_on_count]);
    for (; spec.resource_count < WORLD_LIST && given.needs[spec.resource_count];
         spec.resource_count++)
        resources[spec.resource_count] = world_sym(w, given.needs[spec.resource_count]);
    spec.depends_on = on;
    spec.resources = resources;
    if (spoil)
        spoil(&spec);
    return world_apply(w, &(struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
}

void world_add(struct world *w, const char *task, struct given given) {
    must(w, world_try_add(w, task, given, NULL), task);
}

int world_try(struct world *w, enum fact_kind kind, const char *task) {
    struct task_view view = { 0 };
    (void)core_task(w->core, world_number(w, task), &view);
    return world_apply(
        w, &(struct fact){ .kind = kind, .task = world_number(w, task), .attempt = view.attempt });
}

void world_apply_kind(struct world *w, enum fact_kind kind, const char *task) {
    must(w, world_try(w, kind, task), fact_kind_name(kind));
}

void world_hold(struct world *w, const char *task, time_ms span) {
    apply_fact(w, (struct fact){ .kind = FACT_HOLD,
                                 .task = world_number(w, task),
                                 .until = span ? w->now + span : 0 });
}

int world_try_depend(struct world *w, const char *task, const char *on) {
    task_id number = world_number(w, on);
    struct fact fact = { .kind = FACT_DEPENDENCIES, .task = world_number(w, task) };
    fact.dependencies.items = &number;
    fact.dependencies.count = on ? 1 : 0;
    return world_apply(w, &fact);
}

void world_depend(struct world *w, const char *task, const char *on) {
    must(w, world_try_depend(w, task, on), "dependencies");
}

void world_artifact(struct world *w, const char *task, bool present) {
    apply_fact(w, (struct fact){ .kind = FACT_ARTIFACT,
                                 .task = world_number(w, task),
                                 .artifact_present = present });
}

/* --- runs ------------------------------------------------------------------------------------ */

void world_end_as(struct world *w, const char *task, struct ending ending) {
    struct task_view view = world_view(w, task);
    if (view.state == TASK_STARTING && ending.outcome != OUTCOME_LAUNCH)
        world_apply_kind(w, FACT_RUN_STARTED, task);
    struct fact fact = { .kind = FACT_RUN_ENDED, .task = view.id, .attempt = view.attempt };
    fact.ended.outcome = ending.outcome;
    fact.ended.tokens = ending.tokens;
    fact.ended.money = -1;
    fact.ended.retry_after = ending.retry_after;
    fact.ended.reset_at = ending.reset_at;
    fact.ended.output = ending.output;
    apply_fact(w, fact);
}

void world_end(struct world *w, const char *task, enum outcome outcome, int64_t tokens) {
    world_end_as(w, task, (struct ending){ .outcome = outcome, .tokens = tokens });
}

size_t world_ends(struct world *w, const char *task, enum outcome outcome) {
    world_end(w, task, outcome, -1);
    return world_decide(w);
}

void world_tokens(struct world *w, const char *task, int64_t so_far) {
    struct task_view view = world_view(w, task);
    apply_fact(w, (struct fact){ .kind = FACT_RUN_TOKENS,
                                 .task = view.id,
                                 .attempt = view.attempt,
                                 .tokens = so_far,
                                 .money = -1 });
}

void world_validating(struct world *w, const char *task) {
    struct task_view view = world_view(w, task);
    apply_fact(w, (struct fact){ .kind = FACT_RUN_PHASE,
                                 .task = view.id,
                                 .attempt = view.attempt,
                                 .phase = PHASE_VALIDATING });
}
