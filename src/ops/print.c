/* print.c: tasks, runs and events as all answers show them.
 *
 * Printed from the core's current state, not from stored rows, so answers show what decisions use.
 * Only the title and the time of the last change come from the store; lists read those of a page in
 * one query. */
#include "ops/print.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/money.h"
#include "core/action.h"
#include "core/core.h"
#include "engine/agents.h"
#include "engine/alert.h"
#include "engine/allowance.h"
#include "engine/await.h"
#include "engine/best_of.h"
#include "engine/escalation.h"
#include "engine/executors.h"
#include "engine/external_ids.h"
#include "engine/hosts.h"
#include "engine/loops.h"
#include "engine/probes.h"
#include "engine/runs.h"
#include "engine/sandboxes.h"
#include "engine/takeover.h"
#include "engine/worktrees.h"

#define EXTERNAL_MAX 50u

/* --- members --------------------------------------------------------------------------------- */

bool print_object_if(struct json_writer *w, const char *key, bool there) {
    json_write_key(w, key);
    if (there)
        json_write_object_begin(w);
    else
        json_write_null(w);
    return there;
}

void print_words(struct json_writer *w, const char *key, const char *const *words, size_t count) {
    json_put_array(w, key);
    for (size_t i = 0; i < count; i++)
        json_write_string(w, words[i]);
    json_write_array_end(w);
}

static void print_int_or_null(struct json_writer *w, const char *key, int64_t value, bool there) {
    json_write_key(w, key);
    if (there)
        json_write_int(w, value);
    else
        json_write_null(w);
}

void print_time(struct json_writer *w, const char *key, time_ms at) {
    print_int_or_null(w, key, at, at > 0 && at != TIME_NEVER);
}

void print_amount(struct json_writer *w, const char *key, amount cap) {
    print_int_or_null(w, key, cap, cap != UNLIMITED);
}

void print_count(struct json_writer *w, const char *key, int64_t value) {
    print_int_or_null(w, key, value, value >= 0);
}

void print_usd(struct json_writer *w, const char *key, int64_t micro_usd) {
    json_write_key(w, key);
    if (micro_usd >= 0 && micro_usd != UNLIMITED)
        json_write_double(w, (double)micro_usd / (double)MONEY_DOLLAR, 6);
    else
        json_write_null(w);
}

void print_pause(struct json_writer *w, const struct engine_pause *pause) {
    json_put_string(w, "paused_by", pause ? pause->by : NULL);
    print_time(w, "paused_at", pause ? pause->at : 0);
}

void print_id(struct json_writer *w, const char *key, const struct engine *engine, task_id task) {
    char id[ENGINE_ID_MAX];
    json_put_string(w, key, task ? engine_task_id(engine, task, id) : NULL);
}

/* After a key; marks the value as written in the writer. */
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

/* Names the missing login or credit of a closed account. */
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

/* Of a task that is held for the answer. */
static bool explain_question(const struct engine *engine, task_id task, const struct verdict *v,
                             struct strbuf *out) {
    return v->hold == HOLD_QUESTION && engine_explain_question(engine, task, out);
}

/* Of a task that a person has taken over, after that person's work. */
static bool explain_taken(const struct engine *engine, task_id task, const struct verdict *v,
                          struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    if (v->hold != HOLD_TAKEN || !engine_explain_taken(engine, task, out))
        return false;
    engine_task_id(engine, task, id);
    strbuf_printf(out,
                  "; go on with: sluice take %s; let its agent go on with: sluice release %s; call "
                  "it done with: sluice approve %s",
                  id, id, id);
    return true;
}

void print_verdict(const struct engine *engine, task_id task, const struct verdict *v,
                   struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    if (print_closed_account(engine, v, out))
        return;
    if (v->gate == GATE_ARTIFACT && !v->open && engine_artifact(engine, task, &path))
        strbuf_printf(out, "waits for '%s': it may start when that is there", strbuf_text(&path));
    else if (v->open || (v->gate != GATE_HELD && v->gate != GATE_PROBE)
             || (!engine_explain_budget_hold(engine, task, out)
                 && !engine_explain_denied_hold(engine, task, out)
                 && !engine_explain_probe(engine, task, out)
                 && !explain_question(engine, task, v, out) && !explain_taken(engine, task, v, out)
                 && !engine_explain_candidates(engine, task, out)))
        verdict_message(v, op_symbols(engine), engine_names(engine), out);
    if (v->gate == GATE_BREAKER && !v->open && v->key)
        engine_put_trouble(engine, TROUBLE_AGENT, op_name_of(engine, v->key), out);
    const char *host = NULL;
    uint32_t unreachable = engine_unreachable_holders(engine, v, &host);
    if (unreachable > 0)
        strbuf_printf(
            out,
            "; %" PRIu32
            " of the places %s held on host '%s', which is unreachable (see 'sluice host list')",
            unreachable, unreachable == 1 ? "is" : "are", host);
}

