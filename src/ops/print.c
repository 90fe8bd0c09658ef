/* print.c: tasks, runs and events as every answer shows them.
 *
 * Printed from the core as it stands, not from the rows: what is shown is what decides. Only the title and
 * the time of the last change are the store's, so lists ask for those of their page in one question. */
#include "ops/print.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "core/action.h"
#include "core/failover.h"
#include "engine/alert.h"
#include "engine/allowance.h"
#include "engine/await.h"
#include "engine/away.h"
#include "engine/deliveries.h"
#include "engine/denied.h"
#include "engine/executors.h"
#include "engine/external_ids.h"
#include "engine/live.h"
#include "engine/loops.h"
#include "engine/sandboxes.h"
#include "engine/trouble.h"

#define EXTERNAL_MAX 50u

/* --- members --------------------------------------------------------------------------------- */

void print_text(struct json_writer *w, const char *key, const char *text) {
    json_write_key(w, key);
    json_write_string(w, text);
}

void print_int(struct json_writer *w, const char *key, int64_t value) {
    json_write_key(w, key);
    json_write_int(w, value);
}

void print_bool(struct json_writer *w, const char *key, bool value) {
    json_write_key(w, key);
    json_write_bool(w, value);
}

void print_object(struct json_writer *w, const char *key) {
    json_write_key(w, key);
    json_write_object_begin(w);
}

void print_list(struct json_writer *w, const char *key) {
    json_write_key(w, key);
    json_write_array_begin(w);
}

void print_words(struct json_writer *w, const char *key, const char *const *words, size_t count) {
    print_list(w, key);
    for (size_t i = 0; i < count; i++)
        json_write_string(w, words[i]);
    json_write_array_end(w);
}

static void int_or_null(struct json_writer *w, const char *key, int64_t value, bool there) {
    json_write_key(w, key);
    if (there)
        json_write_int(w, value);
    else
        json_write_null(w);
}

void print_time(struct json_writer *w, const char *key, time_ms at) {
    int_or_null(w, key, at, at > 0 && at != TIME_NEVER);
}

void print_amount(struct json_writer *w, const char *key, amount cap) {
    int_or_null(w, key, cap, cap != UNLIMITED);
}

void print_count(struct json_writer *w, const char *key, int64_t value) {
    int_or_null(w, key, value, value >= 0);
}

void print_cost(struct json_writer *w, const char *key, int64_t micro_usd) {
    json_write_key(w, key);
    if (micro_usd >= 0)
        json_write_double(w, (double)micro_usd / 1e6, 6);
    else
        json_write_null(w);
}

void print_pause(struct json_writer *w, const struct engine_pause *pause) {
    print_text(w, "paused_by", pause ? pause->by : NULL);
    print_time(w, "paused_at", pause ? pause->at : 0);
}

void print_id(struct json_writer *w, const char *key, const struct engine *engine, task_id task) {
    char id[ENGINE_ID_MAX];
    print_text(w, key, task ? engine_task_id(engine, task, id) : NULL);
}

/* Behind a key; the writer is told that its value has been written. */
void print_json(struct json_writer *w, const char *key, const char *json) {
    json_write_key(w, key);
    if (!json || !*json) {
        json_write_null(w);
        return;
    }
    strbuf_puts(w->out, json);
    w->after_key = false;
}

/* --- tasks ----------------------------------------------------------------------------------- */

/* The core knows that something is missing; the engine knows where it would be. */
static bool print_closed_account(const struct engine *engine, const struct verdict *v,
                                 struct strbuf *out) {
    struct engine_trouble t;
    const char *account = op_name_of(engine, v->key);
    if (v->gate != GATE_LIMITER || v->open || !v->closed
        || !engine_trouble(engine, TROUBLE_ACCOUNT, account, &t))
        return false;
    verdict_account(v, op_symbols(engine), out);
    engine_put_trouble(engine, TROUBLE_ACCOUNT, account, out);
    strbuf_printf(out, "; then: sluice limiter clear %s", account);
    return true;
}

void print_verdict(const struct engine *engine, task_id task, const struct verdict *v,
                   struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    if (print_closed_account(engine, v, out))
        return;
    if (v->gate == GATE_ARTIFACT && !v->open && engine_artifact(engine, task, &path))
        strbuf_printf(out, "waits for '%s': it may start when that is there", strbuf_text(&path));
    else if (v->gate != GATE_HELD || v->open
             || (!engine_budget_why(engine, task, out) && !engine_denied_why(engine, task, out)))
        verdict_sentence(v, op_symbols(engine), engine_names(engine), out);
    if (v->gate == GATE_BREAKER && !v->open && v->key)
        engine_put_trouble(engine, TROUBLE_AGENT, op_name_of(engine, v->key), out);
    const char *host = NULL;
    uint32_t away = engine_away_holders(engine, v, &host);
    if (away > 0)
        strbuf_printf(out,
                      "; %" PRIu32 " of the places %s held on host '%s', which is unreachable (see "
                      "'sluice host list')",
                      away, away == 1 ? "is" : "are", host);
}

