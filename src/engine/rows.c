/* rows.c: writes what changed in the core in this turn as rows. The core reports the changes;
 * nothing here guesses which fact touches which task. */
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/json_write.h"
#include "engine/budget/budget_internal.h"
#include "engine/note.h"
#include "engine/slurm/slurm_internal.h"

/* --- the pace --------------------------------------------------------------------------------- */

/* Keeps the progress of the tick and the spawn delay across restarts. Otherwise each restart would
 * grant a new tick: a daemon that crashes every minute would start three times as much as one tick
 * of three minutes allows. Written on change, while a pace is set. */

/* For core_take_changes; `ctx` is the engine. */
static void write_pace(void *ctx, const struct pace_spec *pace) {
    struct engine *e = ctx;
    char text[160];
    snprintf(text, sizeof(text),
             "{\"ticking\":%s,\"tick_began\":%" PRId64 ",\"tick_starts\":%" PRId64
             ",\"started\":%s,\"last_start\":%" PRId64 "}",
             pace->ticking ? "true" : "false", pace->tick_began, pace->tick_starts,
             pace->started ? "true" : "false", pace->last_start);
    note_put(e, PACE_NOTE, "", text);
}

/* --- tasks and runs --------------------------------------------------------------------------- */

/* One multiplication per member: the start of a daemon computes it for every task. */
uint32_t rows_digest(const struct task_spec *spec) {
    uint64_t digest = 0;
#define DIGEST_SPEC(member)                                                                        \
    digest = ((digest ^ digest >> 29) + (uint64_t)spec->member) * 0x9e3779b97f4a7c15u;
#define DIGEST_BOTH(member) DIGEST_SPEC(member)
#define DIGEST_SAME(member)
#define DIGEST_ROW(member)
#define DIGEST(r, since, name, type, place, member, usual, flags)                                  \
    if ((flags)&COLUMN_SEEN) {                                                                     \
        DIGEST_##place(member)                                                                     \
    }
    TASK_COLUMNS(DIGEST, _)
    PROGRESS_COLUMNS(DIGEST, _)
    return (uint32_t)hash_u64(digest);
}

/* Writes the row of an existing task. Users see a change if the hash differs from the last one
 * written, or if dependencies changed. Dependencies of a final task that are deleted are not a
 * change: its age stays. */
static void change_task(struct engine *e, const struct task_row *row, bool rewired) {
    uint32_t digest = rows_digest(&row->spec);
    bool seen = digest != row->spec.tag || (rewired && !task_state_is_final(row->spec.state));
    core_set_tag(e->core, row->id, digest);
    store_change_task(e->turn.batch, row,
                      (rewired ? STORE_CHANGE_NEEDS : 0) | (seen ? STORE_CHANGE_SEEN : 0));
}

/* Everything but the two lists. */
static bool fill_task(struct engine *e, task_id task, struct task_row *ret) {
    *ret = (struct task_row){ .id = task, .changed_at = e->now };
    if (!core_task_spec(e->core, task, &ret->spec))
        return false;
#define TAKE_NAME(member) ret->member = name_of(e, ret->spec.member);
    TASK_SYMBOLS(TAKE_NAME)
#undef TAKE_NAME
    ret->reason = ret->spec.reason;
    /* Stored as ready_since; max_wait uses ready_clock. */
    ret->spec.ready_since = ret->spec.enqueued_at;
    ret->spec.enqueued_at = 0;
    return true;
}

static const char *join_resources(struct engine *e, task_id task) {
    sym resources[RESOURCES_MAX];
    size_t count = core_task_resources(e->core, task, resources, RESOURCES_MAX);
    if (count == 0)
        return NULL;
    struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&text, "%s%s", i ? "," : "", name_of(e, resources[i]));
    char *joined = arena_strdup(&e->turn.arena, strbuf_text(&text));
    strbuf_finish(&text);
    return joined;
}

/* The core reports it just before the task itself. */
static void note_depends(void *ctx, task_id task) {
    struct engine *e = ctx;
    e->turn.rewired = task;
}

static void write_task(void *ctx, task_id task) {
    struct engine *e = ctx;
    struct task_row row;
    bool is_new = task >= e->turn.first_added;
    if (!fill_task(e, task, &row)) {
        if (!is_new)
            store_delete_task(e->turn.batch, task);
        PARTS_CALL(task_changed, e, task, NULL);
        return;
    }
    PARTS_CALL(task_changed, e, task, &row.spec);
    bool rewired = is_new || e->turn.rewired == task;
    size_t count = rewired ? core_task_depends(e->core, task, NULL, 0) : 0;
    if (count > 0) {
        task_id *items = arena_alloc(&e->turn.arena, count * sizeof(*items));
        row.depends_on_count = core_task_depends(e->core, task, items, count);
        row.depends_on = items;
    }
    if (is_new) {
        row.resources = join_resources(e, task);
        core_set_tag(e->core, task, rows_digest(&row.spec));
        store_add_task(e->turn.batch, &row);
    } else {
        change_task(e, &row, rewired);
    }
}

void rows_write_task(struct engine *e, task_id task) {
    struct task_row row;
    if (!fill_task(e, task, &row))
        return;
    change_task(e, &row, false);
    turn_wrote(e);
}