static void print_gate(struct json_writer *w, const struct engine *engine, task_id task) {
    struct verdict verdict;
    if (!core_blocked(engine_core(engine), task, &verdict)) {
        json_put_string(w, "gate", NULL);
        json_put_string(w, "why", NULL);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    verdict_code(&verdict, op_symbols(engine), &text);
    json_put_string(w, "gate", strbuf_text(&text));
    strbuf_clear(&text);
    print_verdict(engine, task, &verdict, &text);
    json_put_string(w, "why", strbuf_text(&text));
    struct task_view view;
    if (core_task(engine_core(engine), task, &view) && engine_await_needs_person(engine, &view))
        json_put_bool(w, "needs_person", true);
}

/* clang-format off */
#define DENIAL(X) \
    X(json_put_string, "agent", T_TEXT | T_NULL, "who wanted it", "claude", d.agent) \
    X(json_put_string, "tool", T_TEXT | T_NULL, "the tool it called", "Bash", d.what->tool) \
    X(json_put_string, "argument", T_TEXT | T_NULL, "and for what", "git commit", d.what->argument) \
    X(json_put_int, "count", T_INT, "how many times", NULL, d.what->count) \
    X(json_put_string, "allow", T_TEXT | T_NULL, "the rule that `task.retry` takes to allow it; null: the agent has no such option", "Bash(git commit:*)", d.has_option ? d.what->rule : NULL)
static const struct shape denial_shape = { "Denial", "what an agent was not permitted to do", .members = SHAPE_ALL(DENIAL) };
/* clang-format on */

void print_unreachable_host(const struct engine_host_state *host, struct strbuf *out) {
    char when[32] = "?";
    time_t seconds = (time_t)(host->since / 1000);
    struct tm day;
    if (gmtime_r(&seconds, &day))
        (void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &day);
    strbuf_printf(out, "host '%s' unreachable since %s", host->name, when);
}

/* What a run does besides working. */
static void print_doing(struct json_writer *w, const struct engine *engine,
                        const struct task_view *t) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *doing = engine_run_doing(engine, t->id);
    struct engine_host_state host;
    char id[ENGINE_ID_MAX];
    if (engine_unreachable_run(engine, t->id, &host))
        print_unreachable_host(&host, &text);
    else if (doing)
        strbuf_puts(&text, doing);
    else if (t->hold == HOLD_TAKEN)
        (void)engine_explain_taken(engine, t->id, &text);
    else if (t->phase == PHASE_WAITING)
        strbuf_puts(&text, "waits for tasks below it");
    else
        (void)engine_executor_activity(engine, t->id, &text);
    if (t->borrower)
        strbuf_printf(&text, "%slends its place to %s", text.length ? ", " : "",
                      engine_task_id(engine, t->borrower, id));
    if (t->lender)
        strbuf_printf(&text, "%sruns in the place of %s", text.length ? ", " : "",
                      engine_task_id(engine, t->lender, id));
    json_put_string(w, "doing", text.length ? strbuf_text(&text) : NULL);
}

/* A task with candidates is not approved, but one of them is picked. */
static void print_actions(struct json_writer *w, const struct engine *engine,
                          const struct task_view *t) {
    uint32_t in = task_situation(t->state, t->hold);
    bool has_candidates = engine_best_of(engine, t->id);
    json_put_array(w, "actions");
    for (const struct task_action *a = task_actions; a->name; a++)
        if ((a->offered & in) && !(has_candidates && a->fact == FACT_APPROVE))
            json_write_string(w, a->name);
    json_write_array_end(w);
}

/* clang-format off */
#define LIVE_RUN(X) \
    X(json_put_int, "attempt", T_INT, "its number", NULL, run.attempt) \
    X(json_put_string, "phase", T_WORD, "what it is doing", &words_phase, t->state == TASK_STARTING ? "starting" : run_phase_name(t->phase)) \
    X(print_id, "lends_to", T_ID | T_NULL, "the task below it that has its slots", NULL, engine, t->borrower) \
    X(print_id, "borrows_from", T_ID | T_NULL, "the task above it whose slots it has", NULL, engine, t->lender) \
    X(json_put_string, "agent", T_TEXT | T_NULL, "the agent that does it", "claude", op_name_of(engine, t->agent)) \
    X(print_time, "started_at", T_TIME | T_NULL, "when its command started", NULL, run.started_at) \
    X(print_count, "tokens_in", T_INT | T_NULL, "tokens read so far", NULL, run.tokens_in) \
    X(print_count, "tokens_out", T_INT | T_NULL, "tokens written so far", NULL, run.tokens_out) \
    X(json_put_string, "last_line", T_TEXT | T_NULL, "the last line of its output; of an agent, what it says or does", "All tests pass.", has_line ? strbuf_text(&line) : NULL) \
    X(json_put_string, "unreachable_host", T_TEXT | T_NULL, "the host that it is on, if that is unreachable (`host.list`)", "box1", host.name) \
    X(print_time, "unreachable_since", T_TIME | T_NULL, "since when", NULL, host.since)
static const struct shape live_run_shape = { "LiveRun", "a run that has not ended", .members = SHAPE_ROWS(
    LIVE_RUN(SHAPE_ROW)
    { "instead_of", T_TEXT | T_NULL, "the agent of the task, while another one works for it", "codex" },
    { "instead_until", T_TIME | T_NULL, "when that agent opens, if it is known" },
    { "doing", T_TEXT | T_NULL, "what it does besides working", "waits for tasks below it" }) };
/* clang-format on */

static void print_live(struct json_writer *w, const struct engine *engine,
                       const struct task_view *t) {
    struct engine_run run;
    if (!print_object_if(w, "run", engine_live_run(engine, t->id, &run)))
        return;
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    bool has_line = engine_last_line(engine, t->id, &line);
    struct engine_host_state host = { 0 };
    (void)engine_unreachable_run(engine, t->id, &host);
    LIVE_RUN(SHAPE_PRINT) {
        /* The task's own agent while a failover agent works for it, and when it opens, if known. */
        struct agent_state agents[FAILOVER_MAX + 1];
        size_t count = core_task_agents(engine_core(engine), t->id, agents);
        bool instead = count > 0 && agents[0].agent != t->agent;
        bool known = instead && !agents[0].open && agents[0].opens_at != TIME_NEVER;
        json_put_string(w, "instead_of", instead ? op_name_of(engine, agents[0].agent) : NULL);
        print_time(w, "instead_until", known ? agents[0].opens_at : 0);
    }
    print_doing(w, engine, t);
    json_write_object_end(w);
}

/* clang-format off */
#define CHANGES(X) \
    X(json_put_int, "commits", T_INT, "commits on its branch", NULL, changes.commits) \
    X(json_put_int, "files", T_INT, "files that differ; 0: nothing", NULL, changes.files) \
    X(json_put_int, "insertions", T_INT, "lines added", NULL, changes.insertions) \
    X(json_put_int, "deletions", T_INT, "lines removed", NULL, changes.deletions)
static const struct shape changes_shape = { "Changes", "what a task has changed in its worktree", .members = SHAPE_ALL(CHANGES) };