static void print_gate(struct json_writer *w, const struct engine *engine, task_id task) {
    struct verdict verdict;
    if (!core_blocked(engine_core(engine), task, &verdict)) {
        print_text(w, "gate", NULL);
        print_text(w, "why", NULL);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    verdict_code(&verdict, op_symbols(engine), &text);
    print_text(w, "gate", strbuf_text(&text));
    strbuf_clear(&text);
    print_verdict(engine, task, &verdict, &text);
    print_text(w, "why", strbuf_text(&text));
    struct task_view view;
    if (core_task(engine_core(engine), task, &view) && engine_await_needs_person(engine, &view))
        print_bool(w, "needs_person", true);
}

/* Only of a task that is held for it. */
static void print_denial(struct json_writer *w, const struct engine *engine, task_id task) {
    struct engine_denial d;
    if (!engine_denial(engine, task, &d))
        return;
    print_object(w, "denied");
    print_text(w, "agent", d.agent);
    print_text(w, "tool", d.what->tool);
    print_text(w, "argument", d.what->argument);
    print_int(w, "count", d.what->count);
    print_text(w, "allow", d.has_option ? d.what->rule : NULL);
    json_write_object_end(w);
}

void print_away(const struct engine_host_state *host, struct strbuf *out) {
    char when[32] = "?";
    time_t seconds = (time_t)(host->since / 1000);
    struct tm day;
    if (gmtime_r(&seconds, &day))
        (void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &day);
    strbuf_printf(out, "host '%s' unreachable since %s", host->name, when);
}

/* What a run does that is not just working: what is done around it, whom it lends to, whose place it has. */
static void print_doing(struct json_writer *w, const struct engine *engine,
                        const struct task_view *t) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *doing = engine_run_doing(engine, t->id);
    struct engine_host_state host;
    char id[ENGINE_ID_MAX];
    if (engine_away_run(engine, t->id, &host))
        print_away(&host, &text);
    else if (doing)
        strbuf_puts(&text, doing);
    else if (t->phase == PHASE_WAITING)
        strbuf_puts(&text, "waits for tasks below it");
    else
        (void)engine_place_doing(engine, t->id, &text);
    if (t->borrower)
        strbuf_printf(&text, "%slends its place to %s", text.length ? ", " : "",
                      engine_task_id(engine, t->borrower, id));
    if (t->lender)
        strbuf_printf(&text, "%sruns in the place of %s", text.length ? ", " : "",
                      engine_task_id(engine, t->lender, id));
    print_text(w, "doing", text.length ? strbuf_text(&text) : NULL);
}

/* Another agent works for that of the task: which is closed until then, if anybody knows. */
static void print_instead(struct json_writer *w, const struct engine *engine,
                          const struct task_view *t) {
    struct agent_state agents[FAILOVER_MAX + 1];
    size_t count = core_task_agents(engine_core(engine), t->id, agents);
    bool instead = count > 0 && agents[0].agent != t->agent;
    bool known = instead && !agents[0].open && agents[0].opens_at != TIME_NEVER;
    print_text(w, "instead_of", instead ? op_name_of(engine, agents[0].agent) : NULL);
    print_time(w, "instead_until", known ? agents[0].opens_at : 0);
}

static void print_actions(struct json_writer *w, const struct task_view *t) {
    uint32_t in = task_situation(t->state, t->hold);
    print_list(w, "actions");
    for (const struct task_action *a = task_actions; a->name; a++)
        if (a->offered & in)
            json_write_string(w, a->name);
    json_write_array_end(w);
}

static void print_live(struct json_writer *w, const struct engine *engine,
                       const struct task_view *t) {
    struct engine_run run;
    json_write_key(w, "run");
    if (!engine_live_run(engine, t->id, &run)) {
        json_write_null(w);
        return;
    }
    json_write_object_begin(w);
    print_int(w, "attempt", run.attempt);
    print_text(w, "phase", t->state == TASK_STARTING ? "starting" : run_phase_name(t->phase));
    print_id(w, "lends_to", engine, t->borrower);
    print_id(w, "borrows_from", engine, t->lender);
    print_text(w, "agent", op_name_of(engine, t->agent));
    print_instead(w, engine, t);
    print_time(w, "started_at", run.started_at);
    print_count(w, "tokens_in", run.tokens_in);
    print_count(w, "tokens_out", run.tokens_out);
    print_doing(w, engine, t);
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    bool said = engine_last_line(engine, t->id, &line);
    print_text(w, "last_line", said ? strbuf_text(&line) : NULL);
    struct engine_host_state host = { 0 };
    (void)engine_away_run(engine, t->id, &host);
    print_text(w, "unreachable_host", host.name);
    print_time(w, "unreachable_since", host.since);
    json_write_object_end(w);
}

