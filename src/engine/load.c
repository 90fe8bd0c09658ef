/* load.c: builds a core from the rows, after every start and after a failed commit. Both must give
 * the same state, so there is one way to build it. Names that the configuration no longer has (an
 * agent that was removed while its tasks wait) get the defaults: a task on disk is never
 * refused. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "engine/budget/budget_internal.h"
#include "engine/runs/runs_internal.h"

static int apply(struct engine *e, const struct fact *fact, struct error *err) {
    int r = core_apply(e->core, fact, err);
    return r < 0 ? r : 0;
}

static int load_project(void *ctx, const struct project_row *row, struct error *err) {
    int r = 0;
    PARTS_TRY(r, load_project, ctx, row, err);
    return r;
}

#define LOAD_BY_PART(row_name)                                                                     \
    static int load_##row_name(void *ctx, const struct row_name##_row *row, struct error *err) {   \
        (void)err;                                                                                 \
        PARTS_CALL(load_##row_name, ctx, row);                                                     \
        return 0;                                                                                  \
    }
LOAD_BY_PART(group)
LOAD_BY_PART(external)

static int load_limiter(void *ctx, const struct limiter_row *row, struct error *err) {
    struct engine *e = ctx;
    struct fact fact = { .kind = FACT_LIMITER };
    config_limiter_spec(e->config, e->core, row->name, &fact.limiter);
#define TAKE_SPEC(member) fact.limiter.member = row->spec.member;
#define TAKE_ROW(member)
#define TAKE(r, since, name, type, place, member, usual, flags) TAKE_##place(member)
    LIMITER_COLUMNS(TAKE, _)
    return apply(e, &fact, err);
}

static int load_agent(void *ctx, const struct agent_row *row, struct error *err) {
    struct engine *e = ctx;
    struct fact fact = { .kind = FACT_AGENT };
    int r = engine_know_agent(e, row->name, err);
    if (r < 0)
        return r;
    config_agent_spec(e->config, e->core, row->name, &fact.agent);
    fact.agent.launch_failures = row->spec.launch_failures;
    fact.agent.openings = row->spec.openings;
    fact.agent.closed_until = row->spec.closed_until;
    return apply(e, &fact, err);
}

static int load_usage(void *ctx, const struct usage_row *row, struct error *err) {
    struct engine *e = ctx;
    struct fact fact = { .kind = FACT_USAGE };
    fact.usage.project = symbol_of(e, row->project);
    fact.usage.at = row->bucket;
    SUMS_COPY(USAGE_COLUMNS, &fact.usage, row)
    return apply(e, &fact, err);
}

static int load_wait(void *ctx, const struct wait_row *row, struct error *err) {
    struct engine *e = ctx;
    struct fact fact = { .kind = FACT_WAIT };
    fact.wait.project = symbol_of(e, row->project);
    fact.wait.limiter = symbol_of(e, row->limiter);
    fact.wait.agent = symbol_of(e, row->agent);
    fact.wait.lost = row->lost;
    fact.wait.closed_since = row->closed_since;
    return apply(e, &fact, err);
}

/* An unreadable note was not written by us: the first decision begins a tick. */
static int load_pace(struct engine *e, const struct note_row *row, struct error *err) {
    json_t *note = json_loads(row->text, 0, NULL);
    struct fact fact = { .kind = FACT_PACE };
    fact.pace = (struct pace_spec){
        .ticking = json_is_true(json_object_get(note, "ticking")),
        .started = json_is_true(json_object_get(note, "started")),
        .tick_began = json_integer_value(json_object_get(note, "tick_began")),
        .last_start = json_integer_value(json_object_get(note, "last_start")),
        .tick_starts = json_integer_value(json_object_get(note, "tick_starts")),
    };
    json_decref(note);
    return apply(e, &fact, err);
}

static int load_note(void *ctx, const struct note_row *row, struct error *err) {
    if (strcmp(row->name, PACE_NOTE) == 0)
        return load_pace(ctx, row, err);
    PARTS_CALL(load_note, ctx, row);
    return 0;
}

/* --- tasks ----------------------------------------------------------------------------------- */

/* A name that the configuration had when the task was added, and no longer has. */
static int know_names(struct engine *e, const struct task_row *row, struct error *err) {
    int r = 0;
    if (row->kind && !config_has_kind(e->config, row->kind))
        r = config_apply_name(e->config, e->core, FACT_KIND, row->kind, err);
    if (r == 0 && row->limiter && !config_has_limiter(e->config, row->limiter)
        && !core_limiter(e->core, symbol_of(e, row->limiter), &(struct limiter_view){ 0 }))
        r = config_apply_name(e->config, e->core, FACT_LIMITER, row->limiter, err);
    if (r == 0 && row->agent)
        r = engine_know_agent(e, row->agent, err);
    if (r == 0 && row->agent && !config_has_agent(e->config, row->agent)
        && !core_agent_spec(e->core, symbol_of(e, row->agent), &(struct agent_spec){ 0 }))
        r = config_apply_name(e->config, e->core, FACT_AGENT, row->agent, err);
    return r;
}