#define ESCALATION(X) \
    X(json_put_int, "step", T_INT, "0: with its own agent", NULL, steps.step) \
    X(json_put_int, "steps", T_INT, "how many steps there are", NULL, steps.steps) \
    X(json_put_int, "after", T_INT, "rejected results before the next step; 0: it takes none", NULL, steps.after) \
    X(json_put_int, "failed", T_INT, "rejected results since the last step", NULL, steps.failed) \
    X(json_put_string, "next", T_TEXT | T_NULL, "the next step; null: no further step", "claude:opus", steps.next) \
    X(json_put_string, "own_agent", T_TEXT | T_NULL, "of an escalated task: the agent that it was added with", "codex", steps.own_agent) \
    X(json_put_string, "reason", T_WORD | T_NULL, "of an escalated task: why its last result before this step was rejected", &words_reason, steps.reason) \
    X(json_put_int, "failures", T_INT, "of an escalated task: rejected results before this step", NULL, steps.failures) \
    X(json_put_string, "text", T_TEXT, "all of it in words", "step 2 of 3: claude:opus after 2 failures (the last one: failed checks)", strbuf_text(&step_text))
#define TAKEN(X) \
    X(json_put_string, "by", T_TEXT | T_NULL, "who", "ann", taken->by) \
    X(print_time, "at", T_TIME | T_NULL, "since when", NULL, taken->at)
static const struct shape taken_shape = { "Taken", "who has taken a task over", .members = SHAPE_ALL(TAKEN) };

static const struct shape escalation_shape = { "Escalation", "which step a task is at, and why", .members = SHAPE_ALL(ESCALATION) };

#define TASK(X) \
    X(print_id, "id", T_ID, "its id", NULL, engine, task) \
    X(json_put_string, "project", T_TEXT, "its project", "web", op_name_of(engine, t.project)) \
    X(json_put_string, "kind", T_TEXT | T_NULL, "its kind", "implement", op_name_of(engine, t.kind)) \
    X(json_put_string, "title", T_TEXT | T_NULL, "its title", "write the parser", title) \
    X(json_put_string, "state", T_WORD, "its state", &words_state, task_state_name(t.state)) \
    X(json_put_string, "hold", T_WORD | T_NULL, "why it is held", &words_hold, t.state == TASK_HELD ? hold_name(t.hold) : NULL) \
    X(json_put_string, "reason", T_WORD, "why it is in this state", &words_reason, reason_name(t.reason)) \
    X(json_put_int, "priority", T_INT, "lower starts first", NULL, t.priority) \
    X(json_put_string, "agent", T_TEXT | T_NULL, "its agent", "claude", op_name_of(engine, t.agent)) \
    X(json_put_string, "model", T_TEXT | T_NULL, "the model of its next run, or of its live one; null: its agent's choice", "opus", steps.model) \
    X(print_id, "parent", T_ID | T_NULL, "the task that it is below", NULL, engine, t.parent) \
    X(json_put_string, "group", T_TEXT | T_NULL, "the group that follows it", "night", op_group_name(engine, spec.group)) \
    X(json_put_string, "external_id", T_TEXT | T_NULL, "what another system calls it", "JIRA-12", engine_external_id(engine, task)) \
    X(print_time, "created_at", T_TIME | T_NULL, "when it was added", NULL, t.created_at) \
    X(print_time, "changed_at", T_TIME | T_NULL, "when its row last changed", NULL, changed_at) \
    X(json_put_int, "depth", T_INT, "how many tasks it is below", NULL, t.depth) \
    X(json_put_int, "iteration", T_INT, "how often its work was begun", NULL, t.iteration) \
    X(json_put_int, "attempt", T_INT, "how many runs it has had", NULL, t.attempt) \
    X(print_time, "not_before", T_TIME | T_NULL, "when it leaves its hold by itself", NULL, t.state == TASK_HELD ? t.not_before : 0) \
    X(json_put_int, "score", T_INT, "its place in the order, lower first", NULL, t.score) \
    X(print_usd, "cost_usd", T_USD | T_NULL, "what its runs have cost, the live one included; null: none has reported it", NULL, engine_spent_usd(engine, task))
const struct shape shape_task = { "Task", "a task, as lists show it", .members = SHAPE_ROWS(
    TASK(SHAPE_ROW)
    { "escalation", T_OBJECT | T_MAYBE, "of a task with stronger agents or models for when its results are not accepted", &escalation_shape },
    { "gate", T_TEXT | T_NULL, "the first gate that stops it", "lease:runs" },
    { "why", T_TEXT | T_NULL, "what that means", "all 8 places for runs are taken" },
    { "needs_person", T_BOOL | T_MAYBE, "it stays as it is until a person does something" },
    { "taken", T_OBJECT | T_MAYBE, "of a task that a person has taken over: it waits for its turn, runs at that person's terminal, or is held afterwards", &taken_shape },
    { "denied", T_OBJECT | T_MAYBE, "of a task that is held for it", &denial_shape },
    { "actions", T_TEXT | T_LIST, "what can be done to it now: operations `task.ACTION`", "cancel" },
    { "run", T_OBJECT | T_NULL, "its live run", &live_run_shape },
    { "changes", T_OBJECT | T_NULL, "of one that has ended or waits for review; null: not known, or no worktree", &changes_shape }) };
/* clang-format on */

bool print_task_members(struct json_writer *w, const struct engine *engine, task_id task,
                        const char *title, time_ms changed_at) {
    struct task_view t;
    struct task_spec spec;
    if (!core_task(engine_core(engine), task, &t)
        || !core_task_spec(engine_core(engine), task, &spec))
        return false;
    struct engine_escalation steps;
    engine_escalation(engine, task, &steps);
    TASK(SHAPE_PRINT)
    _cleanup_(strbuf_finish) struct strbuf step_text = STRBUF_INIT;
    if (steps.has_steps && engine_escalation_text(engine, task, &step_text)) {
        json_put_object(w, "escalation");
        ESCALATION(SHAPE_PRINT)
        json_write_object_end(w);
    }
    print_gate(w, engine, task);
    const struct engine_taken *taken = engine_taken(engine, task);
    if (taken) {
        json_put_object(w, "taken");
        TAKEN(SHAPE_PRINT)
        json_write_object_end(w);
    }
    struct engine_denial d;
    if (engine_denial(engine, task, &d)) {
        json_put_object(w, "denied");
        DENIAL(SHAPE_PRINT)
        json_write_object_end(w);
    }
    print_actions(w, engine, &t);
    print_live(w, engine, &t);
    struct delivery_changes changes = { 0 };
    if (t.attempt > 0 && (task_state_is_final(t.state) || t.state == TASK_HELD))
        (void)engine_changes(engine, task, &changes);
    if (print_object_if(w, "changes", changes.known)) {
        CHANGES(SHAPE_PRINT)
        json_write_object_end(w);
    }
    return true;
}