bool print_task_members(struct json_writer *w, const struct engine *engine, task_id task,
                        const char *title, time_ms changed_at) {
    struct task_view t;
    struct task_spec spec;
    if (!core_task(engine_core(engine), task, &t)
        || !core_task_spec(engine_core(engine), task, &spec))
        return false;
    print_id(w, "id", engine, task);
    print_text(w, "project", op_name_of(engine, t.project));
    print_text(w, "kind", op_name_of(engine, t.kind));
    print_text(w, "title", title);
    print_text(w, "state", task_state_name(t.state));
    print_text(w, "hold", t.state == TASK_HELD ? hold_name(t.hold) : NULL);
    print_text(w, "reason", reason_name(t.reason));
    print_int(w, "priority", t.priority);
    print_text(w, "agent", op_name_of(engine, t.agent));
    print_id(w, "parent", engine, t.parent);
    print_text(w, "group", op_group_name(engine, spec.group));
    print_text(w, "external_id", engine_external_id(engine, task));
    print_time(w, "created_at", t.created_at);
    print_time(w, "changed_at", changed_at);
    print_int(w, "depth", t.depth);
    print_int(w, "iteration", t.iteration);
    print_int(w, "attempt", t.attempt);
    print_time(w, "not_before", t.state == TASK_HELD ? t.not_before : 0);
    print_gate(w, engine, task);
    print_denial(w, engine, task);
    print_int(w, "score", t.score);
    print_actions(w, &t);
    print_live(w, engine, &t);
    struct delivery_changes changes = { 0 };
    if (t.attempt > 0 && (task_state_is_final(t.state) || t.state == TASK_HELD))
        (void)engine_changes(engine, task, &changes);
    print_changes(w, &changes);
    return true;
}

void print_changes(struct json_writer *w, const struct delivery_changes *changes) {
    json_write_key(w, "changes");
    if (!changes->known) {
        json_write_null(w);
        return;
    }
    json_write_object_begin(w);
    print_int(w, "commits", changes->commits);
    print_int(w, "files", changes->files);
    print_int(w, "insertions", changes->insertions);
    print_int(w, "deletions", changes->deletions);
    json_write_object_end(w);
}

void print_external(struct json_writer *w, const struct engine *engine) {
    print_list(w, "external");
    const char *id;
    for (size_t i = 0; i < EXTERNAL_MAX && (id = engine_external_at(engine, i)); i++)
        json_write_string(w, id);
    json_write_array_end(w);
}