static void write_agent(void *ctx, sym agent) {
    struct engine *e = ctx;
    struct agent_row row = { .name = name_of(e, agent) };
    if (!core_agent_spec(e->core, agent, &row.spec))
        return;
    store_put_agent(e->turn.batch, &row);
    PARTS_CALL(agent_changed, e, &row);
}

/* Only a hit that begins a pause counts; later ones extend it. */
static void write_limited_event(struct engine *e, const struct limiter_row *row) {
    if (!row->spec.in_backoff || row->spec.backoff_since != e->now || row->spec.hits == 0)
        return;
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "limiter", row->name);
    json_put_int(w, "until", row->spec.backoff_until);
    json_put_int(w, "hits", row->spec.hits);
    event_end(e, &data, "limiter.limited", 0, 0);
}

static void write_limiter(void *ctx, sym limiter) {
    struct engine *e = ctx;
    struct limiter_row row = { .name = name_of(e, limiter) };
    if (!core_limiter_spec(e->core, limiter, &row.spec))
        return;
    store_put_limiter(e->turn.batch, &row);
    PARTS_CALL(limiter_changed, e, &row);
    write_limited_event(e, &row);
}

static void write_usage(void *ctx, const struct usage_spec *bucket) {
    struct engine *e = ctx;
    struct usage_row row = {
        .project = name_of(e, bucket->project),
        .bucket = bucket->at,
    };
    SUMS_COPY(USAGE_COLUMNS, &row, bucket)
    store_add_usage(e->turn.batch, &row);
}

static void write_wait(void *ctx, const struct wait_spec *wait) {
    struct engine *e = ctx;
    struct wait_row row = {
        .project = name_of(e, wait->project),
        .limiter = name_of(e, wait->limiter),
        .agent = name_of(e, wait->agent),
        .lost = wait->lost,
        .closed_since = wait->closed_since,
    };
    store_put_wait(e->turn.batch, &row);
}

void rows_write_all(struct engine *e) {
    struct core_changes changes = {
        .depends = note_depends,
        .task = write_task,
        .agent = write_agent,
        .limiter = write_limiter,
        .usage = write_usage,
        .wait = write_wait,
        .pace = write_pace,
        .ctx = e,
    };
    core_take_changes(e->core, &changes);
}

/* --- runs ------------------------------------------------------------------------------------ */

static struct run_row run_row_of(const struct engine *e, const struct live_run *run) {
    return (struct run_row){
        .task = run->task,
        .attempt = run->view.attempt,
        .iteration = run->iteration,
        .agent = run->agent,
        .executor = executor_kind_name(run->executor),
        .host = run->host ? run->host : executors_host(e, run->executor),
        .boot_id = run->boot_id,
        .folder = run->view.folder,
        .phase = run->phase,
        .limited_until = run->limited_until,
        .stop_now = run->stop_now,
        .ordered_at = run->view.ordered_at,
        .started_at = run->view.started_at,
        .exit_code = -1,
        .tokens_in = run->view.tokens_in,
        .tokens_out = run->view.tokens_out,
        .tokens_cached = run->tokens_cached,
        .cost_micro_usd = run->cost_micro_usd,
        .session = run->session,
        .resumed = run->resumes,
        .model = run->model,
        .result = run->result,
    };
}

void rows_write_run(struct engine *e, const struct live_run *run) {
    struct run_row row = run_row_of(e, run);
    char hash[SHA256_HEX_SIZE];
    char key[SHA256_HEX_SIZE];
    row.token_hash = run_token_print(&run->token, hash); /* neither once it has ended */
    run_proof_write(&run->proof, key, &row);
    store_put_run(e->turn.batch, &row);
    turn_wrote(e);
}

/* Its usage stays in the sums after the run is deleted. */
static void write_spent(struct engine *e, const struct run_row *run) {
    struct task_view view = { 0 };
    (void)core_task(e->core, run->task, &view);
    struct spent_row row = {
        .project = name_of(e, view.project),
        .agent = run->agent,
        .at = run->ended_at,
        .runs = 1,
        .ok = run->outcome == OUTCOME_OK,
        .busy_ms = run->started_at > 0 ? known_amount(run->ended_at - run->started_at) : 0,
        .tokens_in = known_amount(run->tokens_in),
        .tokens_out = known_amount(run->tokens_out),
        .tokens_cached = known_amount(run->tokens_cached),
        .cost_micro_usd = known_amount(run->cost_micro_usd),
        .unknown_tokens = run->tokens_in < 0 && run->tokens_out < 0,
        .unknown_cost = run->cost_micro_usd < 0,
    };
    store_add_spent(e->turn.batch, &row);
    PARTS_CALL(run_ended, e, &row, run->outcome);
}

void rows_write_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                      enum outcome outcome) {
    struct run_row row = run_row_of(e, run);
    row.ended = true;
    row.ended_at = end->ended_at ? end->ended_at : e->now;
    row.outcome = outcome;
    row.how = run_end_kind_name(end->kind);
    row.exit_code = end->code;
    row.exit_signal = end->signal;
    row.applied = end->applied[0] ? end->applied : NULL;
    row.message = end->message[0] ? end->message : NULL;
    store_put_run(e->turn.batch, &row);
    write_spent(e, &row);
}