void print_external(struct json_writer *w, const struct engine *engine) {
    json_put_array(w, "external");
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
            continue; /* deleted while the titles were read */
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
        rows->titles[i] = op_keep(call, answer->specs[k].title);
        rows->changed[i] = answer->specs[k++].changed_at;
    }
}

int op_query_titles(struct op_call *call, struct op_rows *rows, op_step then) {
    rows->titles = arena_alloc(op_arena(call), (rows->count + 1) * sizeof(*rows->titles));
    rows->changed = arena_alloc(op_arena(call), (rows->count + 1) * sizeof(*rows->changed));
    if (rows->count == 0)
        return then(call);
    struct store_query question = {
        .kind = QUERY_TITLES, .tasks = rows->tasks, .task_count = rows->count, .limit = rows->count
    };
    return op_query(call, &question, take_titles, then);
}

/* Only for a run on an unreachable host, which takes long to stop. */
static void print_note(struct json_writer *w, const struct op_call *call, task_id task) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct engine_host_state host;
    if (call->op != &op_task_cancel || !task || !engine_unreachable_run(call->engine, task, &host))
        return;
    strbuf_printf(&text,
                  "its run is on host '%s', which is unreachable: it is stopped when the daemon of "
                  "that host is the active one",
                  host.name);
    json_put_string(w, "note", strbuf_text(&text));
}