void print_tasks(struct json_writer *w, const struct engine *engine, const struct op_rows *rows) {
    json_write_array_begin(w);
    for (size_t i = 0; i < rows->count; i++) {
        struct task_view view;
        if (!core_task(engine_core(engine), rows->tasks[i], &view))
            continue; /* deleted while the titles were asked for */
        json_write_object_begin(w);
        (void)print_task_members(w, engine, rows->tasks[i], rows->titles[i], rows->changed[i]);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void take_titles(struct op_call *call, const struct store_answer *answer) {
    struct op_rows *rows = op_state(call, sizeof(*rows), NULL);
    for (size_t i = 0, k = 0; i < rows->count && k < answer->count; i++) {
        if (answer->specs[k].id != rows->tasks[i])
            continue;
        const char *title = answer->specs[k].title;
        rows->changed[i] = answer->specs[k++].changed_at;
        rows->titles[i] = title ? arena_strdup(op_arena(call), title) : NULL;
    }
}

int op_ask_titles(struct op_call *call, struct op_rows *rows, op_step then) {
    rows->titles = arena_alloc(op_arena(call), (rows->count + 1) * sizeof(*rows->titles));
    rows->changed = arena_alloc(op_arena(call), (rows->count + 1) * sizeof(*rows->changed));
    if (rows->count == 0)
        return then(call);
    struct store_question question = {
        .kind = ASK_TITLES, .tasks = rows->tasks, .task_count = rows->count, .limit = rows->count
    };
    return op_ask(call, &question, take_titles, then);
}

/* Only when there is one: what was asked for will take until somebody has done something. */
static void print_note(struct json_writer *w, const struct op_call *call, task_id task) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct engine_host_state host;
    if (call->op != &op_task_cancel || !task || !engine_away_run(call->engine, task, &host))
        return;
    strbuf_printf(&text,
                  "its run is on host '%s', which is unreachable: it is stopped when the daemon of "
                  "that host is the active one",
                  host.name);
    print_text(w, "note", strbuf_text(&text));
}

void print_states(struct op_call *call, const char *const *ids, const task_id *tasks, size_t count,
                  const bool *already) {
    print_states_warned(call, ids, tasks, count, already, NULL);
}

void print_states_warned(struct op_call *call, const char *const *ids, const task_id *tasks,
                         size_t count, const bool *already, const char *warning) {
    struct json_writer w = op_begin(call);
    print_list(&w, "tasks");
    for (size_t i = 0; i < count; i++) {
        struct task_view view;
        bool there = core_task(engine_core(call->engine), tasks[i], &view);
        json_write_object_begin(&w);
        print_text(&w, "id", ids[i]);
        print_text(&w, "state", there ? task_state_name(view.state) : NULL);
        print_bool(&w, "already", already && already[i]);
        print_actions(&w, there ? &view : &(struct task_view){ .state = TASK_ABSENT });
        if (warning)
            print_text(&w, "result", "no_effect");
        print_note(&w, call, there ? tasks[i] : 0);
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
    if (warning)
        print_text(&w, "warning", warning);
    json_write_object_end(&w);
}

/* --- runs and events ------------------------------------------------------------------------- */

static bool looks_like_json(const char *text) {
    return text && (*text == '{' || *text == '[');
}

/* The agent of its task, if another one had the run. */
static const char *instead_of(const struct engine *engine, const struct run_row *run) {
    struct task_spec told;
    const char *own = NULL;
    if (run->agent && core_task_spec(engine_core(engine), run->task, &told) && told.agent)
        own = op_name_of(engine, told.agent);
    return own && strcmp(own, run->agent) != 0 ? own : NULL;
}

void print_run_members(struct json_writer *w, const struct engine *engine,
                       const struct run_row *run, const char *phase) {
    print_id(w, "task", engine, run->task);
    print_int(w, "attempt", run->attempt);
    print_int(w, "iteration", run->iteration);
    print_text(w, "phase", run->ended ? NULL : phase);
    print_text(w, "agent", run->agent);
    print_time(w, "ordered_at", run->ordered_at);
    print_time(w, "started_at", run->started_at);
    print_time(w, "ended_at", run->ended_at);
    print_text(w, "outcome", run->ended ? outcome_name(run->outcome) : NULL);
    print_text(w, "how", run->how);
    print_count(w, "exit_code", run->ended ? run->exit_code : -1);
    print_text(w, "message", run->message);
    print_text(w, "model", run->model);
    print_count(w, "tokens_in", run->tokens_in);
    print_count(w, "tokens_out", run->tokens_out);
    print_count(w, "tokens_cached", run->tokens_cached);
    print_cost(w, "cost_usd", run->cost_micro_usd);
}

void print_run(struct json_writer *w, const struct engine *engine, const struct run_row *run) {
    json_write_object_begin(w);
    print_run_members(w, engine, run, run_phase_name(run->phase));
    print_text(w, "instead_of", instead_of(engine, run));
    print_text(w, "executor", run->executor);
    print_text(w, "sandbox",
               run->ended ? engine_sandbox_applied(run->applied)
                          : engine_run_sandbox(engine, run->task, NULL));
    print_text(w, "host", run->host);
    print_text(w, "folder", run->folder);
    int_or_null(w, "signal", run->exit_signal, run->exit_signal > 0);
    if (looks_like_json(run->applied))
        print_json(w, "applied", run->applied);
    else
        print_text(w, "applied", run->applied);
    print_text(w, "said", run->said);
    print_text(w, "session", run->session);
    print_bool(w, "resumed", run->resumed);
    json_write_object_end(w);
}

void print_event(struct json_writer *w, const struct engine *engine,
                 const struct event_row *event) {
    json_write_object_begin(w);
    print_int(w, "seq", (int64_t)event->seq);
    print_time(w, "at", event->at);
    print_text(w, "kind", event->kind);
    print_id(w, "task", engine, event->task);
    int_or_null(w, "attempt", event->attempt, event->attempt > 0);
    print_json(w, "data", looks_like_json(event->data) ? event->data : "{}");
    json_write_object_end(w);
}

void op_print_event(const struct engine *engine, const struct event_row *event,
                    struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    print_event(&w, engine, event);
    shape_report(&shape_event, "event", out);
}

/* --- lists of names ------------------------------------------------------------------------- */

int names_list(struct op_call *call, size_t count, names_print each) {
    uint64_t from = 0;
    bool given;
    int r = op_cursor(call, 'i', &from, &given);
    if (r < 0)
        return r;
    size_t limit = op_limit(call), at = (size_t)from;
    struct json_writer w = op_begin(call);
    print_list(&w, "items");
    for (; at < count && at < from + limit; at++)
        each(&w, call, at);
    json_write_array_end(&w);
    op_print_next(&w, 'i', at < count ? at : 0);
    json_write_object_end(&w);
    return 0;
}