static size_t split_resources(struct engine *e, const char *text, sym ret[RESOURCES_MAX]) {
    size_t count = 0;
    while (text && *text && count < RESOURCES_MAX) {
        size_t length = strcspn(text, ",");
        if (length > 0)
            ret[count++] = symbol_intern(core_symbols(e->core), text, length);
        text += length + (text[length] == ',');
    }
    return count;
}

static int load_task(void *ctx, const struct task_row *row, struct error *err) {
    struct engine *e = ctx;
    sym resources[RESOURCES_MAX];
    struct task_spec spec = row->spec;
    int r = know_names(e, row, err);
    if (r < 0)
        return r;
    spec.id = row->id;
#define TAKE_SYMBOL(member) spec.member = symbol_of(e, row->member);
    TASK_SYMBOLS(TAKE_SYMBOL)
#undef TAKE_SYMBOL
    spec.reason = row->reason;
    spec.tag = rows_digest(&spec); /* as it is on disk */
    spec.resources = resources;
    spec.resource_count = split_resources(e, row->resources, resources);
    spec.depends_on = row->depends_on;
    spec.depends_on_count = row->depends_on_count;
    PARTS_CALL(load_task, e, &spec);
    struct fact fact = { .kind = FACT_TASK_ADDED, .spec = &spec };
    r = apply(e, &fact, err);
    e->report.tasks++;
    e->report.unfinished += !task_state_is_final(spec.state);
    return r < 0 ? error_prefix(err, "stored task %" PRIu64, row->id) : 0;
}

static int load_run(void *ctx, const struct run_row *row, struct error *err) {
    (void)err;
    struct engine *e = ctx;
    struct live_run *run = run_add(e, row->task, row->attempt);
    run->view.folder = xstrdup(row->folder);
    run->view.ordered_at = row->ordered_at;
    run->view.started_at = row->started_at;
    run->view.tokens_in = row->tokens_in;
    run->view.tokens_out = row->tokens_out;
    run->cost_micro_usd = row->cost_micro_usd;
    run->iteration = row->iteration;
    run->phase = row->phase;
    run->limited_until = row->limited_until;
    run->stop_now = row->stop_now;
    run_token_read(&run->token, row->token_hash);
    run_proof_read(&run->proof, row);
    run->session = row->session ? xstrdup(row->session) : NULL;
    run->resumes = row->resumed;
    run->tokens_cached = row->tokens_cached;
    run->agent = row->agent ? xstrdup(row->agent) : NULL;
    run->boot_id = xstrdup(row->boot_id ? row->boot_id : "");
    run->executor = executor_kind_of(row->executor);
    PARTS_CALL(load_run, e, run, row);
    struct fact fact = { .kind = FACT_RUN_TOKENS, .task = row->task, .attempt = row->attempt };
    fact.money = row->cost_micro_usd;
    fact.tokens = run_tokens(run);
    if (fact.tokens >= 0 || fact.money >= 0)
        (void)core_apply(e->core, &fact, NULL);
    return 0;
}

/* --- all ------------------------------------------------------------------------------------- */

static int load_begin(struct engine *e, struct error *err) {
    core_free(e->core);
    e->core = core_new();
    parts_step(e, STEP_UNLOAD);
    e->report.tasks = e->report.unfinished = 0;
    struct fact loading = { .kind = FACT_LOADING };
    struct fact clock = { .kind = FACT_CLOCK, .now = e->now };
    int r = apply(e, &loading, err);
    if (r == 0)
        r = apply(e, &clock, err);
    return r == 0 ? config_apply(e->config, e->core, err) : r;
}

static int load_finish(struct engine *e, const struct store_totals *totals, struct error *err) {
    e->last_task = totals->last_task;
    e->first_event = totals->first_event;
    e->last_event = e->committed_event = totals->last_event;
    struct fact loaded = { .kind = FACT_LOADED };
    int r = 0;
    PARTS_TRY(r, load_totals, e, totals, err);
    if (r == 0)
        r = apply(e, &loaded, err);
    core_watch(e->core);
    if (r == 0)
        r = parts_try(e, TRY_CHECK_CONFIG, err);
    if (r == 0)
        r = parts_try(e, TRY_TAKE_CONFIG, err);
    if (r < 0)
        return r;
    parts_step(e, STEP_LOADED);
    return 0;
}

int load_core(struct engine *e, struct error *err) {
    struct store_totals totals = { 0 };
    struct store_reader reader = {
        .project = load_project,
        .limiter = load_limiter,
        .agent = load_agent,
        .group = load_group,
        .usage = load_usage,
        .wait = load_wait,
        .note = load_note,
        .task = load_task,
        .external = load_external,
        .run = load_run,
        .ctx = e,
    };
    int r = load_begin(e, err);
    if (r == 0)
        r = store_load(e->store, &reader, &totals, err);
    return r == 0 ? load_finish(e, &totals, err) : r;
}