void print_states(struct op_call *call, const char *const *ids, const task_id *tasks, size_t count,
                  const bool *already, const char *warning) {
    struct json_writer w = op_begin(call);
    json_put_array(&w, "tasks");
    for (size_t i = 0; i < count; i++) {
        struct task_view view;
        bool there = core_task(engine_core(call->engine), tasks[i], &view);
        json_write_pack(&w, "{s:s, s:s, s:b", "id", ids[i], "state",
                        there ? task_state_name(view.state) : NULL, "already", already[i]);
        print_actions(&w, call->engine,
                      there ? &view : &(struct task_view){ .state = TASK_ABSENT });
        if (warning)
            json_put_string(&w, "result", "no_effect");
        print_note(&w, call, there ? tasks[i] : 0);
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
    if (warning)
        json_put_string(&w, "warning", warning);
    json_write_object_end(&w);
}

/* --- runs and events ------------------------------------------------------------------------- */

static bool looks_like_json(const char *text) {
    return text && (*text == '{' || *text == '[');
}

static const char *instead_of(const struct engine *engine, const struct run_row *run) {
    struct task_spec spec;
    const char *own = NULL;
    if (run->agent && core_task_spec(engine_core(engine), run->task, &spec) && spec.agent)
        own = op_name_of(engine, spec.agent);
    return own && strcmp(own, run->agent) != 0 ? own : NULL;
}

/* clang-format off */
#define ANY_RUN(X) \
    X(print_id, "task", T_ID, "its task", NULL, engine, run->task) \
    X(json_put_int, "attempt", T_INT, "its number", NULL, run->attempt) \
    X(json_put_int, "iteration", T_INT, "the iteration of the task", NULL, run->iteration) \
    X(json_put_string, "phase", T_WORD | T_NULL, "what it is doing; null: it has ended", &words_phase, run->ended ? NULL : phase) \
    X(json_put_string, "agent", T_TEXT | T_NULL, "who did it", "claude", run->agent) \
    X(json_put_string, "instead_of", T_TEXT | T_NULL, "the agent of the task, if another one did it", "codex", instead_of(engine, run)) \
    X(print_time, "ordered_at", T_TIME | T_NULL, "when its start was decided", NULL, run->ordered_at) \
    X(print_time, "started_at", T_TIME | T_NULL, "when its command started", NULL, run->started_at) \
    X(print_time, "ended_at", T_TIME | T_NULL, "when it ended", NULL, run->ended_at) \
    X(json_put_string, "outcome", T_WORD | T_NULL, "how it ended", &words_outcome, run->ended ? outcome_name(run->outcome) : NULL) \
    X(json_put_string, "how", T_TEXT | T_NULL, "how that is known", "exit", run->how) \
    X(print_count, "exit_code", T_INT | T_NULL, "of its command", NULL, run->ended ? run->exit_code : -1) \
    X(print_count, "signal", T_INT | T_NULL, "the signal that ended its command", NULL, run->exit_signal > 0 ? run->exit_signal : -1) \
    X(json_put_string, "message", T_TEXT | T_NULL, "its final message", "All tests pass.", run->message) \
    X(json_put_string, "model", T_TEXT | T_NULL, "the model that the agent used", "sonnet-5", run->model) \
    X(print_count, "tokens_in", T_INT | T_NULL, "tokens read", NULL, run->tokens_in) \
    X(print_count, "tokens_out", T_INT | T_NULL, "tokens written", NULL, run->tokens_out) \
    X(print_count, "tokens_cached", T_INT | T_NULL, "tokens read from a cache", NULL, run->tokens_cached) \
    X(print_usd, "cost_usd", T_USD | T_NULL, "what it cost", NULL, run->cost_micro_usd)
const struct shape shape_any_run = { "AnyRun", "a run, as every list shows it", .members = SHAPE_ALL(ANY_RUN) };

#define RUN(X) \
    X(json_put_string, "executor", T_TEXT | T_NULL, "where it ran", "local", run->executor) \
    X(json_put_string, "sandbox", T_TEXT | T_NULL, "what it was confined by", "bubblewrap", run->ended ? engine_sandbox_applied(run->applied) : engine_run_sandbox(engine, run->task, NULL)) \
    X(json_put_string, "host", T_TEXT | T_NULL, "the host it ran on", "box", run->host) \
    X(json_put_string, "folder", T_TEXT | T_NULL, "its folder", "web-17/1", run->folder) \
    X(json_put_string, "said", T_TEXT | T_NULL, "what its agent reported", "ok", run->result) \
    X(json_put_string, "session", T_TEXT | T_NULL, "the session of its agent", "1d66c3a0-5b1e", run->session) \
    X(json_put_bool, "resumed", T_BOOL, "it continued the session of the run before", NULL, run->resumed)
const struct shape shape_run = { "Run", "a run of a task", &shape_any_run, SHAPE_ROWS(
    RUN(SHAPE_ROW)
    { "applied", T_JSON | T_NULL, "which limits and which sandbox it really had" }) };
/* clang-format on */

void print_run_members(struct json_writer *w, const struct engine *engine,
                       const struct run_row *run, const char *phase) {
    ANY_RUN(SHAPE_PRINT)
}

void print_run(struct json_writer *w, const struct engine *engine, const struct run_row *run) {
    json_write_object_begin(w);
    print_run_members(w, engine, run, run_phase_name(run->phase));
    RUN(SHAPE_PRINT)
    if (looks_like_json(run->applied))
        print_json(w, "applied", run->applied);
    else
        json_put_string(w, "applied", run->applied);
    json_write_object_end(w);
}

/* clang-format off */
#define EVENT(X) \
    X(json_put_int, "seq", T_INT, "its number", NULL, (int64_t)event->seq) \
    X(print_time, "at", T_TIME, "when", NULL, event->at) \
    X(json_put_string, "kind", T_TEXT, "what", "task.state", event->kind) \
    X(print_id, "task", T_ID | T_NULL, "to which task", NULL, engine, event->task) \
    X(print_count, "attempt", T_INT | T_NULL, "to which run of it", NULL, event->attempt > 0 ? (int64_t)event->attempt : -1) \
    X(print_json, "data", T_JSON | T_MAP, "more, by kind (docs/reference/events.md)", NULL, looks_like_json(event->data) ? event->data : "{}")
const struct shape shape_event = { "Event", "something that happened", .members = SHAPE_ALL(EVENT) };
/* clang-format on */

void print_event(struct json_writer *w, const struct engine *engine,
                 const struct event_row *event) {
    SHAPE_OBJECT(EVENT)
}

void op_print_event(const struct engine *engine, const struct event_row *event,
                    struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    print_event(&w, engine, event);
    shape_report(&shape_event, "event", out);
}

int names_list(struct op_call *call, size_t count, names_print each) {
    uint64_t from = 0;
    bool given;
    int r = op_cursor(call, 'i', &from, &given);
    if (r < 0)
        return r;
    size_t limit = op_limit(call), at = (size_t)from;
    struct json_writer w = op_begin(call);
    json_put_array(&w, "items");
    for (; at < count && at < from + limit; at++)
        each(&w, call, at);
    json_write_array_end(&w);
    op_print_next(&w, 'i', at < count ? at : 0);
    return op_end(&w);
}

/* Unknown values are null, not 0; sums say how many runs are missing in them. */

/* Of the window. symbol 0: of all projects. */
static void print_window(struct json_writer *w, const struct engine *engine, const char *key,
                         sym symbol) {
    struct budgets_view v = { 0 };
    (void)core_budgets(engine_core(engine), symbol, &v);
    json_write_pack(w, "s:{s:{s:I, s:I", key, "tokens", "used", v.tokens.used, "reserved",
                    v.tokens.reserved);
    print_amount(w, "budget", v.tokens.budget);
    json_write_pack(w, "}, s:{", "usd");
    print_usd(w, "used", v.money.used);
    print_usd(w, "reserved", v.money.reserved);
    print_usd(w, "budget", v.money.budget);
    json_write_object_end(w);
    json_put_int(w, "known_cost_runs", v.priced);
    json_put_int(w, "unknown_cost_runs", v.unpriced);
    json_put_double(w, "window_h", (double)v.span / (double)HOURS(1), 3);
    json_put_bool(w, "open", v.open);
    print_time(w, "opens_at", v.open || v.opens_at == TIME_NEVER ? 0 : v.opens_at);
    json_write_object_end(w);
}

static void print_part(struct json_writer *w, const char *key, struct engine_amounts used,
                       struct engine_amounts limit) {
    json_write_pack(w, "s:{s:{", key, "tokens");
    print_count(w, "used", used.tokens);
    print_amount(w, "budget", limit.tokens);
    json_write_pack(w, "}, s:{", "usd");
    print_usd(w, "used", used.usd);
    print_usd(w, "budget", limit.usd);
    json_write_pack(w, "}}");
}

void print_task_budget(struct json_writer *w, const struct engine *engine, task_id task) {
    struct engine_budget b;
    struct task_view view = { 0 };
    engine_budget(engine, task, &b);
    (void)core_task(engine_core(engine), task, &view);
    struct engine_amounts used = b.used; /* the live run counts once it has reported */
    used.tokens += b.live.tokens > 0 ? b.live.tokens : 0;
    used.usd += b.live.usd > 0 ? b.live.usd : 0;
    json_put_object(w, "budget");
    print_part(w, "run", task_state_is_live(view.state) ? b.live : b.last, b.run_limit);
    print_part(w, "task", used, b.limit);
    json_put_object(w, "handed");
    json_put_int(w, "tokens", b.handed.tokens);
    print_usd(w, "usd", b.handed.usd);
    json_write_object_end(w);
    json_put_int(w, "unknown_cost_runs", b.unknown);
    json_put_string(w, "on_budget", b.stops ? "stop" : "hold");
    print_window(w, engine, "project", view.project);
    print_window(w, engine, "all", 0);
    json_write_object_end(w);
}

static void add_bucket(void *ctx, const struct usage_spec *bucket) {
    *(int64_t *)ctx += bucket->tokens;
}

int64_t window_tokens(const struct engine *engine, const struct engine_project *project) {
    int64_t used = 0;
    core_usage(engine_core(engine), project->symbol, add_bucket, &used);
    return used;
}

void sum_shares(const struct engine *engine, struct share_sums *ret) {
    *ret = (struct share_sums){ 0 };
    for (size_t i = 0; i < engine_project_count(engine); i++) {
        struct share_view share;
        if (!core_share(engine_core(engine), engine_project_at(engine, i)->symbol, &share))
            continue;
        ret->tokens += share.tokens + share.reserved;
        if (share.open)
            ret->weight_milli += share.weight_milli;
        ret->open += share.open;
    }
}

double target_share(const struct share_view *share, const struct share_sums *sums) {
    if (!share->open)
        return 0;
    if (sums->weight_milli == 0)
        return 1.0 / (double)sums->open;
    return (double)share->weight_milli / (double)sums->weight_milli;
}

/* --- opening hours --------------------------------------------------------------------------- */

/* clang-format off */
#define OPENING(X) \
    X(json_put_string, "when", T_TEXT, "the setting `hours`", "mon-fri 22:00-07:00", hours->text) \
    X(json_put_string, "timezone", T_TEXT | T_NULL, "its time zone; null: that of the system", "Europe/Berlin", *hours->timezone ? hours->timezone : NULL) \
    X(json_put_bool, "open", T_BOOL, "now is inside them", NULL, hours->open) \
    X(print_time, "until", T_TIME | T_NULL, "when they close, or open; null: never", NULL, hours->until == TIME_NEVER ? 0 : hours->until)
const struct shape shape_hours = { "Hours", "opening hours: outside them nothing starts", .members = SHAPE_ALL(OPENING) };
/* clang-format on */

void print_hours_members(struct json_writer *w, const struct engine_hours *hours) {
    OPENING(SHAPE_PRINT)
}

void print_hours(struct json_writer *w, const char *key, const struct engine *engine,
                 enum lease_kind scope, const char *name) {
    struct engine_hours hours;
    if (!engine_hours(engine, scope, name, &hours)) {
        json_put_null(w, key);
        return;
    }
    json_put_object(w, key);
    print_hours_members(w, &hours);
    json_write_object_end(w);
}

/* --- projects -------------------------------------------------------------------------------- */

static void print_share(struct json_writer *w, const char *key, int64_t part, int64_t whole) {
    json_put_double(w, key, whole > 0 ? (double)part / (double)whole : 0, 4);
}

/* clang-format off */
#define POOL_PLACE(X) \
    X(json_put_string, "path", T_TEXT, "the folder", "/home/me/web-1", paths[i]) \
    X(print_id, "task", T_ID | T_NULL, "the task that has it", NULL, engine, engine_workspace_holder(engine, paths[i]))
static const struct shape pool_place = { "PoolPlace", "a folder of a project's pool", .members = SHAPE_ALL(POOL_PLACE) };

#define PROJECT(X) \
    X(json_put_string, "name", T_TEXT, "its name", "web", p->name) \
    X(json_put_string, "prefix", T_TEXT, "what the ids of its tasks begin with", "web", p->prefix) \
    X(json_put_string, "path", T_TEXT | T_NULL, "its folder", "/home/me/web", p->path) \
    X(json_put_double, "weight", T_NUMBER, "its part of all tokens, compared with the others", NULL, (double)share.weight_milli / 1000.0, 3) \
    X(print_amount, "max_running", T_INT | T_NULL, "most runs at once; null: no limit", NULL, config_number(config, "projects.P.max_running", p->name)) \
    X(print_amount, "budget", T_INT | T_NULL, "its budget of tokens", NULL, config_number(config, "projects.P.budget", p->name)) \
    X(json_put_bool, "paused", T_BOOL, "nothing of it starts", NULL, p->paused || orphaned || config_number(config, "projects.P.paused", p->name) != 0) \
    X(json_put_string, "paused_by", T_TEXT | T_NULL, "who paused it", "ann", pause ? pause->by : NULL) \
    X(print_time, "paused_at", T_TIME | T_NULL, "when", NULL, pause ? pause->at : 0) \
    X(json_put_string, "pause_reason", T_TEXT | T_NULL, "`section_removed`: the configuration no longer names it", "section_removed", orphaned ? "section_removed" : NULL) \
    X(json_put_bool, "active", T_BOOL, "it takes part in shares", NULL, config_number(config, "projects.P.active", p->name) != 0) \
    X(print_hours, "hours", T_OBJECT | T_NULL, "its opening hours; null: none", &shape_hours, engine, LEASE_PROJECT, p->name) \
    X(json_put_bool, "coordination", T_BOOL, "its tasks are never slung", NULL, config_number(config, "projects.P.coordination", p->name) != 0) \
    X(json_put_int, "tokens", T_INT, "tokens used in the window", NULL, window_tokens(engine, p)) \
    X(print_usd, "budget_usd", T_USD | T_NULL, "its budget of dollars", NULL, money.money.budget) \
    X(print_usd, "usd", T_USD | T_NULL, "dollars used in the window", NULL, money.money.used) \
    X(json_put_int, "unknown_cost_runs", T_INT, "runs in the window that reported no cost", NULL, money.unpriced) \
    X(print_share, "share", T_NUMBER, "its part of all tokens in the window, live runs included", NULL, share.tokens + share.reserved, sums->tokens) \
    X(json_put_double, "target", T_NUMBER, "what its weight gives it among the projects that are open", NULL, target_share(&share, sums), 4) \
    X(json_put_int, "ready", T_INT, "tasks that could start", NULL, share.ready) \
    X(json_put_int, "running", T_INT, "live runs", NULL, share.live) \
    X(json_put_int, "external", T_INT, "live runs of it that do not belong to this daemon", NULL, p->external) \
    X(json_put_string, "workspace_mode", T_TEXT, "the setting of that name", "auto", config_text(config, "projects.P.workspace_mode", p->name)) \
    X(json_put_string, "merge", T_TEXT | T_NULL, "how the work of its tasks is brought in", "direct", engine_project_merge(config, p->name))
const struct shape shape_project = { "Project", "a project", .members = SHAPE_ROWS(
    PROJECT(SHAPE_ROW)
    { "counts", T_INT | T_MAP, "its tasks by state", &words_state },
    { "workspaces", T_OBJECT | T_LIST, "its pool", &pool_place }) };
/* clang-format on */

void print_project(struct json_writer *w, const struct engine *engine,
                   const struct engine_project *p, const struct share_sums *sums) {
    const struct config *config = engine_config(engine);
    struct share_view share = { 0 };
    (void)core_share(engine_core(engine), p->symbol, &share);
    struct budgets_view money = { 0 };
    (void)core_budgets(engine_core(engine), p->symbol, &money);
    bool orphaned = p->standing == PROJECT_ORPHANED;
    struct engine_pause lost = { .at = p->standing_since };
    const struct engine_pause *pause = orphaned ? &lost : p->paused ? &p->pause : NULL;
    json_write_object_begin(w);
    PROJECT(SHAPE_PRINT)
    json_put_object(w, "counts");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        json_put_int(w, task_state_name((enum task_state)s), share.by_state[s]);
    json_write_object_end(w);
    const char *const *paths;
    size_t count =
        config_words(engine_config(engine), "projects.P.workspace_paths", p->name, &paths);
    json_put_array(w, "workspaces");
    for (size_t i = 0; i < count; i++) {
        SHAPE_OBJECT(POOL_PLACE)
    }
    json_write_array_end(w);
    json_write_object_end(w);
}

/* --- limiters and groups --------------------------------------------------------------------- */

static const struct words words_window = { "WindowName",
                                           (const char *const[]){ "five_hour", "weekly", NULL } };

static const char *limiter_state(const struct limiter_view *l) {
    if (l->closed)
        return "closed";
    if (l->backoff_until)
        return "backoff";
    if (l->reserved_until)
        return "reserved";
    if (l->hours_until)
        return "off_hours";
    if (l->probing)
        return "probing";
    return l->cap < l->full_cap ? "ramping" : "open";
}

/* clang-format off */
#define QUOTA_WINDOW(X) \
    X(json_put_string, "window", T_WORD, "which one", &words_window, quota_window_name(window)) \
    X(print_count, "used_percent", T_INT | T_NULL, "how much of it is used, as an agent last reported; null: unknown", NULL, quota->resets_at ? quota->used_milli / 10 : -1) \
    X(json_put_int, "reserve_percent", T_INT, "how much of it is left to the owner of the account", NULL, l->windows[window].reserve) \
    X(print_time, "resets_at", T_TIME | T_NULL, "when it ends, and nothing of the next one is used; null: unknown", NULL, quota->resets_at) \
    X(json_put_bool, "reserved", T_BOOL, "no more than the reserve is left: nothing starts before it ends", NULL, l->windows[window].reserved)
static const struct shape quota_window_shape = { "QuotaWindow", "how much of an account is used", .members = SHAPE_ALL(QUOTA_WINDOW) };

#define LIMITER(X) \
    X(json_put_string, "name", T_TEXT, "its name", "anthropic", name) \
    X(json_put_string, "state", T_WORD, "`backoff`: the provider said wait; `probing`: one run goes first; `ramping`: slots come back step by step; `reserved`: no more than the reserve is left of a window; `off_hours`: outside its opening hours; `closed`: a person must act, then clear it", &words_limiter, limiter_state(&l)) \
    X(print_time, "opens_at", T_TIME | T_NULL, "when the backoff or the reserved window ends, and its hours open", NULL, time_max(l.hours_until, time_max(l.backoff_until, l.reserved_until))) \
    X(print_hours, "hours", T_OBJECT | T_NULL, "its opening hours; null: none", &shape_hours, engine, LEASE_LIMITER, name) \
    X(json_put_int, "hits", T_INT, "limits hit in a row", NULL, l.hits) \
    X(print_time, "last_success", T_TIME | T_NULL, "when a run that used it last ended well", NULL, l.last_success) \
    X(json_put_int, "used", T_INT, "slots in use", NULL, l.used) \
    X(print_amount, "cap", T_INT | T_NULL, "slots; null: no limit", NULL, l.cap)
const struct shape shape_limiter = { "Limiter", "a provider account", .members = SHAPE_ROWS(
    LIMITER(SHAPE_ROW)
    { "windows", T_OBJECT | T_LIST, "windows in which its provider counts its use: those with a reserve, and those whose use is known", &quota_window_shape },
    { "agent", T_TEXT | T_NULL | T_MAYBE, "of one that was closed because a login or a bill was refused: whose", "claude" },
    { "said", T_TEXT | T_NULL | T_MAYBE, "what it said", "Credit balance is too low" },
    { "fix", T_TEXT | T_NULL | T_MAYBE, "what to do", "add credit, then: sluice limiter clear anthropic" }) };

#define GROUP(X) \
    X(json_put_string, "name", T_TEXT, "its name", "night", group->name) \
    X(json_put_bool, "owned", T_BOOL, "it is not closed when all its tasks are final", NULL, group->owned) \
    X(json_put_bool, "closed", T_BOOL, "it is closed", NULL, group->closed) \
    X(print_time, "created_at", T_TIME | T_NULL, "when it was opened", NULL, group->created_at) \
    X(print_time, "closed_at", T_TIME | T_NULL, "when it was closed", NULL, group->closed_at) \
    X(json_put_int, "total", T_INT, "its tasks", NULL, group->total) \
    X(json_put_int, "open", T_INT, "those that are not final", NULL, group->open) \
    X(json_put_int, "failed", T_INT, "those that failed", NULL, group->failed)
const struct shape shape_group = { "Group", "tasks that are followed together", .members = SHAPE_ALL(GROUP) };
/* clang-format on */

static void print_windows(struct json_writer *w, const struct limiter_view *l) {
    json_put_array(w, "windows");
    for (unsigned window = 0; window < QUOTA_WINDOW_MAX; window++) {
        const struct quota *quota = &l->windows[window].quota;
        if (quota->resets_at == 0 && l->windows[window].reserve == 0)
            continue;
        SHAPE_OBJECT(QUOTA_WINDOW)
    }
    json_write_array_end(w);
}

void print_limiter_members(struct json_writer *w, const struct engine *engine, const char *name) {
    struct limiter_view l = { .cap = UNLIMITED, .full_cap = UNLIMITED };
    sym symbol = op_symbol(engine, name);
    if (symbol)
        (void)core_limiter(engine_core(engine), symbol, &l);
    LIMITER(SHAPE_PRINT)
    print_windows(w, &l);
    struct engine_trouble t;
    if (l.closed && engine_trouble(engine, TROUBLE_ACCOUNT, name, &t)) {
        json_put_string(w, "agent", t.agent);
        json_put_string(w, "said", t.message);
        json_put_string(w, "fix", t.fix);
    }
}

void print_limiter(struct json_writer *w, const struct engine *engine, const char *name) {
    json_write_object_begin(w);
    print_limiter_members(w, engine, name);
    json_write_object_end(w);
}

void print_group(struct json_writer *w, const struct engine_group *group) {
    GROUP(SHAPE_PRINT)
}

/* --- limits ---------------------------------------------------------------------------------- */

struct limits {
    const struct engine *engine;
    limit_visitor each;
    void *ctx;
};

static void visit_limit(const struct limits *l, enum lease_kind kind, const char *name) {
    amount used = 0, cap = UNLIMITED;
    sym symbol = name ? op_symbol(l->engine, name) : 0;
    if ((name && !symbol) || !core_lease(engine_core(l->engine), kind, symbol, &used, &cap)
        || (used == 0 && cap == UNLIMITED))
        return;
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_puts(&key, lease_kind_name(kind));
    if (name)
        strbuf_printf(&key, ":%s", name);
    l->each(l->ctx, strbuf_text(&key), used, cap);
}

static void visit_named(const struct limits *l, enum lease_kind kind, op_name_at at) {
    const char *name;
    for (size_t i = 0; (name = at(l->engine, i)); i++)
        visit_limit(l, kind, name);
}

void each_limit(const struct engine *engine, limit_visitor each, void *ctx) {
    struct limits l = { engine, each, ctx };
    visit_limit(&l, LEASE_RUNS, NULL);
    visit_limit(&l, LEASE_ROOTS, NULL);
    visit_named(&l, LEASE_KIND, op_kind_at);
    visit_named(&l, LEASE_PROJECT, op_project_at);
    visit_named(&l, LEASE_REVIEW, op_project_at);
    visit_named(&l, LEASE_WORKSPACES, op_project_at);
    visit_named(&l, LEASE_AGENT, op_agent_at);
    visit_named(&l, LEASE_RESOURCE, op_resource_at);
    /* Partitions that are configured as a resource were already visited. A cluster has many unused
     * ones. */
    const char *key;
    for (size_t i = 0; (key = engine_partition_at(l.engine, i)); i++) {
        amount used = 0, cap = UNLIMITED;
        sym symbol = op_symbol(l.engine, key);
        if (symbol && core_lease(engine_core(l.engine), LEASE_RESOURCE, symbol, &used, &cap)
            && used > 0 && !op_knows(l.engine, op_resource_at, key))
            visit_limit(&l, LEASE_RESOURCE, key);
    }
}

/* clang-format off */
#define LIMIT(X) \
    X(json_put_string, "key", T_TEXT, "which", "runs", key) \
    X(json_put_int, "used", T_INT, "slots in use", NULL, used) \
    X(print_amount, "cap", T_INT | T_NULL, "slots; null: no limit", NULL, cap)
const struct shape shape_limit = { "Limit", "a limit that has a cap or is used", .members = SHAPE_ALL(LIMIT) };

#define BUDGET(X) \
    X(json_put_string, "key", T_TEXT, "`global` or `project:NAME`", "global", key) \
    X(json_put_int, "used", T_INT, "tokens used", NULL, v->tokens.used) \
    X(json_put_int, "live", T_INT, "tokens that live runs have reported so far; in `reserved`, not in `used`", NULL, v->tokens.live) \
    X(json_put_int, "reserved", T_INT, "tokens reserved for live runs", NULL, v->tokens.reserved) \
    X(print_amount, "cap", T_INT | T_NULL, "tokens; null: no budget", NULL, v->tokens.budget) \
    X(print_usd, "usd_used", T_USD | T_NULL, "dollars used", NULL, v->money.used) \
    X(print_usd, "usd_live", T_USD | T_NULL, "dollars that live runs have reported so far; in `usd_reserved`, not in `usd_used`", NULL, v->money.live) \
    X(print_usd, "usd_reserved", T_USD | T_NULL, "dollars reserved", NULL, v->money.reserved) \
    X(print_usd, "usd_cap", T_USD | T_NULL, "dollars; null: no budget", NULL, v->money.budget) \
    X(json_put_int, "unknown_cost_runs", T_INT, "runs that reported no cost", NULL, v->unpriced) \
    X(json_put_int, "window_ms", T_SPAN, "the length of its window", NULL, v->span) \
    X(json_put_bool, "open", T_BOOL, "something is left", NULL, v->open) \
    X(print_time, "opens_at", T_TIME | T_NULL, "when something is left again, if it is known", NULL, v->open || v->opens_at == TIME_NEVER ? 0 : v->opens_at)
const struct shape shape_budget = { "Budget", "a budget, and what is used of it", .members = SHAPE_ALL(BUDGET) };
/* clang-format on */

static void print_limit(void *ctx, const char *key, amount used, amount cap) {
    struct json_writer *w = ctx;
    SHAPE_OBJECT(LIMIT)
}

void print_limits(struct json_writer *w, const struct engine *engine) {
    json_write_array_begin(w);
    each_limit(engine, print_limit, w);
    json_write_array_end(w);
}

static void print_budget_of(struct json_writer *w, const char *key, const struct budgets_view *v) {
    SHAPE_OBJECT(BUDGET)
}

void print_budgets(struct json_writer *w, const struct engine *engine) {
    struct budgets_view v = { 0 };
    json_write_array_begin(w);
    (void)core_budgets(engine_core(engine), 0, &v);
    print_budget_of(w, "global", &v);
    for (size_t i = 0; i < engine_project_count(engine); i++) {
        const struct engine_project *p = engine_project_at(engine, i);
        if (!core_budgets(engine_core(engine), p->symbol, &v)
            || (v.tokens.budget == UNLIMITED && v.money.budget == UNLIMITED))
            continue;
        _cleanup_(freep) char *key = xasprintf("project:%s", p->name);
        print_budget_of(w, key, &v);
    }
    json_write_array_end(w);
}
